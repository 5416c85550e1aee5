"""The scripted executor, modelled: each step in the order of SPEC 4, and no step taken back by an error after it."""

from collections.abc import Callable

from emqlab import keys as names
from emqlab.parity.model.commands import Keys, Refused, due, first, hdel, hget, hincrby, hset, zadd, zrem
from emqlab.parity.model.lanes import SCRIPT_ERROR, free_slot, give_back, let_go
from emqlab.parity.model.numbers import integer_reply, limit, tonumber
from emqlab.parity.model.pause import pause, resume
from emqlab.parity.model.world import Error, Given, Reply, Unsupported, Values, World

REAPED = 100


def scripted(world: World, queue: bytes, verb: str, values: Values) -> Reply:
    """What the script of ``verb`` answers; ``world.keys`` is left as it leaves them, by an error half-way too."""
    step = _STEPS.get(verb)
    if step is None:
        return Unsupported(verb)
    try:
        return step(world, names.base(queue), values)
    except Refused as refused:
        return Error(refused.text)


def number(text: bytes) -> float:
    """A number at the place where it is used. Raises Refused where Lua would use a nil."""
    found = tonumber(text)
    if found is None:
        raise Refused(SCRIPT_ERROR)
    return found


def count(text: bytes) -> int:
    """A limit as ZRANGEBYSCORE reads it. Raises Refused for a nil, and for what is no integer to the server."""
    found = limit(number(text))
    if found is None:
        raise Refused(b"ERR value is not an integer or out of range")
    return found


def check_kind(job_id: bytes) -> None:
    """Raises Refused for an id that is no job's."""
    if job_id[:3] != b"JOB":
        raise Refused(b"EMQKIND job id must be JOB-namespaced")


def check_token(keys: Keys, row: bytes, token: bytes, verb: bytes) -> bytes | None:
    """The row's ``attempts``, None without it. Raises Refused for another token and for a row that is no hash."""
    attempts = hget(keys, row, b"attempts")
    if attempts is not None and attempts != token:
        raise Refused(b"EMQSTALE " + verb + b" token mismatch")
    return attempts


def score(world: World, mode: bytes, value: bytes) -> float:
    """When a delayed job is due. Raises Refused where Lua would use a nil."""
    return world.now_ms + number(value) if mode == b"in" else number(value)


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
    try:
        paused = hget(keys, base + b"meta", b"paused") is not None
    except Refused:
        paused = True
    job_id = None if paused else first(keys, base + b"pending")
    if job_id is None:
        return []
    zrem(keys, base + b"pending", job_id)
    row = base + b"job:" + job_id
    if row not in keys:
        return []
    attempts = float(hincrby(keys, row, b"attempts", 1))
    hset(keys, row, {b"state": b"active"})
    zadd(keys, base + b"active", world.now_ms + number(given["lease_ms"]), job_id)
    return [job_id, hget(keys, row, b"payload"), integer_reply(attempts)]


def complete(world: World, base: bytes, given: Given) -> Reply:
    """A finished job and its row go."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    if check_token(keys, row, given["token"], b"complete") is None:
        return 0
    let_go(keys, base, hget(keys, row, b"group"), job_id)
    del keys[row]
    hincrby(keys, base + b"metrics:completed", b"count", 1)
    return 1


def fail(world: World, base: bytes, given: Given) -> Reply:
    """A failed attempt: another one later, or a dead letter when ``attempts`` has reached the cap."""
    keys, job_id = world.keys, given["id"]
    row = base + b"job:" + job_id
    attempts = check_token(keys, row, given["token"], b"retry")
    if attempts is None:
        raise Refused(b"EMQSTALE job gone")
    let_go(keys, base, hget(keys, row, b"group"), job_id)
    hset(keys, row, {b"last_error": given["error"]})
    if number(attempts) >= number(given["max_attempts"]):
        hset(keys, row, {b"state": b"dead"})
        zadd(keys, base + b"dead", 0.0, job_id)
        hincrby(keys, base + b"metrics:failed", b"count", 1)
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
    """Expired leases end and are counted; a job at the cap becomes a dead letter."""
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
        pause,
        resume,
    )
}
