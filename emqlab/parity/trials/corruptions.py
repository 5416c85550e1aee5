"""Corruptions: what can be wrong with a row, a set, a counter or a call, each by name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from emqlab.keys import VERSION, VERSION_KEY
from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Held, World, Zset
from emqlab.parity.trials.states import JOBS, PAYLOAD, SETS
from emqlab.parity.trials.trial import BASE, EPOCHS, NEARLY, NOW_MS

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


def key_holds(name: bytes, held: Held | None, *, only_if_there: bool = False) -> Callable[[World], bool]:
    """The queue's key ``name`` holds that, or is gone."""

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


def both(*applied: Callable[[World], bool]) -> Callable[[World], bool]:
    """All of them."""

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


def _ahead(found: World) -> bool:
    """A second job waits before the first, by its score and not by its id."""
    line = found.keys.get(BASE + b"pending")
    if not isinstance(line, Zset) or JOB not in line:
        return False
    line[OTHER] = line[JOB] - 1
    found.keys[OTHER_ROW] = {b"state": b"pending", b"attempts": b"0", b"payload": b"coffee"}
    return True


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
    for epoch in (b"", OLD_RUN_ID, b"f" * 40, *NEARLY, EPOCHS[0]):
        yield Corruption(f"row lease_epoch {epoch.decode()!r}", _field(b"lease_epoch", epoch))
    yield Corruption("row with a field of nobody's", _field(b"colour", b"red"))
    for kind, held in WRONG.items():
        if kind != "hash":
            yield Corruption(f"row is a {kind}", key_holds(b"job:" + JOB, held))
    gone = key_holds(b"job:" + JOB, None, only_if_there=True)
    yield Corruption("row gone", gone)
    for name in SETS:
        # A key that would be written, but not for a ghost.
        yield Corruption(f"row gone and {name.decode()} a string", both(gone, key_holds(name, WRONG["string"])))


def _sets() -> Iterator[Corruption]:
    for name in SETS:
        for kind in ("string", "hash"):
            yield Corruption(f"{name.decode()} is a {kind}", key_holds(name, WRONG[kind]))
        yield Corruption(f"also in {name.decode()}", _member(name, JOB, 0.0))
        yield Corruption(f"gone from {name.decode()}", _moved(name))
        yield Corruption(f"a ghost of another job in {name.decode()}", _member(name, b"JOB0NgWEfAEJf0", 0.0))
    for score in (float("-inf"), float("inf"), 0.5, -1.0):
        yield Corruption(f"pending scored {score}", _member(b"pending", JOB, score))
        yield Corruption(f"leased until {score}", _member(b"active", JOB, score))
    yield Corruption("leased until this very ms", _member(b"active", JOB, float(NOW_MS)))
    yield Corruption("due at this very ms", _member(b"schedule", JOB, float(NOW_MS)))
    yield Corruption("a later id ahead of it in the line", _ahead)
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
            yield Corruption(
                f"metrics:{name.decode()} {value.decode()!r}", key_holds(b"metrics:" + name, {b"count": value})
            )
        yield Corruption(f"metrics:{name.decode()} is a string", key_holds(b"metrics:" + name, WRONG["string"]))
    for value in (b"1", b"0", b""):
        yield Corruption(f"paused {value.decode()!r}", key_holds(b"meta", {b"paused": value}))
    for kind in ("hash", "string", "set"):
        yield Corruption(f"meta is a {kind}", key_holds(b"meta", WRONG[kind]))


def _lanes() -> Iterator[Corruption]:
    group, lane = _field(b"group", b"g"), b"g:g:pending"
    waiting: Held = Zset({b"JOB0NgWEfAEJfz": 0.0})
    yield Corruption("lane row", group)
    yield Corruption("lane row of the empty group", _field(b"group", b""))
    yield Corruption("flow row", _field(b"parent", OTHER))
    yield Corruption("flow row of the empty parent", _field(b"parent", b""))
    yield Corruption("lane row that waits in its lane", both(group, _member(lane, JOB, 0.0)))
    yield Corruption("lane row, others wait", both(group, key_holds(lane, waiting)))
    twice: Held = [b"g", b"h", b"g"]
    in_line = both(group, _member(lane, JOB, 0.0), key_holds(b"ring", twice))
    yield Corruption("lane row that waits in its lane, twice on the ring", in_line)
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
        yield Corruption(f"lane row, {name}", both(group, key_holds(key, held)))
        if key not in (lane, b"gactive"):
            yield Corruption(
                f"lane row, others wait, {name}", both(group, key_holds(lane, waiting), key_holds(key, held))
            )


def _fences() -> Iterator[Corruption]:
    """The wire version is every queue's: few states are tried with it, for each such trial is run alone."""
    other: dict[str, Held] = {
        "another": b"echomq:2.0.0",
        "an empty one": b"",
        "one that begins with ours": VERSION + b".1",
        "a part of ours": VERSION[:-2],
        "a list": [VERSION],
    }
    for name, held in other.items():

        def apply(found: World, held: Held = held) -> bool:
            row = found.keys.get(ROW)
            if not isinstance(row, dict) or isinstance(row, Zset) or row.get(b"attempts") != b"1" or b"stalled" in row:
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


def applied(corruption: Corruption, start: World) -> World | None:
    """A copy of ``start`` with the corruption in it; None where it can't be."""
    found = start.copy()
    return found if corruption.apply(found) else None
