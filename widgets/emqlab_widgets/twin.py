"""The stage for readers without a live widget: an HTML twin and a plain text, both of the end of the run.

The HTML is what survives a notebook's sanitizer: tables with captions and scopes, inline styles, and the
picture as an ``<img>``. Both texts are the same for the same recording, and hold nothing of this session.
"""

from __future__ import annotations

import textwrap
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from emqlab.observe import story
from emqlab.observe.every import every
from emqlab.observe.moments import (
    Frame,
    Moment,
    Recording,
    command_text,
    fields,
    label,
    line,
    moments,
    reply_text,
    show,
    verdict,
)
from emqlab.teach.predict import Question, answer, deciding, reason
from emqlab_widgets import chart
from emqlab_widgets.picture import alt, heading, picture, printable
from emqlab_widgets.timespace import diagram

WIDTH = 110
CELL = 'style="text-align:left;vertical-align:top;padding:2px 12px 2px 0"'
ASKS = "Before you run it, say what will happen:"
FOLDED = "The run, if you only read along"
#: On paper nothing can be unfolded: an export that is printed shows the run. Where styles are taken out, it stays away.
UNFOLDED = "<style>@media print{details::details-content{content-visibility:visible;block-size:auto}}</style>"
#: What stands for a line where a change left none, or found none.
NO_LINE = "no such line"
SIGN = {"read": "○", "host": "◌", "write": "■", "guard": "═", "reply": "▌", "world": "–"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a stage has on show. ``picks`` are (label, chosen option), ``differs`` (number, sentence).

    With ``budgets`` the chart of two budgets is part of it, with ``every`` the table of every key.
    """

    title: str
    question: str
    picks: tuple[tuple[str, str], ...]
    differs: tuple[tuple[int, str], ...]
    recording: Recording
    questions: tuple[Question, ...]
    budgets: bool = False
    every: bool = False


def _short(text: str) -> str:
    text = printable(text)
    return text if len(text) <= 160 else text[:159] + "…"


def _where(recording: Recording, ms: Sequence[Moment]) -> str:
    v = verdict(recording, ms, len(ms) - 1)
    return v.text + (f", {v.stamp}" if v.stamp else "")


def _says(recording: Recording, field: str, m: Moment) -> str:
    """One ledger line in words: ``absent → 1 (+1), read, written``."""
    ln = line(recording, field, m)
    was = f"{_short(show(ln.was, field, recording, m))} → " if ln.changed else ""
    now = "" if ln.deleted else _short(show(ln.now, field, recording, m))
    delta = f" ({ln.delta})" if ln.delta else ""
    return f"{was}{now}{delta}{', ' if now else ''}{ln.word}"


def _did(recording: Recording, frame: Frame) -> str:
    """One frame in words: the command and what came back."""
    if frame["phase"] == "guard":
        return "write guard"
    command, told = _short(command_text(frame, recording)), _short(reply_text(frame.get("reply"), recording))
    if "unsupported" in (frame.get("reply") or {}):
        return f"nothing is sent: {told}"
    if not command:
        return f"answers {told}"
    return f"{command} → {told}" if told else command


def _sign(frame: Frame) -> str:
    if frame["phase"] == "call":
        return "■" if frame.get("writes") else "○"
    return SIGN[frame["phase"]]


def _asked(shown: Shown) -> list[str]:
    out = []
    for question in shown.questions:
        frame = deciding(shown.recording, question.about)
        why = f"Decided by: {_did(shown.recording, frame)}." if frame else reason(shown.recording, question.about)
        out.append(f"{question.ask} {_short(answer(shown.recording, question.about))}. {why}")
    return out


def html(shown: Shown) -> str:
    """The HTML twin: title, picks, the run as a picture, the ledger and the trace as tables.

    Where something is asked, the questions come first and the run is folded away: nobody reads the answer unasked.
    """
    out = [f'<div style="max-width:1000px"><h3 style="margin:8px 0 0">{_safe(shown.title)}</h3>']
    out.append(f"<p>{_safe(shown.question)}</p>" if shown.question else "")
    out += [f"<p>{_safe(name)}: <b>{_safe(option)}</b></p>" for name, option in shown.picks]
    if not shown.questions:
        return "".join([*out, '<h4 style="margin:8px 0">The run</h4>', _run(shown)]) + "</div>"
    asked = (f"<li>{_safe(q.ask)} {_safe(_options(q))}</li>" for q in shown.questions)
    out.append(f"<p>{ASKS}</p><ul>{''.join(asked)}</ul>")
    return "".join([*out, f"{UNFOLDED}<details><summary>{FOLDED}</summary>", _run(shown)]) + "</details></div>"


def _options(question: Question) -> str:
    return f"({', '.join(question.options)})"


def _run(shown: Shown) -> str:
    recording, columns = shown.recording, moments(shown.recording, whole=True)
    out = [f"<p>{_safe(recording['about'])}</p>"] if recording.get("about") else []
    lines = [f"{when} {f'<code>{_safe(line)}</code>' if line else NO_LINE}" for when, line in _change(recording)]
    out += [f"<p>{'<br>'.join(lines)}</p>"] if lines else []
    out += [f"<p><b>≠ {number}</b> {_safe(sentence)}</p>" for number, sentence in shown.differs]
    if story.told(recording):
        out.append(f"<p>{_safe(story.agreement(recording))}</p>")
        for which in story.drawn(recording):
            out.append(_image(story.story(recording, which), diagram(recording, which)))
    if shown.budgets and recording["steps"]:
        out.append(_image(chart.alt(recording), chart.chart(recording)))
        out.append(_table("The budget after each move.", recording, iter(chart.told(recording)), first="move"))
    out.append(_image(alt(shown.title, recording), picture(recording)))
    out.append(_table(f"{shown.title}. After the last step.", recording, _ledger_rows(recording, columns)))
    out.append(_table("What was sent, in order.", recording, _trace_rows(recording, columns), "step", _whole))
    if shown.every:
        keys = _table("Every key, before and now.", recording, _every_rows(recording, columns), first="key")
        out.append(f"<details><summary>Every key</summary>{keys}</details>")
    if shown.questions:
        out.append("<p>Asked beforehand:</p><ul>" + "".join(f"<li>{_safe(s)}</li>" for s in _asked(shown)) + "</ul>")
    return "".join(out)


def _change(recording: Recording) -> Iterator[tuple[str, str]]:
    """The lines of a changed file, the old above the new; an empty text where there is none."""
    yield from recording.get("change", {}).items()


def _image(words: str, svg: str) -> str:
    encoded = b64encode(svg.encode("utf-8", "surrogatepass")).decode("ascii")
    return f'<img alt="{_safe(words)}" style="max-width:100%" src="data:image/svg+xml;base64,{encoded}">'


def _every_rows(recording: Recording, columns: Sequence[Sequence[Moment]]) -> Iterator[tuple[str, list[str]]]:
    for one in every(recording, columns, -1):
        yield ("≠ " if any(one.odd) else "") + one.name, list(one.cells)


def _safe(text: str) -> str:
    return escape(printable(text))


def _whole(text: str) -> str:
    """A line ends neither inside a shortened id nor between an arrow and what it leads to."""
    return _safe(text).replace("…", "…\u2060").replace(" → ", " →\u00a0")


def _ledger_rows(recording: Recording, columns: Sequence[Sequence[Moment]]) -> Iterator[tuple[str, list[str]]]:
    yield "where the job is", [_where(recording, ms) for ms in columns]
    yield "answer", [_short(reply_text(ms[-1].said, recording)) or "none" for ms in columns]
    for field in fields(recording, columns):
        yield label(field), [_says(recording, field, ms[-1]) for ms in columns]


def _trace_rows(recording: Recording, columns: Sequence[Sequence[Moment]]) -> Iterator[tuple[str, list[str]]]:
    for number, step in enumerate(recording["steps"], start=1):
        frames = [ms[number].frame for ms in columns]
        yield f"{number} {step['word']}", [_cell(recording, frame) for frame in frames]


def _cell(recording: Recording, frame: Frame | None) -> str:
    if frame is None:
        return ""
    note = f"\n{frame['note']}" if frame.get("note") else ""
    return f"{_sign(frame)} {_did(recording, frame)}{note}"


def _table(
    caption: str,
    recording: Recording,
    rows: Iterator[tuple[str, list[str]]],
    first: str = "",
    tell: Callable[[str], str] = _safe,
) -> str:
    titles = [first, *(executor["title"] for executor in recording["executors"])]
    head = "".join(f'<th scope="col" {CELL}>{_safe(title)}</th>' for title in titles)
    body = "".join(
        f'<tr><th scope="row" {CELL}>{_safe(name)}</th>'
        + "".join(f"<td {CELL}>{'<br>'.join(tell(part) for part in cell.split(chr(10)))}</td>" for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    return (
        f'<table style="margin:12px 0"><caption style="text-align:left"><b>{_safe(caption)}</b></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def text(shown: Shown) -> str:
    """The plain text: the same facts, the questions before the run, in lines of at most 110 characters."""
    recording, columns = shown.recording, moments(shown.recording, whole=True)
    out = [shown.title, *([shown.question] if shown.question else [])]
    out += [f"{name}: {option}" for name, option in shown.picks]
    differs = [recording["about"]] if recording.get("about") else []
    differs += [f"  {when:<3} {line or NO_LINE}" for when, line in _change(recording)]
    differs += [f"≠ {number} {sentence}" for number, sentence in shown.differs]
    if shown.questions:
        out += ["", ASKS, *(f"  {q.ask} {_options(q)}" for q in shown.questions)]
        out += ["", "The run:", *differs]
    else:
        out += [*differs, "", "The run:"]
    if story.told(recording):
        out += [story.agreement(recording)] if story.agreement(recording) else []
        out += [story.story(recording, which) for which in story.drawn(recording)]
    for executor, ms in zip(recording["executors"], columns, strict=True):
        out.append(f"{heading(executor)}: {_where(recording, ms)}")
        out.append(f"  answer: {_short(reply_text(ms[-1].said, recording)) or 'none'}")
        out += [f"  {label(f)}: {_says(recording, f, ms[-1])}" for f in fields(recording, columns)]
    if shown.budgets and recording["steps"]:
        out += ["", "The budget after each move:"]
        out += [_beside(name, cells, recording) for name, cells in chart.told(recording)]
    out += ["", *_trace_lines(recording, columns)]
    if shown.every:
        out += ["", "Every key, before and now:"]
        out += [_beside(name, cells, recording) for name, cells in _every_rows(recording, columns)]
    if shown.questions:
        out += ["", "Asked beforehand", *_asked(shown)]
    return "\n".join(wrapped for one in out for wrapped in _wrap(one))


def _beside(name: str, cells: Sequence[str], recording: Recording) -> str:
    """One row of a table in a line: the executors' cells after their names."""
    told = (f"{ex['name']}: {cell}" for ex, cell in zip(recording["executors"], cells, strict=True))
    return "  ".join([f"  {name}", *told])


def _trace_lines(recording: Recording, columns: Sequence[Sequence[Moment]]) -> Iterator[str]:
    """Per step its number and question, then each executor's deed and note; one line where it is short."""
    names: Sequence[Mapping[str, Any]] = recording["executors"]
    for number, step in enumerate(recording["steps"], start=1):
        cells = [(ex["name"], ms[number].frame) for ex, ms in zip(names, columns, strict=True)]
        deeds = [f"{name}: {_did(recording, frame)}" for name, frame in cells if frame]
        whole = "  ".join([f"{number:>2} {step['word']}", *deeds])
        yield from (
            [whole] if len(whole) <= WIDTH else [f"{number:>2} {step['word']}", *(f"   {deed}" for deed in deeds)]
        )
        for name, frame in cells:
            if frame and frame.get("note"):
                yield f"     {name}: {frame['note']}"


def _wrap(one: str) -> list[str]:
    flat = printable(one)
    indent = " " * (len(flat) - len(flat.lstrip()) + 4)
    return textwrap.wrap(flat, WIDTH, subsequent_indent=indent, drop_whitespace=True) or [""]
