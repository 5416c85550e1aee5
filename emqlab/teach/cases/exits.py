"""Dive 03's cases: every way out of ``active``, what a worker says when its time is over, and a job with a past."""

from collections.abc import Iterator, Mapping
from itertools import product

from emqlab.teach.cases.steps import (
    JOB,
    CaseJson,
    StepJson,
    advance,
    case,
    claim,
    complete,
    delay,
    fail,
    leased,
    put_in,
    requeue,
    row,
    sweep,
)

#: The one step that neither has a token nor counts anything.
REAP: StepJson = {"verb": "reap"}
#: A job under its first lease, which holds, or which ran out four seconds ago.
_HELD = leased(1, "lease_epoch", "@run_id")
_EXPIRED = leased(1, "lease_epoch", "@run_id", until="@now-4000")

#: Each way out of ``active``, for one and the same row: the Exit widget's choice -> its case.
EXIT: Mapping[str, CaseJson] = {
    "complete": case("exit/complete", "the holder is done", _HELD, [complete(1)]),
    "fail-scheduled": case(
        "exit/fail-scheduled", "it fails for the first time; three are allowed", _HELD, [fail(1, max_attempts=3)], 9
    ),
    "fail-dead": case(
        "exit/fail-dead", "it fails for the first time; one is allowed", _HELD, [fail(1, max_attempts=1)], 9
    ),
    "delay": case("exit/delay", "the holder gives it back, due in eight seconds", _HELD, [delay(1, in_ms=8_000)]),
    "requeue": case("exit/requeue", "the holder gives it back at once", _HELD, [requeue(1)], 21),
    "sweep-pending": case("exit/sweep-pending", "its lease ran out; one stall is forgiven", _EXPIRED, [sweep(2)]),
    "sweep-dead": case("exit/sweep-dead", "its lease ran out; the first stall kills", _EXPIRED, [sweep(1)]),
    "reap": case("exit/reap", "its lease ran out; the reaper comes instead of a sweep", _EXPIRED, [REAP], 20),
}

#: How far the world has gone on before the late worker speaks: choice -> what happened after the lease ended.
MEANWHILE: Mapping[str, tuple[StepJson, ...]] = {
    "ended": (),
    "swept": (sweep(2),),
    "reclaimed": (sweep(2), claim(30_000)),
    "killed": (sweep(1),),
}
#: What it says then, with token 1.
LATE: Mapping[str, StepJson] = {
    "complete": complete(1),
    "fail": fail(1, max_attempts=3),
    "delay": delay(1),
    "requeue": requeue(1),
    "extend": {"verb": "extend", "id": JOB, "token": "1", "lease_ms": "5000"},
    "extends": {"verb": "extends", "lease_ms": "5000", "pairs": [[JOB, "1"]]},
}
#: Where the executors part, by both choices, in the answer or in a field at the end. The stamp of the claim is left
#: wherever the row is, 8; there is never a scripted requeue, 21.
_PARTS: Mapping[tuple[str, str], tuple[int, ...]] = {
    **dict.fromkeys(product(("ended", "swept"), ("complete",)), ()),
    ("ended", "fail"): (8, 9),
    **dict.fromkeys(product(("ended",), ("delay", "extend", "extends")), (8,)),
    **dict.fromkeys(product(("swept",), ("fail", "delay", "extend", "extends")), (8, 12)),
    **dict.fromkeys(product(("reclaimed",), ("complete", "fail", "delay", "extend", "extends")), (8,)),
    ("killed", "complete"): (8, 13),
    ("killed", "fail"): (8, 11),
    **dict.fromkeys(product(("killed",), ("delay", "extend", "extends")), (8, 12)),
    **dict.fromkeys(product(MEANWHILE, ("requeue",)), (8, 21)),
}


def after_hours(since: str, call: str) -> CaseJson:
    """A lease of five seconds ends, ``since`` says what happened then, and its worker makes its ``call``, with token 1.

    Raises KeyError for another ``since`` or ``call``.
    """
    return case(
        f"after-hours/{since}-{call}",
        f"a lease has ended ({since}), and now its worker says {call}",
        [row("pending", 0), put_in("pending", "0")],
        [claim(5_000), advance(6_000), *MEANWHILE[since], LATE[call]],
        *_PARTS[since, call],
    )


_PAST = ("failures", "1", "stalled", "1", "last_error", "timeout", "lease_epoch", "@run_id")
_OVER = leased(3, *_PAST, until="@now-1000")
_BACK = [row("pending", 3, *_PAST), put_in("pending", "0")]

#: Exercise 03-1: a job that was claimed three times, failed once and stalled once; its lease is over. Call -> case.
WITH_A_PAST: Mapping[str, CaseJson] = {
    "complete": case("past/complete", "the holder is done", _OVER, [complete(3)]),
    "fail": case("past/fail", "the holder fails; three are allowed", _OVER, [fail(3, max_attempts=3)], 9),
    "requeue": case("past/requeue", "the holder gives it back", _OVER, [requeue(3)], 21),
    "sweep": case("past/sweep", "a sweep comes; one stall is forgiven", _OVER, [sweep(2)]),
    "reap": case("past/reap", "the reaper comes", _OVER, [REAP], 20),
    "late complete": case("past/late-complete", "back in line, and the last holder is done", _BACK, [complete(3)]),
    "late fail": case(
        "past/late-fail", "back in line, and the last holder fails", _BACK, [fail(3, max_attempts=3)], 12
    ),
}


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from EXIT.values()
    yield from (after_hours(*one) for one in product(MEANWHILE, LATE))
    yield from WITH_A_PAST.values()
