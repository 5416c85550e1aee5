"""The exercises: each has a title and a judge that runs a reader's answer and says what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from emqlab import keys
from emqlab.lab import ExecutorName, Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Run
from emqlab.replies import reply_json
from emqlab.teach.answers import (
    EXECUTORS,
    jobs_at_end,
    judged,
    kind,
    missing,
    newest,
    no,
    places_at_end,
    sent,
    verb_steps,
    writes_of,
    yes,
)
from emqlab.teach.limits import TooLong, limited
from emqlab.teach.verdict import Verdict

#: How many lost leases 01-1 is tried with: some that its messages name, and some that a table can't have foreseen.
LOST = (0, 1, 2, 5)
DRAWN = tuple(Random("01-1").sample(range(6, 24), 4))
#: The stall that kills in its sweeps: far off.
MANY = 1_000


@dataclass(frozen=True, slots=True)
class Exercise:
    """``judge(lab, answer)`` runs an answer on a lab of its own."""

    title: str
    judge: Callable[[Lab, Any], Verdict]


# ---------------------------------------------------------------- 00-1: to dead and back


def dead_and_back(lab: Lab, answer: Any) -> Verdict:
    """A case in which one job becomes a dead letter and waits in line again at its end, on both executors."""
    return judged(lab, answer, _dead_and_back)


def _dead_and_back(case: Case, runs: list[Run]) -> Verdict:
    added = {step.values["id"] for step in case.when if step.verb in ("enqueue", "schedule")}
    if len(added) > 1:
        return no(
            f"One job is asked for, and this case adds {len(added)}.",
            field="when",
            expected="one job",
            got=f"{len(added)} jobs",
        )
    for run in runs:
        jobs, died = jobs_at_end(run), _died(run)
        if not died:
            return missing(run, "state", "dead", newest(jobs, "state"), "no job has ever been in dead")
        for job in sorted(died):
            if job not in jobs:
                return missing(run, "state", "pending", "no row", "the job's row is gone at the end")
            if jobs[job].get("state") != "pending":
                return missing(run, "state", "pending", jobs[job].get("state", "absent"))
            if (held := places_at_end(run, job)) != "pending":
                return _elsewhere(run, "pending", held)
    return yes("The job was a dead letter and is back in line, on both executors.")


def _died(run: Run) -> set[str]:
    """Every job that a run has put into dead."""
    dead = keys.base(run.case.queue) + b"dead"
    told = [one.command for one in writes_of(run)]
    return {command[-1].decode("utf-8", "replace") for command in told if command[:2] == (b"ZADD", dead)}


def _elsewhere(run: Run, expected: str, got: str) -> Verdict:
    """The row says one thing and the sets another: possible where a script goes ahead."""
    why = f"On the {run.executor} executor the row is right, but the id is in {got}; {expected} is wanted."
    return no(why, command=sent(verb_steps(run)[-1], run), field="set", expected=expected, got=got)


# ---------------------------------------------------------------- 01-1: the token after k lost leases


def token_after(lab: Lab, answer: Any) -> Verdict:
    """A function: how many leases were lost before -> the token that the next claim hands out."""
    if not callable(answer):
        return no(f"The answer is a function of k, not {kind(answer)}: k leases were lost, and it says the next token.")
    for lost in (*LOST, *DRAWN):
        try:
            got = limited(partial(answer, lost))
        except TooLong:
            return no(f"Your function was still running after a long while, for k = {lost}: it was stopped.")
        except Exception as error:  # the reader's own code: whatever it raises is an answer to be talked about
            return no(f"Your function raised {type(error).__name__} for k = {lost}: {error}")
        for name in EXECUTORS:
            expected = _token_after(lab, name, lost)
            if isinstance(got, bool) or not isinstance(got, int):
                return no(
                    f"For k = {lost} your function gave {kind(got)}; a token is a whole number.",
                    command=_claim_command(name),
                    field="attempts",
                    expected="a whole number",
                    got=repr(got)[:60],
                )
            if got != expected:
                return no(
                    f"With {_leases(lost)} lost before it, the next claim hands out {expected}, not {got}.",
                    command=_claim_command(name),
                    field="attempts",
                    expected=str(expected),
                    got=str(got),
                )
    tried = f"{', '.join(map(str, LOST))} lost leases, and {len(DRAWN)} more that were drawn,"
    return yes(f"The runs with {tried} handed out just that, on both executors.")


def _token_after(lab: Lab, name: ExecutorName, lost: int) -> int:
    """Run it: lose ``lost`` leases, each swept, and claim once more."""
    executor, queue = lab.executor(name), f"lost-{lost}-{name}"
    executor.enqueue(queue, b"tea")
    for _ in range(lost):
        executor.claim(queue, lease_ms=1_000)
        lab.advance_ms(1_000)
        executor.stalled_check(queue, max_stalled=MANY)
    claimed = executor.claim(queue, lease_ms=1_000)
    assert claimed is not None
    return claimed.token


def _claim_command(name: ExecutorName) -> str:
    return "claim.lua" if name == "scripted" else "EMQ.CLAIM"


def _leases(many: int) -> str:
    return "no lease" if many == 0 else "one lease" if many == 1 else f"{many} leases"


# ---------------------------------------------------------------- 01-2: scheduled, with attempts 3


def scheduled_at_three(lab: Lab, answer: Any) -> Verdict:
    """A case that ends with a job whose state is scheduled and whose attempts is 3, on both executors."""
    return judged(lab, answer, _scheduled_at_three)


def _scheduled_at_three(case: Case, runs: list[Run]) -> Verdict:
    for run in runs:
        jobs = jobs_at_end(run)
        scheduled = {job: fields for job, fields in jobs.items() if fields.get("state") == "scheduled"}
        if not scheduled:
            return missing(run, "state", "scheduled", newest(jobs, "state"))
        third = [job for job, fields in scheduled.items() if fields.get("attempts") == "3"]
        if not third:
            return missing(run, "attempts", "3", newest(scheduled, "attempts"))
        held = [places_at_end(run, job) for job in third]
        if "schedule" not in held:
            return _elsewhere(run, "schedule", held[0])
    return yes("state says scheduled and attempts says 3, on both executors.")


# ---------------------------------------------------------------- 01-3: one fails on, the other is dead


def cap_parts(lab: Lab, answer: Any) -> Verdict:
    """A case of answered calls in which one FAIL answers scheduled natively and dead in the script."""
    return judged(lab, answer, _cap_parts, strict=True)


def _cap_parts(case: Case, runs: list[Run]) -> Verdict:
    scripted, native = runs
    fails = [place for place, done in enumerate(verb_steps(native)) if done.step.verb == "fail"]
    if not fails:
        return no("The case never reports a failure.", field="when", expected="a step fail", got="none")
    for at in fails:
        if (_said(scripted, at), _said(native, at)) == ("dead", "scheduled"):
            number = verb_steps(native)[at].index + 1
            return yes(f"Step {number}, fail: the script answers dead, the verb scheduled.")
    last = fails[-1]
    run, expected = (native, "scheduled") if _said(native, last) != "scheduled" else (scripted, "dead")
    done, got = verb_steps(run)[last], _said(run, last)
    return no(
        f"Step {done.index + 1}, the last fail, answers {got} on the {run.executor} executor; {expected} is wanted.",
        command=sent(done, run),
        field="reply",
        expected=expected,
        got=got,
    )


def _said(run: Run, place: int) -> str:
    told = reply_json(run.replies[place])
    return str(told.get("ok", told.get("error", "unsupported")))


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "00-1": Exercise("one job to dead and back", dead_and_back),
    "01-1": Exercise("the token after k lost leases", token_after),
    "01-2": Exercise("scheduled, with attempts 3", scheduled_at_three),
    "01-3": Exercise("dead on one executor only", cap_parts),
}
