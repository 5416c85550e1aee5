"""A finding about one job, with what becomes of the job in each executor."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from emqlab.audit.findings import Finding
from emqlab.audit.layout import place
from emqlab.audit.row import Row, View
from emqlab.audit.voices import Outcome, row_keys, would

#: What serves an id out of each set.
NEXT = {b"pending": "claim", b"active": "stalled_check", b"schedule": "promote", b"dead": "reprocess"}
_ONCE = {b"active": "expired", b"schedule": "due"}


def about(row: Row, code: str, sentence: str, outcome: Outcome | None = None, **more: Any) -> Finding:
    """A finding about the job; ``more`` is its ``ttl_ms`` or its ``starves``."""
    scripted, native = (outcome.scripted, outcome.native) if outcome else (None, None)
    sets = tuple(sorted(row.sets))
    return Finding(code, sentence, id=row.id, sets=sets, scripted=scripted, native=native, **more)


def tried(
    row: Row, view: View, verb: str, sets: Mapping[bytes, float] | None = None, once: str = "", **values: bytes
) -> Outcome:
    """What a verb does with the job, which stands in ``sets`` (where it does stand, unless told otherwise)."""
    where = row.sets if sets is None else sets
    held = row_keys(view, row, where)
    if verb == "lane_claim":
        # The job is served when its lane is, and then heads it: the ring turns past all others.
        groups = sorted(group for name in where if (group := place(name).group) is not None)
        held[view.base + b"ring"] = list(groups[:1])
        once = f"{once} and its turn comes" if once else "its turn comes"
    return would(view, verb, held, row.id, once=once, values=values)


def served(row: Row, view: View) -> Outcome:
    """What the verb does that serves the id out of its set next, when its time has come."""
    for name, verb in NEXT.items():
        if name in row.sets:
            due = row.sets[name]
            if name not in _ONCE or not math.isfinite(due) or due <= view.now_ms:
                return tried(row, view, verb)
            return tried(row, replace(view, now_ms=math.ceil(due)), verb, once=_ONCE[name])
    return tried(row, view, "lane_claim") if row.sets else completed(row, view)


def swept(row: Row, view: View) -> Outcome:
    """What a sweep does with an active job, when its lease has expired."""
    deadline, now = row.sets[b"active"], float(view.now_ms)
    once = "expired" if deadline > now else ""
    return tried(row, view, "stalled_check", {**row.sets, b"active": min(deadline, now)}, once)


def completed(row: Row, view: View) -> Outcome:
    """What happens to the job when whoever holds its current token completes it."""
    return tried(row, view, "complete", token=row.get(b"attempts") or b"0")
