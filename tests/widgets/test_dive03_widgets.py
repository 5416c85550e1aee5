"""Dive 03's widgets: every way out of ``active``, and what is said to a worker whose time is over."""

from collections.abc import Callable

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.walk import moments, place
from emqlab.teach import cases
from emqlab.teach.predict import answer
from emqlab_widgets.picture import picture


def ends(stage: widgets.Stage) -> tuple[str, str]:
    """Where the job is after the scripts, and after the verbs."""
    scripted, native = (place(told[-1].state, cases.JOB) for told in moments(stage.recording))
    return scripted, native


@pytest.mark.parametrize(
    ("name", "scripted", "native"),
    [
        ("complete", "gone", "gone"),
        ("fail-scheduled", "schedule", "schedule"),
        ("fail-dead", "dead", "dead"),
        ("delay", "schedule", "schedule"),
        ("requeue", "active", "pending"),
        ("sweep-pending", "pending", "pending"),
        ("sweep-dead", "dead", "dead"),
        ("reap", "pending", "active"),
    ],
)
def test_each_exit_leads_where_its_name_says(lab: emqlab.Lab, name: str, scripted: str, native: str) -> None:
    """From one and the same row; the two that an executor lacks leave the job where it was."""
    assert ends(widgets.exits(lab, choice=name)) == (scripted, native)


ACTIVE, STATE = ("active", "active"), "EMQSTATE not active"
SAID = [
    # since, call, what script and verb answer, where the job is then
    ("ended", "complete", ("1", "1"), ("gone", "gone")),
    ("ended", "extend", ("1", "1"), ACTIVE),
    ("ended", "extends", ("[]", "[]"), ACTIVE),
    ("swept", "complete", ("1", "1"), ("gone", "gone")),
    ("swept", "fail", ("scheduled", STATE), ("schedule", "pending")),
    ("swept", "delay", ("1", STATE), ("pending + schedule", "pending")),
    ("swept", "requeue", ("unsupported requeue", STATE), ("pending", "pending")),
    ("swept", "extend", ("1", STATE), ("pending + active", "pending")),
    ("swept", "extends", ("[]", "[…EJfs]"), ("pending + active", "pending")),
    ("reclaimed", "complete", ("EMQSTALE complete token mismatch",) * 2, ACTIVE),
    ("reclaimed", "extends", ("[…EJfs]", "[…EJfs]"), ACTIVE),
    ("killed", "complete", ("1", STATE), ("dead", "dead")),
    ("killed", "fail", ("scheduled", "dead"), ("schedule + dead", "dead")),
    ("killed", "extend", ("1", STATE), ("active + dead", "dead")),
]


@pytest.mark.parametrize(("since", "call", "said", "where"), SAID)
def test_a_late_worker_is_answered_by_what_has_happened_since(
    lab: emqlab.Lab, since: str, call: str, said: tuple[str, str], where: tuple[str, str]
) -> None:
    """Only a newer claim makes the token stale; only the verb minds that the id has left active."""
    stage = widgets.after_hours(lab, choice={"since": since, "call": call})
    assert (answer(stage.recording, "scripted/reply"), answer(stage.recording, "native/reply")) == said
    assert ends(stage) == where


def test_a_dead_letter_that_a_script_completes_leaves_its_id_behind(lab: emqlab.Lab) -> None:
    """The row is deleted, and dead still holds the id: a ghost; the verb leaves both."""
    stage = widgets.after_hours(lab, choice={"since": "killed", "call": "complete"})
    scripted, native = (told[-1].state for told in moments(stage.recording))
    assert (cases.JOB in scripted["rows"], cases.JOB in native["rows"]) == (False, True)
    assert (scripted["metrics"], native["metrics"]) == ({"completed": "1", "failed": "1"}, {"failed": "1"})


def test_the_picture_shows_an_id_in_two_sets_twice(lab: emqlab.Lab) -> None:
    """In the scripts' column in pending and in schedule, in the verbs' once, and nowhere as if it had left."""
    drawn = picture(widgets.after_hours(lab, choice={"since": "swept", "call": "delay"}).recording)
    assert drawn.count(">EJfs<") == 3
    assert 'stroke-dasharray="3 3"' not in drawn


@pytest.mark.parametrize(
    ("maker", "choice", "files"),
    [
        (widgets.exits, {"exit": "reap"}, {"scripted": "reap.lua"}),
        (widgets.exits, {"exit": "sweep-dead"}, {"scripted": "sweep_stalled.lua", "native": "stalled_check.py"}),
        (
            widgets.after_hours,
            {"since": "swept", "call": "fail"},
            {"scripted": "retry.lua", "native": "fail.py"},
        ),
        (widgets.after_hours, {"since": "swept", "call": "requeue"}, {"native": "requeue.py"}),
    ],
)
def test_what_is_shown_as_code_is_what_the_pick_ran(
    lab: emqlab.Lab, maker: Callable[[emqlab.Lab], widgets.Stage], choice: dict[str, str], files: dict[str, str]
) -> None:
    """With each pick the files change; after hours they are those of the late call."""
    stage = maker(lab)
    stage.choice = choice
    assert {name: source["name"] for name, source in stage.sources.items()} == files


def test_a_link_of_dive_03_names_its_picks(lab: emqlab.Lab) -> None:
    """Copied, it opens the same run; an option that is none is refused with the ones there are."""
    assert widgets.exits(lab, choice="fail-dead").recording["code"] == "exit/fail-dead"
    stage = widgets.open(widgets.after_hours(lab), "after-hours/swept/delay@2")
    assert (stage.shown, stage.step) == ({"since": "swept", "call": "delay"}, 2)
    with pytest.raises(ValueError, match="exit has no option 'vanish'; it has complete, "):
        widgets.exits(lab, choice="vanish")
    with pytest.raises(ValueError, match="since has no option 'never'"):
        widgets.after_hours(lab, choice={"since": "never"})


def test_dive_03s_outcomes_can_be_had_at_once(lab: emqlab.Lab) -> None:
    """A teacher may want no questions."""
    assert widgets.exits(lab).predict
    assert widgets.exits(lab, predict=False).predict is None
    assert widgets.after_hours(lab).predict
    assert widgets.after_hours(lab, predict=False).predict is None
