"""Predictions: what a reader says will happen, judged by what the run did.

A question asks about one executor of a recording. ``about`` names what is asked:

====================================  ==========================================================
``<executor>/place``                  where the job is at the end: ``pending``, ``no set``, ``gone``
``<executor>/stamp``                  ``answered``, ``refused``, ``broke off``, ``lost``, ``unsupported``
``<executor>/reply``                  the last reply, as the trace shows it
``<executor>/delta/<field>``          the change of a counter: ``0``, ``+1``, ``−1``, ``deleted``
``<executor>/value/<field>``          the value at the end, as the ledger shows it, or ``deleted``
``<executor>/stamp@<step id>``        the stamp of one row of the trace, or ``not sent``
``<executor>/reply@<step id>``        the reply in one row of the trace, or ``not sent``
====================================  ==========================================================

A field is written as the ledger writes it: ``attempts``, ``state``, ``metrics:failed``, ``gactive blue``; but a flow's
keys in full: ``job:JOB0KHTOWnGLuC:dependencies``.
``emqlab_widgets/stage.js`` judges by the same rules and in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emqlab.observe.moments import (
    Frame,
    Moment,
    Recording,
    command_text,
    label,
    line,
    moments,
    place,
    reply_text,
    show,
    touches,
    verdict,
)

WHAT = ("place", "stamp", "reply", "delta", "value")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, what it is about (see the module), and the answers to choose from."""

    ask: str
    about: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A guess held against the run. ``step`` (counted from 1) and ``command`` made the difference, None if none did."""

    ok: bool
    guess: str
    answer: str
    step: int | None
    command: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question's ``about``, resolved: one executor's moments, what is asked, the ledger field if any."""

    name: str
    column: Sequence[Moment]
    others: Sequence[Sequence[Moment]]
    what: str
    field: str
    #: Which moment is asked about: the last one unless the question names a row.
    at: int | None = None


def answer(recording: Recording, about: str) -> str:
    """What the run says, in the words of the stage.

    Raises ``ValueError`` if ``about`` names no executor of the recording or nothing that can be asked.
    """
    asked = _resolve(recording, about)
    end = asked.column[-1]
    if asked.at is not None:
        return _told_at(recording, asked.column, asked.at, asked.what)
    if asked.what == "place":
        return verdict(recording, asked.column, len(asked.column) - 1).place
    if asked.what == "stamp":
        return _stamp(recording, asked.column)
    if asked.what == "reply":
        return reply_text(_last_reply(asked.column).said, recording)
    found = line(recording, asked.field, end)
    if found.deleted:
        return "deleted"
    shown = show(found.now, asked.field, recording, end)
    if asked.what == "value":
        return shown
    return found.delta or (shown if found.changed else "0")


def deciding(recording: Recording, about: str) -> Frame:
    """The frame that made the difference for ``about``.

    That is the row's own where the question names a row; else the last one that changed what is asked. If nothing
    changed it: for a delta or a value the last one that wrote the field; else the command that refused, else the last
    read of the row, else the last read, else the reply. The frame is empty where no command wrote the field or nothing
    was sent. Raises ``ValueError`` as ``answer`` does.
    """
    return _decided(recording, _resolve(recording, about))[1]


def reason(recording: Recording, about: str) -> str:
    """Why the run says what it says, in one sentence that names the deciding command, or that there is none.

    Raises ``ValueError`` as ``answer`` does.
    """
    asked = _resolve(recording, about)
    step, frame = _decided(recording, asked)
    if frame:
        command, told = command_text(frame, recording), reply_text(frame.get("reply"), recording)
        if not command:
            return f"Step {step} decided it: the answer {told}."
        return f"Step {step} decided it: {command}" + (f" → {told}." if told else ".")
    if not _sent(asked.column):
        return "Nothing was sent."
    if asked.at is not None:
        return "Nothing was sent for this."
    elsewhere = any(_wrote(asked.field, frame) for column in asked.others for _, frame in _sent(column))
    return f"No {asked.name + ' ' if elsewhere else ''}command wrote {label(asked.field)}."


def judge(recording: Recording, question: Question, guess: str) -> Judgement:
    """Hold a guess against the run; a minus may be typed as a hyphen.

    Raises ``ValueError`` as ``answer`` does.
    """
    right = answer(recording, question.about)
    step, frame = _decided(recording, _resolve(recording, question.about))
    command = command_text(frame, recording) if frame else None
    ok = _plain(guess) == _plain(right)
    said = f"You said {guess}" + (". " if ok else f"; it is {right}. ")
    return Judgement(ok, guess, right, step, command, said + reason(recording, question.about))


def _plain(guess: str) -> str:
    return guess.strip().replace("−", "-")


