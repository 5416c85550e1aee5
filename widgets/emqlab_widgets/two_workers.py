"""Two workers: who claims, falls silent, is swept and completes when. The reader moves the events, the run says who
was refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.teach import plan
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
LEASES = (3_000, 6_000, 12_000)
#: Which stall may kill. A plan has one sweep, so from 2 on none does.
STALLS = (1, 2, 3)
_BACK = {
    "after-claim": "after B has claimed",
    "after-sweep": "between the sweep and B's claim",
    "before-sweep": "before the sweep",
    "in-time": "before its lease ends",
}
_TOLD = ("answered", "refused", "not sent")
_ASKED = {
    "A-completes": "Worker A comes back and would complete the job, by the verb. What becomes of its call?",
    "B-completes": "Worker B would complete the job, by the verb. What becomes of its call?",
}


def two_workers(
    lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True, *, max_stalled: int = 2
) -> Stage:
    """The stage of two workers and one job, as a time-space diagram whose events the reader moves.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``plan`` (``after-claim``,
    ``after-sweep``, ``before-sweep``, ``in-time``, or a plan as ``emqlab.teach.plan`` reads it) and ``lease`` (ms).
    ``max_stalled`` is the stall that kills, 1 to 3 (2: one is forgiven). Raises ValueError for another one, for an
    option that is none and for a text that is no plan.
    """
    if type(max_stalled) is not int or max_stalled not in STALLS:
        raise ValueError(f"max_stalled is the stall that kills: 1, 2 or 3, not {max_stalled!r}")
    where = open_lab("embedded") if lab is None else lab

    def record(picked: Choice) -> dict[str, Any]:
        return plan.recorded(where, *planned(picked), max_stalled=max_stalled, titles=TITLES)

    return Stage(
        title="Two workers",
        question="Worker A claims a job and falls silent. Its lease runs out, and B claims the job too. "
        "Then A comes back and completes. Does the server let it?",
        picks=[
            {
                "name": "plan",
                "label": "A comes back",
                "kind": "plan",
                "options": [(name, _BACK[name]) for name in plan.PRESETS],
            },
            {
                "name": "lease",
                "label": "both lease it for",
                "kind": "radio",
                "options": [(str(ms), f"{ms // 1000} s") for ms in LEASES],
            },
        ],
        record=record,
        predict=_questions if predict else None,
        divergences={number: DIVERGENCES[number] for number in (8, 13)},
        choice={"lease": "6000", **(choice or {})},
        view="workers",
    )


def planned(choice: Choice) -> tuple[plan.Plan, int]:
    """The plan that a choice of this widget stands for, and its leases' length in ms. Raises BadPlan."""
    lease_ms = int(choice["lease"])
    name = choice["plan"]
    return plan.preset(name, lease_ms) if name in plan.PRESETS else plan.parse(name), lease_ms


def _questions(choice: Choice) -> list[Question]:
    events, _ = planned(choice)
    kinds = {event.kind for event in events}
    return [Question(ask, f"native/stamp@{kind}", _TOLD) for kind, ask in _ASKED.items() if kind in kinds]
