"""Instrument: a planted defect, or a reader's own, and how the measurement catches it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.teach import sandbox
from emqlab.teach.altered import named
from emqlab.teach.instrument import DEFECTS, Catch, catch
from emqlab.teach.verdict import Verdict
from emqlab_widgets.sources import Sources, sources_of
from emqlab_widgets.stage import Stage

#: The short names that a link and a reader's ``choice`` use.
NAMES: Mapping[str, str] = {
    "no-ghost-check": "claim-skips-the-ghost-check-in-lua",
    "previous-token": "claim-hands-out-the-previous-token-in-python",
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
    where = _embedded(lab)
    caught: dict[str, Catch] = {}

    def hunted(picked: Mapping[str, str]) -> dict[str, Any]:
        caught["now"] = found = catch(NAMES[picked["defect"]], where)
        return found.recording

    return Stage(
        title="Instrument",
        question="Somebody breaks one rule in one file, and tells nobody. How many cases does it take to see that?",
        picks=[
            {
                "name": "defect",
                "label": "the defect",
                "options": [(short, DEFECTS[name]) for short, name in NAMES.items()],
            }
        ],
        record=hunted,
        sources=lambda _: _sources(caught["now"]),  # of the hunt that record has just made
        divergences=DIVERGENCES,
        choice=None if choice is None else {"defect": choice},
    )


def hunt(copy: Mapping[str, str]) -> Stage | Verdict:
    """The same stage for a reader's own changed file: ``hunt({"claim.lua": text})``.

    The text is run in a process of its own, for 5 s at most. A verdict with a sentence where it was not seen, can't be
    run, or is the lab's own, and where there are no processes.
    """
    answer: Any = copy
    if isinstance(answer, Mapping):
        answer = dict(answer)
    if isinstance(unfit := named(answer), Verdict):
        return unfit
    if not sandbox.possible():
        return Verdict(False, "", "", "", "", sandbox.NO_PROCESS)
    try:
        told = sandbox.told("hunt", answer)
    except sandbox.CannotSend as error:
        return Verdict(False, "", "", "", "", str(error))
    if "recording" not in told:
        return Verdict(**told)
    found = Catch(**told)
    recording = found.recording
    return Stage(
        title="Your defect",
        question="After how many cases did the instrument see it, and where does your file part from the lab's own?",
        record=lambda _: recording,
        divergences=DIVERGENCES,
        sources=_sources(found),
    )


def _embedded(lab: Lab | None) -> Lab:
    return lab if lab is not None and lab.server.name == "embedded" else open_lab("embedded")


def _sources(found: Catch) -> Sources:
    verb = found.recording["case"]["when"][-1]["verb"]
    return {"changed": {"name": f"{found.file}, changed", "text": found.text}, **sources_of(verb)}
