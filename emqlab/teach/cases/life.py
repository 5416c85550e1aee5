"""The hub's cases: one job's whole life, and one claim."""

from collections.abc import Iterator, Mapping

from emqlab.teach.cases.steps import (
    JOB,
    OTHER,
    CaseJson,
    advance,
    case,
    claim,
    complete,
    enqueue,
    fail,
    promote,
    reprocess,
    row,
    sweep,
)

#: What may happen to one job between its first and its last moment: the hub's choice -> its case.
LIFE: Mapping[str, CaseJson] = {
    "every": case(
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
    "lives": case(
        "life/lives",
        "it fails once, loses a lease and completes",
        [],
        [
            *(enqueue(), claim(), fail(1, max_attempts=3), advance(5_000), promote()),
            *(claim(10_000), advance(10_000), sweep(2)),
            *(claim(), complete(3)),
        ],
    ),
    "quiet": case("life/quiet", "nothing goes wrong", [], [enqueue(), claim(), complete(1)]),
}

#: The hub's one claim: two jobs wait, the older one is served.
FIRST_CLAIM: CaseJson = case(
    "first-claim",
    "two jobs wait in line",
    [
        row("pending", 0),
        ["HSET", f"{{p}}job:{OTHER}", "state", "pending", "attempts", "0", "payload", "milk"],
        ["ZADD", "{p}pending", "0", JOB, "0", OTHER],
    ],
    [claim()],
    8,
)


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from LIFE.values()
    yield FIRST_CLAIM
