"""Dive 02's Token widget: every token, verb and row is run, and told in words."""

import itertools
import json
import re
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.walk import moments
from emqlab.teach import cases
from emqlab.teach.cases.fence import CURRENT, READERS, ROWS, TOKENS, fence
from emqlab.teach.predict import answer


def test_only_the_current_bytes_are_taken(lab: emqlab.Lab) -> None:
    """Of the six texts each verb takes one; the others are refused, or listed, and write nothing on either executor."""
    for verb, token in itertools.product(READERS, TOKENS):
        recording = widgets.token(lab, choice={"verb": verb, "token": token}, predict=False).recording
        for executor, told in zip(recording["executors"], moments(recording), strict=True):
            if "unsupported" in executor["reply"]:
                assert (executor["name"], verb) == ("scripted", "requeue")
                continue
            refused = "error" in executor["reply"] or executor["reply"]["ok"] == [cases.JOB]
            assert refused is (token != CURRENT), (verb, token, executor["reply"])
            assert (told[0].state != told[-1].state) is (token == CURRENT), (verb, token)


GONE = {"complete": "0", "extend": "-1", "extends": "[…EJfs]"}


@pytest.mark.parametrize("verb", READERS)
def test_a_row_that_is_gone_is_told_whatever_is_shown(lab: emqlab.Lab, verb: str) -> None:
    """Before any token is compared, in each verb's own way."""
    for token in TOKENS:
        recording = widgets.token(lab, choice={"verb": verb, "token": token, "row": "gone"}).recording
        assert answer(recording, "native/reply") == GONE.get(verb, "EMQSTALE job gone")


def test_every_choice_asks_and_shows_its_own_case(lab: emqlab.Lab) -> None:
    """The questions have their answers on offer, the case is one of the lessons', the file is the verb's."""
    known = {case["name"]: case for case in cases.every_case()}
    stage = widgets.token(lab)
    for verb, token, row in itertools.product(READERS, TOKENS, ROWS):
        stage.choice = {"verb": verb, "token": token, "row": row}
        assert stage.trouble == ""
        assert len(stage.predict) == (1 if row == "gone" else 2)
        shown = json.loads(json.dumps(stage.recording["case"]))
        assert shown == known[f"fence/{verb}/{token}/{row}"]
        assert {str(number) for number in shown.get("differs", ())} <= set(stage.divergences)
        assert stage.sources["native"]["name"] == f"{verb}.py"
        assert ("scripted" in stage.sources) is (verb != "requeue")
        for asked in stage.predict:
            assert ("script" in asked["ask"]) is asked["about"].startswith("scripted/"), asked
        for executor in stage.recording["executors"]:
            assert all(frame["note"].endswith(".") for frame in executor["frames"])


def test_an_odd_text_is_sent_as_it_is(lab: emqlab.Lab) -> None:
    """A space is part of what is presented, and nothing at all is presented as nothing."""
    for token, text in (("2-and-a-space", '"2 "'), ("empty", '""'), ("02", "02")):
        recording = widgets.token(lab, choice={"token": token}).recording
        notes = [frame["note"] for executor in recording["executors"] for frame in executor["frames"]]
        assert f"Presented {text}, the row says 2: a stale token." in notes


def test_text_and_code_bring_a_choice_back(lab: emqlab.Lab) -> None:
    """Two stages store the same texts; a link's code opens the same case."""
    choice = {"verb": "extends", "token": "empty", "row": "leased"}
    stage = widgets.token(lab, choice=choice, predict=False)
    other = widgets.open(widgets.token(), stage.recording["code"])
    assert stage.recording["code"] == "token/extends/empty/leased"
    assert other.shown == choice
    texts = [one._repr_mimebundle_()[0]["text/plain"] for one in (stage, widgets.token(choice=choice, predict=False))]
    assert texts[0] == texts[1]
    assert re.search(r"^and shows: an empty text$", texts[0], re.MULTILINE)


def test_a_choice_that_is_none_is_refused(lab: emqlab.Lab) -> None:
    """With a sentence that lists the ones there are."""
    with pytest.raises(ValueError, match="token has no option '4'; it has 1, 2, 3, 02, 2-and-a-space, empty"):
        widgets.token(lab, choice={"token": "4"})


@pytest.mark.parametrize("held", ROWS)
def test_an_unknown_verb_or_token_has_no_case(held: Any) -> None:
    """A misspelling in a lesson is found when it is run."""
    with pytest.raises(KeyError):
        fence("compleet", "1", held)
