"""First claim: the same claim by both executors, command by command."""

from __future__ import annotations

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases import FIRST_CLAIM
from emqlab.teach.predict import Question
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage


def first_claim(lab: Lab | None = None, predict: bool = True) -> Stage:
    """The stage of one claim, as a script and as a verb. ``lab``: a private embedded one unless given."""
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="First claim",
        question="Two jobs wait. One worker claims: once with a script, once with a verb. Which token does it get?",
        record=lambda _: record(where, FIRST_CLAIM),
        predict=[Question("Which token does the script hand out?", "scripted/value/attempts", ("0", "1", "2"))]
        if predict
        else None,
        sources=sources_of("claim"),
        divergences={8: DIVERGENCES[8]},
    )
