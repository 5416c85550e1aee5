"""Corruptions: what can be wrong with a row, a set, a counter or a call, each by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from emqlab.keys import VERSION_KEY
from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Held, Values, World, Zset
from emqlab.parity.trials.states import FAILURE, JOBS, LEASE_MS, PAYLOAD, SETS, TOKENS, presenting
from emqlab.parity.trials.trial import BASE, EPOCHS, NOW_MS

JOB, OTHER = JOBS[0], JOBS[1]
ROW, OTHER_ROW = BASE + b"job:" + JOB, BASE + b"job:" + OTHER
#: The least integer that can be stored, and what lies beyond it and beyond the largest.
_BOUNDS = (b"-9223372036854775808", b"-9223372036854775809", b"9223372036854775808")
#: Texts that HINCRBY, Lua and a worker's own parser read each in their own way.
ODD_INTEGERS = (b"", b"01", b"+1", b" 1", b"1 ", b"1.0", b"-0", b"-1", b"-01", b"1e3", b"0x1", b"one", *_BOUNDS)
#: The largest integer that can be stored, and the first one that a double can't hold.
FULL, BEYOND_DOUBLES = b"9223372036854775807", b"9007199254740993"
#: The last that can be counted on from. As attempts it makes a token which scripts give in ways of the server's own.
_ALMOST_FULL = b"9223372036854775806"
#: What stands in the place of a key of another type.
WRONG: dict[str, Held] = {
    "string": b"spoiled",
    "hash": {b"spoiled": b"1"},
    "zset": Zset({b"spoiled": 0.0}),
    "list": [b"spoiled"],
    "set": {b"spoiled"},
}


@dataclass(frozen=True, slots=True)
class Corruption:
    """One thing that is wrong. ``apply`` changes a world that has one job, and answers False where it can't be."""

    name: str
    apply: Callable[[World], bool]

    @property
    def family(self) -> str:
        """What it is about: its name's first two words, without the value."""
        return " ".join(self.name.split(" '")[0].split(",")[0].split(" ")[:2])


def _field(name: bytes, value: bytes | None) -> Callable[[World], bool]:
    def apply(found: World) -> bool:
        row = found.keys.get(ROW)
        if not isinstance(row, dict) or isinstance(row, Zset) or row.get(name) == value:
            return False
        if value is None:
            del row[name]
            if not row:
                del found.keys[ROW]
        else:
            row[name] = value
        return True

    return apply


def _key(name: bytes, held: Held | None, *, only_if_there: bool = False) -> Callable[[World], bool]:
    def apply(found: World) -> bool:
        key = BASE + name
        if found.keys.get(key) == held or (only_if_there and key not in found.keys):
            return False
        if held is None:
            del found.keys[key]
        else:
            found.keys[key] = held if isinstance(held, bytes) else held.copy()
        return True

    return apply


def _member(name: bytes, member: bytes, score: float) -> Callable[[World], bool]:
    def apply(found: World) -> bool:
        members = found.keys.setdefault(BASE + name, Zset())
        if not isinstance(members, Zset) or members.get(member) == score:
            return False
        members[member] = score
        return True

    return apply


def _moved(name: bytes) -> Callable[[World], bool]:
    """The id leaves the set."""

    def apply(found: World) -> bool:
        members = found.keys.get(BASE + name)
        if not isinstance(members, Zset) or JOB not in members:
            return False
        del members[JOB]
        if not members:
            del found.keys[BASE + name]
        return True

    return apply


def _both(*applied: Callable[[World], bool]) -> Callable[[World], bool]:
    def apply(found: World) -> bool:
        # Each is applied, also behind one that could not be.
        done = [each(found) for each in applied]
        return all(done)

    return apply


def _neighbour(row: Held | None, *, before: bool) -> Callable[[World], bool]:
    """A second job beside the first, in the same sets; ``before`` it in the server's order where times decide."""

    def apply(found: World) -> bool:
        beside = False
        for name in SETS:
            members = found.keys.get(BASE + name)
            if isinstance(members, Zset) and JOB in members:
                members[OTHER] = members[JOB] - (500 if before and members[JOB] else 0)
                beside = True
        if beside and row is not None:
            found.keys[OTHER_ROW] = row if isinstance(row, bytes) else row.copy()
        return beside

    return apply


