"""Six differences: what changes about a claim when the script becomes a command, one difference at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import Column, record
from emqlab.teach.cases.parity import SECOND_CLIENT, SHOWS, SIX
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.side_by_side import PLACES
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

#: Choice -> its label and what is done about it, in the order in which a claim meets them.
_OPTIONS = {
    "pause": ("the pause", "another client pauses the queue while the claim is on its way"),
    "meta": ("a meta key of the wrong type", "meta holds a string, not a hash"),
    "row": ("a poisoned row", "the first in line has 1.0 for its attempts"),
    "clock": ("the clock", "who says what time it is?"),
    "arguments": ("the arguments", "the lease is written 1e3"),
    "rights": ("the rights", "this user may touch the keys that the claim names, and no row"),
}
_NO_SCRIPT = "Only a real server runs a script for a limited user: try this on Valkey."
_WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def six_differences(lab: Lab | None = None, choice: str | None = None, predict: bool = True) -> Stage:
    """The stage of the six differences of a claim, both executors run and every key compared.

    ``lab`` is where it runs (a private embedded one unless given; on it no script runs for a limited user, so of the
    rights it shows the verb alone), ``choice`` the difference to open on (``pause``, ``meta``, ``row``, ``clock``,
    ``arguments``, ``rights``), ``predict=False`` shows the outcome at once. Raises ValueError for a ``choice`` that is
    none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Six differences",
        every=True,
        question="The same claim by both executors, and one thing that is not as usual. Do they still agree?",
        picks=[
            {
                "name": "difference",
                "label": "look at",
                "options": [(name, *_OPTIONS[name]) for name in SIX],
            }
        ],
        record=lambda picked: recorded(where, picked["difference"]),
        predict=partial(_questions, where) if predict else None,
        sources=sources_of("claim"),
        divergences={n: DIVERGENCES[n] for n in (1, 2, 3, 4, 5, 6, 8)},
        choice=None if choice is None else {"difference": choice},
    )


def recorded(lab: Lab, difference: str) -> dict[str, Any]:
    """The recording of one difference. Raises KeyError for one that is none."""
    left_out = _NO_SCRIPT if _verb_alone(lab, difference) else ""
    columns = [Column("scripted", "scripted", left_out=left_out), Column("native", "native")]
    return record(
        lab,
        SIX[difference],
        columns=columns,
        meanwhile=SECOND_CLIENT.get(difference, ()),
        differs=SHOWS.get(difference),
        titles={"scripted": "claim", "native": "EMQ.CLAIM"},
    )


def _verb_alone(lab: Lab, difference: str) -> bool:
    """Whether the script is left out: the embedded server runs none for a limited user."""
    return difference == "rights" and lab.server.name == "embedded"


def _questions(lab: Lab, choice: Choice) -> list[Question]:
    name = choice["difference"]
    place = Question("Where is the job after the verb?", "native/place", PLACES)
    if _verb_alone(lab, name):
        return [place]
    if name == "meta":
        return [Question("What does the verb answer?", "native/reply", ("[]", "the job", _WRONGTYPE))]
    return [Question("Where is the job after the script?", "scripted/place", PLACES), place]
