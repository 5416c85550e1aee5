"""Transition: one step of a job's life, on a row as that step meets it, by both executors."""

from __future__ import annotations

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases import TRANSITION
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

PLACES = ("pending", "active", "schedule", "dead", "gone")
LABELS = {
    "enqueue": "enqueue",
    "claim": "claim",
    "schedule": "schedule",
    "fail-below": "fail, below the cap",
    "fail-at": "fail, at the cap",
    "delay": "delay",
    "requeue": "requeue",
    "promote": "promote",
    "sweep": "sweep",
    "reprocess": "reprocess",
    "complete": "complete",
}


def transition(lab: Lab | None = None, choice: str | None = None, predict: bool = True) -> Stage:
    """The stage of one transition, chosen by the reader: the state written, the sets left and entered, the counters.

    ``lab`` is where it runs (a private embedded one unless given), ``choice`` the transition to open on
    (``claim``, ``fail-below``, …), ``predict=False`` shows the outcome at once. Raises ValueError for a ``choice``
    that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    options = [(name, LABELS[name], TRANSITION[name]["about"]) for name in TRANSITION]
    return Stage(
        title="Transition",
        question="One step of one job. Which set does it leave, which does it enter, and what becomes of attempts?",
        picks=[{"name": "transition", "label": "the transition", "options": options}],
        record=lambda picked: record(where, TRANSITION[picked["transition"]]),
        predict=_questions if predict else None,
        sources=lambda picked: sources_of(verb_of(picked)),
        divergences={n: DIVERGENCES[n] for case in TRANSITION.values() for n in case.get("differs", ())},
        choice=None if choice is None else {"transition": choice},
    )


def verb_of(choice: Choice) -> str:
    """The step verb that a choice of this widget runs."""
    (step,) = TRANSITION[choice["transition"]]["when"]
    return str(step["verb"])


def _questions(choice: Choice) -> list[Question]:
    name = choice["transition"]
    verb = Question("Where is the job after the verb?", "native/place", PLACES)
    if name in ("enqueue", "schedule"):  # there is no attempts yet that could change
        first = Question("What does the verb write into attempts?", "native/value/attempts", ("0", "1", "absent"))
        return [verb, first]
    # A reader who expects a revived job to start afresh must find that answer among the others.
    deltas = ("0", "+1", "−3" if name == "reprocess" else "−1", "deleted")
    counted = Question("By how much does the verb change attempts?", "native/delta/attempts", deltas)
    script = Question("Where is the job after the script?", "scripted/place", PLACES)
    return [verb, counted, script] if name == "requeue" else [verb, counted]
