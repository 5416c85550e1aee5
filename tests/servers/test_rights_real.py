"""What a real server's ACL user may not touch, a verb does not touch for it, step by step (SPEC 5.1 rule 5)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import redis

from emqlab.replies import ErrorReply, ask
from tests.servers.real import RealServer, answer, dump_all
from tests.transitions.wire import ALL, BASE, ROW, WIRES, Wire

A, B = "JOB0NgWEfAEJfa", "JOB0NgWEfAEJfb"
ROW_B = f"{BASE}job:{B}"
SCRIPT = "return redis.call(unpack(ARGV))"

#: One more right, and the last read that is made without it.
Rung = tuple[str, str]

_VERSION: Rung = ("%R~{emq}:version", "")
_FENCE = "GET {emq}:version"


def _reads_then_writes(key: str, before: str, between: str) -> tuple[Rung, Rung]:
    """A derived key is opened to be read after ``before``, to be written after ``between``."""
    return (f"%R~{BASE}{key}", before), (f"~{BASE}{key}", between)


@dataclass(frozen=True, slots=True)
class Ladder:
    """A verb on one of its branches: the rights to derived keys in the order in which it comes to need them."""

    branch: str
    command: str
    given: str
    reply: object
    more: tuple[Rung, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    tail: tuple[str, ...] = ()

    @property
    def wire(self) -> Wire:
        """The command's layout."""
        return WIRES[self.command]

    @property
    def words(self) -> list[str]:
        """The whole command."""
        return [*self.wire.words(job=A, **self.values), *self.tail]

    @property
    def rungs(self) -> tuple[Rung, ...]:
        """Every verb begins with the version."""
        return (_VERSION, *self.more)


_ROW_A = f"job:{A}"
_DUE = "ZRANGEBYSCORE"
_COMPLETED = ("metrics:completed", "ZSCORE active", "HGET metrics:completed count")
_META: Rung = (f"%R~{BASE}meta", _FENCE)
#: The states are written by ``_put``: which sets hold A, then the fields that its row has besides attempts and payload.
LADDERS = [
    Ladder("new", "EMQ.ENQUEUE", "", 1),
    Ladder("new", "EMQ.SCHEDULE", "", 1),
    Ladder(
        "head",
        "EMQ.CLAIM",
        "pending row",
        [A.encode(), b"p", 3],
        (_META, *_reads_then_writes(_ROW_A, "ZRANGE", "TYPE")),
    ),
    Ladder("ghost", "EMQ.CLAIM", "pending", [], (_META, (f"%R~{BASE}{_ROW_A}", "ZRANGE"))),
    Ladder("leased", "EMQ.COMPLETE", "active row", 1, _reads_then_writes(*_COMPLETED)),
    Ladder(
        "recovered",
        "EMQ.COMPLETE",
        "pending row",
        1,
        (
            *_reads_then_writes("pending", "ZSCORE active", "ZSCORE pending"),
            *_reads_then_writes("metrics:completed", "ZSCORE pending", "HGET metrics:completed count"),
        ),
    ),
    Ladder("retry", "EMQ.FAIL", "active row", b"scheduled"),
    Ladder(
        "cap",
        "EMQ.FAIL",
        "active row",
        b"dead",
        _reads_then_writes("metrics:failed", f"HGET {_ROW_A} failures", "HGET metrics:failed count"),
        {"max_attempts": "1"},
    ),
    Ladder("leased", "EMQ.DELAY", "active row", 1),
    Ladder("leased", "EMQ.REQUEUE", "active row", 1),
    Ladder("leased", "EMQ.EXTEND", "active row", 1),
    Ladder("one", "EMQ.EXTENDS", "active row", [], _reads_then_writes(_ROW_A, _FENCE, "ZSCORE active")),
    Ladder(
        "two",
        "EMQ.EXTENDS",
        "active row other",
        [],
        ((f"~{BASE}{_ROW_A}", _FENCE), *_reads_then_writes(f"job:{B}", "ZSCORE active", f"ZSCORE active {B}")),
        tail=(B, "2"),
    ),
    Ladder("due", "EMQ.PROMOTE", "schedule row", 1, _reads_then_writes(_ROW_A, _DUE, f"HGET {_ROW_A} group")),
    Ladder("ghost", "EMQ.PROMOTE", "schedule", 0, ((f"%R~{BASE}{_ROW_A}", _DUE),)),
    Ladder(
        "exempt",
        "EMQ.STALLED.CHECK",
        "active row",
        [[A.encode()], []],
        _reads_then_writes(_ROW_A, _DUE, f"HGET {_ROW_A} lease_epoch"),
    ),
    Ladder(
        "recover",
        "EMQ.STALLED.CHECK",
        "active row stamp",
        [[A.encode()], []],
        _reads_then_writes(_ROW_A, _DUE, f"HGET {_ROW_A} stalled"),
        {"max_stalled": "2"},
    ),
    Ladder(
        "die",
        "EMQ.STALLED.CHECK",
        "active row stamp",
        [[], [A.encode()]],
        (
            *_reads_then_writes(_ROW_A, _DUE, f"HGET {_ROW_A} stalled"),
            *_reads_then_writes("metrics:failed", "TYPE dead", "HGET metrics:failed count"),
        ),
    ),
    Ladder("dead", "EMQ.REPROCESS", "dead row", 1),
]
RUNGS = [(ladder, step) for ladder in LADDERS for step in range(len(ladder.rungs))]


