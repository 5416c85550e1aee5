"""Exit: every way out of ``active``, for one and the same row, by both executors."""

from __future__ import annotations

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.exits import EXIT
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

PLACES = ("pending", "active", "schedule", "dead", "gone")
LABELS = {
    "complete": "complete",
    "fail-scheduled": "fail, and try again",
    "fail-dead": "fail, for the last time",
    "delay": "delay",
    "requeue": "requeue",
    "sweep-pending": "sweep, forgiven",
    "sweep-dead": "sweep, at the cap",
    "reap": "reap",
}
#: What is asked about besides the place: the count that one would look at first.
_COUNTS = {
    "complete": "metrics:completed",
    "fail-scheduled": "metrics:failed",
    "fail-dead": "metrics:failed",
    "delay": "attempts",
    "requeue": "failures",
    "sweep-pending": "stalled",
    "sweep-dead": "metrics:failed",
    "reap": "stalled",
}


def exits(lab: Lab | None = None, choice: str | None = None, predict: bool = True) -> Stage:
    """The stage of one exit from ``active``, chosen by the reader: the set it leaves and enters, the row, the counts.

    ``lab`` is where it runs (a private embedded one unless given), ``choice`` the exit to open on (``complete``,
    ``fail-dead``, ``sweep-pending``, …), ``predict=False`` shows the outcome at once. Raises ValueError for a
    ``choice`` that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Exit",
        question="One job in active, token 1. How does it get out, where does it go, and what is counted?",
        picks=[{"name": "exit", "label": "the way out", "options": [(n, LABELS[n], EXIT[n]["about"]) for n in EXIT]}],
        record=lambda picked: record(where, EXIT[picked["exit"]]),
        predict=_questions if predict else None,
        sources=lambda picked: sources_of(EXIT[picked["exit"]]["when"][0]["verb"]),
        divergences={n: DIVERGENCES[n] for case in EXIT.values() for n in case.get("differs", ())},
        choice=None if choice is None else {"exit": choice},
    )


def _questions(choice: Choice) -> list[Question]:
    name = choice["exit"]
    who, means = ("scripted", "script") if name == "reap" else ("native", "verb")
    deltas = ("0", "+1", "−1", "deleted") if _COUNTS[name] == "attempts" else ("0", "+1")
    return [
        Question(f"Where is the job after the {means}?", f"{who}/place", PLACES),
        Question(f"By how much does the {means} change {_COUNTS[name]}?", f"{who}/delta/{_COUNTS[name]}", deltas),
    ]
