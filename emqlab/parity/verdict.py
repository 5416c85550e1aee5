"""The verdict on one trial: two executors, the model's two voices, the declared divergences, the invariants."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from emqlab.observe.case import EXECUTORS
from emqlab.parity.declared import visible
from emqlab.parity.invariants import broken
from emqlab.parity.model import Error, Held, World, Zset
from emqlab.parity.rig import Outcome, Ran
from emqlab.parity.trials.states import VOICES
from emqlab.parity.trials.trial import A_TIME, BASE, EPOCHS, QUEUE, Do, Restart, Trial, Wait

#: What a refused verb leaves standing at the head: the documented freezes (SPEC 7, hazard 5).
_HEAD = {"claim": b"pending", "stalled_check": b"active", "promote": b"schedule"}


@dataclass(frozen=True, slots=True)
class Told:
    """What one voice of the model says of a trial: its replies, the keys after each transition, those before it."""

    replies: tuple[Any, ...]
    before: tuple[dict[bytes, Held], ...]
    after: tuple[dict[bytes, Held], ...]

    @property
    def keys(self) -> dict[bytes, Held]:
        """What is there at the end."""
        return self.after[-1]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``numbers``: the divergences that were declared and seen; ``complaints``: what must not be, a sentence each.

    ``violations`` are (executor, invariant, verb); ``freezes`` the verbs that were refused and left their head.
    """

    trial: Trial
    numbers: frozenset[int]
    complaints: tuple[str, ...]
    violations: tuple[tuple[str, str, str], ...]
    freezes: tuple[str, ...]
    line: str = field(repr=False, default="")


def told(trial: Trial, executor: str) -> Told:
    """Ask the model's voice for one executor."""
    voice = VOICES[executor]
    world = trial.start.copy()
    epoch = 0
    replies: list[Any] = []
    before: list[dict[bytes, Held]] = []
    after: list[dict[bytes, Held]] = []
    for step in trial.steps:
        if isinstance(step, Wait):
            world.now_ms += step.ms
        elif isinstance(step, Restart):
            epoch += 1
            world.run_id = EPOCHS[epoch]
        else:
            if after:
                was = world.keys
                world = world.copy()
            else:
                was = trial.start.keys
            replies.append(voice(world, QUEUE, step.verb, step.values))
            before.append(was)
            after.append(world.keys)
    return Told(tuple(replies), tuple(before), tuple(after))


def judge(ran: Ran) -> Verdict:
    """The whole verdict."""
    trial = ran.trial
    voices = {name: told(trial, name) for name in EXECUTORS}
    complaints = [
        f"{name}: {sentence}"
        for name, outcome in zip(EXECUTORS, (ran.scripted, ran.native), strict=True)
        for sentence in _unlike(voices[name], outcome, ran.slack_ms, name)
    ]
    numbers, undeclared = _declared(trial, voices["scripted"], voices["native"])
    complaints += undeclared
    violations: list[tuple[str, str, str]] = []
    freezes: list[str] = []
    verbs = [step.verb for step in trial.steps if isinstance(step, Do)]
    for name, outcome in zip(EXECUTORS, (ran.scripted, ran.native), strict=True):
        # The last step as it was run, those before it as the model has them: it was held to every reply.
        after = (*voices[name].after[:-1], outcome.keys)
        for verb, reply, was, now in zip(verbs, outcome.replies, voices[name].before, after, strict=True):
            violations += [(name, code, verb) for code in broken(verb, reply, was, now)]
        if outcome.expiring:
            violations.append((name, "no-ttl", trial.verb))
            complaints.append(f"{name}: {sorted(outcome.expiring)[0]!r} was given a time to live")
    native = voices["native"]
    for verb, reply, before in zip(verbs, native.replies, native.before, strict=True):
        refused = isinstance(reply, Error) and not reply.text.startswith(b"EMQARGS")
        if refused and verb in _HEAD and BASE + _HEAD[verb] in before:
            freezes.append(verb)
    line = f"{trial.name} {sorted(numbers)} {[voices[name].replies for name in EXECUTORS]} {complaints}"
    return Verdict(trial, numbers, tuple(complaints), tuple(violations), tuple(freezes), line)


def _unlike(voice: Told, outcome: Outcome, slack_ms: int, executor: str) -> Iterator[str]:
    """Where an executor is not what the model says of it."""
    for place, (want, got) in enumerate(zip(voice.replies, outcome.replies, strict=True)):
        if want != got and not _same_error(want, got, executor):
            yield f"reply {place + 1} is {got!r}, and {want!r} by the model"
    if voice.keys == outcome.keys:
        return
    # What all queues share is looked at by its effects only: no verb writes it.
    for name in sorted(name for name in {*voice.keys, *outcome.keys} if name.startswith(BASE)):
        want, got = voice.keys.get(name), outcome.keys.get(name)
        if type(want) is not type(got) or (want != got and not _late(want, got, slack_ms)):
            yield f"{name.decode('utf-8', 'backslashreplace')} is {got!r}, and {want!r} by the model"


def _same_error(want: Any, got: Any, executor: str) -> bool:
    """A script's errors that a command raised are one by their code word: servers word them in their own ways."""
    if executor != "scripted" or not (isinstance(want, Error) and isinstance(got, Error)):
        return False
    return want.text.split(b" ", 1)[0] == got.text.split(b" ", 1)[0] == b"ERR"


def _late(want: Any, got: Any, slack_ms: int) -> bool:
    """Whether two sorted sets are one but for times written up to ``slack_ms`` later than was foreseen."""
    if not (isinstance(want, Zset) and isinstance(got, Zset)) or want.keys() != got.keys():
        return False
    return all(score == got[member] or _time(score, got[member], slack_ms) for member, score in want.items())


def _time(want: float, got: float, slack_ms: int) -> bool:
    if want < A_TIME:
        return False
    # Beyond 2^53 a double has no whole ms left.
    step = max(1.0, want / 2**52) if want > 2**53 else 0.0
    return want - step <= got <= want + slack_ms + step


def _declared(trial: Trial, scripted: Told, native: Told) -> tuple[frozenset[int], list[str]]:
    """The divergences of its transitions as long as both executors are in one state; what is not as declared."""
    seen: set[int] = set()
    complaints: list[str] = []
    place = 0
    now_ms, epoch = trial.start.now_ms, 0
    for step in trial.steps:
        if isinstance(step, Wait):
            now_ms += step.ms
        elif isinstance(step, Restart):
            epoch += 1
        else:
            before = scripted.before[place]
            if before != native.before[place]:
                break
            numbers = visible(World(before, now_ms, EPOCHS[epoch]), QUEUE, step.verb, step.values)
            part = scripted.replies[place] != native.replies[place] or scripted.after[place] != native.after[place]
            if part and not numbers:
                complaints.append(f"{step.verb}: the executors part, and no divergence is declared here")
            if numbers and not part:
                complaints.append(f"{step.verb}: divergence {sorted(numbers)} is declared here, and they agree")
            seen |= numbers
            place += 1
    return frozenset(seen), complaints
