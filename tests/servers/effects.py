"""What each verb does, as plain commands with the same effects and the events they send: written out from SPEC 5.2."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from emqlab.observe.case import World, substitute
from emqlab.replies import ask, ask_all
from tests.servers.real import NAMES, RealServer, real_server
from tests.transitions.bench import A, B, C, D
from tests.transitions.wire import WIRES

JOBS = {"A": A.decode(), "B": B.decode(), "C": C.decode(), "D": D.decode()}
QUEUE = b"q"
BASE = "emq:{q}:"
#: What makes a small hash a large one.
LONG = "tea" * 100
#: In a plain command: the score that the verb left there.
LEFT = "@left"


@dataclass(frozen=True, slots=True)
class Effect:
    """One call of a verb: the commands that come before it, and what it amounts to. ``A`` to ``D`` are jobs."""

    name: str
    given: str
    plain: str
    events: str
    values: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The verb's command."""
        wire = WIRES[f"EMQ.{self.name.partition('/')[0].upper()}"]
        return wire.words(**self.values)

    @property
    def writes(self) -> list[str]:
        """The keys it writes, each once, in order."""
        return list(dict.fromkeys(command[1] for command in lines(self.plain)))


def lines(text: str) -> list[list[str]]:
    """Commands out of a text, one a line: ``A`` is a job, ``row:A`` its row, ``pending`` and the like their keys."""
    return [[_word(word, place) for place, word in enumerate(line.split())] for line in text.strip().splitlines()]


def _word(word: str, place: int) -> str:
    if word.startswith("row:"):
        return f"{BASE}job:{JOBS[word[4:]]}"
    if place == 1:
        return BASE + word
    return JOBS.get(word, word)


def _effects() -> Iterator[Effect]:
    yield Effect(
        "enqueue",
        given="",
        plain="HSET row:A state pending attempts 0 payload tea\nZADD pending 0 A",
        events="hset row:A\nzadd pending",
    )
    yield Effect(
        "enqueue/more-than-a-listpack-takes",
        given="",
        plain=f"HSET row:A state pending attempts 0 payload {LONG}\nZADD pending 0 A",
        events="hset row:A\nzadd pending",
        values={"payload": LONG},
    )
    yield Effect(
        "schedule",
        given="",
        plain="HSET row:A state scheduled attempts 0 payload tea\nZADD schedule @left A",
        events="hset row:A\nzadd schedule",
    )
    claimed = """
        ZPOPMIN pending
        HINCRBY row:A attempts 1
        HSET row:A state active lease_epoch @run_id
        ZADD active @left A
    """
    yield Effect(
        "claim/of-two",
        given="HSET row:A attempts 1 payload tea\nZADD pending 0 A 0 B",
        plain=claimed,
        events="zpopmin pending\nhincrby row:A\nhset row:A\nzadd active",
    )
    yield Effect(
        "claim/the-last",
        given="HSET row:A attempts 1 payload tea\nZADD pending 0 A",
        plain=claimed,
        events="zpopmin pending\ndel pending\nhincrby row:A\nhset row:A\nzadd active",
    )
    yield Effect("claim/ghost", given="ZADD pending 0 A 0 B", plain="ZPOPMIN pending", events="zpopmin pending")
    held = (
        "HSET row:A state active attempts 2 payload tea last_error e\nZADD active @now+9000 A\nZADD active @now+9000 B"
    )
    yield Effect(
        "complete/held",
        given=held,
        plain="ZREM active A\nDEL row:A\nHINCRBY metrics:completed count 1",
        events="zrem active\ndel row:A\nhincrby metrics:completed",
    )
    yield Effect(
        "complete/recovered",
        given="HSET row:A attempts 2\nZADD pending 0 A",
        plain="ZREM pending A\nDEL row:A\nHINCRBY metrics:completed count 1",
        events="zrem pending\ndel pending\ndel row:A\nhincrby metrics:completed",
    )
    yield Effect(
        "fail/again",
        given=held,
        plain="ZREM active A\nHSET row:A last_error boom failures 1 state scheduled\nZADD schedule @left A",
        events="zrem active\nhset row:A\nzadd schedule",
    )
    yield Effect(
        "fail/dead",
        given=held,
        plain="""
            ZREM active A
            HSET row:A last_error boom failures 1 state dead
            ZADD dead 0 A
            HINCRBY metrics:failed count 1
        """,
        events="zrem active\nhset row:A\nzadd dead\nhincrby metrics:failed",
        values={"max_attempts": "1"},
    )
    yield Effect(
        "delay",
        given=held,
        plain="ZREM active A\nHSET row:A state scheduled\nZADD schedule @left A",
        events="zrem active\nhset row:A\nzadd schedule",
    )
    yield Effect(
        "requeue",
        given=held,
        plain="ZREM active A\nHSET row:A state pending\nZADD pending 0 A",
        events="zrem active\nhset row:A\nzadd pending",
    )
    yield Effect(
        "requeue/into-a-long-line",
        given="\n".join([held, *(f"ZADD pending 0 waiting{number}" for number in range(128))]),
        plain="ZREM active A\nHSET row:A state pending\nZADD pending 0 A",
        events="zrem active\nhset row:A\nzadd pending",
    )
    extended = "ZADD active @left A\nHSET row:A lease_epoch @run_id"
    yield Effect("extend", given=held, plain=extended, events="zadd active\nhset row:A")
    yield Effect("extends", given=held, plain=extended, events="zadd active\nhset row:A")
    yield Effect(
        "promote",
        given="HSET row:A state scheduled\nZADD schedule @now-2 A @now-1 B @now+9000 C",
        plain="ZREM schedule A\nZADD pending 0 A\nHSET row:A state pending\nZREM schedule B",
        events="zrem schedule\nzadd pending\nhset row:A\nzrem schedule",
    )
    yield Effect(
        "stalled.check/all-verdicts",
        given="""
            HSET row:A state active lease_epoch @run_id
            HSET row:B state active lease_epoch @old_run_id stalled 1
            HSET row:D state active lease_epoch @run_id stalled 1
            ZADD active @now-4 A @now-3 B @now-2 C @now-1 D
        """,
        plain="""
            ZREM active A
            HSET row:A stalled 1 state pending
            ZADD pending 0 A
            ZREM active B
            ZADD pending 0 B
            HSET row:B state pending
            ZREM active C
            ZREM active D
            HSET row:D stalled 2 state dead last_error stalled
            ZADD dead 0 D
            HINCRBY metrics:failed count 1
        """,
        events="""
            zrem active
            hset row:A
            zadd pending
            zrem active
            zadd pending
            hset row:B
            zrem active
            zrem active
            del active
            hset row:D
            zadd dead
            hincrby metrics:failed
        """,
        values={"max_stalled": "2"},
    )
    buried = "HSET row:A state dead {error}\nZADD dead 0 A"
    revived = "ZREM dead A\nHDEL row:A last_error\nHSET row:A state pending\nZADD pending 0 A"
    yield Effect(
        "reprocess/failed",
        given=buried.format(error="last_error boom"),
        plain=revived,
        events="zrem dead\ndel dead\nhdel row:A\nhset row:A\nzadd pending",
    )
    yield Effect(
        "reprocess/without-an-error",
        given=buried.format(error="attempts 1"),
        plain=revived,
        events="zrem dead\ndel dead\nhset row:A\nzadd pending",
    )


