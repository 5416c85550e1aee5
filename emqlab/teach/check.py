"""Checks: a reader's answer, run for real on a private embedded lab, and judged by what the run did."""

from __future__ import annotations

from typing import Any

from emqlab.lab import open_lab
from emqlab.teach import progress, sandbox
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.verdict import Verdict, as_text, could_not

__all__ = ["Verdict", "check"]


def check(exercise: str, answer: Any) -> Verdict:
    """Judge ``answer`` to ``exercise`` (``"01-1"``) by running it. Never raises: a mistake gets a sentence.

    An answer with code of the reader's runs in a process of its own, for 5 s at most; where there are no processes, a
    function of the reader's may run so many steps, and a changed script or verb is not run at all. A solved exercise
    is noted in the reader's progress.
    """
    name = as_text(exercise, str)
    known = EXERCISES.get(name)
    if known is None:
        return Verdict(
            False, "", "", "", "", f"There is no exercise {as_text(exercise)}; they are {', '.join(EXERCISES)}."
        )
    try:
        unfit = known.unfit(answer)
        if unfit is not None:
            return unfit
        if known.code and sandbox.possible():
            verdict = sandbox.judged(name, answer)
        elif known.file:
            return Verdict(False, "", "", "", "", sandbox.NO_PROCESS)
        else:
            with open_lab("embedded") as lab:
                verdict = known.judge(lab, answer)
    except sandbox.CannotSend as error:
        return Verdict(False, "", "", "", "", str(error))
    except Exception as error:  # a reader's case may break what it likes; the reader gets a sentence, not a traceback
        return could_not(error)
    if verdict.ok:
        progress.solved(name)
    return verdict
