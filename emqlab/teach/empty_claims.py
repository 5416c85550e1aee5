"""What came to nothing in a reader's case and was not refused: an id added again, and a claim that found no job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emqlab.lab import Lab
from emqlab.observe.run import Run, Skipped
from emqlab.observe.state import SETS, State, state_of

#: What adds a job, unless its id is there already.
ADDS = ("enqueue", "schedule")


def came_to_nothing(lab: Lab, runs: Sequence[Run], before: int, told: str) -> str:
    """What comes first of it, in sentences; an empty text if there is none, or if ``told`` has its step already.

    ``runs`` are one case's, ``before`` the entry of its ``when`` up to which to look.
    """
    return " ".join(filter(None, (_added_nothing(runs, before, told), empty_claim(lab, runs, before))))


def _added_nothing(runs: Sequence[Run], before: int, told: str) -> str:
    """The first id that was added again, in a sentence: nothing comes of that, and the answer alone says so."""
    found = [
        (done.index, done.step.verb)
        for run in runs
        for done in run.trace
        if done.step.verb in ADDS and done.reply == 0 and done.index < before
    ]
    if not found or f"step {min(found)[0] + 1}," in told.lower():
        return ""
    index, verb = min(found)
    return f"Step {index + 1}, {verb}, added nothing, for its id was there already."


def empty_claim(lab: Lab, runs: Sequence[Run], before: int) -> str:
    """The first claim that was answered with nobody, in a sentence that says why; an empty text if there is none.

    ``runs`` are one case's, ``before`` the entry of its ``when`` up to which to look. The case is run again up to that
    claim, to see what it found there.
    """
    found = [
        (done.index, place)
        for place, run in enumerate(runs)
        for done in run.trace
        if done.step.verb == "claim" and done.reply == [] and done.index < before
    ]
    if not found:
        return ""
    index, place = min(found)
    run = runs[place]
    where = "" if [at for at, _ in found].count(index) == len(runs) else f" on the {run.executor} executor"
    return f"The claim in step {index + 1} found no job{where}: {_why(lab, run, index)}."


def _why(lab: Lab, run: Run, index: int) -> str:
    """What there was for the claim of entry ``index``."""
    earlier = replace(run.case, when=run.case.when[:index])
    seen = lab.run(earlier, executor=run.executor, traced=False)  # type: ignore[arg-type]
    if isinstance(seen, Skipped):  # it ran a moment ago
        return "nothing was in line"
    state = state_of(seen.after, run.case.queue)
    if "meta paused" in state["other"]:
        return "the queue was paused"
    if state["sets"]["pending"]:
        return "the first in line had no row"
    jobs = sorted({*state["rows"], *(job for name in SETS for job in state["sets"][name])})
    if not jobs:
        return "there was none in the queue"
    told = [f"{'it' if len(jobs) == 1 else f'…{job[-4:]}'} was {_place(state, job, seen.done_ms)}" for job in jobs]
    return "; ".join(told)


def _place(state: State, job: str, now_ms: int) -> str:
    """Where a job was that is not in line, and how long it would have stayed there."""
    sets: Mapping[str, Mapping[str, str]] = state["sets"]
    if job in sets["schedule"]:
        left = float(sets["schedule"][job]) - now_ms
        return f"in schedule, due {left / 1000:g} s later" if left > 0 else "in schedule, due, and not promoted yet"
    if job in sets["active"]:
        left = float(sets["active"][job]) - now_ms
        return (
            f"in active, still leased for {left / 1000:g} s" if left > 0 else "in active, its lease over, and not swept"
        )
    return "in dead" if job in sets["dead"] else "in no set"
