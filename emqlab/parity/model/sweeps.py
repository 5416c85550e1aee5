"""The two native verbs that judge many members before they move one: PROMOTE and STALLED.CHECK (SPEC 5.2)."""

from emqlab.parity.model.commands import Refused, due, hash_at, hget, hset, incremented, zadd, zrem, zset_at
from emqlab.parity.model.world import Given, Reply, World

LANE_ROW = b"EMQLANE lane row"


def promote(world: World, base: bytes, given: Given, batch: int) -> Reply:
    """Due jobs go to pending, ghosts only leave; the number that went. Raises Refused with nothing written."""
    keys = world.keys
    examined = due(keys, base + b"schedule", world.now_ms, batch)
    live: list[bytes] = []
    for job_id in examined:
        fields = hash_at(keys, base + b"job:" + job_id)
        if fields is None:
            continue
        if b"group" in fields:
            raise Refused(LANE_ROW)
        live.append(job_id)
    if live:
        zset_at(keys, base + b"pending")
    for job_id in examined:
        zrem(keys, base + b"schedule", job_id)
    for job_id in live:
        zadd(keys, base + b"pending", 0.0, job_id)
        hset(keys, base + b"job:" + job_id, {b"state": b"pending"})
    return len(live)


def verdict(fields: dict[bytes, bytes], run_id: bytes, max_stalled: int) -> tuple[bool, dict[bytes, bytes]]:
    """Whether an expired job dies, and the fields it gets. Raises Refused for a lane row and a bad ``stalled``."""
    if b"group" in fields:
        raise Refused(LANE_ROW)
    if fields.get(b"lease_epoch") != run_id:
        return False, {b"state": b"pending"}
    stalled = incremented(fields.get(b"stalled"), 1)
    if stalled >= max_stalled:
        return True, {b"stalled": b"%d" % stalled, b"state": b"dead", b"last_error": b"stalled"}
    return False, {b"stalled": b"%d" % stalled, b"state": b"pending"}


def stalled_check(world: World, base: bytes, given: Given, max_stalled: int, limit: int) -> Reply:
    """Expired leases end, this epoch's are counted, ghosts only leave. Raises Refused with nothing written."""
    keys = world.keys
    examined = due(keys, base + b"active", world.now_ms, limit)
    recovered: list[bytes] = []
    dead: list[bytes] = []
    plan: list[tuple[bytes, dict[bytes, bytes]]] = []
    for job_id in examined:
        row = base + b"job:" + job_id
        fields = hash_at(keys, row)
        if fields is None:
            continue
        dies, written = verdict(fields, world.run_id, max_stalled)
        (dead if dies else recovered).append(job_id)
        plan.append((row, written))
    if recovered:
        zset_at(keys, base + b"pending")
    if dead:
        zset_at(keys, base + b"dead")
        failed = incremented(hget(keys, base + b"metrics:failed", b"count"), len(dead))
        hset(keys, base + b"metrics:failed", {b"count": b"%d" % failed})
    for job_id in examined:
        zrem(keys, base + b"active", job_id)
    for row, written in plan:
        hset(keys, row, written)
    for job_id in recovered:
        zadd(keys, base + b"pending", 0.0, job_id)
    for job_id in dead:
        zadd(keys, base + b"dead", 0.0, job_id)
    return [[*recovered], [*dead]]
