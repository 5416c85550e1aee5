"""The declared divergences as a live table: what each one's case came to, just now, on both executors."""

from __future__ import annotations

from typing import Any

from emqlab.lab import ExecutorName, Lab, open_lab
from emqlab.observe.run import Run, Skipped
from emqlab.observe.shorthand import short_ids
from emqlab_widgets.table import Table

HEAD = ("", "in the scripts; natively", "the call", "the script", "the verb")
#: The widget that shows what no case can.
_IN_SIX = {1: "pause", 4: "clock", 6: "rights"}


def divergence_table(lab: Lab | None = None) -> Table:
    """A line a divergence: its number, its sentence, and what its case came to on each executor when it was just run.

    A reply; and where both replied the same, the first field of a key in which they part. What no case can show says
    what it takes. ``lab`` is where the cases run (a private embedded one unless given).
    """
    from emqlab.parity.declared.register import DECLARED

    where = open_lab("embedded") if lab is None else lab
    rows = [
        (str(number), declared.sentence, *(_run(where, number) if declared.shown else _unseen(number)))
        for number, declared in DECLARED.items()
    ]
    return Table(f"{len(rows)} declared divergences, as they were just run", HEAD, rows)


def _unseen(number: int) -> tuple[str, str, str]:
    from emqlab.parity.declared.register import UNSEEN

    place = f"; Six differences shows it ({_IN_SIX[number]})" if number in _IN_SIX else ""
    return "–", f"no case: {UNSEEN[number]}{place}", "–"


def _run(lab: Lab, number: int) -> tuple[str, str, str]:
    """The call, and what each executor made of it."""
    from emqlab.parity.compare import difference
    from emqlab.parity.declared.register import shown_case

    case = shown_case(number)
    assert case is not None
    runs = [_one(lab, case, name) for name in ("scripted", "native")]
    (step,) = case["when"]
    skipped = [run for run in runs if isinstance(run, Skipped)]
    if skipped:
        return str(step["verb"]), f"not run: {skipped[0].why}", ""
    scripted, native = (run for run in runs if isinstance(run, Run))
    found = difference(scripted, native)
    told = [_told(run) for run in (scripted, native)]
    if found is not None and found.field != "reply":
        key = found.where.partition("}:")[2]
        where = "row" if key.startswith("job:") else key
        where += "" if found.field == "type" else f" {found.field}"
        parts = [_value(part) for part in (found.left, found.right)]
        told = [f"{reply}; {where} is {part}" for reply, part in zip(told, parts, strict=True)]
    return str(step["verb"]), told[0], told[1]


def _one(lab: Lab, case: dict[str, Any], name: ExecutorName) -> Run | Skipped:
    return lab.run(case, executor=name, traced=False)


def _told(run: Run) -> str:
    """The reply, an error without what a server adds to it."""
    from emqlab.parity.compare import plain_reply

    told = plain_reply(run.replies[0])
    if "ok" in told:
        return _value(told["ok"])
    return str(told["error"]) if "error" in told else "no such verb"


def _value(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, list):
        return f"[{', '.join('nil' if one is None else _value(one) for one in value)}]"
    return {"@run_id": "this epoch", "zset": "a sorted set", "hash": "a hash"}.get(value, short_ids(str(value)))
