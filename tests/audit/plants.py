"""A healthy queue, and what can be planted in it: raw commands as in a case's ``given``."""

from dataclasses import dataclass
from typing import Any

A, B, C, D, E, G, H = (f"JOB0NgWEfAEJf{sign}" for sign in "abcdegh")
MAX = str(2**63 - 1)

Command = list[Any]


def row(job: str, state: str, **fields: str) -> Command:
    """A row of ``state``, attempts 1 unless told otherwise."""
    named = {"attempts": "1", "payload": "x", **fields}
    return ["HSET", f"{{p}}job:{job}", "state", state, *(part for pair in named.items() for part in pair)]


def held(job: str, name: str, score: str = "0") -> Command:
    """The id in a set."""
    return ["ZADD", f"{{p}}{name}", score, job]


def leased(job: str, deadline: str = "@now+900000", **fields: Any) -> list[Command]:
    """An active job that was claimed natively in this epoch; ``lease_epoch=""`` for one claimed by a script."""
    stamp = ["HSET", f"{{p}}job:{job}", "lease_epoch", "@run_id"]
    stamped = [] if fields.pop("lease_epoch", None) == "" else [stamp]
    return [row(job, "active", **fields), *stamped, held(job, "active", deadline)]


#: A job in each state, a lane with one in it and one at work, a flow that waits for its child; ids beyond all others.
W, X, Y, Z, L, M, P, K = (f"JOB0zzzzzzzzz{sign}" for sign in "wxyzlmpk")
HEALTHY: list[Command] = [
    row(W, "pending", attempts="0"),
    held(W, "pending"),
    *leased(X),
    row(Y, "scheduled"),
    held(Y, "schedule", "@now+900000"),
    row(Z, "dead", failures="3", last_error="boom"),
    held(Z, "dead"),
    row(L, "pending", group="blue"),
    held(L, "g:blue:pending"),
    *leased(M, group="blue", lease_epoch=""),
    ["HSET", "{p}gactive", "blue", "1"],
    ["HSET", "{p}glimit", "blue", "2"],
    ["RPUSH", "{p}ring", "blue"],
    ["LPUSH", "{p}wake", "1"],
    ["SADD", "{p}paused", "red"],
    row(P, "awaiting_children", attempts="0"),
    ["SET", f"{{p}}job:{P}:dependencies", "1"],
    ["HSET", f"{{p}}job:{P}:processed", A, A],
    row(K, "scheduled", parent=P),
    held(K, "schedule", "@now+900000"),
    ["HSET", "{p}metrics:completed", "count", "7"],
]


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted, and what must be told of it: each code with the id or the key's name after the base.

    ``scripted`` and ``native`` are what is told of the first. ``verb`` shows it on the executors themselves.
    """

    about: str
    given: list[Command]
    codes: list[tuple[str, str]]
    scripted: str | None = None
    native: str | None = None
    verb: dict[str, Any] | None = None


CLAIM = {"verb": "claim", "lease_ms": "30000"}
SWEEP = {"verb": "stalled_check", "max_stalled": "1", "limit": "100"}
PROMOTE = {"verb": "promote", "batch": "100"}
COMPLETE = {"verb": "complete", "id": A, "token": "1"}
FAIL = {"verb": "fail", "id": A, "token": "1", "delay_ms": "0", "max_attempts": "1", "error": "boom"}
LIST = ["RPUSH", f"{{p}}job:{A}", "x"]
DELAY = {"verb": "delay", "token": "1", "mode": "in", "value": "0"}
#: The first integer that a script can't add 1 to; ten years are less than MANY_MS.
EXACT, MANY_MS = str(2**53), "400000000000"
#: An id that is none of a job, and one that is earlier than all others.
USER, FIRST = "USR0NgWEfAEJfa", "JOB00000000000"
NOT_INTEGER = "“hash value is not an integer”"
OVERFLOW = "“increment or decrement would overflow”"


def _stops() -> list[Plant]:
    return [
        Plant("a list at the head", [LIST, held(A, "pending")], [("head-refused", A)],
              "stops with WRONGTYPE, the id is lost", "refused WRONGTYPE, it stays at the head", CLAIM),
        Plant("odd attempts at the head", [row(A, "pending", attempts="01"), held(A, "pending")],
              [("head-refused", A)], f"stops with {NOT_INTEGER}, the id is lost",
              f"refused {NOT_INTEGER}, it stays at the head", CLAIM),
        Plant("full attempts at the head", [row(A, "pending", attempts=MAX), held(A, "pending")],
              [("head-refused", A)], f"stops with {OVERFLOW}, the id is lost",
              f"refused {OVERFLOW}, it stays at the head", CLAIM),
        Plant("a lane row among the expired leases",
              [*leased(A, "@now-1", group="blue", lease_epoch=""), ["HINCRBY", "{p}gactive", "blue", "1"]],
              [("sweep-refused", A)],
              "declares it dead, it goes to dead, stalled is 1", "refused EMQLANE, it stays in active", SWEEP),
        Plant("a list among the expired leases", [LIST, held(A, "active", "@now-1")], [("sweep-refused", A)],
              "stops with WRONGTYPE, the id is lost", "refused WRONGTYPE, it stays in active", SWEEP),
        Plant("odd stalled among the expired leases", leased(A, "@now-1", stalled="1.0"), [("sweep-refused", A)],
              f"stops with {NOT_INTEGER}, the id is lost", f"refused {NOT_INTEGER}, it stays in active", SWEEP),
        Plant("a lane row that is due", [row(A, "scheduled", group="blue"), held(A, "schedule", "@now")],
              [("promote-refused", A)], "answers 1, it goes to g:blue:pending",
              "refused EMQLANE, it stays in schedule", PROMOTE),
        Plant("a list that is due", [LIST, held(A, "schedule", "@now-1")], [("promote-refused", A)],
              "stops with WRONGTYPE, the id is lost", "refused WRONGTYPE, it stays in schedule", PROMOTE),
        Plant("a pause", [["HSET", "{p}meta", "paused", ""]], [("paused", "meta")],
              "answers empty, the job stays in pending", "answers empty, the job stays in pending", CLAIM),
        Plant("another wire version", [["SET", "{emq}:version", "other"]], [("fence", "{emq}:version")],
              "leases the job with token 1, the job goes to active", "refused EMQFENCE, the job stays at the head"),
        Plant("a wire version of another type", [["DEL", "{emq}:version"], ["RPUSH", "{emq}:version", "x"]],
              [("fence", "{emq}:version")], None, "refused WRONGTYPE, the job stays at the head"),
        Plant("meta is a string", [["SET", "{p}meta", "x"]], [("wrong-type", "meta")],
              "answers empty, the job stays in pending", "refused WRONGTYPE, the job stays at the head", CLAIM),
        Plant("odd metrics",
              [*leased(A), ["HSET", "{p}metrics:completed", "count", "1e3"]], [("metric-refused", "metrics:completed")],
              f"stops with {NOT_INTEGER}, its row is deleted", f"refused {NOT_INTEGER}, the job stays in active",
              COMPLETE),
        Plant("full metrics",
              [*leased(A), ["HSET", "{p}metrics:failed", "count", MAX]], [("metric-refused", "metrics:failed")],
              f"stops with {OVERFLOW}, the job goes to dead", f"refused {OVERFLOW}, the job stays in active", FAIL),
    ]  # fmt: skip


def _loses() -> list[Plant]:
    return [
        Plant("a ghost in pending", [held(A, "pending")], [("ghost", A)],
              "answers empty, the ghost is gone", "answers empty, the ghost is gone", CLAIM),
        Plant("a ghost among the leases", [held(A, "active", "@now-1")], [("ghost", A)],
              "declares it dead, a row is minted, it goes to dead", "passes over it, the ghost is gone", SWEEP),
        Plant("a ghost that is due", [held(A, "schedule", "@now-1")], [("ghost", A)],
              "answers 1, a row is minted, it goes to pending", "answers 0, the ghost is gone", PROMOTE),
        Plant("a dead ghost", [held(A, "dead")], [("ghost", A)], "answers that there is no such job, it stays in dead",
              "answers that there is no such job, it stays in dead", {"verb": "reprocess", "id": A}),
        Plant("a ghost in a lane", [held(A, "g:blue:pending")], [("ghost", A)],
              "once its turn comes: answers empty, the ghost is gone", "there is no native verb for lane_claim"),
        Plant("an id in two sets", [*leased(A), held(A, "pending")], [("two-sets", A)],
              "completes it, its row is deleted, the id stays in pending",
              "completes it, its row is deleted, the id stays in pending", COMPLETE),
        Plant("a row in no set", [row(A, "pending")], [("no-set", A)], "completes it, its row is deleted",
              "refused EMQSTATE", COMPLETE),
        Plant("a string that waits its turn", [["SET", f"{{p}}job:{A}", "x"], row(FIRST, "pending"),
              held(FIRST, "pending"),
              held(A, "pending")], [("not-a-hash", A)], "stops with WRONGTYPE, the id is lost",
              "refused WRONGTYPE, it stays at the head"),
        Plant("a string in no set", [["SET", f"{{p}}job:{A}", "x"]], [("not-a-hash", A)],
              "refused WRONGTYPE", "refused WRONGTYPE", COMPLETE),
        Plant("no attempts", [["HSET", f"{{p}}job:{A}", "state", "active", "lease_epoch", "@run_id"],
              held(A, "active", "@now+900000")], [("no-attempts", A)],
              "answers that there is no such job, it stays in active",
              "answers that there is no such job, it stays in active", COMPLETE),
        Plant("what a sweep made of a ghost", [["HSET", f"{{p}}job:{A}", "state", "pending"], held(A, "pending")],
              [("no-attempts", A)], "leases it with token 1, it goes to active",
              "leases it with token 1, it goes to active", CLAIM),
        Plant("odd attempts at work", leased(A, attempts=" 1"), [("bad-attempts", A)],
              f"once pending: stops with {NOT_INTEGER}, the id is lost",
              f"once pending: refused {NOT_INTEGER}, it stays at the head"),
        Plant("attempts beyond doubles", [row(A, "pending", attempts=EXACT), held(A, "pending")], [("big-attempts", A)],
              f"leases it with token {EXACT}, it goes to active",
              f"leases it with token {2**53 + 1}, it goes to active", CLAIM),
        Plant("attempts beyond doubles at work", leased(A, attempts=str(2**62 + 1)), [("big-attempts", A)],
              f"once pending: leases it with token {2**62}, it goes to active",
              f"once pending: leases it with token {2**62 + 2}, it goes to active"),
        Plant("odd failures", leased(A, failures="-0"), [("bad-failures", A)],
              "answers scheduled, it goes to schedule", f"refused {NOT_INTEGER}, it stays in active",
              {**FAIL, "max_attempts": "3"}),
        Plant("full failures", leased(A, failures=MAX), [("bad-failures", A)],
              "answers scheduled, it goes to schedule", f"refused {OVERFLOW}, it stays in active",
              {**FAIL, "max_attempts": "3"}),
        Plant("odd failures of a dead job", [row(A, "dead", failures="-0"), held(A, "dead")], [("bad-failures", A)],
              "answers scheduled, it is in dead and schedule", "answers dead, it stays in dead",
              {**FAIL, "max_attempts": "3"}),
        Plant("odd failures of a job that waits", [row(A, "pending", failures="-0"), held(A, "pending")],
              [("bad-failures", A)], "once active: answers scheduled, it goes to schedule",
              f"once active: refused {NOT_INTEGER}, it stays in active"),
        Plant("odd failures of a job in no set", [row(A, "pending", failures="-0")],
              [("no-set", A), ("bad-failures", A)]),
        Plant("odd stalled", leased(A, stalled=""), [("bad-stalled", A)],
              f"once expired: stops with {NOT_INTEGER}, the id is lost",
              f"once expired: refused {NOT_INTEGER}, it stays in active"),
        Plant("odd stalled of an exempt lease", leased(A, "@now-1", stalled="", lease_epoch=""),
              [("bad-stalled", A), ("exempt", A)], f"stops with {NOT_INTEGER}, the id is lost",
              "gives it back, it goes to pending", SWEEP),
        Plant("odd stalled of a job that waits", [row(A, "pending", stalled="x"), held(A, "pending")],
              [("bad-stalled", A)], f"once claimed and expired: stops with {NOT_INTEGER}, the id is lost",
              f"once claimed and expired: refused {NOT_INTEGER}, it stays in active"),
        Plant("a lane row in pending", [row(A, "pending", group="blue"), held(A, "pending")],
              [("lane-in-pending", A)], "leases it with token 2, it goes to active",
              "leases it with token 2, it goes to active", CLAIM),
        Plant("a row in another's lane", [row(A, "pending", group="red"), held(A, "g:blue:pending")],
              [("wrong-lane", A)]),
        Plant("a flat row in a lane", [row(A, "pending"), held(A, "g:blue:pending")], [("wrong-lane", A)]),
        Plant("a row that expires", [row(A, "pending"), held(A, "pending"),
              ["PEXPIRE", f"{{p}}job:{A}", "60000"]], [("ttl", A)], "answers empty, the ghost is gone",
              "answers empty, the ghost is gone"),
        Plant("a set that expires", [["PEXPIRE", "{p}dead", "60000"]], [("ttl", "dead")]),
        Plant("a stranger that expires", [["SET", "{p}mine", "x", "PX", "60000"]],
              [("ttl", "mine"), ("unknown-key", "mine")]),
    ]  # fmt: skip


def _odd() -> list[Plant]:
    return [
        Plant("another state", [row(A, "active"), held(A, "pending")], [("wrong-state", A)],
              "leases it with token 2, it goes to active", "leases it with token 2, it goes to active", CLAIM),
        Plant("no state", [["HSET", f"{{p}}job:{A}", "attempts", "1"], held(A, "dead")], [("wrong-state", A)],
              "revives it, it goes to pending", "revives it, it goes to pending", {"verb": "reprocess", "id": A}),
        Plant("a state that no verb writes", [row(A, "done"), held(A, "dead")], [("wrong-state", A)]),
        Plant("a parent in a set", [row(A, "awaiting_children"), held(A, "pending")], [("wrong-state", A)]),
        Plant("a lease without a stamp", leased(A, "@now-1", lease_epoch=""), [("exempt", A)],
              "declares it dead, it goes to dead, stalled is 1", "gives it back, it goes to pending", SWEEP),
        Plant("a lease from before a restart",
              [*leased(A), ["HSET", f"{{p}}job:{A}", "lease_epoch", "@old_run_id"]], [("exempt", A)],
              "once expired: declares it dead, it goes to dead, stalled is 1",
              "once expired: gives it back, it goes to pending"),
        Plant("a score in pending", [row(A, "pending"), held(A, "pending", "-3")], [("score", A)]),
        Plant("a score in a lane", [row(A, "pending", group="blue"), held(A, "g:blue:pending", "1")], [("score", A)]),
        Plant("a lease for ever", leased(A, "inf"), [("score", A)], "passes over it, it stays in active",
              "passes over it, it stays in active", SWEEP),
        Plant("a lease since ever", leased(A, "-inf"), [("score", A)]),
        Plant("a lease of many years", leased(A, f"@now+{MANY_MS}"), [("score", A)],
              "passes over it, it stays in active", "passes over it, it stays in active", SWEEP),
        Plant("a due time in microseconds", [row(A, "scheduled"), held(A, "schedule", "1795952314485000")],
              [("score", A)], "answers 0, it stays in schedule", "answers 0, it stays in schedule", PROMOTE),
        Plant("another kind of id", [row(USER, "active"), *leased(USER)[1:], held(USER, "active", "@now+900000")],
              [("odd-id", USER)], "refused EMQKIND, it stays in active", "refused EMQKIND, it stays in active",
              {**DELAY, "id": USER}),
        Plant("an id of no bytes", [row("", "pending"), held("", "pending")], [("odd-id", "")],
              "refused EMQKIND, it stays in pending", "refused EMQKIND, it stays in pending", {**DELAY, "id": ""}),
        Plant("half a millisecond", [row(A, "scheduled"), held(A, "schedule", "1.5")],
              [("score", A)]),
        Plant("an unknown key", [["SET", "{p}mine", "x"], ["SET", "{p}job", "x"], ["ZADD", "{p}g:pending", "0", "x"]],
              [("unknown-key", "g:pending"), ("unknown-key", "job"), ("unknown-key", "mine")]),
    ]  # fmt: skip


PLANTS = [*_stops(), *_loses(), *_odd()]
