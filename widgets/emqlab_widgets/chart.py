"""Two budgets as a chart: what each executor has spent after each move, against the cap, and where the job died.

Everything is derived from a recording of whole calls and its ``cap`` (max_attempts); ``budgets`` in ``stage.js``
derives the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from emqlab.observe.moments import Moment, Recording, line, moments, place
from emqlab_widgets.picture import INK, JOB, LINE, NO, PEN, QUIET, printable

WRITE = "#a34a00"
#: Steps that end a move: what comes before them is its deed.
ENDS = ("promote", "stalled_check")
NAMES = {"advance": "lapse"}
LEFT, RIGHT, TOP, BOTTOM, LOW, HIGH = 116, 150, 38, 48, 14, 26


@dataclass(frozen=True, slots=True)
class Spent:
    """One executor's budget: ``counter`` is what it caps, ``spent`` its value at first and after each move.

    ``each`` is its value at first and after each step, and whether the job is dead then. ``died`` is the move,
    counted from 1, after which the job was dead for the first time; None if it never was.
    """

    name: str
    title: str
    counter: str
    each: tuple[tuple[int, bool], ...]
    spent: tuple[int, ...]
    died: int | None


@dataclass(frozen=True, slots=True)
class Budgets:
    """The moves with the number of the step that ends each, the cap, and a column an executor.

    ``parted`` says of each move whether after it the job is dead for one executor and not for another.
    """

    moves: tuple[tuple[str, int], ...]
    cap: int
    columns: tuple[Spent, ...]
    parted: tuple[bool, ...]


def budgets(recording: Recording) -> Budgets:
    """What the chart shows. Made for histories of moves as ``emqlab.teach.history`` composes them."""
    moves: list[tuple[str, int]] = []
    for number, step in enumerate(recording["steps"], start=1):
        name = step["id"].split("#")[0]
        if name in ENDS and moves:
            moves[-1] = (moves[-1][0], number)
        else:
            moves.append((NAMES.get(name, name), number))
    stops = [0, *(number for _, number in moves)]
    columns: list[Spent] = []
    for executor, ms in zip(recording["executors"], moments(recording, whole=True), strict=True):
        counter = "attempts" if executor["kind"] == "script" else "failures"
        each = tuple((_count(recording, counter, m), _is_dead(recording, m)) for m in ms)
        died = next((move for move, at in enumerate(stops) if each[at][1]), None)
        spent = tuple(each[at][0] for at in stops)
        columns.append(Spent(executor["name"], executor["title"], counter, each, spent, died))
    parted = tuple(len({one.each[at][1] for one in columns}) > 1 for at in stops[1:])
    return Budgets(tuple(moves), int(recording["cap"]), tuple(columns), parted)


def _count(recording: Recording, counter: str, m: Moment) -> int:
    now = line(recording, f"row/{counter}", m).now
    return int(now) if now is not None and now.isdecimal() else 0


def _is_dead(recording: Recording, m: Moment) -> bool:
    return "dead" in place(m.state, recording["subject"]).split(" + ")


def told(recording: Recording) -> list[tuple[str, list[str]]]:
    """The chart in words, a row a move: its number and name, and what each executor has spent by then."""
    found = budgets(recording)
    return [
        (f"{number} {move}", [_said(found, column, number) for column in found.columns])
        for number, (move, _) in enumerate(found.moves, start=1)
    ]


def _said(found: Budgets, column: Spent, number: int) -> str:
    dead = column.died is not None and number >= column.died
    return f"{column.counter} {column.spent[number]} of {found.cap}" + (", dead" if dead else "")


def alt(recording: Recording) -> str:
    """The chart in a sentence for each executor."""
    found = budgets(recording)
    ends = [
        f"{one.title}: {one.counter} {one.spent[-1]} of {found.cap}, "
        + (f"dead after move {one.died}, {found.moves[one.died - 1][0]}" if one.died else "never dead")
        for one in found.columns
    ]
    return printable(f"The budget spent after each of {len(found.moves)} moves. {'. '.join(ends)}.")


def chart(recording: Recording) -> str:
    """The chart as the text of an SVG document on a ground of its own; the same recording gives the same bytes."""
    found = budgets(recording)
    most = max(found.cap, *(value for one in found.columns for value in one.spent))
    pitch, unit = max(44, min(72, 560 // max(1, len(found.moves)))), max(LOW, min(HIGH, 150 // most))
    width, floor = LEFT + pitch * len(found.moves) + RIGHT, TOP + unit * most
    size = f'width="{width}" height="{floor + BOTTOM}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {floor + BOTTOM}"'
    out = [f'{head} font-family="Helvetica, Arial, sans-serif" font-size="12"><rect {size} fill="#ffffff"/>']
    ends = LEFT + pitch * len(found.moves)
    for k, (move, _) in enumerate(found.moves):
        x = LEFT + pitch * k
        if found.parted[k]:
            out.append(f'<rect x="{x}" y="{TOP - 28}" width="{pitch}" height="{floor - TOP + 28}" fill="{PEN}"/>')
            first = k == 0 or not found.parted[k - 1]
            out.append(_text(x + pitch // 2, TOP - 14, "≠", INK, "middle") if first else "")
        out.append(_text(x + pitch // 2, floor + 18, str(k + 1), QUIET, "middle"))
        out.append(_text(x + pitch // 2, floor + 36, move, INK, "middle"))
    for value in range(most + 1):
        y = floor - unit * value
        out.append(f'<path d="M{LEFT} {y}H{ends}" stroke="{LINE}"/>')
        out.append(_text(LEFT - 8, y + 4, str(value), QUIET, "end") if value != found.cap else "")
    y = floor - unit * found.cap
    out.append(f'<path d="M{LEFT} {y}H{ends}" stroke="{INK}" stroke-dasharray="2 3"/>')
    out.append(_text(LEFT - 8, y + 4, f"max_attempts {found.cap}", INK, "end"))
    for k, column in enumerate(found.columns):
        out += _line(found, column, k, pitch, unit, floor)
    out += _ends(found, ends, unit, floor)
    return "".join(out) + "</svg>"


def _line(found: Budgets, column: Spent, k: int, pitch: int, unit: int, floor: int) -> list[str]:
    """One executor's steps, and the cross where its job died; a second line is dashed, a little lower."""
    ys = [floor - unit * value + 3 * k for value in column.spent]
    way = f"M{LEFT} {ys[0]}" + "".join(f"V{y}h{pitch}" for y in ys[1:])
    dash = ' stroke-dasharray="6 4"' if k else ""
    out = [f'<path d="{way}" fill="none" stroke="{_colour(k)}" stroke-width="2.5"{dash}/>']
    if column.died is not None:
        x, y = LEFT + pitch * column.died - pitch // 2 + (k * 18 - 9) * _same(found), ys[column.died]
        out.append(
            f'<g><circle cx="{x}" cy="{y}" r="8" fill="#ffffff" stroke="{NO}"/>'
            f'<text x="{x}" y="{y + 4}" text-anchor="middle" font-weight="bold" fill="{NO}">†</text></g>'
        )
    return out


def _same(found: Budgets) -> bool:
    """Whether two crosses would stand on one place."""
    ends = {(one.died, one.spent[one.died]) for one in found.columns if one.died is not None}
    return len(ends) < len([one for one in found.columns if one.died is not None])


def _ends(found: Budgets, x: int, unit: int, floor: int) -> list[str]:
    """At the end of each line whose it is, one under the other where the lines end together."""
    ys = sorted((floor - unit * one.spent[-1] + 3 * k, k) for k, one in enumerate(found.columns))
    out, low = [], -100
    for y, k in ys:
        low = max(y, low + 30)
        one = found.columns[k]
        out.append(_text(x + 10, low, one.title, _colour(k), "start", "bold"))
        spent, dead = one.each[-1]
        out.append(_text(x + 10, low + 14, f"{one.counter} {spent}" + (", dead" if dead else ""), INK))
    return out


def _colour(k: int) -> str:
    return WRITE if k else JOB


def _text(x: int, y: int, text: str, fill: str, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x}" y="{y}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">'
        f"{escape(printable(text))}</text>"
    )
