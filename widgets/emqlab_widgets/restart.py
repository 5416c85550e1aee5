"""Restart: a claim, a server that is restarted under it, and a sweep that has to say whether that was a stall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases.recovery import CAPS, LOSSES
from emqlab.teach.cases.recovery import restart as restart_case
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import all_sources_of
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
_LABELS = {"once": "once", "twice": "twice", "none": "not at all"}
_CAPS = {1: "1: the first stall kills (the default)", 2: "2: one stall is forgiven"}
_PLACES = ("pending", "active", "dead")
_QUESTIONS = [
    Question("Where is the job at the end, with the scripts?", "scripted/place", _PLACES),
    Question("And with the verbs?", "native/place", _PLACES),
    Question("What does stalled say after the verbs?", "native/value/stalled", ("absent", "1", "2")),
]
#: What the restart was, by the server that this is.
RESTARTED = {
    "embedded": "The embedded server has no process to end: it keeps its data and draws a new run_id.",
    "valkey": "A server process was ended, and another one started on its data: the run_id is new.",
}


def restart(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of a claim that a restart interrupts: claim, restart, sweep, claim. Each frame is a whole transition.

    ``lab`` is where it runs (a private embedded one unless given); a real server is really restarted, which takes some
    tenths of a second a pick, and the frame of the restart says which it was. ``choice`` may set ``restarts``
    (``once``, ``twice``, ``none``) and ``max_stalled``; ``predict=False`` shows the outcome at once. Raises ValueError
    for an option that is none, CannotRecord on a server that can't be restarted from here.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Restart",
        question="A worker holds the job when the server goes down and comes back. Was that a stall?",
        picks=[
            {
                "name": "restarts",
                "label": "the server is restarted",
                "options": [(name, _LABELS[name], about) for name, (about, _) in LOSSES.items()],
            },
            {
                "name": "max_stalled",
                "label": "max_stalled, the stall that kills",
                "options": [(str(cap), _CAPS[cap]) for cap in CAPS[:2]],
            },
        ],
        record=lambda picked: _recorded(where, picked),
        predict=_QUESTIONS if predict else None,
        sources=all_sources_of(("claim", "stalled_check")),
        divergences={8: DIVERGENCES[8], 15: DIVERGENCES[15]},
        choice=choice,
    )


def _recorded(lab: Lab, picked: Choice) -> dict[str, Any]:
    """The recording, in which a restart's frame says what was restarted."""
    case = restart_case(picked["restarts"], int(picked["max_stalled"]))
    recording = record(lab, case, detail="calls", titles=TITLES)
    for executor in recording["executors"]:
        for frame in executor["frames"]:
            if frame["step"].partition("#")[0] == "restart":
                frame["note"] = RESTARTED[lab.server.name]
    return recording
