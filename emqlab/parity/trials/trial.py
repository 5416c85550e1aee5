"""A trial: one generated case, in the one canonical world that all trials share, and as a case file (SPEC 8)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from emqlab import keys
from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Held, World, Zset
from emqlab.replies import Json, text_json
from emqlab.transitions import Values

#: The queue, the moment and the epochs of every trial. A server's own are put in on the way there, and out on the way
#: back, so that a state is built once, however often and wherever it is run.
QUEUE = b"q"
BASE = keys.base(QUEUE)
NOW_MS = 1_795_952_314_485
EPOCHS = (b"@run_id", b"@run_id+1", b"@run_id+2")
#: A score from here on is a time.
A_TIME = 2**40


@dataclass(frozen=True, slots=True)
class Do:
    """One transition."""

    verb: str
    values: Values


@dataclass(frozen=True, slots=True)
class Wait:
    """The clock moves on by ``ms``."""

    ms: int


@dataclass(frozen=True, slots=True)
class Restart:
    """The server restarts: the same data, a new epoch."""


Step = Do | Wait | Restart


@dataclass(frozen=True, slots=True)
class Trial:
    """Where it begins and what is done, and its number in its layer. ``start`` is never changed."""

    layer: str
    seed: int
    index: int
    start: World
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """``layer/seed/index``: what makes it again."""
        return f"{self.layer}/{self.seed}/{self.index}"

    @property
    def verb(self) -> str:
        """The verb of its last transition."""
        return next((step.verb for step in reversed(self.steps) if isinstance(step, Do)), "")

    @property
    def alone(self) -> bool:
        """Whether it changes what all queues share, so that no other can run beside it."""
        return any(not name.startswith(BASE) for name in self.start.keys)


def world(held: dict[bytes, Held]) -> World:
    """A canonical world out of what each key holds, by its name after the base."""
    found: dict[bytes, Held] = {}
    for name, value in held.items():
        found[name if name.startswith(b"{emq}:") else BASE + name] = value
    return World(found, NOW_MS, EPOCHS[0])


def given(start: World) -> Iterator[tuple[bytes, ...]]:
    """The raw commands that make ``start``, with its own names, times and epochs."""
    for name, held in sorted(start.keys.items()):
        if isinstance(held, bytes):
            yield (b"SET", name, held)
        elif isinstance(held, Zset):
            yield (b"ZADD", name, *(part for member, score in held.items() for part in (score_text(score), member)))
        elif isinstance(held, dict) and not isinstance(held, Zset):
            yield (b"HSET", name, *(part for pair in held.items() for part in pair))
        elif isinstance(held, list):
            yield (b"RPUSH", name, *held)
        else:
            yield (b"SADD", name, *sorted(held))


def score_text(score: float) -> bytes:
    """A score as it is sent: a whole number without a point."""
    return b"%d" % score if score.is_integer() else repr(score).encode()


def case_json(trial: Trial, *, differs: tuple[int, ...] = ()) -> dict[str, Json]:
    """The trial as a case file's entry, ready for ``emqlab run``."""
    case: dict[str, Any] = {
        "name": trial.name,
        "queue": QUEUE.decode(),
        "given": [[_word(command, place) for place in range(len(command))] for command in given(trial.start)],
        "when": [_step(step) for step in trial.steps],
    }
    if differs:
        case["differs"] = list(differs)
    return case


def _word(command: tuple[bytes, ...], place: int) -> Json:
    """One word of a raw command, with ``{p}`` and the ``@`` words where they stand for something."""
    part = command[place]
    if place == 1:
        return text_json(b"{p}" + part.removeprefix(BASE) if part.startswith(BASE) else part)
    if part == EPOCHS[0]:
        return "@run_id"
    if part == OLD_RUN_ID:
        return "@old_run_id"
    if command[0] == b"ZADD" and place > 1 and place % 2 == 0 and part.isdigit() and int(part) >= A_TIME:
        offset = int(part) - NOW_MS
        return f"@now{offset:+d}" if offset else "@now"
    told = text_json(part)
    # What only looks like a word of the format is sent as bytes, which are never substituted.
    return {"hex": part.hex()} if place and isinstance(told, str) and ("{p}" in told or told[:1] == "@") else told


def _step(step: Step) -> dict[str, Json]:
    if isinstance(step, Wait):
        return {"advance_ms": step.ms}
    if isinstance(step, Restart):
        return {"restart": True}
    named: dict[str, Json] = {"verb": step.verb}
    for name, value in step.values.items():
        if isinstance(value, bytes):
            named[name] = text_json(value)
        else:
            named[name] = [[text_json(part) for part in pair] for pair in value]
    return named
