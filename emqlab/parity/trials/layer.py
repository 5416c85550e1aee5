"""A layer: a numbered list of trials, in an order that a seed shuffles."""

from emqlab.parity.model import World
from emqlab.parity.trials.trial import Step, Trial


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
