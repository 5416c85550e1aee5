"""Dive 02's cases: a token, presented to each of the verbs that read it."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from emqlab.teach.cases.happy import extend, extends
from emqlab.teach.cases.steps import (
    JOB,
    CaseJson,
    StepJson,
    advance,
    case,
    claim,
    complete,
    enqueue,
    put_in,
    row,
    sweep,
)

#: What is presented, by a name for it -> the text that is sent, as it is.
TOKENS: Mapping[str, str] = {"1": "1", "2": "2", "3": "3", "02": "02", "2-and-a-space": "2 ", "empty": ""}
#: More of the kind, which an exercise tries: numbers in other ways to write them, and numbers farther off.
ODD: Mapping[str, str] = {
    **{text: text for text in ("0x2", "2.0", "2e0", "+2", "-2", "0", "4", "7", "12", "22", "102", "1000002")},
    str(2**53 + 2): str(2**53 + 2),
    "a-space-and-2": " 2",
}
#: The one of them that is current.
CURRENT = "2"


def _holds(verb: str, **more: str) -> Callable[[str], StepJson]:
    return lambda token: {"verb": verb, "id": JOB, "token": token, **more}


#: The six verbs that read the token -> the step that presents one.
READERS: Mapping[str, Callable[[str], StepJson]] = {
    "complete": _holds("complete"),
    "fail": _holds("fail", delay_ms="5000", max_attempts="3", error="timeout"),
    "delay": _holds("delay", mode="in", value="8000"),
    "requeue": _holds("requeue"),
    "extend": extend,
    "extends": extends,
}
#: What the token is held against: a row whose attempts is 2, or none, for the job was completed.
ROWS: Mapping[str, tuple[str, list[list[str]]]] = {
    "leased": (
        "a job that was claimed twice; the second lease runs for twenty seconds yet",
        [row("active", 2, "stalled", "1"), put_in("active", "@now+20000")],
    ),
    "gone": ("a job that was completed: its row is gone", [["HSET", "{p}metrics:completed", "count", "1"]]),
}
#: What the executors are declared to do differently with the current token.
_ANSWERED = {"fail": (9,), "extend": (8,), "extends": (8,)}


def fence(verb: str, token: str, held: str = "leased") -> CaseJson:
    """``token`` (of ``TOKENS`` or ``ODD``) shown to a ``verb`` of ``READERS`` on a row of ``ROWS``. Raises KeyError."""
    about, given = ROWS[held]
    answered = _ANSWERED.get(verb, ()) if (held, token) == ("leased", CURRENT) else ()
    return case(
        f"fence/{verb}/{token}/{held}",
        f"{about}; {verb} is shown {token.replace('-', ' ')}",
        [*given],
        [READERS[verb]({**TOKENS, **ODD}[token])],
        *((21,) if verb == "requeue" else answered),
    )


_LOST = (claim(5_000), advance(6_000), sweep(2))
#: What becomes of a first worker that comes late with token 1, by what has happened to its job since (SPEC 7).
LATE: Mapping[str, CaseJson] = {
    "swept and claimed again": case(
        "late/claimed-again",
        "its lease ran out, and another worker has claimed the job",
        [],
        [enqueue(), *_LOST, claim(), complete(1)],
        8,
    ),
    "swept, not claimed again": case(
        "late/not-claimed-again",
        "its lease ran out, and nobody has claimed the job since",
        [],
        [enqueue(), *_LOST, complete(1)],
    ),
    "done, and its id used again": case(
        "late/id-again",
        "another worker has completed the job, and a new one under the same id has been claimed",
        [],
        [enqueue(), *_LOST, claim(), complete(2), {**enqueue(), "payload": "milk"}, claim(), complete(1)],
    ),
    "put back from an older copy": case(
        "late/older-copy",
        "the queue was put back to a copy from before the claim, and another worker has claimed the job",
        [],
        [
            enqueue(),
            claim(),
            {"command": ["ZREM", "{p}active", JOB]},
            {"command": ["DEL", f"{{p}}job:{JOB}"]},
            {"command": row("pending", 0)},
            {"command": put_in("pending", "0")},
            claim(),
            complete(1),
        ],
    ),
}


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from (fence(*one) for one in product(READERS, TOKENS, ROWS))
    yield from LATE.values()
