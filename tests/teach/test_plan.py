"""A plan of two workers: read with one sentence for each mistake, run on both executors, told by who did what."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab import cli
from emqlab.observe.moments import moments
from emqlab.observe.recording import CannotRecord
from emqlab.observe.workers import Deed, retold, when_of
from emqlab.teach import plan
from emqlab.teach.cases import complete
from emqlab.teach.tokens import handed_out

STALE = {"error": "EMQSTALE complete token mismatch"}
DONE, NOTHING = {"ok": 1}, None
TEXT = "A-claims@0 A-stalls@2 sweep@10 B-claims@14 A-completes@16 B-completes@18"


def replies(recording: dict[str, Any], row: str) -> list[Any]:
    """What each executor answered in the row of that id."""
    return [
        frame.get("reply")
        for executor in recording["executors"]
        for frame in executor["frames"]
        if frame["step"] == row
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a plan needs at least one event, such as A-claims@0"),
        ("A-claims", "A-claims has no time: write A-claims@ and the seconds after the start"),
        ("C-claims@1", "'C-claims@1' is no event; a plan is made of A-claims, A-stalls, sweep, "),
        ("sweep@9 sweep@12", "sweep stands there 2 times; each event happens once at most"),
        ("sweep@soon", "'soon' is no time for sweep: seconds go from 0 to 120, whole or with one decimal"),
        ("sweep@-1", "'-1' is no time for sweep"),
        ("sweep@1.25", "'1.25' is no time for sweep"),
        ("sweep@١", "'١' is no time for sweep"),
        ("sweep@120.1", "'120.1' is no time for sweep"),
    ],
)
def test_a_text_that_is_no_plan_is_answered_in_one_sentence(text: str, told: str) -> None:
    """It names the word and says what to write instead."""
    with pytest.raises(plan.BadPlan, match=re.escape(told)):
        plan.parse(text)


def test_a_plan_is_read_in_order_of_time_and_written_back() -> None:
    """In any order, whole seconds or tenths; two events at one time stay as they are written."""
    read = plan.parse("B-claims@3.0  sweep@2.5\nA-claims@0 A-stalls@3")
    assert plan.written(read) == "A-claims@0 sweep@2.5 B-claims@3 A-stalls@3"
    assert plan.parse(plan.written(read)) == read
    assert [event.at_ms for event in read] == [0, 2500, 3000, 3000]
    assert [event.by for event in read] == ["A", "server", "B", "A"]


@pytest.mark.parametrize("lease_ms", [3_000, 6_000, 12_000])
@pytest.mark.parametrize(
    ("name", "told_a", "told_b"),
    [
        ("after-claim", STALE, DONE),
        ("after-sweep", DONE, NOTHING),
        ("before-sweep", DONE, NOTHING),
        ("in-time", DONE, NOTHING),
    ],
)
def test_only_a_claim_by_another_worker_makes_a_token_stale(
    lab: emqlab.Lab, name: str, told_a: Any, told_b: Any, lease_ms: int
) -> None:
    """Neither the end of the lease nor the sweep refuses A: both executors say so, for every length of the lease."""
    recording = plan.recorded(lab, plan.preset(name, lease_ms), lease_ms)
    assert replies(recording, "A-completes") == [told_a, told_a]
    assert replies(recording, "B-completes") == [told_b, told_b]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("A-completes@0", None),
        ("A-completes@0 A-claims@0", None),
        ("A-claims@0 A-completes@0", DONE),
        ("A-claims@0 sweep@6 B-claims@7 B-completes@8 A-completes@9", {"ok": 0}),
        ("A-claims@0 sweep@5.9 B-claims@7 A-completes@8", DONE),
        ("B-claims@0 sweep@6 A-claims@7 B-completes@8 A-completes@9", DONE),
    ],
)
def test_a_worker_presents_what_its_own_claim_was_answered_with(lab: emqlab.Lab, text: str, told: Any) -> None:
    """Nothing where it got nothing or has not claimed yet; whatever the order, the run decides."""
    recording = plan.recorded(lab, plan.parse(text), 6_000)
    assert replies(recording, "A-completes") == [told, told]


def test_the_rows_are_the_events_and_the_end_of_the_lease(lab: emqlab.Lab) -> None:
    """No row for a moved clock: each frame carries its time, who did it, and the token it got or presented."""
    recording = plan.recorded(lab, plan.parse(TEXT), 6_000)
    told = [
        (step["word"], frame["by"], frame.get("token"), m.clock - recording["now_ms"])
        for step, frame, m in zip(
            recording["steps"], recording["executors"][1]["frames"], moments(recording)[1][1:], strict=True
        )
    ]
    assert told == [
        ("A claims", "A", "1", 0),
        ("A falls silent", "A", None, 2_000),
        ("A's lease ends", "server", None, 6_000),
        ("the sweep", "server", None, 10_000),
        ("B claims", "B", "2", 14_000),
        ("A completes", "A", "1", 16_000),
        ("B completes", "B", "2", 18_000),
    ]


def test_a_lease_that_a_worker_gave_up_in_time_does_not_end(lab: emqlab.Lab) -> None:
    """Only a deadline that the clock passes while the job is leased is a moment of its own."""
    recording = plan.recorded(lab, plan.preset("in-time", 6_000), 6_000)
    assert [step["id"] for step in recording["steps"] if step["id"].endswith("lease")] == []
    both = plan.recorded(lab, plan.parse("A-claims@0 sweep@6 B-claims@7 A-stalls@13"), 6_000)
    assert [step["id"] for step in both["steps"]] == ["A-claims", "A-lease", "sweep", "B-claims", "B-lease", "A-stalls"]


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("B-completes@18", ""), "A-claims@1 sweep@2 A-completes@3.5"])
def test_the_case_runs_from_the_command_line(
    lab: emqlab.Lab, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied out of the widget, it holds: what it declares to differ differs, and nothing else."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(plan.recorded(lab, plan.parse(text), 6_000)["case"]), encoding="utf-8")
    status = cli.main(["run", str(path)])
    assert (status, capsys.readouterr().err) == (0, "")


def test_a_stall_that_kills_parts_the_executors(lab: emqlab.Lab) -> None:
    """With a sweep that forgives nothing the job is dead: the script takes a late completion, the verb does not."""
    recording = plan.recorded(lab, plan.preset("after-sweep", 6_000), 6_000, max_stalled=1)
    assert replies(recording, "A-completes") == [DONE, {"error": "EMQSTATE not active"}]
    assert recording["case"]["differs"] == [8, 13]


def test_a_column_that_was_told_another_token_has_a_case_of_its_own(
    lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each executor is asked for the tokens that it hands out; only where they part is there a second ``when``."""
    assert [executor.get("when") for executor in plan.recorded(lab, plan.parse(TEXT), 6_000)["executors"]] == [None] * 2
    monkeypatch.setattr(
        plan,
        "handed_out",
        lambda lab, name, case, what: handed_out(lab, name, case, what) if name == "scripted" else [None],
    )
    parted = plan.recorded(lab, plan.parse("A-claims@0 A-completes@1"), 6_000)
    assert [executor.get("when") for executor in parted["executors"]] == [
        None,
        [{"verb": "claim", "lease_ms": "6000"}, {"advance_ms": 1_000}],
    ]
    assert replies(parted, "A-completes") == [DONE, None]
    # A claim's stamp stays in the row of the one case; in the other the row is gone.
    assert "differs" not in parted["case"]
    assert parted["executors"][1]["differs"] == [8]