def _rows() -> Iterator[Corruption]:
    for name in (b"attempts", b"failures", b"stalled"):
        for value in (*ODD_INTEGERS, FULL, BEYOND_DOUBLES):
            yield Corruption(f"row {name.decode()} {value.decode()!r}", _field(name, value))
    for name in (b"failures", b"stalled"):
        yield Corruption(f"row {name.decode()} {_ALMOST_FULL.decode()!r}", _field(name, _ALMOST_FULL))
    yield Corruption("row without attempts", _field(b"attempts", None))
    yield Corruption("row without payload", _field(b"payload", None))
    yield Corruption("row with an empty payload", _field(b"payload", b""))
    yield Corruption("row without state", _field(b"state", None))
    for state in (b"pending", b"active", b"dead", b"", b"unheard of"):
        yield Corruption(f"row state {state.decode()!r}", _field(b"state", state))
    for epoch in (b"", OLD_RUN_ID, b"f" * 40, EPOCHS[0] + b" ", EPOCHS[0]):
        yield Corruption(f"row lease_epoch {epoch.decode()!r}", _field(b"lease_epoch", epoch))
    yield Corruption("row with a field of nobody's", _field(b"colour", b"red"))
    for kind, held in WRONG.items():
        if kind != "hash":
            yield Corruption(f"row is a {kind}", _key(b"job:" + JOB, held))
    gone = _key(b"job:" + JOB, None, only_if_there=True)
    yield Corruption("row gone", gone)
    for name in SETS:
        # A key that would be written, but not for a ghost.
        yield Corruption(f"row gone and {name.decode()} a string", _both(gone, _key(name, WRONG["string"])))


def _sets() -> Iterator[Corruption]:
    for name in SETS:
        for kind in ("string", "hash"):
            yield Corruption(f"{name.decode()} is a {kind}", _key(name, WRONG[kind]))
        yield Corruption(f"also in {name.decode()}", _member(name, JOB, 0.0))
        yield Corruption(f"gone from {name.decode()}", _moved(name))
        yield Corruption(f"a ghost of another job in {name.decode()}", _member(name, b"JOB0NgWEfAEJf0", 0.0))
    for score in (float("-inf"), float("inf"), 0.5, -1.0):
        yield Corruption(f"pending scored {score}", _member(b"pending", JOB, score))
        yield Corruption(f"leased until {score}", _member(b"active", JOB, score))
    yield Corruption("leased until this very ms", _member(b"active", JOB, float(NOW_MS)))
    yield Corruption("due at this very ms", _member(b"schedule", JOB, float(NOW_MS)))
    for where, before in (("before", True), ("beside", False)):
        fields = {b"state": b"active", b"attempts": b"1", b"payload": PAYLOAD, b"lease_epoch": EPOCHS[0]}
        beside: dict[str, Held | None] = {
            "job": fields,
            "job of an earlier epoch": {**fields, b"lease_epoch": OLD_RUN_ID},
            "job that stalled before": {**fields, b"stalled": b"1"},
            "job with a bad stalled": {**fields, b"stalled": b"01"},
            "ghost": None,
            "string": b"spoiled",
            "lane row": {**fields, b"group": b"g"},
        }
        for what, row in beside.items():
            yield Corruption(f"a {what} {where} it", _neighbour(row, before=before))


def _counters() -> Iterator[Corruption]:
    for name in (b"completed", b"failed"):
        for value in (b"7", b"-5", b"", b"01", b"many", FULL, BEYOND_DOUBLES):
            yield Corruption(f"metrics:{name.decode()} {value.decode()!r}", _key(b"metrics:" + name, {b"count": value}))
        yield Corruption(f"metrics:{name.decode()} is a string", _key(b"metrics:" + name, WRONG["string"]))
    for value in (b"1", b"0", b""):
        yield Corruption(f"paused {value.decode()!r}", _key(b"meta", {b"paused": value}))
    for kind in ("hash", "string", "set"):
        yield Corruption(f"meta is a {kind}", _key(b"meta", WRONG[kind]))


