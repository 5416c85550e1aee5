"""Two budgets: the chart says what the run did, move by move, and a text of moves is a pick like any other."""

import base64
import html
import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.case_reader import parse_case
from emqlab.teach import history
from emqlab_widgets import chart
from emqlab_widgets.picks import choice_of, normalised

LOST = history.HISTORIES["lost"]


def shown(lab: emqlab.Lab, moves: str, cap: int) -> chart.Budgets:
    """What the chart of a history says."""
    stage = widgets.two_budgets(lab, choice={"moves": moves, "max_attempts": str(cap)}, predict=False)
    return chart.budgets(stage.recording)


def bundle(stage: widgets.Stage) -> dict[str, str]:
    """The texts that a notebook stores for a stage."""
    data, _ = stage._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


def test_a_lost_lease_spends_the_one_budget_only(lab: emqlab.Lab) -> None:
    """Three claims are three attempts and two failures: dead for the scripts after move 6, alive for the verbs."""
    found = shown(lab, LOST, 3)
    assert [move for move, _ in found.moves] == LOST.split()
    scripts, verbs = found.columns
    assert (scripts.counter, scripts.spent, scripts.died) == ("attempts", (0, 1, 1, 2, 2, 3, 3), 6)
    assert (verbs.counter, verbs.spent, verbs.died) == ("failures", (0, 0, 1, 1, 1, 1, 2), None)
    assert found.parted == (False,) * 5 + (True,)


def test_what_is_spent_is_known_after_each_step(lab: emqlab.Lab) -> None:
    """A failure counts, and kills, in the first of its two steps: what the promotion after it finds is no part."""
    scripts, verbs = shown(lab, "claim lapse claim fail", 2).columns
    alive = [(0, False), (1, False), (1, False), (1, False), (2, False)]
    assert scripts.each == (*alive, (2, True), (2, True))
    assert verbs.each == (*[(0, False)] * 5, (1, False), (1, False))


def test_claims_alone_go_past_the_cap_and_kill_nobody(lab: emqlab.Lab) -> None:
    """The cap is looked at when a failure is reported, and a crash reports none."""
    found = shown(lab, history.HISTORIES["crashes"], 1)
    assert [(one.spent[-1], one.died) for one in found.columns] == [(4, None), (0, None)]


def test_every_move_ends_where_the_next_begins(lab: emqlab.Lab) -> None:
    """A promotion belongs to the failure before it, a sweep to the clock that was moved: no step is left over."""
    stage = widgets.two_budgets(lab, choice={"moves": "claim delay claim lapse claim requeue"}, predict=False)
    found = chart.budgets(stage.recording)
    ends = {"delay": 2, "fail": 2, "lapse": 2}
    steps = [ends.get(move, 1) for move, _ in found.moves]
    assert [end for _, end in found.moves] == [sum(steps[: k + 1]) for k in range(len(steps))]
    assert found.moves[-1][1] == len(stage.recording["steps"])


@pytest.mark.parametrize("name", history.HISTORIES)
def test_each_history_on_offer_is_asked_about_under_each_cap(lab: emqlab.Lab, name: str) -> None:
    """The right answer is among those to choose from, and what differs has its sentence."""
    stage = widgets.two_budgets(lab)
    for cap in map(str, history.CAPS):
        choice = {"moves": history.HISTORIES[name], "max_attempts": cap}
        stage.choice = choice
        assert (stage.trouble, stage.shown, len(stage.predict or ())) == ("", choice, 3)
        differs = stage.recording["case"].get("differs", ())
        assert {str(number) for number in differs} <= set(stage.divergences)


def test_numbers_that_columns_name_are_listed_in_order(lab: emqlab.Lab) -> None:
    """Each column has its own where the tokens part, and the last one's may come between the first one's."""
    choice = {"moves": "claim requeue claim lapse claim fail", "max_attempts": "2"}
    stage = widgets.two_budgets(lab, choice=choice, predict=False)
    own = [one.get("differs") for one in (stage.recording["case"], stage.recording["executors"][1])]
    assert own == [[8, 21], [8, 9, 21]]
    assert [number for number, _ in stage._shown().differs] == [8, 9, 21]


def test_where_a_move_promotes_the_question_says_so(lab: emqlab.Lab) -> None:
    """A failure and a delay do, which is folded away; a lapse does not."""
    asked = {}
    for name in ("fails", "crashes"):
        stage = widgets.two_budgets(lab, choice={"moves": history.HISTORIES[name], "max_attempts": "3"})
        asked[name] = [one["ask"] for one in stage.predict or ()][1]
    assert asked == {
        "fails": "Where is the job after the verbs, with what is due promoted?",
        "crashes": "Where is the job after the verbs?",
    }


