"""The stage in Python: its picks run cases, its twin stands without a kernel, its codes bring a pick back."""

import base64
import html
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from emqlab.servers.bounds import CannotRun
from emqlab.teach.predict import Question
from emqlab_widgets import Stage
from emqlab_widgets import open as reopen

RECORDINGS: dict[str, Any] = json.loads(Path(__file__).with_name("recordings.json").read_text(encoding="utf-8"))
CASES = {
    "name": "case",
    "label": "the job at the head",
    "options": [("ordinary", "an ordinary job"), "bad-attempts", "ghost"],
}
ASKED = Question("Where does the script leave it?", "scripted/place", ("pending", "active", "no set", "gone"))
EVIL = '<script>alert("1")</script>&\'\x00\x1b[31m\u202e\ud800'


def claim_stage(**more: Any) -> Stage:
    """A stage whose one pick chooses among stored claims; a case that is not stored fails."""
    record = more.pop("record", lambda choice: RECORDINGS[f"claim/{choice['case']}"])
    return Stage(title="Side by side", question="The same claim twice.", picks=[CASES], record=record, **more)


def bundle(stage: Stage) -> dict[str, str]:
    """The texts that a notebook stores for a stage."""
    data, _ = stage._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


def drawn(stage: Stage) -> str:
    """The SVG inside the twin's image."""
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', bundle(stage)["text/html"])
    assert found is not None
    return base64.b64decode(found[1]).decode("utf-8", "surrogatepass")


class Tags(HTMLParser):
    """Collects the tags of an HTML text, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note one tag."""
        self.seen.append((tag, dict(attrs)))


def test_a_new_stage_shows_the_first_options() -> None:
    """Outcome first: the case has run before anything is clicked."""
    stage = claim_stage()
    assert stage.choice == stage.shown == {"case": "ordinary"}
    assert stage.recording["executors"] == RECORDINGS["claim/ordinary"]["executors"]
    assert stage.step is None


def test_choosing_runs_the_case_and_sends_everything_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The picture, its questions and the choice never disagree, not even for a moment."""
    stage = claim_stage(predict=lambda choice: [ASKED])
    sent: list[set[str]] = []
    send_state = stage.send_state

    def watched(key: Any = None) -> None:
        sent.append({key} if isinstance(key, str) else set(key))
        send_state(key)

    monkeypatch.setattr(stage, "send_state", watched)
    stage.choice = {"case": "bad-attempts"}
    assert stage.recording["executors"] == RECORDINGS["claim/bad-attempts"]["executors"]
    assert stage.shown == {"case": "bad-attempts"}
    together = [keys for keys in sent if "recording" in keys]
    assert len(together) == 1
    assert {"recording", "shown"} <= together[0]


def test_a_case_that_cannot_be_run_leaves_the_old_one_and_a_sentence() -> None:
    """The reader sees what went wrong where the reader looks, and the pick goes back."""
    stage = claim_stage()
    picks = [*stage.picks[0]["options"], {"value": "missing", "label": "missing", "about": ""}]
    stage.picks = [{**stage.picks[0], "options": picks}]
    stage.choice = {"case": "missing"}
    assert stage.trouble == "This case could not be run (KeyError: 'claim/missing'). The one before stays."
    assert stage.choice == stage.shown == {"case": "ordinary"}
    assert stage.recording["code"] == "side-by-side/ordinary"
    stage.choice = {"case": "ghost"}
    assert (stage.trouble, stage.shown) == ("", {"case": "ghost"})


def test_a_queue_in_use_is_told_with_what_to_do_about_it() -> None:
    """On a user's own server: the end of the sentence has the cure, whatever the key in the middle is called."""

    def record(choice: dict[str, str]) -> Any:
        if choice["case"] == "ghost":
            raise CannotRun(in_use)
        return RECORDINGS["claim/ordinary"]

    in_use = "the queue 'orders' is not empty: there is 'emq:{orders}:" + 200 * "x" + "'; empty it, or run it elsewhere"
    picks = [{"name": "case", "options": ["ordinary", "ghost"]}]
    stage = Stage(title="t", question="q", picks=picks, record=record)
    stage.choice = {"case": "ghost"}
    assert stage.trouble.endswith("; empty it, or run it elsewhere). The one before stays.")


def test_an_unknown_option_is_refused_by_name() -> None:
    """A choice typed by hand is checked like a picked one."""
    stage = claim_stage()
    stage.choice = {"case": "nope"}
    assert "case has no option 'nope'; it has ordinary, bad-attempts, ghost" in stage.trouble


def test_the_first_run_fails_in_the_open() -> None:
    """There is no old picture to keep: the author sees the error in the cell."""
    with pytest.raises(KeyError):
        claim_stage(record=lambda choice: RECORDINGS["nothing"])


