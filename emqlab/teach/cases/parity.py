"""Dive 04's cases: one claim, on heads of the line that are in order and that are not."""

from collections.abc import Iterator, Mapping

from emqlab.teach.cases.steps import JOB, OTHER, PAYLOAD, WAITING, CaseJson, case, claim, enqueue, fail, put_in, row

#: The highest number that a counter holds.
FULL = 2**63 - 1


def _counted(attempts: str) -> list[list[str]]:
    """A waiting job whose counter says that."""
    return [["HSET", f"{{p}}job:{JOB}", "state", "pending", "attempts", attempts, "payload", PAYLOAD], WAITING[1]]


#: The claim, by what it finds: the Side by side widget's choice -> its case.
CLAIM: Mapping[str, CaseJson] = {
    "ordinary": case("claim/ordinary", "one job waits, and nothing is wrong with it", WAITING, [claim()], 8),
    "empty": case("claim/empty", "nobody waits", [], [claim()]),
    "ghost": case(
        "claim/ghost",
        "the first in line is an id without a row, and a job waits behind it",
        [
            put_in("pending", "0"),
            ["HSET", f"{{p}}job:{OTHER}", "state", "pending", "attempts", "0", "payload", "milk"],
            ["ZADD", "{p}pending", "0", OTHER],
        ],
        [claim()],
    ),
    "bad-attempts": case("claim/bad-attempts", "its attempts holds 1.0", _counted("1.0"), [claim()], 3),
    "not-a-hash": case(
        "claim/not-a-hash", "its row is a string", [["SET", f"{{p}}job:{JOB}", "tea"], WAITING[1]], [claim()], 3
    ),
    "paused": case("claim/paused", "the queue is paused", [*WAITING, ["HSET", "{p}meta", "paused", "0"]], [claim()]),
    "full": case("claim/full", "its attempts is the highest number there is", _counted(str(FULL)), [claim()], 3),
}

#: The dive's story: a bad row at the head of the line, a good one behind it, and two claims.
POISONED: CaseJson = case(
    "poisoned",
    "the first in line has 1.0 for its attempts, and a sound job waits behind it",
    [
        *_counted("1.0"),
        ["HSET", f"{{p}}job:{OTHER}", "state", "pending", "attempts", "0", "payload", "milk"],
        ["ZADD", "{p}pending", "0", OTHER],
    ],
    [claim(), claim()],
    3,
)

#: What the limited user of the last difference may touch: what a claim names, and what its host reads.
_RIGHTS = ["resetkeys", "%R~{emq}:version", "%R~{p}meta", "~{p}", "~{p}pending", "~{p}active"]

#: The Six differences widget's choice -> its case. What a case file can't say is in SECOND_CLIENT.
SIX: Mapping[str, CaseJson] = {
    "pause": case("six/pause", "one job waits", WAITING, [claim()], 8),
    "meta": case("six/meta", "meta holds a string, not a hash", [*WAITING, ["SET", "{p}meta", "off"]], [claim()], 2),
    "row": case("six/row", "the first in line has 1.0 for its attempts", _counted("1.0"), [claim()], 3),
    "clock": case("six/clock", "one job waits", WAITING, [claim()], 8),
    "arguments": case("six/arguments", "the lease is written 1e3", WAITING, [{"verb": "claim", "lease_ms": "1e3"}], 5),
    "rights": case(
        "six/rights",
        "the user may touch what the claim names, and no row",
        [*WAITING, ["ACL", "SETUSER", "default", *_RIGHTS]],
        [claim()],
        6,
    ),
}

#: What a second client sends while the claim is on its way, by the same choice.
SECOND_CLIENT: Mapping[str, list[list[str]]] = {"pause": [["HSET", "{p}meta", "paused", "1"]]}
#: The divergences that such a run shows, or its trace, and the case alone does not.
SHOWS: Mapping[str, tuple[int, ...]] = {"pause": (1,), "clock": (4, 8)}


#: The cases of the first exercise, with what they show left out: that is the question.
RIDDLES: Mapping[str, CaseJson] = {
    "a": case("riddle/a", "a claim for 0x10 ms", WAITING, [{"verb": "claim", "lease_ms": "0x10"}]),
    "b": case(
        "riddle/b",
        "a failure, reported of a job that a sweep has taken back",
        [row("pending", 1, "stalled", "1"), put_in("pending", "0")],
        [fail(1, max_attempts=3)],
    ),
    "c": case("riddle/c", "a job is added and claimed, and fails", [], [enqueue(), claim(), fail(1, max_attempts=3)]),
}
_SHOWN = {"a": [5], "b": [12], "c": [8, 9]}


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from CLAIM.values()
    yield POISONED
    yield from SIX.values()
    yield from ({**riddle, "differs": _SHOWN[name]} for name, riddle in RIDDLES.items())
