"""A user's own server: how it is opened, that only the case's queue is touched, TLS, ACL users, clusters (SPEC 10)."""

import io
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab import errors, keys
from emqlab.ids import Mint
from emqlab.native.module import module_path
from emqlab.native.module.build import NoCompiler
from emqlab.native.optimistic import OptimisticExecutor
from emqlab.observe.case import World
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from emqlab.parity.command import DID_NOT_HOLD, LOST, UNUSABLE, run
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.servers.bounds import CannotRun, trespass
from emqlab.servers.cluster import key_of
from emqlab.servers.process import ServerProcess
from emqlab.servers.remote import RemoteServer
from emqlab.transitions import Call
from tests.servers import loopback
from tests.servers.loopback import dumps, inside, url

CASES = Path(__file__).parents[1] / "cases"
#: Skipped on a user's server: it would empty everybody's script cache.
BEYOND_ITS_QUEUE = "cache/flush-between-steps"

SCRIPTED = "+evalsha +eval +hget +info +time"
USERS = (
    "everything on >pw ~* &* +@all",
    (
        "cases on >pw resetchannels -@all ~emq:{q}:* ~{emq}:* +info +time +scan +type +pttl +hgetall +zrange +smembers"
        " +lrange +get +set +del +exists +eval +evalsha +@write +@read +watch +multi +exec"
    ),
    "scriptless on >pw ~* +@all -eval",
    "silent on >pw -@all ~* +get +set +eval +evalsha +hget +time +info",
    "blind on >pw -@all ~* +@all -scan",
    "mute on >pw -@all ~* +@all -info",
    "reader on >pw -@all ~* +get +info +eval",
    "writer on >pw -@all ~* +set +info +eval",
    "plain on >pw ~* +@all -multi",
)


def lab_executors(server: RemoteServer) -> dict[str, Any]:
    """Both executors on a user's server, the native one over the optimistic host."""
    mint = Mint(server.now_ms, server.node).next
    return {
        "scripted": ScriptedExecutor(server.client, mint),
        "native": OptimisticExecutor(server.client, mint, pools=server),
    }


def run_cases(
    address: str, *paths: object, executor: str = "both", native: str = "optimistic"
) -> tuple[int, list[dict[str, Any]]]:
    """``emqlab run PATHS --server ADDRESS --json``: the exit status and the lines."""
    out = io.StringIO()
    status = run([str(path) for path in paths], executor=executor, server=address, native=native, as_json=True, out=out)
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def begin(server: RemoteServer, queue: bytes) -> None:
    """Begin a case that sends nothing of its own."""
    server.admit(queue, [], [])
    server.begin_case(queue)


def write(folder: Path, *cases: Any) -> Path:
    """A file of cases."""
    (folder / "cases.json").write_text(json.dumps(cases))
    return folder / "cases.json"


@pytest.fixture(scope="module")
def real() -> Iterator[ServerProcess]:
    """One server for this file, with its users."""
    with loopback.server({"user": USERS}) as process:
        yield process


@pytest.fixture(autouse=True)
def empty(request: pytest.FixtureRequest) -> None:
    """No test sees the keys of another."""
    if "real" in request.fixturenames:
        inside(request.getfixturevalue("real")).flushall()


@pytest.fixture
def server(real: ServerProcess) -> Iterator[RemoteServer]:
    """The server as its default user opens it."""
    opened = RemoteServer(url(real))
    yield opened
    opened.close()


# ---------------------------------------------------------------- opening


def test_every_kind_of_url_opens(real: ServerProcess) -> None:
    """TCP, its other name, a database, a user, a socket: the life of a job by script and by optimistic verb."""
    port = real.config["port"]
    for address in (
        url(real),
        f"valkey://localhost:{port}/1",
        url(real, "everything:pw@"),
        url(real, end="?db=1"),
        f"unix://{real.socket}",
        f"unix://everything:pw@{real.socket}?db=1",
    ):
        inside(real).flushall()
        server = RemoteServer(address)
        for executor in lab_executors(server).values():
            job = executor.enqueue("orders", b"tea")
            assert (b"tea", 1) == ((claimed := executor.claim("orders")).payload, claimed.token)
            executor.complete("orders", job, 1)
        server.close()


def test_open_lab_takes_a_url(real: ServerProcess) -> None:
    """And the lab says what its server is."""
    with emqlab.open_lab(url(real)) as lab:
        assert ("remote", False, False) == (lab.server.name, lab.server.movable, lab.server.restartable)
        assert inside(real).info("server")["run_id"] == lab.run_id
        job = lab.scripted.enqueue("orders", b"tea")
        assert [job] == inside(real).zrange("emq:{orders}:pending", 0, -1)


def test_bytes_resp2_and_no_retries_whatever_the_url_says(real: ServerProcess) -> None:
    """What is sent twice leases two jobs."""
    server = RemoteServer(url(real, end="?decode_responses=True&retry_on_timeout=True&protocol=3"))
    server.client.set("k", b"\xff")
    connection: Any = server.client.connection_pool.make_connection()
    assert b"\xff" == server.client.get("k")
    assert 0 == connection.retry.get_retries()
    assert 2 == connection.protocol
    server.close()


