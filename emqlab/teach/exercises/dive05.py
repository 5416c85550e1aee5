"""The exercises of dive 05: failures and recovery."""

from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.exercises.one_sided import dies_on_one
from emqlab.teach.exercises.poison import poison, unfit
from emqlab.teach.exercises.spared import spared_and_counted

#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "05-1": Exercise(
        "one failure, and dead on one executor",
        dies_on_one,
        (
            "Which of the two caps can be reached with a single failure? See what each FAIL compares.",
            "The scripts compare attempts, and every claim raises it. Let claims come to nothing before the failure.",
            "A lapse and a delay both end a claim without a failure. With max_attempts 4 it takes three of them.",
            "Four times claim; a lapse or a delay after each but the last, and there the fail. max_attempts is 4.",
        ),
    ),
    "05-2": Exercise(
        "spare the restarted, count the stalled",
        spared_and_counted,
        (
            "The verb spares a lease whose stamp is not the current epoch. So one job is claimed before a restart.",
            "The other is claimed after it, and both leases have to run out before the one sweep.",
            "A second job needs an id of its own: {**cases.enqueue(), 'id': cases.OTHER}. A restart is a step too.",
            "when: both enqueued, claim, {'restart': True}, claim, advance past both leases, sweep(2).",
        ),
    ),
    "05-3": Exercise(
        "a poison job, and a cap for it",
        poison,
        (
            "For the case: claim, restart, advance past the lease, sweep(1), three times over.",
            "For give_up: a token alone will not do, a job that fails nine times has a high one, too.",
            "Some claims are accounted for: each failure has a counter, and so has each stall. Which claims are left?",
            "Left are attempts - 1 - failures - stalled, absent counting as 0. Give up when it is more than four.",
        ),
        code=True,
        unfit=unfit,
    ),
}
