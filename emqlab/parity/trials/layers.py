"""The layers: where trials come from. Each is a numbered list; a number and a seed make the same trial again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

from emqlab.parity.model import Values, World
from emqlab.parity.rig import BATCH
from emqlab.parity.trials import corruptions, histories, layouts
from emqlab.parity.trials.states import (
    FAILURE,
    JOBS,
    PAYLOAD,
    TOKENS,
    VOICES,
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
            there = "from 0 on" if size is None else f"0 to {size - 1}"
            raise IndexError(f"{self.name} has the trials {there}, not {index}")
        return index


class Exhaustive(Layer):
    """Every state that one and two jobs come to, by the native verbs and by the scripts, and every transition."""

    name = "exhaustive"

    @cached_property
    def _twos(self) -> list[tuple[State, State]]:
        """Two of the native executor's jobs, then two of the scripts'; a job that is not there is one of the states."""
        native = [(a, b) for a in native_states() for b in native_states() if a.attempts + b.attempts <= MOST_CLAIMS]
        return native + [(a, b) for a in scripted_states() for b in scripted_states()]

    @cached_property
    def _calls(self) -> tuple[int, int]:
        """How many calls there are on a world of one job, and on one of two."""
        return len(calls_of(native_states()[:1])), len(calls_of(native_states()[:2]))

    @property
    def size(self) -> int:
        """Each world with every call."""
        one, two = self._calls
        return len(self._twos) * two + len(wild_states()) * one

    def counts(self) -> dict[str, tuple[int, int]]:
        """What is run -> how many worlds there are of it, and how many transitions."""
        one, two = self._calls
        scripted, wild = len(scripted_states()) ** 2, len(wild_states())
        native = len(self._twos) - scripted
        return {
            "two jobs by the native verbs": (native, native * two),
            "two jobs by the scripts": (scripted, scripted * two),
            "one job by the scripts, whoever presents what": (wild, wild * one),
        }

    def drawn(self, random: Random, verb: str) -> int:
        """A trial of one verb on two jobs, by chance; half of them by the scripts."""
        scripted = len(scripted_states()) ** 2
        native = len(self._twos) - scripted
        at = random.randrange(native) if random.random() < 0.5 else native + random.randrange(scripted)
        calls = [place for place, call in enumerate(calls_of(self._twos[at])) if call[0] == verb]
        return at * self._calls[1] + random.choice(calls)

    def trial(self, index: int) -> Trial:
        """The jobs' states, and the call."""
        one, two = self._calls
        at, call = divmod(index, two)
        states: tuple[State, ...]
        if 0 <= at < len(self._twos):
            states = self._twos[at]
        else:
            # These are walked to last, for that takes longest, and few single trials are among them.
            at, call = divmod(self._checked(index) - len(self._twos) * two, one)
            states = (wild_states()[at],)
        # Both orders of two leases that ran out: by their ids, and the later id first.
        start = together(states, older=1_000 if at % 2 else 0)
        return self._made(index, start, Do(*calls_of(states)[call]))


class Corrupted(Layer):
    """Every state of one job, with everything that can be wrong with it, and every verb; then the calls that are odd.

    First those with an odd value, on every state, then those that are laid out wrongly, on one state of each kind.
    """

    name = "corruption"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._told: dict[str, tuple[dict[int, list[int]], list[list[int]]]] = {}

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

    @cached_property
    def _laid_out(self) -> list[tuple[World, Do]]:
        kinds = {tuple(name for name, _ in state.places): state for state in reversed(self._states)}
        worlds = [together([state]) for state in kinds.values() if len(state.places) < 2]
        return [(found, call) for found in worlds for call in layouts.layout_calls(found)]

    @property
    def size(self) -> int:
        """Corrupted worlds with the usual calls, sound worlds with the odd ones."""
        return sum(self.parts)

    @cached_property
    def parts(self) -> tuple[int, int, int]:
        """How many trials have something wrong in the world, and how many, after them, in the call: a value, a key."""
        return len(self._worlds) * self._usual, len(self._sound) * self._odd, len(self._laid_out)

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

    def aimed(self, random: Random, verb: str) -> int:
        """The same for one verb: half the worlds are such that it would change something if nothing were wrong."""
        states, families = self._telling(verb)
        if random.random() < 0.5:
            at = random.choice(random.choice(families))
            return at * self._usual + random.choice(states[self._worlds[at][0]])
        at = random.choice(random.choice(self._families))
        calls = corruptions.usual_calls(self._sound[0])
        return at * self._usual + random.choice([place for place, call in enumerate(calls) if call[0] == verb])

    def odd(self, random: Random, verb: str) -> int:
        """A trial of one verb with an odd value by chance, on such worlds as often."""
        states, _ = self._telling(verb)
        state = random.choice(list(states)) if random.random() < 0.5 else random.randrange(len(self._sound))
        calls = corruptions.odd_calls(self._sound[0])
        place = random.choice([place for place, call in enumerate(calls) if call[0] == verb])
        return self.parts[0] + state * self._odd + place

    def sound(self, random: Random, verb: str) -> World:
        """One of those worlds with nothing wrong."""
        return self._sound[random.choice(list(self._telling(verb)[0]))]

    def _telling(self, verb: str) -> tuple[dict[int, list[int]], list[list[int]]]:
        """The states in which the verb changes something, each with those of its usual calls that do.

        Then the corrupted worlds made of these states, by what is wrong with them.
        """
        if verb not in self._told:
            states: dict[int, list[int]] = {}
            for state, sound in enumerate(self._sound):
                for place, call in enumerate(corruptions.usual_calls(sound)):
                    if call[0] == verb and _changes(sound, *call):
                        states.setdefault(state, []).append(place)
            kept = [[at for at in family if self._worlds[at][0] in states] for family in self._families]
            self._told[verb] = (states, [family for family in kept if family])
        return self._told[verb]

    def laid_out(self, place: int, verb: str) -> int:
        """The trial of one verb that is laid out wrongly at this place: every one once, then again."""
        places = [at for at, (_, call) in enumerate(self._laid_out) if call.verb == verb]
        return self.parts[0] + self.parts[1] + places[shuffled(place % len(places), len(places), self.seed)]

    def trial(self, index: int) -> Trial:
        """What is wrong, and the call."""
        first, second, _ = self.parts
        if self._checked(index) >= first + second:
            start, call = self._laid_out[index - first - second]
            return self._made(index, start, call)
        if index < first:
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
    """Whether a call changes something, by either executor."""
    for voice in VOICES.values():
        after = sound.copy()
        voice(after, QUEUE, verb, values)
        if after.keys != sound.keys:
            return True
    return False


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
