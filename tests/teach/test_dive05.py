"""The exercises of dive 05: each can be solved in its ways, and a tempting mistake is told by what the run did."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.lab import Lab
from emqlab.teach import check, progress, sandbox
from emqlab.teach.cases import OTHER, StepJson, advance, claim, complete, delay, enqueue, fail, promote, sweep
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.exercises.poison import LIVES

RESTART: StepJson = {"restart": True}
MILK: StepJson = {**enqueue(), "id": OTHER}
LOST = [claim(1_000), RESTART, advance(1_000), sweep(1)]
GiveUp = Callable[[dict[str, str]], Any]


def case(*when: StepJson) -> dict[str, Any]:
    """A reader's case."""
    return {"name": "mine", "queue": "q", "when": list(when)}


def history(moves: Any, max_attempts: Any = 4) -> dict[str, Any]:
    """A reader's history."""
    return {"moves": moves, "max_attempts": max_attempts}


def both(*then: StepJson) -> dict[str, Any]:
    """Two jobs in line, and what comes then."""
    return case(enqueue(), MILK, *then)


def left(row: dict[str, str]) -> int:
    """The claims that no budget has paid for, this one aside."""
    return int(row["attempts"]) - 1 - int(row.get("failures", 0)) - int(row.get("stalled", 0))


SOLUTIONS = [
    ("05-1", history("claim lapse claim delay claim lapse claim fail")),
    ("05-1", history("claim delay claim delay claim delay claim delay claim fail", 5)),
    # A script has no requeue: the job stays held, and the token of the claim before is shown.
    ("05-1", history("claim lapse claim lapse claim lapse claim requeue claim fail")),
    # The one is claimed before the restart, the other after it; or both before, and one lease is extended after it.
    ("05-2", both(claim(1_000), RESTART, claim(1_000), advance(1_000), sweep(2))),
    ("05-2", both(claim(1_000), RESTART, claim(1_000), advance(1_000), sweep(1))),
    (
        "05-2",
        both(
            *(claim(9_000), claim(9_000), RESTART),
            {"verb": "extend", "id": OTHER, "token": "1", "lease_ms": "9000"},
            *(advance(9_000), sweep(2)),
        ),
    ),
    ("05-3", {"case": case(enqueue(), *LOST * 3), "give_up": lambda row: left(row) > 4}),
]


@pytest.mark.parametrize(("exercise", "answer"), SOLUTIONS)
def test_a_solution_passes_and_is_noted(exercise: str, answer: Any) -> None:
    """In more ways than one."""
    verdict = check(exercise, answer)
    assert verdict.ok, verdict
    assert progress.read().solved == (exercise,)


RETRY = "EVALSHA retry.lua 4 active schedule dead job:JOB0NgWEfAEJfs JOB0NgWEfAEJfs"
SWEEP = "EMQ.STALLED.CHECK 3 active pending dead base"
WRONG = [
    # One failure is one failure; a requeue is no claim to a script; the preset's three claims are too few for four.
    ("05-1", history("claim fail"), f"{RETRY} 1 0 4 timeout base", "reply", "scheduled on both"),
    (
        "05-1",
        history("claim requeue claim requeue claim requeue claim fail"),
        f"{RETRY} 1 0 4 timeout base",
        "reply",
        "scheduled on both",
    ),
    (
        "05-1",
        history("claim delay claim delay claim fail"),
        f"{RETRY} 3 0 4 timeout base",
        "reply",
        "scheduled on both",
    ),
    # Reported when the lease is gone; more failures than one, and none; a budget that the first failure spends.
    (
        "05-1",
        history("claim lapse claim lapse claim lapse claim lapse fail"),
        "EMQ.FAIL 4 active schedule dead job:JOB0NgWEfAEJfs JOB0NgWEfAEJfs 4 0 4 timeout base",
        "reply",
        "EMQSTATE not active",
    ),
    ("05-1", history("claim fail claim lapse claim lapse claim fail"), "", "moves", "2"),
    ("05-1", history("claim lapse"), "", "moves", "0"),
    ("05-1", history("claim lapse claim fail", 2), "", "max_attempts", "2"),
    # Both before the restart; both after it; one after the other; no sweep.
    (
        "05-2",
        both(claim(1_000), claim(1_000), RESTART, advance(1_000), sweep(2)),
        f"{SWEEP} 2 100",
        "stalled",
        "0 counted, 2 spared",
    ),
    (
        "05-2",
        both(RESTART, claim(1_000), claim(1_000), advance(1_000), sweep(2)),
        f"{SWEEP} 2 100",
        "stalled",
        "2 counted, 0 spared",
    ),
    (
        "05-2",
        both(*(claim(1_000), RESTART, advance(1_000), sweep(2)), *(claim(1_000), advance(1_000), sweep(2))),
        f"{SWEEP} 2 100",
        "stalled",
        "0 counted, 1 spared",
    ),
    ("05-2", both(claim(1_000), RESTART, claim(1_000), advance(1_000)), "", "when", "none"),
    # What the script must count has to run out there, too.
    (
        "05-2",
        both(claim(1_000), RESTART, claim(1_000), advance(1_000), {"verb": "reap"}, sweep(2)),
        "reap",
        "reply",
        "unsupported",
    ),
    # Once is not three times; a worker that goes silent is a stall, and one is enough; its own cap.
    ("05-3", case(enqueue(), *LOST), f"{SWEEP} 1 100", "stalled", "uncounted once"),
    (
        "05-3",
        case(enqueue(), claim(1_000), advance(1_000), sweep(1)),
        "HSET job:JOB0NgWEfAEJfs stalled 1 state dead last_error stalled",
        "state",
        "dead",
    ),
    ("05-3", case(enqueue(), claim(1_000), advance(1_000), sweep(2)), f"{SWEEP} 2 100", "max_stalled", "2"),
    # Given back, not lost; and done.
    (
        "05-3",
        case(enqueue(), *(claim(), delay(1, in_ms=0), promote()), *(claim(), delay(2, in_ms=0), promote())),
        "EMQ.PROMOTE 2 schedule pending base 100",
        "stalled",
        "uncounted never",
    ),
    ("05-3", case(enqueue(), *LOST, claim(), complete(2)), "DEL job:JOB0NgWEfAEJfs", "state", "no row"),
]