def _lanes() -> Iterator[Corruption]:
    group, lane = _field(b"group", b"g"), b"g:g:pending"
    waiting: Held = Zset({b"JOB0NgWEfAEJfz": 0.0})
    yield Corruption("lane row", group)
    yield Corruption("lane row of the empty group", _field(b"group", b""))
    yield Corruption("flow row", _field(b"parent", OTHER))
    yield Corruption("flow row of the empty parent", _field(b"parent", b""))
    yield Corruption("lane row that waits in its lane", _both(group, _member(lane, JOB, 0.0)))
    yield Corruption("lane row, others wait", _both(group, _key(lane, waiting)))
    around: dict[str, tuple[bytes, Held]] = {
        "one slot taken": (b"gactive", {b"g": b"1"}),
        "three slots taken": (b"gactive", {b"g": b"3", b"h": b"2"}),
        "slots that are no number": (b"gactive", {b"g": b"many"}),
        "slots in a string": (b"gactive", b"spoiled"),
        "no slot to have": (b"glimit", {b"g": b"0"}),
        "five slots to have": (b"glimit", {b"g": b"5"}),
        "lane paused": (b"paused", {b"g"}),
        "another lane paused": (b"paused", {b"h"}),
        "paused in a string": (b"paused", b"spoiled"),
        "on the ring": (b"ring", [b"h", b"g"]),
        "the ring a string": (b"ring", b"spoiled"),
        "wake a string": (b"wake", b"spoiled"),
        "wake full": (b"wake", [b"1"] * 64),
        "the lane a string": (lane, b"spoiled"),
    }
    for name, (key, held) in around.items():
        yield Corruption(f"lane row, {name}", _both(group, _key(key, held)))
        if key not in (lane, b"gactive"):
            yield Corruption(f"lane row, others wait, {name}", _both(group, _key(lane, waiting), _key(key, held)))


def _fences() -> Iterator[Corruption]:
    """The wire version is every queue's: few states are tried with it, for each such trial is run alone."""
    other: dict[str, Held] = {"another": b"echomq:2.0.0", "an empty one": b"", "a list": [b"echomq:3.0.0"]}
    for name, held in other.items():

        def apply(found: World, held: Held = held) -> bool:
            row = found.keys.get(ROW)
            if not isinstance(row, dict) or isinstance(row, Zset) or row[b"attempts"] != b"1" or b"stalled" in row:
                return False
            found.keys[VERSION_KEY] = held
            return True

        yield Corruption(f"{name} as the wire version", apply)


#: Every corruption of a world, in the order of their index.
CORRUPTIONS: tuple[Corruption, ...] = (
    Corruption("nothing", lambda found: True),
    *_rows(),
    *_sets(),
    *_counters(),
    *_lanes(),
    *_fences(),
)


def usual_calls(found: World) -> Iterator[tuple[str, Values]]:
    """What is tried on a corrupted world: every verb, the token as it is stored, and a usual one."""
    row = found.keys.get(ROW)
    stored = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    yield from presenting(JOB, stored)
    wrong = b"1" if stored != b"1" else b"2"
    yield "complete", {"id": JOB, "token": wrong}
    yield "extend", {"id": JOB, "token": wrong, "lease_ms": b"30000"}
    yield "fail", {"id": JOB, "token": stored, "delay_ms": b"0", "max_attempts": b"1", "error": FAILURE}
    yield "enqueue", {"id": JOB, "payload": PAYLOAD}
    yield "schedule", {"id": JOB, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}
    yield "reprocess", {"id": JOB}
    yield "claim", {"lease_ms": b"30000"}
    yield "promote", {"batch": b"100"}
    yield "promote", {"batch": b"1"}
    yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"1"}
    yield "reap", {}
    yield "extends", {"lease_ms": b"30000", "pairs": [(JOB, stored), (OTHER, b"1")]}
    yield "pause", {}


