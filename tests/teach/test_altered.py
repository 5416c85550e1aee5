"""An altered copy: a text that can't be one gets a sentence, one that can is walked and hunted."""

import math
from dataclasses import replace
from typing import Any

import pytest

import emqlab
from emqlab.parity.ground import layer_of
from emqlab.parity.trials.aimed import Aimed
from emqlab.parity.trials.trial import case_json
from emqlab.teach import altered, hunting
from emqlab.teach.altered import Copy
from emqlab.teach.hunting import Hunt
from emqlab.teach.verdict import Verdict

FENCE = "if attempts ~= token then return redis.error_reply('EMQSTALE complete token mismatch') end\n"


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many cases are tried must not hang on how fast the machine is."""
    monkeypatch.setattr(hunting, "SECONDS", math.inf)


def copy(file: str, old: str, new: str) -> Copy:
    """The lab's file with one text in the place of another that is there once."""
    text = altered.own_text(file)
    assert text.count(old) == 1
    return altered.copy_of(file, text.replace(old, new))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (..., 'The answer is one file and its text, {"complete.lua": text}, not nothing yet.'),
        ({}, 'The answer is one file and its text, {"complete.lua": text}, not 0 files.'),
        ({"complete.lua": 7}, "The text of complete.lua is a str, not an int."),
        ({"compleat.lua": "return 1"}, "The copy can't be run: there is no file 'compleat.lua'; there are "),
        ({"complete": "return 1"}, "The copy can't be run: there is no file 'complete'; there are "),
        ({"claim_v1.lua": "return 1"}, "The copy can't be run: claim_v1.lua is kept for a lesson, and no verb runs "),
        ({"complete.lua": "return ("}, "The copy can't be run: complete.lua:1: unexpected symbol near '<eof>'."),
        ({"complete.py": "def complete("}, "The copy can't be run: complete.py:1: "),
        ({"complete.py": "done = 1"}, "The copy can't be run: complete.py: there is no function complete in it"),
        ({"complete.lua": altered.own_text("complete.lua")}, "This is complete.lua as it is: alter something in it."),
    ],
)
def test_what_is_no_copy_gets_a_sentence(answer: Any, said: str) -> None:
    """One that says what is wrong with it, and where."""
    told = altered.altered(answer)
    assert isinstance(told, Verdict)
    assert told.sentence.startswith(said)


@pytest.mark.parametrize("file", ["complete.lua", "retry.lua", "reap.lua", "complete.py", "rules.py"])
def test_a_copy_that_says_the_same_walks_the_happy_path(lab: emqlab.Lab, file: str) -> None:
    """A remark alters no verb, and what is alike is said to be so."""
    mark = "--" if file.endswith(".lua") else "#"
    made = altered.altered({file: altered.own_text(file) + f"{mark} read\n"})
    assert isinstance(made, Copy)
    with altered.opened(made) as changed:
        assert altered.happy_path(lab, changed, made) is None


@pytest.mark.parametrize(
    ("made", "said", "expected", "got"),
    [
        (
            copy("complete.lua", "if attempts ~= token", "if attempts == token"),
            "With your complete.lua, step 5 of happy/done, complete, answers EMQSTALE complete token",
            "1",
            "EMQSTALE complete token mismatch",
        ),
        (
            copy("complete.py", "    host.expect(1, host.write(b'DEL', row))\n".replace("'", '"'), ""),
            "With your complete.py, the replies of happy/done are right, and key emq:{orders}:job:",
            "absent",
            "hash",
        ),
    ],
)
def test_a_copy_that_strays_from_the_happy_path_is_told_where(
    lab: emqlab.Lab, made: Copy, said: str, expected: str, got: str
) -> None:
    """The first reply that is another, or the first key."""
    with altered.opened(made) as changed:
        told = altered.happy_path(lab, changed, made)
    assert told is not None
    assert told.sentence.startswith(said)
    assert (told.expected, told.got) == (expected, got)


@pytest.mark.parametrize(
    "made",
    [
        copy("complete.lua", FENCE, ""),
        copy("complete.py", "if attempts != token:", "if int(attempts) != int(token):"),
        copy("rules.py", 'if host.read(b"HGET", row, b"group") is not None:', "if False:"),
    ],
    ids=lambda made: made.file,
)
def test_the_instrument_sees_what_is_broken_beside_the_happy_path(lab: emqlab.Lab, made: Copy) -> None:
    """The copy behaves as long as nobody does anything odd, and is caught by cases in which somebody does."""
    with altered.opened(made) as changed:
        assert altered.happy_path(lab, changed, made) is None
    found = altered.hunt(made)
    assert found.trial is not None
    assert altered.hunt_told(found).startswith(f"The instrument saw it in case {found.tried} (")
    assert "b'" not in altered.hunt_told(found)
    layer, seed, index = found.trial.name.split("/")
    again = f"`emqlab parity --layer {layer} --seed {seed} --index {index}` makes the case again."
    assert altered.hunt_told(found).endswith(f". The name is layer, seed and number: {again}")
    assert case_json(layer_of(layer, int(seed)).trial(int(index))) == case_json(found.trial)


def test_a_case_that_was_aimed_is_not_said_to_be_made_again() -> None:
    """There is no such layer on the command line."""
    trial = Aimed(0, ("claim",), native=False).trial(0)
    found = Hunt(1, replace(trial, layer="aimed"), ("scripted: reply 1 is 1",))
    assert altered.hunt_told(found).endswith(
        "The name is layer, seed and number, in a layer that is aimed at this file's verbs."
    )


def test_a_copy_that_is_sound_is_not_caught() -> None:
    """A hunt that finds something in everything would be worth nothing."""
    made = altered.copy_of("requeue.py", altered.own_text("requeue.py") + "# read\n")
    found = altered.hunt(made, flat=60, more=5)
    assert found.trial is None
    assert altered.hunt_told(found) == "The instrument did not see it in 65 cases."


@pytest.mark.parametrize("more", [0, 40])
def test_a_file_of_lanes_is_hunted_in_cases_of_its_own(more: int) -> None:
    """There is no flat job in them; what was tried is counted from the first of them on."""
    made = altered.copy_of("lane_pause.lua", altered.own_text("lane_pause.lua") + "-- the same\n")
    assert altered.hunt(made, flat=10, more=more) == Hunt(10 + more)
    broken = altered.copy_of("lane_pause.lua", "return 1\n")
    found = altered.hunt(broken, flat=10, more=more)
    assert found.trial is not None
    assert found.tried <= 10


def test_a_hunt_ends_by_its_own_clock_and_says_how_many_cases_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine fewer are tried; an answer is never stopped for that."""
    monkeypatch.setattr(hunting, "SECONDS", 0)
    made = altered.copy_of("requeue.py", altered.own_text("requeue.py") + "# read\n")
    assert altered.hunt_told(altered.hunt(made)) == f"The instrument did not see it in {hunting.BATCH} cases."
