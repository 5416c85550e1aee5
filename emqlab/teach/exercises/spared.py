"""Exercise 05-2: one sweep that spares the restarted and counts the stalled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from emqlab import keys
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Done, Run
from emqlab.replies import ErrorReply
from emqlab.teach.answers import judged, no, sent, verb_steps, yes
from emqlab.teach.verdict import Verdict


def spared_and_counted(lab: Lab, answer: Any) -> Verdict:
    """A case in which one native sweep lists a job that it counts and one that it does not; the script counts both."""
    return judged(lab, answer, _spared_and_counted, strict=True)


def _spared_and_counted(case: Case, runs: list[Run]) -> Verdict:
    scripted, native = runs
    sweeps = [place for place, done in enumerate(verb_steps(native)) if done.step.verb == "stalled_check"]
    if not sweeps:
        return no("The case never sweeps.", field="when", expected="a step stalled_check", got="none")
    for place in sweeps:
        ours, theirs = (swept(run, verb_steps(run)[place]) for run in (native, scripted))
        spared = [job for job, counted in ours.items() if not counted]
        both = [job for job in ours if theirs.get(job)]
        if len(ours) > len(spared) > 0 and len(both) == len(ours):
            number = verb_steps(native)[place].index + 1
            return yes(
                f"Step {number}, the sweep: the verb lists {_jobs(spared)} uncounted beside one that it counts, "
                "and the script counts both."
            )
    place = max(sweeps, key=lambda place: len(swept(native, verb_steps(native)[place])))
    done = verb_steps(native)[place]
    ours = swept(native, done)
    counted = sum(ours.values())
    return no(
        f"Step {done.index + 1}, the sweep, lists {_jobs(ours)} natively: {counted} counted, {len(ours) - counted} "
        "spared. One of each is wanted, in one call.",
        command=sent(done, native),
        field="stalled",
        expected="1 counted, 1 spared",
        got=f"{counted} counted, {len(ours) - counted} spared",
    )


def swept(run: Run, done: Done) -> dict[bytes, bool]:
    """Every job that one sweep has listed, recovered or dead, and whether it wrote ``stalled`` on its row."""
    if isinstance(done.reply, ErrorReply) or done.traced is None:
        return {}
    wrote = {
        told.command[1]
        for told in done.traced.told
        if told.phase == "write" and b"stalled" in told.command[2:] and told.command[0] in (b"HSET", b"HINCRBY")
    }
    listed: Iterable[bytes] = (job for jobs in done.reply for job in jobs)
    return {job: keys.row(run.case.queue, job) in wrote for job in listed}


def _jobs(listed: Iterable[bytes]) -> str:
    names = [f"…{job.decode('utf-8', 'replace')[-4:]}" for job in sorted(listed)]
    return " and ".join(names) or "nobody"
