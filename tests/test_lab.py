"""The lab: its clock, its epochs, its ids, its checks before anything is sent (SPEC 10, 11)."""

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import redis

import emqlab
from emqlab.executor import Executor
from emqlab.lab import NativeMissing
from emqlab.native.module import CannotBuild, NoCompiler, module_path
from emqlab.servers.binaries import VARIABLE, NoServer, find_binary
from emqlab.servers.clock import START_MS
from emqlab.servers.valkey import ValkeyServer
from emqlab.transitions import Call

JOB = "JOB0NgWEfAEJfs"


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the reader of this clone chose for ``auto`` is not the tests'."""
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))


def test_two_labs_of_a_seed_print_the_same() -> None:
    """Ids, epoch and clock come from the seed."""
    seen = []
    for _ in range(2):
        with emqlab.open_lab() as lab:
            seen.append((lab.native.enqueue("q", b"x"), lab.run_id, lab.now_ms()))
    assert seen[0] == seen[1]


def test_another_seed_has_other_ids_and_epochs() -> None:
    """Two seeds never meet."""
    with emqlab.open_lab(seed=1) as one, emqlab.open_lab(seed=2) as other:
        assert one.run_id != other.run_id
        assert one.native.enqueue("q", b"x") != other.native.enqueue("q", b"x")


def test_the_clock_stands_still_until_it_is_moved(lab: emqlab.Lab) -> None:
    """TIME shows the virtual clock, before and after."""
    assert START_MS == lab.now_ms()
    lab.advance_ms(1234)
    seconds, micros = lab.client.time()
    assert START_MS + 1234 == seconds * 1000 + micros // 1000


def test_expiry_follows_the_virtual_clock(lab: emqlab.Lab) -> None:
    """A key with a time to live is gone when the lab's clock says so."""
    lab.client.set("k", "v", px=5000)
    lab.advance_ms(4000)
    assert b"v" == lab.client.get("k")
    lab.advance_ms(2000)
    assert lab.client.get("k") is None


def test_other_users_of_the_fake_keep_their_clock(lab: emqlab.Lab) -> None:
    """A plain fakeredis in the same process shows the real time, and knows no EMQ command."""
    plain: redis.Redis = fakeredis.FakeRedis()
    lab.client.ping()
    assert abs(plain.time()[0] - time.time()) < 60
    with pytest.raises(redis.ResponseError, match="unknown command"):
        plain.execute_command("EMQ.CLAIM", 0)


def test_two_labs_have_two_clocks() -> None:
    """Moving one leaves the other."""
    with emqlab.open_lab() as one, emqlab.open_lab() as other:
        one.advance_ms(60_000)
        assert START_MS == other.client.time()[0] * 1000 + other.client.time()[1] // 1000


def test_a_restart_is_a_new_epoch_on_the_same_data(lab: emqlab.Lab) -> None:
    """run_id changes, keys stay, scripts are forgotten."""
    before, script = lab.run_id, lab.client.script_load("return 1")
    job = lab.scripted.enqueue("q", b"x")
    lab.restart()
    assert before != lab.run_id
    assert [False] == lab.client.script_exists(script)
    claimed = lab.scripted.claim("q")
    assert claimed is not None
    assert job == claimed.id


def test_a_foreign_wire_version_is_not_opened(lab: emqlab.Lab) -> None:
    """The version is claimed once; another value is named in the refusal."""
    from emqlab.lab import claim_version

    lab.client.set("{emq}:version", "echomq:2.0.0")
    with pytest.raises(emqlab.WrongVersion) as refused:
        claim_version(lab.client)
    assert b"echomq:2.0.0" == refused.value.got


