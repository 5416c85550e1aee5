"""The way of one job through the sets, as one small drawing of a run: a stop after each step."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from emqlab.observe.moments import Moment, Recording, line, moments, place, show
from emqlab_widgets.chart import WRITE
from emqlab_widgets.picture import INK, JOB, LINE, QUIET, SOFT, printable
from emqlab_widgets.stage import Stage

#: Before its first life a job is nowhere; after it, gone.
NONE = "no job"
STOPS = (NONE, "pending", "active", "schedule", "dead", "gone")
LABEL, STEP, PITCH, TOP = 84, 66, 38, 14
#: A light card of its own, on purpose: an image in a notebook knows nothing of the page's theme.
GROUND = "#f8f9fb"
NAMES = {
    "stalled_check": "sweep",
    "advance": "clock",
    "A lease": "lease ends",
    "B lease": "lease ends",
    "A stalls": "A is silent",  # a stall is what the sweep counts
}


@dataclass(frozen=True, slots=True, repr=False)
class Path:
    """What a notebook shows of it: an image with a text beside it, and the same as plain text."""

    svg: str
    text: str

    def _repr_html_(self) -> str:
        encoded = b64encode(self.svg.encode()).decode("ascii")
        alt = escape(self.text.replace("\n", ". "))
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{encoded}">'

    def __repr__(self) -> str:
        return self.text


def path(of: Stage | Recording) -> Path:
    """Draw where the subject of a recording, or of a stage's, is after each step, with ``attempts`` in an octagon.

    Made for recordings of whole calls. Executors that go the same way share one line; else each has its own, with its
    name at the end, and they share the stops up to where they part.
    """
    recording: Recording = of.recording if isinstance(of, Stage) else of
    columns = moments(recording)
    ways = [_stopped(recording, ms) for ms in columns]
    names = [executor["title"] for executor in recording["executors"]]
    if all(way == ways[0] for way in ways):
        columns, ways, names = columns[:1], ways[:1], [" and ".join(names)]
    steps = _steps(recording, columns[0])
    seen = {stop for way in ways for stop in way}
    rows = [stop for stop in STOPS if stop in seen] + sorted(seen - {*STOPS})
    each = max([STEP, *(6 * len(name) + 12 for name, _ in steps)])
    room = max(0, 26 + 8 * max(map(len, names)) - each // 2) if len(names) > 1 else 0
    width, height = LABEL + each * (len(steps) + 1) + room, TOP + PITCH * len(rows) + 40
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{GROUND}" stroke="{LINE}"/>'
    )
    out = [head]
    out += [_rail(row, name, width - room - 8) for row, name in enumerate(rows)]
    out += [_step(_x(number, each), words, height) for number, words in enumerate(steps, start=1)]
    xs, ys = [_x(number, each) for number in range(len(steps) + 1)], [[_y(rows.index(s)) for s in way] for way in ways]
    out += [_way(xs, one, k) for k, one in enumerate(ys)]
    out += [_stops(recording, ms, columns[:k], xs, ys[k]) for k, ms in enumerate(columns)]
    if len(names) > 1:
        out += [_name(name, xs[-1], ys, k) for k, name in enumerate(names)]
    told = [_told(name, steps, way, recording, ms) for name, way, ms in zip(names, ways, columns, strict=True)]
    return Path("".join(out) + "</svg>", "\n".join(told))


def _stopped(recording: Recording, ms: Sequence[Moment]) -> list[str]:
    """Where the subject is after each step."""
    found = [place(m.state, recording["subject"]) for m in ms]
    born = next((number for number, where in enumerate(found) if where != "gone"), len(found))
    return [NONE] * born + found[born:]


def _steps(recording: Recording, ms: Sequence[Moment]) -> list[tuple[str, str]]:
    """For each step its name, and how far it moved the clock (an empty text if not)."""
    out = []
    for was, m, step in zip(ms[:-1], ms[1:], recording["steps"], strict=True):
        name = step["id"].split("#")[0].replace("-", " ")
        out.append((NAMES.get(name, name), f"+{(m.clock - was.clock) / 1000:g} s" if m.clock != was.clock else ""))
    return out


def _x(number: int, each: int) -> int:
    return LABEL + each * number + each // 2


def _y(row: int) -> int:
    return TOP + PITCH * row + PITCH // 2


def _rail(row: int, name: str, end: int) -> str:
    dash = ' stroke-dasharray="2 4"' if name in (NONE, "gone") else ""
    return (
        f'<text x="8" y="{_y(row) + 4}" fill="{QUIET}">{escape(printable(name))}</text>'
        f'<path d="M{LABEL} {_y(row)}H{end}" stroke="{LINE}"{dash}/>'
    )


def _step(x: int, words: tuple[str, str], height: int) -> str:
    name, moved = (escape(printable(word)) for word in words)
    middle = f'text-anchor="middle" x="{x}"'
    below = f'<text {middle} y="{height - 8}" fill="{QUIET}" font-size="11">{moved}</text>' if moved else ""
    return f'<text {middle} y="{height - 22}" fill="{QUIET if moved else INK}" font-size="11">{name}</text>{below}'


def _way(xs: Sequence[int], ys: Sequence[int], k: int) -> str:
    """One executor's line; a second one is dashed and a little lower."""
    points = " ".join(f"{x},{y + 4 * k}" for x, y in zip(xs, ys, strict=True))
    dash = ' stroke-dasharray="5 4"' if k else ""
    return f'<polyline points="{points}" fill="none" stroke="{WRITE if k else JOB}" stroke-width="2"{dash}/>'