def test_a_history_of_ones_own_is_shown_as_it_grows(lab: emqlab.Lab) -> None:
    """Nothing is asked, not even about none; whatever it shows has its sentence."""
    stage, draw = widgets.two_budgets(lab), random.Random(3)
    for count in (0, 1, 12, 12, 12):
        choice = {"moves": " ".join(draw.choices(history.MOVES, k=count)), "max_attempts": draw.choice("12345")}
        stage.choice = choice
        assert (stage.trouble, stage.shown) == ("", choice)
        assert not stage.predict
        columns = [stage.recording["case"], *stage.recording["executors"]]
        named = {str(number) for column in columns for number in column.get("differs", ())}
        assert named <= set(stage.divergences)


def test_where_the_tokens_part_each_column_has_a_form_that_can_be_run(lab: emqlab.Lab) -> None:
    """The verbs' form has their own calls, and the divergences of those."""
    stage = widgets.two_budgets(lab, choice={"moves": "claim lapse claim fail claim fail", "max_attempts": "2"})
    recording = stage.recording
    scripts, verbs = recording["executors"]
    assert "when" not in scripts
    tokens = [
        [s["token"] for s in when if s.get("verb") == "fail"] for when in (recording["case"]["when"], verbs["when"])
    ]
    assert tokens == [["2", "2"], ["2", "3"]]
    for form in (recording["case"], {**recording["case"], "when": verbs["when"], "differs": verbs["differs"]}):
        assert parse_case(form).verbs[-2:] == ["fail", "promote"]


def test_a_move_that_is_none_is_told_and_the_old_history_stays(lab: emqlab.Lab) -> None:
    """A text typed by hand is checked like one that was composed."""
    stage = widgets.two_budgets(lab)
    stage.choice = {**stage.choice, "moves": "claim steal"}
    assert "'steal' is no move; the moves are claim, fail, requeue, delay, lapse" in stage.trouble
    assert stage.shown["moves"] == LOST
    with pytest.raises(history.BadHistory, match="at most 12 moves"):
        widgets.two_budgets(lab, choice={"moves": "claim " * 13})


def test_the_twin_has_the_chart_and_a_row_a_move(lab: emqlab.Lab) -> None:
    """Without a kernel the chart is an image with a sentence, and a table; in plain text it is a line a move."""
    texts = bundle(widgets.two_budgets(lab, predict=False))
    alts = [html.unescape(found) for found in re.findall(r'<img alt="([^"]*)"', texts["text/html"])]
    assert alts[0] == (
        "The budget spent after each of 6 moves. the scripts: attempts 3 of 3, dead after move 6, fail. "
        "the verbs: failures 2 of 3, never dead."
    )
    assert texts["text/html"].count("<caption") == 3
    assert "\n  6 fail  scripted: attempts 3 of 3, dead  native: failures 2 of 3\n" in texts["text/plain"]
    first = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', texts["text/html"])
    assert first is not None
    ET.fromstring(base64.b64decode(first[1]))


def test_a_stage_may_have_every_key_in_its_twin(lab: emqlab.Lab) -> None:
    """Folded away, marked with sign and word; other twins are without it."""
    recording = widgets.first_claim(lab).recording
    texts = bundle(widgets.Stage(title="All", record=lambda choice: recording, every=True))
    folded = html.unescape(texts["text/html"]).split("<details><summary>Every key</summary>")[1]
    assert {"≠ row lease_epoch" in folded, "absent → this epoch, differs" in folded} == {True}
    line = "  ≠ row lease_epoch  scripted: absent, differs  native: absent → this epoch, differs"
    assert line in texts["text/plain"].splitlines()
    assert "Every key" not in bundle(widgets.Stage(title="All", record=lambda choice: recording))["text/html"]


def test_two_labs_store_the_same(lab: emqlab.Lab) -> None:
    """Whatever was done before, the recording in a lesson is the same."""
    choice = {"moves": history.HISTORIES["requeued"], "max_attempts": "2"}
    lab.native.enqueue("orders", b"else")
    lab.advance_ms(1_234)
    assert bundle(widgets.two_budgets(lab, choice)) == bundle(widgets.two_budgets(None, choice))


MOVES: dict[str, Any] = {"name": "moves", "kind": "moves", "options": ["claim"], "default": "claim"}
CAP: dict[str, Any] = {"name": "cap", "options": ["1", "2"]}


@pytest.mark.parametrize(
    ("picks", "code", "choice"),
    [
        ([MOVES, CAP], "any/claim claim/2", {"moves": "claim claim", "cap": "2"}),
        ([MOVES, CAP], "any//1", {"moves": "", "cap": "1"}),
        ([CAP, MOVES], "any/2/claim", {"moves": "claim", "cap": "2"}),
        ([{**MOVES, "kind": "plan"}, CAP], "any/A at 5 s/1", {"moves": "A at 5 s", "cap": "1"}),
    ],
)
def test_a_free_text_is_a_part_of_a_code(picks: list[Any], code: str, choice: dict[str, str]) -> None:
    """Whatever it holds, the options around it say where it ends."""
    assert choice_of(code, "any", normalised(picks)) == choice