#: Numbers as only Lua reads them, or nobody.
ODD_NUMBERS = (b"", b"0", b"-1", b"-5", b"01", b"+1", b" 5 ", b"1.5", b"1e3", b"0x10", b"inf", b"nan", b"many", FULL)


def odd_calls(found: World) -> Iterator[tuple[str, Values]]:
    """Calls with one value that is odd: a number, a mode, an id's kind, a token."""
    row = found.keys.get(ROW)
    token = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    holder: dict[str, bytes] = {"id": JOB, "token": token}
    job: dict[str, bytes] = {"id": JOB, "payload": PAYLOAD}
    later: dict[str, bytes] = {"mode": b"in", "value": b"30000"}
    sweep: dict[str, bytes] = {"max_stalled": b"2", "limit": b"100"}
    failing: dict[str, bytes] = {**holder, "delay_ms": b"30000", "max_attempts": b"2", "error": FAILURE}
    lease = b"%d" % LEASE_MS
    for odd in (*ODD_NUMBERS, b"1"):
        yield "claim", {"lease_ms": odd}
        yield "extend", {**holder, "lease_ms": odd}
        yield "extends", {"lease_ms": odd, "pairs": [(JOB, token)]}
        yield "promote", {"batch": odd}
        yield "fail", {**failing, "delay_ms": odd}
        yield "fail", {**failing, "max_attempts": odd}
        yield "stalled_check", {**sweep, "max_stalled": odd}
        yield "stalled_check", {**sweep, "limit": odd}
        for mode in (b"in", b"at"):
            yield "schedule", {**job, "mode": mode, "value": odd}
            yield "delay", {**holder, "mode": mode, "value": odd}
    for mode in (b"", b"IN", b"on", b"at"):
        yield "schedule", {**job, **later, "mode": mode}
        yield "delay", {**holder, **later, "mode": mode}
    for strange in (b"TSK" + JOB[3:], b"job" + JOB[3:], b"JOB", b""):
        yield "enqueue", {**job, "id": strange}
        yield "schedule", {**job, **later, "id": strange}
        yield "delay", {**holder, **later, "id": strange}
        yield "complete", {**holder, "id": strange}
        yield "reprocess", {"id": strange}
    for odd_token in (b"", b"0" + token, b"+" + token, token + b" ", token + b".0", b"\xff\x00", *TOKENS):
        yield from presenting(JOB, odd_token)
        yield "extends", {"lease_ms": lease, "pairs": [(JOB, odd_token), (OTHER, odd_token)]}
    yield "extends", {"lease_ms": lease, "pairs": []}
    yield "extends", {"lease_ms": lease, "pairs": [(JOB, token), (JOB, token)]}
    yield "extends", {"lease_ms": lease, "pairs": [(b"", b""), (JOB, b"x"), (b"TSK", token)]}
    yield "enqueue", {**job, "payload": b"\x00\xff {p} @now"}
    yield "fail", {**failing, "error": b""}


def edge_calls(found: World) -> Iterator[tuple[str, Values]]:
    """Calls whose time is the last one of 64 bits, or one ms beyond: only a clock that stands can hold them."""
    row = found.keys.get(ROW)
    token = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    holder: dict[str, bytes] = {"id": JOB, "token": token}
    for beyond in (0, 1):
        last = b"%d" % (int(FULL) - NOW_MS + beyond)
        yield "claim", {"lease_ms": last}
        yield "extend", {**holder, "lease_ms": last}
        yield "extends", {"lease_ms": last, "pairs": [(JOB, token)]}
        yield "fail", {**holder, "delay_ms": last, "max_attempts": b"9", "error": FAILURE}
        yield "delay", {**holder, "mode": b"in", "value": last}
        yield "schedule", {"id": JOB, "payload": PAYLOAD, "mode": b"in", "value": last}


def applied(corruption: Corruption, start: World) -> World | None:
    """A copy of ``start`` with the corruption in it; None where it can't be."""
    found = start.copy()
    return found if corruption.apply(found) else None
