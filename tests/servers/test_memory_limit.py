"""When memory is short new jobs are refused, and everything that finishes or moves a job goes through, whole."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis

from emqlab import errors
from emqlab.ids import Mint
from emqlab.replies import ErrorReply, ask, ask_all, settled
from emqlab.scripted.executor import ScriptedExecutor
from tests.servers.effects import BASE, EFFECTS, Bed, Effect, lines, running  # noqa: F401
from tests.servers.real import RealServer, answer, dump_all
from tests.transitions.wire import ALL, ROW, WIRES, Wire

A = "JOB0NgWEfAEJfa"
#: The two that make a job out of nothing.
NEW_JOBS = ("EMQ.ENQUEUE", "EMQ.SCHEDULE")
OTHERS = {name: effect for name, effect in EFFECTS.items() if effect.words[0] not in NEW_JOBS}
WAYS = {"plain": [], "trace": ["EMQ.TRACE"], "script": ["EVAL", "return redis.call(unpack(ARGV))", "0"]}

each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture
def bed(running: RealServer) -> Iterator[Bed]:  # noqa: F811
    """An empty server; its memory is as large as it likes again afterwards."""
    ask(running.client, "FLUSHALL")
    yield Bed(running)
    ask(running.client, "CONFIG", "SET", "maxmemory", "0")


@contextmanager
def short_of_memory(bed: Bed) -> Iterator[None]:
    """Any memory is too much, and nothing is evicted."""
    ask_all(bed.client, [("CONFIG", "SET", "maxmemory-policy", "noeviction"), ("CONFIG", "SET", "maxmemory", "1")])
    # What the limit means to the server itself.
    assert isinstance(answer(bed.client, "SET", "x", "y"), ErrorReply)
    yield
    ask(bed.client, "CONFIG", "SET", "maxmemory", "0")


def _oom(reply: object) -> bool:
    return isinstance(reply, ErrorReply) and reply.text.startswith("OOM command not allowed when used memory >")


@pytest.mark.parametrize("command", NEW_JOBS)
@each_way
def test_new_jobs_are_refused(bed: Bed, command: str, way: list[str]) -> None:
    """enqueue and schedule: OOM, traced and scripted, too, and not a byte of them is there."""
    ask(bed.client, "SET", "other", "x")
    before = dump_all(bed.client)
    with short_of_memory(bed):
        assert _oom(answer(bed.client, *way, *WIRES[command].words()))
    assert before == dump_all(bed.client)
    assert not isinstance(answer(bed.client, *way, *WIRES[command].words()), ErrorReply)


@pytest.mark.parametrize("effect", OTHERS.values(), ids=OTHERS)
@each_way
def test_the_others_do_their_work(bed: Bed, effect: Effect, way: list[str]) -> None:
    """Every effect of the ten others is whole: the keyspace is what their plain commands make of it."""
    now = bed.prepare(effect)
    with short_of_memory(bed):
        reply = answer(bed.client, *way, *effect.words)
    assert not isinstance(reply, ErrorReply)
    done = dump_all(bed.client)
    plain = [bed.filled(command, now) for command in lines(effect.plain)]
    bed.prepare(effect, now)
    given = dump_all(bed.client)
    ask_all(bed.client, plain)
    assert dump_all(bed.client) == done
    assert given != done


def test_the_others_are_ten() -> None:
    """The effects above are those of all verbs but two."""
    others = {wire.command for wire in ALL} - set(NEW_JOBS)
    assert others == {effect.words[0] for effect in OTHERS.values()}
    assert 10 == len(others)


@pytest.mark.parametrize(
    "wire", [wire for wire in ALL if wire.command not in NEW_JOBS], ids=lambda wire: str(wire.command)
)
def test_in_a_transaction(bed: Bed, wire: Wire) -> None:
    """Let in where the server lets in its own DEL, which Redis 7.0 does not; an enqueue ends any transaction."""
    with short_of_memory(bed):
        *_, server_own = ask_all(bed.client, [("MULTI",), ("DEL", "x"), ("EXEC",)])
        *_, verb = ask_all(bed.client, [("MULTI",), wire.words(), ("EXEC",)])
        *_, mixed = ask_all(bed.client, [("MULTI",), wire.words(), WIRES["EMQ.ENQUEUE"].words(), ("EXEC",)])
    assert isinstance(server_own, list) == isinstance(verb, list)
    assert not (isinstance(verb, list) and any(map(_oom, settled(verb))))
    assert isinstance(mixed, redis.exceptions.ExecAbortError)
    assert {} == dump_all(bed.client)


def test_the_scripted_extend_is_refused(bed: Bed) -> None:
    """Divergence 26: the script begins with a ZADD, the verb is let in, and both are asked on the same lease."""
    scripted = ScriptedExecutor(bed.client, Mint(bed.now).next)
    job = scripted.enqueue("q", b"tea", id=A)
    assert scripted.claim("q", lease_ms=9_000) is not None
    before = dump_all(bed.client)
    with short_of_memory(bed):
        with pytest.raises(errors.ServerRefused) as one:
            scripted.extend("q", job, 1, lease_ms=60_000)
        with pytest.raises(errors.ServerRefused) as many:
            scripted.extends("q", [(job, 1)], lease_ms=60_000)
        assert before == dump_all(bed.client)
        assert 1 == answer(bed.client, *WIRES["EMQ.EXTEND"].words(token="1", lease_ms="60000"))
    assert ["OOM", "OOM"] == [one.value.code, many.value.code]
    assert bed.now() + 50_000 < float(ask(bed.client, "ZSCORE", f"{BASE}active", A))
    assert ask(bed.client, "HGET", ROW, "lease_epoch").decode() == bed.run_id
