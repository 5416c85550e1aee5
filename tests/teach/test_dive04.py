"""Dive 04's exercises: a solution passes, a tempting mistake fails with the command and the field that showed it."""

from typing import Any

import pytest

from emqlab.lab import open_lab
from emqlab.teach import check, progress, sandbox
from emqlab.teach.altered import own_text
from emqlab.teach.cases import JOB, RIDDLES, claim, enqueue
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.verdict import Verdict

OTHER = "JOB0NgWEfAFbYw"
WAITS = ["ZADD", "{p}pending", "0", JOB]
ROW = ["HSET", f"{{p}}job:{JOB}", "state", "pending", "attempts", "0", "payload", "tea"]
BAD_ROW = ["HSET", f"{{p}}job:{JOB}", "state", "pending", "attempts", "1.0", "payload", "tea"]


def case(given: list[list[str]], *when: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reader's case."""
    return {"name": "mine", "queue": "q", "given": given, "when": list(when), **more}


def here(exercise: str, answer: Any) -> Verdict:
    """Judged in this process, which is quicker: the judge is the same."""
    with open_lab("embedded") as lab:
        return EXERCISES[exercise].judge(lab, answer)


def told(verdict: Verdict) -> tuple[str, str, str, str]:
    """The four parts of a verdict."""
    return verdict.command, verdict.field, verdict.expected, verdict.got


def answer(text: str, killer: Any, file: str = "claim.lua") -> dict[str, Any]:
    """What 04-3 is handed."""
    return {"file": file, "text": text, "case": killer}


SOUND = own_text("claim.lua")
NO_CHECK = SOUND.replace("if redis.call('EXISTS', row) == 0 then return {} end\n", "")
GHOST = case([WAITS], claim())
RIGHT = {"a": 5, "b": 12, "c": [8, 9]}

SOLUTIONS = [
    ("04-1", RIGHT),
    ("04-2", case([BAD_ROW, WAITS], claim())),
    ("04-3", answer(NO_CHECK, GHOST)),
]
#: What tempts: the number of another divergence, a case of an ordinary claim, a case that does not meet the change.
WRONG = [
    ("04-1", {**RIGHT, "b": 13}, "reply"),
    ("04-2", case([ROW, WAITS], claim()), "lease_epoch"),
    ("04-3", answer(NO_CHECK, case([ROW, WAITS], claim())), "every key"),
]


@pytest.mark.parametrize(("exercise", "solution"), SOLUTIONS)
def test_a_solution_of_dive_04_passes_and_is_noted(exercise: str, solution: Any) -> None:
    """Judged as a reader's is."""
    verdict = check(exercise, solution)
    assert verdict.ok, verdict
    assert progress.read().solved == (exercise,)


@pytest.mark.parametrize(("exercise", "mistake", "field"), WRONG)
def test_a_mistake_of_dive_04_names_the_field(exercise: str, mistake: Any, field: str) -> None:
    """It is not solved, and nothing is noted."""
    verdict = check(exercise, mistake)
    assert (verdict.ok, verdict.field) == (False, field)
    assert progress.read().solved == ()


# ---------------------------------------------------------------- 04-1


@pytest.mark.parametrize("numbers", [[8, 9], (9, 8), {8, 9}], ids=["list", "tuple", "set"])
def test_the_numbers_of_three_cases(numbers: Any) -> None:
    """One number or several, in any order."""
    assert check("04-1", {"a": 5, "b": [12], "c": numbers}).ok


FAIL = f"EMQ.FAIL 4 active schedule dead job:{JOB} {JOB} 1 5000 3 timeout base"
STAMPED = f"HSET job:{JOB} state active lease_epoch this-epoch"
FAILED = f"HSET job:{JOB} last_error timeout failures 1 state scheduled"
BEATEN = "EMQARGS lease_ms must be a whole number from 1 to 9223372036854775807"


@pytest.mark.parametrize(
    ("wrong", "parts"),
    [
        (
            {"a": 3},
            (
                "EMQ.CLAIM 3 pending active base 0x10",
                "reply",
                f"the number of this: script ['{JOB}', 'tea', 1], verb {BEATEN}",
                "3",
            ),
        ),
        ({"b": 13}, (FAIL, "reply", "the number of this: script scheduled, verb EMQSTATE not active", "13")),
        ({"c": 9}, (STAMPED, "lease_epoch", "the number of this: script absent, verb this epoch", "9")),
        ({"c": 8}, (FAILED, "failures", "the number of this: script absent, verb 1", "8")),
        ({"c": [8, 9, 12]}, (FAIL, "failures", "the number of this: script absent, verb 1", "8 and 9 and 12")),
    ],
    ids=["a", "b", "half of c", "the other half", "more than c"],
)
def test_a_wrong_number_is_told_where_the_executors_part(wrong: dict[str, Any], parts: tuple[str, ...]) -> None:
    """The call, the field, and both values as they were just run; of half an answer, where else they part."""
    assert told(check("04-1", {**RIGHT, **wrong})) == parts


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, 'The answer is a dict, such as {"a": 2}, not an int.'),
        ({}, "Case a: no number yet."),
        ({"a": ...}, "Case a: no number yet."),
        ({"a": 27}, "Case a: there is no divergence 27; they are 1 to 26."),
        ({"a": True}, "Case a: 'True' is no number of a divergence, and no list of them."),
        ({**RIGHT, "d": 1}, "The cases are a, b, c; there is no d."),
    ],
)
def test_what_are_no_numbers_is_said_in_a_sentence(answer: Any, sentence: str) -> None:
    """Whatever is handed in, it is a verdict that says what to write."""
    assert check("04-1", answer).sentence == sentence


