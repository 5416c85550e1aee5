"""Dive 01's cases: one transition each, and a lease that runs out."""

from collections.abc import Iterator, Mapping
from itertools import product

from emqlab.teach.cases.steps import (
    JOB,
    PAYLOAD,
    CaseJson,
    advance,
    case,
    claim,
    complete,
    delay,
    enqueue,
    fail,
    leased,
    promote,
    put_in,
    reprocess,
    requeue,
    row,
    sweep,
)

#: One transition each, on a row as the transition meets it: the Transition widget's choice -> its case.
TRANSITION: Mapping[str, CaseJson] = {
    "enqueue": case("transition/enqueue", "a new job", [], [enqueue()]),
    "claim": case(
        "transition/claim", "a job that waits in line", [row("pending", 0), put_in("pending", "0")], [claim()], 8
    ),
    "schedule": case(
        "transition/schedule",
        "a new job, due in eight seconds",
        [],
        [{"verb": "schedule", "id": JOB, "payload": PAYLOAD, "mode": "in", "value": "8000"}],
    ),
    "fail-below": case(
        "transition/fail-below", "the first try fails; three are allowed", leased(1), [fail(1, max_attempts=3)], 9
    ),
    "fail-at": case(
        "transition/fail-at",
        "the third try fails; three are allowed",
        leased(3, "failures", "2", "last_error", "timeout"),
        [fail(3, max_attempts=3)],
        9,
    ),
    "delay": case(
        "transition/delay",
        "the holder gives the job back, due in eight seconds",
        leased(1),
        [delay(1, in_ms=8_000)],
    ),
    "requeue": case(
        "transition/requeue",
        "the holder gives the job back at once",
        leased(1),
        [requeue(1)],
        21,
    ),
    "promote": case(
        "transition/promote",
        "a scheduled job that is due",
        [row("scheduled", 1, "last_error", "timeout"), put_in("schedule", "@now-1000")],
        [promote()],
    ),
    "sweep": case(
        "transition/sweep",
        "a lease of this epoch that ran out four seconds ago; one stall is forgiven",
        leased(1, "lease_epoch", "@run_id", until="@now-4000"),
        [sweep(2)],
    ),
    "reprocess": case(
        "transition/reprocess",
        "a dead letter that somebody revives",
        [row("dead", 3, "failures", "3", "last_error", "timeout"), put_in("dead", "0")],
        [reprocess()],
    ),
    "complete": case("transition/complete", "the holder is done", leased(1), [complete(1)]),
}

LEASES = (1_000, 5_000, 30_000)
#: When the sweep comes: ms after the deadline.
SWEEPS: Mapping[str, int] = {"after": 1_000, "at": 0, "before": -1}
CAPS = (2, 1)
#: What comes after the sweep: the next claim, or the first worker, which says that it is done.
THEN = ("claim", "complete")


def lease(lease_ms: int, swept: str, max_stalled: int, then: str = THEN[0]) -> CaseJson:
    """A claim for ``lease_ms``, a sweep ``before``, ``at`` or ``after`` its deadline, and what comes ``then``.

    ``max_stalled`` is the sweep's. Raises KeyError for another ``swept``.
    """
    again = then == "claim"
    killed = max_stalled == 1 and swept != "before"
    return case(
        f"lease/{lease_ms}-{swept}-{max_stalled}-{then}",
        f"a lease of {lease_ms} ms, swept {swept} its deadline, and then a {then}",
        [row("pending", 0), put_in("pending", "0")],
        [
            *(claim(lease_ms), advance(lease_ms + SWEEPS[swept]), sweep(max_stalled)),
            claim(lease_ms) if again else complete(1),
        ],
        *((8,) if again else (8, 13) if killed else ()),
    )


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from TRANSITION.values()
    yield from (lease(*one) for one in product(LEASES, SWEEPS, CAPS, THEN))
