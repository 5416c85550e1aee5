"""The native executor, modelled: arguments, fence, a verdict out of reads alone, then the writes (SPEC 5)."""

from collections.abc import Callable, Sequence

from emqlab import keys as names
from emqlab.parity.model import sweeps
from emqlab.parity.model.commands import (
    Refused,
    first,
    hash_at,
    hdel,
    hget,
    hset,
    incremented,
    zadd,
    zrem,
    zscore,
    zset_at,
)
from emqlab.parity.model.layout import FOREIGN, laid_out, wire
from emqlab.parity.model.pause import pause, resume
from emqlab.parity.model.rules import argument, check_active, check_fence, check_kind, holds, later
from emqlab.parity.model.world import Error, Given, Reply, Unsupported, Values, World


def native(
    world: World,
    queue: bytes,
    verb: str,
    values: Values,
    keys: Sequence[bytes] | None = None,
    args: Sequence[bytes] | None = None,
) -> Reply:
    """What the command of ``verb`` answers; ``world.keys`` is changed by all its writes or by none.

    ``keys`` and ``args``, if given, are sent in the place of those that the values make; not for pause and resume.
    """
    found = _VERBS.get(verb)
    if found is None:
        return Unsupported(verb)
    step, numbers = found
    try:
        if step is pause or step is resume:
            return step(world, names.base(queue), values)
        base = names.base(queue)
        if keys is not None or args is not None:
            made = wire(queue, verb, values)
            base, values = laid_out(verb, made[0] if keys is None else keys, made[1] if args is None else args)
        elif verb == "extends" and not values["pairs"]:
            raise Refused(b"ERR wrong number of arguments for 'emq.extends' command")
        if not queue:
            raise Refused(FOREIGN)
        read = [argument(name, values[name]) for name in numbers]
        check_fence(world.keys)
        return step(world, base, values, *read)
    except Refused as refused:
        return Error(refused.text)


def enqueue(world: World, base: bytes, given: Given) -> Reply:
    """A new job."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if row in keys:
        return 0
    zset_at(keys, base + b"pending")
    hset(keys, row, {b"state": b"pending", b"attempts": b"0", b"payload": given["payload"]})
    zadd(keys, base + b"pending", 0.0, job_id)
    return 1


def schedule(world: World, base: bytes, given: Given, from_now: int, value: int) -> Reply:
    """A new job for later."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if row in keys:
        return 0
    zset_at(keys, base + b"schedule")
    score = later(world, b"value", value) if from_now else float(value)
    hset(keys, row, {b"state": b"scheduled", b"attempts": b"0", b"payload": given["payload"]})
    zadd(keys, base + b"schedule", score, job_id)
    return 1


def claim(world: World, base: bytes, given: Given, lease_ms: int) -> Reply:
    """The oldest pending job, peeked at and judged before it is popped."""
    keys = world.keys
    if hget(keys, base + b"meta", b"paused") is not None:
        return []
    job_id = first(keys, base + b"pending")
    if job_id is None:
        return []
    row = base + b"job:" + job_id
    fields = hash_at(keys, row)
    if fields is None:
        zrem(keys, base + b"pending", job_id)
        return []
    attempts = incremented(fields.get(b"attempts"), 1)
    zset_at(keys, base + b"active")
    deadline = later(world, b"lease_ms", lease_ms)
    zrem(keys, base + b"pending", job_id)
    fields.update({b"attempts": b"%d" % attempts, b"state": b"active", b"lease_epoch": world.run_id})
    zadd(keys, base + b"active", deadline, job_id)
    return [job_id, fields.get(b"payload"), attempts]


def complete(world: World, base: bytes, given: Given) -> Reply:
    """A finished job and its row go."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if not holds(keys, row, given["token"], b"complete"):
        return 0
    leaves = base + b"active"
    if zscore(keys, leaves, job_id) is None:
        leaves = base + b"pending"
        if zscore(keys, leaves, job_id) is None:
            raise Refused(b"EMQSTATE not active")
    done = incremented(hget(keys, base + b"metrics:completed", b"count"), 1)
    zrem(keys, leaves, job_id)
    del keys[row]
    hset(keys, base + b"metrics:completed", {b"count": b"%d" % done})
    return 1


def fail(world: World, base: bytes, given: Given, delay_ms: int, max_attempts: int) -> Reply:
    """A failed attempt: another one later, or a dead letter when ``failures`` has reached the cap."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if not holds(keys, row, given["token"], b"retry"):
        raise Refused(b"EMQSTALE job gone")
    if zscore(keys, base + b"dead", job_id) is not None:
        return b"dead"
    check_active(keys, base, job_id)
    failures = incremented(hget(keys, row, b"failures"), 1)
    fields = {b"last_error": given["error"], b"failures": b"%d" % failures}
    if failures >= max_attempts:
        failed = incremented(hget(keys, base + b"metrics:failed", b"count"), 1)
        zrem(keys, base + b"active", job_id)
        hset(keys, row, fields | {b"state": b"dead"})
        zadd(keys, base + b"dead", 0.0, job_id)
        hset(keys, base + b"metrics:failed", {b"count": b"%d" % failed})
        return b"dead"
    zset_at(keys, base + b"schedule")
    due_ms = later(world, b"delay_ms", delay_ms)
    zrem(keys, base + b"active", job_id)
    hset(keys, row, fields | {b"state": b"scheduled"})
    zadd(keys, base + b"schedule", due_ms, job_id)
    return b"scheduled"


