"""EMQ.EXTENDS 1 active base lease_ms id token [id token ...]: one heartbeat for many jobs (SPEC 5.2, S0)."""

from collections.abc import Sequence

from emqlab.native import rules
from emqlab.native.host import READ, WRITE, Host, Refusal


def extends(host: Host, args: Sequence[bytes]) -> list[bytes]:
    if len(args) < 6 or len(args) % 2 != 0 or args[0] != b"1":
        raise Refusal(rules.arity(b"emq.extends"))
    active, base = args[1:3]
    rules.sound_base(base)
    rules.same(active, base + b"active")
    lease_ms = rules.number(args[3], b"lease_ms", 1)

    host.fence()
    held = []
    refused = []
    for i in range(4, len(args), 2):
        job_id = args[i]
        row = base + rules.JOB + job_id
        host.open(row, READ)
        if holds(host, active, row, job_id, args[i + 1]):
            host.open(row, WRITE)
            held.append((job_id, row))
        else:
            refused.append(job_id)
    if len(held) == 0:
        return refused
    deadline = b"%d" % rules.after(host.now_ms(), lease_ms, b"lease_ms")

    host.begin_writes()
    for job_id, row in held:
        host.write(b"ZADD", active, deadline, job_id)
        host.write(b"HSET", row, b"lease_epoch", host.run_id())
    return refused


def holds(host: Host, active: bytes, row: bytes, job_id: bytes, token: bytes) -> bool:
    """EXTEND's verdict on one pair: the current token of a flat, leased job."""
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None or attempts != token:
        return False
    if host.read(b"HGET", row, b"group") is not None:
        return False
    if host.read(b"HGET", row, b"parent") is not None:
        return False
    return host.read(b"ZSCORE", active, job_id) is not None
