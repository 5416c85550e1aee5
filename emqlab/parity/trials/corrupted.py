"""The corruption layer: everything that can be wrong with a queue or with a call, and every verb."""

from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from emqlab.parity.model import World
from emqlab.parity.trials import bound_trials, corruptions, layouts, pointed
from emqlab.parity.trials.bound_trials import changes
from emqlab.parity.trials.calls import odd_calls, usual_calls
from emqlab.parity.trials.layer import Layer, shuffled
from emqlab.parity.trials.states import (
    State,
    native_states,
    scripted_states,
    together,
)
from emqlab.parity.trials.trial import Do, Trial
from emqlab.transitions import TRANSITIONS

if TYPE_CHECKING:
    from emqlab.parity.trials.aimed import Aimed

#: How many trials are of worlds that are aimed at one verb.
AIMED = 30_000


class Corrupted(Layer):
    """Every state of one job, with everything that can be wrong with it, and every verb; then the calls that are odd.

    First those with an odd value, on every state, then those that are laid out wrongly, on one state of each kind. Then
    what is wrong only together, in ways that are listed, and as it comes, aimed at each verb in turn; at last lanes and
    flows with everything that can be wrong with them.
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
        return len(list(usual_calls(self._sound[0])))

    @cached_property
    def _odd(self) -> int:
        return len(list(odd_calls(self._sound[0])))

    @cached_property
    def _laid_out(self) -> list[tuple[World, Do]]:
        kinds = {tuple(name for name, _ in state.places): state for state in reversed(self._states)}
        worlds = [together([state]) for state in kinds.values() if len(state.places) < 2]
        return [(found, call) for found in worlds for call in layouts.layout_calls(found)]

    @cached_property
    def _pointed(self) -> list[tuple[World, Do]]:
        return list(pointed.pointed())

    @cached_property
    def together(self) -> range:
        """The trials of what is wrong only together; from its end on they are aimed."""
        first = sum(self.parts)
        return range(first, first + len(self._pointed))

    @property
    def size(self) -> int:
        """What is wrong in a world, in a call, only together; what is aimed; lanes and flows."""
        return self.bound.stop

    @cached_property
    def bound(self) -> range:
        """The trials of lanes and flows, the last ones."""
        first = self.together.stop + AIMED
        return range(first, first + len(bound_trials.wrong()))

    @cached_property
    def parts(self) -> tuple[int, int, int]:
        """How many trials have something wrong in the world, and how many, after them, in the call: a value, a key."""
        return len(self._worlds) * self._usual, len(self._sound) * self._odd, len(self._laid_out)

    @cached_property
    def _aimed(self) -> "Aimed":
        from emqlab.parity.trials.aimed import Aimed  # its worlds are made of this layer's

        return Aimed(self.seed, tuple(TRANSITIONS), native=False)

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
            telling = [place for place, call in enumerate(usual_calls(sound)) if changes(sound, *call)]
            return at * self._usual + random.choice(telling)
        return at * self._usual + random.randrange(self._usual)

    def aimed(self, random: Random, verb: str) -> int:
        """The same for one verb: half the worlds are such that it would change something if nothing were wrong."""
        states, families = self._telling(verb)
        if random.random() < 0.5:
            at = random.choice(random.choice(families))
            return at * self._usual + random.choice(states[self._worlds[at][0]])
        at = random.choice(random.choice(self._families))
        calls = usual_calls(self._sound[0])
        return at * self._usual + random.choice([place for place, call in enumerate(calls) if call[0] == verb])

    def odd(self, random: Random, verb: str) -> int:
        """A trial of one verb with an odd value by chance, on such worlds as often."""
        states, _ = self._telling(verb)
        state = random.choice(list(states)) if random.random() < 0.5 else random.randrange(len(self._sound))
        calls = odd_calls(self._sound[0])
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
                for place, call in enumerate(usual_calls(sound)):
                    if call[0] == verb and changes(sound, *call):
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
        if index < 0 or index >= self.together.stop + AIMED:
            return self._made(index, *bound_trials.made(self._checked(index) - self.bound.start))
        if index >= self.together.stop:
            return replace(self._aimed.own(index - self.together.stop), layer=self.name, index=index)
        if index >= self.together.start:
            return self._made(index, *self._pointed[index - self.together.start])
        if index >= first + second:
            start, call = self._laid_out[index - first - second]
            return self._made(index, start, call)
        if index < first:
            at, place = divmod(index, self._usual)
            state, which = self._worlds[at]
            made = corruptions.applied(corruptions.CORRUPTIONS[which], self._sound[state])
            assert made is not None
            start, calls = made, list(usual_calls(made))
        else:
            at, place = divmod(index - first, self._odd)
            start = self._sound[at]
            calls = list(odd_calls(start))
        return self._made(index, start, Do(*calls[place]))
