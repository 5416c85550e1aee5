"""A reader's case: the verbs are sent as they are, for every server, and one that can't be run is told so."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.teach import check
from emqlab.teach.altered import own_text
from emqlab.teach.cases import StepJson, advance, claim, complete, enqueue, fail, sweep

#: So far back no clock goes.
NEVER = advance(-(10**15))


def with_give_up(case: dict[str, Any]) -> dict[str, Any]:
    """A case as 05-3 takes it, beside a function that is right."""

    def give_up(row: dict[str, str]) -> bool:
        return int(row["attempts"]) - 1 - int(row.get("failures", 0)) - int(row.get("stalled", 0)) > 4

    return {"case": case, "give_up": give_up}


def alone(case: dict[str, Any]) -> dict[str, Any]:
    """A case as most take it."""
    return case


#: The exercises whose answer is a case, or has one in it.
TAKE: dict[str, Callable[[dict[str, Any]], Any]] = {
    **dict.fromkeys(("00-1", "01-2", "01-3", "03-2", "03-3", "04-2", "05-2"), alone),
    "05-3": with_give_up,
}


def case(*when: StepJson, **more: Any) -> dict[str, Any]:
    """A reader's case."""
    return {"name": "mine", "queue": "q", "when": list(when), **more}


@pytest.mark.parametrize("exercise", TAKE)
@pytest.mark.parametrize(
    ("name", "own"), [("keys", ["{p}x", "{p}active", "{p}dead"]), ("args", ["1000"])], ids=["keys", "args"]
)
def test_keys_and_arguments_of_ones_own_are_no_case_of_an_exercise(exercise: str, name: str, own: list[str]) -> None:
    """They are raw commands in disguise, and a solution with them would be none."""
    verdict = check(exercise, TAKE[exercise](case(enqueue(), {**claim(), name: own})))
    assert (verdict.ok, verdict.command, verdict.field, verdict.expected) == (False, "claim", name, f"no {name}")
    assert verdict.sentence == f"Step 2 brings {name} of its own; leave them to the verb."


@pytest.mark.parametrize("exercise", TAKE)
def test_a_case_for_other_servers_is_run_all_the_same(exercise: str) -> None:
    """What is not run can't be judged, and so can't be right."""
    answers = [TAKE[exercise](case(claim(), **more)) for more in ({}, {"servers": ["valkey"]})]
    plain, for_others = (check(exercise, answer) for answer in answers)
    assert not for_others.ok
    assert plain == for_others


@pytest.mark.parametrize("exercise", TAKE)
def test_a_case_that_cant_be_run_is_told_why(exercise: str) -> None:
    """Here its clock is to go back further than a clock goes."""
    verdict = check(exercise, TAKE[exercise](case(enqueue(), NEVER, claim())))
    assert not verdict.ok
    assert verdict.sentence.startswith("This case can't be run here: ")


def test_a_case_that_is_to_kill_and_cant_be_run_is_told_why() -> None:
    """It is run in a process of its own, and the sentence is the same."""
    text = own_text("claim.lua") + "-- the same\n"
    answer = {"file": "claim.lua", "text": text, "case": case(claim(), servers=["valkey"])}
    told = "This case can't be run here: it is for valkey, not for embedded."
    assert told == check("04-3", answer).sentence


LEASED_TWICE = [enqueue(), claim(1_000), advance(1_000), sweep(9), claim(1_000)]
SWEPT = [advance(1_000), sweep(9)]
ENQUEUED: dict[str, Any] = {"name": "mine: a case", "queue": "q"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "every case needs a name, a text that is not empty."),
        ({"name": "mine"}, "queue is missing; give the queue's name."),
        (ENQUEUED, "when is missing; give a list of steps."),
        ({**ENQUEUED, "when": 3}, "when must be a list, not a number."),
        (case(enqueue(), {}), "step 2 must name a verb, or be one of restart, advance_ms, command."),
        (case(enqueue(), {"verb": "complete", "id": "x"}), "step 2, token is missing; complete needs id, token."),
        (case(enqueue(), {"advance_ms": "long"}), "step 2, advance_ms must be a whole number of milliseconds."),
        (case(given=[["GET", "x"], []]), "command 2 of given must be a command: a list of strings that is not empty."),
        (case(enqueue(), differs=[99]), "differs: 99 is no divergence; they are 1 to 26."),
    ],
)
def test_what_is_no_case_yet_is_told_in_one_sentence(answer: dict[str, Any], why: str) -> None:
    """Where it is, as a reader counts, and what to do; the name that the reader gave it says nothing new."""
    assert check("04-2", answer).sentence == f"This is no case yet: {why}"


@pytest.mark.parametrize(
    ("exercise", "when", "sentence"),
    [
        ("00-1", [enqueue(), claim()], "On both executors no job has ever been in dead."),
        ("01-2", [enqueue(), claim()], "On both executors state ends as active, and scheduled is wanted."),
        ("01-2", [*LEASED_TWICE, fail(2, max_attempts=9)], "On both executors attempts ends as 2, and 3 is wanted."),
        ("03-3", [enqueue(), claim(), complete(1)], "On both executors the id has one life only."),
        (
            "01-2",
            [*LEASED_TWICE, *SWEPT, claim(), fail(3, max_attempts=3)],
            "On the scripted executor state ends as dead",
        ),
    ],
)
def test_what_both_executors_lack_is_said_of_both(exercise: str, when: list[StepJson], sentence: str) -> None:
    """And what only one of them lacks, of that one."""
    assert check(exercise, case(*when)).sentence.startswith(sentence)
