"""Trials of lanes and flows: on the worlds that they come to, on those with something wrong, and with odd values."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeVar

from emqlab.parity.model import Held, Reply, Values, World, Zset
from emqlab.parity.trials.bound import CHILDREN, PARENT, Calls, flow_calls, flow_worlds, lane_calls, lane_worlds
from emqlab.parity.trials.bound_wrong import FLOW_CORRUPTIONS, LANE_CORRUPTIONS
from emqlab.parity.trials.calls import LONG, ODD_NUMBERS
from emqlab.parity.trials.corruptions import Corruption, applied
from emqlab.parity.trials.states import FAILURE, JOBS, PAYLOAD, VOICES
from emqlab.parity.trials.trial import BASE, NOW_MS, QUEUE, Do

#: How many worlds each thing that is wrong is tried in with each call.
_SOME = 12
#: How many places are looked at to find one where what is wrong makes a difference.
_TRIES = 8
_T = TypeVar("_T")
#: A world, what is wrong with it, a call.
Wrong = tuple[World, Corruption, tuple[str, Values]]
_PLACES = (b"pending", b"active", b"schedule", b"dead", b"ring", b"paused", b"g:g:pending", b"g:h:pending")


@dataclass(frozen=True, slots=True)
class Kind:
    """Lanes or flows: their worlds, what is done in each of them, what is wrong with them, the odd calls."""

    name: str
    worlds: Callable[[], tuple[World, ...]]
    calls: Callable[[World], Calls]
    corruptions: tuple[Corruption, ...]
    odd_calls: Callable[[World], Calls]


def _odd_lane_calls(found: World) -> Calls:
    first = JOBS[0]
    adding: dict[str, bytes] = {"id": first, "payload": PAYLOAD, "group": b"g"}
    for odd in ODD_NUMBERS:
        yield "lane_claim", {"lease_ms": odd}
        yield "lane_limit", {"group": b"g", "limit": odd}
    for strange in (b"TSK" + first[3:], b"job" + first[3:], b"JOB", b""):
        yield "lane_enqueue", {**adding, "id": strange}
    for group in (b"", b"\x00\xff {p}", b"g:pending", LONG):
        yield "lane_enqueue", {**adding, "group": group}
        yield "lane_pause", {"group": group}
        yield "lane_resume", {"group": group}
        yield "lane_limit", {"group": group, "limit": b"1"}
    yield "lane_enqueue", {**adding, "payload": LONG}


def _odd_flow_calls(found: World) -> Calls:
    child, other = CHILDREN
    adding: Values = {"id": PARENT, "payload": PAYLOAD, "children": [(child, PAYLOAD)], "policy": b""}
    for strange in (b"TSK" + child[3:], b"job" + child[3:], b"JOB", b""):
        yield "flow_add", {**adding, "id": strange}
        yield "flow_add", {**adding, "children": [(child, PAYLOAD), (strange, PAYLOAD)]}
    yield "flow_add", {**adding, "payload": LONG}
    yield "flow_add", {**adding, "children": [(child, b""), (other, LONG)], "policy": b"fp"}
    yield "flow_add", {**adding, "children": [(b"JOB0NgWEfAEJ%02x" % place, b"%d" % place) for place in range(40)]}
    for place in range(1, 4):
        others = [(b"JOB0NgWEfAEJf%d" % each, PAYLOAD) for each in range(3)]
        others.insert(place, (child, PAYLOAD))
        yield "flow_add", {"id": b"JOB0NgWEfAEJfy", "payload": PAYLOAD, "children": others, "policy": b""}
    for job in CHILDREN:
        holder: dict[str, bytes] = {"id": job, "token": b"1"}
        for result in (b"", b"{p} @now", LONG):
            yield "complete", {**holder, "result": result}
        for text in (b"", LONG):
            yield "fail", {**holder, "delay_ms": b"0", "max_attempts": b"1", "error": text}
        for odd in (b"many", b"", b"1.5"):
            yield "fail", {**holder, "delay_ms": odd, "max_attempts": b"1", "error": FAILURE}
            yield "fail", {**holder, "delay_ms": b"0", "max_attempts": odd, "error": FAILURE}


KINDS = (
    Kind("two jobs in lanes", lane_worlds, lane_calls, LANE_CORRUPTIONS, _odd_lane_calls),
    Kind("a flow of two children", flow_worlds, flow_calls, FLOW_CORRUPTIONS, _odd_flow_calls),
)


@cache
def sizes() -> tuple[tuple[int, int], ...]:
    """For each kind how many worlds there are, and how many calls on each."""
    return tuple((len(kind.worlds()), sum(1 for _ in kind.calls(kind.worlds()[0]))) for kind in KINDS)


def sound(index: int) -> tuple[World, Do]:
    """A world of lanes or of flows with nothing wrong, and a call. Raises IndexError beyond the last."""
    for kind, (worlds, calls) in zip(KINDS, sizes(), strict=True):
        if index < worlds * calls:
            at, place = divmod(index, calls)
            start = kind.worlds()[at]
            return start, _call(kind, start, place)
        index -= worlds * calls
    raise IndexError(index)


@cache
def wrong() -> list[Wrong]:
    """Everything that can be wrong, with every call, in some worlds that the call would change if nothing were wrong.

    Then the calls with an odd value, in a few worlds with nothing wrong.
    """
    found: list[Wrong] = []
    for kind in KINDS:
        sorts = [kind.worlds()[at] for at in _sorts(kind)]
        fit = [[at for at, start in enumerate(sorts) if applied(each, start) is not None] for each in kind.corruptions]
        for calls in zip(*(kind.calls(start) for start in sorts), strict=True):
            telling = {at for at, call in enumerate(calls) if changes(sorts[at], *call)}
            for corruption, places in list(zip(kind.corruptions, fit, strict=True))[1:]:
                some = _spread([at for at in places if at in telling], _SOME)
                found += [(sorts[at], corruption, calls[at]) for at in some]
        few = _spread(sorts, _SOME)
        found += [(start, kind.corruptions[0], call) for start in few for call in kind.odd_calls(start)]
    return found


def _spread(listed: Sequence[_T], count: int) -> list[_T]:
    """At most ``count`` of them, from all over the list."""
    return [listed[place * len(listed) // count] for place in range(count)] if len(listed) > count else list(listed)


def a_wrong_one(random: Random, verb: str) -> int:
    """A place of one verb in the list of what is wrong: a quarter are odd values.

    Of the others most are places where what is wrong makes a difference; in a fifth it need not, and often must not.
    """
    odd, wrongs = _wrong_with(verb)
    if odd and random.random() < 0.25:
        return random.choice(odd)
    if random.random() < 0.2:
        return random.choice(random.choice(wrongs))
    places = [random.choice(random.choice(wrongs)) for _ in range(_TRIES)]
    return next(filter(_differs, places), places[-1])


def _differs(place: int) -> bool:
    """Whether a script does something else than if nothing were wrong."""
    start, corruption, (verb, values) = wrong()[place]
    found = applied(corruption, start)
    assert found is not None
    return _done(start, verb, values) != _done(found, verb, values)


def _done(start: World, verb: str, values: Values) -> tuple[Reply, dict[bytes, Held | None]]:
    """The scripts' reply, and each key that is another one after it."""
    after = start.copy()
    reply = VOICES["scripted"](after, QUEUE, verb, values)
    names = {*start.keys, *after.keys}
    return reply, {name: after.keys.get(name) for name in names if start.keys.get(name) != after.keys.get(name)}