def test_a_native_verb_is_a_command_of_the_server(lab: emqlab.Lab) -> None:
    """It works by hand, in a pipeline, in MULTI, and from a script."""
    for _ in range(4):
        lab.native.enqueue("q", b"x")
    claim = ("EMQ.CLAIM", 3, "emq:{q}:pending", "emq:{q}:active", "emq:{q}:", 1000)
    by_hand = lab.client.execute_command(*claim)
    pipe = lab.client.pipeline(transaction=False)
    pipe.execute_command(*claim)
    multi = lab.client.pipeline(transaction=True)
    multi.execute_command(*claim)
    script = "return redis.call('EMQ.CLAIM', 3, KEYS[1], KEYS[2], KEYS[3], ARGV[1])"
    scripted = lab.client.eval(script, 3, *claim[2:])
    ids = {by_hand[0], pipe.execute()[0][0], multi.execute()[0][0], scripted[0]}
    assert 4 == len(ids)


def test_a_resp3_client_gets_the_same_answer(lab: emqlab.Lab) -> None:
    """The protocol of the caller changes nothing inside a verb."""
    job = lab.native.enqueue("q", b"x")
    client = lab.connect(protocol=3)
    claim = ("EMQ.CLAIM", 3, "emq:{q}:pending", "emq:{q}:active", "emq:{q}:", 1000)
    assert [job, b"x", 1] == client.execute_command(*claim)


WRONG_TYPES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("claim", ("q",), {"lease_ms": "30000"}),
    ("claim", ("q",), {"lease_ms": True}),
    ("claim", (b"q",), {}),
    ("complete", ("q", JOB, "1"), {}),
    ("complete", ("q", JOB, True), {}),
    ("complete", ("q", 7, 1), {}),
    ("enqueue", ("q", 5), {}),
    ("fail", ("q", JOB, 1), {"error": None}),
    ("fail", ("q", JOB, 1), {"error": "x", "max_attempts": 1.5}),
    ("schedule", ("q", b"x"), {}),
    ("schedule", ("q", b"x"), {"in_ms": 1, "at_ms": 2}),
    ("extends", ("q", "pairs"), {"lease_ms": 1}),
    ("extends", ("q", [JOB]), {"lease_ms": 1}),
]
WRONG_RANGES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("claim", ("q",), {"lease_ms": 0}),
    ("claim", ("a b",), {}),
    ("extend", ("q", JOB, 1), {"lease_ms": 2**63}),
    ("fail", ("q", JOB, 1), {"error": "x", "delay_ms": -1}),
    ("stalled_check", ("q",), {"max_stalled": 0}),
    ("promote", ("q",), {"batch": 0}),
    ("schedule", ("q", b"x"), {"in_ms": -1}),
    ("complete", ("q", "JOB", 1), {}),
    ("complete", ("q", JOB, 2**63), {}),
    ("enqueue", ("q", "\ud800"), {}),
    ("extends", ("q", []), {"lease_ms": 1}),
]


