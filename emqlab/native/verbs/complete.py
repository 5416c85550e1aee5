"""EMQ.COMPLETE 2 active row id token base: the holder retires the job (SPEC 5.2)."""

from collections.abc import Sequence

from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Host, Refusal


def complete(host: Host, args: Sequence[bytes]) -> int:
    rules.shape(args, b"emq.complete", b"2", 5)
    active, row, job_id, token, base = args[1:6]
    rules.sound_base(base)
    rules.same(active, base + b"active")
    rules.same(row, base + rules.JOB + job_id)

    host.fence()
    attempts = host.read(b"HGET", row, b"attempts")
    if attempts is None:
        return 0
    if attempts != token:
        raise Refusal(texts.STALE_COMPLETE)
    rules.flat(host, row)
    held = active
    if host.read(b"ZSCORE", active, job_id) is None:
        # Recovered but not claimed again: the token is still the current one, and the work is done.
        held = base + b"pending"
        host.open(held, READ)
        if host.read(b"ZSCORE", held, job_id) is None:
            raise Refusal(texts.NOT_ACTIVE)
        host.open(held, WRITE)
    completed = base + b"metrics:completed"
    count = rules.metric(host, completed, 1)

    host.begin_writes()
    host.expect(1, host.write(b"ZREM", held, job_id))
    host.expect(1, host.write(b"DEL", row))
    host.expect(count, host.write(b"HINCRBY", completed, b"count", b"1"))
    return 1
