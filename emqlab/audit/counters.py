"""What is wrong with a job's counters: attempts, failures, stalled (SPEC 3; divergences 14, 18, 24)."""

from collections.abc import Iterator
from dataclasses import replace

from emqlab.audit.findings import Finding
from emqlab.audit.layout import SETS, lane
from emqlab.audit.row import Row, View
from emqlab.audit.served import about, completed, served, swept, tried
from emqlab.audit.voices import Outcome
from emqlab.audit.wording import listed, quoted
from emqlab.parity.model.numbers import LARGEST, stored_integer

#: From here on a script, which counts in doubles, reads another number than the server keeps.
EXACT = 2**53


def countable(value: bytes | None) -> bool:
    """Whether HINCRBY adds 1 to a field of this value, None for an absent one."""
    number = 0 if value is None else stored_integer(value)
    return number is not None and number < LARGEST


def counters(row: Row, view: View, stopped: set[str]) -> Iterator[Finding]:
    """Counters that a verb will not accept; ``stopped`` are the codes by which the same was told already."""
    attempts = row.get(b"attempts")
    if attempts is None:
        where = f"in {listed(row.sets)}" if row.sets else "in no set"
        why = "its row has no attempts"
        if row.bare and row.get(b"state") is not None:
            why = (
                "its row holds only state: it was gone when a child told it, or when it came due (DEL it, ZREM the id)"
            )
        sentence = f"{why}, so nobody can present a token ({where})"
        outcome = served(row, view) if b"pending" in row.sets else completed(row, view)
        yield about(row, "no-attempts", sentence, outcome)
    elif not countable(attempts):
        if "head-refused" not in stopped:
            sentence = f"its field attempts is {quoted(attempts)}, which a claim of it can't add to"
            yield about(row, "bad-attempts", sentence, _claimed(row, view))
    elif abs(int(attempts)) >= EXACT:
        sentence = (
            f"its field attempts is {quoted(attempts)}: from 2^53 on, the token that a scripted claim hands out can"
            " differ from the stored one, and whoever presents it is refused"
        )
        yield about(row, "big-attempts", sentence, _claimed(row, view))
    yield from _failures(row, view)
    if "sweep-refused" not in stopped:
        yield from _stalled(row, view)


def _claimed(row: Row, view: View) -> Outcome:
    """A claim of the job, where claims will find it."""
    if b"pending" in row.sets:
        return tried(row, view, "claim")
    group = row.get(b"group")
    if any(name not in SETS for name in row.sets):
        return tried(row, view, "lane_claim")
    if group is not None:
        return tried(row, view, "lane_claim", {lane(group): 0.0}, "in its lane")
    return tried(row, view, "claim", {b"pending": 0.0}, "pending")


def _failures(row: Row, view: View) -> Iterator[Finding]:
    """``failures``, which a native fail of a flat job alone reads, and of an active one that is not dead as well."""
    value = row.get(b"failures")
    if value is None or countable(value) or row.get(b"group") is not None or row.get(b"parent") is not None:
        return
    attempts = row.get(b"attempts")
    if b"dead" in row.sets:
        when = " once it is revived and claimed; while it is in dead, a fail does not read it"
    elif b"active" in row.sets:
        if attempts is None:
            return
        when = ""
    else:
        when = " once it is active"
    if not row.sets or row.sets.keys() & {b"active", b"dead"}:
        outcome = tried(row, view, "fail", token=attempts or b"0")
    else:
        leased = replace(row, fields={**row.fields, b"attempts": attempts or b"1"})
        outcome = tried(leased, view, "fail", {b"active": float(view.now_ms)}, "active", token=attempts or b"1")
    sentence = f"its field failures is {quoted(value)}, which a native fail can't add to{when}"
    yield about(row, "bad-failures", sentence, outcome)


def _stalled(row: Row, view: View) -> Iterator[Finding]:
    """``stalled``, which every scripted sweep counts up, and a native one for a flat lease of this epoch."""
    value = row.get(b"stalled")
    if value is None or countable(value):
        return
    says = f"its field stalled is {quoted(value)}, which"
    if b"active" not in row.sets:
        leased = replace(row, fields={**row.fields, b"lease_epoch": view.run_id})
        outcome = tried(leased, view, "stalled_check", {b"active": float(view.now_ms)}, "claimed and expired")
        yield about(
            row, "bad-stalled", f"{says} a sweep can't add to once it is claimed and its lease expires", outcome
        )
        return
    if row.get(b"group") is not None:
        sentence = f"{says} a scripted sweep of it can't add to; a native one refuses its lane before it reads that"
    elif row.get(b"lease_epoch") != view.run_id:
        sentence = f"{says} a scripted sweep of it can't add to; natively its lease is exempt, and stalled is not read"
    else:
        sentence = f"{says} a sweep of it can't add to"
    yield about(row, "bad-stalled", sentence, swept(row, view))
