"""Replicas and the append-only file get what a verb did, never the verb: they need neither its module nor its clock."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from emqlab.replies import ErrorReply, ask, ask_all
from emqlab.servers.process import Setting
from tests.servers.effects import EFFECTS, Bed, Effect, every_effect, lines
from tests.servers.real import NAMES, RealServer, answer, dump_all, each_server, listening, real_server, wait_until
from tests.transitions.wire import ALL, BASE, ROW, WIRES, Wire

A = "JOB0NgWEfAEJfa"
SCRIPT = "return redis.call(unpack(ARGV))"
#: A full copy at once, no ping that moves the offset, and an append-only file that is all text.
_QUIET: dict[str, Setting] = {
    "repl-diskless-sync-delay": "0",
    "repl-ping-replica-period": "3600",
    "aof-use-rdb-preamble": "no",
    "auto-aof-rewrite-percentage": "0",
}

each_command = pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.command))


# ---------------------------------------------------------------- the append-only file as text


def aof(server: RealServer) -> Path:
    """The part of the append-only file that grows."""
    (part,) = (server.process.directory / "appendonlydir").glob("*.incr.aof")
    return part


def commands(text: bytes) -> list[list[bytes]]:
    """The commands of an append-only text; which database they are for is left out."""
    found: list[list[bytes]] = []
    at = 0

    def number(sign: bytes) -> int:
        nonlocal at
        end = text.index(b"\r\n", at)
        assert sign == text[at : at + 1]
        value, at = int(text[at + 1 : end]), end + 2
        return value

    while at < len(text):
        words = []
        for _ in range(number(b"*")):
            size = number(b"$")
            words.append(text[at : at + size])
            at += size + 2
        if words[0].upper() != b"SELECT":
            found.append([words[0].upper(), *words[1:]])
    return found


@dataclass(frozen=True, slots=True)
class Stream:
    """What one server adds to its append-only file."""

    server: RealServer

    def of(self, *sent: Sequence[str | bytes | int]) -> list[list[bytes]]:
        """The commands that these commands, sent in one go, add."""
        before = aof(self.server).stat().st_size
        ask_all(self.server.client, sent)
        return commands(aof(self.server).read_bytes()[before:])


def by_key(effects: list[list[bytes]]) -> dict[bytes, list[list[bytes]]]:
    """What is done to each key, in order, one member at a time. Between two keys the order tells nothing."""
    found: dict[bytes, list[list[bytes]]] = {}
    for name, key, *args in effects:
        size = {b"ZREM": 1, b"ZADD": 2}.get(name, max(1, len(args)))
        parts = [args[at : at + size] for at in range(0, max(1, len(args)), size)]
        found.setdefault(key, []).extend([name, *part] for part in parts)
    return found


def inside(sent: list[list[bytes]]) -> list[list[bytes]]:
    """What arrived, freed of the one transaction that several effects have to arrive in; one alone needs none."""
    if len(sent) == 1:
        return sent
    assert [[b"MULTI"], [b"EXEC"]] == [sent[0], sent[-1]]
    return sent[1:-1]


def wanted(bed: Bed, effect: Effect, queue: str = "{q}") -> list[list[bytes]]:
    """The plain commands of an effect that changed something, their scores read off what it left."""
    plain = [[word.replace("{q}", queue) for word in command] for command in lines(effect.plain)]
    if effect.name == "reprocess/without-an-error":
        plain = [command for command in plain if command[0] != "HDEL"]
    return [bed.filled(command) for command in plain]


# ---------------------------------------------------------------- a primary and two replicas


@dataclass(frozen=True, slots=True)
class Trio:
    """A primary with the module, a replica without and one with it, whose links are up."""

    primary: RealServer
    bare: RealServer
    equipped: RealServer

    @property
    def offset(self) -> int:
        """How much the primary has sent."""
        return int(self.primary.info("replication")["master_repl_offset"])

    def settle(self) -> None:
        """Wait until both replicas have applied all that was sent."""
        sent = self.offset
        for replica in (self.bare, self.equipped):
            wait_until(lambda: _applied(replica) >= sent, "the replica has what the primary sent")  # noqa: B023


def _applied(replica: RealServer) -> int:
    return int(replica.info("replication")["slave_repl_offset"])


@pytest.fixture(scope="module", params=NAMES)
def linked(request: pytest.FixtureRequest) -> Iterator[Trio]:
    """The three, for all tests of this file."""
    with ExitStack() as stack:

        def start(*, module: bool) -> RealServer:
            return stack.enter_context(real_server(request.param, module=module, config=listening(**_QUIET)))

        trio = Trio(start(module=True), start(module=False), start(module=True))
        for replica in (trio.bare, trio.equipped):
            _follow(replica, trio.primary)
        yield trio


def _follow(replica: RealServer, primary: RealServer) -> None:
    ask(replica.client, "REPLICAOF", "127.0.0.1", primary.port)
    wait_until(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is linked")


@pytest.fixture
def trio(linked: Trio) -> Trio:
    """The same three, empty."""
    ask(linked.primary.client, "FLUSHALL")
    return linked


@pytest.fixture
def bed(trio: Trio) -> Bed:
    """The primary, for effects."""
    return Bed(trio.primary)


def _queue(number: int) -> str:
    return f"{{q{number}}}"


def live_through_everything(bed: Bed) -> None:
    """Every verb on every branch that writes, each in a queue of its own, then each again, which most refuse."""
    for number, effect in enumerate(EFFECTS.values()):
        now = bed.now()
        given = [[word.replace("{q}", _queue(number)) for word in command] for command in lines(effect.given)]
        ask_all(bed.client, [bed.filled(command, now) for command in given])
        words = [word.replace("{q}", _queue(number)) for word in effect.words]
        assert not isinstance(answer(bed.client, *words), ErrorReply), effect.name
        answer(bed.client, *words)


# ---------------------------------------------------------------- what goes out


@every_effect
def test_what_is_sent_on(bed: Bed, effect: Effect) -> None:
    """Exactly the plain commands of its effects, key by key, in one transaction, and no EMQ command."""
    bed.prepare(effect)
    sent = Stream(bed.server).of(effect.words)
    assert by_key(wanted(bed, effect)) == by_key(inside(sent))


@every_effect
def test_what_a_traced_or_scripted_verb_sends_on(bed: Bed, effect: Effect) -> None:
    """The same, whoever ran it."""
    for words in (["EMQ.TRACE", *effect.words], ["EVAL", SCRIPT, "0", *effect.words]):
        bed.prepare(effect)
        sent = Stream(bed.server).of(words)
        assert by_key(wanted(bed, effect)) == by_key(inside(sent))


@pytest.mark.parametrize("way", ["transaction", "script"])
def test_two_verbs_in_one(bed: Bed, way: str) -> None:
    """The effects of two verbs of one transaction, or one script, travel in one transaction."""
    claim, complete = WIRES["EMQ.CLAIM"].words(), WIRES["EMQ.COMPLETE"].words(token="1")
    ask(bed.client, *WIRES["EMQ.ENQUEUE"].words())
    if way == "transaction":
        sent = Stream(bed.server).of(["MULTI"], claim, complete, ["EXEC"])
    else:
        both = "redis.call(unpack(ARGV, 1, 6)) return redis.call(unpack(ARGV, 7))"
        sent = Stream(bed.server).of(["EVAL", both, "0", *claim, *complete])
    names = b"DEL HINCRBY HINCRBY HSET ZADD ZPOPMIN ZREM".split()
    assert names == sorted(command[0] for command in inside(sent))
    assert [f"{BASE}metrics:completed".encode()] == ask(bed.client, "KEYS", "*")


def _refusals() -> Iterator[tuple[str, list[tuple[str, ...]], list[str]]]:
    """Name, what comes before, and a command that writes nothing."""
    for wire in ALL:
        name = wire.command.lower()
        yield f"{name}-nothing-to-do", [("SET", "other", "x")], wire.words(token="9", id="TSKx", job="TSKx")
        yield f"{name}-fence", [("SET", "{emq}:version", "echomq:2.0.0")], wire.words()
        yield f"{name}-wrong-type", [("SET", key, "x") for key in wire.words()[2 : 2 + len(wire.keys)]], wire.words()
        yield f"{name}-arity", [("SET", "other", "x")], wire.words()[:-1]
    row = ("HSET", ROW, "attempts", "x", "payload", "p")
    waits = ("ZADD", f"{BASE}pending", "0", A)
    yield "claim-bad-number", [row, waits], WIRES["EMQ.CLAIM"].words()
    yield "claim-paused", [row, waits, ("HSET", f"{BASE}meta", "paused", "1")], WIRES["EMQ.CLAIM"].words()
    yield "claim-bad-lease", [row, waits], WIRES["EMQ.CLAIM"].words(lease_ms="0")
    yield "enqueue-duplicate", [row], WIRES["EMQ.ENQUEUE"].words()


@pytest.mark.parametrize(
    ("given", "words"), [pytest.param(given, words, id=name) for name, given, words in _refusals()]
)
def test_what_writes_nothing_sends_nothing(trio: Trio, given: list[tuple[str, ...]], words: list[str]) -> None:
    """A refusal, or a call with nothing to do, moves neither the offset nor the append-only file."""
    ask_all(trio.primary.client, given)
    before, keys = trio.offset, dump_all(trio.primary.client)
    assert [] == Stream(trio.primary).of(words, ["EMQ.TRACE", *words], ["EVAL", SCRIPT, "0", *words])
    assert before == trio.offset
    assert keys == dump_all(trio.primary.client)


# ---------------------------------------------------------------- what arrives


def test_replicas_hold_the_same(trio: Trio, bed: Bed) -> None:
    """After every verb on every branch each key is the same DUMP on the primary, a bare replica and an equipped one."""
    live_through_everything(bed)
    trio.settle()
    kept = dump_all(trio.primary.client)
    assert len(EFFECTS) < len(kept)
    assert kept == dump_all(trio.bare.client)
    assert kept == dump_all(trio.equipped.client)


def test_rows_and_sets_too_large_to_be_packed(trio: Trio, bed: Bed) -> None:
    """A long payload and a thousand jobs: held alike, in the same encodings, on all three."""
    wide = "w" * 5_000
    jobs = [f"JOB0NgWEfA{number:04}" for number in range(1_000)]
    for job in jobs:
        ask(bed.client, *WIRES["EMQ.ENQUEUE"].words(job=job, payload=wide))
    assert [jobs[0].encode(), wide.encode(), 1] == ask(bed.client, *WIRES["EMQ.CLAIM"].words())
    failed = WIRES["EMQ.FAIL"].words(job=jobs[0], token="1", error=wide)
    assert b"scheduled" == ask(bed.client, *failed)
    for _ in jobs[1:]:
        assert ask(bed.client, *WIRES["EMQ.CLAIM"].words())
    ask_all(bed.client, [("ZADD", f"{BASE}active", 1, job) for job in jobs[1:]])
    swept = ask(bed.client, *WIRES["EMQ.STALLED.CHECK"].words(limit="1000"))
    assert [[], [job.encode() for job in jobs[1:]]] == swept
    trio.settle()
    kept = _held(trio.primary)
    assert {b"hashtable", b"skiplist", b"listpack"} == {encoding for encoding, _ in kept.values()}
    assert kept == _held(trio.bare)
    assert kept == _held(trio.equipped)


def _held(server: RealServer) -> dict[bytes, tuple[bytes, object]]:
    """Every key's encoding and content: a table's DUMP has an order of its own on each server."""
    names: list[bytes] = ask(server.client, "KEYS", "*")
    rows = [b":job:" in name or b":metrics:" in name for name in names]
    reads = [
        ("HGETALL", name) if row else ("ZRANGE", name, 0, -1, "WITHSCORES")
        for name, row in zip(names, rows, strict=True)
    ]
    encodings = ask_all(server.client, [("OBJECT", "ENCODING", name) for name in names])
    values = [
        sorted(zip(value[::2], value[1::2], strict=True)) if row else value
        for value, row in zip(ask_all(server.client, reads), rows, strict=True)
    ]
    return dict(zip(names, zip(encodings, values, strict=True), strict=True))


def test_a_full_copy_holds_the_same(trio: Trio, bed: Bed) -> None:
    """So does a replica that comes later and gets a copy of the whole."""
    live_through_everything(bed)
    for module in (False, True):
        with real_server(trio.primary.name, module=module, config=listening(**_QUIET)) as late:
            _follow(late, trio.primary)
            assert dump_all(trio.primary.client) == dump_all(late.client)


@each_command
@pytest.mark.parametrize("way", ["plain", "script", "trace"])
def test_a_replica_refuses(trio: Trio, wire: Wire, way: str) -> None:
    """READONLY, in the server's own words, from a script and a trace, too."""
    ask(trio.primary.client, *WIRES["EMQ.ENQUEUE"].words())
    trio.settle()
    words = {"plain": [], "script": ["EVAL", SCRIPT, "0"], "trace": ["EMQ.TRACE"]}[way] + wire.words()
    reply = answer(trio.equipped.client, *words)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("READONLY You can't write against a read only replica")
    assert dump_all(trio.primary.client) == dump_all(trio.equipped.client)


