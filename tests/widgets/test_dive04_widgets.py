"""Dive 04's widgets: what is picked is run, seen from the right side, and told as it came out."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.case_reader import parse_case
from emqlab.observe.moments import moments, verdict
from emqlab.observe.recording import record
from emqlab.parity.declared.register import DECLARED, UNSEEN
from emqlab.parity.defects.plants import PLANTS
from emqlab.teach import cases, sandbox
from emqlab.teach.altered import own_text
from emqlab.teach.cases.parity import SIX
from emqlab.teach.instrument import DEFECTS, catch, catch_text, measured
from emqlab.teach.predict import Question, answer
from emqlab_widgets.instrument import NAMES
from emqlab_widgets.six_differences import _questions


def picked(stage: widgets.Stage) -> Iterator[str]:
    """Every option of a stage's one pick, each on show in turn."""
    (pick,) = stage.picks
    for option in pick["options"]:
        stage.choice = {pick["name"]: option["value"]}
        assert (stage.trouble, stage.shown) == ("", stage.choice)
        yield option["value"]


def seen(stage: widgets.Stage) -> list[str]:
    """Where each executor leaves the job, and its stamp."""
    columns, end = moments(stage.recording), len(stage.recording["steps"])
    return [" ".join(filter(None, (v.place, v.stamp))) for v in (verdict(stage.recording, ms, end) for ms in columns)]


BAD = ["no set lost", "pending refused"]


def test_side_by_side_is_pop_then_check_beside_peek_then_pop(lab: emqlab.Lab) -> None:
    """What the script has popped is lost where the verb is refused; where nothing is wrong they end alike."""
    stage = widgets.side_by_side(lab)
    assert {choice: seen(stage) for choice in picked(stage)} == {
        "ordinary": ["active", "active"],
        "empty": ["gone", "gone"],
        "ghost": ["gone", "gone"],
        "bad-attempts": BAD,
        "not-a-hash": BAD,
        "paused": ["pending", "pending"],
        "full": BAD,
    }


def test_where_a_ghost_is_has_one_true_answer(lab: emqlab.Lab) -> None:
    """An id without a row that no set holds is gone, and it would be in no set as well: that is not offered."""
    for stage in (
        widgets.side_by_side(lab, choice="ghost"),
        widgets.expired_lease(lab, choice={"member": "ghost", "max_stalled": "2"}),
    ):
        offered = [one["options"] for one in stage.predict or () if one["about"].endswith("/place")]
        assert len(offered) > 1
        assert [options for options in offered if "gone" not in options or "no set" in options] == []


def test_side_by_side_shows_the_files_that_ran(lab: emqlab.Lab) -> None:
    """The script and the verb of the claim, whatever it finds."""
    assert {name: one["name"] for name, one in widgets.side_by_side(lab).sources.items()} == {
        "scripted": "claim.lua",
        "native": "claim.py",
    }


SEEN = {
    "pause": ["active", "pending"],
    "meta": ["pending", "pending refused"],
    "row": BAD,
    "clock": ["active", "active"],
    "arguments": ["active", "pending refused"],
    "rights": ["pending", "pending refused"],
}


def test_six_differences_are_run(lab: emqlab.Lab) -> None:
    """Each picks one, and shows its number; what a second client does is part of the run."""
    stage = widgets.six_differences(lab)
    numbers = {}
    for choice in picked(stage):
        assert seen(stage) == SEEN[choice]
        numbers[choice] = [number for number, _ in stage._shown().differs]
    assert numbers == {"pause": [1], "meta": [2], "row": [3], "clock": [4, 8], "arguments": [5], "rights": [6]}


@pytest.mark.parametrize(
    ("server", "asked"), [("embedded", ["native/place"]), ("valkey", ["scripted/place", "native/place"])]
)
def test_of_the_rights_both_are_asked_for_where_both_run(
    lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch, server: str, asked: list[str]
) -> None:
    """The script's loss is the point of that pick; where no script runs for a limited user, nobody is asked for it."""
    monkeypatch.setattr(lab.server, "name", server)
    assert [one.about for one in _questions(lab, {"difference": "rights"})] == asked


