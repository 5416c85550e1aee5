"""Trials of some verbs only, for a hunt that knows where to look."""

from collections.abc import Iterator
from functools import cache
from random import Random

from emqlab.parity.model import Values, World, Zset
from emqlab.parity.trials import bound_trials
from emqlab.parity.trials.calls import edge_calls, usual_calls
from emqlab.parity.trials.corruptions import CORRUPTIONS, JOB, applied
from emqlab.parity.trials.lanes import LANED, laned
from emqlab.parity.trials.layers import Corrupted, Exhaustive, Layer
from emqlab.parity.trials.trial import BASE, NOW_MS, Do, Trial, Wait
from emqlab.transitions import LANES_AND_FLOWS

#: The verbs without a value that could be odd.
_NO_VALUES = ("reap",)
#: The verbs that count on from a number that is stored, and what is wrong with it.
_COUNTED = {"claim": "row attempts", "fail": "row failures", "stalled_check": "row stalled", "complete": "metrics:"}
#: The verbs that meet the rows of lanes and flows, and of which kinds of trials these are.
BOUND = {
    **dict.fromkeys(("delay", "reprocess", "claim", "extend", "extends"), (1,)),
    **dict.fromkeys(LANED, (1, 3)),
    # These tell a flow's parent.
    **dict.fromkeys(("complete", "fail"), (1, 3, 6)),
}
#: The verbs with a time that could be the last there is.
_TIMED = ("claim", "delay", "extend", "extends", "fail", "schedule")


class Aimed(Layer):
    """Trials of the verbs in turn, by chance, of every kind that there is about them, on one executor.

    Worlds with one thing wrong and with two, numbers that can't be counted on from, the small world, odd values, the
    last of all times; then what only one executor looks at: for the native verbs what is laid out wrongly, for the
    scripts lanes and flows. Worlds that are made here have this layer's name, all others their own's.
    """

    name = "aimed"

    def __init__(self, seed: int, verbs: tuple[str, ...], *, native: bool) -> None:
        super().__init__(seed)
        self._verbs = verbs
        self._native = native

    def trial(self, index: int) -> Trial:
        """One of the kinds, of one of the verbs."""
        at, place = divmod(self._checked(index), len(self._verbs))
        verb = self._verbs[place]
        turn, kind = divmod(at, 7)
        corrupted, small = _layers(self.seed)
        random = Random(f"{self.seed} aimed {verb} {at}")
        if verb in LANES_AND_FLOWS or (kind in BOUND.get(verb, ()) and not self._native):
            return self._made(index, *bound_trials.drawn(random, verb))
        if kind == 6 and self._native:
            return corrupted.trial(corrupted.laid_out(turn, verb))
        if kind in (2, 6) and not self._native and verb in LANED:
            start = laned(random, corrupted.sound(random, verb))
            return self._made(index, start, _drawn(random, usual_calls(start), verb))
        if kind == 5 and verb not in _NO_VALUES:
            return corrupted.trial(corrupted.odd(random, verb))
        if kind in (3, 5):
            return small.trial(small.drawn(random, verb))
        if kind == 4:
            return self._own(index, random, verb, turn)
        return corrupted.trial(corrupted.aimed(random, verb))

    def own(self, index: int) -> Trial:
        """One that no other layer has: a world with more than one thing wrong or with a lane, or a last time."""
        turn, place = divmod(self._checked(index), len(self._verbs))
        verb = self._verbs[place]
        random = Random(f"{self.seed} own {verb} {turn}")
        if verb in LANES_AND_FLOWS or (verb in BOUND and turn % 4 == 3):
            return self._made(index, *bound_trials.drawn_twice(random, verb))
        if turn % 2 and verb in LANED:
            start = laned(random, _layers(self.seed)[0].sound(random, verb))
            return self._made(index, start, _drawn(random, usual_calls(start), verb))
        return self._own(index, random, verb, turn // 2 if verb in LANED else turn)

    def late(self, index: int) -> Trial:
        """A job that comes due a thousandth of a ms too late, or one ms, in the last ms of a second."""
        random = Random(f"{self.seed} late {index}")
        verb = self._verbs[index % len(self._verbs)]
        last = 999 - NOW_MS % 1000
        if verb in LANES_AND_FLOWS:
            start, call = bound_trials.drawn_sound(random, verb)
            return self._made(index, start, Wait(last), call)
        start = _layers(self.seed)[0].sound(random, verb).copy()
        for name in (b"active", b"schedule"):
            members = start.keys.get(BASE + name)
            if isinstance(members, Zset) and JOB in members:
                members[JOB] = NOW_MS + last + random.choice((0.001, 1.0))
        return self._made(index, start, Wait(last), _drawn(random, usual_calls(start), verb))

    def _own(self, index: int, random: Random, verb: str, turn: int) -> Trial:
        """A world in which the verb would change something, with two things wrong, a bad number, or a last time."""
        start = _layers(self.seed)[0].sound(random, verb)
        if turn % 8 == 0 and verb in _TIMED:
            return self._made(index, start, _drawn(random, edge_calls(start), verb))
        if turn % 8 == 0 and verb == "reap":
            start = crowded(start)
        elif turn % 2 == 0 and verb in _COUNTED:
            # Each of them in turn, for there are many.
            bad = [each for each in CORRUPTIONS if each.name.startswith(_COUNTED[verb])]
            start = applied(bad[turn // 2 % len(bad)], start) or start
        else:
            start = _wrong(random, _wrong(random, start))
        return self._made(index, start, _drawn(random, usual_calls(start), verb))


class Flat(Layer):
    """Trials of the verbs in turn, by chance, of flat jobs only: it is made in a fifth of the time.

    The small world, odd values, and worlds with one thing wrong. All have their own layers' names.
    """

    name = "flat"

    def __init__(self, seed: int, verbs: tuple[str, ...]) -> None:
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
        if at % 3 == 1 and verb not in _NO_VALUES:
            return corrupted.trial(corrupted.odd(random, verb))
        return corrupted.trial(corrupted.aimed(random, verb))


@cache
def _layers(seed: int) -> tuple[Corrupted, Exhaustive]:
    return Corrupted(seed), Exhaustive(seed)


def crowded(start: World) -> World:
    """The world with more leases that have run out than a reap takes on."""
    found = start.copy()
    leases = {b"JOB0NgWEfAEJ%02x" % place: NOW_MS - 2_000.0 for place in range(102)}
    found.keys[BASE + b"active"] = Zset(leases)
    return found


def _wrong(random: Random, start: World) -> World:
    """The world with one thing more that is wrong."""
    while True:
        found = applied(random.choice(CORRUPTIONS), start)
        if found is not None:
            return found


def _drawn(random: Random, calls: Iterator[tuple[str, Values]], verb: str) -> Do:
    return Do(*random.choice([call for call in calls if call[0] == verb]))
