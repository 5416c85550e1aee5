"""The cases that the lessons run, in the case format (SPEC 8): data for widgets, exercises and tests.

Every one of them can be given to ``emqlab run`` as it stands, and holds: ``differs`` names what the executors are
declared to do differently, and nothing else may differ.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from itertools import product
from typing import Any, ParamSpec

QUEUE = "orders"
JOB = "JOB0NgWEfAEJfs"
OTHER = "JOB0NgWEfAFbYw"
PAYLOAD = "tea"

CaseJson = dict[str, Any]
StepJson = dict[str, Any]


def _case(name: str, about: str, given: list[list[str]], when: list[StepJson], *differs: int) -> CaseJson:
    case = {"name": name, "queue": QUEUE, "about": about, "given": given, "when": when}
    return {**case, "differs": list(differs)} if differs else case


def _row(state: str, attempts: int, *more: str) -> list[str]:
    """The command that puts the job's row there."""
    return ["HSET", f"{{p}}job:{JOB}", "state", state, "attempts", str(attempts), "payload", PAYLOAD, *more]


def _in(name: str, score: str) -> list[str]:
    """The command that puts the job into a set."""
    return ["ZADD", f"{{p}}{name}", score, JOB]


def _leased(attempts: int, *more: str, until: str = "@now+20000") -> list[list[str]]:
    """A job somebody holds: its row and its place in ``active``."""
    return [_row("active", attempts, *more), _in("active", until)]


P = ParamSpec("P")
#: The functions that make one step each, by name, in the order in which a reader is told of them.
STEPS: dict[str, Callable[..., StepJson]] = {}


def written(step: Callable[..., StepJson]) -> str:
    """How a step is written: ``fail(token, max_attempts=…, delay_ms=5000)``."""
    told = []
    for name, one in inspect.signature(step).parameters.items():
        needed = f"{name}=…" if one.kind is one.KEYWORD_ONLY else name
        told.append(needed if one.default is one.empty else f"{name}={one.default}")
    return f"{step.__name__}({', '.join(told)})"


def _step(step: Callable[P, StepJson]) -> Callable[P, StepJson]:
    """A step whose call with wrong arguments is told how it is written."""

    @wraps(step)
    def made(*args: P.args, **named: P.kwargs) -> StepJson:
        try:
            inspect.signature(step).bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"This step is written cases.{written(step)}; {error}.") from None
        return step(*args, **named)

    STEPS[step.__name__] = made
    return made


@_step
def enqueue() -> StepJson:
    """The step that adds the job."""
    return {"verb": "enqueue", "id": JOB, "payload": PAYLOAD}


@_step
def claim(lease_ms: int = 30_000) -> StepJson:
    """A claim of the head of the line, for ``lease_ms``."""
    return {"verb": "claim", "lease_ms": str(lease_ms)}


@_step
def complete(token: int) -> StepJson:
    """The step that retires the job with ``token``."""
    return {"verb": "complete", "id": JOB, "token": str(token)}


@_step
def fail(token: int, *, max_attempts: int, delay_ms: int = 5_000) -> StepJson:
    """A failure reported with ``token``; the next try ``delay_ms`` later unless the budget is spent."""
    numbers = {"delay_ms": str(delay_ms), "max_attempts": str(max_attempts)}
    return {"verb": "fail", "id": JOB, "token": str(token), **numbers, "error": "timeout"}


@_step
def delay(token: int, *, in_ms: int = 5_000) -> StepJson:
    """The step by which the holder of ``token`` gives the job back, due ``in_ms`` later."""
    return {"verb": "delay", "id": JOB, "token": str(token), "mode": "in", "value": str(in_ms)}


@_step
def requeue(token: int) -> StepJson:
    """The step by which the holder of ``token`` gives the job back at once; no script does it."""
    return {"verb": "requeue", "id": JOB, "token": str(token)}


@_step
def advance(ms: int) -> StepJson:
    """The clock, moved by ``ms``."""
    return {"advance_ms": ms}


@_step
def promote() -> StepJson:
    """The step that puts due jobs back in line."""
    return {"verb": "promote", "batch": "100"}


@_step
def sweep(max_stalled: int) -> StepJson:
    """A sweep of expired leases; ``max_stalled`` is the stall that kills (2: one is forgiven; 1: the first kills)."""
    return {"verb": "stalled_check", "max_stalled": str(max_stalled), "limit": "100"}


