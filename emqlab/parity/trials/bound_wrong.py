"""What can be wrong with lanes and flows: their keys, their numbers, who belongs to whom, each by name."""

from collections.abc import Callable, Iterator, Mapping

from emqlab.parity.model import Held, World, Zset
from emqlab.parity.trials.bound import CHILDREN, PARENT
from emqlab.parity.trials.corruptions import FULL, WRONG, Corruption, both, key_holds
from emqlab.parity.trials.states import JOBS
from emqlab.parity.trials.trial import BASE

_LANE = b"g:g:pending"
_LANE_KEYS = (_LANE, b"ring", b"wake", b"gactive", b"glimit", b"paused")
_GHOST = b"JOB0NgWEfAEJf0"
_STRING = WRONG["string"]
#: Numbers of slots and limits as Lua, HINCRBY and nobody read them; from the least integer nothing can be taken.
_COUNTS = (b"0", b"1", b"2", b"5", b"-1", b"", b" 1", b"01", b"1.5", b"0x1", b"nan", b"inf", b"many", FULL)
_LEAST = b"-9223372036854775808"


def _with(job: bytes, name: bytes, value: bytes | None) -> Callable[[World], bool]:
    """A job's row has that in a field, or not the field."""

    def apply(found: World) -> bool:
        row = found.keys.get(BASE + b"job:" + job)
        if not isinstance(row, dict) or isinstance(row, Zset) or row.get(name) == value:
            return False
        if value is None:
            del row[name]
        else:
            row[name] = value
        return True

    return apply


def _ahead(score: float, *, alone: bool) -> Callable[[World], bool]:
    """A ghost stands in the lane, before whoever else is there or alone."""

    def apply(found: World) -> bool:
        held = found.keys.get(BASE + _LANE)
        lane = Zset() if alone or not isinstance(held, Zset) else held
        if alone and not isinstance(held, Zset):
            return False
        lane[_GHOST] = score
        found.keys[BASE + _LANE] = lane
        return True

    return apply


def _in_line(job: bytes, score: float) -> Callable[[World], bool]:
    """That job waits too, with that score."""

    def apply(found: World) -> bool:
        line = found.keys.setdefault(BASE + b"pending", Zset())
        if not isinstance(line, Zset):
            return False
        line[job] = score
        return True

    return apply


def _crowded(*ring: bytes) -> Callable[[World], bool]:
    """Two more jobs wait in either lane, and the lanes are on the ring in this order."""

    def apply(found: World) -> bool:
        for group in (b"g", b"h"):
            lane = found.keys.setdefault(BASE + b"g:" + group + b":pending", Zset())
            if not isinstance(lane, Zset):
                return False
            for place in range(2):
                job = b"JOB0NgWEfAEJ%b%d" % (group, place)
                lane[job] = 0.0
                row = {b"state": b"pending", b"attempts": b"0", b"payload": b"tea", b"group": group}
                found.keys[BASE + b"job:" + job] = row
        found.keys[BASE + b"ring"] = list(ring)
        return True

    return apply


def _named(keys: Mapping[str, tuple[bytes, Held | None]]) -> Iterator[Corruption]:
    for name, (key, held) in keys.items():
        yield Corruption(name, key_holds(key, held))


def _everywhere() -> Iterator[Corruption]:
    """What both kinds of worlds can have: keys that every script writes to."""
    yield Corruption("nothing", lambda found: True)
    for name in (b"pending", b"active", b"schedule", b"dead", b"metrics:completed", b"metrics:failed", b"meta"):
        yield Corruption(f"{name.decode()} a string", key_holds(name, _STRING))
    yield Corruption("paused", key_holds(b"meta", {b"paused": b"0"}))
    for name in (b"metrics:completed", b"metrics:failed"):
        yield Corruption(f"{name.decode()} no number", key_holds(name, {b"count": b"many"}))