def test_a_code_brings_back_case_and_step() -> None:
    """What Link to this copied opens the same case at the same step."""
    stage = claim_stage()
    assert reopen(stage, "side-by-side/bad-attempts@4") is stage
    assert (stage.choice, stage.step, stage.recording["code"]) == (
        {"case": "bad-attempts"},
        4,
        "side-by-side/bad-attempts",
    )
    stage.reopen("side-by-side/ghost")
    assert (stage.choice, stage.step) == ({"case": "ghost"}, None)


@pytest.mark.parametrize("code", ["other/ghost@1", "side-by-side/nope@1", "side-by-side", ""])
def test_a_code_of_another_stage_is_refused(code: str) -> None:
    """The error says what a code of this stage looks like."""
    with pytest.raises(ValueError, match="side-by-side/<case>"):
        claim_stage().reopen(code)


def test_values_with_slashes_survive_a_code() -> None:
    """Case names are values too."""
    picks = [
        {"name": "case", "options": ["claim/ghost", "claim/ordinary"]},
        {"name": "n", "kind": "radio", "options": ["1", "2"]},
    ]
    stage = Stage(title="Any", picks=picks, record=lambda choice: RECORDINGS[choice["case"]])
    stage.reopen("any/claim/ordinary/2@3")
    assert (stage.choice, stage.step) == ({"case": "claim/ordinary", "n": "2"}, 3)


def test_finished_recordings_need_no_recorder() -> None:
    """A stage made of recordings carries all of them to the browser."""
    stage = Stage(
        title="Kept",
        picks=[CASES],
        recordings={k: RECORDINGS[f"claim/{k}"] for k in ("ordinary", "bad-attempts", "ghost")},
    )
    stage.choice = {"case": "ghost"}
    assert stage.recording["executors"] == RECORDINGS["claim/ghost"]["executors"]
    with pytest.raises(TypeError, match="record"):
        Stage(title="Nothing")


@pytest.mark.parametrize(
    "pick",
    [
        {"name": "a", "options": []},
        {"name": "a", "options": ["1", "1"]},
        {"name": "a", "kind": "slider", "options": ["1"]},
    ],
)
def test_a_pick_that_cannot_be_picked_is_an_error(pick: dict[str, Any]) -> None:
    """The author is told which pick it is."""
    with pytest.raises(ValueError, match="'a'"):
        Stage(title="Bad", picks=[pick], record=lambda choice: RECORDINGS["claim/ghost"])


def test_a_question_without_the_right_option_is_the_authors_mistake() -> None:
    """Nobody could answer it, so it is not asked."""
    with pytest.raises(ValueError, match="no option of 'Where'"):
        claim_stage(predict=[Question("Where", "scripted/place", ("dead", "gone"))])


def test_judged_answers_reach_the_lesson_and_end_with_the_next_case() -> None:
    """Lessons keep progress by them; another case asks anew."""
    stage = claim_stage(predict=lambda choice: [ASKED])
    heard: list[list[dict[str, Any]]] = []
    stage.on_answered(heard.append)
    judged = [{"ask": ASKED.ask, "guess": "gone", "answer": "active", "ok": False}]
    stage.answered = judged
    stage.choice = {"case": "ghost"}
    assert heard == [judged]
    assert stage.answered == []
    assert stage.predict == [{"ask": ASKED.ask, "about": ASKED.about, "options": list(ASKED.options)}]


def test_integers_that_a_browser_would_round_travel_as_text() -> None:
    """A token beyond 2^53 is shown exactly."""
    recording = json.loads(json.dumps(RECORDINGS["claim/ordinary"]))
    recording["executors"][0]["reply"] = {"ok": ["x", True, 2**53 + 1, 7]}
    stage = Stage(title="Big", record=lambda choice: recording)
    assert stage.recording["executors"][0]["reply"] == {"ok": ["x", True, "9007199254740993", 7]}


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_twin_is_the_same_every_time_and_narrow_enough(name: str) -> None:
    """Two stages of one recording differ in nothing that is stored, and no line is over 110 characters."""
    one, two = (bundle(Stage(title=name, question="What?", record=lambda choice: RECORDINGS[name])) for _ in range(2))
    assert one == two
    assert max(map(len, one["text/plain"].splitlines())) <= 110
    assert "0x" not in one["text/plain"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_the_twin_is_made_of_what_a_sanitizer_keeps(name: str) -> None:
    """Tables with captions and scopes, images with a sentence each, and no style, script or drawing of its own."""
    stage = Stage(title=name, record=lambda choice: RECORDINGS[name])
    tags = Tags(bundle(stage)["text/html"]).seen
    names = [tag for tag, _ in tags]
    assert not {"style", "script", "svg", "iframe", "link"} & set(names)
    assert names.count("table") == names.count("caption") == 2
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in tags if tag == "th")
    alts = [attributes["alt"] or "" for tag, attributes in tags if tag == "img"]
    assert len(alts) == (2 if name.startswith("workers/") else 1)
    assert re.fullmatch(r"[^.]+, after the last step\. [A-Z].*\.", alts[-1])
    ET.fromstring(drawn(stage))


