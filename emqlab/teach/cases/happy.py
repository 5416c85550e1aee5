"""The happy path: every verb of a flat job, answered. What an altered copy must still do as the lab's own text does."""

from collections.abc import Iterator, Mapping

from emqlab.teach.cases.steps import (
    JOB,
    PAYLOAD,
    CaseJson,
    StepJson,
    advance,
    case,
    claim,
    complete,
    delay,
    enqueue,
    fail,
    promote,
    reprocess,
    requeue,
    sweep,
)


def extend(token: str, lease_ms: int = 30_000) -> StepJson:
    """The step by which the holder of ``token`` moves its deadline to ``lease_ms`` from now."""
    return {"verb": "extend", "id": JOB, "token": token, "lease_ms": str(lease_ms)}


def extends(token: str, lease_ms: int = 30_000) -> StepJson:
    """The same as a heartbeat for many jobs, here of one."""
    return {"verb": "extends", "lease_ms": str(lease_ms), "pairs": [[JOB, token]]}


_ALL = case(
    "happy/all-that-can-happen",
    "it is extended, fails, is delayed, loses a lease, dies, is revived, and is delayed again",
    [],
    [
        *(enqueue(), claim(), extend("1"), extends("1"), fail(1, max_attempts=9), advance(5_000), promote()),
        *(claim(), delay(2), advance(5_000), promote()),
        *(claim(1_000), advance(1_000), sweep(2), claim(), fail(4, max_attempts=1), reprocess()),
        *(claim(), delay(5)),
    ],
    *(8, 9),
)
_DONE = case(
    "happy/done",
    "it is due later, and then it completes",
    [],
    [
        {"verb": "schedule", "id": JOB, "payload": PAYLOAD, "mode": "in", "value": "8000"},
        *(advance(8_000), promote(), claim(), complete(1)),
    ],
)
_GIVEN_BACK = case("happy/given-back", "it is given back at once", [], [enqueue(), claim(), requeue(1)], 8, 21)
_REAPED = case(
    "happy/reaped",
    "its lease runs out and is reaped",
    [],
    [enqueue(), claim(1_000), advance(1_000), {"verb": "reap"}],
    8,
    20,
)
#: Each is one job's way, and an executor's call every flat verb that it has with what that wants to hear.
HAPPY: Mapping[str, tuple[CaseJson, ...]] = {
    "scripted": (_ALL, _DONE, _REAPED),
    "native": (_ALL, _DONE, _GIVEN_BACK),
}


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from (_ALL, _DONE, _GIVEN_BACK, _REAPED)
