"""What is wrong with one job: its row and the sets that hold its id (SPEC 3, 5.2, 7)."""

import math
from collections.abc import Iterator
from dataclasses import replace

from emqlab.audit.counters import EXACT, countable, counters
from emqlab.audit.findings import Finding
from emqlab.audit.layout import SETS, lane
from emqlab.audit.row import Row, View
from emqlab.audit.served import NEXT, about, completed, served, swept, tried
from emqlab.audit.wording import lasting, listed, quoted

#: Where a row of each state stands; a lane row that is pending stands in its lane.
_STATES = {b"pending": b"pending", b"active": b"active", b"scheduled": b"schedule", b"dead": b"dead"}
_AWAITING = b"awaiting_children"
#: A lease or a due time further ahead than that is a mistake, of units most likely: ten years.
_FAR_MS = 3653 * 86_400_000


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
            where = f"in {listed(row.sets)}" if row.sets else "in no set"
            yield _next(row, view, "not-a-hash", f"its row is of type {row.type.decode()}, not a hash ({where})")
    else:
        yield from counters(row, view, {finding.code for finding in stopped})
        yield from _places(row, view)
        yield from _kind(row, view)
        yield from _exempt(row, view)
    yield from _scores(row, view)
    if row.ttl_ms >= 0:
        ghost = f" and its id a ghost in {listed(row.sets)}" if row.sets else ""
        sentence = f"its row is deleted by the server in {lasting(row.ttl_ms)}: then the job is lost{ghost}"
        outcome = served(replace(row, type=b"none", fields={}), view) if row.sets else None
        yield about(row, "ttl", sentence, outcome, row.ttl_ms)


def _next(row: Row, view: View, code: str, sentence: str) -> Finding:
    return about(row, code, sentence, served(row, view))


def _stops(row: Row, view: View) -> Iterator[Finding]:
    """The verbs that this job stops natively: the claim that finds it first, the sweep, the promotion."""
    odd, grouped = row.type != b"hash", row.get(b"group") is not None
    deadline, due = row.sets.get(b"active", math.inf), row.sets.get(b"schedule", math.inf)
    counted = row.get(b"lease_epoch") == view.run_id
    if row.first and (odd or not countable(row.get(b"attempts"))):
        resumed = " once the queue is resumed" if view.paused else ""
        what = f"every native claim stops at it{resumed}, and nothing behind it is served"
        sentence = f"first in pending, but {_why(row, b'attempts')}: {what}"
        yield about(row, "head-refused", sentence, tried(row, view, "claim"))
    if deadline <= view.now_ms and (odd or grouped or (counted and not countable(row.get(b"stalled")))):
        what = "every native sweep that meets it is refused whole, and frees nobody else"
        sentence = f"its lease has expired, but {_why(row, b'stalled')}: {what}"
        yield about(row, "sweep-refused", sentence, tried(row, view, "stalled_check"))
    if due <= view.now_ms and (odd or grouped):
        what = "every native promotion that meets it is refused whole, and moves nobody else"
        sentence = f"it is due, but {_why(row, b'')}: {what}"
        yield about(row, "promote-refused", sentence, tried(row, view, "promote"))


def _why(row: Row, field: bytes) -> str:
    if row.type != b"hash":
        return f"its row is of type {row.type.decode()}, not a hash"
    if row.get(b"group") is not None and field != b"attempts":
        return f"it belongs to the lane of {_value(row, b'group')}"
    return f"its field {field.decode()} is {_value(row, field)}"


def _places(row: Row, view: View) -> Iterator[Finding]:
    """The set that holds the id, against what the row says."""
    state, group = row.get(b"state"), row.get(b"group")
    says = f"its state is {_value(row, b'state')}" if state is not None else "it has no state"
    if not row.sets:
        if state != _AWAITING:
            sentence = f"its row is in no set, and {says}: nobody will come to it"
            yield about(row, "no-set", sentence, completed(row, view))
        return
    if len(row.sets) > 1:
        yield about(row, "two-sets", f"stands in {listed(row.sets)}; {says}", completed(row, view))
        return
    (name,) = row.sets
    if group is not None and name == b"pending":
        sentence = (
            f"of the group {_value(row, b'group')}, but in pending: it has left its lane; a native claim leases it,"
            " then complete, fail, delay and extend are refused natively (EMQLANE), and from when its lease expires"
            " every native sweep that meets it is refused whole"
        )
        yield _next(row, view, "lane-in-pending", sentence)
    elif name not in SETS and (group is None or name != lane(group)):
        of = "no group" if group is None else f"the group {_value(row, b'group')}"
        yield _next(row, view, "wrong-lane", f"stands in {listed(row.sets)}, and its row is of {of}")
    if group is None and row.get(b"parent") is not None and name in (b"pending", b"active"):
        yield _child(row, view, name)
    where = name if name in SETS else b"pending"
    if state is None or _STATES.get(state) != where:
        yield _next(row, view, "wrong-state", f"stands in {listed(row.sets)}, but {says}")


def _child(row: Row, view: View, name: bytes) -> Finding:
    """A flow's child where native verbs come to it, which serve no flows."""
    refused = "complete, fail, delay and extend are refused natively (EMQFLOW), so only scripts can end it"
    of = f"a child of {_value(row, b'parent')}, in {name.decode()}:"
    if name == b"active":
        return about(row, "flow-child", f"{of} {refused}", completed(row, view))
    return _next(row, view, "flow-child", f"{of} a native claim leases it, then {refused}")


def _kind(row: Row, view: View) -> Iterator[Finding]:
    """An id of another kind than JOB, which enqueue would have refused."""
    if row.sets and not row.id.startswith(b"JOB"):
        outcome = tried(row, view, "delay", token=row.get(b"attempts") or b"0")
        yield about(row, "odd-id", "its id is not one of a job (JOB…): delay refuses it (EMQKIND)", outcome)


def _exempt(row: Row, view: View) -> Iterator[Finding]:
    """A lease that the native sweep gives back without counting a stall (hazards 6 and 7), once it expires."""
    stamp = row.get(b"lease_epoch")
    if row.sets.get(b"active", math.inf) == math.inf or stamp == view.run_id or row.get(b"group") is not None:
        return
    why = "has no stamp" if stamp is None else "is from another epoch of the server"
    sentence = f"its lease {why}: when it expires, natively no stall is counted"
    yield about(row, "exempt", sentence, swept(row, view))


def _scores(row: Row, view: View) -> Iterator[Finding]:
    """Scores that are not what the key says: 0 where there is an order of ids, else a time in whole ms, not far off."""
    for name, score in row.sets.items():
        whole = abs(score) <= EXACT and score == math.floor(score)
        says = f"its score in {listed([name])} is {f'{score:.0f}' if whole else f'{score:g}'}"
        if name not in (b"active", b"schedule"):
            wrong = "" if score == 0 else "not 0"
        elif whole:
            ahead = score - view.now_ms
            wrong = f"{lasting(int(ahead))} from now" if ahead > _FAR_MS else ""
        else:
            wrong = "not a time in whole ms"
        if wrong:
            yield about(row, "score", f"{says}, {wrong}", tried(row, view, NEXT.get(name, "lane_claim")))


def _value(row: Row, field: bytes) -> str:
    return quoted(row.fields[field])
