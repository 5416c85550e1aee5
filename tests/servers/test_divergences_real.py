"""The declared divergences that only a real server, a second client, statistics or a limited user can show (SPEC 6)."""

import pytest
import redis

from emqlab import ids, keys
from emqlab.executor import Executor
from emqlab.native.executor import NativeExecutor
from emqlab.replies import ErrorReply, ask
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.transitions import Call
from tests.servers.real import RealServer

JOB = b"JOB0NgWEfAEJfs"
BASE = keys.base(b"q")
ROW = keys.row(b"q", JOB)
CLAIM = Call("claim", b"q", {"lease_ms": b"30000"})


@pytest.fixture
def server(running: RealServer) -> RealServer:
    """The same with one waiting job."""
    ask(running.client, "FLUSHALL")
    ask(running.client, "HSET", ROW, "state", "pending", "attempts", "0", "payload", "tea")
    ask(running.client, "ZADD", BASE + b"pending", "0", JOB)
    return running


def scripted(client: redis.Redis) -> ScriptedExecutor:
    """The scripts over a client."""
    return ScriptedExecutor(client, ids.Mint(lambda: 1_800_000_000_000, 0).next)


def native(server: RealServer, client: redis.Redis) -> NativeExecutor:
    """The verbs over a client."""
    return NativeExecutor(
        client, ids.Mint(lambda: 1_800_000_000_000, 0).next, lambda: server.info("server")["run_id"].encode()
    )


def test_1_a_pause_that_falls_between(server: RealServer) -> None:
    """Between the script's look at the flag and its pop another client pauses: the script claims, the verb can't."""
    with server.connect() as client, server.connect() as other:
        executor = scripted(client)
        run = executor._run

        def paused_first(script: object, *words: list[bytes]) -> object:
            ask(other, "HSET", BASE + b"meta", "paused", "1")
            return run(script, *words)  # type: ignore[arg-type]

        executor._run = paused_first  # type: ignore[method-assign, assignment]
        assert [JOB, b"tea", 1] == executor.perform(CLAIM)
        ask(other, "ZADD", BASE + b"pending", "0", JOB)
        assert [] == native(server, client).perform(CLAIM)


def test_4_who_asks_for_the_time(server: RealServer) -> None:
    """The script calls TIME; the verb reads the frozen clock, and calls TIME only where there is none (Redis 7.0)."""
    asked = {}
    for executor in (scripted(server.client), native(server, server.client)):
        before = _calls(server, "time")
        assert executor.perform(CLAIM)
        asked[executor.name] = _calls(server, "time") - before
        ask(server.client, "ZADD", BASE + b"pending", "0", JOB)
    frozen = server.version() > ("redis", 7, 0)
    assert {"scripted": 1, "native": 0 if frozen else 1} == asked


def _calls(server: RealServer, command: str) -> int:
    line = server.info("commandstats").get(f"cmdstat_{command}", "calls=0,")
    return int(line.partition("calls=")[2].partition(",")[0])


def test_6_derived_keys_are_reached_after_the_pop(server: RealServer) -> None:
    """With rights to the sent keys alone the script pops and may not see the row; the verb is refused before."""
    base = BASE.decode()
    own = [f"~{base}", f"~{base}pending", f"~{base}active", f"%R~{base}meta", "%R~{emq}:version"]
    ask(server.client, "ACL", "SETUSER", "half", "reset", "on", "nopass", "+@all", *own)
    waiting = []
    with server.connect(username="half", password="") as half:
        executors: list[Executor] = [native(server, half), scripted(half)]
        for executor in executors:
            assert isinstance(executor.perform(CLAIM), ErrorReply)
            waiting.append(ask(server.client, "ZCARD", BASE + b"pending"))
    assert [1, 0] == waiting


def test_7_a_version_that_changes_later(server: RealServer) -> None:
    """The script asked when the connection was opened; the verb asks on every call."""
    ask(server.client, "SET", keys.VERSION_KEY, "echomq:2.0.0")
    assert ErrorReply("EMQFENCE wire version echomq:2.0.0") == native(server, server.client).perform(CLAIM)
    assert [JOB, b"tea", 1] == scripted(server.client).perform(CLAIM)


def test_25_what_a_server_adds_to_an_error(server: RealServer) -> None:
    """An error that a command raised in a script names the script; the verb's is plain."""
    ask(server.client, "SET", ROW, "spoiled")
    call = Call("complete", b"q", {"id": JOB, "token": b"1"})
    text = "WRONGTYPE Operation against a key holding the wrong kind of value"
    told = scripted(server.client).perform(call)
    assert isinstance(told, ErrorReply)
    assert told.text.startswith(f"{text} script: ")
    assert ErrorReply(text) == native(server, server.client).perform(call)
