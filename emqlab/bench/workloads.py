"""What is measured: for each row of the table the state it begins with, its calls, and what they must have done."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emqlab.bench.jobs import FUTURE, PAST, PAYLOAD, Command, Jobs, Work
from emqlab.transitions import Call

_LEASE = {"lease_ms": b"30000"}
_NEVER_FATAL = b"1000000"


def enqueue(jobs: Jobs) -> Work:
    """New jobs."""
    calls = jobs.calls("enqueue", {"payload": PAYLOAD})
    return jobs.work((), calls, [1], jobs.all_in("pending", state=b"pending", payload=PAYLOAD))


def schedule(jobs: Jobs) -> Work:
    """New jobs for later."""
    calls = jobs.calls("schedule", {"payload": PAYLOAD, "mode": b"in", "value": b"60000"})
    return jobs.work((), calls, [1], jobs.all_in("schedule", state=b"scheduled"))


def claim(jobs: Jobs) -> Work:
    """Waiting jobs, claimed until none is left."""
    replies = [[job_id, PAYLOAD, 1] for job_id in jobs.ids]
    calls = jobs.calls("claim", _LEASE, count=len(jobs))
    done = jobs.all_in("active", state=b"active", attempts=b"1")
    return jobs.work(jobs.given("pending", attempts=b"0"), calls, replies, done)


def complete(jobs: Jobs) -> Work:
    """Leased jobs, done."""
    counted = iter([((b"HGET", jobs.key("metrics:completed"), b"count"), b"%d" % len(jobs))])
    return jobs.work(jobs.leased(), jobs.calls("complete", {"token": b"1"}), [1], jobs.all_in(None), counted)


def _failed(jobs: Jobs, max_attempts: bytes, outcome: bytes, where: str) -> Work:
    values = {"token": b"1", "delay_ms": b"60000", "max_attempts": max_attempts, "error": b"connection reset by peer"}
    done = jobs.all_in(where, state=outcome, last_error=values["error"])
    return jobs.work(jobs.leased(), jobs.calls("fail", values), [outcome], done)


def fail(jobs: Jobs) -> Work:
    """Leased jobs that fail for the first time of three, and are scheduled again."""
    return _failed(jobs, b"3", b"scheduled", "schedule")


def fail_dead(jobs: Jobs) -> Work:
    """Leased jobs that fail for good."""
    return _failed(jobs, b"1", b"dead", "dead")


def delay(jobs: Jobs) -> Work:
    """Leased jobs, put off by their workers."""
    calls = jobs.calls("delay", {"token": b"1", "mode": b"in", "value": b"60000"})
    return jobs.work(jobs.leased(), calls, [1], jobs.all_in("schedule", state=b"scheduled"))


def requeue(jobs: Jobs) -> Work:
    """Leased jobs, given back."""
    calls = jobs.calls("requeue", {"token": b"1"})
    return jobs.work(jobs.leased(), calls, [1], jobs.all_in("pending", state=b"pending"))


def _extended(jobs: Jobs) -> Iterator[tuple[Command, Any]]:
    """Every lease has another deadline than the one it was given."""
    yield (b"ZCOUNT", jobs.key("active"), b"(" + PAST, b"(" + FUTURE), len(jobs)
    yield from jobs.all_in("active")


def extend(jobs: Jobs) -> Work:
    """Leased jobs, each extended alone."""
    return jobs.work(jobs.leased(), jobs.calls("extend", {"token": b"1", **_LEASE}), [1], _extended(jobs))


def _extends(jobs: Jobs, pairs: int) -> Work:
    groups = [[(job_id, b"1") for job_id in jobs.ids[at : at + pairs]] for at in range(0, len(jobs), pairs)]
    calls = tuple(Call("extends", jobs.queue, {**_LEASE, "pairs": group}) for group in groups)
    return jobs.work(jobs.leased(), calls, [[]], _extended(jobs))


def extends(jobs: Jobs) -> Work:
    """Leased jobs, one pair a call."""
    return _extends(jobs, 1)


def extends_100(jobs: Jobs) -> Work:
    """Leased jobs, a hundred pairs a call."""
    return _extends(jobs, 100)


def promote(jobs: Jobs) -> Work:
    """Jobs that have come due, a hundred a call."""
    calls = jobs.calls("promote", {"batch": b"100"}, count=len(jobs) // 100)
    done = jobs.all_in("pending", state=b"pending")
    return jobs.work(jobs.given("schedule", score=PAST, attempts=b"0"), calls, [100], done)


def _swept(jobs: Jobs, limit: int) -> Work:
    replies = [[jobs.ids[at : at + limit], []] for at in range(0, len(jobs), limit)]
    values = {"max_stalled": _NEVER_FATAL, "limit": b"%d" % limit}
    done = jobs.all_in("pending", state=b"pending", stalled=b"1")
    return jobs.work(jobs.leased(score=PAST), jobs.calls("stalled_check", values, count=len(replies)), replies, done)


def stalled_check(jobs: Jobs) -> Work:
    """Expired leases of this run, a thousand a sweep, all recovered."""
    return _swept(jobs, 1000)


def stalled_check_1(jobs: Jobs) -> Work:
    """Expired leases of this run, one a sweep, recovered."""
    return _swept(jobs, 1)


def reprocess(jobs: Jobs) -> Work:
    """Dead jobs, brought back."""
    done = jobs.all_in("pending", state=b"pending", last_error=None)
    return jobs.work(jobs.given("dead", last_error=b"stalled"), jobs.calls("reprocess", {}), [1], done)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: its name begins with its verb. ``jobs`` is how many a round takes."""

    name: str
    make: Callable[[Jobs], Work]
    jobs: int = 1000

    @property
    def verb(self) -> str:
        """The step verb that is measured."""
        return self.name.partition("/")[0]


#: Row name -> row, in the order of the table.
ROWS: Mapping[str, Row] = {
    row.name: row
    for row in (
        Row("enqueue", enqueue),
        Row("schedule", schedule),
        Row("claim", claim),
        Row("complete", complete),
        Row("fail", fail),
        Row("fail/dead", fail_dead),
        Row("delay", delay),
        Row("requeue", requeue),
        Row("extend", extend),
        Row("extends", extends),
        Row("extends/100", extends_100, 2000),
        Row("promote", promote, 2000),
        Row("stalled_check", stalled_check, 2000),
        Row("stalled_check/1", stalled_check_1),
        Row("reprocess", reprocess),
    )
}
#: The most jobs that a row takes; the ids of a smaller row are the first of a larger one.
MOST_JOBS = max(row.jobs for row in ROWS.values())
