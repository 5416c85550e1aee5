"""EMQ.CLAIM 3 pending active base lease_ms: lease the head of the line (SPEC 5.2, S3).

Looks at the id that a pop would take, foresees every answer, and only then pops it for real.
"""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Host, Refusal, Value


def claim(host: Host, args: Sequence[bytes]) -> Value:
    rules.shape(args, b"emq.claim", b"3", 4)
    pending, active, base = args[1:4]
    rules.sound_base(base)
    rules.same(pending, base + b"pending")
    rules.same(active, base + b"active")
    lease_ms = rules.number(args[4], b"lease_ms", 1)

    host.fence()
    meta = base + b"meta"
    host.open(meta, READ)
    if host.read(b"HGET", meta, b"paused") is not None:
        return []
    head = host.read(b"ZRANGE", pending, b"0", b"0")
    if len(head) == 0:
        return []
    job_id = head[0]
    row = base + rules.JOB + job_id
    host.open(row, READ)
    kind = host.read(b"TYPE", row)
    if kind == b"none":
        # A ghost: its id is spent, and nothing is made up for it.
        host.begin_writes()
        host.expect(job_id, host.write(b"ZPOPMIN", pending))
        return []
    if kind != b"hash":
        raise Refusal(texts.WRONGTYPE)
    host.open(row, WRITE)
    token = rules.counted(host.read(b"HGET", row, b"attempts"), 1)
    rules.sorted_set(host, active)
    deadline = rules.after(host.now_ms(), lease_ms, b"lease_ms")
    payload = host.read(b"HGET", row, b"payload")

    host.begin_writes()
    host.expect(job_id, host.write(b"ZPOPMIN", pending))
    host.expect(token, host.write(b"HINCRBY", row, b"attempts", b"1"))
    host.write(b"HSET", row, b"state", b"active", b"lease_epoch", host.run_id())
    host.write(b"ZADD", active, b"%d" % deadline, job_id)
    return [job_id, payload, token]