def _lanes() -> Iterator[Corruption]:
    first = JOBS[0]
    yield from _named(
        {
            **{
                f"{name.decode()} a string": (name, _STRING)
                for name in (_LANE, b"ring", b"wake", b"gactive", b"glimit")
            },
            "paused lanes a string": (b"paused", _STRING),
            "the lane gone": (_LANE, None),
            "the ring gone": (b"ring", None),
            "the slots gone": (b"gactive", None),
            "twice on the ring": (b"ring", [b"g", b"h", b"g"]),
            "last on the ring": (b"ring", [b"h", b"g"]),
            "only a lane without jobs on the ring": (b"ring", [b"nobody"]),
            "a lane without jobs first on the ring": (b"ring", [b"nobody", b"g"]),
            "wake full": (b"wake", [b"%d" % place for place in range(64)]),
            "wake of another's": (b"wake", [b"2"]),
            "the lane paused": (b"paused", {b"g"}),
            "another lane paused": (b"paused", {b"h"}),
            "both lanes paused": (b"paused", {b"g", b"h"}),
            "another lane's limit": (b"glimit", {b"h": b"0"}),
            "another lane's slots": (b"gactive", {b"h": b"2"}),
        }
    )
    for count in _COUNTS:
        yield Corruption(f"limit {count.decode()!r}", key_holds(b"glimit", {b"g": count}))
        yield Corruption(f"slots {count.decode()!r}", key_holds(b"gactive", {b"g": count, b"h": b"2"}))
        limited = both(key_holds(b"gactive", {b"g": count}), key_holds(b"glimit", {b"g": b"2"}))
        yield Corruption(f"slots {count.decode()!r} of two", limited)
    yield Corruption("slots that can't be fewer", key_holds(b"gactive", {b"g": _LEAST}))
    for ring in ((b"g", b"h"), (b"h", b"g"), (b"h",), (b"g",), (b"g", b"h", b"g"), (b"h", b"g", b"nobody")):
        yield Corruption(f"a crowd in turn, {b' '.join(ring).decode()}", _crowded(*ring))
    yield Corruption("a crowd whose lane is paused", both(_crowded(b"h"), key_holds(b"paused", {b"g"})))
    for limit in (b"1", b"2"):
        limited = both(_crowded(b"h"), key_holds(b"glimit", {b"g": limit}))
        yield Corruption(f"a crowd whose lane may run {limit.decode()}", limited)
    for score in (-1.0, 0.0, 1.0):
        yield Corruption(f"a ghost in the lane at {score}", _ahead(score, alone=False))
    yield Corruption("only a ghost in the lane", _ahead(0.0, alone=True))
    yield Corruption("the row gone", key_holds(b"job:" + first, None))
    yield Corruption("the row a string", key_holds(b"job:" + first, _STRING))
    yield Corruption("of another lane", _with(first, b"group", b"h"))
    yield Corruption("of no lane", _with(first, b"group", None))
    yield Corruption("of the lane without a name", _with(first, b"group", b""))
    yield Corruption("a flow's child too", _with(first, b"parent", JOBS[1]))
    nameless = both(_with(first, b"group", b""), key_holds(b"gactive", {b"": b"1", b"g": b"1"}))
    yield Corruption("of the lane without a name, which has slots", nameless)
    yield Corruption("attempts below zero", _with(first, b"attempts", b"-7"))
    yield Corruption("attempts no number", _with(first, b"attempts", b"one"))
    yield Corruption("attempts full", _with(first, b"attempts", FULL))
    yield Corruption("no attempts", _with(first, b"attempts", None))
    yield Corruption("no payload", _with(first, b"payload", None))


def _flows() -> Iterator[Corruption]:
    parent, child = b"job:" + PARENT, CHILDREN[0]
    counted = parent + b":dependencies"
    hashes = [parent + b":" + name for name in (b"processed", b"failed", b"unsuccessful")]
    told: Held = {**dict.fromkeys(CHILDREN, b"first"), b"JOB": b"another"}
    for count in (b"0", b"1", b"3", b"-1", b"", b" 1", b"01", b"many", FULL, _LEAST, b"9223372036854775808"):
        yield Corruption(f"dependencies {count.decode()!r}", key_holds(counted, count))
    yield from _named(
        {
            "dependencies gone": (counted, None),
            "dependencies a list": (counted, WRONG["list"]),
            "dependencies a hash": (counted, WRONG["hash"]),
            **{f"{name.rpartition(b':')[2].decode()} a string": (name, _STRING) for name in hashes},
            **{f"{name.rpartition(b':')[2].decode()} before": (name, told) for name in hashes},
            "the parent a string": (parent, _STRING),
            "the parent gone": (parent, None),
            "the parent nearly gone": (parent, {b"state": b"pending"}),
            "the child gone": (b"job:" + child, None),
            "the child a string": (b"job:" + child, _STRING),
        }
    )
    yield Corruption("told before in each way", both(*(key_holds(name, told) for name in hashes)))
    for name in (b"pending", b"active", b"dead"):
        held = Zset({PARENT: 0.0, child: 0.0})
        yield Corruption(f"the parent and a child in {name.decode()}", key_holds(name, held))
    yield Corruption("the parent in line, by another score", _in_line(PARENT, 5.0))
    yield Corruption("attempts below zero", _with(child, b"attempts", b"-7"))
    for value in (None, b"", b"JOB0NgWEfAEJfz", child, b"\xff{p}:"):
        yield Corruption(f"child of {value!r}", _with(child, b"parent", value))
    for value in (None, b"", b"fp", b"id", b"ID", b"id ", b"other"):
        yield Corruption(f"policy {value!r}", _with(child, b"parent_policy", value))
    for group in (b"g", b""):
        yield Corruption(f"child of the lane {group.decode()!r} too", _with(child, b"group", group))
    slots = both(_with(child, b"group", b"g"), key_holds(b"gactive", {b"g": b"many"}))
    yield Corruption("child of a lane with bad slots too", slots)
    yield Corruption("attempts full", _with(child, b"attempts", FULL))
    yield Corruption("no attempts", _with(child, b"attempts", None))


#: Every corruption of a world of lanes, and of one of a flow, in the order of their index.
LANE_CORRUPTIONS: tuple[Corruption, ...] = (*_everywhere(), *_lanes())
FLOW_CORRUPTIONS: tuple[Corruption, ...] = (*_everywhere(), *_flows())
