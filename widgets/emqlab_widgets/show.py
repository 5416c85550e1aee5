"""A queue as it is now: its rows and its four sets, as one small table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab import keys
from emqlab.lab import Lab
from emqlab.observe.snapshot import take
from emqlab.observe.state import SETS, state_of
from emqlab_widgets.table import Table

#: The fields with a column of their own; the others are left to the stage.
FIELDS = ("state", "attempts", "failures", "stalled", "payload")


def show(lab: Lab, queue: str) -> Table:
    """A line a job: the sets that hold it (a time as its distance from now), then its row.

    An id that a set holds without a row is a ghost. Raises ValueError for a queue's name that is none.
    """
    name = keys.check_queue(queue)
    state = state_of(take(lab.client, name), name)
    now_ms = lab.now_ms()
    held = {job for held in state["sets"].values() if isinstance(held, Mapping) for job in held}
    rows = [_line(job, state, now_ms) for job in sorted({*state["rows"], *held})]
    counts = [f"{metric} {count}" for metric, count in sorted(state["metrics"].items())]
    caption = f"{queue}: " + (", ".join([_jobs(len(rows)), *counts]))
    return Table(caption, ("job", "in", *FIELDS) if rows else (), rows)


def _jobs(many: int) -> str:
    return "no job" if many == 0 else "1 job" if many == 1 else f"{many} jobs"


def _line(job: str, state: Mapping[str, Any], now_ms: int) -> tuple[str, ...]:
    places = [_place(name, members[job], now_ms) for name, members in state["sets"].items() if _holds(members, job)]
    row = state["rows"].get(job)
    if not isinstance(row, Mapping):
        return (f"…{job[-4:]}", " + ".join(places), "no row: a ghost" if row is None else f"({row})", *[""] * 4)
    return (f"…{job[-4:]}", " + ".join(places) or "no set", *(row.get(field, "–") for field in FIELDS))


def _holds(members: Any, job: str) -> bool:
    return isinstance(members, Mapping) and job in members


def _place(name: str, score: str, now_ms: int) -> str:
    """``pending``, or a timed set with the time that is left: ``active (30 s left)``."""
    if name not in (SETS[1], SETS[2]):
        return name
    away = float(score) - now_ms
    what = "left" if name == "active" else "to go"
    return f"{name} ({abs(away) / 1000:g} s {what if away > 0 else 'past'})"