def test_one_executor_may_be_asked_alone(lab: emqlab.Lab) -> None:
    """The recording then has one column."""
    recording = plan.recorded(lab, plan.parse(TEXT), 6_000, executors=("native",))
    assert [executor["name"] for executor in recording["executors"]] == ["native"]
    assert recording["plan"] == TEXT


def test_a_server_whose_clock_stands_fast_is_named(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader is told why nothing can be shown."""
    monkeypatch.setattr(type(lab.bench()[0]), "movable", False)
    with pytest.raises(CannotRecord, match="can't be moved"):
        plan.recorded(lab, plan.parse("A-claims@1"), 6_000)


def test_time_that_changes_a_key_is_no_pause_between_two_events() -> None:
    """Nothing in a plan expires by itself; a recording in which something did is not told wrongly."""
    deeds = [Deed("late", "late", "A", 5, complete(1))]
    assert when_of(deeds)[0] == {"advance_ms": 5}
    moved = {"step": "advance", "phase": "world", "clock": 6, "note": "Moves.", "patch": {"rows": {"J": None}}}
    recording = {
        "before": {"rows": {"J": {}}, "sets": {}},
        "subject": "J",
        "now_ms": 1,
        "executors": [{"name": "native", "frames": [moved]}],
    }
    with pytest.raises(ValueError, match="time alone changed a key before 'late'"):
        retold(recording, {"native": deeds})