def test_each_difference_asks_what_a_run_can_judge(lab: emqlab.Lab) -> None:
    """The lesson says to expect something before each: the true answer is among those offered."""
    stage = widgets.six_differences(lab)
    asked = {}
    for choice in picked(stage):
        questions = [Question(one["ask"], one["about"], tuple(one["options"])) for one in stage.predict or ()]
        asked[choice] = [answer(stage.recording, one.about) in one.options for one in questions]
    assert {name: bool(found) and all(found) for name, found in asked.items()} == dict.fromkeys(SEEN, True)


def test_the_clock_is_read_in_two_ways_and_says_one_time(lab: emqlab.Lab) -> None:
    """The script asks the server for it, the verb has it from the server: the deadlines are equal."""
    scripted, native = widgets.six_differences(lab, choice="clock").recording["executors"]
    asked = [[f["command"] for f in one["frames"] if f["step"] == "clock"] for one in (scripted, native)]
    assert asked == [[["TIME"]], [["(clock)"]]]
    deadlines = [
        [f["command"][2] for f in one["frames"] if f.get("command", [""])[0] == "ZADD"] for one in (scripted, native)
    ]
    assert deadlines[0] == deadlines[1]


def test_on_the_embedded_server_the_rights_are_the_verbs_alone(lab: emqlab.Lab) -> None:
    """Its scripts are not run for a limited user, and the column says so."""
    scripted, native = widgets.six_differences(lab, choice="rights").recording["executors"]
    assert [frame["note"] for frame in scripted["frames"]] == [
        "Only a real server runs a script for a limited user: try this on Valkey."
    ]
    assert native["reply"] == {"error": "NOPERM No permissions to access a key"}
    assert [frame["note"] for frame in native["frames"]][-1] == (
        "Refused: this user may not open the key that comes next. Nothing was written."
    )


def test_a_second_client_is_no_part_of_the_case_on_show(lab: emqlab.Lab) -> None:
    """What "The case" copies is what ``emqlab run`` was tried with."""
    known = {case["name"]: case for case in cases.every_case()}
    for stage in (widgets.side_by_side(lab), widgets.six_differences(lab)):
        for _ in picked(stage):
            shown = stage.recording["case"]
            assert shown == known[shown["name"]]


@pytest.mark.parametrize("maker", [widgets.side_by_side, widgets.six_differences, widgets.instrument])
def test_it_brings_its_own_lab_and_refuses_what_is_no_choice(maker: Any) -> None:
    """A stage can be shown in one line; another choice is refused with the ones there are."""
    first, *_ = maker().picks[0]["options"]
    assert maker(choice=first["value"]).shown == {maker().picks[0]["name"]: first["value"]}
    with pytest.raises(ValueError, match="has no option 'luck'; it has"):
        maker(choice="luck")


def test_predictions_can_be_left_out(lab: emqlab.Lab) -> None:
    """A teacher may want the outcome at once."""
    for maker in (widgets.side_by_side, widgets.six_differences):
        assert maker(lab).predict
        assert maker(lab, predict=False).predict is None


def test_the_words_of_a_claim_are_explained_before_they_are_used(lab: emqlab.Lab) -> None:
    """The first trace of the course speaks of no fence but the token's, and of the client that sends the script."""
    scripted, native = widgets.first_claim(lab).recording["executors"]
    assert scripted["frames"][0]["note"] == "The client asks first, in its own round trip. Not paused."
    assert native["frames"][0]["note"] == "This version is served: the version check is passed."


# ---------------------------------------------------------------- the instrument


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_on_offer_is_caught_soon(lab: emqlab.Lab, name: str) -> None:
    """Within two hundred cases; the small one shows it: the changed file does not do what the lab's own does."""
    caught = catch(name, lab)
    assert caught.after <= 200
    changed, scripted, native = caught.recording["executors"]
    own = scripted if caught.file.endswith(".lua") else native
    ends = [one[-1].state for one in moments(caught.recording)]
    parts = ends[0] != ends[1 if own is scripted else 2] or changed["reply"] != own["reply"]
    assert parts
    assert f"Caught after {caught.after} cases" in caught.recording["about"]


