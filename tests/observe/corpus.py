"""Cases that lead every transition to every outcome it has: states of one job × calls, made by enumeration."""

import itertools
from collections.abc import Iterator
from typing import Any

JOB = "JOB0NgWEfAEJfs"
OTHER = "JOB0NgWEfAEJft"
GHOST = "JOB0KHTOWnGLuC"
ROW = "{p}job:" + JOB

Json = dict[str, Any]
Commands = list[list[Any]]


def row(*extra: Any, attempts: str = "1") -> list[Any]:
    """HSET of the job's row with ``attempts`` and more fields."""
    return ["HSET", ROW, "state", "active", "attempts", attempts, "payload", "tea", *extra]


def held(name: str, score: str = "0", job: str = JOB) -> list[Any]:
    """ZADD of a job to one of the queue's sets."""
    return ["ZADD", "{p}" + name, score, job]


#: What there is under the job's row key.
ROWS: dict[str, Commands] = {
    "no row": [],
    "flat": [row()],
    "stamped": [row("lease_epoch", "@run_id", "stalled", "1", "failures", "1", "last_error", "boom")],
    "stamped before a restart": [row("lease_epoch", "@old_run_id", "stalled", "4")],
    "no attempts": [["HSET", ROW, "state", "pending"]],
    "bad counters": [row("lease_epoch", "@run_id", "stalled", "x", "failures", "x", attempts="1.0")],
    "bad budgets": [row("lease_epoch", "@run_id", "stalled", "x", "failures", "x")],
    "full counters": [row("lease_epoch", "@run_id", "stalled", str(2**63 - 1), attempts=str(2**63 - 1))],
    "string": [["SET", ROW, "text"]],
    "lane": [row("group", "tea")],
    "flow": [row("parent", OTHER)],
    "bytes": [["HSET", ROW, "attempts", "1", "payload", {"hex": "00ff"}]],
}

#: Where the job is.
PLACES: dict[str, Commands] = {
    "nowhere": [],
    "pending": [held("pending")],
    "active": [held("active", "@now+9000")],
    "expired": [held("active", "@now-4000"), held("active", "@now-1000", GHOST)],
    "due": [held("schedule", "@now-4000"), held("schedule", "@now-1000", GHOST)],
    "dead": [held("dead")],
    "pending and active": [held("pending"), held("active", "@now+9000")],
}

#: What else there is.
SURROUNDINGS: dict[str, Commands] = {
    "paused": [["HSET", "{p}meta", "paused", "0"]],
    "meta a string": [["SET", "{p}meta", "x"]],
    "pending a string": [["DEL", "{p}pending"], ["SET", "{p}pending", "x"]],
    "active a list": [["DEL", "{p}active"], ["RPUSH", "{p}active", "x"]],
    "schedule a set": [["DEL", "{p}schedule"], ["SADD", "{p}schedule", "x"]],
    "dead a hash": [["DEL", "{p}dead"], ["HSET", "{p}dead", "x", "y"]],
    "metrics strings": [["SET", "{p}metrics:failed", "x"], ["SET", "{p}metrics:completed", "x"]],
    "metrics odd": [
        ["HSET", "{p}metrics:failed", "count", "x", "more", "y"],
        ["HSET", "{p}metrics:completed", "count", str(2**63 - 1)],
    ],
    "another version": [["SET", "{emq}:version", "echomq:2.0.0"]],
    "version a list": [["DEL", "{emq}:version"], ["RPUSH", "{emq}:version", "x"]],
    "no version": [["DEL", "{emq}:version"]],
    "lane paused": [["SADD", "{p}paused", "tea"], ["HSET", "{p}gactive", "tea", "2"]],
    "lane at its limit": [["HSET", "{p}glimit", "tea", "1"], ["HSET", "{p}gactive", "tea", "2"]],
    "lane at its limit, another waits": [
        ["HSET", "{p}glimit", "tea", "1"],
        ["HSET", "{p}gactive", "tea", "2"],
        held("g:tea:pending", job=OTHER),
    ],
    "lane on the ring": [["RPUSH", "{p}ring", "tea"], held("g:tea:pending", job=OTHER)],
    "lane with one more": [["HSET", "{p}gactive", "tea", "1"], held("g:tea:pending", job=OTHER)],
    "in its lane": [["RPUSH", "{p}ring", "tea"], held("g:tea:pending")],
    "lane keys wrong": [["SET", "{p}gactive", "x"], ["SET", "{p}ring", "x"], ["SET", "{p}g:tea:pending", "x"]],
    "ring a string": [["SET", "{p}ring", "x"]],
    "wake a string": [["SET", "{p}wake", "x"]],
}

LANES = [name for name in SURROUNDINGS if "lane" in name or name.startswith(("ring", "wake"))]

_FAIL = {"verb": "fail", "id": JOB, "error": "boom"}

