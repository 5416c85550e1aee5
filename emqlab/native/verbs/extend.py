"""EMQ.EXTEND 2 active row id token lease_ms: the holder moves its deadline (SPEC 5.2, S0)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def extend(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.extend", b"2", 5)
    active, row, job_id, token = args[1:5]
    base = rules.base_before(active, b"active")
    rules.same(row, base + rules.JOB + job_id)
    lease_ms = rules.number(args[5], b"lease_ms", 1)

    host.fence()
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None:
        return -1
    if attempts != token:
        raise Refusal(texts.STALE_EXTEND)
    rules.flat(host, row)
    rules.leased(host, active, job_id)
    deadline = rules.after(host.now_ms(), lease_ms, b"lease_ms")

    host.begin_writes()
    host.write(b"ZADD", active, b"%d" % deadline, job_id)
    host.write(b"HSET", row, b"lease_epoch", host.run_id())
    return 1