def refusal(address: str) -> str:
    """The sentence with which a URL is refused."""
    with pytest.raises(ValueError, match=r".") as caught:
        RemoteServer(address)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("localhost:6379", "is no server; give its URL, such as redis://localhost:6379"),
        ("http://localhost", "is no server; give its URL"),
        ("redis://h:99999", "Port out of range"),
        ("redis://[::1", "Invalid IPv6 URL"),
        ("redis://localhost/x", "what follows the last / is a database's number, not 'x'"),
        ("redis://localhost?nonsense=1", "there is no option 'nonsense'; the options are redis-py's"),
        ("redis://localhost?db=x", "Invalid value for 'db'"),
        ("rediss://localhost?ssl_ca_certs=/no/such.pem", "ssl_ca_certs: there is no file '/no/such.pem'"),
        ("unix://", "a unix URL names the socket's file"),
        ("unix:///no/such/socket", "can't be reached (Error 2"),
        ("redis://127.0.0.1:1", "can't be reached (Error 111 connecting to 127.0.0.1:1. Connection refused); start"),
    ],
)
def test_a_url_that_opens_nothing(address: str, words: str) -> None:
    """One sentence each, that says what to do."""
    assert words in refusal(address)


def test_no_sentence_shows_a_password() -> None:
    """It goes to a terminal, and from there into a bug report."""
    for address in ("redis://u:secret@127.0.0.1:1", "redis://:secret@h:99999", "nope://:secret@h", ":secret@h"):
        assert "secret" not in refusal(address)


def test_the_login_is_refused(real: ServerProcess) -> None:
    """A wrong password, an unknown user, and none where one is asked for."""
    for login in ("everything:no@", "nobody:pw@"):
        assert "refused the user or the password" in refusal(url(real, login))
    with loopback.server({"requirepass": "pw"}) as locked:
        assert "asks for a password; put it in the URL: redis://user:password@" in refusal(url(locked))
        RemoteServer(url(locked, ":pw@")).close()


def test_a_read_only_replica_is_refused(real: ServerProcess) -> None:
    """Nothing can be claimed there."""
    with loopback.server({"replicaof": f"127.0.0.1 {real.config['port']}"}) as replica:
        loopback.until(lambda: inside(replica).info("replication")["master_link_status"] == "up", "the replica follows")
        assert "is a read-only replica; give the URL of its primary" in refusal(url(replica))


def test_another_wire_version_is_refused(real: ServerProcess) -> None:
    """As on every server; the other's value stays."""
    inside(real).set(keys.VERSION_KEY, "echomq:2.0.0")
    with pytest.raises(errors.WrongVersion, match=r"echomq:2\.0\.0"):
        RemoteServer(url(real))
    assert b"echomq:2.0.0" == inside(real).get(keys.VERSION_KEY)


def test_another_wire_version_that_a_killed_run_left(real: ServerProcess, tmp_path: Path) -> None:
    """The sentence says how it is put right, and that helps."""
    inside(real).set(keys.VERSION_KEY, "other")
    with pytest.raises(errors.WrongVersion, match=r"`emqlab run` was killed here, send SET \{emq\}:version ") as caught:
        RemoteServer(url(real))
    inside(real).execute_command(*str(caught.value).rpartition(" send ")[2].split())
    assert 0 == run_cases(url(real), write(tmp_path, {**CASE, "given": []}))[0]


@pytest.fixture
def old() -> Iterator[int]:
    """The port of something that answers as a Redis 2.4 does: no EVAL, an old version."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(30)

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as lines:
                while head := lines.readline():
                    words = [lines.read(int(lines.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
                    info = b"redis_version:2.4.18\r\n"
                    told = b"$%d\r\n%s\r\n" % (len(info), info) if words[0] == b"INFO" else b"-ERR unknown command\r\n"
                    connection.sendall(told)

    thread = threading.Thread(target=answer)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_server_too_old_for_scripts(old: int) -> None:
    """Said when it is opened, with the version it names."""
    assert "speaks Redis 2.4.18, too old for the scripts; give a server of Redis 5" in refusal(
        f"redis://127.0.0.1:{old}"
    )


# ---------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, str]]:
    """A server that speaks TLS only, and its authority's file."""
    made = loopback.certificates(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("there is no openssl here to make certificates with")
    binary = loopback.speaks_tls(made)
    if binary is None:
        pytest.skip("none of the servers at hand was built with TLS")
    with loopback.server({**made, "tls-auth-clients": "no", "user": USERS}, binary=binary, tls=True) as process:
        yield process, made["tls-ca-cert-file"]


def test_tls_is_spoken(tls: tuple[ServerProcess, str], tmp_path: Path) -> None:
    """With the authority named, by both names of the scheme, as a user, and a case's whole way."""
    process, authority = tls
    where = f"everything:pw@127.0.0.1:{process.config['tls-port']}?ssl_ca_certs={authority}"
    case = {"name": "n", "queue": "q", "when": [{"verb": "claim", "lease_ms": "1"}]}
    for scheme in ("rediss", "valkeys"):
        status, lines = run_cases(f"{scheme}://{where}", write(tmp_path, case))
        assert (0, [{"ok": []}, {"ok": []}]) == (status, [line["replies"][0] for line in lines])


def test_tls_that_does_not_fit(tls: tuple[ServerProcess, str], real: ServerProcess) -> None:
    """No trust, another host's certificate, plain to TLS and TLS to plain: a sentence each."""
    process, authority = tls
    port = process.config["tls-port"]
    assert "certificate is not trusted" in refusal(f"rediss://127.0.0.1:{port}")
    assert "certificate is for another host" in refusal(f"rediss://localhost:{port}?ssl_ca_certs={authority}")
    assert "hung up at once; if it speaks TLS, write rediss://" in refusal(f"redis://127.0.0.1:{port}")
    plain = f"rediss://127.0.0.1:{real.config['port']}?socket_connect_timeout=0.5&socket_timeout=0.5"
    assert "found no TLS to speak" in refusal(plain)


# ---------------------------------------------------------------- users


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("reader", "may not claim the wire version (NOPERM"),
        ("writer", "may not read the wire version (NOPERM"),
    ],
)
def test_a_user_without_the_version(real: ServerProcess, user: str, words: str) -> None:
    """The sentence has the server's own words, and the rights to give."""
    sentence = refusal(url(real, f"{user}:pw@"))
    assert words in sentence
    assert "+get" in sentence


