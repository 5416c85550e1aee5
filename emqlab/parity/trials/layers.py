"""The layers: where trials come from. Each is a numbered list; a number and a seed make the same trial again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

from emqlab.parity.model import Values, World, native
from emqlab.parity.rig import BATCH
from emqlab.parity.trials import corruptions, histories
from emqlab.parity.trials.states import (
    FAILURE,
    JOBS,
    PAYLOAD,
    TOKENS,
    State,
    about_queue,
    native_states,
    presenting,
    scripted_states,
    together,
    wild_states,
)
from emqlab.parity.trials.trial import QUEUE, Do, Step, Trial, world

#: How many trials of a layer without an end are run when nothing else is said.
DRAWN = 20_000

#: How many claims two jobs of the native world have behind them together, at most.
MOST_CLAIMS = 5


def calls_of(states: Sequence[State]) -> list[tuple[str, Values]]:
    """What is tried on a world of several jobs: as many calls, in the same order, whatever the states.

    The first job is presented every token, the others the right one and a wrong one.
    """
    return _calls(tuple(state.attempts for state in states))


@cache
def _calls(attempts: tuple[int, ...]) -> list[tuple[str, Values]]:
    calls: list[tuple[str, Values]] = []
    right = [b"%d" % count for count in attempts]
    for place, (job, token) in enumerate(zip(JOBS, right, strict=False)):
        for presented in TOKENS if place == 0 else (token, _other(token)):
            calls.extend(presenting(job, presented))
        calls.append(("enqueue", {"id": job, "payload": PAYLOAD}))
        calls.append(("reprocess", {"id": job}))
    calls.extend(about_queue())
    first, pairs = JOBS[0], list(zip(JOBS, right, strict=False))
    failing: Values = {"id": first, "token": right[0], "delay_ms": b"0", "error": FAILURE}
    calls += [
        ("schedule", {"id": first, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}),
        ("schedule", {"id": JOBS[len(right) - 1], "payload": PAYLOAD, "mode": b"at", "value": b"1"}),
        ("fail", {**failing, "max_attempts": b"1"}),
        ("fail", {**failing, "max_attempts": b"3"}),
        ("promote", {"batch": b"1"}),
        ("stalled_check", {"max_stalled": b"1", "limit": b"100"}),
        ("stalled_check", {"max_stalled": b"2", "limit": b"1"}),
        ("extends", {"lease_ms": b"60000", "pairs": pairs}),
        ("extends", {"lease_ms": b"60000", "pairs": [(first, _other(right[0])), *pairs[1:]]}),
        ("pause", {}),
    ]
    return calls


def _other(token: bytes) -> bytes:
    return b"%d" % ((int(token) + 1) % len(TOKENS))


def shuffled(place: int, size: int, seed: int) -> int:
    """Which of ``size`` numbers stands at ``place``: every number once, in an order that the seed makes.

    A Feistel network over the next power of four, walked until it lands among the numbers; nothing is kept.
    """
    half = max(1, (max(1, size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for turn in range(4):
            mixed = (right * 0x9E3779B1 + seed * 0x85EBCA6B + turn * 0xC2B2AE35 + 0x27D4EB2F) & 0xFFFFFFFF
            mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
            left, right = right, left ^ ((mixed ^ (mixed >> 13)) & mask)
        place = left << half | right
        if place < size:
            return place


class Layer:
    """A numbered list of trials; ``size`` is None for one without an end."""

    name: str

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @property
    def size(self) -> int | None:
        """How many trials there are."""
        return None

    def trial(self, index: int) -> Trial:
        """One trial. Raises IndexError beyond the last."""
        raise NotImplementedError

    def index_at(self, place: int) -> int:
        """The trial that is run at this place: the order is shuffled by the seed, so that any beginning is a sample."""
        return place if self.size is None else shuffled(place, self.size, self.seed)

    def _made(self, index: int, start: World, *steps: Step) -> Trial:
        return Trial(self.name, self.seed, index, start, steps)

    def _checked(self, index: int) -> int:
        size = self.size
        if index < 0 or (size is not None and index >= size):
            raise IndexError(f"{self.name} has the trials 0 to {(size or 0) - 1}, not {index}")
        return index


class Exhaustive(Layer):
    """Every state that one and two jobs come to, by the native verbs and by the scripts, and every transition."""

    name = "exhaustive"

    @cached_property
    def _worlds(self) -> list[tuple[State, ...]]:
        """One job as the scripts leave it, whoever presents what; two of the native executor's; two of the scripts'."""
        ones: list[tuple[State, ...]] = [(state,) for state in wild_states()]
        twos = [(a, b) for a in native_states() for b in native_states() if a.attempts + b.attempts <= MOST_CLAIMS]
        return ones + twos + [(a, b) for a in scripted_states() for b in scripted_states()]

    @cached_property
    def _calls(self) -> tuple[int, int]:
        """How many calls there are on a world of one job, and on one of two."""
        return len(calls_of(native_states()[:1])), len(calls_of(native_states()[:2]))

    @property
    def size(self) -> int:
        """Each world with every call."""
        ones = len(wild_states())
        return ones * self._calls[0] + (len(self._worlds) - ones) * self._calls[1]

    def counts(self) -> dict[str, int]:
        """How many worlds and transitions of each kind there are."""
        ones, native = len(wild_states()), 0
        native = len(self._worlds) - ones - len(scripted_states()) ** 2
        return {
            "worlds of one job, scripted": ones,
            "worlds of two jobs, native": native,
            "worlds of two jobs, scripted": len(scripted_states()) ** 2,
        }

    def trial(self, index: int) -> Trial:
        """The jobs' states, and the call."""
        ones = len(wild_states())
        one, two = self._calls
        if self._checked(index) < ones * one:
            at, call = divmod(index, one)
        else:
            at, call = divmod(index - ones * one, two)
            at += ones
        states = self._worlds[at]
        # Both orders of two leases that ran out: by their ids, and the later id first.
        start = together(states, older=1_000 if at % 2 else 0)
        return self._made(index, start, Do(*calls_of(states)[call]))