# ---------------------------------------------------------------- 04-2


@pytest.mark.parametrize(
    "answer",
    [
        case([BAD_ROW, WAITS], claim()),
        case([["SET", f"{{p}}job:{JOB}", "tea"], WAITS], claim()),
        case([ROW, WAITS, ["SET", "{p}active", "x"]], claim()),
        case([BAD_ROW, WAITS], enqueue(), claim()),
    ],
    ids=["counter", "row", "active", "after a step that agrees"],
)
def test_a_case_of_3(answer: dict[str, Any]) -> None:
    """There are three ways to it, and what agrees beside it may be there."""
    verdict = check("04-2", answer)
    assert verdict.ok, verdict


CLAIMED = "EMQ.CLAIM 3 pending active base 30000"


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        (case([ROW, WAITS], claim()), (CLAIMED, "lease_epoch", "3", "8")),
        (case([ROW, WAITS, ["SET", "{p}meta", "x"]], claim()), (CLAIMED, "reply", "3", "2")),
        (case([BAD_ROW, WAITS], {"verb": "claim", "lease_ms": "0"}), (CLAIMED[:-5] + "0", "reply", "3", "5")),
        (case([WAITS], claim()), (CLAIMED, "every key", "a difference", "none")),
        (
            case(
                [["HSET", f"{{p}}job:{OTHER}", "attempts", "x"], ["ZADD", "{p}pending", "0", OTHER]],
                *(enqueue(), claim(), claim()),
            ),
            (CLAIMED, "lease_epoch", "3", "3 and 8"),
        ),
        (case([BAD_ROW, WAITS, ["ACL", "WHOAMI"]], claim()), (CLAIMED, "type", "3", "not known")),
        (case([BAD_ROW, WAITS]), ("", "when", "steps", "none")),
    ],
    ids=["ordinary", "meta", "lease", "ghost", "two at once", "not followed", "no step"],
)
def test_another_case_is_told_what_it_shows(answer: dict[str, Any], parts: tuple[str, ...]) -> None:
    """The number that it does show, or that it shows none."""
    assert told(check("04-2", answer)) == parts


