"""Life: everything that happens to one job, a whole transition at a time."""

from __future__ import annotations

from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import record
from emqlab.teach.cases import LIFE
from emqlab_widgets.sources import all_sources_of
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
_LABELS = {"every": "an eventful life", "lives": "a hard day", "quiet": "a quiet day"}


def life(lab: Lab | None = None, choice: str | None = None, step: int | None = 1) -> Stage:
    """The stage of one job's whole life. ``choice`` is one of ``every``, ``lives``, ``quiet``.

    It opens after ``step`` transitions (None: at the end), for this is a story. Raises ValueError for a ``choice``
    that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="One life",
        question="Step through it. Where is the job, who holds it, and what has it cost so far?",
        picks=[
            {
                "name": "life",
                "label": "the job has",
                "kind": "select",
                "options": [(name, _LABELS[name], LIFE[name]["about"]) for name in LIFE],
            }
        ],
        record=lambda picked: record(where, LIFE[picked["life"]], detail="calls", titles=TITLES),
        sources=all_sources_of(("enqueue", "claim", "fail", "promote", "stalled_check", "reprocess", "complete")),
        choice=None if choice is None else {"life": choice},
        step=step,
    )
