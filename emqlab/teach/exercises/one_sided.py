"""Exercise 05-1: a history that dies on one executor only."""

from __future__ import annotations

from typing import Any

from emqlab.lab import Lab
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from emqlab.teach.answers import EXECUTORS, jobs_at_end, kind, newest, no, run_of, sent, verb_steps, yes
from emqlab.teach.verdict import Verdict

#: The least budget, and how many failures may be reported.
BUDGET, FAILURES = 4, 1


def dies_on_one(lab: Lab, answer: Any) -> Verdict:
    """A history with a budget of four or five and a single failure, after which one executor's job alone is dead."""
    from emqlab.teach.history import CAPS, BadHistory, compose  # it brings the third voice along

    if not isinstance(answer, dict) or set(answer) != {"moves", "max_attempts"}:
        what = f"a dict with {', '.join(map(repr, answer)) or 'nothing'}" if isinstance(answer, dict) else kind(answer)
        return no(f"The answer is a dict with 'moves', a text, and 'max_attempts', a number, not {what}.")
    moves, most = answer["moves"], answer["max_attempts"]
    if not isinstance(moves, str):
        return no(f"moves is a text such as 'claim fail', not {kind(moves)}.", field="moves")
    if isinstance(most, bool) or not isinstance(most, int):
        return no(f"max_attempts is a whole number, not {kind(most)}.", field="max_attempts")
    failed = moves.split().count("fail")
    if failed != FAILURES:
        return no(
            f"One reported failure is asked for, and this history has {failed or 'none'}.",
            field="moves",
            expected="one fail",
            got=str(failed),
        )
    budgets = " or ".join(str(cap) for cap in CAPS if cap >= BUDGET)
    if most < BUDGET:
        return no(
            f"A budget of {budgets} is asked for: with {most} it would be no riddle.",
            field="max_attempts",
            expected=budgets,
            got=str(most),
        )
    try:
        history = compose(lab, moves.split(), most)
    except BadHistory as error:
        return no(f"This is no history: {error}.", field="max_attempts" if "max_attempts" in str(error) else "moves")
    return _dies_on_one([run_of(lab, history.cases[name], name) for name in EXECUTORS], most)


def _dies_on_one(runs: list[Run], most: int) -> Verdict:
    fails = [next(done for done in verb_steps(run) if done.step.verb == "fail") for run in runs]
    for run, failed in zip(runs, fails, strict=True):
        if isinstance(failed.reply, ErrorReply):
            return no(
                f"Nobody held the job when the failure was reported: the {run.executor} executor refused it.",
                command=sent(failed, run),
                field="reply",
                expected="scheduled or dead",
                got=failed.reply.text,
            )
    scripted, native = (newest(jobs_at_end(run), "state") for run in runs)
    attempts, failures = newest(jobs_at_end(runs[0]), "attempts"), newest(jobs_at_end(runs[1]), "failures")
    counted = f"the script compared attempts {attempts}, the verb failures {failures}"
    if (scripted == "dead") is not (native == "dead"):
        return yes(f"One failure, max_attempts {most}: the script's job is {scripted}, the verb's {native}; {counted}.")
    return no(
        f"With max_attempts {most} the job ends as {scripted} on both: {counted}.",
        command=sent(fails[0], runs[0]),
        field="reply",
        expected="dead on one executor",
        got=f"{fails[0].reply.decode()} on both",
    )
