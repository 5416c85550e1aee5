"""Two budgets: a history of one job that the reader composes, and when each executor calls the job dead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.recording import Column, record, standing
from emqlab.teach.history import CAPS, HISTORIES, MOST, MOVES, compose, moves_of
from emqlab.teach.predict import Question
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import all_sources_of
from emqlab_widgets.stage import Stage

TITLES = {"scripted": "the scripts", "native": "the verbs"}
_MOVES = {
    "claim": "a worker takes the job for five seconds",
    "fail": "the holder reports a failure; it is due again at once, and promoted",
    "requeue": "the holder gives it back at once; no script does that, so there nothing is sent and the job stays held",
    "delay": "the holder gives it back, due at once; it is promoted",
    "lapse": "the lease runs out and a sweep takes the job back; the cap on stalls is far off",
}
_LABELS = {"requeue": "requeue (verbs only)"}
_PRESETS = {
    "fails": "fails only",
    "lost": "a lost lease between",
    "released": "released twice, then fails",
    "requeued": "requeued twice, then fails",
    "crashes": "crash loop: lapses only",
}
_DECLARED = (8, 9, 11, 12, 21)


def two_budgets(lab: Lab | None = None, choice: Mapping[str, str] | None = None, predict: bool = True) -> Stage:
    """The stage of one history under one cap: what each executor counts, and after which move it gives the job up.

    ``lab`` is where it runs (a private embedded one unless given); ``choice`` may set ``moves`` (a text such as
    ``"claim fail claim lapse"``, at most 12 moves) and ``max_attempts`` (1 to 5). Questions are asked about the
    histories on offer; one that the reader composes is shown at once, as it grows. A holder presents the token that
    its own last claim was answered with, and ``1`` before the first; a move that makes no sense is sent and answered.
    Raises ValueError for a move or a cap that is none.
    """
    where = open_lab("embedded") if lab is None else lab
    return Stage(
        title="Two budgets",
        question="What does each executor count against max_attempts, and after which move is the job dead?",
        picks=[
            {
                "name": "moves",
                "label": "the history",
                "kind": "moves",
                "options": [(move, _LABELS.get(move, move), _MOVES[move]) for move in MOVES],
                "presets": [(text, _PRESETS[name]) for name, text in HISTORIES.items()],
                "default": HISTORIES["lost"],
                "most": MOST,
            },
            {"name": "max_attempts", "label": "max_attempts", "kind": "radio", "options": [str(cap) for cap in CAPS]},
        ],
        record=lambda picked: recorded(where, picked),
        predict=_questions if predict else None,
        sources=all_sources_of(("claim", "fail", "delay", "requeue", "promote", "stalled_check")),
        divergences={number: DIVERGENCES[number] for number in _DECLARED},
        choice={"max_attempts": "3", **(choice or {})},
        view="budgets",
    )


def recorded(lab: Lab, choice: Choice) -> dict[str, Any]:
    """The recording of a choice, with its ``cap``; where the tokens part, each column has its own ``when``.

    Such a column has its own ``differs`` too: its form is another case, which shows what it shows.
    """
    with standing(lab):
        history = compose(lab, moves_of(choice["moves"]), int(choice["max_attempts"]))
        scripts, verbs = history.cases["scripted"], history.cases["native"]
        own = None if scripts == verbs else verbs["when"]
        columns = [Column("scripted", "scripted"), Column("native", "native", own)]
        found = record(lab, scripts, columns=columns, detail="calls", titles=TITLES)
    if own is not None:
        found["executors"][1]["differs"] = verbs.get("differs", [])
    return {**found, "cap": history.max_attempts}


def _questions(choice: Choice) -> list[Question]:
    if choice["moves"] not in HISTORIES.values():
        return []
    places = ("pending", "active", "dead")
    # What a move sends beside its name is folded away, and one can't be expected to guess that it promotes.
    due = {"fail", "delay"} & set(moves_of(choice["moves"]))
    end = ", with what is due promoted?" if due else "?"
    return [
        Question(f"Where is the job after the scripts{end}", "scripted/place", places),
        Question(f"Where is the job after the verbs{end}", "native/place", places),
        Question("What does failures hold after the verbs?", "native/value/failures", ("absent", "1", "2", "3")),
    ]
