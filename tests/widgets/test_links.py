"""Links: a code finds its widget, its case, its step and line; a wrong one is told what codes look like."""

import re
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.scripted.scripts import SCRIPTS
from emqlab_widgets.links import WIDGETS, maker
from emqlab_widgets.sources import all_sources_of
from emqlab_widgets.stage import parted


@pytest.mark.parametrize(
    ("code", "title", "choice", "step"),
    [
        ("transition/requeue@3", "Transition", {"transition": "requeue"}, 3),
        ("lease/1000/at/1/complete", "Lease", {"lease": "1000", "sweep": "at", "max_stalled": "1"}, None),
        ("first-claim@2", "First claim", {}, 2),
        ("one-life/quiet@1", "One life", {"life": "quiet"}, 1),
        ("two-budgets/claim fail/2@2", "Two budgets", {"moves": "claim fail", "max_attempts": "2"}, 2),
    ],
)
def test_a_code_alone_opens_its_widget(
    lab: emqlab.Lab, code: str, title: str, choice: dict[str, str], step: int | None
) -> None:
    """Its first part is the widget's, the rest the choice and the step."""
    stage = widgets.open(code, lab=lab)
    assert (stage.title, {**stage.shown, **choice}, stage.step) == (title, stage.shown, step)


def test_what_link_to_this_copies_comes_back(lab: emqlab.Lab) -> None:
    """The code of a recording is one that open takes."""
    for name in WIDGETS.values():
        made = getattr(widgets, name)(lab)
        again = widgets.open(f"{made.recording['code']}@1", lab=lab)
        assert (again.recording, again.step) == (made.recording, 1)


def test_every_widget_has_a_code() -> None:
    """A new stage is opened by its code as soon as it is there, and every code is a stage's."""
    stages = {name for name in widgets.__all__ if getattr(widgets, name).__annotations__.get("return") == "Stage"}
    assert stages == set(WIDGETS.values())


def test_a_code_may_name_the_line_that_ran(lab: emqlab.Lab) -> None:
    """After the step comes the executor whose file is unfolded; one without a file is told who has one."""
    stage = widgets.open("transition/claim@4:native", lab=lab)
    assert (stage.step, stage.ran) == (4, "native")
    assert widgets.open(stage, "transition/claim@4").ran == ""
    with pytest.raises(ValueError, match="names 'third', of which there is no file here: after the step comes script"):
        stage.reopen("transition/claim@4:third")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a/b@4", ("a/b", 4, "")),
        ("a/b", ("a/b", None, "")),
        ("a/b@4:native", ("a/b", 4, "native")),
        ("a/x@y@12", ("a/x@y", 12, "")),
        ("a/x:y", ("a/x:y", None, "")),
        ("a@now", ("a@now", None, "")),
    ],
)
def test_a_code_is_parted_at_its_last_step(code: str, expected: tuple[str, int | None, str]) -> None:
    """What is no step belongs to the choice."""
    assert parted(code) == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("nothing/claim@3",),
            "'nothing/claim@3' is no code of a widget: a code reads widget/choice@step, for instance",
        ),
        (("",), "'' is no code of a widget"),
        (("transition/steal@1",), "'transition/steal' is no code of this stage: one reads transition/<transition>"),
        (("lease", "lease/1"), "of two texts neither is a stage: write open('lease')"),
    ],
)
def test_a_wrong_code_is_told_what_codes_look_like(arguments: Any, sentence: str) -> None:
    """In one sentence, at the cell that opens it."""
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        widgets.open(*arguments)


def test_a_widget_that_is_not_there_is_told_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older edition says so, instead of failing on an import."""
    monkeypatch.setitem(WIDGETS, "mirror", "mirror")
    with pytest.raises(ValueError, match="a widget that this edition does not have: mirror"):
        maker("mirror/1@2")


def test_a_stage_needs_its_code(lab: emqlab.Lab) -> None:
    """A stage alone has nothing to open."""
    with pytest.raises(ValueError, match="the code is missing: a code reads"):
        widgets.open(widgets.first_claim(lab))


def test_several_files_come_in_the_order_asked_for() -> None:
    """Each executor has its own; a verb without a script has the one file."""
    found = all_sources_of(("claim", "requeue"))
    assert {name: [one["name"] for one in files] for name, files in found.items()} == {
        "scripted": ["claim.lua"],
        "native": ["claim.py", "requeue.py"],
    }
    assert found["scripted"][0]["text"] == SCRIPTS["claim"].text.decode()