@_step
def reprocess() -> StepJson:
    """The step that revives the dead letter."""
    return {"verb": "reprocess", "id": JOB}


#: One transition each, on a row as the transition meets it: the Transition widget's choice -> its case.
TRANSITION: Mapping[str, CaseJson] = {
    "enqueue": _case("transition/enqueue", "a new job", [], [enqueue()]),
    "claim": _case(
        "transition/claim", "a job that waits in line", [_row("pending", 0), _in("pending", "0")], [claim()], 8
    ),
    "schedule": _case(
        "transition/schedule",
        "a new job, due in eight seconds",
        [],
        [{"verb": "schedule", "id": JOB, "payload": PAYLOAD, "mode": "in", "value": "8000"}],
    ),
    "fail-below": _case(
        "transition/fail-below", "the first try fails; three are allowed", _leased(1), [fail(1, max_attempts=3)], 9
    ),
    "fail-at": _case(
        "transition/fail-at",
        "the third try fails; three are allowed",
        _leased(3, "failures", "2", "last_error", "timeout"),
        [fail(3, max_attempts=3)],
        9,
    ),
    "delay": _case(
        "transition/delay",
        "the holder gives the job back, due in eight seconds",
        _leased(1),
        [delay(1, in_ms=8_000)],
    ),
    "requeue": _case(
        "transition/requeue",
        "the holder gives the job back at once",
        _leased(1),
        [requeue(1)],
        21,
    ),
    "promote": _case(
        "transition/promote",
        "a scheduled job that is due",
        [_row("scheduled", 1, "last_error", "timeout"), _in("schedule", "@now-1000")],
        [promote()],
    ),
    "sweep": _case(
        "transition/sweep",
        "a lease of this epoch that ran out four seconds ago",
        _leased(1, "lease_epoch", "@run_id", until="@now-4000"),
        [sweep(3)],
    ),
    "reprocess": _case(
        "transition/reprocess",
        "a dead letter that somebody revives",
        [_row("dead", 3, "failures", "3", "last_error", "timeout"), _in("dead", "0")],
        [reprocess()],
    ),
    "complete": _case("transition/complete", "the holder is done", _leased(1), [complete(1)]),
}

#: What may happen to one job between its first and its last moment: the hub's choice -> its case.
LIFE: Mapping[str, CaseJson] = {
    "every": _case(
        "life/every",
        "it fails, loses a lease, dies, is revived and completes",
        [],
        [
            *(enqueue(), claim(), fail(1, max_attempts=2), advance(5_000), promote()),
            *(claim(10_000), advance(10_000), sweep(2)),
            *(claim(), fail(3, max_attempts=2), reprocess()),
            *(claim(), complete(4)),
        ],
    ),
    "lives": _case(
        "life/lives",
        "it fails once, loses a lease and completes",
        [],
        [
            *(enqueue(), claim(), fail(1, max_attempts=3), advance(5_000), promote()),
            *(claim(10_000), advance(10_000), sweep(2)),
            *(claim(), complete(3)),
        ],
    ),
    "quiet": _case("life/quiet", "nothing goes wrong", [], [enqueue(), claim(), complete(1)]),
}

#: The hub's one claim: two jobs wait, the older one is served.
FIRST_CLAIM: CaseJson = _case(
    "first-claim",
    "two jobs wait in line",
    [
        _row("pending", 0),
        ["HSET", f"{{p}}job:{OTHER}", "state", "pending", "attempts", "0", "payload", "milk"],
        ["ZADD", "{p}pending", "0", JOB, "0", OTHER],
    ],
    [claim()],
    8,
)

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
    return _case(
        f"lease/{lease_ms}-{swept}-{max_stalled}-{then}",
        f"a lease of {lease_ms} ms, swept {swept} its deadline, and then a {then}",
        [_row("pending", 0), _in("pending", "0")],
        [
            *(claim(lease_ms), advance(lease_ms + SWEEPS[swept]), sweep(max_stalled)),
            claim(lease_ms) if again else complete(1),
        ],
        *((8,) if again else (13,) if killed else ()),
    )


def every_case() -> Iterator[CaseJson]:
    """All cases of the lessons' widgets."""
    yield from TRANSITION.values()
    yield from LIFE.values()
    yield FIRST_CLAIM
    yield from (lease(*one) for one in product(LEASES, SWEEPS, CAPS, THEN))
