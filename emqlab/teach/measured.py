"""What each verb does to a job's sets, counters and fields, measured from traced runs: nothing here is typed in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from emqlab.lab import Lab
from emqlab.observe.case_reader import parse_case
from emqlab.observe.counters import COUNTERS, EPOCH, READ, READ_AND_WRITTEN, UNTOUCHED, WRITTEN, touch
from emqlab.observe.run import Run
from emqlab.observe.state import SETS, state_of
from emqlab.observe.trace import Frame, frames
from emqlab.replies import NotSent
from emqlab.teach import cases
from emqlab.transitions import TRANSITIONS

#: The counters of the sheet, in its order.
COLUMNS = (*COUNTERS, EPOCH)
NEW, GONE = "new", "gone"
#: What becomes of a counter whose whole row is deleted.
DELETED = "deleted"

_JOB = cases.JOB.encode()
_HELD, _EXPIRED = cases.TRANSITION["delay"], cases.TRANSITION["sweep"]


def _instead(case: cases.CaseJson, name: str, step: cases.StepJson) -> cases.CaseJson:
    """The case with another step on the same queue."""
    return {"name": f"measured/{name}", "queue": case["queue"], "given": case["given"], "when": [step]}


#: What is run: the cases of the Transition stage, and the verbs and ends that it does not have.
CASES: tuple[cases.CaseJson, ...] = (
    *cases.TRANSITION.values(),
    _instead(_HELD, "extend", {"verb": "extend", "id": cases.JOB, "token": "1", "lease_ms": "30000"}),
    _instead(_HELD, "extends", {"verb": "extends", "lease_ms": "30000", "pairs": [[cases.JOB, "1"]]}),
    _instead(_EXPIRED, "sweep-at-the-cap", cases.sweep(1)),
    _instead(_EXPIRED, "reap", {"verb": "reap"}),
)


@dataclass(slots=True)
class Side:
    """A verb on one executor: where the job went, and how each counter, metric and field of the row was touched."""

    moves: list[tuple[str, str]] = field(default_factory=list)
    counters: dict[str, str] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)

    def add(self, run: Run) -> None:
        """Take in one more run of the verb."""
        told = frames(run, subject=_JOB)
        before, after = _place(run, before=True), _place(run, before=False)
        self.moves += [] if (before, after) in self.moves else [(before, after)]
        self.fields |= _fields(told)
        for name in COLUMNS:
            word = touch(told, f"row.{name}")
            if after == GONE and word in (WRITTEN, READ_AND_WRITTEN):
                word = f"{READ}, {DELETED}" if word == READ_AND_WRITTEN else DELETED
            self.counters[name] = _both(self.counters.get(name, UNTOUCHED), word)
        written = sorted({one[8:-6] for frame in told for one in frame.writes if one.startswith("metrics:")})
        self.metrics += [name for name in written if name not in self.metrics]


@dataclass(slots=True)
class Verb:
    """One step verb on both executors; a ``Side`` is None where the executor has no such verb."""

    name: str
    script: str | None
    command: str | None
    token: bool
    scripted: Side | None = None
    native: Side | None = None


def measure(lab: Lab) -> list[Verb]:
    """Run every case on both executors of ``lab`` and sum up each verb's runs, in the order of the verbs' table."""
    found: dict[str, Verb] = {}
    for case in CASES:
        (step,) = case["when"]
        one = TRANSITIONS[step["verb"]]
        needs = "token" in one.values or "pairs" in one.values
        verb = found.setdefault(one.verb, Verb(one.verb, one.script, one.command, needs))
        for name in ("scripted", "native"):
            run = lab.run(parse_case(case), executor=name)
            assert isinstance(run, Run)
            if any(isinstance(reply, NotSent) for reply in run.replies):
                continue
            side = getattr(verb, name) or Side()
            side.add(run)
            setattr(verb, name, side)
    return [found[name] for name in TRANSITIONS if name in found]


def writers(verbs: Iterable[Verb], name: str) -> Mapping[str, tuple[str, ...]]:
    """Which verbs write a row's field ``name``, by executor; deleting the row is no writing here."""
    told = list(verbs)
    return {
        "scripted": tuple(one.name for one in told if one.scripted and name in one.scripted.fields),
        "native": tuple(one.name for one in told if one.native and name in one.native.fields),
    }


def _place(run: Run, *, before: bool) -> str:
    """The set that holds the job; ``new`` or ``gone`` without a row."""
    state = state_of(run.before if before else run.after, run.case.queue)
    if cases.JOB not in state["rows"]:
        return NEW if before else GONE
    return next((name for name in SETS if cases.JOB in state["sets"][name]), "no set")


def _fields(told: Iterable[Frame]) -> set[str]:
    return {one[4:] for frame in told for one in frame.writes if one.startswith("row.")}


def _both(one: str, other: str) -> str:
    """Two touches of a slot in one: what either of them did."""
    if one == UNTOUCHED:
        return other
    words = {one, other}
    read = bool(words & {READ, READ_AND_WRITTEN})
    wrote = bool(words & {WRITTEN, READ_AND_WRITTEN})
    return READ_AND_WRITTEN if read and wrote else WRITTEN if wrote else READ if read else UNTOUCHED