def _named(value: object) -> str | None:
    if isinstance(value, Ladder):
        return f"{value.command}-{value.branch}"
    return value.command if isinstance(value, Wire) else None


each_ladder = pytest.mark.parametrize("ladder", LADDERS, ids=_named)
each_command = pytest.mark.parametrize("wire", ALL, ids=_named)


def _put(server: RealServer, given: str) -> None:
    """A in the sets named, expired and due; its row, and B beside it, if they are named."""
    for word in given.split():
        if word == "row":
            ask(server.client, "HSET", ROW, "attempts", "2", "payload", "p")
        elif word == "stamp":
            ask(server.client, "HSET", ROW, "lease_epoch", server.info("server")["run_id"])
        elif word == "other":
            ask(server.client, "HSET", ROW_B, "attempts", "2")
            ask(server.client, "ZADD", f"{BASE}active", "1", B)
        else:
            ask(server.client, "ZADD", BASE + word, "1", A)


@contextmanager
def user(server: RealServer, *rules: str) -> Iterator[redis.Redis]:
    """A client of a user with these rules and no others."""
    ask(server.client, "ACL", "SETUSER", "ann", "reset", "on", ">pw", *rules)
    client = server.connect(username="ann", password="pw")
    try:
        yield client
    finally:
        client.close()


def _declared(wire: Wire) -> list[str]:
    return [f"~{key}" for key in _keys(wire)]


def _keys(wire: Wire) -> list[str]:
    """The keys that are keys to the server: a base is none."""
    sent = wire.words(job=A)[2 : wire.first_arg]
    return [key for key, name in zip(sent, wire.keys, strict=True) if name != "base"]


def _inside(wire: Wire, words: list[str]) -> list[str]:
    """The same command called from a script that declares its keys."""
    keys = _keys(wire)
    return ["EVAL", SCRIPT, str(len(keys)), *keys, *words]


def _code(reply: object) -> str:
    return reply.code if isinstance(reply, ErrorReply) else f"no error: {reply!r}"


# ---------------------------------------------------------------- derived keys


@pytest.mark.parametrize(("ladder", "step"), RUNGS, ids=_named)
def test_one_right_too_few(server: RealServer, ladder: Ladder, step: int) -> None:
    """NOPERM exactly where the missing right is first needed, plain, scripted and traced, and no byte is written."""
    _put(server, ladder.given)
    before = dump_all(server.client)
    command = f"+{ladder.command.lower()}"
    rights = [rule for rule, _ in ladder.rungs[:step]]
    with user(server, command, "+eval", "+emq.trace", *_declared(ladder.wire), *rights) as ann:
        assert "NOPERM" == _code(answer(ann, *ladder.words))
        assert "NOPERM" == _code(answer(ann, *_inside(ladder.wire, ladder.words)))
        reply, told = answer(ann, "EMQ.TRACE", *ladder.words)
    assert before == dump_all(server.client)
    assert "NOPERM" == _code(reply)
    reads = [b" ".join(entry[1:-1]).decode().replace(BASE, "") for entry in told if entry[0] == b"read"]
    commands = [read for read in reads if not read.startswith("(clock)")]
    last = commands[-1] if commands else ""
    expected = ladder.rungs[step][1]
    assert last.startswith(expected)
    assert bool(expected) == bool(last)


@each_ladder
@pytest.mark.parametrize("way", ["plain", "script", "trace"])
def test_just_the_rights_it_needs(server: RealServer, ladder: Ladder, way: str) -> None:
    """The declared keys and the ladder's rights are enough: it answers as it should."""
    _put(server, ladder.given)
    words, command = {
        "plain": (ladder.words, "+ping"),
        "script": (_inside(ladder.wire, ladder.words), "+eval"),
        "trace": (["EMQ.TRACE", *ladder.words], "+emq.trace"),
    }[way]
    before = dump_all(server.client)
    rights = [rule for rule, _ in ladder.rungs]
    with user(server, command, f"+{ladder.command.lower()}", *_declared(ladder.wire), *rights) as ann:
        reply = answer(ann, *words)
    assert ladder.reply == (reply[0] if way == "trace" else reply)
    assert before != dump_all(server.client)


