"""The small worlds of lanes and flows: every state that two jobs of lanes, and a flow of two children, come to.

Found by walking, as the states of a flat job are. A world is kept whole: to a lane's job belong its ring, its slots and
its wakes, to a flow's child its parent.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from emqlab.parity.model import Held, Values, World, Zset, scripted
from emqlab.parity.trials.states import FAILURE, JOBS, LEASE_MS, PAYLOAD
from emqlab.parity.trials.trial import BASE, NOW_MS, QUEUE, world

#: Who is in the flow: the parent has the least id, as one that was minted before its children.
PARENT, CHILDREN = JOBS[0], JOBS[1:]
#: The bounds of these worlds: one claim a job and one stall, and an id is not used again.
MOST_ATTEMPTS = 1
_LEASE = b"%d" % LEASE_MS
_SETS = ("pending", "active", "schedule", "dead")
_PAST, _FUTURE = NOW_MS - 1_000.0, float(NOW_MS + LEASE_MS)

Calls = Iterator[tuple[str, Values]]


def lane_calls(found: World) -> Calls:
    """What is done in a world of two lanes' jobs: as many calls, in the same order, whatever the world."""
    first, second = JOBS[:2]
    for group in (b"g", b"h"):
        yield "lane_enqueue", {"id": first, "payload": PAYLOAD, "group": group}
        yield "lane_enqueue", {"id": second, "payload": PAYLOAD, "group": group}
    yield "lane_claim", {"lease_ms": _LEASE}
    for verb in ("lane_pause", "lane_resume"):
        yield verb, {"group": b"g"}
    for limit in (b"0", b"1", b"2"):
        yield "lane_limit", {"group": b"g", "limit": limit}
    for job in (first, second):
        yield from _holder_calls(found, job)
    yield from _queue_calls()


def flow_calls(found: World) -> Calls:
    """What is done in a world of a flow of two children: as many calls, in the same order, whatever the world."""
    children = [(child, PAYLOAD) for child in CHILDREN]
    for policy in (b"", b"fp", b"id"):
        yield "flow_add", {"id": PARENT, "payload": PAYLOAD, "children": children, "policy": policy}
    yield "flow_add", {"id": CHILDREN[0], "payload": PAYLOAD, "children": children[1:], "policy": b""}
    for child in CHILDREN:
        yield from _holder_calls(found, child)
        yield "complete", {"id": child, "token": _attempts(found, child), "result": b"\x00done"}
    yield from _holder_calls(found, PARENT)
    yield from _queue_calls()


def _holder_calls(found: World, job: bytes) -> Calls:
    """What the holder of a job does, and one who holds it no longer."""
    token = _attempts(found, job)
    holder: dict[str, bytes] = {"id": job, "token": token}
    failing: dict[str, bytes] = {**holder, "delay_ms": _LEASE, "error": FAILURE}
    yield "complete", holder
    yield "complete", {**holder, "token": b"1" if token != b"1" else b"2"}
    yield "fail", {**failing, "max_attempts": b"9"}
    yield "fail", {**failing, "max_attempts": b"1"}
    yield "delay", {**holder, "mode": b"in", "value": _LEASE}
    yield "requeue", holder
    yield "extend", {**holder, "lease_ms": _LEASE}
    yield "extends", {"lease_ms": _LEASE, "pairs": [(job, token)]}
    yield "reprocess", {"id": job}


def _queue_calls() -> Calls:
    yield "claim", {"lease_ms": _LEASE}
    yield "promote", {"batch": b"100"}
    yield "promote", {"batch": b"1"}
    yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"1"}
    yield "reap", {}


@cache
def lane_worlds() -> tuple[World, ...]:
    """Two jobs in lanes, as the scripts' workers bring them there who hold what they present; the first is empty."""
    return _walked(_lane_leads)


@cache
def flow_worlds() -> tuple[World, ...]:
    """A flow of two children, likewise."""
    return _walked(_flow_leads)


