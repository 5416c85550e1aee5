"""Cases that lead every transition to every outcome it has: states of one job × calls, made by enumeration."""

import itertools
from collections.abc import Iterator
from typing import Any

from emqlab.observe.run import Run
from emqlab.observe.state import state_of
from emqlab.observe.trace import Frame
from emqlab.observe.walk import merge

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
    "an empty parent": [row("parent", "", "parent_policy", "id")],
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
    "in its lane": [["RPUSH", "{p}ring", "tea"], held("g:tea:pending")],
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
    "lane empty on the ring": [["RPUSH", "{p}ring", "tea"]],
    "lane with room": [["HSET", "{p}glimit", "tea", "5"], held("g:tea:pending", job=OTHER)],
    "lane without a number": [["HSET", "{p}glimit", "tea", "1_0"], held("g:tea:pending", job=OTHER)],
    "lane keys wrong": [["SET", "{p}gactive", "x"], ["SET", "{p}ring", "x"], ["SET", "{p}g:tea:pending", "x"]],
    "ring a string": [["SET", "{p}ring", "x"]],
    "wake a string": [["SET", "{p}wake", "x"]],
}

PARENT = "{p}job:" + OTHER
_WAITS = ["HSET", PARENT, "state", "awaiting_children", "attempts", "0", "payload", "pot"]
_IGNORE = ["HSET", ROW, "parent_policy", "id"]


def _one_child(*more: list[Any]) -> Commands:
    return [_WAITS, ["SET", PARENT + ":dependencies", "1"], *more]


#: What there is around a flow's child: its parent, waiting or not.
PARENTS: dict[str, Commands] = {
    "no parent": [],
    "the last child": _one_child(),
    "one child of two": [_WAITS, ["SET", PARENT + ":dependencies", "2"]],
    "the parent in line": _one_child(held("pending", job=OTHER)),
    "told before": _one_child(["HSET", PARENT + ":failed", JOB, "x"]),
    "the last child, to be ignored": _one_child(_IGNORE),
    "ignored, one of two": [_WAITS, ["SET", PARENT + ":dependencies", "2"], _IGNORE],
    "ignored, told before": _one_child(_IGNORE, ["HSET", PARENT + ":unsuccessful", JOB, "x"]),
    "ignored, no parent": [_IGNORE],
    "dependencies no number": [_WAITS, ["SET", PARENT + ":dependencies", "x"], _IGNORE],
    "dependencies a list": [["RPUSH", PARENT + ":dependencies", "x"], _IGNORE],
    "the parent a string": [["SET", PARENT, "x"]],
    "hashes strings": [["SET", PARENT + ":" + name, "x"] for name in ("processed", "failed")],
    "ignored, a hash a string": [["SET", PARENT + ":unsuccessful", "x"], _IGNORE],
    "pending wrong": _one_child(["SET", "{p}pending", "x"]),
    "ignored, pending wrong": _one_child(["SET", "{p}pending", "x"], _IGNORE),
}

LANES = [name for name in SURROUNDINGS if "lane" in name or name.startswith(("ring", "wake"))]

_FAIL = {"verb": "fail", "id": JOB, "error": "boom"}
_DEAD = {"token": "1", "delay_ms": "0", "max_attempts": "1"}
_ADD = {"verb": "flow_add", "id": JOB, "payload": "tea"}
#: The verbs that make a row, and those that tell a flow's parent.
_MAKERS = ("enqueue", "schedule", "lane_enqueue", "flow_add")
_TELLERS = ("complete", "fail")

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
    {"verb": "complete", "id": JOB, "token": "1", "result": "brewed"},
    {"verb": "lane_enqueue", "id": JOB, "payload": "tea", "group": "tea"},
    {"verb": "lane_enqueue", "id": "XYZ0NgWEfAEJfs", "payload": "tea", "group": "tea"},
    {"verb": "lane_claim", "lease_ms": "1000"},
    {"verb": "lane_claim", "lease_ms": "x"},
    {"verb": "lane_pause", "group": "tea"},
    {"verb": "lane_resume", "group": "tea"},
    {"verb": "lane_limit", "group": "tea", "limit": "2"},
    {"verb": "lane_limit", "group": "tea", "limit": "x"},
    {**_ADD, "children": [[OTHER, "pot"], [GHOST, "cup"]], "policy": ""},
    {**_ADD, "children": [[OTHER, "pot"]], "policy": "id"},
    {**_ADD, "children": [[OTHER, "pot"]], "policy": "fp"},
    {**_ADD, "children": [["XYZ0NgWEfAEJfs", "pot"]], "policy": ""},
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
    "lane_claim": ("nowhere", "in its lane"),
    **dict.fromkeys(("lane_enqueue", "lane_pause", "lane_resume", "lane_limit", "flow_add"), ("nowhere",)),
}


