"""EMQ.PROMOTE 2 schedule pending base batch: what has come due goes back in line (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Host, Refusal


def promote(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.promote", b"2", 4)
    scheduled, pending, base = args[1:4]
    rules.sound_base(base)
    rules.same(scheduled, base + b"schedule")
    rules.same(pending, base + b"pending")
    batch = rules.number(args[4], b"batch", 1)

    host.fence()
    now = b"%d" % host.now_ms()
    due = host.read(b"ZRANGEBYSCORE", scheduled, b"-inf", now, b"LIMIT", b"0", b"%d" % batch)
    plan = []
    moved = 0
    for job_id in due:
        row = base + rules.JOB + job_id
        host.open(row, READ)
        kind = host.read(b"TYPE", row)
        if kind == b"none":
            plan.append((job_id, row, False))
            continue
        if kind != b"hash":
            raise Refusal(texts.WRONGTYPE)
        if host.read(b"HGET", row, b"group") is not None:
            raise Refusal(texts.LANE)
        host.open(row, WRITE)
        plan.append((job_id, row, True))
        moved = moved + 1
    if len(plan) == 0:
        return 0
    if moved > 0:
        rules.sorted_set(host, pending)

    host.begin_writes()
    for job_id, row, live in plan:
        host.expect(1, host.write(b"ZREM", scheduled, job_id))
        if live:
            host.write(b"ZADD", pending, b"0", job_id)
            host.write(b"HSET", row, b"state", b"pending")
    return moved
