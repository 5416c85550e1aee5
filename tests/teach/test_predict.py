"""Predictions: the answer is what the run did, and the sentence names the command that decided it."""

import json
from pathlib import Path
from typing import Any

import pytest

from emqlab.teach.predict import Question, answer, deciding, judge, reason

STORED = Path(__file__).parents[1] / "widgets" / "recordings.json"
RECORDINGS: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
POISONED = RECORDINGS["claim/bad-attempts"]


@pytest.mark.parametrize(
    ("name", "about", "expected"),
    [
        ("claim/bad-attempts", "scripted/place", "no set"),
        ("claim/bad-attempts", "scripted/stamp", "lost"),
        ("claim/bad-attempts", "native/stamp", "refused"),
        ("claim/bad-attempts", "native/reply", "ERR hash value is not an integer"),
        ("claim/bad-attempts", "native/delta/attempts", "0"),
        ("claim/ordinary", "scripted/reply", "[…GLuC, tea, 1]"),
        ("claim/ordinary", "native/stamp", "answered"),
        ("claim/ordinary", "native/delta/attempts", "+1"),
        ("claim/ordinary", "native/value/lease_epoch", "this epoch"),
        ("claim/ordinary", "scripted/value/lease_epoch", "absent"),
        ("claim/ghost", "native/place", "gone"),
        ("expired/stalled-1/1", "scripted/delta/metrics:failed", "+1"),
        ("expired/stalled-1/1", "reap/value/state", "pending"),
        ("workers/reclaimed", "native/delta/attempts", "deleted"),
        ("workers/reclaimed", "native/stamp@late", "refused"),
        ("workers/reclaimed", "native/reply@late", "EMQSTALE complete token mismatch"),
        ("workers/reclaimed", "native/stamp@claim-b", "answered"),
        ("workers/reclaimed", "native/reply@stall", "not sent"),
        ("reap/many", "native/stamp@select", "not sent"),
        ("calls/life", "native/delta/failures", "+2"),
        ("calls/life", "scripted/delta/failures", "0"),
        ("calls/life", "scripted/stamp", "refused"),
        ("reap/many", "reap/stamp", "broke off"),
        ("reap/many", "native/stamp", "unsupported"),
        ("reap/many", "reap/delta/gactive a/b", "−1"),
        ("reap/many", "reap/value/ring", "[a/b]"),
        ("lanes/turn", "scripted/place", "active"),
        ("lanes/turn", "scripted/delta/gactive tea", "+1"),
        ("lanes/turn", "scripted/value/ring", "[cake]"),
        ("lanes/turn", "native/stamp", "unsupported"),
        ("flows/last-child", "scripted/place", "gone"),
        ("flows/last-child", "scripted/delta/job:JOB0KHTOWnGLuC:dependencies", "−1"),
        ("flows/last-child", "native/stamp", "refused"),
        ("flows/life", "scripted/place", "active"),
        ("flows/life", "scripted/value/job:JOB0KHTOWnGLuC:processed JOB0NgWEfAEJfs", "green"),
    ],
)
def test_the_answer_is_what_the_run_says_in_the_words_of_the_stage(name: str, about: str, expected: str) -> None:
    """Place, stamp, reply, delta and value are read off the last moment."""
    assert answer(RECORDINGS[name], about) == expected


@pytest.mark.parametrize(
    ("name", "about", "command"),
    [
        ("claim/bad-attempts", "scripted/place", ["ZPOPMIN", "emq:{q}:pending"]),
        ("claim/bad-attempts", "scripted/stamp", ["HINCRBY", "emq:{q}:job:JOB0KHTOWnGLuC", "attempts", "1"]),
        ("claim/bad-attempts", "native/place", ["HGET", "emq:{q}:job:JOB0KHTOWnGLuC", "attempts"]),
        ("claim/bad-meta", "native/stamp", ["HGET", "emq:{q}:meta", "paused"]),
        ("claim/ghost", "native/reply", ["TYPE", "emq:{q}:job:JOB0KHTOWnGLuC"]),
        ("claim/ordinary", "scripted/delta/attempts", ["HINCRBY", "emq:{q}:job:JOB0KHTOWnGLuC", "attempts", "1"]),
    ],
)
def test_the_deciding_frame_is_the_last_change_or_what_was_read(name: str, about: str, command: list[str]) -> None:
    """A change decides; without one the command that failed; without one the read of the row that told."""
    assert deciding(RECORDINGS[name], about)["command"] == command


