"""The course's widgets: whatever a reader picks is run, told in words, and can be run again from the command line."""

import base64
import itertools
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.native import verbs
from emqlab.observe.case_reader import parse_case
from emqlab.observe.recording import record
from emqlab.observe.walk import moments
from emqlab.teach import cases, progress
from emqlab.teach.exercises import EXERCISES

SCRIPTS = Path(emqlab.__file__).parent / "scripted" / "lua"
VERBS = Path(verbs.__file__).parent

Maker = Callable[[emqlab.Lab], widgets.Stage]
MAKERS: dict[str, Maker] = {
    "transition": widgets.transition,
    "lease": widgets.lease,
    "life": widgets.life,
    "first_claim": widgets.first_claim,
    "exits": widgets.exits,
    "after_hours": widgets.after_hours,
}


def choices(stage: widgets.Stage) -> Iterator[dict[str, str]]:
    """Every combination of a stage's options."""
    values = [[option["value"] for option in pick["options"]] for pick in stage.picks]
    for chosen in itertools.product(*values):
        yield {pick["name"]: value for pick, value in zip(stage.picks, chosen, strict=True)}


def bundle(stage: widgets.Stage) -> dict[str, str]:
    """The texts that a notebook stores for a stage."""
    data, _ = stage._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    """Each widget of the lessons."""
    return MAKERS[request.param]


def test_every_choice_is_recorded_by_both_executors_in_words(lab: emqlab.Lab, maker: Maker) -> None:
    """Each row has its word, each frame its sentence, and a walk of the rows takes every frame."""
    stage = maker(lab)
    for choice in choices(stage):
        stage.choice = choice
        assert (stage.trouble, stage.shown) == ("", choice)
        recording = stage.recording
        assert [executor["name"] for executor in recording["executors"]] == ["scripted", "native"]
        assert all(step["word"] for step in recording["steps"])
        for executor, told in zip(recording["executors"], moments(recording), strict=True):
            assert all(frame["note"].endswith(".") for frame in executor["frames"])
            assert len([m for m in told if m.frame]) == len(executor["frames"])


def test_the_case_on_show_is_one_of_the_lessons_cases(lab: emqlab.Lab, maker: Maker) -> None:
    """Copied from "The case" it is what ``emqlab run`` was tried with; each number it differs by has its sentence."""
    known = {case["name"]: case for case in cases.every_case()}
    stage = maker(lab)
    for choice in choices(stage):
        stage.choice = choice
        shown = json.loads(json.dumps(stage.recording["case"]))
        assert shown == known[shown["name"]]
        assert parse_case(shown).name == shown["name"]
        assert {str(number) for number in shown.get("differs", ())} <= set(stage.divergences)


def test_text_and_html_are_the_same_each_time(lab: emqlab.Lab, maker: Maker) -> None:
    """Two kernels store the same texts, whatever was picked or done before."""
    once = maker(lab)
    lab.native.enqueue("orders", b"else")
    lab.advance_ms(1_234)
    for choice in choices(once):
        once.choice = choice
    with emqlab.open_lab("embedded") as other:
        assert bundle(maker(other)) == bundle(maker(lab))


def test_without_a_lab_a_widget_brings_its_own(maker: Any) -> None:
    """A stage can be shown in one line."""
    assert maker().recording["executors"][1]["frames"]


def test_a_first_choice_that_is_none_is_refused(lab: emqlab.Lab) -> None:
    """With a sentence that lists the ones there are."""
    assert widgets.transition(lab, choice="requeue").shown == {"transition": "requeue"}
    chosen = {"lease": "5000", "sweep": "at", "max_stalled": "2", "then": "claim"}
    assert widgets.lease(lab, choice={"sweep": "at"}).shown == chosen
    with pytest.raises(ValueError, match="transition has no option 'steal'"):
        widgets.transition(lab, choice="steal")


def test_predictions_can_be_left_out(lab: emqlab.Lab) -> None:
    """A teacher may want the outcome at once."""
    assert widgets.transition(lab, predict=False).predict is None
    assert widgets.transition(lab).predict
    assert widgets.lease(lab, predict=False).predict is None
    assert widgets.first_claim(lab, predict=False).predict is None


