"""EMQ.REPROCESS 3 row dead pending id: a dead letter goes back in line (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def reprocess(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.reprocess", b"3", 4)
    row, dead, pending, job_id = args[1:5]
    base = rules.base_before(dead, b"dead")
    rules.same(pending, base + b"pending")
    rules.same(row, base + rules.JOB + job_id)

    host.fence()
    kind = host.read(b"TYPE", row)
    if kind == b"none":
        return -1
    if host.read(b"ZSCORE", dead, job_id) is None:
        raise Refusal(texts.NOT_DEAD)
    if kind != b"hash":
        raise Refusal(texts.WRONGTYPE)
    rules.sorted_set(host, pending)

    host.begin_writes()
    host.expect(1, host.write(b"ZREM", dead, job_id))
    host.write(b"HDEL", row, b"last_error")
    host.write(b"HSET", row, b"state", b"pending")
    host.write(b"ZADD", pending, b"0", job_id)
    return 1