class Corrupted(Layer):
    """Every state of one job, with everything that can be wrong with it, and every verb; then every odd call."""

    name = "corruption"

    @cached_property
    def _states(self) -> tuple[State, ...]:
        return tuple(dict.fromkeys((*native_states(), *scripted_states())))

    @cached_property
    def _sound(self) -> list[World]:
        return [together([state]) for state in self._states]

    @cached_property
    def _worlds(self) -> list[tuple[int, int]]:
        """State and corruption, where the one can have the other."""
        return [
            (state, place)
            for state, sound in enumerate(self._sound)
            for place, corruption in enumerate(corruptions.CORRUPTIONS)
            if corruptions.applied(corruption, sound) is not None
        ]

    @cached_property
    def _usual(self) -> int:
        return len(list(corruptions.usual_calls(self._sound[0])))

    @cached_property
    def _odd(self) -> int:
        return len(list(corruptions.odd_calls(self._sound[0])))

    @property
    def size(self) -> int:
        """Corrupted worlds with the usual calls, sound worlds with the odd ones."""
        return sum(self.parts)

    @property
    def parts(self) -> tuple[int, int]:
        """How many trials have something wrong in the world, and how many, after them, in the call."""
        return len(self._worlds) * self._usual, len(self._sound) * self._odd

    @cached_property
    def _families(self) -> list[list[int]]:
        """The corrupted worlds by what is wrong with them."""
        found: dict[str, list[int]] = {}
        for at, (_, which) in enumerate(self._worlds):
            found.setdefault(corruptions.CORRUPTIONS[which].family, []).append(at)
        return list(found.values())

    def drawn(self, random: Random) -> int:
        """A corrupted world's trial by chance: each kind of corruption as often, and half the calls likely to matter.

        Those are the calls that would change something if nothing were wrong.
        """
        at = random.choice(random.choice(self._families))
        sound = self._sound[self._worlds[at][0]]
        if random.random() < 0.5:
            telling = [place for place, call in enumerate(corruptions.usual_calls(sound)) if _changes(sound, *call)]
            return at * self._usual + random.choice(telling)
        return at * self._usual + random.randrange(self._usual)

    def trial(self, index: int) -> Trial:
        """What is wrong, and the call."""
        first, _ = self.parts
        if self._checked(index) < first:
            at, place = divmod(index, self._usual)
            state, which = self._worlds[at]
            made = corruptions.applied(corruptions.CORRUPTIONS[which], self._sound[state])
            assert made is not None
            start, calls = made, list(corruptions.usual_calls(made))
        else:
            at, place = divmod(index - first, self._odd)
            start = self._sound[at]
            calls = list(corruptions.odd_calls(start))
        return self._made(index, start, Do(*calls[place]))


def _changes(sound: World, verb: str, values: Values) -> bool:
    after = sound.copy()
    native(after, QUEUE, verb, values)
    return after.keys != sound.keys


class Histories(Layer):
    """Random histories of twenty steps; the clock and the epoch move under a whole batch at once."""

    name = "histories"

    def trial(self, index: int) -> Trial:
        """The history: its batch says when the world moves, its own number what is done."""
        plan = histories.schedule(Random(f"{self.seed} batch {self._checked(index) // BATCH}"))
        follow = "native" if index % 2 else "scripted"
        steps = histories.history(Random(f"{self.seed} history {index}"), plan, follow=follow)
        return self._made(index, world({}), *steps)


class ThreeJobs(Layer):
    """Worlds of three jobs, sampled."""

    name = "three-jobs"

    def trial(self, index: int) -> Trial:
        """Three states and a call."""
        random = Random(f"{self.seed} three {self._checked(index)}")
        known = native_states() if random.random() < 0.8 else scripted_states()
        states = [random.choice(known) for _ in range(3)]
        call = random.choice(calls_of(states))
        return self._made(index, together(states, older=random.choice((0, 1_000))), Do(*call))


@dataclass(frozen=True, slots=True)
class Kind:
    """What is said of a layer, and how it is made."""

    about: str
    make: Callable[[int], Layer]


#: The layers of trials, by name, in the order in which they are run.
LAYERS: dict[str, Kind] = {
    "exhaustive": Kind("every state of one and two jobs, every transition", Exhaustive),
    "corruption": Kind("every state of one job, everything that can be wrong with it", Corrupted),
    "histories": Kind("random histories of twenty steps, with restarts", Histories),
    "three-jobs": Kind("worlds of three jobs, sampled", ThreeJobs),
}