def test_the_plain_text_tells_the_run() -> None:
    """Verdict, reply, counters and each command with its caption, under the picks."""
    stage = claim_stage(choice={"case": "bad-attempts"}, divergences={3: "A bad row: lost, or refused."})
    text = bundle(stage)["text/plain"]
    assert text.startswith(
        "Side by side\nThe same claim twice.\nthe job at the head: bad-attempts\n≠ 3 A bad row: lost, or refused.\n"
    )
    for expected in (
        "claim script: pending → no set, lost\n  answer: ERR hash value is not an integer\n",
        "\n  attempts: 1.0, read\n",
        "EMQ.CLAIM (native): stays in pending, refused\n",
        "\n 3 who is first?  scripted: ZPOPMIN pending → […GLuC, 0]  native: ZRANGE pending 0 0 → […GLuC]\n",
        "\n     native: Refused. Nothing was written; the bad row stays at the head.",
    ):
        assert expected in text


def test_a_twin_that_asks_tells_afterwards() -> None:
    """A reader meets the questions first; the run, the divergences and the answers are folded away behind them."""
    stage = claim_stage(choice={"case": "bad-attempts"}, predict=[ASKED], divergences={3: "A bad row is lost."})
    asks = "Where does the script leave it? (pending, active, no set, gone)"
    tells = "Where does the script leave it? no set. Decided by: ZPOPMIN pending"
    texts = bundle(stage)
    parts = {"text/html": "<details><summary>The run, if you only read along</summary>", "text/plain": "\nThe run:\n"}
    for kind, mark in parts.items():
        before, after = html.unescape(texts[kind]).split(mark)
        assert asks in before
        assert not {word for word in ("lost", "ZPOPMIN", "refused", "≠", "<img", "<table") if word in before}
        assert {tells in after, "A bad row is lost." in after, "no set, lost" in after} == {True}
    assert texts["text/html"].endswith("</details></div>")


def test_a_twin_without_questions_is_not_folded() -> None:
    """There is nothing to spoil."""
    texts = bundle(claim_stage(choice={"case": "bad-attempts"}))
    assert "<details" not in texts["text/html"]
    assert "\nThe run:\n" in texts["text/plain"]


def test_a_twin_says_that_no_command_wrote_what_was_asked() -> None:
    """The words are those of the live stage."""
    asked = Question("By how much?", "native/delta/attempts", ("0", "+1"))
    for text in bundle(claim_stage(choice={"case": "bad-attempts"}, predict=[asked])).values():
        assert "By how much? 0. No command wrote attempts." in text


def test_the_stage_says_which_choice_it_runs_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that has sent two choices must know which one a reply or a failure is about."""
    stage = claim_stage()
    sent: list[Any] = []
    monkeypatch.setattr(stage, "send", sent.append)
    stage.choice = {"case": "ghost"}
    assert sent == [{"heard": {"case": "ghost"}}]


def hostile() -> dict[str, Any]:
    """A recording whose every free text is an attack on the page that shows it."""
    recording: dict[str, Any] = json.loads(json.dumps(RECORDINGS["claim/ordinary"]))
    recording.update(queue=EVIL, subject=EVIL)
    recording["before"] = {
        "rows": {EVIL: {"state": EVIL, "attempts": EVIL, "payload": EVIL}},
        "sets": {"pending": {EVIL: "0"}, EVIL: {EVIL: "0"}},
        "metrics": {EVIL: "1"},
        "other": {EVIL: EVIL},
    }
    recording["steps"][0]["word"] = EVIL
    for executor in recording["executors"]:
        executor["title"] = EVIL
        executor["frames"] = [
            {
                "step": recording["steps"][0]["id"],
                "phase": "write",
                "command": [EVIL, EVIL],
                "reply": {"error": EVIL},
                "writes": ["row.payload"],
                "note": EVIL,
            }
        ]
    return recording


def test_hostile_texts_stay_texts() -> None:
    """Markup, control characters, direction marks and lone surrogates are spelled out, never acted on."""
    stage = Stage(
        title=EVIL,
        question=EVIL,
        picks=[{"name": "p", "label": EVIL, "options": [EVIL]}],
        record=lambda choice: hostile(),
    )
    texts = bundle(stage)
    tags = {tag for tag, _ in Tags(texts["text/html"]).seen}
    assert tags <= {"div", "h3", "h4", "p", "b", "img", "table", "caption", "thead", "tbody", "tr", "th", "td", "br"}
    ET.fromstring(drawn(stage))
    for text in (*texts.values(), drawn(stage)):
        assert not set(text) & {"\x00", "\x1b", "\u202e", "\ud800"}
        text.encode("utf-8")
    assert r"\u{202e}" in texts["text/plain"]
    assert r"\u{d800}" in html.unescape(texts["text/html"])