def _lane_leads(found: World) -> Calls:
    """What leads from one world of lanes to others: of calls that lead alike, one."""
    first, second = JOBS[:2]
    if BASE + b"metrics:completed" not in found.keys:
        yield "lane_enqueue", {"id": first, "payload": PAYLOAD, "group": b"g"}
        for group in (b"g", b"h"):
            yield "lane_enqueue", {"id": second, "payload": PAYLOAD, "group": group}
    yield "lane_claim", {"lease_ms": _LEASE}
    yield "lane_pause", {"group": b"g"}
    yield "lane_resume", {"group": b"g"}
    yield "lane_limit", {"group": b"g", "limit": b"1"}
    yield from _leads(found, (first, second))


def _flow_leads(found: World) -> Calls:
    """What leads from one world of a flow to others."""
    if not found.keys:
        for policy in (b"", b"id"):
            children = [(child, PAYLOAD) for child in CHILDREN]
            yield "flow_add", {"id": PARENT, "payload": PAYLOAD, "children": children, "policy": policy}
    yield from _leads(found, JOBS)


def _leads(found: World, jobs: tuple[bytes, ...]) -> Calls:
    held: dict[str, Held | None] = {name: found.keys.get(BASE + name.encode()) for name in _SETS}
    for job in jobs:
        if job in (held["active"] or ()):
            holder: dict[str, bytes] = {"id": job, "token": _attempts(found, job)}
            yield "complete", holder
            for most in (b"9", b"1"):
                yield "fail", {**holder, "delay_ms": _LEASE, "error": FAILURE, "max_attempts": most}
        if job in (held["dead"] or ()):
            yield "reprocess", {"id": job}
    if held["pending"]:
        yield "claim", {"lease_ms": _LEASE}
    if held["schedule"]:
        yield "promote", {"batch": b"100"}
    if held["active"]:
        yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
        yield "stalled_check", {"max_stalled": b"2", "limit": b"100"}
        yield "reap", {}


def _walked(leads: Callable[[World], Calls]) -> tuple[World, ...]:
    empty = world({})
    met: dict[object, World] = {_known(empty): empty}
    line = [empty]
    for found in line:
        for after in _neighbours(found, leads):
            name = _known(after)
            if name not in met and _within(after):
                met[name] = after
                line.append(after)
    return tuple(line)


def _neighbours(found: World, leads: Callable[[World], Calls]) -> Iterable[World]:
    for verb, values in leads(found):
        reached = found.copy()
        scripted(reached, QUEUE, verb, values)
        yield _bounded(reached)
    yield _lapsed(found)


def _bounded(found: World) -> World:
    """The same world within the bounds: times are past or to come, and one wake is as good as many."""
    for name in (b"active", b"schedule"):
        held = found.keys.get(BASE + name)
        if isinstance(held, Zset):
            found.keys[BASE + name] = Zset({job: _PAST if score <= NOW_MS else _FUTURE for job, score in held.items()})
    wakes = found.keys.get(BASE + b"wake")
    if isinstance(wakes, list):
        found.keys[BASE + b"wake"] = wakes[:1]
    return found


def _lapsed(found: World) -> World:
    """The same world when all its times have come."""
    after = found.copy()
    for name in (b"active", b"schedule"):
        held = after.keys.get(BASE + name)
        if isinstance(held, Zset):
            after.keys[BASE + name] = Zset(dict.fromkeys(held, _PAST))
    return after


def _within(found: World) -> bool:
    rows = [held for name, held in found.keys.items() if name.startswith(BASE + b"job:") and type(held) is dict]
    counted = (b"attempts", b"stalled")
    return all(int(row.get(name, b"0")) <= MOST_ATTEMPTS for row in rows for name in counted) and all(
        int(held.get(b"count", b"0")) <= MOST_ATTEMPTS
        for name, held in found.keys.items()
        if name.startswith(BASE + b"metrics:") and type(held) is dict
    )


def _known(found: World) -> object:
    """What tells a world from another. Metrics don't: nothing is done by them."""
    return tuple(
        (name, _frozen(held)) for name, held in sorted(found.keys.items()) if not name.startswith(BASE + b"metrics:")
    )


def _frozen(held: Held) -> object:
    if isinstance(held, Zset | dict):
        return tuple(sorted(held.items()))
    return tuple(sorted(held)) if isinstance(held, set) else tuple(held)


def _attempts(found: World, job: bytes) -> bytes:
    row = found.keys.get(BASE + b"job:" + job)
    return row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
