"""What a run of one job comes to: the sets that its id left and entered, its row, and what was counted."""

from __future__ import annotations

from dataclasses import dataclass

from emqlab import keys
from emqlab.observe.counters import COUNTERS, Counter, ledger
from emqlab.observe.run import Run
from emqlab.observe.shorthand import command_text
from emqlab.observe.state import SETS
from emqlab.observe.words import shown
from emqlab.teach.answers import members, verb_steps, writes_of
from emqlab.teach.cases.steps import JOB

#: What ``row`` of a Moved may be.
DELETED, REWRITTEN, UNTOUCHED = "deleted", "rewritten", "untouched"


@dataclass(frozen=True, slots=True)
class Moved:
    """One job, before against after: sets ``left`` and ``entered``, its ``row``, ``counters`` and ``metrics`` raised.

    ``row`` is ``deleted``, ``rewritten`` or ``untouched``. Counters are the row's (``failures``), metrics the queue's
    (``completed``).
    """

    left: tuple[str, ...]
    entered: tuple[str, ...]
    row: str
    counters: tuple[str, ...]
    metrics: tuple[str, ...]

    def told(self) -> tuple[str, str, str, str]:
        """As cells of a table: left, entered, row, counted."""
        counted = (*(f"metrics:{name}" for name in self.metrics), *self.counters)
        return _listed(self.left), _listed(self.entered), self.row, _listed(tuple(f"{name} +1" for name in counted))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "–"


def moved(run: Run, job: str = JOB) -> Moved:
    """Measure a traced run of one transition. Each counter and metric that is listed was raised by one."""
    queue, told = run.case.queue, ledger(run, job.encode())
    was, now = ({name for name in SETS if job in members(at, queue, name)} for at in (run.before, run.after))
    row = keys.row(queue, job.encode())
    gone = row in run.before and row not in run.after
    same = run.before.get(row) == run.after.get(row)
    return Moved(
        left=tuple(name for name in SETS if name in was - now),
        entered=tuple(name for name in SETS if name in now - was),
        row=DELETED if gone else UNTOUCHED if same else REWRITTEN,
        counters=tuple(name for name in COUNTERS if _raised(told.counters[name])),
        metrics=tuple(name for name, count in told.metrics.items() if _raised(count)),
    )


def _raised(count: Counter) -> bool:
    return count.delta == 1


def made_by(run: Run, command: bytes, key: str) -> str:
    """The last write of ``command`` to a key (its name without the base), as a stage shows it; else the whole call."""
    name = keys.base(run.case.queue) + key.encode()
    found = [one.command for one in writes_of(run) if one.command[:2] == (command, name)]
    traced = verb_steps(run)[-1].traced
    words = found[-1] if found else traced.sent if traced else ()
    at = {"queue": shown(run.case.queue), "subject": JOB, "now_ms": run.now_ms}
    return command_text({"command": [shown(word) for word in words], "phase": "write"}, at)
