"""The end of a run as one small drawing: a self-contained SVG of rails and chips, a column an executor.

It is for readers without the live widget. It has its own ground, so it reads on white and on dark pages,
uses no style sheet and no script, and the same recording always gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from emqlab.observe.moments import (
    Moment,
    Recording,
    astray,
    differs,
    kind_said,
    members,
    moments,
    rails,
    reply_text,
    until,
    verdict,
)

PITCH, CHIP, TALL, LABEL, HEAD = 36, 64, 22, 116, 84
INK, QUIET, LINE, JOB, SOFT, NO, PEN = "#16191d", "#565c64", "#d5d8dc", "#14599c", "#e4eef8", "#a5104f", "#ffefa8"
TIMED = ("active", "schedule")
LANES = 4


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a chip sits; ``score`` is a time in ms on a time rail, else None."""

    rail: str
    x: float
    y: float
    score: int | None


def picture(recording: Recording) -> str:
    """Draw the last moment of every executor of a recording; the answer is the text of an SVG document."""
    columns = moments(recording, whole=True)
    plan = _plan(recording, columns)
    each = {1: 560, 2: 384}.get(len(columns), 272)
    width, height = LABEL + each * len(columns) + 8, HEAD + 10 + sum(rows * PITCH for _, _, rows in plan)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"',
        ' font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for name, top, _ in plan:
        odd = any(differs(recording, columns, f"set/{name}", -1))
        out.append(_text(24, HEAD + top + 22, _cut(name, 15), QUIET))
        out.append(_text(8, HEAD + top + 22, "≠", INK) if odd else "")
    for k, column in enumerate(columns):
        left = LABEL + k * each
        out.append(f'<path d="M{left} 8V{height - 8}" stroke="{LINE}"/>')
        out.append(
            f'<g transform="translate({left + 12},0)">{_column(recording, columns, k, column, plan, each - 24)}</g>'
        )
    return "".join(out) + "</svg>"


def _plan(recording: Recording, columns: Sequence[Sequence[Moment]]) -> list[tuple[str, int, int]]:
    """The rails as (name, top, rows): a time rail has a row for each id that is ever on it, up to four."""
    out, top = [], 0
    for name in rails(columns):
        rows = max(1, min(LANES, len(_lanes(recording, columns, name)))) if name in TIMED else 1
        out.append((name, top, rows))
        top += rows * PITCH
    return out


def _lanes(recording: Recording, columns: Sequence[Sequence[Moment]], name: str) -> list[str]:
    ids = {job_id for ms in columns for m in ms[-1:] for s in (m.since, m.state) for job_id in members(s, name)}
    return sorted(ids, key=lambda job_id: (job_id != recording["subject"], job_id))


