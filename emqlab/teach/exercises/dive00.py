"""The exercise of the hub."""

from typing import Any

from emqlab import keys
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Run
from emqlab.teach.answers import (
    elsewhere,
    jobs_at_end,
    judged,
    missing,
    newest,
    no,
    places_at_end,
    writes_of,
    wrong_on,
    yes,
)
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.verdict import Verdict


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
    return wrong_on(runs, _wrong) or yes("The job was a dead letter and is back in line, on both executors.")


def _wrong(run: Run) -> Verdict | None:
    """What one executor's run lacks; None when nothing."""
    jobs, died = jobs_at_end(run), _died(run)
    if not died:
        return missing(run, "state", "dead", newest(jobs, "state"), "no job has ever been in dead")
    for job in sorted(died):
        if job not in jobs:
            return missing(run, "state", "pending", "no row", "the job's row is gone at the end")
        if jobs[job].get("state") != "pending":
            return missing(run, "state", "pending", jobs[job].get("state", "absent"))
        if (held := places_at_end(run, job)) != "pending":
            return elsewhere(run, "pending", held)
    return None


def _died(run: Run) -> set[str]:
    """Every job that a run has put into dead."""
    dead = keys.base(run.case.queue) + b"dead"
    told = [one.command for one in writes_of(run)]
    return {command[-1].decode("utf-8", "replace") for command in told if command[:2] == (b"ZADD", dead)}


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "00-1": Exercise(
        "one job to dead and back",
        dead_and_back,
        (
            "A job dies when it fails with its budget spent. Which value of fail is that budget?",
            "With max_attempts 1 the first failure is the last one, on both executors. A first claim's token is 1.",
            "Four verbs do it: enqueue, claim, fail, and the one that revives a dead letter.",
            "when: enqueue, claim, fail with token 1 and max_attempts 1, reprocess. given stays empty.",
        ),
    ),
}
