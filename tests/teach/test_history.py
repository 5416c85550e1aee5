"""A history composed of moves is a case that runs: its tokens are answers, and each executor dies by its own count."""

import random
from typing import Any

import pytest

import emqlab
from emqlab.observe.case_reader import parse_case
from emqlab.observe.recording import CannotRecord
from emqlab.observe.run import Run
from emqlab.parity.command import judge
from emqlab.teach import history


def run(lab: emqlab.Lab, composed: history.History, executor: Any) -> Run:
    """The history on one executor, in that executor's own form."""
    done = lab.run(composed.cases[executor], executor=executor)
    assert isinstance(done, Run)
    return done


def fate(lab: emqlab.Lab, text: str, cap: int) -> dict[str, bool]:
    """For each executor, whether the job ends in the dead set."""
    composed = history.compose(lab, history.moves_of(text), cap)
    dead = b"emq:{orders}:dead"
    return {name: dead in run(lab, composed, name).after for name in ("scripted", "native")}


@pytest.mark.parametrize(
    ("text", "cap", "scripted", "native"),
    [
        (history.HISTORIES["fails"], 3, True, True),
        (history.HISTORIES["fails"], 4, False, False),
        (history.HISTORIES["lost"], 3, True, False),
        (history.HISTORIES["lost"], 2, True, True),
        (history.HISTORIES["released"], 3, True, False),
        (history.HISTORIES["requeued"], 1, True, True),
        (history.HISTORIES["crashes"], 1, False, False),
        ("claim lapse claim fail", 2, True, False),
    ],
)
def test_the_scripts_cap_claims_and_the_verbs_cap_failures(
    lab: emqlab.Lab, text: str, cap: int, scripted: bool, native: bool
) -> None:
    """A claim that ended in no failure spends the one budget and not the other; no claim kills by itself."""
    assert fate(lab, text, cap) == {"scripted": scripted, "native": native}


@pytest.mark.parametrize("name", history.HISTORIES)
def test_both_forms_of_a_history_hold_on_the_command_line(lab: emqlab.Lab, name: str) -> None:
    """Each names the divergences that it shows, and no other."""
    composed = history.compose(lab, history.moves_of(history.HISTORIES[name]), 3)
    for form in composed.cases.values():
        runs = [lab.run(form, executor=executor) for executor in ("scripted", "native")]
        assert list(judge(parse_case(form), runs, both=True)) == []  # type: ignore[arg-type]


def test_any_history_holds_on_the_command_line(lab: emqlab.Lab) -> None:
    """Also one that makes no sense: failures of nobody's job, claims of a dead one."""
    draw = random.Random(5)
    for _ in range(8):
        moves = draw.choices(history.MOVES, weights=(4, 3, 1, 1, 2), k=draw.randint(0, history.MOST))
        composed = history.compose(lab, moves, draw.choice(history.CAPS))
        for form in composed.cases.values():
            runs = [lab.run(form, executor=executor) for executor in ("scripted", "native")]
            assert list(judge(parse_case(form), runs, both=True)) == [], moves  # type: ignore[arg-type]


def test_a_holder_presents_what_its_own_executor_answered(lab: emqlab.Lab) -> None:
    """Dead for the scripts, the job is claimed once more from the verbs: from there on the tokens part."""
    composed = history.compose(lab, ["claim", "lapse", "claim", "fail", "claim", "fail"], 2)
    tokens = {
        name: [step["token"] for step in case["when"] if step.get("verb") == "fail"]
        for name, case in composed.cases.items()
    }
    assert tokens == {"scripted": ["2", "2"], "native": ["2", "3"]}
    assert run(lab, composed, "native").replies[-2] == b"dead"


def test_without_a_claim_token_1_is_presented_and_refused(lab: emqlab.Lab) -> None:
    """A move that makes no sense is sent, and its answer is shown."""
    composed = history.compose(lab, ["fail"], 3)
    assert composed.cases["scripted"] == composed.cases["native"]
    for executor in ("scripted", "native"):
        assert run(lab, composed, executor).json()["replies"][0] == {"error": "EMQSTALE retry token mismatch"}


def test_after_a_requeue_that_no_script_does_the_job_is_still_held(lab: emqlab.Lab) -> None:
    """Nothing is sent there, so the next claim finds nobody in line; natively it gets the second token."""
    composed = history.compose(lab, ["claim", "requeue", "claim"], 3)
    replies = {name: run(lab, composed, name).json()["replies"][1:] for name in ("scripted", "native")}
    assert replies["scripted"] == [{"unsupported": "requeue"}, {"ok": []}]
    assert replies["native"] == [{"ok": 1}, {"ok": ["JOB0NgWEfAEJfs", "tea", 2]}]


def test_a_lapse_needs_a_clock_that_can_be_moved(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it can't be, a sentence says so, and nothing is made up in its place."""
    monkeypatch.setattr(type(lab.bench()[0]), "movable", False)
    with pytest.raises(
        CannotRecord, match="this history can't be run: the clock of the embedded server can't be moved"
    ):
        history.compose(lab, ["claim", "lapse", "claim", "fail"], 3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("claim steal", "'steal' is no move; the moves are claim, fail, requeue, delay, lapse"),
        ("claim " * 13, "a history has at most 12 moves, not 13"),
    ],
)
def test_a_history_that_is_none_is_told_in_a_sentence(text: str, sentence: str) -> None:
    """What it may be made of, or how long it may be."""
    with pytest.raises(history.BadHistory, match=f"^{sentence}$"):
        history.moves_of(text)


def test_a_cap_that_is_none_is_told_in_a_sentence(lab: emqlab.Lab) -> None:
    """One to five failures, or claims, are allowed."""
    with pytest.raises(history.BadHistory, match=r"^max_attempts is one of 1, 2, 3, 4, 5, not 0"):
        history.compose(lab, ["claim"], 0)
