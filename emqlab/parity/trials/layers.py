"""The layers: where trials come from. Each is a numbered list; a number and a seed make the same trial again."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from emqlab.parity.rig import BATCH
from emqlab.parity.trials import histories
from emqlab.parity.trials.corrupted import Corrupted
from emqlab.parity.trials.exhaustive import Exhaustive, calls_of
from emqlab.parity.trials.layer import Layer, shuffled
from emqlab.parity.trials.states import (
    native_states,
    scripted_states,
    together,
)
from emqlab.parity.trials.trial import Do, Trial, world

__all__ = ["LAYERS", "Corrupted", "Exhaustive", "Histories", "Kind", "Layer", "ThreeJobs", "shuffled"]


class Histories(Layer):
    """Random histories of twenty steps; the clock and the epoch move under a whole batch at once."""

    name = "histories"

    def trial(self, index: int) -> Trial:
        """The history: its batch says when the world moves, its own number what is done.

        Of each four one is of flat jobs as the scripts go, one as the native verbs go, and two have lanes and flows.
        """
        plan = histories.schedule(Random(f"{self.seed} batch {self._checked(index) // BATCH}"))
        random = Random(f"{self.seed} history {index}")
        start = histories.beginning(random) if index % 4 == 3 else world({})
        follow = "native" if index % 4 == 1 or (index % 4 == 3 and random.random() < 0.5) else "scripted"
        steps = histories.history(random, plan, start, follow=follow, bound=index % 4 > 1)
        return self._made(index, start, *steps)


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
    "exhaustive": Kind("every state of one and two jobs, of lanes and of a flow, every transition", Exhaustive),
    "corruption": Kind(
        "every state of one job, of lanes and of a flow, everything that can be wrong with it", Corrupted
    ),
    "histories": Kind("random histories of twenty steps, with restarts, half with lanes and flows", Histories),
    "three-jobs": Kind("worlds of three jobs, sampled", ThreeJobs),
}