def _resolve(recording: Recording, about: str) -> _Asked:
    columns = moments(recording, whole=True)
    for executor, column in zip(recording["executors"], columns, strict=True):
        if about.startswith(f"{executor['name']}/"):
            asked, _, name = about.removeprefix(f"{executor['name']}/").partition("/")
            what, row, step = asked.partition("@")
            at = _row(recording, step) if row else None
            known = what in WHAT and (what in ("delta", "value")) == bool(name)
            if not known or (row and (at is None or what not in ("stamp", "reply"))):
                raise ValueError(f"nothing that can be asked: {about!r}")
            others = [one for one in columns if one is not column]
            return _Asked(executor["name"], column, others, what, _field(column, name) if name else "", at)
    names = ", ".join(executor["name"] for executor in recording["executors"])
    raise ValueError(f"{about!r} names no executor of this recording ({names})")


def _row(recording: Recording, step: str) -> int | None:
    """The number of the row of that id, counted from 1; None if there is none."""
    ids = [one["id"] for one in recording["steps"]]
    return ids.index(step) + 1 if step in ids else None


def _field(column: Sequence[Moment], name: str) -> str:
    if name.startswith("metrics:"):
        return "metrics/" + name.removeprefix("metrics:")
    other = any(name in (m.state.get("other") or {}) for m in column)
    return ("other/" if other else "row/") + name


def _last_reply(column: Sequence[Moment]) -> Moment:
    return next((m for m in reversed(column) if m.said), column[-1])


def _stamp(recording: Recording, column: Sequence[Moment]) -> str:
    if lost := verdict(recording, column, len(column) - 1).stamp:
        return lost
    last = _last_reply(column)
    if last.said and "unsupported" in last.said:
        return "unsupported"
    return verdict(recording, column, column.index(last)).stamp or "answered"


def _told_at(recording: Recording, column: Sequence[Moment], at: int, what: str) -> str:
    frame = column[at].frame
    if frame is None or frame["phase"] == "world":
        return "not sent"
    if what == "reply":
        return reply_text(frame.get("reply"), recording)
    if "unsupported" in (frame.get("reply") or {}):
        return "unsupported"
    return verdict(recording, column, at).stamp or "answered"


def _sent(column: Sequence[Moment]) -> list[tuple[int, Frame]]:
    return [(step, m.frame) for step, m in enumerate(column) if m.frame is not None]


def _wrote(field: str, frame: Frame) -> bool:
    return touches(field, frame.get("writes") or ())


def _decided(recording: Recording, asked: _Asked) -> tuple[int | None, Frame]:
    """The number of the step and the frame that made the difference; None and an empty frame if none did."""
    sent = _sent(asked.column)
    if not sent:
        return None, {}
    if asked.at is not None:
        frame = asked.column[asked.at].frame
        return (None, {}) if frame is None else (asked.at, frame)
    values = [_value(recording, asked, m) for m in asked.column]
    changed = [(step, frame) for step, frame in sent if values[step] != values[step - 1]]
    if changed:
        return changed[-1]
    if asked.field:
        wrote = [(step, frame) for step, frame in sent if _wrote(asked.field, frame)]
        return wrote[-1] if wrote else (None, {})
    acts = [(step, frame) for step, frame in sent if frame["phase"] not in ("reply", "guard", "world")]
    replied = _last_reply(asked.column).said
    if replied and "error" in replied:
        refused = [(step, frame) for step, frame in acts if "error" in (frame.get("reply") or {})]
        return (refused or _reads(acts, "") or sent)[-1]
    # Of a token that was let through, the look at it decided; what was read after that is about something else.
    token = _reads(acts, "row.attempts") if asked.what == "stamp" else []
    return (token or _reads(acts, "row") or _reads(acts, "") or acts or sent)[-1]


def _reads(acts: Sequence[tuple[int, Frame]], slot: str) -> list[tuple[int, Frame]]:
    """The frames that read ``row`` (or any field of it), or with an empty text that read anything.

    A whole call counts as a read of all it touched, and always when anything will do.
    """
    out = []
    for step, frame in acts:
        touched = [*(frame.get("reads") or ())]
        if frame["phase"] == "call":
            touched += [*(frame.get("writes") or ()), ""]
        elif frame["phase"] not in ("read", "host"):
            continue
        if any(slot in ("", name) or (slot == "row" and name.startswith("row.")) for name in touched):
            out.append((step, frame))
    return out


def _value(recording: Recording, asked: _Asked, m: Moment) -> object:
    if asked.what == "place":
        return place(m.state, recording["subject"])
    if asked.field:
        found = line(recording, asked.field, m)
        return found.now, found.deleted
    return None
