"""The ledger: the row's fields, the metrics and other keys, one line each, with touch and delta."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from emqlab.observe.shorthand import short_ids
from emqlab.observe.walk import Moment, Recording, State, ordered

COUNTERS = ("attempts", "failures", "stalled", "lease_epoch")
EXTRAS = ("state", "last_error", "payload", "group", "parent", "parent_policy")

_COUNTED = re.compile(r"(row/(attempts|failures|stalled)$|metrics/|other/gactive|other/job:[^ ]*:dependencies$)")
_OF_A_FLOW = re.compile(r"job:(.*):(dependencies|processed|failed|unsuccessful)(?: (.*))?", re.DOTALL)
#: A list or a set of plain words, as JSON text.
_WORDS = re.compile(r'\["[^",\[\]\\]+"(, "[^",\[\]\\]+")*\]')
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger. ``was`` and ``now`` are stored texts, None when absent."""

    was: str | None
    now: str | None
    kind: str
    word: str
    delta: str
    deleted: bool

    @property
    def changed(self) -> bool:
        """Whether the stored text differs from the one before."""
        return self.was != self.now


def line(recording: Recording, field: str, m: Moment) -> Line:
    """One ledger line: before (``m.since``) and now. ``field``: ``row/<name>``, ``metrics/<name>``, ``other/<key>``."""
    was, now = _stored(recording, field, m.since), _stored(recording, field, m.state)
    read, wrote = touches(field, m.reads), touches(field, m.writes)
    deleted = field.startswith("row/") and "row" in m.writes and now is None and (was is not None or wrote)
    if deleted:
        word = "deleted"
    elif wrote:
        word = "read, written" if read else "written"
    else:
        word = "read" if read else "untouched"
    counted = _COUNTED.match(field) is not None and not deleted
    kind = "w" if wrote or deleted else "r" if read else "u"
    return Line(was, now, kind, word, _delta(was, now) if counted else "", deleted)


def slot_of(field: str) -> str:
    """The name under which frames list a ledger field among their ``reads`` and ``writes``."""
    slot = re.sub(r"^metrics\.([0-9A-Za-z_]+)", r"metrics:\1.count", field.replace("/", ".", 1))
    return slot.removeprefix("other.")


def touches(field: str, touched: Collection[str]) -> bool:
    """Whether a ledger field is among the slots that a frame lists."""
    slot = slot_of(field)
    return slot in touched or slot.replace(" ", ".", 1) in touched


def _stored(recording: Recording, field: str, state: State) -> str | None:
    group, _, key = field.partition("/")
    if group != "row":
        found = (state.get(group) or {}).get(key)
        return None if found is None else str(found)
    row = state["rows"].get(recording["subject"])
    if isinstance(row, Mapping):
        return row.get(key)
    return f"({row})" if row and key == "attempts" else None


def _delta(was: str | None, now: str | None) -> str:
    old, new = was if was is not None else "0", now if now is not None else "0"
    if not (_INTEGER.fullmatch(old) and _INTEGER.fullmatch(new)) or int(old) == int(new):
        return ""
    by = int(new) - int(old)
    return f"+{by}" if by > 0 else f"−{-by}"


def show(value: str | None, field: str, recording: Recording, m: Moment | None = None) -> str:
    """How a stored text reads in the ledger; a list of plain words without its quotes, as in a reply.

    Whether an epoch is this one is a question of the moment ``m``; without one it is asked of the beginning.
    """
    if value is None:
        return "0" if field.startswith("metrics/") else "absent"
    if field == "row/lease_epoch":
        return "this epoch" if value == (recording["run_id"] if m is None else m.epoch) else "earlier epoch"
    if field.startswith("other/") and _WORDS.fullmatch(value):
        return value.replace('"', "")
    return value if value != "" else '""'


def label(field: str) -> str:
    """The ledger's name for a field: ``attempts``, ``metrics:failed``, ``gactive blue``.

    Of a flow's keys the parent's id is said where there is no child's: ``dependencies …EJfs``, ``processed …EJft``.
    """
    name = re.sub(r"^(row|other)/", "", field).replace("metrics/", "metrics:", 1)
    of_a_flow = _OF_A_FLOW.fullmatch(name)
    if of_a_flow is None:
        return name
    parent, what, child = of_a_flow.groups()
    return short_ids(f"{what} {parent if child is None else child}")


def _never(lines: Sequence[Line]) -> bool:
    return all(ln.was is None and ln.now is None for ln in lines)


def fields(recording: Recording, columns: Sequence[Sequence[Moment]]) -> list[str]:
    """The fields worth a line: the four counters always, the others when an executor touched them."""
    out = [f"row/{name}" for name in COUNTERS]
    for name in EXTRAS:
        lines = [line(recording, f"row/{name}", m) for ms in columns for m in ms]
        # The policy is asked of every job that fails; a job that has none needs no line.
        if any(ln.kind != "u" or ln.changed for ln in lines) and not (name == "parent_policy" and _never(lines)):
            out.append(f"row/{name}")
    seen = [m.state for ms in columns for m in ms]
    for group in ("metrics", "other"):
        keys = {key for state in seen for key in state.get(group) or {}}
        out += [f"{group}/{key}" for key in ordered(keys)]
    return out
