"""EMQ.ENQUEUE 2 row pending id payload: a new job, last in line (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def enqueue(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.enqueue", b"2", 4)
    row, pending, job_id, payload = args[1:5]
    base = rules.base_before(pending, b"pending")
    rules.same(row, base + rules.JOB + job_id)

    host.fence()
    if rules.foreign_kind(job_id):
        raise Refusal(texts.KIND)
    if host.read(b"EXISTS", row) == 1:
        return 0
    rules.sorted_set(host, pending)

    host.begin_writes()
    host.write(b"HSET", row, b"state", b"pending", b"attempts", b"0", b"payload", payload)
    host.write(b"ZADD", pending, b"0", job_id)
    return 1
