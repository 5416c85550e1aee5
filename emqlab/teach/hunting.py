"""A hunt for a reader's changed file: which cases the instrument tries, how many of them, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING

from emqlab.transitions import LANES_AND_FLOWS

if TYPE_CHECKING:
    from emqlab.parity.rig import Ran, Rig
    from emqlab.parity.trials.trial import Trial

#: How many cases of flat jobs a hunt tries, and how many of every kind if that did not do: a second or two.
FLAT, MORE = 400, 200
#: A hunt ends by itself after so long, on a machine that is busy or slow: what is judged has 5 s in all.
SECONDS = 3.0
#: So many cases are tried between two looks at the clock, and so at the least.
BATCH = 25


@dataclass(frozen=True, slots=True)
class Hunt:
    """How a hunt ended: after ``tried`` cases, the last of which was ``trial`` if something was seen there.

    ``complaints`` are what was seen. Without a ``trial`` nothing was. ``other`` is the first case in which something
    was seen that did not count, None where there was none.
    """

    tried: int
    trial: Trial | None = None
    complaints: tuple[str, ...] = ()
    other: Hunt | None = None


def cases(many: int) -> str:
    """How many cases, in words."""
    return "1 case" if many == 1 else f"{many} cases"


def prepare() -> None:
    """Import what a hunt needs and lay out the worlds that its cases are taken from: that takes no reader's time."""
    from emqlab.parity.ground import Ground  # noqa: F401
    from emqlab.parity.options import CASES  # noqa: F401
    from emqlab.parity.shrink import shrunk  # noqa: F401
    from emqlab.parity.trials.aimed import Flat

    Flat(0, ("claim",)).trial(0)


def hunt(
    rig: Rig,
    verbs: tuple[str, ...],
    *,
    native: bool,
    seed: int = 0,
    flat: int = FLAT,
    more: int = MORE,
    seconds: float | None = None,
    counts: Callable[[Ran], bool] | None = None,
) -> Hunt:
    """Try cases of ``verbs`` on a rig with something changed until one is not as declared.

    First come ``flat`` cases of flat jobs, then ``more`` of every kind. A file whose verbs know no flat job is tried
    in as many, all of every kind. ``native`` says whether it is a verb's file. The hunt is given up after ``seconds``
    (``SECONDS``); then fewer were ``tried``. Where ``counts`` is given, it goes on past cases that do not count.
    """
    from emqlab.parity.verdict import judge

    until = monotonic() + (SECONDS if seconds is None else seconds)
    tried, left = 0, _trials(verbs, native, seed, flat, more)
    other: Hunt | None = None
    while trials := list(islice(left, BATCH)):
        for ran in rig.run(trials):
            tried += 1
            verdict = judge(ran)
            if verdict.complaints and (counts is None or counts(ran)):
                return Hunt(tried, verdict.trial, verdict.complaints, other)
            if verdict.complaints:
                other = other or Hunt(tried, verdict.trial, verdict.complaints)
        if monotonic() >= until:
            break
    return Hunt(tried, other=other)


def _trials(verbs: tuple[str, ...], native: bool, seed: int, flat: int, more: int) -> Iterator[Trial]:
    """The cases in order, each made when its turn comes."""
    from emqlab.parity.trials.aimed import Aimed, Flat

    plain = tuple(verb for verb in verbs if verb not in LANES_AND_FLOWS)
    if plain:
        layer = Flat(seed, plain)
        yield from (layer.trial(place) for place in range(flat))
    every = Aimed(seed, verbs, native=native)
    yield from (every.trial(place) for place in range(more if plain else flat + more))
