"""EMQ.SCHEDULE 2 row schedule id payload mode value: a new job, due later (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import Host, Refusal


def schedule(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.schedule", b"2", 6)
    row, scheduled, job_id, payload = args[1:5]
    base = rules.base_before(scheduled, b"schedule")
    rules.same(row, base + rules.JOB + job_id)
    mode = rules.mode_of(args[5])
    due = rules.number(args[6], b"value", 0)

    host.fence()
    if rules.foreign_kind(job_id):
        raise Refusal(texts.KIND)
    if host.read(b"EXISTS", row) == 1:
        return 0
    rules.sorted_set(host, scheduled)
    if mode == b"in":
        due = rules.after(host.now_ms(), due, b"value")

    host.begin_writes()
    host.write(b"HSET", row, b"state", b"scheduled", b"attempts", b"0", b"payload", payload)
    host.write(b"ZADD", scheduled, b"%d" % due, job_id)
    return 1
