"""The three scripts that move many ids, one after the other: promote, reap and the counted sweep (SPEC 4.1, 4.3)."""

from emqlab.parity.model.commands import due, hget, hincrby, hset, zadd, zrem
from emqlab.parity.model.lanes import free_slot, give_back
from emqlab.parity.model.script_rules import count, number
from emqlab.parity.model.world import Given, Reply, World

REAPED = 100


def promote(world: World, base: bytes, given: Given) -> Reply:
    """Due jobs go to pending, or to their lanes."""
    keys = world.keys
    examined = due(keys, base + b"schedule", world.now_ms, count(given["batch"]))
    for job_id in examined:
        zrem(keys, base + b"schedule", job_id)
        row = base + b"job:" + job_id
        give_back(keys, base, hget(keys, row, b"group"), job_id)
        hset(keys, row, {b"state": b"pending"})
    return len(examined)


def reap(world: World, base: bytes, given: Given) -> Reply:
    """Expired leases end, and nothing counts them."""
    keys = world.keys
    examined = due(keys, base + b"active", world.now_ms, REAPED)
    for job_id in examined:
        zrem(keys, base + b"active", job_id)
        row = base + b"job:" + job_id
        group = hget(keys, row, b"group")
        if group is not None:
            free_slot(keys, base, group)
        give_back(keys, base, group, job_id)
        hset(keys, row, {b"state": b"pending"})
    return len(examined)


def stalled_check(world: World, base: bytes, given: Given) -> Reply:
    """Expired leases end and are counted; a job at the cap becomes a dead letter, and no parent hears of it."""
    keys = world.keys
    recovered: list[Reply] = []
    dead: list[Reply] = []
    for job_id in due(keys, base + b"active", world.now_ms, count(given["limit"])):
        zrem(keys, base + b"active", job_id)
        row = base + b"job:" + job_id
        group = hget(keys, row, b"group")
        stalled = float(hincrby(keys, row, b"stalled", 1))
        if group is not None:
            free_slot(keys, base, group)
        if stalled >= number(given["max_stalled"]):
            hset(keys, row, {b"state": b"dead", b"last_error": b"stalled"})
            zadd(keys, base + b"dead", 0.0, job_id)
            hincrby(keys, base + b"metrics:failed", b"count", 1)
            dead.append(job_id)
        else:
            give_back(keys, base, group, job_id)
            hset(keys, row, {b"state": b"pending"})
            recovered.append(job_id)
    return [recovered, dead]