#: The calls, with values that decide differently.
CALLS: list[Json] = [
    {"verb": "enqueue", "id": JOB, "payload": "tea"},
    {"verb": "enqueue", "id": "XYZ0NgWEfAEJfs", "payload": "tea"},
    {"verb": "schedule", "id": JOB, "payload": "tea", "mode": "in", "value": "500"},
    {"verb": "schedule", "id": JOB, "payload": {"hex": "ff"}, "mode": "at", "value": "1795952399000"},
    {"verb": "schedule", "id": JOB, "payload": "tea", "mode": "in", "value": "x"},
    {"verb": "claim", "lease_ms": "30000"},
    {"verb": "claim", "lease_ms": "x"},
    {"verb": "claim", "lease_ms": str(2**63 - 1)},
    {"verb": "complete", "id": JOB, "token": "1"},
    {"verb": "complete", "id": JOB, "token": ""},
    {**_FAIL, "token": "1", "delay_ms": "0", "max_attempts": "1"},
    {**_FAIL, "token": "1", "delay_ms": "2500", "max_attempts": "3"},
    {**_FAIL, "token": "2", "delay_ms": "0", "max_attempts": "3"},
    {**_FAIL, "token": "1", "delay_ms": "x", "max_attempts": "3"},
    {"verb": "delay", "id": JOB, "token": "1", "mode": "in", "value": "4000"},
    {"verb": "delay", "id": JOB, "token": "1", "mode": "at", "value": "1795952399000"},
    {"verb": "delay", "id": JOB, "token": "01", "mode": "in", "value": "4000"},
    {"verb": "requeue", "id": JOB, "token": "1"},
    {"verb": "requeue", "id": JOB, "token": "2"},
    {"verb": "extend", "id": JOB, "token": "1", "lease_ms": "30000"},
    {"verb": "extend", "id": JOB, "token": "2", "lease_ms": "30000"},
    {"verb": "extends", "lease_ms": "5000", "pairs": [[JOB, "1"], [GHOST, "1"], [JOB, "2"]]},
    {"verb": "promote", "batch": "100"},
    {"verb": "promote", "batch": "x"},
    {"verb": "stalled_check", "max_stalled": "1", "limit": "100"},
    {"verb": "stalled_check", "max_stalled": "3", "limit": "100"},
    {"verb": "stalled_check", "max_stalled": "1", "limit": "0"},
    {"verb": "reap"},
    {"verb": "reprocess", "id": JOB},
    {"verb": "pause"},
    {"verb": "resume"},
    {"verb": "lane_claim", "lease_ms": "1000"},
]
VERBS = list(dict.fromkeys(call["verb"] for call in CALLS))


def case(name: str, given: Commands, when: list[Json], **more: Any) -> Json:
    """A case in the file format."""
    return {"name": name, "queue": "q", "about": "", "given": given, "when": when, **more}


#: Where each transition finds a job, or fails to.
HOLDERS = ("nowhere", "pending", "dead", "active")
FINDS: dict[str, tuple[str, ...]] = {
    "enqueue": ("nowhere",),
    "schedule": ("nowhere",),
    "claim": ("nowhere", "pending"),
    "extends": ("nowhere", "active"),
    "extend": ("nowhere", "active"),
    "promote": ("nowhere", "due"),
    "stalled_check": ("active", "expired"),
    "reap": ("active", "expired"),
    "reprocess": ("nowhere", "dead"),
    "pause": ("nowhere",),
    "resume": ("nowhere",),
    "lane_claim": ("nowhere",),
}


def alone(verb: str) -> Iterator[Json]:
    """Every state of the job × every call of a verb, nothing else in the queue."""
    for kind, place, call in itertools.product(ROWS, FINDS.get(verb, HOLDERS), _calls(verb)):
        yield case(f"{verb}/{kind}, {place}", [*ROWS[kind], *PLACES[place]], [call])


def surrounded(verb: str) -> Iterator[Json]:
    """Each surrounding × every call of a verb: lanes around a lane row, all else around a row that can be served."""
    places = FINDS.get(verb, HOLDERS)
    for around, call in itertools.product(SURROUNDINGS, _calls(verb)):
        kind = "lane" if around in LANES else "no row" if verb in ("enqueue", "schedule") else "stamped"
        for place in dict.fromkeys((places[0], places[-1])) if kind == "lane" else places[-1:]:
            given = [*ROWS[kind], *PLACES[place], *SURROUNDINGS[around]]
            yield case(f"{verb}/{kind}, {place}, {around}", given, [call])


def _calls(verb: str) -> list[Json]:
    return [call for call in CALLS if call["verb"] == verb]


def worldly() -> Iterator[Json]:
    """Lives in several steps, with a world that moves."""
    live = [{"verb": "enqueue", "id": JOB, "payload": "tea"}, {"verb": "claim", "lease_ms": "6000"}]
    sweep = {"verb": "stalled_check", "max_stalled": "2", "limit": "100"}
    done = [{"verb": "complete", "id": JOB, "token": token} for token in ("1", "2")]
    yield case("world/lapse", [], [*live, {"advance_ms": 9000}, sweep, live[1], *done])
    yield case("world/restart", [], [*live, {"restart": True}, {"advance_ms": 9000}, sweep, sweep])
    yield case("world/clock steps back", [], [*live, {"advance_ms": -1500}, done[0]])
    yield case("world/another client", [], [*live, {"command": ["DEL", ROW]}, done[0]])
    yield case("world/a refused command", [], [*live, {"command": ["ZADD", ROW, "1", "x"]}, done[0]])
    yield case("world/many keys", [row()], [{"command": ["RENAME", ROW, "{p}job:" + OTHER]}, {"verb": "pause"}])
    yield case("world/expiry", [row(), ["PEXPIRE", ROW, "5000"], held("pending")], [{"advance_ms": 5001}, live[1]])
    yield case("world/nothing at all", [], [])
    yield case("world/a flow's keys", [["SET", ROW + ":dependencies", "2"], ["SET", "{emq}:x", "y"]], live)
    yield case("world/odd keys", [row(), held("active")], [{**done[0], "keys": ["{p}pending", ROW]}])
    yield case("world/odd arguments", [row(), held("active")], [{**done[0], "args": [JOB, "2", "{p}"]}])
    yield case("world/too few", [row(), held("active")], [{**done[0], "keys": ["{p}active"]}])
    yield case("world/foreign", [row()], [{**live[0], "keys": ["emq:{other}:job:x", "emq:{other}:pending"]}])
    yield case("world/no base", [held("pending")], [{**live[1], "keys": ["{p}pending", "{p}active", ""]}])