EFFECTS = {effect.name: effect for effect in _effects()}
every_effect = pytest.mark.parametrize("effect", EFFECTS.values(), ids=EFFECTS)


class Bed:
    """One running server and its queue ``q``: old state put in, one verb sent, plain commands in its place."""

    def __init__(self, server: RealServer) -> None:
        self.server = server
        self.client = server.client
        self.run_id = server.info("server")["run_id"]

    def now(self) -> int:
        """The server's time, ms."""
        seconds, micros = ask(self.client, "TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def prepare(self, effect: Effect, now: int | None = None) -> int:
        """Empty the server and put an effect's ``given`` in; answers what ``@now`` stood for."""
        now = self.now() if now is None else now
        ask_all(self.client, [["FLUSHALL"], *(self.filled(command, now) for command in lines(effect.given))])
        return now

    def filled(self, words: Sequence[str], now: int = 0) -> list[bytes]:
        """A command with its ``@`` words put in."""
        world = World(now, self.run_id.encode())
        return [self._left(words) if word == LEFT else substitute(word, QUEUE, world) for word in words]

    def _left(self, words: Sequence[str]) -> bytes:
        score: bytes = ask(self.client, "ZSCORE", words[1], words[-1])
        return score

    def send(self, words: Sequence[str | bytes]) -> Any:
        """Send one command; raises for an error reply."""
        return ask(self.client, *words)


@pytest.fixture(scope="module", params=NAMES)
def running(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """Each server in turn, one process for all tests of a file."""
    with real_server(request.param, config={"enable-debug-command": "yes", "notify-keyspace-events": "EA"}) as server:
        yield server


@pytest.fixture
def bed(running: RealServer) -> Bed:
    """A server with nothing on it."""
    ask_all(running.client, [["FLUSHALL"], ["CONFIG", "RESETSTAT"], ["SLOWLOG", "RESET"]])
    return Bed(running)
