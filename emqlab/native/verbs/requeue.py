"""EMQ.REQUEUE 3 active pending row id token: the holder gives the job back, at no cost (SPEC 5.2, S4)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def requeue(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.requeue", b"3", 5)
    active, pending, row, job_id, token = args[1:6]
    base = rules.base_before(active, b"active")
    rules.same(pending, base + b"pending")
    rules.same(row, base + rules.JOB + job_id)

    host.fence()
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None:
        raise Refusal(texts.GONE)
    if attempts != token:
        raise Refusal(texts.STALE_REQUEUE)
    rules.flat(host, row)
    rules.leased(host, active, job_id)
    rules.sorted_set(host, pending)

    host.begin_writes()
    host.expect(1, host.write(b"ZREM", active, job_id))
    host.write(b"HSET", row, b"state", b"pending")
    host.write(b"ZADD", pending, b"0", job_id)
    return 1