def a_telling_one(random: Random, verb: str) -> int:
    """The place of a trial with nothing wrong, of one verb, that changes something, in one world of each sort."""
    at, kind, _, place = random.choice(_telling(verb))
    before = sum(worlds * calls for worlds, calls in sizes()[: KINDS.index(kind)])
    return before + at * sizes()[KINDS.index(kind)][1] + place


@cache
def _wrong_with(verb: str) -> tuple[list[int], list[list[int]]]:
    """The places of one verb in the list of what is wrong: odd values, then those of each thing that is wrong."""
    found: dict[int, list[int]] = {}
    for place, (_, corruption, call) in enumerate(wrong()):
        if call[0] == verb:
            found.setdefault(id(corruption), []).append(place)
    odd = [place for kind in KINDS for place in found.pop(id(kind.corruptions[0]), [])]
    return odd, list(found.values())


@cache
def _telling(verb: str) -> list[tuple[int, Kind, World, int]]:
    """The calls of a verb that change something in one world of each sort: the world's number, and the call's."""
    return [
        (at, kind, start, place)
        for kind in KINDS
        for at, start in ((at, kind.worlds()[at]) for at in _sorts(kind))
        for place, call in enumerate(kind.calls(start))
        if call[0] == verb and changes(start, *call)
    ]


def made(place: int) -> tuple[World, Do]:
    """A trial of the list of what is wrong. Raises IndexError beyond the last."""
    start, corruption, call = wrong()[place]
    found = applied(corruption, start)
    assert found is not None
    return found, Do(*call)


def drawn(random: Random, verb: str) -> tuple[World, Do]:
    """A trial of one verb by chance: a fifth with nothing wrong, a fifth with two things, else from the list."""
    chance = random.random()
    if chance < 0.6:
        return made(a_wrong_one(random, verb))
    return drawn_sound(random, verb) if chance < 0.8 else drawn_twice(random, verb)


def drawn_twice(random: Random, verb: str) -> tuple[World, Do]:
    """A trial of one verb by chance with two things wrong."""
    _, kind, start, place = random.choice(_telling(verb))
    return twice_wrong(random, start, kind), _call(kind, start, place)


def drawn_sound(random: Random, verb: str) -> tuple[World, Do]:
    """A trial of one verb by chance that changes something."""
    return sound(a_telling_one(random, verb))


def _call(kind: Kind, start: World, place: int) -> Do:
    return Do(*list(kind.calls(start))[place])


def twice_wrong(random: Random, start: World, kind: Kind) -> World:
    """The world with two things wrong with it, by chance."""
    for _ in range(2):
        found = None
        while found is None:
            found = applied(random.choice(kind.corruptions[1:]), start)
        start = found
    return start


def changes(start: World, verb: str, values: Values) -> bool:
    """Whether a call changes something, by either executor."""
    for voice in VOICES.values():
        after = start.copy()
        voice(after, QUEUE, verb, values)
        if after.keys != start.keys:
            return True
    return False


def _sorts(kind: Kind) -> Iterator[int]:
    """The number of each sort's first world: by who stands where, whose time has come, limits, a child's policy."""
    seen = set()
    for at, found in enumerate(kind.worlds()):
        held = [found.keys.get(BASE + name) for name in _PLACES]
        came = [isinstance(one, Zset) and any(0 < score <= NOW_MS for score in one.values()) for one in held]
        rows = [found.keys.get(BASE + b"job:" + child) for child in CHILDREN]
        policies = tuple(row.get(b"parent_policy") for row in rows if isinstance(row, dict))
        limited = found.keys.get(BASE + b"glimit")
        limits = tuple(sorted(limited.items())) if isinstance(limited, dict) else ()
        sort = (policies, limits, *((*sorted(one or ()), past) for one, past in zip(held, came, strict=True)))
        if sort not in seen:
            seen.add(sort)
            yield at
