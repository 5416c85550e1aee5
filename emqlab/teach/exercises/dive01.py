"""The exercises of dive 01: state and attempts."""

from functools import partial
from random import Random
from typing import Any

from emqlab.lab import ExecutorName, Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Run
from emqlab.teach.answers import (
    EXECUTORS,
    elsewhere,
    jobs_at_end,
    judged,
    kind,
    missing,
    newest,
    no,
    places_at_end,
    said,
    sent,
    verb_steps,
    wrong_on,
    yes,
)
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.limits import TooLong, limited
from emqlab.teach.verdict import Verdict, as_text

#: How many lost leases 01-1 is tried with: some that its messages name, and some that a table can't have foreseen.
LOST = (0, 1, 2, 5)
DRAWN = tuple(Random("01-1").sample(range(6, 24), 4))
#: The stall that kills in its sweeps: far off.
MANY = 1_000


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
            return no(f"Your function raised {type(error).__name__} for k = {lost}: {as_text(error, str)}")
        for name in EXECUTORS:
            expected = _token_after(lab, name, lost)
            if type(got) is not int:  # no bool, and nothing that compares as it likes
                return no(
                    f"For k = {lost} your function gave {kind(got)}; a token is a whole number.",
                    command=_claim_command(name),
                    field="attempts",
                    expected="a whole number",
                    got=as_text(got)[:60],
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
    return wrong_on(runs, _not_yet) or yes("state says scheduled and attempts says 3, on both executors.")


def _not_yet(run: Run) -> Verdict | None:
    """What one executor's run lacks; None when nothing."""
    jobs = jobs_at_end(run)
    scheduled = {job: fields for job, fields in jobs.items() if fields.get("state") == "scheduled"}
    if not scheduled:
        return missing(run, "state", "scheduled", newest(jobs, "state"))
    third = [job for job, fields in scheduled.items() if fields.get("attempts") == "3"]
    if not third:
        return missing(run, "attempts", "3", newest(scheduled, "attempts"))
    held = [places_at_end(run, job) for job in third]
    return None if "schedule" in held else elsewhere(run, "schedule", held[0])


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
        if (said(scripted, at), said(native, at)) == ("dead", "scheduled"):
            number = verb_steps(native)[at].index + 1
            return yes(f"Step {number}, fail: the script answers dead, the verb scheduled.")
    last = fails[-1]
    run, expected = (native, "scheduled") if said(native, last) != "scheduled" else (scripted, "dead")
    done, got = verb_steps(run)[last], said(run, last)
    return no(
        f"Step {done.index + 1}, the last fail, answers {got} on the {run.executor} executor; {expected} is wanted.",
        command=sent(done, run),
        field="reply",
        expected=expected,
        got=got,
    )


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "01-1": Exercise(
        "the token after k lost leases",
        token_after,
        (
            "Lose one lease by hand with lab.native, and look at attempts after the sweep and after the next claim.",
            "Only a claim writes attempts. So count the claims, not the sweeps.",
            "Each lost lease had a claim of its own, and the last claim comes on top of those.",
            "def token_after(k): return <k, and something for the last claim>",
        ),
        code=True,
    ),
    "01-2": Exercise(
        "scheduled, with attempts 3",
        scheduled_at_three,
        (
            "attempts counts claims, so there must be three of them, and after the third the job must go to schedule.",
            "After a failure the job waits in schedule: move the clock and promote it, or no claim will find it.",
            "The script compares attempts with max_attempts. Three claims and max_attempts 3 are one too many for it.",
            "enqueue; twice: claim, fail, advance, promote; then claim, fail. max_attempts is more than 3 throughout.",
        ),
    ),
    "01-3": Exercise(
        "dead on one executor only",
        cap_parts,
        (
            "The script's cap is on attempts, the verb's on failures. Make attempts grow without a failure.",
            "Every claim raises attempts. A lost lease, or a delay, lets you claim again with no failure reported.",
            "After one lost lease and one more claim, attempts is 2 and no failure has been reported. Now fail, once.",
            "enqueue, claim, advance past the lease, sweep(2), claim, fail with token 2 and max_attempts 2.",
        ),
    ),
}