@pytest.mark.parametrize(
    ("user", "lacks"),
    [("silent", "del"), ("blind", "scan"), ("mute", "info"), ("scriptless", "eval")],
    ids=["silent", "blind", "mute", "scriptless"],
)
def test_a_user_who_may_not_run_cases(
    real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str], user: str, lacks: str
) -> None:
    """Exit 2 before anything is written, with the right that is missing; the queue's API works all the same."""
    address = url(real, f"{user}:pw@")
    case = {"name": "n", "queue": "q", "given": [["SET", "{p}k", "v"]], "when": []}
    assert (UNUSABLE, []) == run_cases(address, write(tmp_path, case))
    told = capsys.readouterr().err
    assert "this user may not run cases (NOPERM" in told
    assert f"'{lacks}" in told
    assert {b"0 {emq}:version"} == set(dumps(real))
    server = RemoteServer(address)
    job = lab_executors(server)["scripted"].perform(Call("enqueue", b"q", {"id": b"JOB0NgWEfAEJfs", "payload": b"x"}))
    assert user in ("silent", "scriptless") or job == 1  # a script's inner commands need their own rights
    server.close()


def test_a_user_with_the_rights_for_one_queue(real: ServerProcess, tmp_path: Path) -> None:
    """Runs that queue's cases on both executors; another's are stopped before anything is written."""
    given = [["HSET", "{p}job:JOB0NgWEfAEJfs", "attempts", "1"], ["ZADD", "{p}pending", "0", "JOB0NgWEfAEJfs"]]
    case = {"name": "n", "queue": "q", "given": given, "when": [{"verb": "claim", "lease_ms": "9"}], "differs": [8]}
    status, lines = run_cases(url(real, "cases:pw@"), write(tmp_path, case))
    assert (0, [{"ok": ["JOB0NgWEfAEJfs", None, 2]}] * 2) == (status, [line["replies"][0] for line in lines])
    assert (UNUSABLE, []) == run_cases(url(real, "cases:pw@"), write(tmp_path, {**case, "queue": "other"}))
    assert {b"0 {emq}:version"} == set(dumps(real))


# ---------------------------------------------------------------- only the case's own queue


def foreign(process: ServerProcess) -> None:
    """Keys of other people's, of every type, some near the case's own."""
    client = inside(process)
    client.set("plain", b"\x00\xff", px=10**9)
    client.hset("emq:{q2}:job:JOB0NgWEfAEJfs", mapping={"attempts": 1})
    client.zadd("emq:{other}:pending", {"a": 1.5})
    client.rpush("emq:{q", "x")
    client.sadd("{emq}", "x")
    client.set("emq:q:pending", "x")
    client.xadd("stream", {"a": "b"})
    if not client.info("cluster")["cluster_enabled"]:
        client.execute_command("SELECT", 1)
        inside(process).execute_command("COPY", "plain", "plain", "DB", 1)


def settled_without(seen: dict[bytes, Any]) -> dict[bytes, Any]:
    """What a server holds but for the wire version; a time to live only as whether there is one."""
    return {name: (dump, ttl > 0) for name, (dump, ttl) in seen.items() if not name.endswith(keys.VERSION_KEY)}