def delay(world: World, base: bytes, given: Given, from_now: int, value: int) -> Reply:
    """A held job is put off."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if not holds(keys, row, given["token"], b"delay"):
        raise Refused(b"EMQSTALE job gone")
    check_active(keys, base, job_id)
    zset_at(keys, base + b"schedule")
    score = later(world, b"value", value) if from_now else float(value)
    zrem(keys, base + b"active", job_id)
    hset(keys, row, {b"state": b"scheduled"})
    zadd(keys, base + b"schedule", score, job_id)
    return 1


def requeue(world: World, base: bytes, given: Given) -> Reply:
    """A held job is given back, and nothing is charged."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if not holds(keys, row, given["token"], b"requeue"):
        raise Refused(b"EMQSTALE job gone")
    check_active(keys, base, job_id)
    zset_at(keys, base + b"pending")
    zrem(keys, base + b"active", job_id)
    hset(keys, row, {b"state": b"pending"})
    zadd(keys, base + b"pending", 0.0, job_id)
    return 1


def extend(world: World, base: bytes, given: Given, lease_ms: int) -> Reply:
    """A longer lease, stamped with the epoch."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if not holds(keys, row, given["token"], b"extend"):
        return -1
    check_active(keys, base, job_id)
    zadd(keys, base + b"active", later(world, b"lease_ms", lease_ms), job_id)
    hset(keys, row, {b"lease_epoch": world.run_id})
    return 1


def extends(world: World, base: bytes, given: Given, lease_ms: int) -> Reply:
    """Longer leases; the ids that get none. The sum of now and lease is made only for an id that gets it."""
    keys = world.keys
    good: list[bytes] = []
    left: list[Reply] = []
    for job_id, token in given["pairs"]:
        fields = hash_at(keys, base + b"job:" + job_id) or {}
        flat = fields.get(b"attempts") == token and b"group" not in fields and b"parent" not in fields
        extended = flat and zscore(keys, base + b"active", job_id) is not None
        (good if extended else left).append(job_id)
    if good:
        deadline = later(world, b"lease_ms", lease_ms)
    for job_id in good:
        zadd(keys, base + b"active", deadline, job_id)
        hset(keys, base + b"job:" + job_id, {b"lease_epoch": world.run_id})
    return left


def reprocess(world: World, base: bytes, given: Given) -> Reply:
    """A dead letter goes back to pending with its counters as they are."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if row not in keys:
        return -1
    if zscore(keys, base + b"dead", job_id) is None:
        raise Refused(b"EMQSTATE not dead")
    hash_at(keys, row)
    zset_at(keys, base + b"pending")
    zrem(keys, base + b"dead", job_id)
    hdel(keys, row, b"last_error")
    hset(keys, row, {b"state": b"pending"})
    zadd(keys, base + b"pending", 0.0, job_id)
    return 1


_VERBS: dict[str, tuple[Callable[..., Reply], tuple[str, ...]]] = {
    "enqueue": (enqueue, ()),
    "schedule": (schedule, ("mode", "value")),
    "claim": (claim, ("lease_ms",)),
    "complete": (complete, ()),
    "fail": (fail, ("delay_ms", "max_attempts")),
    "delay": (delay, ("mode", "value")),
    "requeue": (requeue, ()),
    "extend": (extend, ("lease_ms",)),
    "extends": (extends, ("lease_ms",)),
    "promote": (sweeps.promote, ("batch",)),
    "stalled_check": (sweeps.stalled_check, ("max_stalled", "limit")),
    "reprocess": (reprocess, ()),
    "pause": (pause, ()),
    "resume": (resume, ()),
}
