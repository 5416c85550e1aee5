"""Instrument: a planted defect, and how the measurement catches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.teach.instrument import DEFECTS, Catch, catch
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

#: The short names that a link and a reader's ``choice`` use.
NAMES: Mapping[str, str] = {
    "previous-token": "claim-hands-out-the-previous-token-in-python",
    "no-ghost-check": "claim-skips-the-ghost-check-in-lua",
    "no-stamp": "claim-forgets-the-epoch",
    "fence-of-numbers": "token-compared-as-a-number-in-lua",
    "left-in-line": "complete-leaves-the-id-in-line-in-python",
    "cap-off-by-one": "fail-off-by-one-cap-in-python",
    "live-leases": "sweep-takes-live-leases-in-lua",
    "bad-row": "sweep-passes-over-a-bad-row",
}


def instrument(lab: Lab | None = None, choice: str | None = None) -> Stage:
    """The stage of a planted defect being caught: after how many cases, and the smallest of them that shows it.

    Three columns run that case: the changed file, and both executors as they are. ``lab`` is where those two run if it
    is an embedded one; a hunt is on embedded servers of its own in any case, for a changed verb would have to be
    compiled for a real one (``emqlab parity --plant NAME --server valkey`` does that). ``choice`` is the defect to
    open on (``no-stamp``, ``bad-row``, …). Raises ValueError for a ``choice`` that is none.
    """
    where = lab if lab is not None and lab.server.name == "embedded" else open_lab("embedded")
    caught: dict[str, Catch] = {}

    def hunt(picked: Mapping[str, str]) -> dict[str, Any]:
        caught["now"] = found = catch(NAMES[picked["defect"]], where)
        return found.recording

    stage = Stage(
        title="Instrument",
        question="Somebody breaks one rule in one file, and tells nobody. How many cases does it take to see that?",
        picks=[
            {
                "name": "defect",
                "label": "the defect",
                "options": [(short, DEFECTS[name]) for short, name in NAMES.items()],
            }
        ],
        record=hunt,
        divergences=DIVERGENCES,
        choice=None if choice is None else {"defect": choice},
    )

    def follow(_: object) -> None:
        found = caught["now"]
        verb = found.recording["case"]["when"][-1]["verb"]
        changed = {"name": f"{found.plant.file}, changed", "text": found.text}
        stage.sources = {"changed": changed, **sources_of(verb)}

    follow(None)
    stage.observe(follow, "shown")  # the stage sends it in the same message as the recording
    return stage
