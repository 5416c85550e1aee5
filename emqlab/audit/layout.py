"""Which keys a queue has, and of what type each is (SPEC 2, 4.3, 4.4)."""

from dataclasses import dataclass

SETS = (b"pending", b"active", b"schedule", b"dead")
_TYPES = {
    **dict.fromkeys(SETS, b"zset"),
    **dict.fromkeys((b"meta", b"metrics:completed", b"metrics:failed", b"gactive", b"glimit"), b"hash"),
    b"ring": b"list",
    b"wake": b"list",
    b"paused": b"set",
}
METRICS = (b"metrics:completed", b"metrics:failed")
#: The keys that the flat verbs use, looked at whether SCAN has met them or not.
CORE = (*SETS, b"meta", *METRICS)
#: Every key of a queue's but rows, lanes and flows.
KNOWN = tuple(_TYPES)
#: What is kept of a flow, each in a key that begins with its parent's row.
FLOW = {b"dependencies": b"string", b"processed": b"hash", b"failed": b"hash", b"unsuccessful": b"hash"}
_ROW = b"job:"
_LANE = (b"g:", b":pending")


@dataclass(frozen=True, slots=True)
class Place:
    """What a key's name (without the base) says that it is: its type as TYPE names it; None for a name of no key.

    ``id`` is set for a row, ``group`` for a lane, ``parent`` for a flow's bookkeeping.
    """

    name: bytes
    type: bytes | None
    id: bytes | None = None
    group: bytes | None = None
    parent: bytes | None = None


def place(name: bytes) -> Place:
    """What the key of that name, without the queue's base, should be."""
    if name in _TYPES:
        return Place(name, _TYPES[name])
    if name.startswith(_ROW):
        job = name.removeprefix(_ROW)
        parent, colon, part = job.rpartition(b":")
        if colon and part in FLOW:
            return Place(name, FLOW[part], parent=parent)
        return Place(name, b"hash", id=job)
    if name.startswith(_LANE[0]) and name.endswith(_LANE[1]) and len(name) >= len(b"".join(_LANE)):
        return Place(name, b"zset", group=name[len(_LANE[0]) : -len(_LANE[1])])
    return Place(name, None)


def lane(group: bytes) -> bytes:
    """The name of a group's lane, without the base."""
    return group.join(_LANE)


def flow(parent: bytes, part: bytes) -> bytes:
    """The name of one of FLOW's keys, without the base."""
    return b"%b%b:%b" % (_ROW, parent, part)
