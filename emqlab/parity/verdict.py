"""The verdict on one trial: two executors, the model's two voices, the declared divergences, the invariants."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isinf
from typing import Any

from emqlab.observe.case import EXECUTORS
from emqlab.parity.declared import visible
from emqlab.parity.invariants import broken
from emqlab.parity.model import Error, Held, Reply, World, Zset, native
from emqlab.parity.rig import Outcome, Ran
from emqlab.parity.trials.states import VOICES, Voice
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

    def kept(self, name: bytes, written: set[bytes]) -> Zset:
        """The scores that a sorted set had at the beginning, but for those that were ``written`` since."""
        held = self.before[0].get(name)
        if not isinstance(held, Zset):
            return Zset()
        return Zset({member: score for member, score in held.items() if member not in written})


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
            replies.append(_asked(voice, world, step))
            before.append(was)
            after.append(world.keys)
    return Told(tuple(replies), tuple(before), tuple(after))


def _asked(voice: Voice, world: World, step: Do) -> Reply:
    # Only the native voice is asked about keys and arguments that are given.
    return (
        native(world, QUEUE, step.verb, step.values, step.keys, step.args)
        if step.laid_out
        else voice(world, QUEUE, step.verb, step.values)
    )


def judge(ran: Ran) -> Verdict:
    """The whole verdict. Of a call whose layout is tried only the native executor's answer is judged."""
    trial = ran.trial
    voices = {name: told(trial, name) for name in (("native",) if trial.laid_out else EXECUTORS)}
    complaints = [
        f"{name}: {sentence}"
        for name, outcome in ran.outcomes.items()
        for sentence in _unlike(voices[name], outcome, ran, name)
    ]
    numbers = frozenset[int]()
    if not trial.laid_out:
        numbers, undeclared = _declared(trial, voices["scripted"], voices["native"])
        complaints += undeclared
    complaints += [f"{key!r} was written or deleted, a key beside the queue" for key in ran.stray]
    violations: list[tuple[str, str, str]] = []
    freezes: list[str] = []
    verbs = [step.verb for step in trial.steps if isinstance(step, Do)]
    for name, outcome in ran.outcomes.items():
        # The last step as it was run, those before it as the model has them: it was held to every reply.
        after = (*voices[name].after[:-1], outcome.keys)
        for verb, reply, was, now in zip(verbs, outcome.replies, voices[name].before, after, strict=True):
            violations += [(name, code, verb) for code in broken(verb, reply, was, now)]
        if outcome.expiring:
            violations.append((name, "no-ttl", trial.verb))
            complaints.append(f"{name}: {sorted(outcome.expiring)[0]!r} was given a time to live")
    foretold = voices["native"]
    for verb, reply, before in zip(verbs, foretold.replies, foretold.before, strict=True):
        refused = isinstance(reply, Error) and not reply.text.startswith(b"EMQARGS")
        if refused and not trial.laid_out and verb in _HEAD and BASE + _HEAD[verb] in before:
            freezes.append(verb)
    line = f"{trial.name} {sorted(numbers)} {[voice.replies for voice in voices.values()]} {complaints}"
    return Verdict(trial, numbers, tuple(complaints), tuple(violations), tuple(freezes), line)


def _unlike(voice: Told, outcome: Outcome, ran: Ran, executor: str) -> Iterator[str]:
    """Where an executor is not what the model says of it."""
    for place, (want, got) in enumerate(zip(voice.replies, outcome.replies, strict=True)):
        if want != got and not _same_error(want, got, executor):
            yield f"reply {place + 1} is {got!r}, and {want!r} by the model"
    if voice.keys == outcome.keys:
        return
    written = _named(ran.trial, voice.replies)
    # What all queues share is looked at by its effects only: no verb writes it.
    for name in sorted(name for name in {*voice.keys, *outcome.keys} if not name.startswith(b"{emq}:")):
        want, got = voice.keys.get(name), outcome.keys.get(name)
        if type(want) is not type(got) or (want != got and not _late(voice.kept(name, written), want, got, ran)):
            yield f"{name.decode('utf-8', 'backslashreplace')} is {got!r}, and {want!r} by the model"


def _named(trial: Trial, replies: tuple[Any, ...]) -> set[bytes]:
    """The jobs whose times its transitions may write: those that a call names, and those that a claim answers."""
    found = {reply[0] for reply in replies if isinstance(reply, list) and reply and isinstance(reply[0], bytes)}
    for step in trial.steps:
        for value in step.values.values() if isinstance(step, Do) else ():
            found.update([value] if isinstance(value, bytes) else [job for job, _ in value])
    return found


def _same_error(want: Any, got: Any, executor: str) -> bool:
    """A script's errors that a command raised are one by their code word: servers word them in their own ways."""
    if executor != "scripted" or not (isinstance(want, Error) and isinstance(got, Error)):
        return False
    return want.text.split(b" ", 1)[0] == got.text.split(b" ", 1)[0] == b"ERR"


def _late(kept: Zset, want: Any, got: Any, ran: Ran) -> bool:
    """Whether two sorted sets are one but for times written up to the slack later than was foreseen.

    What was there before and keeps its score (``kept``) was not written, and is exact.
    A time that was given, and not counted from now, is what it was where the server's clock is elsewhere. On a clock
    that stands at the canonical moment nothing is late.
    """
    if not ran.slack_ms and not ran.shift_ms:
        # On a clock that stands where the model's does, nothing is late, and every sum is the same sum.
        return False
    if not (isinstance(want, Zset) and isinstance(got, Zset)) or want.keys() != got.keys():
        return False
    return all(
        score == got[member]
        or (kept.get(member) != score and _time(score, got[member], ran.slack_ms))
        or (ran.shift_ms != 0 and _time(score, got[member] + ran.shift_ms, 0))
        for member, score in want.items()
    )


def _time(want: float, got: float, slack_ms: int) -> bool:
    if want < A_TIME or isinf(want):
        return False
    # Beyond 2^53 a double has no whole ms left; below it, a time in whole ms is not late by a part of one.
    step = max(1.0, want / 2**52) if want > 2**53 else 0.0
    if not step and want.is_integer() and not got.is_integer():
        return False
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
