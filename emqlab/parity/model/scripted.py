"""The scripted executor, modelled: each step in the order of SPEC 4, and no step taken back by an error after it."""

from collections.abc import Callable

from emqlab import keys as names
from emqlab.parity.model.commands import Refused, hdel, hget, hincrby, hset, zadd, zpopmin, zrem
from emqlab.parity.model.flows import flow_add, read_parent, tell_dead, tell_done
from emqlab.parity.model.lane_steps import lane_claim, lane_enqueue, lane_limit, lane_pause, lane_resume
from emqlab.parity.model.lanes import let_go
from emqlab.parity.model.numbers import integer_reply
from emqlab.parity.model.pause import pause, resume
from emqlab.parity.model.script_rules import check_kind, check_token, number, reads_paused, score
from emqlab.parity.model.script_sweeps import promote, reap, stalled_check
from emqlab.parity.model.world import Error, Given, Reply, Unsupported, Values, World


def scripted(world: World, queue: bytes, verb: str, values: Values) -> Reply:
    """What the script of ``verb`` answers; ``world.keys`` is left as it leaves them, by an error half-way too."""
    step = _STEPS.get(verb)
    if step is None:
        return Unsupported(verb)
    try:
        return step(world, names.base(queue), values)
    except Refused as refused:
        return Error(refused.text)


def enqueue(world: World, base: bytes, given: Given) -> Reply:
    """A new job."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if row in keys:
        return 0
    hset(keys, row, {b"state": b"pending", b"attempts": b"0", b"payload": given["payload"]})
    zadd(keys, base + b"pending", 0.0, job_id)
    return 1


def schedule(world: World, base: bytes, given: Given) -> Reply:
    """A new job for later; a sum is made before the row, a bare value is used after it."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if row in keys:
        return 0
    if given["mode"] == b"in":
        number(given["value"])
    hset(keys, row, {b"state": b"scheduled", b"attempts": b"0", b"payload": given["payload"]})
    zadd(keys, base + b"schedule", score(world, given["mode"], given["value"]), job_id)
    return 1


def claim(world: World, base: bytes, given: Given) -> Reply:
    """The oldest pending job, after the host's own look at the pause flag."""
    keys = world.keys
    job_id = None if reads_paused(keys, base) else zpopmin(keys, base + b"pending")
    if job_id is None:
        return []
    row = base + b"job:" + job_id
    if row not in keys:
        return []
    attempts = float(hincrby(keys, row, b"attempts", 1))
    hset(keys, row, {b"state": b"active"})
    zadd(keys, base + b"active", world.now_ms + number(given["lease_ms"]), job_id)
    return [job_id, hget(keys, row, b"payload"), integer_reply(attempts)]


def complete(world: World, base: bytes, given: Given) -> Reply:
    """A finished job and its row go, and the parent of one that was leased is told."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    parent, _ = read_parent(keys, row)
    if check_token(keys, row, given["token"], b"complete") is None:
        return 0
    if let_go(keys, base, hget(keys, row, b"group"), job_id) and parent is not None:
        tell_done(keys, base, parent, job_id, given.get("result", job_id))
    del keys[row]
    hincrby(keys, base + b"metrics:completed", b"count", 1)
    return 1


def fail(world: World, base: bytes, given: Given) -> Reply:
    """A failed attempt: another one later, or at the cap on ``attempts`` a dead letter, of which a parent is told."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    parent, policy = read_parent(keys, row)
    attempts = check_token(keys, row, given["token"], b"retry")
    if attempts is None:
        raise Refused(b"EMQSTALE job gone")
    let_go(keys, base, hget(keys, row, b"group"), job_id)
    hset(keys, row, {b"last_error": given["error"]})
    if number(attempts) >= number(given["max_attempts"]):
        hset(keys, row, {b"state": b"dead"})
        zadd(keys, base + b"dead", 0.0, job_id)
        hincrby(keys, base + b"metrics:failed", b"count", 1)
        if parent is not None:
            tell_dead(keys, base, parent, policy, job_id, given["error"])
        return b"dead"
    hset(keys, row, {b"state": b"scheduled"})
    zadd(keys, base + b"schedule", world.now_ms + number(given["delay_ms"]), job_id)
    return b"scheduled"


def delay(world: World, base: bytes, given: Given) -> Reply:
    """A held job is put off; the row says so before its due time is made."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    check_kind(job_id)
    if check_token(keys, row, given["token"], b"delay") is None:
        raise Refused(b"EMQSTALE job gone")
    zrem(keys, base + b"active", job_id)
    hset(keys, row, {b"state": b"scheduled"})
    zadd(keys, base + b"schedule", score(world, given["mode"], given["value"]), job_id)
    return 1


def extend(world: World, base: bytes, given: Given) -> Reply:
    """A longer lease."""
    job_id = given["id"]
    if check_token(world.keys, base + b"job:" + job_id, given["token"], b"extend") is None:
        return -1
    zadd(world.keys, base + b"active", world.now_ms + number(given["lease_ms"]), job_id)
    return 1


def extends(world: World, base: bytes, given: Given) -> Reply:
    """Longer leases; the ids that get none."""
    left: list[Reply] = []
    for job_id, token in given["pairs"]:
        if hget(world.keys, base + b"job:" + job_id, b"attempts") == token:
            zadd(world.keys, base + b"active", world.now_ms + number(given["lease_ms"]), job_id)
        else:
            left.append(job_id)
    return left


def reprocess(world: World, base: bytes, given: Given) -> Reply:
    """A dead letter goes back to pending with its counters as they are."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if row not in keys:
        return -1
    if not zrem(keys, base + b"dead", job_id):
        raise Refused(b"EMQSTATE not dead")
    hdel(keys, row, b"last_error")
    hset(keys, row, {b"state": b"pending"})
    zadd(keys, base + b"pending", 0.0, job_id)
    return 1


_STEPS: dict[str, Callable[[World, bytes, Given], Reply]] = {
    step.__name__: step
    for step in (
        enqueue,
        schedule,
        claim,
        complete,
        fail,
        delay,
        extend,
        extends,
        promote,
        reap,
        stalled_check,
        reprocess,
        lane_enqueue,
        lane_claim,
        lane_pause,
        lane_resume,
        lane_limit,
        flow_add,
        pause,
        resume,
    )
}