def _column(
    recording: Recording,
    columns: Sequence[Sequence[Moment]],
    k: int,
    ms: Sequence[Moment],
    plan: Sequence[tuple[str, int, int]],
    width: int,
) -> str:
    m, executor = ms[-1], recording["executors"][k]
    v = verdict(recording, ms, len(ms) - 1)
    said = reply_text(v.said, recording)
    out = [_text(0, 22, _cut(heading(executor), width // 7), INK, "bold")]
    out.append(_text(0, 48, v.text, INK, "bold", 18 if len(v.text) * 10 < width else 13))
    out.append(_text(0, 70, _cut(f"{v.stamp.upper()}  {said}".strip(), width // 7), NO if v.stamp else QUIET))
    out.append(f'<g transform="translate(0,{HEAD})">')
    axis = _axis(recording, columns)
    now = _at(axis, m.clock - recording["now_ms"], width)
    for name, top, rows in plan:
        if differs(recording, columns, f"set/{name}", -1)[k]:
            out.append(f'<rect x="-4" y="{top}" width="{width + 8}" height="{rows * PITCH}" fill="{PEN}"/>')
        out += [_rail(name, top + row * PITCH, width) for row in range(rows)]
    spots, hidden = _spots(recording, columns, m, plan, axis, width)
    before, _ = _spots(recording, columns, replace(m, state=m.since), plan, axis, width)
    out += [_bar(spot, now, m.clock, width) for spot in spots.values() if spot.score is not None]
    out.append(_now_line(plan, now, width))
    out += [_was(job_id, spot) for (name, job_id), spot in before.items() if (name, job_id) not in spots]
    out += [_chip(recording, m, job_id, spot) for (_, job_id), spot in spots.items()]
    return "".join(out) + hidden + "</g>"


def _axis(recording: Recording, columns: Sequence[Sequence[Moment]]) -> tuple[float, float]:
    """The recording's axis; where the clock moved, widened to hold the last moment and what is due by then."""
    start, end = recording.get("axis") or (-12000, 44000)
    moved = [ms[-1] for ms in columns if ms[-1].clock != recording["now_ms"]]
    scores = [
        float(m.state["sets"][name][job_id]) for m in moved for name in TIMED for job_id in members(m.state, name)
    ]
    last = max([*scores, *(m.clock for m in moved)], default=recording["now_ms"]) - recording["now_ms"]
    return start, last + (last - start) / 4 if moved and last > end - (end - start) / 5 else end


def _at(axis: tuple[float, float], ms: float, width: int) -> float:
    share = (ms - axis[0]) / max(1.0, axis[1] - axis[0])
    return round(4 + max(0.0, min(1.0, share)) * (width - 8), 1)


def _rail(name: str, top: int, width: int) -> str:
    y = top + PITCH // 2 + (0 if name in TIMED or name == "no set" else 13)
    dash = ' stroke-dasharray="2 4"' if name == "no set" else ""
    return f'<path d="M0 {y}H{width}" stroke="{LINE}"{dash}/>'


def _spots(
    recording: Recording,
    columns: Sequence[Sequence[Moment]],
    m: Moment,
    plan: Sequence[tuple[str, int, int]],
    axis: tuple[float, float],
    width: int,
) -> tuple[dict[tuple[str, str], _Spot], str]:
    """By rail and id, where each chip sits, and a ``+n`` for those that found no room. An id in two sets has two."""
    out: dict[tuple[str, str], _Spot] = {}
    more = ""
    for name, top, _ in plan:
        here = members(m.state, name)
        if name in TIMED:
            lanes = _lanes(recording, columns, name)
            for job_id in here:
                score = int(float(m.state["sets"][name][job_id]))
                at = _at(axis, score - recording["now_ms"], width)
                x = at - CHIP - 2 if score <= m.clock else at + 2
                y = top + (lanes.index(job_id) if job_id in lanes else 0) % LANES * PITCH + 7
                out[name, job_id] = _Spot(name, max(1, min(x, width - CHIP - 1)), y, score)
            continue
        room = max(1, (width - 46) // (CHIP + 8))
        slots = sorted({*members(recording["before"], name), *members(m.since, name), *here})
        slots.sort(key=lambda job_id: job_id != recording["subject"] if len(slots) > room else False)
        for job_id in here:
            if slots.index(job_id) < room:
                out[name, job_id] = _Spot(name, 10 + slots.index(job_id) * (CHIP + 8), top + 7, None)
        left_over = sum(slots.index(job_id) >= room for job_id in here)
        more += _text(12 + room * (CHIP + 8), top + 22, f"+{left_over}", QUIET) if left_over else ""
    return out, more


def _bar(spot: _Spot, now: float, clock: int, width: int) -> str:
    """A lease or a due time: from the now-line to the score, full when ahead, dashed when behind."""
    assert spot.score is not None
    over, y = spot.score <= clock, spot.y + TALL // 2
    edge = spot.x + CHIP + 2 if over else spot.x - 2
    a, b = sorted((edge, now))
    style = f'fill="{NO}" fill-opacity="0.14" stroke="{NO}" stroke-dasharray="3 2"' if over else f'fill="{JOB}"'
    word = until(spot.rail, spot.score, clock)
    x, anchor, above = (now + 6, "start", 8) if over and now + 100 < width else (max(a, b - 4), "end", 8)
    beside, size = spot.x + CHIP + 6, len(word) * 5.8
    if not over and b - a < size:  # over its bar the now line would cross it
        x, anchor, above = (beside, "start", 5) if beside + size < width else (now - 6, "end", 5)
    if over and anchor == "end":  # its chip stands there: in two lines behind the now line, or above the chip
        first, _, rest = word.partition(" ")
        x, above = now - 6, 13
        if spot.rail == "active" and now + 6 + max(len(first), len(rest)) * 5.8 < width:
            x, anchor, above = now + 6, "start", 5
            word = f'{first}<tspan x="{x:g}" y="{y + 13:g}">{rest}</tspan>'
    return (
        f'<rect x="{a:g}" y="{y - 4:g}" width="{b - a:g}" height="8" {style}/>'
        f'<path d="M{edge:g} {y - 9:g}v18" stroke="{INK}" stroke-width="1.5"/>'
        f'<text x="{x:g}" y="{y - above:g}" font-size="11" text-anchor="{anchor}" fill="{QUIET}">{word}</text>'
    )


def _now_line(plan: Sequence[tuple[str, int, int]], now: float, width: int) -> str:
    tops = {name: (top, top + rows * PITCH) for name, top, rows in plan}
    end = tops["schedule"][1] - 3
    x, anchor = (now - 4, "end") if now > width - 34 else (now + 4, "start")
    return (
        f'<path d="M{now:g} {tops["active"][0] + 1}V{end}" stroke="{INK}"/>'
        f'<text x="{x:g}" y="{end + 3}" font-size="11" text-anchor="{anchor}" fill="{QUIET}">now</text>'
    )


def _was(job_id: str, spot: _Spot) -> str:
    return _box(spot, f'fill="none" stroke="{QUIET}" stroke-dasharray="3 3"') + _name(spot, job_id, QUIET)


def _chip(recording: Recording, m: Moment, job_id: str, spot: _Spot) -> str:
    row = m.state["rows"].get(job_id)
    if spot.rail == "no set" and astray(recording, m, job_id):
        strike = f'<path d="M{spot.x + 6:g} {spot.y + 11:g}h32" stroke="{NO}"/>'
        out = _box(spot, f'fill="#ffffff" stroke="{NO}" stroke-width="2"') + _name(spot, job_id, NO) + strike
    elif row is None:
        out = _box(spot, f'fill="#ffffff" stroke="{QUIET}" stroke-dasharray="2 2"') + _name(spot, job_id, QUIET)
    elif job_id == recording["subject"]:
        out = _box(spot, f'fill="{JOB}"') + _name(spot, job_id, "#ffffff")
    else:
        out = _box(spot, f'fill="{SOFT}" stroke="{JOB}"') + _name(spot, job_id, JOB)
    token = row.get("attempts", "") if isinstance(row, Mapping) else ""
    return out + (_seal(spot, token) if re.fullmatch(r"[1-9][0-9]*", str(token)) else "")


def _seal(spot: _Spot, token: str) -> str:
    return (
        f'<g transform="translate({spot.x + CHIP - 13:g},{spot.y + 11:g})">'
        f'<path d="M-4-9.5H4L9.5-4V4L4 9.5H-4L-9.5 4V-4Z" fill="#ffffff" stroke="{JOB}"/>'
        f'<text y="4" font-size="11" font-weight="bold" text-anchor="middle" fill="{INK}">'
        f"{token if len(token) < 3 else '…'}</text></g>"
    )


def _box(spot: _Spot, style: str) -> str:
    return f'<rect x="{spot.x:g}" y="{spot.y:g}" width="{CHIP}" height="{TALL}" rx="4" {style}/>'


def _name(spot: _Spot, job_id: str, fill: str) -> str:
    text = escape(printable(job_id[-4:]))
    return f'<text x="{spot.x + 7:g}" y="{spot.y + 15:g}" font-family="monospace" fill="{fill}">{text}</text>'


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _text(x: float, y: float, text: str, fill: str, weight: str = "normal", size: int = 12) -> str:
    style = f'font-weight="{weight}" font-size="{size}" fill="{fill}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(printable(text))}</text>'


def heading(executor: Mapping[str, Any]) -> str:
    """A column's title, and in brackets what kind it is unless the title says so."""
    kind = kind_said(executor)
    return f"{executor['title']} ({kind})" if kind else str(executor["title"])


def printable(text: str) -> str:
    """A text with every character that has no glyph (controls, direction marks, lone surrogates) spelled out."""
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def alt(title: str, recording: Recording) -> str:
    """What the picture shows, in one or two full sentences."""
    parts = []
    for executor, ms in zip(recording["executors"], moments(recording, whole=True), strict=True):
        v = verdict(recording, ms, len(ms) - 1)
        stamp = f" ({v.stamp})" if v.stamp else ""
        parts.append(f"under {executor['title']} the job {_went(v.was, v.place)}{stamp}")
    joined = "; ".join(parts)
    return printable(f"{title}, after the last step. {joined[:1].upper()}{joined[1:]}.")


def _went(was: str, now: str) -> str:
    held = now if now in ("gone", "in hand") else f"in {now}"
    if was == now:
        return "is not there" if now == "gone" else f"stays {held}"
    if was == "new":
        return "came and is gone" if now == "gone" else f"is new and now {held}"
    return f"leaves {was} and is now {held}"
