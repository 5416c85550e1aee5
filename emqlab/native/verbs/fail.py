"""EMQ.FAIL 4 active schedule dead row id token delay_ms max_attempts error base: report a failure (SPEC 5.2, S0, S4).

The job is tried again, or dead when the budget is spent. The cap is on ``failures``, which only this verb writes;
``attempts`` is the token and nothing else.
"""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def fail(host: Host, args: Sequence[bytes]) -> bytes:
    rules.shape(args, b"emq.fail", b"4", 10)
    active, scheduled, dead, row, job_id, token = args[1:7]
    error, base = args[9:11]
    rules.sound_base(base)
    rules.same(active, base + b"active")
    rules.same(scheduled, base + b"schedule")
    rules.same(dead, base + b"dead")
    rules.same(row, base + rules.JOB + job_id)
    delay_ms = rules.number(args[7], b"delay_ms", 0)
    max_attempts = rules.number(args[8], b"max_attempts", 1)

    host.fence()
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None:
        raise Refusal(texts.GONE)
    if attempts != token:
        raise Refusal(texts.STALE_FAIL)
    rules.flat(host, row)
    if host.read(b"ZSCORE", dead, job_id) is not None:
        return b"dead"
    rules.leased(host, active, job_id)
    failures = rules.counted(host.read(b"HGET", row, b"failures"), 1)

    if spent(failures, max_attempts):
        failed = base + b"metrics:failed"
        count = rules.metric(host, failed, 1)
        host.begin_writes()
        host.expect(1, host.write(b"ZREM", active, job_id))
        host.write(b"HSET", row, b"last_error", error, b"failures", b"%d" % failures, b"state", b"dead")
        host.write(b"ZADD", dead, b"0", job_id)
        host.expect(count, host.write(b"HINCRBY", failed, b"count", b"1"))
        return b"dead"

    rules.sorted_set(host, scheduled)
    due = rules.after(host.now_ms(), delay_ms, b"delay_ms")
    host.begin_writes()
    host.expect(1, host.write(b"ZREM", active, job_id))
    host.write(b"HSET", row, b"last_error", error, b"failures", b"%d" % failures, b"state", b"scheduled")
    host.write(b"ZADD", scheduled, b"%d" % due, job_id)
    return b"scheduled"


def spent(failures: int, max_attempts: int) -> bool:
    """The retry budget: whether this failure is the last one a job may have."""
    return failures >= max_attempts