def test_the_transition_shows_the_files_that_ran(lab: emqlab.Lab) -> None:
    """With each pick the sources change; their bytes are those of the files, and requeue has no script."""
    stage = widgets.transition(lab)
    names = {"fail-at": ("retry.lua", "fail.py"), "sweep": ("sweep_stalled.lua", "stalled_check.py")}
    for choice, (script, verb) in names.items():
        stage.choice = {"transition": choice}
        assert stage.sources == {
            "scripted": {"name": script, "text": (SCRIPTS / script).read_text(encoding="utf-8")},
            "native": {"name": verb, "text": (VERBS / verb).read_text(encoding="utf-8")},
        }
    stage.choice = {"transition": "requeue"}
    assert list(stage.sources) == ["native"]


def test_new_sources_come_with_their_recording(lab: emqlab.Lab) -> None:
    """The browser never sees a recording beside another transition's file."""
    stage = widgets.transition(lab)
    sent: list[set[str]] = []
    send_state = stage.send_state
    stage.send_state = lambda key=None: (sent.append(set(key)), send_state(key))[1]  # type: ignore[func-returns-value]
    stage.choice = {"transition": "complete"}
    assert [{"recording", "sources"} <= keys for keys in sent if keys & {"recording", "sources"}] == [True]


@pytest.mark.parametrize(
    ("swept", "cap", "token", "place"),
    [
        ("after", "2", "2", "active"),
        ("at", "2", "2", "active"),
        ("before", "2", "1", "active"),
        ("at", "1", "1", "dead"),
    ],
)
def test_a_lease_lost_makes_the_next_token(lab: emqlab.Lab, swept: str, cap: str, token: str, place: str) -> None:
    """At the deadline a lease has expired, one millisecond before it has not; the default forgives no stall."""
    stage = widgets.lease(lab, choice={"sweep": swept, "max_stalled": cap})
    for told in moments(stage.recording):
        assert told[-1].state["rows"][cases.JOB]["attempts"] == token
        assert cases.JOB in told[-1].state["sets"][place]


@pytest.mark.parametrize(
    ("cap", "ends"), [("2", ["gone", "gone"]), ("1", ["gone", "dead"])], ids=["forgiven", "killed"]
)
def test_the_last_holder_is_current_until_the_next_claim(lab: emqlab.Lab, cap: str, ends: list[str]) -> None:
    """A sweep that gives the job back revokes nothing; of a dead one the verb refuses to speak, the script does not."""
    stage = widgets.lease(lab, choice={"max_stalled": cap, "then": "complete"})
    rows = [told[-1].state["rows"].get(cases.JOB, {}).get("state", "gone") for told in moments(stage.recording)]
    assert rows == ends


def test_each_question_names_its_executor(lab: emqlab.Lab) -> None:
    """What is asked is asked about the executor that it names; a new job's attempts has a value, not a change."""
    stage = widgets.transition(lab)
    for choice in choices(stage):
        stage.choice = choice
        for asked in stage.predict:
            assert ("script" in asked["ask"]) is asked["about"].startswith("scripted/"), asked
    stage.choice = {"transition": "enqueue"}
    assert stage.predict[1]["about"] == "native/value/attempts"
    assert stage.predict[1]["options"][0] == "0"


def test_the_eventful_life_passes_through_every_state(lab: emqlab.Lab) -> None:
    """Nothing a job can be is left out."""
    for told in moments(widgets.life(lab).recording):
        states = [m.state["rows"].get(cases.JOB, {}).get("state", "gone") for m in told]
        assert set(states) == {"gone", "pending", "active", "scheduled", "dead"}


def test_here_says_which_server_this_is(lab: emqlab.Lab) -> None:
    """Name, executors, clock and a short epoch, the same in every fresh lab."""
    text = repr(widgets.here(lab))
    assert "embedded" in text
    assert "scripted and native" in text
    assert f"{lab.now_ms()} ms" in text
    assert lab.run_id[:8] in text
    assert lab.run_id not in text
    assert "another one after lab.restart()" in text
    with emqlab.open_lab("embedded") as other:
        assert repr(widgets.here(other)) == text


def test_show_tells_rows_sets_and_counts(lab: emqlab.Lab) -> None:
    """A job is a line: the set that holds it with the time left, and its row; ghosts and strays are named."""
    assert repr(widgets.show(lab, "q")) == "q: no job"
    assert widgets.show(lab, "q")._repr_html_() == "<p><b>q: no job</b></p>"
    job = lab.native.enqueue("q", b"<tea>").decode()
    lab.native.claim("q", lease_ms=5_000)
    lab.client.zadd("emq:{q}:dead", {"JOB0NgWEfAEJfs": 0})
    lab.client.hset("emq:{q}:job:JOB0NgWEfAFbYw", "state", "active")
    lab.advance_ms(7_000)
    text = repr(widgets.show(lab, "q"))
    assert text.startswith("q: 3 jobs\n")
    assert re.search(rf"…{job[-4:]} +active \(2 s past\) +active +1 +– +– +<tea>", text)
    assert re.search(r"…EJfs +dead +no row: a ghost", text)
    assert re.search(r"…FbYw +no set +active", text)
    assert "&lt;tea&gt;" in widgets.show(lab, "q")._repr_html_()
    with pytest.raises(ValueError, match="queue must be"):
        widgets.show(lab, "no queue")


