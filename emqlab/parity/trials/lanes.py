"""Worlds with a lane: a row of a group, and its lane, slots, limit, ring and wakes as they can be (SPEC 4.3)."""

from random import Random

from emqlab.parity.model import Held, World, Zset
from emqlab.parity.trials.corruptions import JOB, ROW
from emqlab.parity.trials.trial import BASE, NOW_MS

#: The verbs whose scripts know lanes.
LANED = ("complete", "fail", "promote", "reap", "stalled_check")
_GROUP = b"g"
_LANE = BASE + b"g:" + _GROUP + b":pending"
#: What each key may hold, often nothing; ``wake`` holds what nobody has put there, so that both its ends can be told.
_AROUND: dict[bytes, tuple[Held | None, ...]] = {
    b"gactive": (
        None,
        {_GROUP: b"0"},
        {_GROUP: b"1"},
        {_GROUP: b"2"},
        {_GROUP: b"3", b"h": b"2"},
        {_GROUP: b"-1"},
        {_GROUP: b"many"},
    ),
    b"glimit": (None, {_GROUP: b"0"}, {_GROUP: b"0"}, {_GROUP: b"1"}, {_GROUP: b"2"}, {_GROUP: b"5"}, {b"h": b"0"}),
    b"paused": (None, None, None, {_GROUP}, {b"h"}),
    b"ring": (None, None, [b"h"], [b"h", _GROUP], [_GROUP, b"h", _GROUP], [b"h", _GROUP, _GROUP]),
    b"wake": (None, [b"2"], [b"%d" % place for place in range(64)]),
}
_OTHERS = (None, Zset({b"JOB0NgWEfAEJfz": 0.0}), Zset({b"JOB0NgWEfAEJfz": 0.0, b"JOB0NgWEfAEJf0": 1.0}))


def laned(random: Random, start: World) -> World:
    """The same world with its job's row in a group, and one of the ways that lane can be, by chance."""
    found = start.copy()
    row = found.keys.get(ROW)
    if isinstance(row, dict) and not isinstance(row, Zset):
        row[b"group"] = _GROUP
    for name, choice in _AROUND.items():
        held = random.choice(choice)
        if held is not None:
            found.keys[BASE + name] = held if isinstance(held, bytes) else held.copy()
    waiting = random.choice(_OTHERS)
    lane = Zset() if waiting is None else waiting.copy()
    if random.random() < 0.3:
        lane[JOB] = 0.0
        for name in (b"active", b"pending"):
            if random.random() < 0.8:
                found.keys.pop(BASE + name, None)
    elif random.random() < 0.5:
        found.keys[BASE + b"active"] = Zset({JOB: NOW_MS - 1_000.0})
    if lane:
        found.keys[_LANE] = lane
    return found