@pytest.mark.parametrize(("exercise", "answer", "command", "field", "got"), WRONG)
def test_a_mistake_names_command_field_and_got(exercise: str, answer: Any, command: str, field: str, got: str) -> None:
    """The reader learns what the run did, not only that the answer is wrong; and nothing is noted."""
    if exercise == "05-3":
        answer = {"case": answer, "give_up": lambda row: left(row) > 4}
    verdict = check(exercise, answer)
    assert (verdict.ok, verdict.command, verdict.field, verdict.got) == (False, command, field, got)
    assert verdict.expected
    assert verdict.sentence.endswith(".")
    assert progress.read().solved == ()


@pytest.mark.parametrize(
    ("exercise", "answer", "part"),
    [
        ("05-1", ..., "a dict with 'moves', a text, and 'max_attempts', a number, not nothing yet"),
        ("05-1", {"moves": "claim"}, "not a dict with 'moves'"),
        ("05-1", history(["claim"]), "moves is a text such as 'claim fail', not a list"),
        ("05-1", history("claim fail", "4"), "max_attempts is a whole number, not a str"),
        ("05-1", history("claim fail", True), "max_attempts is a whole number, not a bool"),
        ("05-1", history("claim fail", 3), "A budget of 4 or 5 is asked for: max_attempts is 3 here."),
        ("05-1", history("claim fail", 9), "A budget of 4 or 5 is asked for: max_attempts is 9 here."),
        ("05-1", history("claim steal fail"), "no history: 'steal' is no move"),
        ("05-2", ..., "a dict with name, queue and when, not nothing yet"),
        ("05-3", ..., "a dict with 'case' and 'give_up', not nothing yet"),
        ("05-3", {"case": case(*LOST)}, "not a dict with 'case'"),
        ("05-3", {"case": ..., "give_up": left}, "a dict with name, queue and when, not nothing yet"),
        ("05-3", {"case": case(enqueue(), *LOST * 3), "give_up": True}, "a function of the job's row, not a bool"),
        ("05-3", {"case": case(enqueue(), {"command": ["PING"]}), "give_up": left}, "Step 2 writes by hand"),
    ],
)
def test_what_is_no_answer_gets_a_sentence(
    exercise: str, answer: Any, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a traceback, and no process is started for it."""
    monkeypatch.delattr(sandbox, "judged")
    verdict = check(exercise, answer)
    assert not verdict.ok
    assert part in verdict.sentence


def test_a_history_that_does_not_part_them_is_told_by_the_answers_to_its_failure() -> None:
    """In the words of the table below the sentence; where the job is after the promotion is another question."""
    verdict = check("05-1", history("claim delay claim fail"))
    assert verdict.sentence == (
        "With max_attempts 4 the failure is answered scheduled on both executors: the script compared attempts 2, "
        "the verb failures 1."
    )
    assert verdict.got == "scheduled on both"


def test_a_requeue_in_a_history_is_explained_where_it_did_not_do() -> None:
    """A reader who took it for a claim more learns what the script makes of it; a solution needs no such lesson."""
    told = check("05-1", history("claim requeue claim requeue claim requeue claim fail")).sentence
    assert told.endswith(
        "A requeue is a verb only: for the script nothing is sent, its job stays held, and the next claim finds none."
    )
    assert (
        "requeue" not in check("05-1", history("claim lapse claim lapse claim lapse claim requeue claim fail")).sentence
    )


@pytest.mark.parametrize("most", [4, 5])
def test_both_budgets_that_are_offered_can_be_had(most: int) -> None:
    """The sentence that names them is none that its own reader runs into next."""
    assert check("05-1", history("claim delay " * (most - 1) + "claim fail", most)).ok


def given_up(lab: Lab, give_up: Any) -> Any:
    """The judge's own verdict on a function, with a case that is right."""
    return EXERCISES["05-3"].judge(lab, {"case": case(enqueue(), *LOST * 3), "give_up": give_up})


@pytest.mark.parametrize("cap", [4, 5, 8])
def test_any_cap_between_the_healthy_and_the_poison_will_do(lab: Lab, cap: int) -> None:
    """The text leaves a choice, and so does the judge."""
    assert given_up(lab, lambda row: left(row) > cap).ok


@pytest.mark.parametrize(
    ("give_up", "said", "row"),
    [
        (
            lambda row: False,
            "lives on after 10 crashes: one that crashes the server at",
            "attempts 10, failures absent",
        ),
        (lambda row: left(row) > 9, "lives on after 10 crashes: one that crashes", "attempts 10, failures absent"),
        (
            lambda row: "failures" not in row and left(row) > 4,
            "one that fails twice and then",
            "attempts 12, failures 2",
        ),
        (lambda row: int(row["attempts"]) > 5, "one that fails nine times", "attempts 6, failures 5"),
        (lambda row: left(row) - int(row.get("stalled", 0)) > 4 or "stalled" in row, "one that stalls", "stalled 1"),
        # Each counter by itself says little: five of each are ten claims that are accounted for.
        (
            lambda row: int(row["attempts"]) > 9 and max(int(row.get(n, 0)) for n in ("failures", "stalled")) < 9,
            "one that fails five times, stalls five times",
            "attempts 10, failures 5, stalled 4",
        ),
        (lambda row: left(row) > 3, "one that is delayed four times", "attempts 5, failures absent"),
    ],
)
def test_a_function_that_spares_or_kills_the_wrong_job_is_told_whose_row_it_was(
    lab: Lab, give_up: GiveUp, said: str, row: str
) -> None:
    """Too late, too early, or by the wrong counter."""
    verdict = given_up(lab, give_up)
    assert (verdict.ok, verdict.field) == (False, "give_up")
    assert said in verdict.sentence
    assert row in verdict.sentence


@pytest.mark.parametrize("cap", [5, 9, 12])
def test_a_cap_on_claims_alone_can_not_do(lab: Lab, cap: int) -> None:
    """Whatever it is: the job that fails nine times has been claimed as often as the poison job."""
    assert not given_up(lab, lambda row: int(row["attempts"]) > cap).ok


@pytest.mark.parametrize(
    ("give_up", "said"),
    [
        (lambda row: int(row["failures"]) > 3, "give_up raised KeyError for attempts 1, failures absent"),
        (lambda row: left(row), "give_up said an int for attempts 1"),
    ],
)
def test_a_function_that_fails_is_told_for_which_row(lab: Lab, give_up: GiveUp, said: str) -> None:
    """What it raised, or what it said instead of True or False."""
    verdict = given_up(lab, give_up)
    assert verdict.sentence.startswith(said)
    assert (verdict.ok, verdict.expected) == (False, "True or False")


def test_the_healthy_lives_end_well_when_nobody_gives_up(lab: Lab) -> None:
    """Else the exercise would ask for a cap that the queue itself does not keep: each of them ends in a completion."""
    assert [life.fates[-1] for life in LIVES if not life.poison] == ["complete"] * 5
    given_up(lab, lambda row: left(row) > 4)
    assert lab.client.zcard("emq:{life-0}:dead") == lab.client.zcard("emq:{life-1}:dead") == 1
    completed = [lab.client.hget(f"emq:{{life-{number}}}:metrics:completed", "count") for number in range(len(LIVES))]
    assert completed == [None, None, b"1", b"1", b"1", b"1", b"1"]


def test_a_failure_step_is_no_part_of_the_poison_case() -> None:
    """A job that has failed its way out of the queue is no poison job."""
    dead = case(enqueue(), claim(), fail(1, max_attempts=1))
    verdict = check("05-3", {"case": dead, "give_up": lambda row: left(row) > 4})
    assert (verdict.ok, verdict.got) == (False, "dead")


def test_a_cap_that_counts_how_often_it_is_asked_is_none(lab: Lab) -> None:
    """The jobs come a second time, in an order that nobody knows; told from the row alone, it would say the same."""
    asked = []

    def by_count(row: dict[str, str]) -> bool:
        asked.append(row)
        return len(asked) in (5, 10)  # the fifth claim of either poison job: the two come first

    verdict = given_up(lab, by_count)
    assert (verdict.ok, verdict.field) == (False, "give_up")
    assert len(asked) > 10
