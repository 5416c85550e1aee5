"""Token: a text presented to one of the six verbs that read it, on a row whose attempts is 2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.fence import READERS, ROWS, TOKENS, fence
from emqlab.teach.cases.steps import JOB
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

_TOKENS = {"2-and-a-space": "2 and a space", "empty": "an empty text"}
_ROWS = {"leased": "whose attempts is 2", "gone": "that is gone"}


def token(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of one call that presents a token: what is said to it, and what is written.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``verb`` (``complete``,
    ``fail``, …), ``token`` (``1``, ``2``, ``3``, ``02``, ``2-and-a-space``, ``empty``) and ``row`` (``leased``,
    ``gone``); ``predict=False`` shows the outcome at once. Raises ValueError for an option that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Token",
        question="A worker says something about a job, and shows a token with it. What is it told, and what changes?",
        picks=[
            {"name": "verb", "label": "the worker says", "options": list(READERS)},
            {
                "name": "token",
                "label": "and shows",
                "kind": "radio",
                "options": [(name, _TOKENS.get(name, name)) for name in TOKENS],
            },
            {"name": "row", "label": "to a row", "kind": "radio", "options": [(name, _ROWS[name]) for name in ROWS]},
        ],
        record=lambda picked: record(where, case_of(picked), subject=JOB),
        predict=_questions if predict else None,
        sources=lambda picked: sources_of(picked["verb"]),
        divergences={number: DIVERGENCES[number] for number in (8, 9, 21)},
        choice=choice,
    )


def case_of(choice: Choice) -> dict[str, Any]:
    """The case that a choice of this widget runs."""
    return fence(choice["verb"], choice["token"], choice["row"])


def _questions(choice: Choice) -> list[Question]:
    verb = choice["verb"]
    if choice["row"] == "gone":
        answers = ("1", "0", "-1", "EMQSTALE job gone", f"[…{JOB[-4:]}]")
        return [Question("There is no row. What does the verb answer?", "native/reply", answers)]
    if verb == "extends":
        lists = ("[]", f"[…{JOB[-4:]}]")
        first = Question("Which ids does the verb answer? They are those it did not extend.", "native/reply", lists)
    else:
        first = Question("What becomes of the verb's call?", "native/stamp", ("answered", "refused"))
    if verb == "requeue":
        return [first, Question("And of the script's?", "scripted/stamp", ("answered", "refused", "unsupported"))]
    if verb == "fail":
        return [
            first,
            Question("By how much does the verb change failures?", "native/delta/failures", ("0", "+1", "−1")),
        ]
    deltas = ("0", "+1", "−1", "deleted")
    return [first, Question("By how much does the verb change attempts?", "native/delta/attempts", deltas)]