@pytest.mark.parametrize("name", ["scripted", "native"])
@pytest.mark.parametrize(("verb", "args", "options"), WRONG_TYPES)
def test_a_wrong_type_is_named_and_nothing_is_sent(
    lab: emqlab.Lab, name: Any, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """TypeError names the parameter, before the server hears of it."""
    _refused_unsent(lab.executor(name), verb, args, options, TypeError)


@pytest.mark.parametrize("name", ["scripted", "native"])
@pytest.mark.parametrize(("verb", "args", "options"), WRONG_RANGES)
def test_a_wrong_range_is_named_and_nothing_is_sent(
    lab: emqlab.Lab, name: Any, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """ValueError names the parameter, before the server hears of it."""
    _refused_unsent(lab.executor(name), verb, args, options, ValueError)


def _refused_unsent(
    executor: Executor, verb: str, args: tuple[Any, ...], options: dict[str, Any], kind: type[Exception]
) -> None:
    sent: list[Any] = []
    executor._client.execute_command = lambda *command: sent.append(command)  # type: ignore[method-assign]
    words = r"queue|lease_ms|token|id|payload|error|max_attempts|in_ms|at_ms|pairs|delay_ms|max_stalled|batch"
    with pytest.raises(kind, match=words):
        getattr(executor, verb)(*args, **options)
    assert [] == sent


def test_an_unsupported_verb_is_not_sent(lab: emqlab.Lab) -> None:
    """No native reap, no scripted requeue; both say so."""
    with pytest.raises(emqlab.Unsupported, match="native executor has no reap"):
        lab.native.reap("q")
    with pytest.raises(emqlab.Unsupported, match="scripted executor has no requeue"):
        lab.scripted.requeue("q", JOB, 1)


def test_a_run_leaves_the_labs_own_jobs_alone(lab: emqlab.Lab) -> None:
    """lab.run has a queue of its own, even under the same name."""
    job = lab.native.enqueue("q", b"mine")
    case = {"name": "n", "queue": "q", "given": [["DEL", "{p}pending"]], "when": [{"verb": "claim", "lease_ms": "5"}]}
    run = lab.run(case, executor="native")
    assert ([[]], [job]) == (list(run.replies), lab.client.zrange("emq:{q}:pending", 0, -1))  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["embedded", "valkey"])
@pytest.mark.usefixtures("real")
def test_everything_of_a_closed_lab_says_the_same(name: str) -> None:
    """One sentence that says what to do, also from what was taken out of it before."""
    closed = emqlab.open_lab(name)
    native, client = closed.native, closed.client
    closed.close()
    calls: list[Callable[[], Any]] = [
        lambda: native.enqueue("q", b"x"),
        lambda: closed.native.claim("q"),
        lambda: closed.scripted.enqueue("q", b"x"),
        lambda: closed.scripted.perform_many([Call("enqueue", b"q", {"id": JOB.encode(), "payload": b"x"})]),
        closed.now_ms,
        lambda: closed.advance_ms(5),
        lambda: closed.run_id,
        closed.restart,
        closed.connect,
        closed.__enter__,
        closed.bench,
    ]
    for call in calls:
        with pytest.raises(emqlab.ServerLost, match=r"^the lab is closed; open another$"):
            call()
    with pytest.raises(redis.ConnectionError, match=r"^the lab is closed; open another$"):
        client.ping()


@pytest.mark.parametrize("ms", [10**15 + 1, -(10**15) - 1, 10**30])
def test_a_clock_is_not_moved_out_of_sight(lab: emqlab.Lab, ms: int) -> None:
    """The bounds are those of a case, and the clock stays."""
    with pytest.raises(ValueError, match=f"ms must lie between -{10**15} and {10**15}, not {ms}"):
        lab.advance_ms(ms)
    assert START_MS == lab.now_ms()
    lab.advance_ms(10**15)
    assert START_MS + 10**15 == lab.now_ms()


@pytest.mark.parametrize("name", ["embedded", "valkey"])
@pytest.mark.usefixtures("real")
def test_no_clock_shows_a_time_before_1970(name: str) -> None:
    """Nor one that no score holds exactly: both servers say the same, and their clock goes on as it was."""
    with emqlab.open_lab(name) as moved:
        if not moved.server.movable:
            pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
        before = moved.now_ms()
        said = rf"^a server's clock can't show .* only 1 to {9 * 10**15}; move it less far$"
        for ms in (-before - 60_000, -(10**15)):
            with pytest.raises(ValueError, match=said):
                moved.advance_ms(ms)
            assert 0 <= moved.now_ms() - before < 60_000
        for _ in range(8):
            moved.advance_ms(10**15)
        with pytest.raises(ValueError, match=said):
            moved.advance_ms(10**15)
        assert 0 <= moved.now_ms() - before - 8 * 10**15 < 60_000


@pytest.mark.parametrize("name", ["embedded", "valkey"])
@pytest.mark.usefixtures("real")
def test_a_case_that_leaves_time_is_skipped(name: str) -> None:
    """It says why, in the same words on both servers, and the case after it is as ever."""
    late = {"name": "n", "queue": "q", "given": [["SET", "{p}k", "v"]], "when": [{"advance_ms": -(10**15)}]}
    with emqlab.open_lab(name) as moved:
        if not moved.server.movable:
            pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
        skipped = moved.run(late, executor="scripted")
        assert "a server's clock can't show" == getattr(skipped, "why", "")[:27]
        plain = moved.run({**late, "given": [], "when": []}, executor="scripted")
        assert {} == getattr(plain, "after", None)


def test_a_clock_beyond_an_ids_room_is_said(lab: emqlab.Lab) -> None:
    """The clock goes there, an id is refused in one sentence, one of the caller's is not, and there is a way back."""
    lab.advance_ms(10**15)
    for executor in (lab.scripted, lab.native):
        with pytest.raises(
            emqlab.EmqError, match=r"^the clock shows \d+ ms since 1970.*; move it back, or give the job"
        ):
            executor.enqueue("q", b"x")
    assert JOB.encode() == lab.native.enqueue("q", b"x", id=JOB)
    lab.advance_ms(-(10**15))
    assert lab.native.enqueue("q", b"x")


@pytest.mark.parametrize("name", ["embedded", "valkey"])
@pytest.mark.usefixtures("real")
def test_everything_of_a_lab_in_a_fork_says_the_same(name: str) -> None:
    """One sentence; closing it there does nothing, and the lab goes on where it was opened."""
    with emqlab.open_lab(name) as forked:
        bench, executors = forked.bench()
        claim = {"name": "n", "queue": "q", "given": [], "when": [{"verb": "claim", "lease_ms": "5"}]}
        job = forked.native.enqueue("q", b"x")
        calls: list[Callable[[], Any]] = [
            lambda: forked.native.claim("q"),
            lambda: forked.scripted.enqueue("q", b"x"),
            lambda: executors["native"].claim("q"),
            forked.now_ms,
            lambda: forked.advance_ms(5),
            lambda: forked.run_id,
            forked.restart,
            forked.connect,
            forked.bench,
            lambda: forked.run(claim, executor="native"),
            forked.client.ping,
            bench.client.ping,
        ]
        child = os.fork()
        if child == 0:
            try:
                said = [_said(call) for call in calls]
                forked.close()
                said.append(_said(forked.restart))
            finally:
                os._exit(
                    0 if {"this lab belongs to the process that opened it; open a lab of your own"} == {*said} else 1
                )
        assert 0 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert job == getattr(forked.native.claim("q"), "id", None)


def _said(call: Callable[[], Any]) -> str:
    try:
        return f"answered {call()}"
    except (emqlab.ServerLost, redis.ConnectionError) as error:
        return str(error)


@pytest.mark.parametrize(
    "error",
    [
        emqlab.StaleToken("complete", JOB.encode(), b"1"),
        emqlab.JobGone("complete", JOB.encode()),
        emqlab.BadArgument("limit", "is odd"),
        emqlab.WrongVersion(b"\xff"),
        emqlab.ServerRefused("ERR", "ERR x"),
        emqlab.Unsupported("reap", "native"),
        emqlab.Duplicate(JOB.encode()),
        emqlab.LaneRow("fail", None),
        emqlab.Forbidden("NOPERM x"),
        emqlab.ServerLost("gone"),
    ],
)
def test_an_error_survives_the_way_to_another_process(error: emqlab.EmqError) -> None:
    """Its class, its sentence and its data."""
    again = pickle.loads(pickle.dumps(error))
    assert (type(error), str(error), vars(error)) == (type(again), str(again), vars(again))


def test_a_foreign_version_keeps_its_bytes(lab: emqlab.Lab) -> None:
    """Also those that an error's text can't carry."""
    lab.client.set("{emq}:version", b"\xff\r\n")
    with pytest.raises(emqlab.WrongVersion) as refused:
        lab.native.claim("q")
    assert b"\xff\r\n" == refused.value.got


# ---------------------------------------------------------------- which server


@pytest.fixture
def real() -> None:
    """Skips where there is no real server to open, with the reason."""
    try:
        find_binary()
    except NoServer as error:
        pytest.skip(str(error))


@pytest.fixture
def module() -> None:
    """Skips where the module can't be built, with the reason."""
    try:
        module_path()
    except NoCompiler as error:
        pytest.skip(str(error))


def opened(server: str | None) -> str:
    """The name of the server that open_lab opens."""
    with emqlab.open_lab(server) as opened_lab:
        return opened_lab.server.name


def no_module(*_: Any, **__: Any) -> Any:
    """What module_path does where there is no compiler."""
    raise CannotBuild("there is no C compiler here; install one")


def no_server() -> Any:
    """What find_binary does where there is no server."""
    raise NoServer("there is no Valkey or Redis here; install one")


def test_embedded_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started unless it was asked for."""
    monkeypatch.delenv("EMQLAB_SERVER", raising=False)
    assert "embedded" == opened(None)


@pytest.mark.parametrize(
    ("asked", "variable", "got"),
    [
        ("embedded", "valkey", "embedded"),
        ("valkey", "embedded", "valkey"),
        (None, "valkey", "valkey"),
        (None, "auto", "valkey"),
        ("auto", "embedded", "embedded"),
        ("auto", "auto", "valkey"),
        ("auto", "", "valkey"),
    ],
)
@pytest.mark.usefixtures("real", "module")
def test_a_name_wins_over_the_variable_and_that_over_auto(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, variable: str, got: str
) -> None:
    """auto is valkey where a server and the module are there."""
    monkeypatch.setenv("EMQLAB_SERVER", variable)
    assert got == opened(asked)


@pytest.mark.parametrize("missing", ["server", "module", "refused"])
def test_auto_is_embedded_where_something_is_missing(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """The server, the module, or a server that takes it."""
    monkeypatch.delenv("EMQLAB_SERVER", raising=False)
    monkeypatch.delenv(VARIABLE, raising=False)
    if missing == "server":
        monkeypatch.setattr("emqlab.servers.binaries.find_binary", no_server)
    elif missing == "module":
        monkeypatch.setattr("emqlab.native.module.module_path", no_module)
    else:
        monkeypatch.setattr("emqlab.native.module.module_path", lambda tell: "/nowhere.so")
    assert "embedded" == opened("auto")


def test_a_program_that_was_named_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong $EMQLAB_SERVER_BINARY is said, also where auto could do without."""
    monkeypatch.delenv("EMQLAB_SERVER", raising=False)
    monkeypatch.setenv(VARIABLE, "/nowhere/valkey-server")
    for name in ("auto", "valkey"):
        with pytest.raises(ValueError, match=r"EMQLAB_SERVER_BINARY is '/nowhere/valkey-server'"):
            emqlab.open_lab(name)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 0", "is no Valkey or Redis that runs here; set .* or unset it"),
        ('cat "$1"', "is no Valkey or Redis that runs here; set .* or unset it"),
        ('[ "$1" = --version ] && echo v=9.1.2 || exec sleep 1000', "did not answer within"),
    ],
)
@pytest.mark.usefixtures("module")
def test_a_named_program_that_is_no_server_is_started_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, sentence: str
) -> None:
    """It would not do better without the module; who named it is said, and the lab's settings are not."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo >> {tmp_path}/starts\n{script}\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("emqlab.servers.process.START_S", 0.3)
    monkeypatch.setenv(VARIABLE, str(program))
    with pytest.raises(ValueError, match=rf"^{program}, named by \${VARIABLE}, {sentence}") as refused:
        emqlab.open_lab("valkey")
    assert ("\n", False) == ((tmp_path / "starts").read_text(encoding="utf-8"), "unixsocket" in str(refused.value))


@pytest.mark.parametrize("name", ["redis", "localhost:6379", "Valkey"])
def test_an_unknown_server_is_a_sentence(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It names what there is; from the variable too."""
    with pytest.raises(ValueError, match=r"server must be embedded, valkey, auto, or a URL"):
        emqlab.open_lab(name)
    monkeypatch.setenv("EMQLAB_SERVER", name)
    with pytest.raises(ValueError, match=r"server must be embedded, valkey, auto, or a URL"):
        emqlab.open_lab()


