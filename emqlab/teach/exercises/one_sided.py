"""Exercise 05-1: a history that dies on one executor only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emqlab.lab import Lab
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from emqlab.teach.answers import EXECUTORS, jobs_at_end, kind, newest, no, run_of, sent, verb_steps, yes
from emqlab.teach.verdict import Verdict, as_text

#: The budgets that may be chosen, and how many failures may be reported.
BUDGETS, FAILURES = (4, 5), 1
#: What a requeue comes to, in a history that did not do.
_REQUEUE = (
    " A requeue is a verb only: for the script nothing is sent, its job stays held, and the next claim finds none."
)


def dies_on_one(lab: Lab, answer: Any) -> Verdict:
    """A history with a budget of four or five and a single failure, after which one executor's job alone is dead."""
    from emqlab.teach.history import BadHistory, compose  # it brings the third voice along

    if not isinstance(answer, dict) or set(answer) != {"moves", "max_attempts"}:
        what = (
            f"a dict with {', '.join(map(as_text, answer)) or 'nothing'}" if isinstance(answer, dict) else kind(answer)
        )
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
    if most not in BUDGETS:
        budgets = " or ".join(map(str, BUDGETS))
        return no(
            f"A budget of {budgets} is asked for: max_attempts is {most} here.",
            field="max_attempts",
            expected=budgets,
            got=str(most),
        )
    try:
        history = compose(lab, moves.split(), most)
    except BadHistory as error:
        return no(f"This is no history: {error}.", field="moves")
    verdict = _dies_on_one([run_of(lab, history.cases[name], name) for name in EXECUTORS], most)
    return (
        verdict
        if verdict.ok or "requeue" not in history.moves
        else replace(verdict, sentence=verdict.sentence + _REQUEUE)
    )


def _dies_on_one(runs: list[Run], most: int) -> Verdict:
    fails = [next(done for done in verb_steps(run) if done.step.verb == "fail") for run in runs]
    refused = [run.executor for run, failed in zip(runs, fails, strict=True) if isinstance(failed.reply, ErrorReply)]
    who = "both executors" if len(refused) == len(runs) else f"the {''.join(refused)} executor"
    for run, failed in zip(runs, fails, strict=True):
        if isinstance(failed.reply, ErrorReply):
            return no(
                f"Nobody held the job when the failure was reported: {who} refused it.",
                command=sent(failed, run),
                field="reply",
                expected="scheduled or dead",
                got=failed.reply.text,
            )
    scripted, native = (failed.reply.decode() for failed in fails)
    attempts, failures = newest(jobs_at_end(runs[0]), "attempts"), newest(jobs_at_end(runs[1]), "failures")
    counted = f"the script compared attempts {attempts}, the verb failures {failures}"
    if (scripted == "dead") is not (native == "dead"):
        return yes(f"One failure, max_attempts {most}: the script answers {scripted}, the verb {native}; {counted}.")
    return no(
        f"With max_attempts {most} the failure is answered {scripted} on both executors: {counted}.",
        command=sent(fails[0], runs[0]),
        field="reply",
        expected="dead on one executor",
        got=f"{scripted} on both",
    )
