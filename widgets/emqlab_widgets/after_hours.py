"""After hours: a worker whose lease has ended speaks up all the same, and the answer hangs on who came by since."""

from __future__ import annotations

from collections.abc import Mapping

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.exits import LATE, MEANWHILE
from emqlab.teach.cases.exits import after_hours as after_hours_case
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
_SINCE = {
    "ended": "nobody has come by",
    "swept": "a sweep has forgiven it",
    "reclaimed": "a sweep, and another worker has claimed",
    "killed": "a sweep has killed it",
}
_SAYS = {
    "complete": "complete: it is done",
    "fail": "fail: it did not work; three are allowed",
    "delay": "delay: again in five seconds",
    "requeue": "requeue: somebody else, please",
    "extend": "extend: five more seconds",
    "extends": "extends: the same, as a list",
}
#: Where a job can be by then, whoever answers: the same on offer for every call.
_PLACES = {
    "ended": ("active", "schedule", "pending", "gone"),
    "swept": ("pending", "schedule", "pending + schedule", "pending + active", "gone"),
    "reclaimed": ("active", "schedule", "pending", "gone"),
    "killed": ("dead", "schedule", "schedule + dead", "active + dead", "gone"),
}
_YES = {"fail": ("scheduled", "dead"), "extends": ("[]", "[…EJfs]")}


def after_hours(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of a worker whose lease has ended and who calls with token 1 all the same. Each frame is a whole call.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``since`` (``ended``, ``swept``,
    ``reclaimed``, ``killed``) and ``call`` (``complete``, ``fail``, ``delay``, ``requeue``, ``extend``, ``extends``).
    Raises ValueError for an option that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="After hours",
        question="A lease of five seconds ended a second ago, and only now its worker speaks up. Who listens?",
        picks=[
            {"name": "since", "label": "since the lease ended", "options": [(n, _SINCE[n]) for n in MEANWHILE]},
            {
                "name": "call",
                "label": "with token 1 the worker says",
                "options": [(name, _SAYS[name]) for name in LATE],
            },
        ],
        record=lambda picked: record(where, case_of(picked), detail="calls", titles=TITLES),
        predict=_questions if predict else None,
        sources=lambda picked: sources_of(str(LATE[picked["call"]]["verb"])),
        divergences={number: DIVERGENCES[number] for number in (8, 9, 11, 12, 13, 21)},
        choice=choice,
    )


def case_of(choice: Choice) -> dict[str, object]:
    """The case that a choice of this widget runs."""
    return after_hours_case(choice["since"], choice["call"])


def _questions(choice: Choice) -> list[Question]:
    call, since = choice["call"], choice["since"]
    said = _said(call)
    native = Question("What does the verb answer?", "native/reply", said)
    if call == "requeue":
        return [native, Question("Where is the job after the verbs?", "native/place", _PLACES[since])]
    return [
        native,
        Question("And the script?", "scripted/reply", said),
        Question("Which sets hold the id after the scripts?", "scripted/place", _PLACES[since]),
    ]


def _said(call: str) -> tuple[str, ...]:
    """What a call can be answered; a list of leases says whom it left out, and refuses nobody."""
    if call == "extends":
        return _YES[call]
    named = {"fail": "retry"}.get(call, call)
    return (*_YES.get(call, ("1",)), f"EMQSTALE {named} token mismatch", "EMQSTATE not active")