def walked(ran: Run, told: list[Frame]) -> Any:
    """The state that the patches of a run's frames lead to."""
    state: Any = state_of(ran.before, ran.case.queue)
    for frame in told:
        state = merge(state, frame.patch or {})
    return state


def alone(verb: str) -> Iterator[Json]:
    """Every state of the job × every call of a verb, nothing else in the queue."""
    for kind, place, call in itertools.product(ROWS, FINDS.get(verb, HOLDERS), _calls(verb)):
        yield case(f"{verb}/{kind}, {place}", [*ROWS[kind], *PLACES[place]], [call])


def surrounded(verb: str) -> Iterator[Json]:
    """Each surrounding × every call of a verb: lanes around a lane row, all else around a row that can be served."""
    places = FINDS.get(verb, HOLDERS)
    for around, call in itertools.product(SURROUNDINGS, _calls(verb)):
        kind = "no row" if verb in _MAKERS else "lane" if around in LANES else "stamped"
        for place in dict.fromkeys((places[0], places[-1])) if kind == "lane" else places[-1:]:
            given = [*ROWS[kind], *PLACES[place], *SURROUNDINGS[around]]
            yield case(f"{verb}/{kind}, {place}, {around}", given, [call])


def parented(verb: str) -> Iterator[Json]:
    """Every parent × every call of a verb that a flow's child can be told by, leased and waiting."""
    for around, call, place in itertools.product(PARENTS, _calls(verb), ("pending", "active")):
        if verb in _TELLERS:
            given = [*ROWS["flow"], *PLACES[place], *PARENTS[around]]
            yield case(f"{verb}/{around}, {place}", given, [call])


def first(verb: str) -> Json:
    """The first call of a verb."""
    return _calls(verb)[0]


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
    yield from _lanes_and_flows()
    yield case("world/no base", [held("pending")], [{**live[1], "keys": ["{p}pending", "{p}active", ""]}])


def _lanes_and_flows() -> Iterator[Json]:
    """Lives of lanes and of flows, and a child whose call has keys or arguments of its own."""
    claim, lane = {"verb": "claim", "lease_ms": "6000"}, {"verb": "lane_claim", "lease_ms": "6000"}
    two = {**_ADD, "children": [[OTHER, "pot"], [GHOST, "cup"]], "policy": ""}
    done = [{"verb": "complete", "id": job, "token": "1"} for job in (OTHER, GHOST)]
    yield case("world/a flow", [], [two, claim, claim, *done, claim])
    yield case(
        "world/a flow's dead child", [], [{**two, "policy": "id"}, claim, {**_FAIL, **_DEAD, "id": GHOST}, claim]
    )
    yield case("world/a flow dies", [], [two, claim, {**_FAIL, **_DEAD, "id": GHOST}, claim, done[0]])
    adds = [{"verb": "lane_enqueue", "id": job, "payload": "x", "group": job[-1]} for job in (JOB, OTHER, GHOST)]
    turns = [{"verb": "lane_limit", "group": "t", "limit": "0"}, lane, {"verb": "lane_pause", "group": "C"}, lane, lane]
    yield case("world/lanes", [], [*adds, *turns, {"verb": "lane_resume", "group": "C"}, lane, {"advance_ms": 9000}])
    child = [*ROWS["flow"], *PLACES["active"], *PARENTS["the last child"]]
    mine = {"verb": "complete", "id": JOB, "token": "1"}
    yield case("world/a child with keys", child, [{**mine, "keys": ["{p}active", ROW]}])
    yield case("world/a child with arguments", child, [{**mine, "args": [JOB, "1", "{p}"]}])
    told = [ROW + ":dependencies", ROW + ":processed", ROW]
    yield case(
        "world/its own parent", child, [{**mine, "keys": ["{p}active", ROW, *told], "args": [JOB, "1", "{p}", JOB, ""]}]
    )
    nameless: list[Json] = [{**adds[0], "group": ""}, lane, {"verb": "lane_pause", "group": {"hex": "ff00"}}, done[0]]
    yield case("world/groups without a word", [], nameless)
    like = ["HSET", "{p}job:x:failed", "attempts", "1", "parent", "y"]
    yield case("world/an id like a flow's key", [like, held("active", job="x:failed")], [{"verb": "reap"}, claim])
    yield case("world/children in arguments", [], [{**two, "args": [JOB, "tea", "id", OTHER, "pot"]}])
    yield case("world/a child alone", child, [{**_FAIL, **_DEAD, "keys": ["{p}active", "{p}schedule", "{p}dead", ROW]}])
