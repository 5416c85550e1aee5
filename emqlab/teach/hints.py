"""Hints: three an exercise, each a little nearer, then the shape of an answer."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape

from emqlab.teach import progress

WIDTH = 88

#: Exercise -> three hints, and the answer's shape.
HINTS: dict[str, tuple[str, str, str, str]] = {
    "00-1": (
        "A job dies when it fails with its budget spent. Which value of fail is that budget?",
        "With max_attempts 1 the first failure is the last one, on both executors. The token of a first claim is 1.",
        "Four verbs do it: enqueue, claim, fail, and the one that revives a dead letter.",
        "when holds four steps: enqueue, claim, fail with token 1 and max_attempts 1, reprocess. given stays empty.",
    ),
    "01-1": (
        "Lose one lease by hand with lab.native, and look at attempts after the sweep and after the next claim.",
        "Only a claim writes attempts. So count the claims, not the sweeps.",
        "Each lost lease had a claim of its own, and the last claim comes on top of those.",
        "def token_after(k): return <k, and something for the last claim>",
    ),
    "01-2": (
        "attempts counts claims, so there must be three of them, and after the third the job must go to schedule.",
        "After a failure the job waits in schedule: move the clock and promote it, or no claim will find it.",
        "The script compares attempts with max_attempts. Three claims and max_attempts 3 are one too many for it.",
        "enqueue; twice: claim, fail, advance, promote; then claim, fail. max_attempts is more than 3 throughout.",
    ),
    "01-3": (
        "The script's cap is on attempts, the verb's on failures. Make attempts grow without a failure.",
        "Every claim raises attempts. A lost lease, or a delay, lets you claim again with no failure reported.",
        "After one lost lease and one more claim, attempts is 2 and no failure has been reported. Now fail, once.",
        "enqueue, claim, advance past the lease, sweep(2), claim, fail with token 2 and max_attempts 2.",
    ),
}


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
    texts = HINTS.get(str(exercise))
    if texts is None:
        return Hint(str(exercise), 0, f"There is no exercise {exercise!r}; they are {', '.join(HINTS)}.")
    taken = progress.read().hints.get(exercise, 0)
    number = progress.hinted(exercise) if taken < len(texts) else len(texts)
    return Hint(exercise, number, texts[number - 1])