@pytest.mark.parametrize(
    ("name", "about", "sentence"),
    [
        ("claim/bad-attempts", "native/delta/attempts", "No command wrote attempts."),
        ("claim/ordinary", "native/value/stalled", "No command wrote stalled."),
        ("expired/earlier-epoch/2", "native/delta/stalled", "No native command wrote stalled."),
        ("calls/life", "scripted/delta/failures", "No scripted command wrote failures."),
        ("reap/many", "native/delta/gactive a/b", "Nothing was sent."),
    ],
)
def test_where_no_command_wrote_it_none_is_named(name: str, about: str, sentence: str) -> None:
    """A read of another field decided nothing: no command and no step, and the executor's name where another wrote."""
    assert deciding(RECORDINGS[name], about) == {}
    judged = judge(RECORDINGS[name], Question("?", about, ()), "7")
    assert (judged.step, judged.command) == (None, None)
    assert judged.sentence.endswith(f". {sentence}")
    assert reason(RECORDINGS[name], about) == sentence


def test_a_command_that_wrote_the_same_value_decided_it() -> None:
    """It was written, so somebody can be named, though no value changed."""
    frame = {"step": "a", "phase": "write", "command": ["HSET", "k", "attempts", "1"], "writes": ["row.attempts"]}
    recording = json.loads(json.dumps(POISONED))
    recording["executors"][0]["frames"] = [{**frame, "step": recording["steps"][0]["id"]}]
    assert deciding(recording, "scripted/delta/attempts")["command"] == frame["command"]


def test_among_whole_calls_the_call_that_changed_it_decides() -> None:
    """In a life of many calls the last one that moved the counter is named."""
    assert deciding(RECORDINGS["calls/life"], "native/delta/attempts")["step"] == "claim#3"
    assert deciding(RECORDINGS["calls/life"], "native/stamp")["step"] == "late"


def test_a_question_about_one_row_is_decided_there() -> None:
    """What came after it makes no difference, and a row in which nothing was sent says so."""
    asked = Question("What is A told?", "native/stamp@late", ("answered", "refused"))
    judged = judge(RECORDINGS["workers/reclaimed"], asked, "refused")
    assert (judged.ok, judged.step) == (True, 6)
    assert judged.sentence.endswith("row …EJfs 1 base → EMQSTALE complete token mismatch.")
    assert reason(RECORDINGS["workers/reclaimed"], "native/stamp@stall") == "Step 2 decided it: nothing is sent."
    assert reason(POISONED, f"scripted/stamp@{POISONED['steps'][0]['id']}") == "Nothing was sent for this."


def test_a_guess_that_is_right_is_told_why() -> None:
    """The sentence repeats the guess and names the command."""
    judged = judge(POISONED, Question("Where is it?", "scripted/place", ("pending", "no set")), "no set")
    assert (judged.ok, judged.step) == (True, 3)
    assert judged.sentence == "You said no set. Step 3 decided it: ZPOPMIN pending → […GLuC, 0]."


def test_a_guess_that_is_wrong_is_told_the_answer_and_the_command() -> None:
    """The reader learns what happened and where to look."""
    judged = judge(POISONED, Question("What does the verb do?", "native/stamp", ("answered", "refused")), "answered")
    assert (judged.ok, judged.guess, judged.answer, judged.step) == (False, "answered", "refused", 5)
    assert judged.command == "HGET row attempts"
    assert judged.sentence == "You said answered; it is refused. Step 5 decided it: HGET row attempts → 1.0."


def test_a_hyphen_is_a_minus() -> None:
    """A reader who types -1 means −1."""
    question = Question("The lane's slots?", "reap/delta/gactive a/b", ("0", "−1"))
    assert judge(RECORDINGS["reap/many"], question, "-1").ok


def test_an_executor_that_sent_nothing_is_judged_too() -> None:
    """There is no command to name, and the sentence says so."""
    judged = judge(RECORDINGS["reap/many"], Question("And natively?", "native/place", ("active", "pending")), "pending")
    assert judged.sentence == "You said pending; it is active. Nothing was sent."


@pytest.mark.parametrize(
    "about",
    [
        "nobody/place",
        "scripted",
        "scripted/colour",
        "scripted/delta",
        "scripted/place/x",
        "scripted/stamp@x",
        "scripted/place@head",
        "scripted/stamp@",
        "scripted/stamp@head/x",
    ],
)
def test_asking_about_nothing_is_an_error_that_names_it(about: str) -> None:
    """A typing mistake in a lesson is found when the question is made, not when a reader answers."""
    with pytest.raises(ValueError, match=about):
        answer(POISONED, about)
