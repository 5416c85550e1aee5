"""What the lessons' cases are made of: the commands that put a job there, and one function a step."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

QUEUE = "orders"
JOB = "JOB0NgWEfAEJfs"
OTHER = "JOB0NgWEfAFbYw"
PAYLOAD = "tea"

CaseJson = dict[str, Any]
StepJson = dict[str, Any]


def case(name: str, about: str, given: list[list[str]], when: list[StepJson], *differs: int) -> CaseJson:
    """A case on the lessons' queue; ``differs`` are the numbers of the divergences that it shows."""
    made = {"name": name, "queue": QUEUE, "about": about, "given": given, "when": when}
    return {**made, "differs": list(differs)} if differs else made


def row(state: str, attempts: int, *more: str) -> list[str]:
    """The command that puts the job's row there."""
    return ["HSET", f"{{p}}job:{JOB}", "state", state, "attempts", str(attempts), "payload", PAYLOAD, *more]


def put_in(name: str, score: str) -> list[str]:
    """The command that puts the job into a set."""
    return ["ZADD", f"{{p}}{name}", score, JOB]


#: The given of a case that begins with the job in line.
WAITING = [row("pending", 0), put_in("pending", "0")]


def leased(attempts: int, *more: str, until: str = "@now+20000") -> list[list[str]]:
    """A job somebody holds: its row and its place in ``active``."""
    return [row("active", attempts, *more), put_in("active", until)]


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
