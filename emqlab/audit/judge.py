"""What is wrong with one job: its row and the sets that hold its id (SPEC 3, 5.2, 7)."""

import math
import re
from collections.abc import Callable, Iterator, Mapping

from emqlab.audit.findings import Finding
from emqlab.audit.layout import SETS, lane
from emqlab.audit.row import Row, View
from emqlab.audit.voices import Outcome, row_keys, would
from emqlab.audit.wording import listed, quoted

#: Where a row of each state stands; a lane row that is pending stands in its lane.
_STATES = {b"pending": b"pending", b"active": b"active", b"scheduled": b"schedule", b"dead": b"dead"}
_AWAITING = b"awaiting_children"
#: Integers that HINCRBY surely takes, so that only the others are put to the voices.
_PLAIN = re.compile(rb"0|-?[1-9][0-9]{0,17}")
#: What serves an id out of each set.
_NEXT = {b"pending": "claim", b"active": "stalled_check", b"schedule": "promote", b"dead": "reprocess"}
#: The largest time that a score holds exactly.
_EXACT = 2**53


def judge(row: Row, view: View) -> Iterator[Finding]:
    """Everything that is to be said of one job, as it was at one moment."""
    if row.type == b"none":
        if row.sets:
            yield _next(row, view, "ghost", f"stands in {listed(row.sets)} and has no row")
        return
    stopped = list(_stops(row, view))
    yield from stopped
    if row.type != b"hash":
        if not stopped:
            yield _next(row, view, "not-a-hash", f"its row is of type {row.type.decode()}, not a hash{_in(row)}")
    else:
        yield from _fields(row, view, {finding.code for finding in stopped})
        yield from _places(row, view)
        yield from _exempt(row, view)
    yield from _scores(row, view)
    if row.ttl_ms >= 0:
        yield _about(
            row,
            "ttl",
            f"its row is deleted by the server in {row.ttl_ms:,} ms: then the job is lost{_and_a_ghost(row)}",
            _outcome(Row(row.id, b"none", {}, -2, row.sets, row.first), view) if row.sets else None,
        )


def plain(value: bytes | None) -> bool:
    """Whether HINCRBY is sure to take a field of this value, None for an absent one."""
    return value is None or _PLAIN.fullmatch(value) is not None


def _about(row: Row, code: str, sentence: str, outcome: Outcome | None) -> Finding:
    told = (outcome.scripted, outcome.native) if outcome else (None, None)
    return Finding(code, sentence, id=row.id, sets=tuple(sorted(row.sets)), scripted=told[0], native=told[1])


def _next(row: Row, view: View, code: str, sentence: str) -> Finding:
    return _about(row, code, sentence, _outcome(row, view))


def _outcome(row: Row, view: View) -> Outcome:
    """What the verb does that serves the id out of its set next, when its time has come."""
    for name, verb in _NEXT.items():
        if name in row.sets:
            due = row.sets[name] if math.isfinite(row.sets[name]) else 0.0
            then = View(view.queue, max(view.now_ms, math.ceil(due)), view.run_id)
            return would(then, verb, row_keys(view, row, row.sets), row.id)
    if row.sets:
        return would(view, "lane_claim", row_keys(view, row, row.sets), row.id)
    return _complete(row, view)


def _complete(row: Row, view: View) -> Outcome:
    """What happens to the job when whoever holds its current token completes it."""
    return would(view, "complete", row_keys(view, row, row.sets), row.id, token=row.get(b"attempts") or b"0")


def _stops(row: Row, view: View) -> Iterator[Finding]:
    """The verbs that this job stops natively: the claim that finds it first, the sweep, the promotion."""
    odd, grouped = row.type != b"hash", row.get(b"group") is not None
    deadline, due = row.sets.get(b"active", math.inf), row.sets.get(b"schedule", math.inf)
    if row.first and (odd or not plain(row.get(b"attempts"))):
        yield from _stopped(row, view, "claim", b"pending", f"first in pending, but {_why(row, b'attempts')}")
    if deadline <= view.now_ms and (odd or grouped or not plain(row.get(b"stalled"))):
        yield from _stopped(
            row, view, "stalled_check", b"active", f"its lease has expired, but {_why(row, b'stalled')}"
        )
    if due <= view.now_ms and (odd or grouped):
        yield from _stopped(row, view, "promote", b"schedule", f"it is due, but {_why(row, b'')}")


#: The verbs that one job can stop for all: the finding's code, and what is stopped.
_STOPPED = {
    "claim": ("head-refused", "every native claim stops at it, and nothing behind it is served"),
    "stalled_check": ("sweep-refused", "every native sweep that meets it is refused whole, and frees nobody else"),
    "promote": ("promote-refused", "every native promotion that meets it is refused whole, and moves nobody else"),
}


def _stopped(row: Row, view: View, verb: str, name: bytes, why: str) -> Iterator[Finding]:
    outcome = would(view, verb, row_keys(view, row, {name: row.sets.get(name, 0.0)}), row.id)
    if outcome.refused:
        code, what = _STOPPED[verb]
        yield _about(row, code, f"{why}: {what}", outcome)


