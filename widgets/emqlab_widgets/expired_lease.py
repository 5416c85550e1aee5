"""Expired lease: one member of active whose lease ran out, and three recoveries that look at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import Column, record
from emqlab.teach.cases.recovery import CAPS, MEMBERS, expired, reaped
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage

_LABELS = {
    "this-epoch": "this epoch",
    "earlier-epoch": "an earlier epoch",
    "no-stamp": "no stamp",
    "stalled-once": "stalled already 1",
    "ghost": "a ghost",
    "lane": "a lane row",
    "bad-counter": "a bad counter",
    "not-a-hash": "not a hash",
}
_NO_SET = "no set"
_PLACES = ("pending", "active", "dead", _NO_SET, "gone")


def expired_lease(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of one expired lease in three columns: the reaper, the scripted sweep and EMQ.STALLED.CHECK.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``member`` (``this-epoch``,
    ``ghost``, …) and ``max_stalled``; ``predict=False`` shows the outcome at once. Raises ValueError for an option
    that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    sweeps = sources_of("stalled_check")
    return Stage(
        title="Expired lease",
        question="A lease ran out four seconds ago. Three recoveries look at it: who takes the job back, and what does "
        "it cost?",
        picks=[
            {
                "name": "member",
                "label": "the expired member",
                "options": [(name, _LABELS[name], MEMBERS[name][0]) for name in MEMBERS],
            },
            {"name": "max_stalled", "label": "max_stalled", "kind": "radio", "options": [str(cap) for cap in CAPS]},
        ],
        record=lambda picked: _record(where, picked),
        predict=_questions if predict else None,
        sources={"reap": sources_of("reap")["scripted"], **sweeps},
        divergences={n: DIVERGENCES[n] for n in (15, 16, 17, 18, 20)},
        choice=choice,
    )


def _record(lab: Lab, picked: Choice) -> dict[str, Any]:
    reap = reaped(picked["member"])
    columns = [
        Column("reap", "scripted", reap["when"], reap["differs"]),
        Column("scripted", "scripted"),
        Column("native", "native"),
    ]
    return record(lab, expired(picked["member"], int(picked["max_stalled"])), columns=columns)


def _questions(choice: Choice) -> list[Question]:
    member = choice["member"]
    places = (*_PLACES, "g:blue:pending") if member == "lane" else _PLACES
    # An id without a row would be both in no set and gone.
    offered = tuple(place for place in places if member != "ghost" or place != _NO_SET)
    columns = {"reap": "reap", "scripted": "the scripted sweep", "native": "EMQ.STALLED.CHECK"}
    return [Question(f"Where is the job after {told}?", f"{name}/place", offered) for name, told in columns.items()]
