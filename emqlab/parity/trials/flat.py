"""Trials of flat jobs only, for a lesson: what takes long to lay out, lanes and flows, is left to the other layers."""

from functools import cache
from random import Random

from emqlab.parity.trials.layers import Corrupted, Exhaustive, Layer
from emqlab.parity.trials.trial import Trial

#: The verbs whose trials these are, unless some are named: those of flat jobs that both executors have.
FLAT = ("enqueue", "schedule", "claim", "complete", "fail", "delay", "extend", "promote", "stalled_check", "reprocess")


class Flat(Layer):
    """Trials of these verbs in turn, by chance: the small world, something wrong in a world, an odd value.

    Each has its own layer's name and number, by which ``emqlab parity`` makes it again.
    """

    name = "flat"

    def __init__(self, seed: int, verbs: tuple[str, ...] = FLAT) -> None:
        super().__init__(seed)
        self._verbs = verbs

    def trial(self, index: int) -> Trial:
        """One of the kinds, of one of the verbs."""
        at, place = divmod(self._checked(index), len(self._verbs))
        verb = self._verbs[place]
        corrupted, small = _layers(self.seed)
        random = Random(f"{self.seed} flat {verb} {at}")
        if at % 3 == 0:
            return small.trial(small.drawn(random, verb))
        if at % 3 == 1 or verb == "reap":  # which has no value that could be odd
            return corrupted.trial(corrupted.aimed(random, verb))
        return corrupted.trial(corrupted.odd(random, verb))


@cache
def _layers(seed: int) -> tuple[Corrupted, Exhaustive]:
    return Corrupted(seed), Exhaustive(seed)
