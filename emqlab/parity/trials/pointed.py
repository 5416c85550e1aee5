"""What is wrong only together: two things at once, the last of all times, and lines longer than a call takes on.

Sources: SPEC 5.1, rules 1 and 7 (in which order things are refused), SPEC 4.1 (how many a call takes on).
"""

from collections.abc import Iterator
from itertools import combinations

from emqlab.parity.model import Held, Values, World, Zset
from emqlab.parity.trials.calls import edge_calls
from emqlab.parity.trials.corruptions import CORRUPTIONS, FULL, JOB, OTHER, applied
from emqlab.parity.trials.states import FAILURE, PAYLOAD, SETS
from emqlab.parity.trials.trial import BASE, EPOCHS, NOW_MS, Do, world

_LEASED: dict[bytes, bytes] = {
    b"state": b"active",
    b"attempts": b"1",
    b"payload": PAYLOAD,
    b"lease_epoch": EPOCHS[0],
}
_WAITING: dict[bytes, bytes] = {b"state": b"pending", b"attempts": b"1", b"payload": PAYLOAD}
#: What a verb looks at before it writes: the sets it writes to, the metrics, the row's counters, whose the row is.
_LOOKED_AT = (
    *(f"{name.decode()} is a string" for name in SETS),
    *(f"metrics:{name} {what}" for name in ("completed", "failed") for what in ("'many'", "is a string")),
    *(f"row {name} 'one'" for name in ("failures", "stalled")),
    *("lane row", "flow row"),
)
_BY_NAME = {corruption.name: corruption for corruption in CORRUPTIONS}
_WRONG = tuple(_BY_NAME[name] for name in _LOOKED_AT)


def pointed() -> Iterator[tuple[World, Do]]:
    """Every such world with its calls."""
    for start in sound_worlds():
        for verb, values in edge_calls(start):
            yield start, Do(verb, values)
        for found in _wrong_twice(start):
            for verb, values in _beyond_calls():
                yield found, Do(verb, values)
    for deaths in (2, 3):
        for room in range(deaths + 1):
            yield nearly_full(deaths, room), Do("stalled_check", {"max_stalled": b"1", "limit": b"100"})
    yield from _long_lines()


def sound_worlds() -> tuple[World, ...]:
    """One job: not there, waiting, leased, with a lease that ran out, due, and dead."""
    lapsed, later = NOW_MS - 1_000.0, NOW_MS + 30_000.0
    return (
        world({}),
        world({b"job:" + JOB: dict(_WAITING), b"pending": Zset({JOB: 0.0})}),
        world({b"job:" + JOB: dict(_LEASED), b"active": Zset({JOB: later})}),
        world({b"job:" + JOB: dict(_LEASED), b"active": Zset({JOB: lapsed})}),
        world({b"job:" + JOB: {**_WAITING, b"state": b"scheduled"}, b"schedule": Zset({JOB: lapsed})}),
        world({b"job:" + JOB: {**_WAITING, b"state": b"dead"}, b"dead": Zset({JOB: 0.0})}),
    )


def nearly_full(deaths: int, room: int) -> World:
    """So many jobs that a sweep finds dead, where the dead can be counted on ``room`` times."""
    found = _line(b"active", deaths, _LEASED)
    found.keys[BASE + b"metrics:failed"] = {b"count": b"%d" % (int(FULL) - room)}
    return found


def _wrong_twice(start: World) -> Iterator[World]:
    """The world as it is, with one thing wrong that a verb looks at before it writes, and with two."""
    for count in range(3):
        for chosen in combinations(_WRONG, count):
            found: World | None = start
            for corruption in chosen:
                found = None if found is None else applied(corruption, found)
            if found is not None:
                yield found


def _beyond_calls() -> Iterator[tuple[str, Values]]:
    """Every verb that is refused by what it finds; where it takes a time, one beyond all that there is."""
    holder: dict[str, bytes] = {"id": JOB, "token": b"1"}
    later: dict[str, bytes] = {"mode": b"in", "value": FULL}
    yield "schedule", {"id": JOB, "payload": PAYLOAD, **later}
    yield "claim", {"lease_ms": FULL}
    yield "complete", holder
    yield "fail", {**holder, "delay_ms": FULL, "max_attempts": b"9", "error": FAILURE}
    yield "fail", {**holder, "delay_ms": FULL, "max_attempts": b"1", "error": FAILURE}
    yield "delay", {**holder, **later}
    yield "requeue", holder
    yield "extend", {**holder, "lease_ms": FULL}
    yield "extends", {"lease_ms": FULL, "pairs": [(JOB, b"1"), (OTHER, b"1")]}
    yield "promote", {"batch": b"100"}
    yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"100"}
    yield "reprocess", {"id": JOB}


def _long_lines() -> Iterator[tuple[World, Do]]:
    """More than a call takes on by itself, or as many as it was told to: one call is one step, however long."""
    for limit in (b"4", b"5", b"6", b"100"):
        yield _line(b"active", 6, _LEASED), Do("stalled_check", {"max_stalled": b"2", "limit": limit})
    for limit in (b"100", b"101", b"2000"):
        yield _line(b"active", 102, _LEASED), Do("stalled_check", {"max_stalled": b"1", "limit": limit})
        yield _line(b"schedule", 102, _WAITING), Do("promote", {"batch": limit})
    yield _line(b"active", 102, _LEASED), Do("reap", {})
    yield _line(b"schedule", 1_001, _WAITING), Do("promote", {"batch": b"2000"})
    yield _line(b"active", 1_001, _LEASED), Do("stalled_check", {"max_stalled": b"2", "limit": b"2000"})


def _line(name: bytes, count: int, row: dict[bytes, bytes]) -> World:
    """So many jobs whose time has come, all in one set."""
    ids = [b"JOB0NgWEfAE%03x" % place for place in range(count)]
    held: dict[bytes, Held] = {b"job:" + job: dict(row) for job in ids}
    return world({**held, name: Zset({job: NOW_MS - 2_000.0 + place for place, job in enumerate(ids)})})
