"""Two workers and one server as one small drawing: a self-contained SVG, a column of events as a time-space diagram.

It shows the end of a run that was told by who did what (``emqlab.observe.workers``), for readers without the live
widget, whose diagram ``stage.js`` draws by the same rules. The same recording always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from emqlab.observe.moments import Moment, Recording, moments, place
from emqlab.observe.story import Event, events
from emqlab_widgets.picture import INK, JOB, LINE, NO, PEN, QUIET, printable

WIDTH, LEFT, LETTER, SLANT = 900, 104, 6.1, 11
TICKS = (1, 2, 5, 10, 20, 60)


@dataclass(slots=True)
class _Mark:
    """One event where it is drawn: to which side its label goes, and in which row of labels."""

    event: Event
    x: float
    flip: bool = False
    row: int = 0

    @property
    def who(self) -> str:
        """Whose lane it is on."""
        return self.event.by

    @property
    def words(self) -> str:
        """Its label."""
        return f"{self.event.deed}, {self.event.ending}" if self.event.ending else self.event.deed

    @property
    def size(self) -> float:
        """How wide its label is, in px."""
        return LETTER * len(self.words)


@dataclass(slots=True)
class _Belief:
    """How long a worker believes that it holds the job."""

    who: str
    start: float
    end: float


@dataclass(slots=True)
class _Drawing:
    recording: Recording
    ms: Sequence[Moment]
    span: tuple[float, float]
    lanes: dict[str, float] = field(default_factory=dict)
    marks: list[_Mark] = field(default_factory=list)
    beliefs: list[_Belief] = field(default_factory=list)

    def x(self, clock: float) -> float:
        """Where a time is, in px from the left; ``clock`` in ms since 1970."""
        share: float = (clock - self.recording["now_ms"] - self.span[0]) / (self.span[1] - self.span[0])
        return round(LEFT + 4.0 + max(0.0, min(1.0, share)) * (WIDTH - LEFT - 12), 1)

    @property
    def now(self) -> float:
        """Where the last moment is."""
        return self.x(self.ms[-1].clock)


def diagram(recording: Recording, which: int) -> str:
    """The diagram of executor ``which``, after the last step; the answer is the text of an SVG document."""
    columns = moments(recording)
    last = max(1000.0, *(float(m.clock - recording["now_ms"]) for ms in columns for m in ms))
    it = _Drawing(recording, columns[which], (-last / 16, last * 1.18))
    it.marks = [_Mark(event, it.x(event.clock)) for event in events(recording, it.ms)]
    for mark in it.marks:
        right = mark.x + 16 + mark.size
        crossed = mark.x < it.now and right > it.now - 4 and mark.x - mark.size > LEFT
        mark.flip = mark.who != "server" and (right > WIDTH or crossed)
    rows = {who: _stack([mark for mark in it.marks if mark.who == who]) for who in ("A", "server", "B")}
    a = 24.0 + 22 * rows["A"]
    server = a + 74 + 36 * (rows["server"] - 1)
    it.lanes = {"A": a, "server": server, "B": server + 74}
    floor = it.lanes["B"] + 16 + 22 * rows["B"]
    parts = ["".join(one) for one in (_ground(it, floor), _spells(it), _workers(it), _labels(it))]
    height = floor + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>'
        f"{''.join(_both(it))}{''.join(parts)}</svg>"
    )


def _stack(marks: list[_Mark]) -> int:
    """Puts labels that would meet into rows; how many rows there are."""
    ends: list[float] = []

    def extent(mark: _Mark) -> tuple[float, float]:
        if mark.who == "server":
            reach = max(14, mark.size / 2 + 4)
            return mark.x - reach, mark.x + reach
        return (mark.x - 20 - mark.size, mark.x + 12) if mark.flip else (mark.x - 12, mark.x + 20 + mark.size)

    for mark in sorted(marks, key=lambda mark: extent(mark)[0]):
        start, end = extent(mark)
        mark.row = next((row for row, taken in enumerate(ends) if taken < start), len(ends))
        ends[mark.row : mark.row + 1] = [end]
    return max(1, len(ends))


def _ground(it: _Drawing, floor: float) -> Iterator[str]:
    """The seconds, the three lanes, and the line that now stands at."""
    tick = next((one for one in TICKS if it.span[1] / 1000 / one <= 12), 120)
    for second in range(0, int(it.span[1] / 1000) + 1, tick):
        x = it.x(it.recording["now_ms"] + second * 1000)
        yield f'<path d="M{x:g} {it.lanes["A"]:g}V{floor:g}" stroke="{LINE}" stroke-dasharray="1 4"/>'
        yield _text(x, floor + 16, f"{second}" if second else "0 s", QUIET, "middle", 11)
    for name, y in it.lanes.items():
        yield f'<path d="M{LEFT} {y:g}H{WIDTH - 8}" stroke="{LINE}"/>'
        yield _text(8, y + 4, name if name == "server" else f"worker {name}", INK, weight="bold")
    yield f'<path d="M{it.now:g} 6V{floor:g}" stroke="{INK}"/>' + _text(it.now + 4, floor + 3, "now", QUIET, size=11)


def _spells(it: _Drawing) -> Iterator[str]:
    """What the server holds: leased, expired, waiting."""
    subject, y = it.recording["subject"], it.lanes["server"]
    spells: list[tuple[float, str, float | None, str]] = []
    for m in it.ms[1:]:
        if m.frame is None:
            continue
        active, row = m.state["sets"].get("active") or {}, m.state["rows"].get(subject) or {}
        score = float(active[subject]) if subject in active else None
        one = (it.x(m.clock), place(m.state, subject), score, str(row.get("attempts", "")))
        if not spells or spells[-1][1:3] != one[1:3]:
            spells.append(one)
    for (x, where, score, token), end in zip(spells, [*(s[0] for s in spells[1:]), it.now], strict=True):
        if score is None:
            if where in ("pending", "dead"):
                yield f'<path d="M{x:g} {y:g}H{end:g}" stroke="{QUIET}" stroke-width="1.5"/>' + _under(x, end, y, where)
            continue
        due = min(end, it.x(score))
        yield f'<rect x="{x:g}" y="{y - 5:g}" width="{due - x:g}" height="10" fill="{JOB}"/>'
        yield _under(x, due, y, f"leased, token {token}")
        if due < end:
            style = f'fill="{NO}" fill-opacity="0.14" stroke="{NO}" stroke-dasharray="3 2"'
            yield f'<rect x="{due:g}" y="{y - 5:g}" width="{end - due:g}" height="10" {style}/>'
            yield _under(due, end, y, "expired")
        if it.x(score) <= end:
            yield f'<path d="M{due:g} {y - 10:g}v20" stroke="{INK}" stroke-width="1.5"/>'


def _under(start: float, end: float, y: float, word: str) -> str:
    fits = end - start > len(word) * 5.6 + 4
    return _text((start + end) / 2, y + 20, word, QUIET, "middle", 11) if fits else ""


def _workers(it: _Drawing) -> Iterator[str]:
    """The messages, and the line of a worker for as long as it believes that it holds the job."""
    held: dict[str, tuple[float, float, bool]] = {}  # since when, drawn up to where, and whether it is silent
    for mark in it.marks:
        event, holds = mark.event, held.pop(mark.who, None)
        if mark.who == "server":
            continue
        if holds:
            yield _hold(it.lanes[mark.who], holds, mark.x - SLANT if event.sent else mark.x)
        if event.sent:
            yield _message(it, mark)
        over = event.sent and not event.kept
        if holds and over:
            it.beliefs.append(_Belief(mark.who, holds[0], mark.x))
        if event.claimed:
            held[mark.who] = (mark.x, mark.x + SLANT, False)
        elif holds and not over:
            held[mark.who] = (holds[0], mark.x + (SLANT if event.sent else 0), not event.sent)
    for who, holds in held.items():
        yield _hold(it.lanes[who], holds, it.now)
        it.beliefs.append(_Belief(who, holds[0], it.now))


def _hold(y: float, holds: tuple[float, float, bool], end: float) -> str:
    style = 'stroke-width="2" stroke-dasharray="2 5"' if holds[2] else 'stroke-width="3"'
    return f'<path d="M{holds[1]:g} {y:g}H{end:g}" stroke="{JOB}" {style}/>' if end > holds[1] else ""


def _message(it: _Drawing, mark: _Mark) -> str:
    y, down = it.lanes[mark.who], 1 if mark.who == "A" else -1
    edge = it.lanes["server"] - 7 * down
    back = f'stroke="{NO}" stroke-dasharray="4 3"' if mark.event.ending == "refused" else f'stroke="{INK}"'
    x, dy = mark.x, edge - y
    return (
        f'<path d="M{x - SLANT:g} {y:g}l{SLANT} {dy:g}m-5 {-5 * down}l5 {5 * down}l2 {-7 * down}" fill="none"'
        f' stroke="{INK}" stroke-width="1.25"/>'
        f'<path d="M{x:g} {edge:g}l{SLANT} {-dy:g}m-5 {5 * down}l5 {-5 * down}l2 {7 * down}" fill="none"'
        f' stroke-width="1.25" {back}/>'
    )


def _labels(it: _Drawing) -> Iterator[str]:
    """At each event its number, its deed and what came of it, and the token's seal on the worker's line."""
    for mark in it.marks:
        bad, server = mark.event.ending == "refused", mark.who == "server"
        y = it.lanes[mark.who] + (1 if mark.who == "B" else -1) * (24 + 36 * mark.row if server else 20 + 22 * mark.row)
        line = NO if bad else INK
        yield f'<circle cx="{mark.x:g}" cy="{y:g}" r="9" fill="#ffffff" stroke="{line}"/>'
        yield _text(mark.x, y + 4, str(mark.event.number), INK, "middle", 11)
        anchor, shift = ("middle", 0) if server else ("end", -14) if mark.flip else ("start", 14)
        yield _text(
            mark.x + shift, y - 15 if server else y + 4, mark.words, line, anchor, weight="bold" if bad else "normal"
        )
        if mark.event.token is not None:
            x = mark.x + (SLANT if mark.event.claimed else -SLANT)
            yield _seal(x, it.lanes[mark.who], mark.event.token, bad)


def _seal(x: float, y: float, token: str, bad: bool) -> str:
    stroke = f'stroke="{NO}" stroke-dasharray="2 2"' if bad else f'stroke="{JOB}"'
    return (
        f'<g transform="translate({x:g},{y:g})"><path d="M-4-9.5H4L9.5-4V4L4 9.5H-4L-9.5 4V-4Z" fill="#ffffff"'
        f" {stroke}/>" + _text(0, 4, token if len(token) < 3 else "…", INK, "middle", 11, "bold") + "</g>"
    )


def _both(it: _Drawing) -> Iterator[str]:
    """The seconds in which two workers believe that they hold the job."""
    a, b = it.lanes["A"], it.lanes["B"]
    for one in it.beliefs:
        for other in it.beliefs:
            start, end = max(one.start, other.start), min(one.end, other.end)
            if one.who < other.who and end > start:
                yield f'<rect x="{start:g}" y="{a:g}" width="{end - start:g}" height="{b - a:g}" fill="{PEN}"/>'
                wide = end - start > 90
                x, anchor = ((start + end) / 2, "middle") if wide else (start - 4, "end")
                yield _text(x, a + 20, "two holders", QUIET, anchor, 11)


def _text(
    x: float, y: float, text: str, fill: str, anchor: str = "start", size: int = 12, weight: str = "normal"
) -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" fill="{fill}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(printable(text))}</text>'