def test_progress_is_shown_once_there_is_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing at all before, so that a recorded lesson holds nobody's progress."""
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_memory", None)
    assert widgets.progress_table() is None
    progress.hinted("01-2")
    progress.solved("01-1")
    text = repr(widgets.progress_table())
    assert text.startswith(f"1 of {len(EXERCISES)} exercises solved\n")
    assert re.search(r"01-1 .* solved +0", text)
    assert re.search(r"01-2 .* open +1", text)
    assert "01-3" not in text


def drawn(path: Any) -> ET.Element:
    """The SVG inside a path's image, parsed."""
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', path._repr_html_())
    assert found is not None
    return ET.fromstring(base64.b64decode(found[1]).decode())


def lines(svg: ET.Element) -> list[str]:
    """The points of each executor's line."""
    return [one.attrib["points"] for one in svg.iter("{http://www.w3.org/2000/svg}polyline")]


def test_a_path_is_one_line_while_the_executors_agree(lab: emqlab.Lab) -> None:
    """It has a stop before the first step and after each, and its text names them with their attempts."""
    path = widgets.path(widgets.lease(lab))
    (points,) = lines(drawn(path))
    assert len(points.split()) == 5
    assert repr(path) == (
        "the scripts and the verbs: pending (0), claim → active (1), clock +6 s → active (1), "
        "sweep → pending (1), claim → active (2)"
    )


def test_a_path_has_a_line_each_where_they_part(lab: emqlab.Lab) -> None:
    """The cap on attempts and the cap on failures lead to different ends."""
    when = [cases.enqueue(), cases.claim(), cases.delay(1), cases.advance(5_000), cases.promote(), cases.claim()]
    case = {"name": "parts", "queue": "q", "when": [*when, cases.fail(2, max_attempts=2)], "differs": [8, 9]}
    path = widgets.path(record(lab, case, detail="calls"))
    one, other = lines(drawn(path))
    assert one.split()[-1] != other.split()[-1]
    scripted, native = repr(path).splitlines()
    assert scripted.endswith("fail → dead (2)")
    assert native.endswith("fail → schedule (2)")


def test_a_path_through_an_empty_queue_says_that_there_is_no_job(lab: emqlab.Lab) -> None:
    """What was never there is not gone; and of a life, only the end is."""
    claimed = {"name": "nobody", "queue": "q", "when": [cases.claim()]}
    assert repr(widgets.path(record(lab, claimed, detail="calls"))) == "claim and EMQ.CLAIM: no job, claim → no job"
    life = {"name": "life", "queue": "q", "when": [cases.enqueue(), cases.claim(), cases.complete(1)], "differs": [8]}
    path = widgets.path(record(lab, life, detail="calls", titles={"scripted": "scripts", "native": "verbs"}))
    assert repr(path) == "scripts and verbs: no job, enqueue → pending (0), claim → active (1), complete → gone"


def test_a_path_names_its_lines_and_draws_a_shared_stop_once(lab: emqlab.Lab) -> None:
    """Of two ways of six stops the first four are the same: an octagon each for both, then two for each of the two."""
    svg = drawn(widgets.path(widgets.restart(lab)))
    told = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    octagons = [one for one in svg.iter("{http://www.w3.org/2000/svg}g") if "transform" in one.attrib]
    assert [name for name in told if name in ("the scripts", "the verbs")] == ["the scripts", "the verbs"]
    assert len(octagons) == 8


def test_no_sentence_speaks_of_a_ghost(lab: emqlab.Lab, maker: Maker) -> None:
    """In the lessons' cases every id has its row: a sentence that says otherwise tells of another run."""
    stage = maker(lab)
    for choice in choices(stage):
        stage.choice = choice
        notes = [frame["note"] for executor in stage.recording["executors"] for frame in executor["frames"]]
        assert [note for note in notes if "ghost" in note] == []
