"""A trial: one generated case, in the one canonical world that all trials share, and as a case file (SPEC 8)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from emqlab import keys
from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Error, Held, Reply, Unsupported, World, Zset
from emqlab.replies import Json, text_json, value_json
from emqlab.transitions import Values

#: The queue, the moment and the epochs of every trial. A server's own are put in on the way there, and out on the way
#: back, so that a state is built once, however often and wherever it is run.
QUEUE = b"q"
#: What makes another queue's name of a trial's: where a call may lead that names no key of its own queue.
NEXT = b"-beside"
BASE = keys.base(QUEUE)
NOW_MS = 1_795_952_314_485
EPOCHS = (b"@run_id", b"@run_id+1", b"@run_id+2")
#: Stamps that are the first epoch but for one thing, each with how it is made of the server's own.
NEARLY: Mapping[bytes, Callable[[bytes], bytes]] = MappingProxyType(
    {
        b"@run_id ": lambda epoch: epoch + b" ",
        b"@RUN_ID": bytes.upper,
        b"@run_id but its last letter": lambda epoch: epoch[:-1] + (b"1" if epoch.endswith(b"0") else b"0"),
        b"@run_id but its first letter": lambda epoch: (b"1" if epoch.startswith(b"0") else b"0") + epoch[1:],
    }
)
#: The longest time from the canonical moment that 64 bits have room for, and the first that they have none for, ms.
EDGES = (b"%d" % (2**63 - 1 - NOW_MS), b"%d" % (2**63 - NOW_MS))
#: A score from here on is a time.
A_TIME = 2**40


@dataclass(frozen=True, slots=True)
class Do:
    """One transition. ``keys`` and ``args``, canonical too, are sent in the place of what its values make."""

    verb: str
    values: Values
    keys: tuple[bytes, ...] | None = None
    args: tuple[bytes, ...] | None = None

    @property
    def laid_out(self) -> bool:
        """Whether its keys or arguments are given: only the native verbs look at how a call is laid out (SPEC 5.1)."""
        return self.keys is not None or self.args is not None


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
    def laid_out(self) -> bool:
        """Whether it tries a call's layout: then only the native executor is run."""
        return any(isinstance(step, Do) and step.laid_out for step in self.steps)

    @property
    def exact(self) -> bool:
        """Whether it comes out as foreseen only where the clock stands at the canonical moment."""
        return any(isinstance(step, Do) and not _AT_AN_EDGE.isdisjoint(_words(step)) for step in self.steps)

    @property
    def shared(self) -> dict[bytes, Held]:
        """What it puts under keys that all queues share."""
        return {name: held for name, held in self.start.keys.items() if not name.startswith(BASE)}

    @property
    def alone(self) -> bool:
        """Whether no other can run beside it.

        It changes what all queues share, names other queues, or needs a clock that stands, as only the lab's own do.
        """
        return self.laid_out or self.exact or any(not name.startswith(BASE) for name in self.start.keys)


_AT_AN_EDGE = frozenset(EDGES)


def _words(step: Do) -> Iterator[bytes]:
    return (value for value in step.values.values() if isinstance(value, bytes))


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


#: What an executor is expected to answer and to leave: replies and keys, as the model gives them.
Expected = tuple[list[Reply], dict[bytes, Held]]


def case_json(
    trial: Trial, *, differs: tuple[int, ...] = (), expected: Mapping[str, Expected] = MappingProxyType({})
) -> dict[str, Json]:
    """The trial as a case file's entry, ready for ``emqlab run``; ``expected`` by executor."""
    case: dict[str, Any] = {
        "name": trial.name,
        "queue": QUEUE.decode(),
        "given": [
            *([_word(command, place) for place in range(len(command))] for command in _cleared(trial.start)),
        ],
        "when": [_step(step) for step in trial.steps],
    }
    if differs:
        case["differs"] = list(differs)
    if expected:
        case["expect"] = {
            name: {
                "replies": [_reply(reply) for reply in replies],
                "keys": {_name(key): _held(value) for key, value in sorted(held.items()) if value != keys.VERSION},
            }
            for name, (replies, held) in expected.items()
        }
    return case


def _reply(reply: Reply) -> Json:
    if isinstance(reply, Error):
        return {"error": reply.text.decode("utf-8", "replace")}
    if isinstance(reply, Unsupported):
        return {"unsupported": reply.verb}
    return {"ok": value_json(reply)}


def _name(key: bytes) -> str:
    told = text_json(key)
    return told if isinstance(told, str) else f"hex:{key.hex()}"


def _held(value: Held) -> dict[str, Json]:
    """A key as ``expect`` has it."""
    if isinstance(value, bytes):
        return {"type": "string", "value": text_json(value)}
    if isinstance(value, Zset):
        pairs = sorted((score, member) for member, score in value.items())
        return {"type": "zset", "value": [[text_json(member), _score(score)] for score, member in pairs]}
    if isinstance(value, dict) and not isinstance(value, Zset):
        return {"type": "hash", "value": [[text_json(name), _field(text)] for name, text in sorted(value.items())]}
    if isinstance(value, list):
        return {"type": "list", "value": [text_json(item) for item in value]}
    return {"type": "set", "value": [text_json(item) for item in sorted(value)]}


def _field(text: bytes) -> Json:
    return "@run_id" if text in EPOCHS else text_json(text)


def _score(score: float) -> str:
    if A_TIME <= score < 2**53 and score.is_integer():
        offset = int(score) - NOW_MS
        return f"@now{offset:+d}" if offset else "@now"
    return score_text(score).decode()


def _cleared(start: World) -> Iterator[tuple[bytes, ...]]:
    """What makes ``start``; what the lab itself has put under a key of all queues is deleted first."""
    for command in given(start):
        if not command[1].startswith(BASE):
            yield (b"DEL", command[1])
        yield command


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
    for name, sent in (("keys", step.keys), ("args", step.args)):
        if sent is not None:
            named[name] = [_sent(part) for part in sent]
    return named


def _sent(part: bytes) -> Json:
    """A key or an argument as it is sent, with ``{p}`` for its queue's base."""
    if part.startswith(BASE):
        return text_json(b"{p}" + part.removeprefix(BASE))
    told = text_json(part)
    return {"hex": part.hex()} if isinstance(told, str) and ("{p}" in told or told[:1] == "@") else told
