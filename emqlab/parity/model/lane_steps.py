"""The five scripts of lanes: a job's way into one, the claim in rotation, and what the owner says (SPEC 4.3)."""

from emqlab.parity.model.commands import hget, hincrby, hset, lmove, lrem, sadd, srem, zadd, zpopmin
from emqlab.parity.model.lanes import below, lane, ring
from emqlab.parity.model.numbers import integer_reply
from emqlab.parity.model.script_rules import check_kind, number, reads_paused
from emqlab.parity.model.world import Given, Reply, World


def lane_enqueue(world: World, base: bytes, given: Given) -> Reply:
    """A new job of a group."""
    keys, job_id, group = world.keys, given["id"], given["group"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if row in keys:
        return 0
    hset(keys, row, {b"state": b"pending", b"attempts": b"0", b"payload": given["payload"], b"group": group})
    zadd(keys, lane(base, group), 0.0, job_id)
    ring(keys, base, group)
    return 1


def lane_claim(world: World, base: bytes, given: Given) -> Reply:
    """The oldest job of the group whose turn it is, after the host's own look at the pause flag.

    The turn is over before anything is known of the lane, and nobody looks at the limit before the job is taken.
    """
    keys = world.keys
    group = None if reads_paused(keys, base) else lmove(keys, base + b"ring")
    if group is None:
        return []
    job_id = zpopmin(keys, lane(base, group))
    if job_id is None:
        lrem(keys, base + b"ring", group)
        return []
    row = base + b"job:" + job_id
    if row not in keys:
        return []
    attempts = float(hincrby(keys, row, b"attempts", 1))
    hset(keys, row, {b"state": b"active"})
    zadd(keys, base + b"active", world.now_ms + number(given["lease_ms"]), job_id)
    taken = float(hincrby(keys, base + b"gactive", group, 1))
    if lane(base, group) not in keys or not below(hget(keys, base + b"glimit", group), taken):
        lrem(keys, base + b"ring", group)
    return [job_id, hget(keys, row, b"payload"), integer_reply(attempts), group]


def lane_pause(world: World, base: bytes, given: Given) -> Reply:
    """A group leaves the ring and keeps its backlog."""
    sadd(world.keys, base + b"paused", given["group"])
    lrem(world.keys, base + b"ring", given["group"])
    return 1


def lane_resume(world: World, base: bytes, given: Given) -> Reply:
    """A paused group may be rung again, and is if it can be served."""
    srem(world.keys, base + b"paused", given["group"])
    ring(world.keys, base, given["group"])
    return 1


def lane_limit(world: World, base: bytes, given: Given) -> Reply:
    """A group's most active slots, kept as the caller's bytes; a lower limit takes nobody off the ring."""
    hset(world.keys, base + b"glimit", {given["group"]: given["limit"]})
    ring(world.keys, base, given["group"])
    return 1
