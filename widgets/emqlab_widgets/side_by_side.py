"""Side by side: one claim as a script and as a verb, command by command, lined up by what is asked."""

from __future__ import annotations

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.parity import CLAIM
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

LABELS = {
    "ordinary": "an ordinary job",
    "empty": "an empty line",
    "ghost": "a ghost at the head",
    "bad-attempts": "a bad counter",
    "not-a-hash": "a row that is no hash",
    "paused": "a paused queue",
    "full": "a counter that is full",
}
NO_SET = "no set"
PLACES = ("pending", "active", NO_SET, "gone")


def side_by_side(lab: Lab | None = None, choice: str | None = None, predict: bool = True) -> Stage:
    """The stage of one claim by both executors: pop, then check, beside peek, predict, pop and verify.

    ``lab`` is where it runs (a private embedded one unless given), ``choice`` what the claim finds (``ordinary``,
    ``ghost``, ``bad-attempts``, …), ``predict=False`` shows the outcome at once. Raises ValueError for a ``choice``
    that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Side by side",
        question="One claim, twice: as a script and as a command of the server. Where does the job end up, and why?",
        picks=[
            {
                "name": "finds",
                "label": "the claim finds",
                "options": [(name, LABELS[name], CLAIM[name]["about"]) for name in CLAIM],
            }
        ],
        record=lambda picked: record(where, CLAIM[picked["finds"]]),
        predict=_questions if predict else None,
        sources=sources_of("claim"),
        divergences={n: DIVERGENCES[n] for case in CLAIM.values() for n in case.get("differs", ())},
        choice=None if choice is None else {"finds": choice},
    )


def _questions(choice: Choice) -> list[Question]:
    if choice["finds"] == "empty":
        return [Question("What does the verb answer?", "native/reply", ("[]", "nil", "0"))]
    if choice["finds"] == "ghost":
        places = tuple(place for place in PLACES if place != NO_SET)  # an id without a row would be both
        return [
            Question("Where is the ghost's id after the script?", "scripted/place", places),
            Question("And after the verb?", "native/place", places),
            Question("A job waits behind it. What does the script answer?", "scripted/reply", ("that job", "[]")),
        ]
    return [
        Question("Where is the job after the script?", "scripted/place", PLACES),
        Question("And after the verb?", "native/place", PLACES),
    ]
