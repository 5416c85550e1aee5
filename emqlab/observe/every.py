"""Every key and field of the state at one step, an executor a column: what a diff of two databases would show.

The rows of every job, the sets with their scores, the metrics and what else there is. The browser derives the same
table in the same words (``every`` in ``emqlab_widgets/stage.js``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emqlab.observe.ledger import label, show
from emqlab.observe.moments import odd_ones
from emqlab.observe.shorthand import brief, short_ids
from emqlab.observe.walk import SETS, Moment, Recording, State, ordered

#: What a key is called that holds no fields: its type stands for it, in brackets.
WHOLE = ""


@dataclass(frozen=True, slots=True)
class KeyLine:
    """One key or field. ``cells`` has a text an executor (``absent → 1, differs``), ``odd`` whether it is marked."""

    name: str
    cells: tuple[str, ...]
    odd: tuple[bool, ...]


def every(recording: Recording, columns: Sequence[Sequence[Moment]], step: int) -> list[KeyLine]:
    """All keys that any executor holds after ``step``, or held before: see ``Moment.since``."""
    now = [ms[step] for ms in columns]
    out: list[KeyLine] = []
    for path in _paths(recording, [state for m in now for state in (m.since, m.state)]):
        values = [(_at(m.since, path), _at(m.state, path)) for m in now]
        odd = odd_ones([value for _, value in values])
        cells = tuple(_cell(recording, path, *one) for one in zip(now, values, odd, strict=True))
        out.append(KeyLine(_name(recording, path), cells, odd))
    return out


#: Group, key and field; the field is WHOLE where the key has none.
_Path = tuple[str, str, str]


def _paths(recording: Recording, states: Sequence[State]) -> list[_Path]:
    """The subject's row first, then the other rows, the sets from top to bottom, the metrics, the rest."""
    rows = sorted(_names("rows", states), key=lambda job_id: job_id != recording["subject"])
    sets = [*SETS, *(name for name in _names("sets", states) if name not in SETS)]
    held = [("rows", key) for key in rows] + [("sets", name) for name in sets]
    out = [(group, key, field) for group, key in held for field in _inside(group, key, states)]
    return [*out, *((group, key, WHOLE) for group in ("metrics", "other") for key in _names(group, states))]


def _names(group: str, states: Sequence[State]) -> list[str]:
    return ordered({key for state in states for key in state.get(group) or {}})


def _inside(group: str, key: str, states: Sequence[State]) -> list[str]:
    held = [(state.get(group) or {}).get(key) for state in states]
    fields = {field for one in held if isinstance(one, Mapping) for field in one}
    whole = any(one is not None and not isinstance(one, Mapping) for one in held)
    return [*([WHOLE] if whole else []), *ordered(fields)]


def _at(state: State, path: _Path) -> str | None:
    """What is stored there, as text; None where nothing is."""
    group, key, field = path
    held = (state.get(group) or {}).get(key)
    if group in ("metrics", "other"):
        return None if held is None else str(held)
    if isinstance(held, Mapping):
        found = held.get(field)
        return None if found is None else str(found)
    return f"({held})" if held is not None and field == WHOLE else None


def _name(recording: Recording, path: _Path) -> str:
    group, key, field = path
    if group in ("metrics", "other"):
        return label(f"{group}/{key}")
    name = key if group == "sets" else "row" if key == recording["subject"] else f"job:{key}"
    return short_ids(f"{name} {field}" if field else name)


def _cell(recording: Recording, path: _Path, m: Moment, values: tuple[str | None, str | None], odd: bool) -> str:
    old, new = (_shown(recording, path, value, m) for value in values)
    text = new if values[0] == values[1] else f"{old} → {new}"
    return f"{text}, differs" if odd else text


def _shown(recording: Recording, path: _Path, value: str | None, m: Moment) -> str:
    group, key, field = path
    if value is None:
        return "absent"
    if group == "sets":
        return brief(value, recording)
    named = "lease_epoch" if group == "rows" and field == "lease_epoch" else ""
    text = show(value, f"row/{named}" if group == "rows" else f"{group}/{key}", recording, m)
    return text if len(text) <= 160 else text[:159] + "…"
