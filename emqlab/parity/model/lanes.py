"""What scripts do for a row with a group: its slot, its lane and the ring (SPEC 4.3)."""

from emqlab.parity.model.commands import (
    Keys,
    hdel,
    hget,
    hincrby,
    list_at,
    lpush,
    lrem,
    rpush,
    sismember,
    zadd,
    zrem,
    zset_at,
)
from emqlab.parity.model.script_rules import number

WAKES = 64


def lane(base: bytes, group: bytes) -> bytes:
    """The key of a group's lane."""
    return base + b"g:" + group + b":pending"


def free_slot(keys: Keys, base: bytes, group: bytes) -> None:
    """Gives one of the group's active slots back. Raises Refused as HINCRBY does."""
    if hincrby(keys, base + b"gactive", group, -1) <= 0:
        hdel(keys, base + b"gactive", group)


def below(limit: bytes | None, taken: float) -> bool:
    """Whether a group with so many active slots may have one more. Raises Refused for a limit that is no number."""
    return limit is None or number(limit) > taken


def ring(keys: Keys, base: bytes, group: bytes) -> None:
    """Puts a group that can be served on the ring, and wakes a consumer. Raises Refused at the first bad key or number.

    The active slots are looked at only for a group that has a limit.
    """
    if sismember(keys, base + b"paused", group) or zset_at(keys, lane(base, group)) is None:
        return
    limit = hget(keys, base + b"glimit", group)
    if limit is not None:
        active = hget(keys, base + b"gactive", group)
        if not below(limit, 0.0 if active is None else number(active)):
            return
    if group not in (list_at(keys, base + b"ring") or ()):
        rpush(keys, base + b"ring", group)
        lpush(keys, base + b"wake", b"1", WAKES)


def give_back(keys: Keys, base: bytes, group: bytes | None, job_id: bytes) -> None:
    """Puts an id where it waits for a claim: in ``pending``, or in its lane, with a ring. Raises Refused on the way."""
    if group is None:
        zadd(keys, base + b"pending", 0.0, job_id)
    else:
        zadd(keys, lane(base, group), 0.0, job_id)
        ring(keys, base, group)


def let_go(keys: Keys, base: bytes, group: bytes | None, job_id: bytes) -> bool:
    """Takes a finished or failed id out of ``active``, else from where it waits. Raises Refused on the way.

    Returns whether it was active.
    """
    if zrem(keys, base + b"active", job_id):
        if group is not None:
            free_slot(keys, base, group)
            ring(keys, base, group)
        return True
    if group is None:
        zrem(keys, base + b"pending", job_id)
    else:
        zrem(keys, lane(base, group), job_id)
        if lane(base, group) not in keys:
            lrem(keys, base + b"ring", group)
    return False