@each_server
def test_a_replica_that_takes_over(name: str) -> None:
    """A replica made primary runs the verbs under its own epoch: the lease it inherited is exempt from the sweep."""
    with real_server(name, config=listening(**_QUIET)) as old, real_server(name, config=listening(**_QUIET)) as new:
        _follow(new, old)
        ask(old.client, *WIRES["EMQ.ENQUEUE"].words())
        ask(old.client, *WIRES["EMQ.CLAIM"].words())
        sent = int(old.info("replication")["master_repl_offset"])
        wait_until(lambda: _applied(new) >= sent, "the replica has the lease")
        ask(new.client, "REPLICAOF", "NO", "ONE")
        ask(new.client, "ZADD", f"{BASE}active", 1, A)
        assert [[A.encode()], []] == ask(new.client, *WIRES["EMQ.STALLED.CHECK"].words())
        assert [A.encode(), b"tea", 2] == ask(new.client, *WIRES["EMQ.CLAIM"].words())
        assert ask(new.client, "HGET", ROW, "lease_epoch").decode() == new.info("server")["run_id"]


# ---------------------------------------------------------------- the append-only file read again


@each_server
def test_an_append_only_file_read_again(name: str) -> None:
    """A server that was killed comes back with the same DUMP of each key, without the module and with it."""
    with real_server(name, config=_QUIET) as server:
        live_through_everything(Bed(server))
        kept = dump_all(server.client)
        assert b"EMQ." not in aof(server).read_bytes().upper()
        modules = server.process.modules
        for loaded in ((), modules, ()):
            server.process.kill()
            server.process.modules = loaded
            server.client.connection_pool.disconnect()
            server.process.start()
            assert kept == dump_all(server.client)


@each_server
def test_a_verb_in_an_append_only_file(name: str) -> None:
    """Somebody else's file may hold a verb: it is not run, for it has no user, and the server goes on."""
    with real_server(name, config=_QUIET) as server:
        ask(server.client, *WIRES["EMQ.ENQUEUE"].words())
        kept = dump_all(server.client)
        server.process.stop()
        for words in (WIRES["EMQ.CLAIM"].words(), ["EMQ.TRACE", *WIRES["EMQ.CLAIM"].words()]):
            with aof(server).open("ab") as file:
                file.write(_packed(words))
        server.client.connection_pool.disconnect()
        server.process.start()
        assert kept == dump_all(server.client)
        assert [A.encode(), b"tea", 1] == ask(server.client, *WIRES["EMQ.CLAIM"].words())


def _packed(words: Sequence[str]) -> bytes:
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
