"""A reader's case: the verbs are sent as they are, for every server, and one that can't be run is told so."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.teach import check
from emqlab.teach.altered import own_text
from emqlab.teach.cases import StepJson, advance, claim, enqueue

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
