"""Whether two runs of a lesson say the same, apart from what belongs to a server: its clock, its ids, its epochs.

A recorded text and that of a run on a real server are cut into the same pieces: names for what is minted, numbers
for what a clock makes. The names must fit throughout the lesson, the numbers to a tolerance, everything else exactly.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from emqlab_widgets.restart import RESTARTED

#: How much later a real clock may be where the embedded one stands still, ms. A lease of the lessons is at least 1 s.
LATE_MS = 900

#: What a reader is told of the server itself, on the embedded one and on a real one.
SERVER = {
    "server": ("embedded", "valkey"),
    "clock": ("stands still until you move it", "runs by itself, and you can move it"),
}

_KINDS = {
    "picture": r'data:image/[^"\s)]*',
    "whole": r"\b[0-9a-f]{40}\b",
    "epoch": r"\b(?:[0-9a-f]{8}|[0-9a-f]{4})(?=…)",
    "pair": r"\[\d{10}, \d{1,6}\]",
    "date": r"\b1[78]\d{11}\b",
    "id": r"\bJOB[0-9A-Za-z]{11}\b|…[0-9A-Za-z]{4}\b",
    "lag": r" \+0\.\d{1,3} s(?= →)",
    "now": r"\bnow(?:[+−]\d+)?\b",
    "span": r"\b\d+(?:\.\d{1,3})? s\b",
    "gap": r" {2,}",
}
_PIECE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _KINDS.items()))


@dataclass
class Pieces:
    """A text in pieces: what must be equal, the ids and epochs in order, the times in ms."""

    text: str = ""
    ids: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)


def pieces(text: str) -> Pieces:
    """``text`` cut up. A lag below the tolerance is left out, for a clock that stands still shows none."""
    found = Pieces()

    def cut(match: re.Match[str]) -> str:
        kind, said = str(match.lastgroup), match[0]
        if kind == "id":
            found.ids.append(said[-4:])
            return "<id>"
        if kind == "now":
            found.times.append(float(said[3:].replace("−", "-") or 0))
            return "now<ms>"
        if kind == "span":
            found.times.append(float(said[:-2]) * 1000)
            return "<s>"
        if kind == "lag":
            return "" if float(said[2:-2]) * 1000 <= LATE_MS else said
        return "  " if kind == "gap" else f"<{kind}>"

    found.text = "\n".join(line.rstrip() for line in _PIECE.sub(cut, text).split("\n"))
    return found


@dataclass
class Comparison:
    """Compares the texts of one lesson in order; ids are paired off as they are met."""

    fixed: frozenset[str]
    pairs: dict[str, str] = field(default_factory=dict)

    def difference(self, recorded: str, real: str) -> str | None:
        """The first thing that differs and may not, in a sentence; None when the two say the same."""
        was, now = pieces(recorded), pieces(_as_embedded(real))
        for old, new in zip(was.text.split("\n"), now.text.split("\n"), strict=False):
            if old != new:
                return f"recorded {old!r}, but got {new!r}"
        if was.text != now.text:
            return f"recorded {len(was.text)} characters, but got {len(now.text)}"
        for old, new in zip(was.ids, now.ids, strict=True):
            if (old in self.fixed and old != new) or self.pairs.setdefault(old, new) != new:
                return f"recorded the id …{old}, but got …{new}"
        if len(set(self.pairs.values())) < len(self.pairs):
            return f"two recorded ids became one: {self.pairs}"
        for before, after in zip(was.times, now.times, strict=True):
            if abs(before - after) > LATE_MS:
                return f"recorded a time of {before:.0f} ms, but got {after:.0f}"
        return None


def _as_embedded(text: str) -> str:
    """What a real server says of itself in "You are here", and of its restart, in the words of the embedded one."""
    for name, (embedded, real) in SERVER.items():
        for begin in (rf"(?m)^(  {name}  .*)", rf'(<th scope="row"[^>]*>{name}</th><td[^>]*>[^<]*)'):
            text = re.sub(begin + re.escape(real), rf"\g<1>{embedded}", text)
    return text.replace(RESTARTED["valkey"], RESTARTED["embedded"])


def texts(cell: Mapping[str, Any]) -> Iterator[str]:
    """What a reader can read in a cell's outputs: printed text, and each result's plain text and HTML.

    A kernel that is slow sends one cell's printing in parts, which are one text as they are in a recording.
    """
    for stream, parts in groupby(cell.get("outputs", []), key=lambda output: output.get("name")):
        outputs = list(parts)
        if stream is not None:
            yield f"{stream}: {''.join(output['text'] for output in outputs)}"
            continue
        yield from _results(outputs)


def _results(outputs: list[Mapping[str, Any]]) -> Iterator[str]:
    """The plain text and the HTML of each result."""
    for output in outputs:
        data = output.get("data", {})
        for kind in ("text/plain", "text/html"):
            if kind in data:
                yield data[kind]


def differences(recorded: Mapping[str, Any], real: Mapping[str, Any], fixed: frozenset[str]) -> list[str]:
    """How a lesson's run differs from its recording, a sentence a cell. ``fixed``: ends of ids that no server mints."""
    comparison = Comparison(fixed)
    found = []
    for old, new in zip(recorded["cells"], real["cells"], strict=True):
        was, now = list(texts(old)), list(texts(new))
        if len(was) != len(now):
            found.append(f"{old['id']}: recorded {len(was)} texts, but got {len(now)}")
        told = (comparison.difference(a, b) for a, b in zip(was, now, strict=False))
        found += [f"{old['id']}: {one}" for one in told if one]
    return found
