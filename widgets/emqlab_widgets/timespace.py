"""Two workers and one server as one small drawing: a self-contained SVG, and the same story as a sentence.

It shows the end of a run that was told by who did what (``emqlab.observe.workers``), for readers without the live
widget, whose diagram ``stage.js`` draws by the same rules. The same recording always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from emqlab.observe.moments import Moment, Recording, moments, place
from emqlab.observe.walk import OTHER_CLIENT, Frame
from emqlab.observe.workers import alike, ending
from emqlab_widgets.picture import INK, JOB, LINE, NO, PEN, QUIET, printable

WIDTH, LEFT, LETTER, SLANT = 900, 104, 6.1, 11
WORKERS = ("A", "B")
TICKS = (1, 2, 5, 10, 20, 60)


@dataclass(slots=True)
class _Mark:
    """One event: where it is, whose, what it says, and in which row of labels."""

    x: float
    who: str
    number: int
    word: str
    end: str
    frame: Frame
    claimed: bool
    flip: bool = False
    row: int = 0

    @property
    def size(self) -> float:
        """How wide its label is."""
        deed = self.word.removeprefix("A ").removeprefix("B ") if self.who != "server" else self.word
        return LETTER * (len(deed) + (len(self.end) + 2 if self.end else 0))


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
    out: list[str] = field(default_factory=list)

    def x(self, clock: float) -> float:
        """Where a time is, in px from the left; ``clock`` in ms since 1970."""
        share: float = (clock - self.recording["now_ms"] - self.span[0]) / (self.span[1] - self.span[0])
        return round(LEFT + 4.0 + max(0.0, min(1.0, share)) * (WIDTH - LEFT - 12), 1)

    @property
    def now(self) -> float:
        """Where the last moment is."""
        return self.x(self.ms[-1].clock)


def told(recording: Recording) -> bool:
    """Whether the recording says who did what: only then is there a diagram."""
    found = {frame.get("by") for executor in recording["executors"] for frame in executor["frames"]}
    return bool(found - {None, OTHER_CLIENT})


def drawn(recording: Recording) -> list[int]:
    """Which executors have a diagram: the native one for all while they are answered alike, else each."""
    natives = [k for k, executor in enumerate(recording["executors"]) if executor["kind"] == "native"]
    main = natives[0] if natives else 0
    every = range(len(recording["executors"]))
    return [main] if alike(recording) else [main, *(k for k in every if k != main)]


def agreement(recording: Recording) -> str:
    """Whether the executors were answered alike, in one sentence; empty for a single one."""
    titles = [executor["title"] for executor in recording["executors"]]
    if len(titles) == 1:
        return ""
    names = " and ".join(titles)
    names = names[:1].upper() + names[1:]
    if alike(recording):
        return f"{names} give the same answers here; drawn: {titles[drawn(recording)[0]]}."
    return f"{names} part here: each has its own diagram."


def story(recording: Recording, which: int) -> str:
    """Who did what when, and what came of it, in one sentence: executor ``which`` of the recording."""
    title, ms = recording["executors"][which]["title"], moments(recording)[which]
    parts = [
        f"at {round((m.clock - recording['now_ms']) / 1000, 1):g} s {_deed(mark)}"
        for m, mark in zip([m for m in ms if m.frame], _marks(recording, ms), strict=True)
    ]
    return printable(f"{title[:1].upper()}{title[1:]}: {'; '.join(parts)}.")


def _deed(mark: _Mark) -> str:
    token = mark.frame.get("token")
    if mark.word.endswith("claims"):
        return f"{mark.word} and gets {f'token {token}' if mark.claimed else 'nothing'}"
    if mark.end and token is None:
        return f"{mark.who} has no token to complete with"
    if mark.end:
        return f"{mark.word} with token {token}: {mark.end}"
    return f"{mark.word} comes" if mark.word == "the sweep" else mark.word


def diagram(recording: Recording, which: int) -> str:
    """The diagram of executor ``which``, after the last step; the answer is the text of an SVG document."""
    columns = moments(recording)
    last = max(1000.0, *(float(m.clock - recording["now_ms"]) for ms in columns for m in ms))
    it = _Drawing(recording, columns[which], (-last / 16, last * 1.18))
    it.marks = _marks(recording, it.ms)
    for mark in it.marks:
        mark.x = it.x(mark.x)
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


def _marks(recording: Recording, ms: Sequence[Moment]) -> list[_Mark]:
    """The events of one column; ``x`` is still their clock."""
    out = []
    for number, (before, m) in enumerate(pairwise(ms), start=1):
        if m.frame is None:
            continue
        by, word = m.frame.get("by"), recording["steps"][number - 1]["word"]
        claimed = m.frame["phase"] == "call" and _leased(recording, m) and not _leased(recording, before)
        who = by if by in WORKERS else "server"
        out.append(_Mark(m.clock, who, number, word, ending(word, m.frame, claimed), m.frame, claimed))
    return out


def _leased(recording: Recording, m: Moment) -> bool:
    return recording["subject"] in (m.state["sets"].get("active") or {})


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
        if mark.who == "server":
            continue
        call, holds = mark.frame["phase"] == "call", held.pop(mark.who, None)
        if holds:
            yield _hold(it.lanes[mark.who], holds, mark.x - SLANT if call else mark.x)
        if not call:
            if holds:
                held[mark.who] = (holds[0], mark.x, True)
            continue
        if holds:
            it.beliefs.append(_Belief(mark.who, holds[0], mark.x))
        if mark.claimed:
            held[mark.who] = (mark.x, mark.x + SLANT, False)
        yield _message(it, mark)
    for who, holds in held.items():
        yield _hold(it.lanes[who], holds, it.now)
        it.beliefs.append(_Belief(who, holds[0], it.now))


def _hold(y: float, holds: tuple[float, float, bool], end: float) -> str:
    style = 'stroke-width="2" stroke-dasharray="2 5"' if holds[2] else 'stroke-width="3"'
    return f'<path d="M{holds[1]:g} {y:g}H{end:g}" stroke="{JOB}" {style}/>' if end > holds[1] else ""


def _message(it: _Drawing, mark: _Mark) -> str:
    y, down = it.lanes[mark.who], 1 if mark.who == "A" else -1
    edge = it.lanes["server"] - 7 * down
    back = f'stroke="{NO}" stroke-dasharray="4 3"' if mark.end == "refused" else f'stroke="{INK}"'
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
        bad, server = mark.end == "refused", mark.who == "server"
        y = it.lanes[mark.who] + (1 if mark.who == "B" else -1) * (24 + 36 * mark.row if server else 20 + 22 * mark.row)
        line = NO if bad else INK
        yield f'<circle cx="{mark.x:g}" cy="{y:g}" r="9" fill="#ffffff" stroke="{line}"/>'
        yield _text(mark.x, y + 4, str(mark.number), INK, "middle", 11)
        deed = mark.word if server else mark.word.removeprefix(f"{mark.who} ")
        words = f"{deed}, {mark.end}" if mark.end else deed
        anchor, shift = ("middle", 0) if server else ("end", -14) if mark.flip else ("start", 14)
        yield _text(
            mark.x + shift, y - 15 if server else y + 4, words, line, anchor, weight="bold" if bad else "normal"
        )
        token = mark.frame.get("token")
        if token is not None:
            x = mark.x + (SLANT if mark.claimed else -SLANT)
            yield _seal(x, it.lanes[mark.who], str(token), bad)


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
