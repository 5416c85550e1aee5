"""What a reader sees at each step of a recording: verdict, caption, differences; and the door to the rest.

A recording stores only commands, replies and patches. Everything here is derived from it, by the same
rules and in the same words as the functions of those names in ``emqlab_widgets/stage.js``: a static page
and a live widget must agree. Nothing here needs a server or Jupyter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emqlab.observe.ledger import COUNTERS, Line, fields, label, line, show, slot_of, touches
from emqlab.observe.shorthand import brief, command_text, reply_text, until
from emqlab.observe.walk import (
    SETS,
    Frame,
    Json,
    Moment,
    Recording,
    State,
    astray,
    members,
    merge,
    moments,
    of_calls,
    place,
    rails,
)

__all__ = [
    "COUNTERS",
    "SETS",
    "Frame",
    "Json",
    "Line",
    "Moment",
    "Recording",
    "State",
    "Verdict",
    "astray",
    "brief",
    "command_text",
    "differs",
    "fields",
    "kind_said",
    "label",
    "line",
    "mark",
    "members",
    "merge",
    "moments",
    "note_at",
    "odd_ones",
    "place",
    "rails",
    "reply_text",
    "show",
    "slot_of",
    "touches",
    "until",
    "verdict",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Where the job was before (``new``: nowhere) and is, the reply so far (or None), the stamp (or an empty text)."""

    was: str
    place: str
    said: Mapping[str, Any] | None
    stamp: str
    text: str


def verdict(recording: Recording, ms: Sequence[Moment], step: int) -> Verdict:
    """What the verdict row says about one executor (its ``moments``) after ``step`` steps."""
    m, subject = ms[step], recording["subject"]
    was, now, away = (
        place(m.since, subject),
        place(m.state, subject),
        astray(recording, m, subject),
    )
    now = "in hand" if away == "held" else now
    stamp = ""
    if away == "lost":
        stamp = "lost"
    elif m.said and "error" in m.said:
        stamp = "broke off" if m.wrote else "refused"
    lived = any(place(one.state, subject) != "gone" for one in ms[: step + 1])
    again = of_calls(recording) and any(place(one.state, subject) != "gone" for one in ms[:step])
    before = "new" if was == "gone" and lived and not again else was
    if before != now:
        text = f"{before} → {now}"
    elif now == "gone":
        text = "not there" if not m.ended else "stays gone" if again else "there is no job"
    else:
        text = ("stays " if m.ended else "") + f"in {now}"
    return Verdict(before, now, m.said, stamp, text)


def kind_said(executor: Mapping[str, Any]) -> str:
    """What a column's heading adds to its title: ``script`` or ``native``, or nothing where the title says as much.

    ``the scripts``, ``EMQ verbs``: such a title needs no word beside it.
    """
    return "" if re.search(r"\b(scripts?|scripted|verbs?|native)\b", executor["title"]) else str(executor["kind"])


def note_at(recording: Recording, ms: Sequence[Moment], step: int) -> str:
    """The caption of one executor after ``step`` steps: one plain sentence."""
    m = ms[step]
    if "unsupported" in (ms[-1].said or {}) and ms[-1].last is None:
        return "No such verb here: nothing is sent."
    if step == 0:
        return "Nothing has been sent."
    if m.frame is not None and m.frame.get("note"):
        return str(m.frame["note"])
    if m.ended and m.last is not None:
        return "Sends nothing more." if m.last["phase"] in ("call", "world") else "Has answered."
    return "Sends nothing for this."


def differs(recording: Recording, columns: Sequence[Sequence[Moment]], key: str, step: int) -> tuple[bool, ...]:
    """Per executor, whether it is an odd one out on this line (``set/<rail>`` or a field) after ``step``.

    All False means that the executors agree; without one clear majority all of them are marked.
    """
    return odd_ones([_compared(recording, ms[step], key) for ms in columns])


def odd_ones(values: Sequence[str | None]) -> tuple[bool, ...]:
    """Per value, whether it is an odd one out; without one clear majority all are, among equals none is."""
    counts = [values.count(value) for value in values]
    most = max(counts)
    split = len({value for value, n in zip(values, counts, strict=True) if n == most}) > 1
    return tuple(n < most or split for n in counts)


mark = differs


def _compared(recording: Recording, m: Moment, key: str) -> str:
    group, _, name = key.partition("/")
    if group != "set":
        return json.dumps(line(recording, key, m).now)
    found = members(m.state, name) if name == "no set" else m.state["sets"].get(name) or {}
    return json.dumps(found, sort_keys=True)