def test_what_is_no_case_is_said_in_a_sentence() -> None:
    """The case reader's own, or what a case is."""
    assert check("04-2", 5).sentence.startswith("The answer is a case, a dict with name, queue, given and when")
    assert check("04-2", {}).sentence == "This is no case yet: every case needs a name, a text that is not empty."


# ---------------------------------------------------------------- 04-3

SCRIPT = "EVALSHA claim.lua 3 pending active base 30000"


def test_a_mutant_that_survives_and_is_killed() -> None:
    """The verdict says what the sound text answers, and what the changed one does."""
    verdict = here("04-3", answer(NO_CHECK, GHOST))
    assert verdict.ok, verdict
    assert f"claim, answers ['{JOB}', None, 1]. It should be []." in verdict.sentence


def test_a_verb_can_be_the_mutant() -> None:
    """A pause that is not 1 is no pause to it."""
    file, old = "claim.py", 'host.read(b"HGET", meta, b"paused") is not None'
    text = own_text(file).replace(old, old.replace("is not None", '== b"1"'))
    killer = case([ROW, WAITS, ["HSET", "{p}meta", "paused", "0"]], claim())
    assert here("04-3", answer(text, killer, file)).ok


def test_a_mutant_that_the_happy_path_kills() -> None:
    """The step, the field and both values of the happy path."""
    verdict = here("04-3", answer(SOUND.replace("'attempts', 1)", "'attempts', 2)"), GHOST))
    assert verdict.sentence.startswith("The happy path kills it already.")
    assert told(verdict) == (SCRIPT, "reply", f"['{JOB}', 'tea', 1]", f"['{JOB}', 'tea', 2]")


def test_a_case_that_does_not_kill_is_told_whether_there_is_something_to_see() -> None:
    """The instrument looks, and says how many cases it took, or that it sees nothing either."""
    verdict = here("04-3", answer(NO_CHECK, case([ROW, WAITS], claim())))
    assert told(verdict) == (SCRIPT, "every key", "a difference", "none")
    assert "There is something to see: the instrument did after " in verdict.sentence
    verdict = here("04-3", answer(SOUND + "-- it does the same\n", GHOST))
    assert verdict.sentence.endswith("It may be no defect: the instrument sees none either, in 200 cases.")
    verdict = here("04-3", answer("return 1\n", GHOST, "lane_pause.lua"))
    assert "There is something to see: the instrument did after " in verdict.sentence
    assert verdict.sentence.endswith(", in a lane_pause.")


@pytest.mark.parametrize(
    ("handed", "sentence"),
    [
        (..., "The answer is a dict with file, text and case, not nothing yet."),
        ({"file": "claim.lua"}, "The answer is a dict with file, text and case, not one with file."),
        (answer(SOUND, GHOST), "This is claim.lua as it is: alter something in it."),
        ({"file": [], "text": SOUND, "case": GHOST}, "The file is a name such as claim.lua, not a list."),
        (answer("", GHOST, "luck.lua"), "The copy can't be run: there is no file 'luck.lua'"),
        (answer(NO_CHECK, {}), "This is no case yet: every case needs a name"),
        (answer(NO_CHECK, case([WAITS])), "The case has no step yet"),
    ],
    ids=["nothing", "a part", "unchanged", "a list", "no file", "no case", "no step"],
)
def test_what_need_not_be_run_starts_no_process(handed: Any, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before anything of the reader's is run."""
    monkeypatch.setattr(sandbox, "judged", lambda *_: pytest.fail("a process was started"))
    assert check("04-3", handed).sentence.startswith(sentence)


def test_a_text_that_is_no_lua_says_the_line() -> None:
    """In Lua's own words."""
    assert here("04-3", answer("x = (", GHOST)).sentence.startswith("The copy can't be run: claim.lua:1: ")


def test_the_riddles_do_not_tell_their_numbers() -> None:
    """What is asked is not in what is given."""
    assert all("differs" not in riddle for riddle in RIDDLES.values())