@each_command
@pytest.mark.parametrize("right", ["%W~{emq}:version", "~emq:*"])
def test_a_version_that_may_not_be_read(server: RealServer, wire: Wire, right: str) -> None:
    """Neither a right to write the version nor all of the queue's keys let the fence read it."""
    _put(server, "pending active schedule dead row")
    before = dump_all(server.client)
    with user(server, "+@all", f"~{BASE}*", right) as ann:
        assert "NOPERM" == _code(answer(ann, *wire.words(job=A)))
    assert before == dump_all(server.client)


# ---------------------------------------------------------------- the command and its declared keys


@each_command
def test_no_right_to_the_command(server: RealServer, wire: Wire) -> None:
    """Every right but that to the command: refused by the server, in a script and a trace, too."""
    _put(server, "pending active schedule dead row")
    before = dump_all(server.client)
    words = wire.words(job=A)
    with user(server, "+@all", f"-{wire.command.lower()}", "~*") as ann:
        assert "NOPERM" == _code(answer(ann, *words))
        assert "NOPERM" == _code(answer(ann, "EMQ.TRACE", *words))
        # A script's own words for it differ from server to server; that it is refused does not.
        assert isinstance(answer(ann, *_inside(wire, words)), ErrorReply)
    assert before == dump_all(server.client)


@each_command
@pytest.mark.parametrize("right", ["", "%R~", "%W~"])
def test_a_declared_key_that_may_not_be_used(server: RealServer, wire: Wire, right: str) -> None:
    """Each declared key is read and written: without a right to both the server refuses, traced and scripted, too."""
    _put(server, "pending active schedule dead row")
    before = dump_all(server.client)
    words = wire.words(job=A)
    for key in _keys(wire):
        others = [rule for rule in _declared(wire) if rule != f"~{key}"]
        rules = ["+@all", *others, *([right + key] if right else [])]
        # What else a verb may derive, so that this key alone is missing.
        derived = ["%R~{emq}:version", f"~{BASE}m*", *([] if key == ROW else [f"~{BASE}job:*"])]
        with user(server, *rules, *derived) as ann:
            assert "NOPERM" == _code(answer(ann, *words)), key
            assert "NOPERM" == _code(answer(ann, "EMQ.TRACE", *words)), key
            assert isinstance(answer(ann, *_inside(wire, words)), ErrorReply), key
    assert before == dump_all(server.client)


@each_command
def test_a_trace_needs_its_own_right(server: RealServer, wire: Wire) -> None:
    """The right to a verb is none to have it traced."""
    _put(server, "pending active schedule dead row")
    before = dump_all(server.client)
    with user(server, f"+{wire.command.lower()}", "~*") as ann:
        assert "NOPERM" == _code(answer(ann, "EMQ.TRACE", *wire.words(job=A)))
    assert before == dump_all(server.client)


# ---------------------------------------------------------------- rights that change under an open connection


def test_a_right_taken_from_an_open_connection(server: RealServer) -> None:
    """Rights are those of the moment of the call, not of the login."""
    _put(server, "pending row")
    words = WIRES["EMQ.CLAIM"].words(job=A)
    with user(server, "+@all", "~*") as ann:
        assert b"PONG" == answer(ann, "PING")
        ask(server.client, "ACL", "SETUSER", "ann", "resetkeys", *_declared(WIRES["EMQ.CLAIM"]))
        before = dump_all(server.client)
        assert "NOPERM" == _code(answer(ann, *words))
        assert before == dump_all(server.client)


def test_a_user_who_is_switched_off(server: RealServer) -> None:
    """``off`` stops logins, not open connections: verbs hold to that like the server's own commands."""
    _put(server, "pending row")
    with user(server, "+@all", "~*") as ann:
        assert b"PONG" == answer(ann, "PING")
        ask(server.client, "ACL", "SETUSER", "ann", "off")
        assert 1 == answer(ann, "EXISTS", ROW)
        assert [A.encode(), b"p", 3] == answer(ann, *WIRES["EMQ.CLAIM"].words(job=A))


def test_a_user_who_is_deleted(server: RealServer) -> None:
    """The server hangs up on a deleted user; nothing it sends afterwards is done, and the server goes on."""
    _put(server, "pending row")
    before = dump_all(server.client)
    pid = server.process.pid
    with user(server, "+@all", "~*") as ann:
        assert b"PONG" == answer(ann, "PING")
        ask(server.client, "ACL", "DELUSER", "ann")
        with pytest.raises((redis.ConnectionError, redis.AuthenticationError)):
            ask(ann, *WIRES["EMQ.CLAIM"].words(job=A))
    assert before == dump_all(server.client)
    assert pid == server.process.pid