def test_the_whole_run_leaves_the_rest_as_it_was(real: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """Every shared case on both executors: they hold, foreign keys are the same byte for byte, nothing is left."""
    foreign(real)
    inside(real).config_resetstat()
    before = settled_without(dumps(real))
    status, lines = run_cases(url(real), CASES)
    told = capsys.readouterr().err.splitlines()
    assert before == settled_without(dumps(real))
    assert keys.VERSION == inside(real).get(keys.VERSION_KEY)
    assert -1 == inside(real).pttl(keys.VERSION_KEY)
    assert 0 == status
    # Nothing is said but how many were skipped and what it cost.
    skipped = [line for line in lines if "skipped" in line]
    assert [f"{len(skipped)} skipped; each says why", "optimistic host"] == [line.split(":")[0] for line in told]
    assert 2 == sum(BEYOND_ITS_QUEUE == line["case"] for line in skipped)
    assert {"remote"} == {line["server"] for line in lines}
    asked = set(inside(real).info("commandstats"))
    assert set() == asked & {f"cmdstat_{name}" for name in ("keys", "flushall", "flushdb", "config", "script", "acl")}


def test_a_queue_that_is_not_empty_is_not_run(
    real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, the queue and the key named, nothing written; the other cases are run."""
    inside(real).set("emq:{a*}:x", "theirs")
    inside(real).set("emq:{ab}:x", "theirs")
    before = dumps(real)
    bad = {"name": "bad", "queue": "a*", "given": [["SET", "{p}y", "v"]], "when": []}
    status, lines = run_cases(url(real), write(tmp_path, bad, {**bad, "name": "good", "queue": "[b]?"}))
    assert (UNUSABLE, ["good", "good"]) == (status, [line["case"] for line in lines])
    told = capsys.readouterr().err
    assert "cases.json: bad: not run: the queue 'a*' is not empty on redis://127.0.0.1:" in told
    assert (
        "there is 'emq:{a*}:x'; empty it, give the case another queue, or run it elsewhere: in another database (the "
        "number at the end of the URL), on an empty server, or on the embedded one"
    ) in told
    assert before.items() <= dumps(real).items()
    assert len(before) + 1 == len(dumps(real))  # the wire version


def test_patterns_in_a_queue_s_name_mean_themselves(real: ServerProcess, tmp_path: Path) -> None:
    """A queue called ``*`` takes nobody's keys with it."""
    foreign(real)
    before = settled_without(dumps(real))
    cases = [
        {"name": f"case {queue}", "queue": queue, "given": [["SET", "{p}k", "v"]], "when": []}
        for queue in ("*", "q?", "[a-z]", "\\", "^", "}", "")
    ]
    assert 0 == run_cases(url(real), write(tmp_path, *cases))[0]
    assert before == settled_without(dumps(real))


def test_shared_keys_that_a_case_makes_go_and_others_stay(
    real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``{emq}:`` is everybody's: what the case made is removed, what was there is not written to."""
    inside(real).set("{emq}:theirs", "x")
    made = {"name": "made", "queue": "q", "given": [["SET", "{emq}:ours", "v"]], "when": []}
    clash = {"name": "clash", "queue": "q", "given": [["SET", "{emq}:theirs", "v"]], "when": []}
    assert UNUSABLE == run_cases(url(real), write(tmp_path, made, clash))[0]
    assert "clash: not run: '{emq}:theirs' is there already" in capsys.readouterr().err
    assert {b"0 {emq}:theirs", b"0 {emq}:version"} == set(dumps(real))
    assert b"x" == inside(real).get("{emq}:theirs")


BEYOND: list[list[Any]] = [
    ["FLUSHALL"],
    ["flushdb"],
    ["KEYS", "*"],
    ["CONFIG", "SET", "maxmemory", "1"],
    ["ACL", "SETUSER", "default", "off"],
    ["SWAPDB", "0", "1"],
    ["SCRIPT", "FLUSH"],
    ["EVAL", "return 1", "0"],
    ["MULTI"],
    ["SELECT", "1"],
    ["CLIENT", "KILL", "TYPE", "normal"],
    ["SET", "elsewhere", "v"],
    ["SET", "emq:{q2}:k", "v"],
    ["DEL", "{p}k", "elsewhere"],
    ["RENAME", "{p}k", "elsewhere"],
    ["COPY", "{p}k", "elsewhere"],
    ["COPY", "{p}k", "{p}l", "DB", "1"],
    [{"hex": "464c555348414c4c"}],
]


@pytest.mark.parametrize("command", BEYOND, ids=lambda command: str(command[0]))
@pytest.mark.parametrize("where", ["given", "when"])
def test_raw_commands_stay_in_the_queue(
    real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[Any], where: str
) -> None:
    """Else it is a case that this server can't run: a line for each executor that says why, exit 0, nothing sent."""
    foreign(real)
    before = settled_without(dumps(real))
    case: dict[str, Any] = {"name": "n", "queue": "q", "given": [["SET", "{p}k", "v"]], "when": []}
    case[where] = [*case[where], command if where == "given" else {"command": command}]
    status, lines = run_cases(url(real), write(tmp_path, case))
    assert (0, ["scripted", "native"]) == (status, [line["executor"] for line in lines])
    assert all("on a server of your own" in line["skipped"] for line in lines)
    assert [{"case", "executor", "server", "skipped"}] * 2 == [set(line) for line in lines]
    assert "2 skipped; each says why\n" == capsys.readouterr().err
    assert before == settled_without(dumps(real))


def trespass_of(**step: Any) -> str | None:
    """What is said of one step of a case on the queue ``q``."""
    case = parse_case({"name": "n", "queue": "q", "when": [step]})
    return trespass(b"q", [], [case.when[0].call(b"q", World(0, b""))])


def test_a_verb_s_keys_and_base_stay_in_the_queue() -> None:
    """Scripts trust them, so they are looked at before."""
    claim = {"verb": "claim", "lease_ms": "1"}
    complete = {"verb": "complete", "id": "JOB0NgWEfAEJfs", "token": "1"}
    assert trespass_of(**claim) is None
    assert trespass_of(**claim, keys=["{p}pending", "{p}active", "{p}x:"]) is None
    assert trespass_of(verb="pause") is None
    for step in (
        {**claim, "keys": ["{p}pending", "{p}active", "emq:{other}:"]},
        {**claim, "keys": ["{p}pending", "elsewhere", "{p}"]},
        {**complete, "args": ["JOB0NgWEfAEJfs", "1", "emq:{other}:"]},
        {"verb": "pause", "keys": ["elsewhere"]},
    ):
        assert "which is not in its own queue" in str(trespass_of(**step))


def test_a_case_that_was_not_looked_at_is_not_begun(server: RemoteServer) -> None:
    """Whoever runs cases must have them admitted: each time, and for that queue."""
    begin(server, b"q")
    server.end_case(b"q", plain=True)
    with pytest.raises(RuntimeError, match="admitted"):
        server.begin_case(b"q")
    server.admit(b"q", [], [])
    with pytest.raises(RuntimeError, match="admitted"):
        server.begin_case(b"other")


def test_others_keys_under_the_shared_prefix_are_nobody_s_business(server: RemoteServer, real: ServerProcess) -> None:
    """Those that come and go while a case runs are in no snapshot and stay when it ends."""
    guard = inside(real)
    guard.set("{emq}:before", "x")
    executors = lab_executors(server)
    perform = executors["scripted"].perform

    def meanwhile(call: Call) -> Any:
        guard.set("{emq}:meanwhile", "x")
        return perform(call)

    executors["scripted"].perform = meanwhile
    case = parse_case({**CASE, "given": [["SET", "{emq}:ours", "v"]]})
    done = run_case(server, executors, case, "scripted", traced=False)
    assert isinstance(done, Run)
    assert {b"{emq}:ours"} == set(done.after)
    assert {b"0 {emq}:before", b"0 {emq}:meanwhile", b"0 {emq}:version"} == set(dumps(real))


# ---------------------------------------------------------------- one run at a time on a queue


def test_a_second_run_on_the_queue_is_not_run(
    server: RemoteServer, real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and one sentence while the first goes on; another queue is free, and so is this one afterwards."""
    begin(server, b"q")
    assert 0 < inside(real).pttl("{emq}:busy:q") <= 120_000
    file = write(tmp_path, {**CASE, "given": []})
    assert (UNUSABLE, []) == run_cases(url(real), file)
    told = capsys.readouterr().err
    assert "cases.json: n: not run: a case is being run on the queue 'q' on redis://127.0.0.1:" in told
    assert 1 == told.count("\n")
    assert b"0 {emq}:busy:q" in dumps(real)
    assert 0 == run_cases(url(real), write(tmp_path, {**CASE, "queue": "other", "given": []}))[0]
    server.end_case(b"q", plain=True)
    assert {b"0 {emq}:version"} == set(dumps(real))
    status, lines = run_cases(url(real), write(tmp_path, {**CASE, "given": []}))
    assert (0, [{}, {}]) == (status, [line["keys"] for line in lines])


def test_a_lock_that_another_has_taken_over_stays_his(server: RemoteServer, real: ServerProcess) -> None:
    """Ours ran out and somebody else's case is being run: its lock is not ours to remove."""
    begin(server, b"q")
    inside(real).set("{emq}:busy:q", "theirs")
    server.end_case(b"q", plain=True)
    assert b"theirs" == inside(real).get("{emq}:busy:q")


def test_a_case_that_was_never_ended_is_ended_with_the_lab(server: RemoteServer, real: ServerProcess) -> None:
    """A signal came before anybody was there to clean up."""
    begin(server, b"q")
    inside(real).set("emq:{q}:k", "v")
    server.close()
    assert {b"0 {emq}:version"} == set(dumps(real))


def test_a_case_that_names_a_lock_is_skipped(real: ServerProcess, tmp_path: Path) -> None:
    """It is how runs keep out of each other's way."""
    case = {**CASE, "given": [["DEL", "{emq}:busy:q"]]}
    status, lines = run_cases(url(real), write(tmp_path, case))
    assert (0, 2) == (status, sum("keep out of each other's way" in line["skipped"] for line in lines))


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_killed_run_leaves_nothing_behind(
    real: ServerProcess, tmp_path: Path, number: signal.Signals, expected: int
) -> None:
    """In the middle of a case: its keys and its lock are gone and the version is back; the status is the shell's."""
    guard = inside(real)
    case = {**CASE, "when": [{"verb": "enqueue", "id": "JOB0NgWEfAEJfs", "payload": "x"}] * 20_000}
    command = [sys.executable, "-m", "emqlab.cli", "run", "--server", url(real), "--executor", "scripted", "--json"]
    process = subprocess.Popen(
        [*command, str(write(tmp_path, case))],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        loopback.until(lambda: b"other" == guard.get(keys.VERSION_KEY), "the case has begun")
        assert guard.exists("{emq}:busy:q")
        process.send_signal(number)
        assert expected == process.wait(60)
    finally:
        process.kill()
        process.wait()
    assert {b"0 {emq}:version"} == set(dumps(real))
    assert keys.VERSION == guard.get(keys.VERSION_KEY)


CASE: dict[str, Any] = {
    "name": "n",
    "queue": "q",
    "given": [["SET", "{p}k", "v"], ["SET", "{emq}:version", "other"]],
    "when": [{"verb": "claim", "lease_ms": "1"}],
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_breaks_in_leaves_nothing_behind(
    server: RemoteServer, real: ServerProcess, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """An error or Ctrl-C in the middle of a case: its keys are gone and the version is back."""
    executors = lab_executors(server)

    def break_in(call: Call) -> Any:
        raise error

    monkeypatch.setattr(executors["scripted"], "perform", break_in)
    with pytest.raises(error):
        run_case(server, executors, parse_case(CASE), "scripted", traced=False)
    assert {b"0 {emq}:version"} == set(dumps(real))
    assert keys.VERSION == inside(real).get(keys.VERSION_KEY)


def test_an_interrupt_while_it_waits_for_a_reply(
    server: RemoteServer, real: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real Ctrl-C while a script's reply is awaited: the late reply is read by nobody, and all is cleaned up."""
    executors = lab_executors(server)
    guard = inside(real)
    perform = executors["scripted"].perform
    main = threading.get_ident()

    def interrupt() -> None:
        loopback.until(lambda: any("b" in one["flags"] for one in guard.client_list()), "the script is held back")
        signal.pthread_kill(main, signal.SIGINT)
        guard.client_unpause()

    helper = threading.Thread(target=interrupt)

    def held_back(call: Call) -> Any:
        guard.client_pause(60_000, all=False)
        helper.start()
        return perform(call)

    monkeypatch.setattr(executors["scripted"], "perform", held_back)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        case = parse_case({**CASE, "when": [{"verb": "enqueue", "id": "JOB0NgWEfAEJfs", "payload": "x"}]})
        with pytest.raises(KeyboardInterrupt):
            run_case(server, executors, case, "scripted", traced=False)
    finally:
        signal.signal(signal.SIGINT, before)
        guard.client_unpause()
        helper.join()
    assert {b"0 {emq}:version"} == set(dumps(real))
    assert keys.VERSION == inside(real).get(keys.VERSION_KEY)
    assert isinstance(run_case(server, executors, parse_case(CASE), "native", traced=False), Run)


def test_an_interrupt_while_cleaning_up(
    server: RemoteServer, real: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is done again before the interrupt goes on."""
    begin(server, b"q")
    inside(real).set("emq:{q}:k", "v")
    clean, calls = server._clean, []

    def interrupted(queue: bytes) -> None:
        calls.append(queue)
        if len(calls) == 1:
            raise KeyboardInterrupt
        clean(queue)

    monkeypatch.setattr(server, "_clean", interrupted)
    with pytest.raises(KeyboardInterrupt):
        server.end_case(b"q", plain=True)
    assert {b"0 {emq}:version"} == set(dumps(real))


def test_the_version_s_time_to_live_is_put_back(server: RemoteServer, real: ServerProcess) -> None:
    """If somebody gave it one, a case that sets it does not take it."""
    inside(real).set(keys.VERSION_KEY, keys.VERSION, px=10**8)
    run_case(server, lab_executors(server), parse_case(CASE), "native", traced=False)
    assert 0 < inside(real).pttl(keys.VERSION_KEY) <= 10**8
    assert keys.VERSION == inside(real).get(keys.VERSION_KEY)


def test_world_steps_and_other_servers_are_skipped(real: ServerProcess, tmp_path: Path) -> None:
    """A user's clock and process are not the lab's; what is skipped is not looked at further."""
    base = {"queue": "q", "given": [["FLUSHALL"]]}
    cases = [
        {**base, "name": "a", "when": [{"advance_ms": 1}]},
        {**base, "name": "b", "when": [{"restart": True}]},
        {**base, "name": "c", "when": [], "servers": ["embedded"]},
    ]
    status, lines = run_cases(url(real), write(tmp_path, *cases))
    assert (0, 6) == (status, len(lines))
    assert all("skipped" in line for line in lines)


def test_a_server_that_goes_away_is_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle of a run, one sentence, no traceback."""
    with loopback.server() as process:
        server_url = url(process)
        kill = ["ZADD", "{p}pending", "0", "JOB0NgWEfAEJfs"]
        case: dict[str, Any] = {
            "name": "n",
            "queue": "q",
            "given": [kill],
            "when": [{"verb": "claim", "lease_ms": "1"}],
        }
        out = _Killer(process)
        cases = [{**case, "name": str(number)} for number in range(3)]
        status = run(
            [str(write(tmp_path, *cases))],
            executor="native", server=server_url, native="optimistic", as_json=True, out=out,
        )  # fmt: skip
    assert LOST == status
    assert capsys.readouterr().err.startswith("emqlab run: the server was lost: ")


class _Killer(io.StringIO):
    """Kills the server when the first line is printed."""

    def __init__(self, process: ServerProcess) -> None:
        super().__init__()
        self._process = process

    def write(self, text: str) -> int:
        """Print, and kill."""
        self._process.kill()
        return super().write(text)


def test_native_without_the_module_offers_three_ways(
    real: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and one sentence; the scripts alone are run."""
    file = write(tmp_path, {"name": "n", "queue": "q", "when": [{"verb": "claim", "lease_ms": "1"}]})
    for executor in ("both", "native"):
        assert (UNUSABLE, []) == run_cases(url(real), file, executor=executor, native="module")
        told = capsys.readouterr().err
        for way in ("`emqlab native build`", "--loadmodule", "--native optimistic", "lab.scripted"):
            assert way in told
        assert 1 == told.count("\n")
    assert 0 == run_cases(url(real), file, executor="scripted", native="module")[0]


def test_native_with_the_module_is_the_module_s(tmp_path: Path) -> None:
    """Found there, it is used: by a user who may ask COMMAND, and by one who may not."""
    try:
        module = module_path()
    except NoCompiler as error:
        pytest.skip(f"the module can't be built here: {error}")
    given = [["HSET", "{p}job:JOB0NgWEfAEJfs", "attempts", "1"], ["ZADD", "{p}pending", "0", "JOB0NgWEfAEJfs"]]
    case = {"name": "n", "queue": "q", "given": given, "when": [{"verb": "claim", "lease_ms": "9"}], "differs": [8]}
    users = ("everything on >pw ~* &* +@all", "unasking on >pw ~* +@all -command")
    with loopback.server({"user": users}, modules=[module]) as process:
        for user in ("everything", "unasking"):
            status, lines = run_cases(url(process, f"{user}:pw@"), write(tmp_path, case), native="module")
            assert (0, [{"ok": ["JOB0NgWEfAEJfs", None, 2]}] * 2) == (status, [line["replies"][0] for line in lines])
            assert inside(process).info("server")["run_id"] == lines[1]["run_id"]
            row = dict(lines[1]["keys"]["emq:{q}:job:JOB0NgWEfAEJfs"]["value"])
            assert lines[1]["run_id"] == row["lease_epoch"]
        asked = {name.lower(): one for name, one in inside(process).info("commandstats").items()}
        assert 2 <= asked["cmdstat_emq.claim"]["calls"]
        assert "cmdstat_watch" not in asked


# ---------------------------------------------------------------- a cluster


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[ServerProcess]]:
    """Three nodes."""
    with loopback.cluster() as nodes:
        yield nodes


@pytest.fixture
def clustered(nodes: list[ServerProcess]) -> Iterator[RemoteServer]:
    """The cluster as seen from its first node, empty."""
    for node in nodes:
        inside(node).flushall()
    server = RemoteServer(url(nodes[0]))
    yield server
    server.close()


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ((b"HSET", b"k", b"f", b"v"), b"k"),
        ((b"evalsha", b"sha", b"2", b"k", b"l", b"a"), b"k"),
        ((b"EVAL", b"return 1", b"0"), None),
        ((b"EMQ.CLAIM", b"3", b"k", b"l", b"m", b"1"), b"k"),
        ((b"EMQ.TRACE", b"EMQ.CLAIM", b"3", b"k", b"l", b"m", b"1"), b"k"),
        ((b"EMQ.CLAIM",), None),
        ((b"SCAN", b"0", b"MATCH", b"emq:{a\\*\\\\}:*", b"COUNT", b"10"), b"emq:{a*\\}:*"),
        ((b"SCAN", b"0"), None),
        ((b"TIME",), None),
        ((b"INFO", b"server"), None),
    ],
)
def test_a_command_s_key(command: tuple[bytes, ...], key: bytes | None) -> None:
    """By which it finds its node."""
    assert key == key_of(command)


#: A queue on each node, and one that shares its node with the wire version's slot.
QUEUES = ("orders", "c", "q", "a")


def test_every_queue_is_reached_from_every_node(nodes: list[ServerProcess], clustered: RemoteServer) -> None:
    """Scripts, verbs and pipelines go to the node of the queue's slot, NOSCRIPT is answered on each."""
    assert 3 == len({loopback.node_of(nodes, keys.slot(keys.base(queue.encode()))).pid for queue in QUEUES})
    for node in nodes:
        server = RemoteServer(url(node))
        for queue in QUEUES:
            for executor in lab_executors(server).values():
                job = executor.enqueue(queue, b"tea")
                claimed = executor.claim(queue)
                assert (job, b"tea", 1) == (claimed.id, claimed.payload, claimed.token)
                executor.complete(queue, job, 1)
        server.close()
    for queue in QUEUES:
        home = loopback.node_of(nodes, keys.slot(keys.base(queue.encode())))
        name = f"emq:{{{queue}}}:metrics:completed"
        assert b"6" == inside(home).hget(name, "count")


def test_a_pipeline_over_several_queues(clustered: RemoteServer) -> None:
    """Each reply is its own command's, whichever node gave it."""
    scripted = lab_executors(clustered)["scripted"]
    calls = [
        Call("enqueue", queue.encode(), {"id": b"JOB0NgWEfAEJf%d" % number, "payload": b"x"})
        for number in (1, 2, 1)
        for queue in QUEUES
    ]
    assert [1] * 8 + [0] * 4 == scripted.perform_many(calls)


def test_the_whole_run_on_a_cluster(
    nodes: list[ServerProcess], clustered: RemoteServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """As alone, but for the fence: the node of ``{q}`` does not own the version's key, so there it passes."""
    for queue in QUEUES:
        if queue != "q":
            clustered.client.set(keys.base(queue.encode()) + b"theirs", "x")
    before = [settled_without(dumps(node)) for node in nodes]
    status, lines = run_cases(url(nodes[0]), CASES)
    told = capsys.readouterr().err.splitlines()
    assert DID_NOT_HOLD == status
    names = {line.split(": ")[0] for line in told if ": " in line}
    assert {"fence/enqueue", "fence/complete", "fence/of-a-wrong-type", "optimistic host"} == names
    assert 300 < len(lines)
    assert before == [settled_without(dumps(node)) for node in nodes]
    assert keys.VERSION == clustered.client.get(keys.VERSION_KEY)


def test_the_fence_holds_where_the_version_is(clustered: RemoteServer, nodes: list[ServerProcess]) -> None:
    """A queue on the version's own node is fenced there."""
    clustered.client.set(keys.VERSION_KEY, "echomq:2.0.0")
    native = lab_executors(clustered)["native"]
    assert loopback.node_of(nodes, keys.slot(b"{c}")).pid == loopback.node_of(nodes, keys.slot(keys.VERSION_KEY)).pid
    with pytest.raises(errors.WrongVersion):
        native.claim("c")
    assert native.claim("orders") is None


def test_the_epoch_and_the_clock_are_the_queue_s_node_s(nodes: list[ServerProcess], clustered: RemoteServer) -> None:
    """``@run_id`` of a case, and the stamp of its lease."""
    given = [["HSET", "{p}job:JOB0NgWEfAEJfs", "attempts", "1"], ["ZADD", "{p}pending", "0", "JOB0NgWEfAEJfs"]]
    for queue in QUEUES:
        case = parse_case(
            {"name": "n", "queue": queue, "given": given, "when": [{"verb": "claim", "lease_ms": "9000"}]}
        )
        done = run_case(clustered, lab_executors(clustered), case, "native", traced=True)
        assert isinstance(done, Run)
        home = inside(loopback.node_of(nodes, keys.slot(keys.base(queue.encode()))))
        assert home.info("server")["run_id"] == done.run_id
        row = done.after[keys.row(queue.encode(), b"JOB0NgWEfAEJfs")].pairs()
        assert done.run_id.encode() == row[b"lease_epoch"]


def test_a_slot_that_moves_is_followed(nodes: list[ServerProcess], clustered: RemoteServer) -> None:
    """MOVED in the middle of a lab's life, by script, verb, pipeline and SCAN."""
    executors = lab_executors(clustered)
    slot = keys.slot(b"{moving}")
    assert executors["scripted"].claim("moving") is None
    assert executors["native"].claim("moving") is None
    old = loopback.node_of(nodes, slot)
    new = next(node for node in nodes if node is not old)
    _move(nodes, slot, new)
    try:
        job = executors["native"].enqueue("moving", b"x")
        call = Call("enqueue", b"moving", {"id": b"JOB0NgWEfAEJfs", "payload": b"x"})
        assert [1, 0] == executors["scripted"].perform_many([call, call])
        assert {job, b"JOB0NgWEfAEJfs"} == set(inside(new).zrange("emq:{moving}:pending", 0, -1))
        with pytest.raises(CannotRun, match="the queue 'moving' is not empty"):
            begin(clustered, b"moving")
        inside(new).delete(*inside(new).scan_iter("emq:{moving}:*"))
    finally:
        _move(nodes, slot, old)
    executors["scripted"].enqueue("moving", b"x")
    with pytest.raises(CannotRun, match="the queue 'moving' is not empty"):
        begin(clustered, b"moving")


def _move(nodes: list[ServerProcess], slot: int, to: ServerProcess) -> None:
    """Give a slot without keys to another node."""
    name = inside(to).execute_command("CLUSTER", "MYID")
    for node in (to, *(node for node in nodes if node is not to)):
        inside(node).execute_command("CLUSTER", "SETSLOT", slot, "NODE", name)


def test_a_node_by_its_socket_and_a_queue_without_a_hashtag(
    nodes: list[ServerProcess], clustered: RemoteServer
) -> None:
    """Neither can work in a cluster; a sentence each."""
    assert "is a node of a cluster; give its redis:// URL" in refusal(f"unix://{nodes[0].socket}")
    for queue in (b"", b"}x"):
        with pytest.raises(CannotRun, match="has no hashtag"):
            begin(clustered, queue)


def test_a_node_that_is_lost(clustered: RemoteServer) -> None:
    """Is a lost server to its queues, and the lab's other queues go on once it is back."""
    with loopback.cluster() as nodes:
        server = RemoteServer(url(nodes[0]))
        executors = lab_executors(server)
        assert executors["scripted"].claim("q") is None
        home = loopback.node_of(nodes, keys.slot(b"{q}"))
        assert home is not nodes[0]
        home.kill()
        for executor in executors.values():
            with pytest.raises(errors.ServerLost):
                executor.claim("q")
        assert executors["scripted"].claim("orders") is None
        server.close()


def test_ids_of_two_labs_differ(real: ServerProcess) -> None:
    """Node numbers are drawn, so that labs on one server do not mint the same ids."""
    servers = [RemoteServer(url(real)) for _ in range(4)]
    assert all(0 <= server.node < 1024 for server in servers)
    assert 1 < len({server.node for server in servers})
    for server in servers:
        server.close()


def test_a_closed_server_leaves_no_connection(real: ServerProcess) -> None:
    """Every one that it opened is closed."""
    guard = inside(real)
    before = len(guard.client_list())
    server = RemoteServer(url(real))
    lab_executors(server)["native"].claim("q")
    assert before < len(guard.client_list())
    server.close()
    loopback.until(lambda: len(guard.client_list()) == before, "the connections are closed")
