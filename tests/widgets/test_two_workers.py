"""Two workers: a plan is a pick, its run is told as a diagram and a sentence, and a code brings it back."""

import base64
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.story import agreement, alike, drawn
from emqlab.teach import plan
from emqlab.teach.predict import Question, answer, judge

MINE = "A-claims@0 A-stalls@1 sweep@7 A-completes@8.5 B-claims@9"


def bundle(stage: widgets.Stage) -> dict[str, str]:
    """The texts that a notebook stores for a stage."""
    data, _ = stage._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


def pictures(stage: widgets.Stage) -> list[tuple[str, str]]:
    """The alt text and the SVG of each image in the twin, in order."""
    found = re.findall(r'<img alt="([^"]*)"[^>]*base64,([^"]+)"', bundle(stage)["text/html"])
    return [(words, base64.b64decode(svg).decode()) for words, svg in found]


def words(svg: str) -> list[str]:
    """Every text in a drawing."""
    return [node.text or "" for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_late_worker_is_refused_and_both_are_asked_about(lab: emqlab.Lab) -> None:
    """The stage opens on A coming back after B has claimed, and asks what each of them is told."""
    stage = widgets.two_workers(lab)
    assert stage.shown == {"plan": "after-claim", "lease": "6000"}
    assert stage.view == "workers"
    assert [question["about"] for question in stage.predict] == ["native/stamp@A-completes", "native/stamp@B-completes"]
    assert widgets.two_workers(lab, predict=False).predict is None


def test_a_worker_without_a_token_is_asked_about_in_words_that_fit(lab: emqlab.Lab) -> None:
    """Its call may be answered, refused, or not sent at all; nobody is said to be told what nobody asked."""
    stage = widgets.two_workers(lab, {"plan": "B-claims@0 A-claims@1 A-completes@2 B-completes@3"})
    assert stage.predict is not None
    late, first = (Question(one["ask"], one["about"], tuple(one["options"])) for one in stage.predict)
    assert late.ask == "Worker A comes back and would complete the job, by the verb. What becomes of its call?"
    assert late.options == ("answered", "refused", "not sent")
    assert judge(stage.recording, late, "refused").sentence == (
        "You said refused; it is not sent. Step 3 decided it: nothing is sent."
    )
    assert answer(stage.recording, first.about) == "answered"


@pytest.mark.parametrize("max_stalled", [0, 4, -1, True, 2.0, "2", None])
def test_a_stall_that_is_none_is_refused_in_a_sentence(lab: emqlab.Lab, max_stalled: Any) -> None:
    """Before anything is run."""
    with pytest.raises(ValueError, match=r"^max_stalled is the stall that kills: 1, 2 or 3, not "):
        widgets.two_workers(lab, max_stalled=max_stalled)


@pytest.mark.parametrize("lease", ["3000", "6000", "12000"])
@pytest.mark.parametrize("name", plan.PRESETS)
def test_every_preset_is_run_and_its_answers_are_on_offer(lab: emqlab.Lab, name: str, lease: str) -> None:
    """A question whose right answer was missing would be an error here."""
    stage = widgets.two_workers(lab, {"plan": name, "lease": lease})
    ran = [step["id"] for step in stage.recording["steps"] if step["id"] in plan.KINDS]
    assert ran == [event.kind for event in plan.preset(name, int(lease))]


def test_a_plan_that_the_reader_placed_is_run(lab: emqlab.Lab) -> None:
    """Any plan is a choice; a worker that never completes is not asked about."""
    stage = widgets.two_workers(lab)
    stage.choice = {"plan": MINE, "lease": "6000"}
    assert (stage.trouble, stage.shown["plan"]) == ("", MINE)
    assert [question["about"] for question in stage.predict] == ["native/stamp@A-completes"]
    assert "A comes back: A-claims@0 A-stalls@1" in bundle(stage)["text/plain"]


def test_a_bad_plan_is_told_and_the_one_before_stays(lab: emqlab.Lab) -> None:
    """As with any pick that cannot be run; in Python it is an error."""
    stage = widgets.two_workers(lab)
    stage.choice = {"plan": "sweep@121", "lease": "6000"}
    assert "'121' is no time for sweep: seconds go from 0 to 120" in stage.trouble
    assert stage.choice == stage.shown == {"plan": "after-claim", "lease": "6000"}
    with pytest.raises(ValueError, match="a plan is made of A-claims"):
        widgets.two_workers(lab, {"plan": "before lunch"})
    with pytest.raises(ValueError, match="plan is a text that can be read, without a slash, not 'A/B'"):
        widgets.two_workers(lab, {"plan": "A/B"})
    with pytest.raises(ValueError, match="a plan needs at least one event"):
        widgets.two_workers(lab, {"plan": ""})


@pytest.mark.parametrize(
    ("code", "shown", "step"),
    [
        ("two-workers/after-sweep/3000@4", {"plan": "after-sweep", "lease": "3000"}, 4),
        (f"two-workers/{MINE}/6000@2", {"plan": MINE, "lease": "6000"}, 2),
        (f"two-workers/{MINE}/6000", {"plan": MINE, "lease": "6000"}, None),
    ],
)
def test_a_code_brings_a_plan_back(lab: emqlab.Lab, code: str, shown: dict[str, str], step: int | None) -> None:
    """A preset by its name, the reader's own in full."""
    stage = widgets.two_workers(lab)
    widgets.open(stage, code)
    assert (stage.shown, stage.step) == (shown, step)
    assert code.startswith(stage.recording["code"])


def test_a_code_with_half_a_plan_is_refused(lab: emqlab.Lab) -> None:
    """The stage says how one reads, or the plan says what is wrong with it."""
    stage = widgets.two_workers(lab)
    with pytest.raises(ValueError, match=re.escape("two-workers/<plan>/<lease>")):
        widgets.open(stage, f"two-workers/{MINE}")
    with pytest.raises(ValueError, match="A-claims has no time"):
        widgets.open(stage, "two-workers/A-claims/6000")


def test_the_twin_tells_the_story_and_draws_it(lab: emqlab.Lab) -> None:
    """The picture's words are the plain text's words; the refused worker stands in both."""
    stage = widgets.two_workers(lab, predict=False)
    (story, svg), (rails, _) = pictures(stage)
    assert story == (
        "The verbs: at 0 s A claims and gets token 1; at 2 s A falls silent; at 6 s A&#x27;s lease ends; at 10 s "
        "the sweep comes; at 14 s B claims and gets token 2; at 16 s A completes with token 1: refused; at 18 s B "
        "completes with token 2: done."
    )
    assert rails.startswith("Two workers, after the last step.")
    flat = " ".join(bundle(stage)["text/plain"].split())
    assert story.replace("&#x27;", "'") in flat
    assert "The scripts and the verbs give the same answers here; drawn: the verbs." in flat
    told = words(svg)
    for word in ("claims", "falls silent", "A's lease ends", "completes, refused", "completes, done", "two holders"):
        assert word in told
    assert "completes, refused" not in words(pictures(widgets.two_workers(lab, {"plan": "after-sweep"}))[0][1])


def test_where_the_executors_part_each_is_drawn(lab: emqlab.Lab) -> None:
    """A sweep that kills: the verb refuses the late worker, the script does not; both diagrams say so."""
    stage = widgets.two_workers(lab, {"plan": "after-sweep"}, False, max_stalled=1)
    assert not alike(stage.recording)
    verbs, scripts, _ = pictures(stage)
    assert ("completes, refused" in words(verbs[1]), "completes, done" in words(scripts[1])) == (True, True)
    assert verbs[0].startswith("The verbs: ")
    assert scripts[0].startswith("The scripts: ")
    assert agreement(stage.recording) == "The scripts and the verbs part here: each has its own diagram."


def test_a_worker_that_never_gives_up_is_drawn_to_the_end(lab: emqlab.Lab) -> None:
    """It believes in its lease still, and where another one does too there are two holders."""
    stage = widgets.two_workers(lab, {"plan": "A-claims@0 sweep@6 B-claims@8 A-stalls@12"}, predict=False)
    told = words(pictures(stage)[0][1])
    assert "two holders" in told
    assert stage.recording["case"]["differs"] == [8]
    alone = widgets.two_workers(lab, {"plan": "A-claims@0 A-stalls@12"}, predict=False)
    assert "two holders" not in words(pictures(alone)[0][1])


def test_the_texts_are_the_same_each_time(lab: emqlab.Lab) -> None:
    """Whatever was run or moved before: a notebook can be compared."""
    once = widgets.two_workers(lab, {"plan": MINE})
    lab.advance_ms(1_234)
    with emqlab.open_lab("embedded") as other:
        assert bundle(widgets.two_workers(other, {"plan": MINE})) == bundle(widgets.two_workers(lab, {"plan": MINE}))
    assert bundle(once) == bundle(widgets.two_workers(lab, {"plan": MINE}))


def test_one_column_needs_no_agreement(lab: emqlab.Lab) -> None:
    """There is nobody to agree with."""
    recording = plan.recorded(lab, plan.parse(MINE), 6_000, executors=("native",))
    assert agreement(recording) == ""
    assert drawn(recording) == [0]
