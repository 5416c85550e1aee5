"""EMQ.DELAY 3 row active schedule id token mode value: the holder gives the job back, due later (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def delay(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.delay", b"3", 7)
    row, active, scheduled, job_id, token = args[1:6]
    base = rules.base_before(active, b"active")
    rules.same(scheduled, base + b"schedule")
    rules.same(row, base + rules.JOB + job_id)
    mode = rules.mode_of(args[6])
    due = rules.number(args[7], b"value", 0)

    host.fence()
    if rules.foreign_kind(job_id):
        raise Refusal(texts.KIND)
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None:
        raise Refusal(texts.GONE)
    if attempts != token:
        raise Refusal(texts.STALE_DELAY)
    rules.flat(host, row)
    rules.leased(host, active, job_id)
    rules.sorted_set(host, scheduled)
    if mode == b"in":
        due = rules.after(host.now_ms(), due, b"value")

    host.begin_writes()
    host.expect(1, host.write(b"ZREM", active, job_id))
    host.write(b"HSET", row, b"state", b"scheduled")
    host.write(b"ZADD", scheduled, b"%d" % due, job_id)
    return 1
