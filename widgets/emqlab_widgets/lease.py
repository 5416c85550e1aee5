"""Lease: a claim with a length, a clock that is moved, a sweep, and what comes then."""

from __future__ import annotations

from collections.abc import Mapping

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.states import CAPS, LEASES, SWEEPS, THEN
from emqlab.teach.cases.states import lease as lease_case
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import all_sources_of
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
_SWEPT = {"after": "one second after the deadline", "at": "exactly at the deadline", "before": "1 ms before it"}
_CAPS = {2: "2: one stall is forgiven", 1: "1: the first kills (the default)"}
_THEN = {"claim": "another worker claims", "complete": "the first worker completes, with token 1"}


def lease(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of one lease: claim, move the clock, sweep, claim again or complete. Each frame is a whole transition.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``lease`` (ms), ``sweep``
    (``after``, ``at``, ``before`` the deadline), ``max_stalled`` and ``then`` (``claim``, ``complete``). Raises
    ValueError for an option that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Lease",
        question="A worker claims the job and goes silent. Its lease runs out. What becomes of the job and of token 1?",
        picks=[
            {
                "name": "lease",
                "label": "the lease",
                "kind": "radio",
                "options": [(str(ms), f"{ms // 1000} s") for ms in LEASES],
            },
            {"name": "sweep", "label": "the sweep comes", "options": [(name, _SWEPT[name]) for name in SWEEPS]},
            {
                "name": "max_stalled",
                "label": "max_stalled, the stall that kills",
                "options": [(str(cap), _CAPS[cap]) for cap in CAPS],
            },
            {"name": "then", "label": "then", "options": [(name, _THEN[name]) for name in THEN]},
        ],
        record=lambda picked: record(where, case_of(picked), detail="calls", titles=TITLES),
        predict=_questions if predict else None,
        sources=all_sources_of(("claim", "stalled_check", "complete")),
        divergences={8: DIVERGENCES[8], 13: DIVERGENCES[13]},
        choice={"lease": "5000", **(choice or {})},
    )


def case_of(choice: Choice) -> dict[str, object]:
    """The case that a choice of this widget runs."""
    return lease_case(int(choice["lease"]), choice["sweep"], int(choice["max_stalled"]), choice["then"])


def _questions(choice: Choice) -> list[Question]:
    if choice["then"] == "complete":
        return [
            Question("What does the verb say to the first worker's token?", "native/stamp", ("answered", "refused")),
            Question("Where is the job after the verbs?", "native/place", ("pending", "active", "dead", "gone")),
        ]
    return [
        Question("What does attempts hold after the verbs?", "native/value/attempts", ("0", "1", "2")),
        Question("Where is the job after the verbs?", "native/place", ("pending", "active", "dead")),
    ]
