"""A case as a table for the terminal: replies and what changed, counters first, the executors side by side."""

from collections.abc import Sequence

from emqlab.keys import base
from emqlab.observe.case import Case
from emqlab.observe.diff import changes
from emqlab.observe.run import Run, Skipped
from emqlab.observe.snapshot import name_json
from emqlab.replies import reply_json

_COUNTERS = ("attempts", "failures", "stalled", "lease_epoch", "count")


def table(case: Case, done: Sequence[Run | Skipped]) -> str:
    """The whole case, ready to print."""
    rows: dict[str, dict[str, str]] = {}
    for run in done:
        if isinstance(run, Skipped):
            rows.setdefault("skipped", {})[run.executor] = run.why
            continue
        for place, reply in enumerate(run.replies):
            rows.setdefault(f"{place + 1} {case.verbs[place]}", {})[run.executor] = _reply(reply)
    for label, cells in _changed(case, [run for run in done if isinstance(run, Run)]):
        rows[label] = cells
    names = [run.executor for run in done]
    widths = [max([len(label) for label in rows] + [0])]
    widths += [max([len(name)] + [len(cells.get(name, "")) for cells in rows.values()]) for name in names]
    lines = [case.name + (f": {case.about}" if case.about else "")]
    lines.append(_line(["", *names], widths))
    lines += [_line([label, *(cells.get(name, "") for name in names)], widths) for label, cells in rows.items()]
    return "\n".join(lines) + "\n"


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
