"""Hints: three an exercise, each a little nearer, then the shape of an answer."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape

from emqlab.teach import progress
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.verdict import as_text

WIDTH = 88


@dataclass(frozen=True, slots=True, repr=False)
class Hint:
    """One hint. ``number`` is 1 to 3, 4 for the answer's shape, 0 when there is no such exercise."""

    exercise: str
    number: int
    text: str

    def __repr__(self) -> str:
        whole = f"{self._name()}: {self.text}{self._next()}" if self.number else self.text
        return textwrap.fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False)

    def _repr_html_(self) -> str:
        name = f"<b>{self._name()}:</b> " if self.number else ""
        return f"<p>{name}{escape(self.text + self._next())}</p>"

    def _name(self) -> str:
        return f"Hint {self.number} of 3" if self.number <= 3 else "No more hints. The shape of an answer"

    def _next(self) -> str:
        return " (That was the last hint; once more shows the shape of an answer.)" if self.number == 3 else ""


def hint(exercise: str) -> Hint:
    """The next hint for ``exercise`` (``"01-1"``): three, then the answer's shape, which then stays. Never raises."""
    name = as_text(exercise, str)
    known = EXERCISES.get(name)
    if known is None:
        return Hint(name, 0, f"There is no exercise {as_text(exercise)}; they are {', '.join(EXERCISES)}.")
    taken = progress.read().hints.get(name, 0)
    number = progress.hinted(name) if taken < len(known.hints) else len(known.hints)
    return Hint(name, number, known.hints[number - 1])