def _name(name: str, x: int, ys: Sequence[Sequence[int]], k: int) -> str:
    """Whose line it is, beside its last stop; names of lines that end together stand one under the other."""
    together = [other for other, one in enumerate(ys) if one[-1] == ys[k][-1]]
    y = ys[k][-1] + 4 + 16 * together.index(k) - 8 * (len(together) - 1)
    return (
        f'<text x="{x + 18}" y="{y}" font-weight="bold" fill="{WRITE if k else JOB}">{escape(printable(name))}</text>'
    )


def _stops(
    recording: Recording, ms: Sequence[Moment], others: Sequence[Sequence[Moment]], xs: Sequence[int], ys: Sequence[int]
) -> str:
    """One executor's stops, but for those that another one's, drawn already, say as well; other tokens stand beside."""

    def at(m: Moment) -> tuple[str, str | None]:
        return place(m.state, recording["subject"]), line(recording, "row/attempts", m).now

    out = []
    for number, (m, x, y) in enumerate(zip(ms, xs, ys, strict=True)):
        drawn = [at(other[number]) for other in others]
        if at(m) not in drawn:
            out.append(_stop(recording, m, x + 26 * [where for where, _ in drawn].count(at(m)[0]), y))
    return "".join(out)


def _stop(recording: Recording, m: Moment, x: int, y: int) -> str:
    found = line(recording, "row/attempts", m)
    if found.now is None:
        return f'<circle cx="{x}" cy="{y}" r="4" fill="#ffffff" stroke="{QUIET}"/>'
    token = escape(printable(show(found.now, "row/attempts", recording)))
    held = place(m.state, recording["subject"]) == "active"
    return (
        f'<g transform="translate({x},{y})"><path d="M-5-12H5L12-5V5L5 12H-5L-12 5V-5Z" '
        f'fill="{JOB if held else SOFT}" stroke="{JOB}"/>'
        f'<text text-anchor="middle" y="4" font-weight="bold" fill="{"#ffffff" if held else JOB}">{token}</text></g>'
    )


def _told(
    name: str, steps: Sequence[tuple[str, str]], way: Sequence[str], recording: Recording, ms: Sequence[Moment]
) -> str:
    tokens = [line(recording, "row/attempts", m).now for m in ms]
    stops = [stop if token is None else f"{stop} ({token})" for stop, token in zip(way, tokens, strict=True)]
    moves = [f"{' '.join(words).strip()} → {stop}" for words, stop in zip(steps, stops[1:], strict=True)]
    return printable(f"{name}: " + ", ".join([stops[0], *moves]))
