"""A case as a table for the terminal: replies and what changed, counters first, the executors side by side."""

from collections.abc import Sequence

from emqlab.keys import base
from emqlab.observe.case import Case, escaped
from emqlab.observe.diff import changes
from emqlab.observe.run import Run, Skipped
from emqlab.observe.snapshot import name_json
from emqlab.replies import reply_json

_COUNTERS = ("attempts", "failures", "stalled", "lease_epoch", "count")


def table(case: Case, done: Sequence[Run | Skipped]) -> str:
    """The whole case, ready to print: one line a row, whatever the names and values hold."""
    told: dict[str, dict[str, str]] = {}
    for run in done:
        if isinstance(run, Skipped):
            told.setdefault("skipped", {})[run.executor] = run.why
            continue
        for place, reply in enumerate(run.replies):
            told.setdefault(f"{place + 1} {case.verbs[place]}", {})[run.executor] = _reply(reply)
    rows = [*told.items(), *_changed(case, [run for run in done if isinstance(run, Run)])]
    names = [run.executor for run in done]
    printed = [["", *names]]
    printed += [[escaped(cell) for cell in (label, *(cells.get(name, "") for name in names))] for label, cells in rows]
    widths = [max(len(row[place]) for row in printed) for place in range(len(names) + 1)]
    title = escaped(case.name + (f": {case.about}" if case.about else ""))
    return "\n".join([title, *(_line(row, widths) for row in printed)]) + "\n"


def _line(cells: list[str], widths: list[int]) -> str:
    return ("  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))).rstrip()


def _reply(reply: object) -> str:
    told = reply_json(reply)
    if "unsupported" in told:
        return "unsupported: nothing was sent"
    return str(told.get("error", told.get("ok")))


def _changed(case: Case, runs: list[Run]) -> list[tuple[str, dict[str, str]]]:
    rows: dict[tuple[bool, str], dict[str, str]] = {}
    prefix = name_json(base(case.queue))
    for run in runs:
        for change in changes(run.before, run.after):
            name = name_json(change.key).removeprefix(prefix)
            part = "" if change.field is None else name_json(change.field)
            cell = f"{_value(change.before, run)} → {_value(change.after, run)}"
            rows.setdefault((part not in _COUNTERS, f"{name} {part}".strip()), {})[run.executor] = cell
    return [(label, rows[order, label]) for order, label in sorted(rows)]


def _value(raw: bytes | None, run: Run) -> str:
    if raw is None:
        return "absent"
    text = name_json(raw)
    return "this epoch" if text == run.run_id else text if text else '""'
