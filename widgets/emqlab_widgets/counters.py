"""Ledger: one call of one verb, and what it does to the four counters; and the same of every verb, as a table."""

from __future__ import annotations

from emqlab import keys
from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab, open_lab
from emqlab.observe.counters import COUNTERS, EPOCH, UNTOUCHED, ledger
from emqlab.observe.recording import record
from emqlab.observe.run import Run
from emqlab.teach.cases import JOB
from emqlab.teach.cases.recovery import LEDGER
from emqlab.teach.predict import Question
from emqlab.transitions import TRANSITIONS
from emqlab_widgets.picks import Choice
from emqlab_widgets.sources import sources_of
from emqlab_widgets.stage import Stage
from emqlab_widgets.table import Table

_ONLY = {"reap": ", a script only", "requeue": ", a verb only"}
_LABELS = {"stalled_check": "the sweep", **{verb: verb + only for verb, only in _ONLY.items()}}
_DELTAS = ("0", "+1", "−1", "deleted")


def counters(lab: Lab | None = None, choice: str | None = None, predict: bool = True) -> Stage:
    """The stage of one verb and the four counters of the job it acts on: untouched, read, written.

    ``lab`` is where it runs (a private embedded one unless given), ``choice`` the step verb to open on (``fail``,
    ``requeue``, ``reap``, …), ``predict=False`` shows the outcome at once. Raises ValueError for a ``choice`` that is
    none.
    """
    where = open_lab("embedded") if lab is None else lab
    options = [(verb, _LABELS.get(verb, verb), case["about"]) for verb, case in LEDGER.items()]
    return Stage(
        title="Ledger",
        question="A job was claimed twice, failed once and stalled once. One more call: which of its counters changes?",
        picks=[{"name": "verb", "label": "the verb", "options": options}],
        record=lambda picked: record(where, LEDGER[picked["verb"]]),
        predict=_questions if predict else None,
        sources=lambda picked: sources_of(picked["verb"]),
        divergences={n: DIVERGENCES[n] for case in LEDGER.values() for n in case.get("differs", ())},
        choice={"verb": choice or "fail"},
    )


def counter_table(lab: Lab | None = None) -> Table:
    """Every verb and how it touches the four counters, measured: each is run, and its commands are looked through.

    Where the executors part, the script's way stands before the verb's. ``lab``: a private embedded one unless given.
    """
    where = open_lab("embedded") if lab is None else lab
    names = (*COUNTERS, EPOCH)
    rows = [
        (verb + _ONLY.get(verb, ""), *(_cell(one) for one in zip(*_touches(where, verb, names), strict=True)))
        for verb in LEDGER
    ]
    return Table("Who touches which counter, script / verb where they part", ("", *names), rows)


def _touches(lab: Lab, verb: str, names: tuple[str, ...]) -> list[list[str]]:
    """How each executor that has the verb touches the counters of those names."""
    transition = TRANSITIONS[verb]
    has = {"scripted": transition.script, "native": transition.command}
    out = []
    for executor in (name for name, file in has.items() if file is not None):
        run = lab.run(LEDGER[verb], executor=executor)  # type: ignore[arg-type]
        assert isinstance(run, Run)  # it neither moves a clock nor restarts anything
        told = ledger(run, JOB.encode())
        gone = run.after.get(keys.row(run.case.queue, JOB.encode())) is None
        out.append([_word(told.touch[name], gone) for name in names])
    return out


def _word(touch: str, gone: bool) -> str:
    """A touch in the words of the stage's ledger: a row that is gone was deleted, not written."""
    word = "–" if touch == UNTOUCHED else touch.replace(" and ", ", ")
    return word.replace("written", "deleted") if gone else word


def _cell(words: tuple[str, ...]) -> str:
    return words[0] if len({*words}) == 1 else " / ".join(words)


def _questions(choice: Choice) -> list[Question]:
    verb = choice["verb"]
    if verb in ("claim", "extend", "extends"):
        epochs = ("this epoch", "earlier epoch", "absent")
        counted = Question("By how much does the verb change attempts?", "native/delta/attempts", _DELTAS)
        return [counted, Question("Whose lease is it after the verb?", "native/value/lease_epoch", epochs)]
    who, name = ("script", "scripted") if verb == "reap" else ("verb", "native")
    first = "stalled" if verb in ("stalled_check", "reap") else "failures"
    out = [Question(f"By how much does the {who} change {first}?", f"{name}/delta/{first}", _DELTAS)]
    if verb == "fail":
        return [*out, Question("And the script?", "scripted/delta/failures", _DELTAS)]
    # A reader who expects a revived job to start afresh must find that answer among the others.
    deltas = ("0", "+1", "−2", "deleted") if verb == "reprocess" else _DELTAS
    return [*out, Question(f"By how much does the {who} change attempts?", f"{name}/delta/attempts", deltas)]
