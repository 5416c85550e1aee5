"""The exercises: each has a title and a judge that runs a reader's answer and says what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from emqlab import keys
from emqlab.lab import ExecutorName, Lab
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply, NotSent, reply_json
from emqlab.teach.answers import (
    EXECUTORS,
    jobs_at_end,
    kind,
    missing,
    newest,
    no,
    own_case,
    runs_of,
    sent,
    verb_steps,
    writes_of,
    yes,
)
from emqlab.teach.limits import TooLong, limited
from emqlab.teach.verdict import Verdict

#: How many lost leases 01-1 is tried with, and how many stalls its sweeps forgive.
LOST = (0, 1, 2, 5)
MANY = 1_000


@dataclass(frozen=True, slots=True)
class Exercise:
    """``judge(lab, answer)`` runs an answer on a lab of its own."""

    title: str
    judge: Callable[[Lab, Any], Verdict]


# ---------------------------------------------------------------- 00-1: to dead and back


def dead_and_back(lab: Lab, answer: Any) -> Verdict:
    """A case in which a job becomes a dead letter and waits in line again at its end, on both executors."""
    case = own_case(answer)
    if isinstance(case, Verdict):
        return case
    for run in runs_of(lab, case):
        jobs = jobs_at_end(run)
        died = {job: fields for job, fields in jobs.items() if _was_dead(run, job)}
        if not died:
            return missing(run, "state", "dead", newest(jobs, "state"), "no job has ever been in dead")
        if all(fields.get("state") != "pending" for fields in died.values()):
            return missing(run, "state", "pending", newest(died, "state"))
    return yes("The job was a dead letter and is back in line, on both executors.")


def _was_dead(run: Run, job: str) -> bool:
    row = keys.row(run.case.queue, job.encode())
    dead = keys.base(run.case.queue) + b"dead"
    told = [one.command for one in writes_of(run)]
    return any(command[:2] == (b"ZADD", dead) and command[-1] == row[-len(job.encode()) :] for command in told)


# ---------------------------------------------------------------- 01-1: the token after k lost leases


def token_after(lab: Lab, answer: Any) -> Verdict:
    """A function: how many leases were lost before -> the token that the next claim hands out."""
    if not callable(answer):
        return no(f"The answer is a function of k, not {kind(answer)}: k leases were lost, and it says the next token.")
    for lost in LOST:
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
    return yes(f"The runs with {', '.join(map(str, LOST))} lost leases handed out just that, on both executors.")


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
    case = own_case(answer)
    if isinstance(case, Verdict):
        return case
    for run in runs_of(lab, case):
        jobs = jobs_at_end(run)
        scheduled = {job: fields for job, fields in jobs.items() if fields.get("state") == "scheduled"}
        if not scheduled:
            return missing(run, "state", "scheduled", newest(jobs, "state"))
        if all(fields.get("attempts") != "3" for fields in scheduled.values()):
            return missing(run, "attempts", "3", newest(scheduled, "attempts"))
    return yes("state says scheduled and attempts says 3, on both executors.")


# ---------------------------------------------------------------- 01-3: one fails on, the other is dead


def cap_parts(lab: Lab, answer: Any) -> Verdict:
    """A case of valid calls in which one FAIL answers scheduled natively and dead in the script."""
    case = own_case(answer)
    if isinstance(case, Verdict):
        return case
    scripted, native = runs_of(lab, case)
    fails = [place for place, verb in enumerate(case.verbs) if verb == "fail"]
    if not fails:
        return no("The case never reports a failure.", field="when", expected="a step fail", got="none")
    parting = [at for at in fails if (_said(scripted, at), _said(native, at)) == ("dead", "scheduled")]
    upto = parting[0] if parting else len(case.verbs) - 1
    for run in (scripted, native):
        invalid = _invalid(run, upto)
        if invalid is not None:
            return invalid
    if parting:
        return yes(f"Step {parting[0] + 1}: the script answers dead, the verb scheduled.")
    last = fails[-1]
    for run, expected in ((native, "scheduled"), (scripted, "dead")):
        if _said(run, last) != expected:
            verb = verb_steps(run)[last]
            return no(
                f"The last fail answers {_said(run, last)} on the {run.executor} executor, and {expected} is wanted.",
                command=sent(verb, run),
                field="reply",
                expected=expected,
                got=_said(run, last),
            )
    raise AssertionError("a fail that parts the executors was found before")


def _said(run: Run, place: int) -> str:
    told = reply_json(run.replies[place])
    return str(told.get("ok", told.get("error", "unsupported")))


def _invalid(run: Run, upto: int) -> Verdict | None:
    """The first call up to that one that was refused, or that this executor does not have."""
    for place, (done, reply) in enumerate(zip(verb_steps(run), run.replies, strict=True)):
        if place > upto or not isinstance(reply, ErrorReply | NotSent):
            continue
        verb = done.step.verb or ""
        if isinstance(reply, NotSent):
            why, got = f"the {run.executor} executor has no {verb}", "unsupported"
        else:
            why, got = f"the {run.executor} executor refuses {verb}", reply.text
        return no(
            f"Step {place + 1} is no valid call: {why}.",
            command=sent(done, run),
            field="reply",
            expected="an answer",
            got=got,
        )
    return None


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "00-1": Exercise("one job to dead and back", dead_and_back),
    "01-1": Exercise("the token after k lost leases", token_after),
    "01-2": Exercise("scheduled, with attempts 3", scheduled_at_three),
    "01-3": Exercise("dead on one executor only", cap_parts),
}
