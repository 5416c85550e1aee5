"""What is wrong with one job: its row and the sets that hold its id (SPEC 3, 5.2, 7)."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from emqlab.audit.counters import EXACT, countable, counters
from emqlab.audit.findings import Finding
from emqlab.audit.layout import SETS, lane
from emqlab.audit.met import AWAITING
from emqlab.audit.row import Row, Timed, View
from emqlab.audit.served import NEXT, about, completed, served, swept, tried
from emqlab.audit.voices import Outcome
from emqlab.audit.wording import lasting, listed, named, plural, quoted, shown

#: Where a row of each state stands; a lane row that is pending stands in its lane.
_STATES = {b"pending": b"pending", b"active": b"active", b"scheduled": b"schedule", b"dead": b"dead"}
_EMPTY = "its parent is empty, which is none to a script and makes a flow's child of it natively"
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
        yield about(row, "ttl", sentence, outcome, ttl_ms=row.ttl_ms)


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
        outcome = tried(row, view, "stalled_check")
        starves, told = _starves(row, (deadline, view.expired), outcome, "sweep")
        sentence = f"its lease has expired, but {_why(row, b'stalled')}: {told}"
        yield about(row, "sweep-refused", sentence, outcome, starves=starves)
    if due <= view.now_ms and (odd or grouped):
        outcome = tried(row, view, "promote")
        starves, told = _starves(row, (due, view.due), outcome, "promotion")
        yield about(row, "promote-refused", f"it is due, but {_why(row, b'')}: {told}", outcome, starves=starves)


def _starves(row: Row, line: tuple[float, Sequence[Timed]], outcome: Outcome, verb: str) -> tuple[int, str]:
    """How many jobs of no lane stand behind the row and are never reached natively; with what is to be done, in words.

    ``line`` is the row's score, and all jobs that the verb would move, in its order.
    """
    score, others = line
    before = bisect_left(others, (score, row.id, False))
    after = [child for _, job, child in others[before:] if job != row.id]
    behind = len(after)
    told = f"every native {verb} that meets it is refused whole, and"
    if behind:
        kinds = ((behind - sum(after), "flat job", ""), (sum(after), "flow's child", "flows' children"))
        kinds_told = " and ".join(plural(number, *names) for number, *names in kinds if number)
        told += f" {kinds_told} {'starves' if behind == 1 else 'starve'} behind it"
    else:
        told += f" {'frees' if verb == 'sweep' else 'moves'} nobody else"
    if before:
        told += f" ({before:,} before it {'goes' if before == 1 else 'go'} only in a {verb} too small to meet it)"
    by_script = outcome.scripted.startswith(("gives", "declares", "answers"))
    reap = " (or reap, which counts nothing)" if verb == "sweep" else ""
    return behind, f"{told}; {f'a scripted {verb}{reap} takes it out' if by_script else 'take it out by hand (ZREM)'}"


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
        if state != AWAITING:
            sentence = f"its row is in no set, and {says}: nobody will come to it"
            if group is not None:
                its = shown(lane(group))
                sentence = (
                    f"{sentence}; a job of {_value(row, b'group')} waits in {its}: ZADD it there, then lane_resume"
                )
            yield about(row, "no-set", sentence, completed(row, view))
        return
    if len(row.sets) > 1:
        yield about(row, "two-sets", f"stands in {listed(row.sets)}; {says}", completed(row, view))
        return
    (name,) = row.sets
    if group is not None and name == b"pending":
        sentence = (
            f"of the group {_value(row, b'group')}, but in pending, where a reprocess leaves it: a flat claim leases"
            " it, then complete, fail, delay and extend are refused natively (EMQLANE), from when its lease expires"
            " every native sweep that meets it is refused whole, and a script that ends it gives back a slot that it"
            f" never took; ZREM it, ZADD it to {shown(lane(group))}, then lane_resume"
        )
        yield _next(row, view, "lane-in-pending", sentence)
    elif name not in SETS and (group is None or name != lane(group)):
        of = "no group" if group is None else f"the group {_value(row, b'group')}"
        yield _next(row, view, "wrong-lane", f"stands in {listed(row.sets)}, and its row is of {of}")
    if group is None and row.get(b"parent") is not None and name in (b"pending", b"active"):
        yield _child(row, view, name)
    if name != b"dead" and (parent := row.get(b"parent")) and parent in view.kin:
        yield from _orphan(row, view, parent)
    where = name if name in SETS else b"pending"
    if state is None or _STATES.get(state) != where:
        yield _next(row, view, "wrong-state", f"stands in {listed(row.sets)}, but {says}")


def _orphan(row: Row, view: View, parent: bytes) -> Iterator[Finding]:
    """A child whose end is told to nobody (hazard 13)."""
    if view.row(parent) not in view.kin[parent]:
        sentence = (
            f"its parent {named(parent)} has no row: the end of a child that would release or kill it mints one that"
            " holds only state; HDEL its field parent if nobody is to be told"
        )
        yield about(row, "orphan", sentence, completed(row, view))


def _child(row: Row, view: View, name: bytes) -> Finding:
    """A flow's child where native verbs come to it, which serve no flows."""
    refused = "complete, fail, delay and extend are refused natively (EMQFLOW), so only scripts can end it"
    of = (
        f"a child of {_value(row, b'parent')}, in {name.decode()}:"
        if row.get(b"parent")
        else f"{_EMPTY}, in {name.decode()}:"
    )
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