def _why(row: Row, field: bytes) -> str:
    if row.type != b"hash":
        return f"its row is of type {row.type.decode()}, not a hash"
    if row.get(b"group") is not None and field != b"attempts":
        return f"it belongs to the lane of {_value(row, b'group')}"
    return f"its field {field.decode()} is {_value(row, field)}"


def _fields(row: Row, view: View, stopped: set[str]) -> Iterator[Finding]:
    """Counters that no verb accepts."""
    if row.get(b"attempts") is None:
        yield _about(
            row,
            "no-attempts",
            f"its row has no attempts, so nobody can present a token{_in(row)}",
            _outcome(row, view) if b"pending" in row.sets else _complete(row, view),
        )
    active = {b"active": float(view.now_ms)}
    checks: tuple[tuple[bytes, str, str, Callable[[], Outcome]], ...] = (
        (b"attempts", "head-refused", "a claim", lambda: _tried(row, view, "claim", {b"pending": 0.0})),
        (b"failures", "", "a fail", lambda: _tried(row, view, "fail", active)),
        (b"stalled", "sweep-refused", "a sweep", lambda: _tried(row, view, "stalled_check", active)),
    )
    for field, told, verb, attempt in checks:
        if told in stopped or plain(row.get(field)):
            continue
        outcome = attempt()
        if outcome.refused:
            sentence = f"its field {field.decode()} is {_value(row, field)}, which {verb} of it can't add to"
            yield _about(row, f"bad-{field.decode()}", sentence, outcome)


def _tried(row: Row, view: View, verb: str, sets: Mapping[bytes, float]) -> Outcome:
    """A verb on the row as a flat one of this epoch: whether its counters are accepted."""
    fields = {name: value for name, value in row.fields.items() if name not in (b"group", b"parent")}
    there = Row(row.id, row.type, {**fields, b"lease_epoch": view.run_id}, -1, sets, True)
    token = {"token": row.get(b"attempts") or b"0"} if verb == "fail" else {}
    return would(view, verb, row_keys(view, there, sets), row.id, **token)


def _places(row: Row, view: View) -> Iterator[Finding]:
    """The set that holds the id, against what the row says."""
    state, group = row.get(b"state"), row.get(b"group")
    says = f"its state is {_value(row, b'state')}" if state is not None else "it has no state"
    if not row.sets:
        if state != _AWAITING:
            yield _about(
                row, "no-set", f"its row is in no set, and {says}: nobody will come to it", _complete(row, view)
            )
        return
    if len(row.sets) > 1:
        yield _about(row, "two-sets", f"stands in {listed(row.sets)}; {says}", _complete(row, view))
        return
    (name,) = row.sets
    if group is not None and name == b"pending":
        sentence = f"of the group {_value(row, b'group')}, but in pending: it has left its lane"
        yield _next(row, view, "lane-in-pending", sentence)
    elif name not in SETS and (group is None or name != lane(group)):
        of = "no group" if group is None else f"the group {_value(row, b'group')}"
        yield _next(row, view, "wrong-lane", f"stands in {listed(row.sets)}, and its row is of {of}")
    where = name if name in SETS else b"pending"
    if state is None or _STATES.get(state) != where:
        yield _next(row, view, "wrong-state", f"stands in {listed(row.sets)}, but {says}")


def _exempt(row: Row, view: View) -> Iterator[Finding]:
    """A lease that the native sweep gives back without counting a stall (hazards 6 and 7)."""
    stamp = row.get(b"lease_epoch")
    if b"active" not in row.sets or stamp == view.run_id or row.get(b"group") is not None:
        return
    held = row_keys(view, row, {b"active": min(row.sets[b"active"], float(view.now_ms))})
    outcome = would(view, "stalled_check", held, row.id)
    if not outcome.refused:
        why = "has no stamp" if stamp is None else "is from another epoch of the server"
        yield _about(row, "exempt", f"its lease {why}: when it expires, natively no stall is counted", outcome)


def _scores(row: Row, view: View) -> Iterator[Finding]:
    """Scores that are not what the key says: 0 where there is an order of ids, else a time in whole ms."""
    for name, score in row.sets.items():
        timed = name in (b"active", b"schedule")
        if timed and (abs(score) <= _EXACT and score == math.floor(score)):
            continue
        if timed or score != 0:
            meant = "a time in whole ms" if timed else "0"
            held = row_keys(view, row, {name: score})
            outcome = would(view, _NEXT.get(name, "lane_claim"), held, row.id)
            yield _about(row, "score", f"its score in {listed([name])} is {score:g}, not {meant}", outcome)


def _and_a_ghost(row: Row) -> str:
    return f" and its id a ghost in {listed(row.sets)}" if row.sets else ""


def _in(row: Row) -> str:
    return f" (in {listed(row.sets)})" if row.sets else " (in no set)"


def _value(row: Row, field: bytes) -> str:
    return quoted(row.fields[field])
