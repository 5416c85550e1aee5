"""The hunt: a planted defect or a mutant in one executor, and how many trials it takes until the instrument sees it."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from emqlab.parity.rig import Rig
from emqlab.parity.trials import bound_trials
from emqlab.parity.trials.lanes import LANED
from emqlab.parity.trials.layers import Corrupted, Exhaustive, Layer, shuffled
from emqlab.parity.trials.trial import Trial
from emqlab.parity.verdict import judge
from emqlab.transitions import LANES_AND_FLOWS

#: How many trials a hunt goes on for before it is given up.
PATIENCE = 40_000
#: The first batches are small, for most defects show at once.
_FIRST, _MOST = 25, 400
#: The verbs whose scripts do more for lanes and flows.
_BOUND = (*LANES_AND_FLOWS, *LANED)


class Mixed(Layer):
    """Corrupted worlds, odd calls, the small world, lanes and flows in turn, for one who doesn't know where to look."""

    name = "hunt"

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._corrupted, self._small = Corrupted(seed), Exhaustive(seed)

    @property
    def size(self) -> int:
        """Five times the smallest part."""
        return 5 * min(*self._corrupted.parts[:2], self._small.size)

    def index_at(self, place: int) -> int:
        """In order, for the parts are shuffled."""
        return place

    def trial(self, index: int) -> Trial:
        """One of them, under its own layer's name; two in five are of lanes and flows."""
        at, part = divmod(self._checked(index), 5)
        if part > 2:
            random = Random(f"{self.seed} hunt of lanes and flows {index}")
            verb = random.choice(_BOUND)
            if part == 3:
                return self._corrupted.trial(self._corrupted.bound[bound_trials.a_wrong_one(random, verb)])
            if at % 3:
                return self._small.trial(self._small.bound[bound_trials.a_telling_one(random, verb)])
            return self._small.trial(random.choice(self._small.bound))
        if part == 2:
            return self._small.trial(self._small.index_at(at))
        if part == 1:
            worlds, calls, _ = self._corrupted.parts
            return self._corrupted.trial(worlds + shuffled(at, calls, self.seed))
        return self._corrupted.trial(self._corrupted.drawn(Random(f"{self.seed} hunt {at}")))


@dataclass(frozen=True, slots=True)
class Caught:
    """How a hunt ended: ``after`` how many trials (None: not caught), in which one, and what was seen there."""

    after: int | None
    trial: Trial | None = None
    complaints: tuple[str, ...] = ()


def hunted(rig: Rig, layer: Layer, limit: int = PATIENCE) -> Caught:
    """Run trials on a rig whose executors are changed until one is not as declared."""
    tried = 0
    for batch in _batches(layer, limit):
        for ran in rig.run(batch):
            tried += 1
            verdict = judge(ran)
            if verdict.complaints:
                return Caught(tried, verdict.trial, verdict.complaints)
    return Caught(None)


def _batches(layer: Layer, limit: int) -> Iterator[list[Trial]]:
    """The layer's trials in order, first a few at a time."""
    end = limit if layer.size is None else min(limit, layer.size)
    place, size = 0, _FIRST
    while place < end:
        places = range(place, min(end, place + size))
        yield [layer.trial(layer.index_at(each)) for each in places]
        place, size = places.stop, min(_MOST, size * 2)