def test_the_small_case_holds_on_the_sound_executors(lab: emqlab.Lab) -> None:
    """Copied from "The case" it can be run: what it declares to differ differs, and nothing else."""
    caught = catch("claim-forgets-the-epoch", lab)
    case = parse_case(caught.recording["case"])
    again = record(lab, case)
    assert case.differs == (8,)
    assert [one["reply"] for one in again["executors"]] == [one["reply"] for one in caught.recording["executors"][1:]]


def test_the_instrument_shows_the_changed_file_beside_the_labs_own(lab: emqlab.Lab) -> None:
    """With each pick the sources change; the changed line is at its number."""
    stage = widgets.instrument(lab, choice="no-ghost-check")
    assert [one["title"] for one in stage.recording["executors"]] == ["claim.lua, changed", "claim.lua", "EMQ.CLAIM"]
    assert {name: one["name"] for name, one in stage.sources.items()} == {
        "changed": "claim.lua, changed",
        "scripted": "claim.lua",
        "native": "claim.py",
    }
    assert "EXISTS" not in stage.sources["changed"]["text"]
    assert "EXISTS" in stage.sources["scripted"]["text"]
    stage.choice = {"defect": "bad-row"}
    assert stage.sources["changed"]["name"] == "stalled_check.py, changed"


def test_a_row_of_another_type_is_not_told_as_a_ghost(lab: emqlab.Lab) -> None:
    """A verb that passes over it where it should refuse: what the row is, and that the call goes on."""
    changed, _, native = widgets.instrument(lab, choice="bad-row").recording["executors"]
    notes = {frame["step"]: frame["note"] for frame in changed["frames"] if frame.get("note")}
    assert notes["type"] == "A string, not a hash: the call goes on."
    assert notes["reply"] == "Answers two empty lists: a row that is a string is listed nowhere."
    assert [f["note"] for f in native["frames"] if f["step"] == "type"] == [
        "A string, not a hash: the call is refused as a whole."
    ]


def test_what_was_changed_and_how_soon_it_was_seen_is_said_in_every_form(lab: emqlab.Lab) -> None:
    """In the recording, which the browser shows, and in both texts."""
    stage = widgets.instrument(lab, choice="no-stamp")
    told = stage.recording["about"]
    assert told.startswith("claim.py, line 48, was changed. Caught after ")
    line = 'host.write(b"HSET", row, b"state", b"active"'
    was, now = f'{line}, b"lease_epoch", host.run_id())', f"{line})"
    assert stage.recording["change"] == {"was": was, "is": now}
    data, _ = stage._repr_mimebundle_()
    assert f"{told}\n  was {was}\n  is  {now}\n" in data["text/plain"]
    shown = f"<p>{told}</p><p>was <code>{was}</code><br>is <code>{now}</code></p>"
    assert shown.replace('"', "&quot;") in data["text/html"]


def test_a_line_that_is_gone_is_said_to_be_none(lab: emqlab.Lab) -> None:
    """The old line above, and nothing that could be read as code below."""
    data, _ = widgets.instrument(lab, choice="no-ghost-check")._repr_mimebundle_()
    line = "if redis.call('EXISTS', row) == 0 then return {} end"
    assert f"\n  was {line}\n  is  no such line\n" in data["text/plain"]
    assert "<br>is no such line</p>" in data["text/html"]


def test_the_names_of_the_widget_are_the_defects_of_the_lesson() -> None:
    """Each has a short name for its link."""
    assert sorted(NAMES.values()) == sorted(DEFECTS)


def test_what_is_measured_is_as_declared(lab: emqlab.Lab) -> None:
    """A share of the generated cases: some part where they may, none where they may not."""
    tally = measured(lab, many=120)
    assert (tally.cases, tally.undeclared) == (120, 0)
    assert tally.cases_of


