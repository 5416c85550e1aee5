"""EMQ.STALLED.CHECK 3 active pending dead base max_stalled limit: judge every expired lease (SPEC 5.2, S3, S4).

One selection, one verdict a member, one write pass: the whole plan is applied, or nothing is written.
"""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Host, Refusal, Value

GHOST = 0
EXEMPT = 1
RECOVER = 2
DIE = 3


def stalled_check(host: Host, args: Sequence[bytes]) -> Value:
    rules.shape(args, b"emq.stalled.check", b"3", 6)
    active, pending, dead, base = args[1:5]
    rules.sound_base(base)
    rules.same(active, base + b"active")
    rules.same(pending, base + b"pending")
    rules.same(dead, base + b"dead")
    max_stalled = rules.number(args[5], b"max_stalled", 1)
    limit = rules.number(args[6], b"limit", 1)

    host.fence()
    now = b"%d" % host.now_ms()
    run_id = host.run_id()
    expired = host.read(b"ZRANGEBYSCORE", active, b"-inf", now, b"LIMIT", b"0", b"%d" % limit)
    plan = []
    recovered = []
    died = []
    for job_id in expired:
        row = base + rules.JOB + job_id
        verdict, stalled = judge(host, row, run_id, max_stalled)
        plan.append((job_id, row, verdict, stalled))
        if verdict == DIE:
            died.append(job_id)
        elif verdict != GHOST:
            recovered.append(job_id)
    if len(plan) == 0:
        return [recovered, died]
    failed = base + b"metrics:failed"
    count = 0
    if len(recovered) > 0:
        rules.sorted_set(host, pending)
    if len(died) > 0:
        rules.sorted_set(host, dead)
        count = rules.metric(host, failed, len(died)) - len(died)

    host.begin_writes()
    for job_id, row, verdict, stalled in plan:
        host.expect(1, host.write(b"ZREM", active, job_id))
        if verdict == EXEMPT:
            host.write(b"ZADD", pending, b"0", job_id)
            host.write(b"HSET", row, b"state", b"pending")
        elif verdict == RECOVER:
            host.write(b"HSET", row, b"stalled", b"%d" % stalled, b"state", b"pending")
            host.write(b"ZADD", pending, b"0", job_id)
        elif verdict == DIE:
            host.write(b"HSET", row, b"stalled", b"%d" % stalled, b"state", b"dead", b"last_error", b"stalled")
            host.write(b"ZADD", dead, b"0", job_id)
            count = count + 1
            host.expect(count, host.write(b"HINCRBY", failed, b"count", b"1"))
    return [recovered, died]


def judge(host: Host, row: bytes, run_id: bytes, max_stalled: int) -> tuple[int, int]:
    """One expired member's verdict, and the ``stalled`` it will have (0 where it is not counted)."""
    host.open(row, READ)
    kind = host.read(b"TYPE", row)
    if kind == b"none":
        return GHOST, 0
    if kind != b"hash":
        raise Refusal(texts.WRONGTYPE)
    if host.read(b"HGET", row, b"group") is not None:
        raise Refusal(texts.LANE)
    exempt = restarted(host.read(b"HGET", row, b"lease_epoch"), run_id)
    stalled = 0
    if not exempt:
        stalled = rules.counted(host.read(b"HGET", row, b"stalled"), 1)
    host.open(row, WRITE)
    if exempt:
        return EXEMPT, 0
    return due(stalled, max_stalled), stalled


def restarted(lease_epoch: bytes | None, run_id: bytes) -> bool:
    """A restart is not a stall: the lease was written by another server process, or by no verb at all."""
    return lease_epoch is None or lease_epoch != run_id


def due(stalled: int, max_stalled: int) -> int:
    """The stall budget: RECOVER below ``max_stalled``, DIE at it or above."""
    if stalled >= max_stalled:
        return DIE
    return RECOVER
