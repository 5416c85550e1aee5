"""The clock of a verb is the one that the server froze for the command around it (SPEC 5.1 rule 3)."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from emqlab.replies import ask, ask_all
from tests.servers.real import RealServer
from tests.transitions.wire import BASE, ROW, WIRES

A, B = "JOB0NgWEfAEJfa", "JOB0NgWEfAEJfb"
AHEAD_MS = 60_000

#: Time asked, the command, time asked again, with enough work in between for a clock that runs to be seen running.
SCRIPT = """
local function now() local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) end
local function pass() local x = 0 for i = 1, 500000 do x = x + i end return x end
local before = now() pass()
local reply = redis.call(unpack(ARGV)) pass()
return {before, reply, now()}
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """A command that writes a time AHEAD_MS from now, and the set that holds it afterwards."""

    command: str
    name: str
    given: str
    values: tuple[tuple[str, str], ...]

    @property
    def words(self) -> list[str]:
        """The whole command."""
        return WIRES[self.command].words(job=A, **dict(self.values))


_AHEAD = str(AHEAD_MS)
TIMED = [
    Timed("EMQ.SCHEDULE", "schedule", "", (("mode", "in"), ("value", _AHEAD))),
    Timed("EMQ.CLAIM", "active", "pending", (("lease_ms", _AHEAD),)),
    Timed("EMQ.FAIL", "schedule", "active", (("delay_ms", _AHEAD),)),
    Timed("EMQ.DELAY", "schedule", "active", (("mode", "in"), ("value", _AHEAD))),
    Timed("EMQ.EXTEND", "active", "active", (("lease_ms", _AHEAD),)),
    Timed("EMQ.EXTENDS", "active", "active", (("lease_ms", _AHEAD),)),
]
each_timed = pytest.mark.parametrize("timed", TIMED, ids=lambda timed: str(timed.command))


@pytest.fixture
def frozen(running: RealServer) -> bool:
    """Whether the server shows a module the clock it froze: Valkey, and Redis from 7.2 on."""
    kind, major, minor = running.version()
    return kind == "valkey" or (major, minor) >= (7, 2)


def _put(server: RealServer, given: str, *jobs: str) -> None:
    for job in jobs if given else ():
        ask(server.client, "HSET", f"{BASE}job:{job}", "attempts", "2", "payload", "p")
        ask(server.client, "ZADD", BASE + given, "1", job)


def _ms(time: list[bytes]) -> int:
    return int(time[0]) * 1000 + int(time[1]) // 1000


def _transaction(server: RealServer, words: list[str]) -> tuple[int, int]:
    """TIME before and after the command, all in one MULTI."""
    *_, replies = ask_all(server.client, [("MULTI",), ("TIME",), tuple(words), ("TIME",), ("EXEC",)])
    return _ms(replies[0]), _ms(replies[2])


def _script(server: RealServer, words: list[str]) -> tuple[int, int]:
    """TIME before and after the command, all in one script, which lets time pass around it."""
    before, _, after = ask(server.client, "EVAL", SCRIPT, 0, *words)
    return int(before), int(after)


Way = Callable[[RealServer, list[str]], tuple[int, int]]
each_way = pytest.mark.parametrize("way", [_transaction, _script])


@each_way
@each_timed
def test_a_time_written(server: RealServer, frozen: bool, timed: Timed, way: Way) -> None:
    """The time written, less what was added, is TIME in the same transaction or script; unfrozen, it lies between."""
    _put(server, timed.given, A)
    before, after = way(server, timed.words)
    now = int(float(ask(server.client, "ZSCORE", BASE + timed.name, A))) - AHEAD_MS
    assert before <= now <= after
    if frozen:
        assert before == after


@each_timed
def test_a_time_written_by_a_command_alone(server: RealServer, timed: Timed) -> None:
    """On its own a verb's clock lies between the times asked before and after it."""
    _put(server, timed.given, A)
    before = _ms(ask(server.client, "TIME"))
    ask(server.client, *timed.words)
    now = int(float(ask(server.client, "ZSCORE", BASE + timed.name, A))) - AHEAD_MS
    assert before <= now <= _ms(ask(server.client, "TIME"))


@each_timed
def test_a_time_told(server: RealServer, frozen: bool, timed: Timed) -> None:
    """The clock that a trace tells is the one it wrote."""
    _put(server, timed.given, A)
    traced = ask_all(server.client, [("MULTI",), ("TIME",), ("EMQ.TRACE", *timed.words), ("TIME",), ("EXEC",)])[-1]
    told = [int(entry[2]) for entry in traced[1][1] if entry[:2] == [b"read", b"(clock)"]]
    score = int(float(ask(server.client, "ZSCORE", BASE + timed.name, A)))
    assert [score - AHEAD_MS] == told
    assert _ms(traced[0]) <= told[0] <= _ms(traced[2])
    if frozen:
        assert _ms(traced[0]) == _ms(traced[2])


def test_two_claims_in_one_script(server: RealServer, frozen: bool) -> None:
    """However long a script takes, all its claims have one deadline; unfrozen, the second is no earlier."""
    _put(server, "pending", A, B)
    claim = "local function claim() return redis.call(unpack(ARGV)) end "
    work = "local x = 0 for i = 1, 2000000 do x = x + i end "
    claimed = ask(server.client, "EVAL", f"{claim} claim() {work} return claim()", 0, *TIMED[1].words)
    assert [B.encode(), b"p", 3] == claimed
    first, second = (float(ask(server.client, "ZSCORE", f"{BASE}active", job)) for job in (A, B))
    if frozen:
        assert first == second
    else:
        assert first <= second


@pytest.mark.parametrize(
    ("command", "name", "found", "none"),
    [
        ("EMQ.PROMOTE", "schedule", 1, 0),
        ("EMQ.STALLED.CHECK", "active", [[A.encode()], []], [[], []]),
    ],
)
def test_a_time_that_has_just_come(
    server: RealServer, frozen: bool, command: str, name: str, found: object, none: object
) -> None:
    """A score that is TIME in this script has come; one ms later has not, however long the script has taken."""

    def ask_when(ms_ahead: int) -> object:
        put = f"redis.call('ZADD', '{BASE}{name}', before + {ms_ahead}, '{A}')"
        script = SCRIPT.replace("pass()\nlocal reply", f"{put} pass()\nlocal reply")
        return ask(server.client, "EVAL", script, 0, *WIRES[command].words(job=A))[1]

    _put(server, name, A)
    assert found == ask_when(0)
    if frozen:
        ask(server.client, "DEL", f"{BASE}pending", BASE + name)
        assert none == ask_when(1)
        assert 2 == ask(server.client, "EXISTS", BASE + name, ROW)


def test_the_script_lets_time_pass(server: RealServer) -> None:
    """The work in the script takes longer than a ms: a clock that runs would be seen to."""
    before = _ms(ask(server.client, "TIME"))
    ask(server.client, "EVAL", SCRIPT, 0, "PING")
    assert before + 1 < _ms(ask(server.client, "TIME"))