def test_a_hunt_that_sees_nothing_says_so(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not called caught."""
    monkeypatch.setattr("emqlab.teach.instrument.PATIENCE", 1)
    with pytest.raises(RuntimeError, match="claim-skips-the-ghost-check-in-lua was not seen in 1 case"):
        catch("claim-skips-the-ghost-check-in-lua", lab)


NO_CHECK = PLANTS["claim-skips-the-ghost-check-in-lua"].sources.text("claim.lua")


def test_a_readers_own_defect_is_shown_as_a_planted_one() -> None:
    """Hunted in a process of its own, it comes to the same recording as the plant that is the same text."""
    own = widgets.hunt({"claim.lua": NO_CHECK})
    assert isinstance(own, widgets.Stage)
    planted = widgets.instrument(choice="no-ghost-check")
    assert own.recording["about"] == planted.recording["about"]
    assert own.recording["executors"] == json.loads(json.dumps(planted.recording["executors"]))
    assert own.sources["changed"]["text"] == NO_CHECK


def test_a_text_that_does_the_same_is_not_called_caught(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is the lab's own, nor one that can't be run: a sentence says which it is."""
    monkeypatch.setattr("emqlab.teach.hunting.SECONDS", 0)
    told = {
        own_text("claim.lua") + "-- the same\n": "The instrument did not see it in 25 cases.",
        own_text("claim.lua"): "This is claim.lua as it is: alter something in it.",
        "x = (": "The copy can't be run: claim.lua:1: unexpected symbol near '<eof>'.",
    }
    assert told == {text: getattr(catch_text(lab, {"claim.lua": text}), "sentence", "caught") for text in told}


def test_a_readers_own_defect_is_not_run_where_nothing_could_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without processes it gets a sentence; a file that is none gets its own."""
    monkeypatch.setattr(sandbox, "possible", lambda: False)
    assert widgets.hunt({"claim.lua": NO_CHECK}).sentence == sandbox.NO_PROCESS
    assert widgets.hunt({"claim.lua": own_text("claim.lua")}).sentence.startswith("This is claim.lua as it is")


@pytest.mark.parametrize("file", ["lane_claim.lua", "lane_pause.lua"])
def test_a_file_of_lanes_is_hunted_and_shown_too(file: str) -> None:
    """In cases of lanes, for it knows no others."""
    shown = widgets.hunt({file: "return 1\n"})
    assert isinstance(shown, widgets.Stage)
    assert shown.recording["about"].startswith(f"{file}, line 1, was changed. ")


@pytest.mark.parametrize(("copy", "said"), [("x", "a str"), (3, "an int"), (None, "None"), ({}, "0 files")])
def test_what_is_no_file_is_told_in_a_sentence(copy: Any, said: str) -> None:
    """A hunt takes one file and its text, and says so."""
    assert widgets.hunt(copy).sentence == (
        f'The answer is one file and its text, {{"complete.lua": text}}, not {said}.'
    )


# ---------------------------------------------------------------- the table


def test_the_table_has_what_each_case_came_to(lab: emqlab.Lab) -> None:
    """Every divergence has a line with its sentence; those with a case have two replies or fields that differ."""
    table = widgets.divergence_table(lab)
    assert [(row[0], row[1]) for row in table.rows] == [(str(n), one.sentence) for n, one in DECLARED.items()]
    for number, _, call, script, verb in table.rows:
        if int(number) in UNSEEN:
            assert UNSEEN[int(number)] in script
        else:
            assert call
            assert script != verb
    assert table.rows[7][2:] == (
        "claim",
        "[…EJfa, tea, 1]; row lease_epoch is absent",
        "[…EJfa, tea, 1]; row lease_epoch is this epoch",
    )


def test_the_table_says_where_1_4_and_6_can_be_seen(lab: emqlab.Lab) -> None:
    """Six differences has them, under these names."""
    told = {row[0]: row[3] for row in widgets.divergence_table(lab).rows}
    for number, name in (("1", "pause"), ("4", "clock"), ("6", "rights")):
        assert f"Six differences shows it ({name})" in told[number]
        assert name in SIX
