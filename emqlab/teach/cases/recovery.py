"""Dive 05's cases: what each verb does to the counters, an expired lease and who takes it back, and a restart."""

from collections.abc import Iterator, Mapping
from itertools import product

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
    put_in,
    reprocess,
    requeue,
    row,
    sweep,
)

BACK = "@now-4000"
THIS, EARLIER = ("lease_epoch", "@run_id"), ("lease_epoch", "@old_run_id")
REAP: StepJson = {"verb": "reap"}
RESTART: StepJson = {"restart": True}


def _marked(state: str, place: str, score: str, *epoch: str) -> list[list[str]]:
    """A job with a past: claimed twice, failed once, stalled once. No counter is absent, so none can hide."""
    return [row(state, 2, "failures", "1", "stalled", "1", *epoch), put_in(place, score)]


_HELD = _marked("active", "active", "@now+20000", *THIS)
_HELD_BEFORE = _marked("active", "active", "@now+20000", *EARLIER)
_RUN_OUT = _marked("active", "active", BACK, *THIS)
_LATER = {"id": JOB, "payload": PAYLOAD, "mode": "in", "value": "8000"}
_LONGER = {"lease_ms": "30000"}

#: Verb -> one call of it, on a job whose four counters all hold something: the Ledger widget's choice -> its case.
LEDGER: Mapping[str, CaseJson] = {
    "enqueue": case("ledger/enqueue", "a new job", [], [enqueue()]),
    "schedule": case("ledger/schedule", "a new job, due in eight seconds", [], [{"verb": "schedule", **_LATER}]),
    "claim": case(
        "ledger/claim", "a job that waits in line", _marked("pending", "pending", "0", *EARLIER), [claim()], 8
    ),
    "complete": case("ledger/complete", "the holder is done", _HELD, [complete(2)]),
    "fail": case("ledger/fail", "the holder reports a failure; five are allowed", _HELD, [fail(2, max_attempts=5)], 9),
    "delay": case("ledger/delay", "the holder gives the job back, due in five seconds", _HELD, [delay(2)]),
    "requeue": case("ledger/requeue", "the holder gives the job back at once", _HELD, [requeue(2)], 21),
    "extend": case(
        "ledger/extend",
        "the holder asks for a longer lease",
        _HELD_BEFORE,
        [{"verb": "extend", "id": JOB, "token": "2", **_LONGER}],
        8,
    ),
    "extends": case(
        "ledger/extends",
        "a worker asks for longer leases, this one among them",
        _HELD_BEFORE,
        [{"verb": "extends", "pairs": [[JOB, "2"]], **_LONGER}],
        8,
    ),
    "promote": case(
        "ledger/promote",
        "a scheduled job that is due",
        _marked("scheduled", "schedule", "@now-1000", *THIS),
        [promote()],
    ),
    "stalled_check": case(
        "ledger/stalled_check", "a lease of this epoch ran out; four stalls are forgiven", _RUN_OUT, [sweep(5)]
    ),
    "reap": case("ledger/reap", "a lease of this epoch ran out", _RUN_OUT, [REAP], 20),
    "reprocess": case(
        "ledger/reprocess", "a dead letter that somebody revives", _marked("dead", "dead", "0", *THIS), [reprocess()]
    ),
}

#: What the expired member is -> one sentence, the commands that put it there, and the divergence that its sweep shows.
MEMBERS: Mapping[str, tuple[str, list[list[str]], int | None]] = {
    "this-epoch": ("claimed since the server started", [row("active", 1, *THIS), put_in("active", BACK)], None),
    "earlier-epoch": ("claimed before a restart", [row("active", 1, *EARLIER), put_in("active", BACK)], 15),
    "no-stamp": ("claimed by a script", [row("active", 1), put_in("active", BACK)], 15),
    "stalled-once": (
        "claimed since the server started, and stalled before",
        [row("active", 2, "stalled", "1", *THIS), put_in("active", BACK)],
        None,
    ),
    "ghost": ("an id without a row", [put_in("active", BACK)], 16),
    "lane": (
        "a job of the lane blue",
        [row("active", 1, "group", "blue"), put_in("active", BACK), ["HSET", "{p}gactive", "blue", "1"]],
        17,
    ),
    "bad-counter": (
        "its stalled is no number",
        [row("active", 1, "stalled", "often", *THIS), put_in("active", BACK)],
        18,
    ),
    "not-a-hash": (
        "its row is a string",
        [["SET", f"{{p}}job:{JOB}", PAYLOAD], put_in("active", BACK)],
        18,
    ),
}
CAPS = (1, 2, 3)


def expired(member: str, max_stalled: int) -> CaseJson:
    """One member whose lease ran out four seconds ago, and one sweep. Raises KeyError for another ``member``."""
    about, given, number = MEMBERS[member]
    name = f"expired/{member}-{max_stalled}"
    return case(name, about, given, [sweep(max_stalled)], *(() if number is None else (number,)))


def reaped(member: str) -> CaseJson:
    """The same member, taken back by the reaper. Raises KeyError for another ``member``."""
    about, given, _ = MEMBERS[member]
    return case(f"expired/{member}-reap", about, given, [REAP], 20)


#: How a claim is lost -> its world steps, once a claim.
LOSSES: Mapping[str, tuple[str, int]] = {
    "once": ("the server is restarted under the first claim", 1),
    "twice": ("and again under the second", 2),
    "none": ("the server stays up, the worker goes silent", 0),
}
LEASE_MS = 5_000


def restart(restarts: str, max_stalled: int) -> CaseJson:
    """Claim, restart, let the lease run out, sweep; again with ``twice``, without the restart with ``none``; claim.

    Raises KeyError for other ``restarts``.
    """
    about, many = LOSSES[restarts]
    when: list[StepJson] = []
    for _ in range(max(many, 1)):
        when += [claim(LEASE_MS), *([RESTART] if many else []), advance(LEASE_MS), sweep(max_stalled)]
    return case(
        f"restart/{restarts}-{max_stalled}",
        about,
        [row("pending", 0), put_in("pending", "0")],
        [*when, claim(LEASE_MS)],
        *((8, 15) if many else (8,)),
    )


def every() -> Iterator[CaseJson]:
    """All cases of this file."""
    yield from LEDGER.values()
    yield from (expired(*one) for one in product(MEMBERS, CAPS))
    yield from map(reaped, MEMBERS)
    yield from (restart(*one) for one in product(LOSSES, CAPS[:2]))