@pytest.mark.usefixtures("real", "module")
def test_a_lab_on_a_real_server() -> None:
    """Both executors, its clock, its restart, its clients, and cases beside its own jobs."""
    with emqlab.open_lab("valkey") as real_lab:
        job, before = real_lab.native.enqueue("q", b"x"), real_lab.run_id
        assert job == getattr(real_lab.scripted.claim("q", lease_ms=1_000), "id", None)
        if real_lab.server.movable:
            real_lab.advance_ms(3_600_000)
            assert real_lab.now_ms() / 1000 > time.time() + 3_000
        real_lab.restart()
        assert before != real_lab.run_id
        case = {"name": "n", "queue": "q", "given": [], "when": [{"verb": "claim", "lease_ms": "5"}]}
        assert [([],), ([],)] == [real_lab.run(case, executor=name).replies for name in ("scripted", "native")]  # type: ignore[union-attr]
        assert 1 == real_lab.connect(protocol=3).exists(b"emq:{q}:job:" + job)
        real_lab.client.execute_command("ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all")
        assert b"ann" == real_lab.connect(username="ann", password="pw").execute_command("ACL", "WHOAMI")


@pytest.mark.usefixtures("real")
@pytest.mark.parametrize("why", ["no compiler", "refused"])
def test_without_the_module_the_scripts_work(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """The native executor says in one sentence what is missing; nothing else breaks."""
    found = no_module if why == "no compiler" else lambda tell: "/nowhere.so"
    monkeypatch.setattr("emqlab.native.module.module_path", found)
    sentence = "no C compiler here; install one" if why == "no compiler" else r"/nowhere\.so"
    with emqlab.open_lab("valkey") as real_lab:
        job = real_lab.scripted.enqueue("q", b"x")
        for verb in ("claim", "pause"):
            with pytest.raises(NativeMissing, match=f"the native verbs are missing here: .*{sentence}"):
                getattr(real_lab.native, verb)("q")
        assert job == getattr(real_lab.scripted.claim("q"), "id", None)
        case = {"name": "n", "queue": "q", "given": [], "when": [{"verb": "claim", "lease_ms": "5"}]}
        assert ([],) == real_lab.run(case, executor="scripted").replies  # type: ignore[union-attr]
        with pytest.raises(NativeMissing):
            real_lab.run(case, executor="native")


@pytest.mark.usefixtures("real")
def test_a_lab_that_is_not_opened_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes between its start and its use."""
    made: list[ValkeyServer] = []
    start = ValkeyServer.__init__

    def started(self: ValkeyServer, *args: Any, **options: Any) -> None:
        start(self, *args, **options)
        made.append(self)

    monkeypatch.setattr(ValkeyServer, "__init__", started)
    monkeypatch.setattr("emqlab.lab.claim_version", lambda client: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        emqlab.open_lab("valkey")
    assert [(False, False)] == [(one.process.alive, one.process.directory.exists()) for one in made]


@pytest.mark.parametrize("name", ["embedded", "valkey"])
@pytest.mark.usefixtures("real")
def test_a_lab_may_be_closed_again(name: str) -> None:
    """And runs no case after that."""
    again = emqlab.open_lab(name)
    case = {"name": "n", "queue": "q", "given": [], "when": [{"verb": "claim", "lease_ms": "5"}]}
    again.run(case, executor="scripted")
    again.close()
    again.close()
    with pytest.raises(emqlab.ServerLost, match="the lab is closed"):
        again.run(case, executor="scripted")
    for call in (again.scripted.enqueue, again.native.enqueue):
        with pytest.raises(emqlab.ServerLost):
            call("q", b"x")


def test_every_public_name_is_there() -> None:
    """__all__ is sorted, and each name is bound."""
    assert sorted(emqlab.__all__) == emqlab.__all__
    assert all(getattr(emqlab, name) for name in emqlab.__all__)
