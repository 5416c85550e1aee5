"""Checks: a reader's answer, run for real on a private embedded lab, and judged by what the run did."""

from __future__ import annotations

from typing import Any

from emqlab.lab import open_lab
from emqlab.teach import progress
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.verdict import Verdict

__all__ = ["Verdict", "check"]


def check(exercise: str, answer: Any) -> Verdict:
    """Judge ``answer`` to ``exercise`` (``"01-1"``) by running it. Never raises: a mistake gets a sentence.

    A solved exercise is noted in the reader's progress.
    """
    known = EXERCISES.get(str(exercise))
    if known is None:
        return Verdict(False, "", "", "", "", f"There is no exercise {exercise!r}; they are {', '.join(EXERCISES)}.")
    try:
        with open_lab("embedded") as lab:
            verdict = known.judge(lab, answer)
    except Exception as error:  # a reader's case may break what it likes; the reader gets a sentence, not a traceback
        why = " ".join(str(error).split())[:200]
        return Verdict(False, "", "", "", "", f"This could not be run ({type(error).__name__}: {why}).")
    if verdict.ok:
        progress.solved(exercise)
    return verdict
