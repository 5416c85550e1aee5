"""A batch: what is put into trials on their way to a server, and taken out of what comes back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from emqlab import keys
from emqlab.executor import Executor
from emqlab.parity.compare import plain_error
from emqlab.parity.model import Error, Held, Unsupported, World, Zset
from emqlab.parity.trials.trial import A_TIME, BASE, EPOCHS, NEARLY, NOW_MS, Do, Restart, Step, Trial, Wait
from emqlab.replies import ErrorReply
from emqlab.transitions import Call


def in_step(trials: Sequence[Trial]) -> Iterator[list[Step]]:
    """The steps of all trials, side by side. Raises ValueError unless the world moves under all alike."""
    if len({len(trial.steps) for trial in trials}) > 1:
        raise ValueError("the trials of a batch have as many steps, each")
    together = [list(steps) for steps in zip(*(trial.steps for trial in trials), strict=True)]
    for steps in together:
        for kind, told in ((Wait, "wait at the same places, and as long"), (Restart, "see the same restarts")):
            if any(isinstance(step, kind) for step in steps) and any(step != steps[0] for step in steps):
                raise ValueError(f"the trials of a batch {told}")
    yield from together


def row(taken: list[Any]) -> tuple[bytes, bytes, bool, Any]:
    """A key as collect.lua gives it, in the form of FakeServer.drain: name, type, whether it would expire, value."""
    name, kind, ttl_ms, value = taken
    if kind == b"hash":
        parts = iter(value)
        value = dict(zip(parts, parts, strict=True))
    elif kind == b"zset":
        parts = iter(value)
        value = {member: float(score) for member, score in zip(parts, parts, strict=True)}
    elif kind == b"set":
        value = set(value)
    return name, kind, ttl_ms != -1, value


@dataclass(slots=True)
class Batch:
    """What is put in and out of a batch's trials: who runs them, the moment, the epochs, how many they are.

    ``queues`` are those of each executor, a trial each.
    """

    sides: dict[str, Executor]
    now_ms: int
    epochs: list[bytes]
    prefix: bytes
    size: int
    waited: int = 0
    queues: dict[str, list[bytes]] = field(init=False)
    _stamps: dict[bytes, bytes] = field(init=False, repr=False)
    _nearly: dict[bytes, bytes] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = {stamp: made(self.epochs[0]) for stamp, made in NEARLY.items()}
        self._stamps = {**near, EPOCHS[0]: self.epochs[0]}
        self._nearly = {made: stamp for stamp, made in near.items()}
        self.queues = {
            side: [b"%s%d%s" % (self.prefix, place, side[:1].encode()) for place in range(self.size)]
            for side in self.sides
        }

    def call(self, step: Do, queue: bytes) -> Call:
        """The transition as it is sent: keys and arguments that are given name this queue, not the canonical one."""
        if not step.laid_out:
            return Call(step.verb, queue, step.values)
        own = (keys.base(queue)[:-2], BASE[:-2])
        sent = [None if part is None else tuple(_named(word, *own) for word in part) for part in (step.keys, step.args)]
        return Call(step.verb, queue, step.values, *sent)

    def real(self, start: World) -> World:
        """A world with this server's times and this batch's epoch, and what is nearly that."""
        shift = self.now_ms - NOW_MS
        if not shift and self.epochs[0] == EPOCHS[0]:
            return start
        made: dict[bytes, Held] = {}
        for name, held in start.keys.items():
            if isinstance(held, Zset):
                if shift:
                    held = Zset({member: score + shift if score >= A_TIME else score for member, score in held.items()})
            elif isinstance(held, dict) and not isinstance(held, Zset) and held.get(b"lease_epoch") in self._stamps:
                held = {**held, b"lease_epoch": self._stamps[held[b"lease_epoch"]]}
            made[name] = held
        return World(made, self.now_ms, self.epochs[0])

    def canonical(self, kind: bytes, value: Any) -> Held:
        """A key's value with the canonical times and epochs."""
        if kind == b"zset":
            shift = self.now_ms - NOW_MS
            if shift:
                return Zset({member: score - shift if score >= A_TIME else score for member, score in value.items()})
            return Zset(value)
        if kind == b"hash":
            epoch = value.get(b"lease_epoch")
            if epoch in self.epochs:
                value[b"lease_epoch"] = EPOCHS[self.epochs.index(epoch)]
            elif epoch in self._nearly:
                value[b"lease_epoch"] = self._nearly[epoch]
            return dict(value)
        held: Held = value
        return held


def _named(word: bytes, own: bytes, canonical: bytes) -> bytes:
    return own + word[len(canonical) :] if word.startswith(canonical) else word


def plain(reply: Any) -> Any:
    """A reply as the model gives it: an error's text without what a server adds when a script raised it."""
    if reply is None or isinstance(reply, (int, bytes)):
        return reply
    if isinstance(reply, ErrorReply):
        return Error(plain_error(reply.text).encode())
    if isinstance(reply, list):
        return [plain(item) for item in reply]
    verb = getattr(reply, "verb", None)
    return reply if verb is None else Unsupported(verb)
