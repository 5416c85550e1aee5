"""The stage in Chromium: the same words as Python, nothing clipped, all of it by keyboard, and the kernel's part."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

import emqlab
from emqlab.observe import moments as derived
from emqlab.observe.every import every
from emqlab.observe.recording import record
from emqlab.teach import cases
from emqlab.teach.predict import Question, answer, deciding, judge
from emqlab_widgets import Stage, after_hours
from tests.browser.conftest import Desk, LabServer

ROOT = Path(__file__).parents[2]
RECORDINGS: dict[str, Any] = json.loads((ROOT / "tests/widgets/recordings.json").read_text(encoding="utf-8"))
POISONED = RECORDINGS["claim/bad-attempts"]
#: What stands behind a code that was copied.
BACK = 'open("…") of emqlab_widgets brings it back'
WHERE = {"ask": "Where does the script leave it?", "about": "scripted/place", "options": ["pending", "no set", "gone"]}
WHAT = {"ask": "What does the verb do?", "about": "native/stamp", "options": ["answered", "refused"]}
SOURCES = {"scripted": {"name": "claim.lua", "text": "\n".join(f"line {n}" for n in range(1, 80))}}
PICKS = [
    {
        "name": "case",
        "label": "the job",
        "kind": "select",
        "options": [{"value": v, "label": v} for v in ("bad", "ghost")],
    },
    {"name": "size", "label": "how many", "kind": "radio", "options": [{"value": v, "label": v} for v in ("1", "2")]},
]

# Everything that is derived, at every step of a recording, as one JSON value.
ALL_WORDS = """([rec, abouts]) => {
  const d = window.derived, all = d.moments(rec), fields = d.fields(rec, all), rails = d.rails(all);
  const keys = [...rails.map((r) => `set/${r}`), ...fields];
  const lineOf = (f, m) => {
    const l = d.line(rec, f, m), shown = [d.show(l.was, f, rec), d.show(l.is, f, rec)];
    return [d.label(f), ...shown, l.kind, l.word, l.delta, l.deleted, l.changed];
  };
  const steps = all[0].map((_, i) => ({
    columns: all.map((ms) => {
      const v = d.verdict(rec, ms, i), f = ms[i].frame;
      return {
        verdict: [v.was, v.is, v.stamp, v.text, d.replyText(v.said, rec)],
        note: d.noteAt(rec, ms, i), due: [1250, 1, 0, -999].map((t) => d.until("active", t, 0)),
        place: d.place(ms[i].state, rec.subject),
        members: rails.map((r) => d.members(ms[i].state, r)),
        lines: fields.map((f) => lineOf(f, ms[i])),
        sent: f ? [d.commandText(f, rec), d.replyText(f.reply, rec)] : null,
      };
    }),
    differs: keys.map((key) => d.differs(rec, all, key, i)),
    every: d.every(rec, all, i).map((k) => [k.name, k.cells, k.odd]),
  }));
  const asked = abouts.map((about) => {
    const j = d.judge(rec, {ask: "?", about, options: []}, "dead");
    return [d.answer(rec, about), d.deciding(rec, about).step ?? null, j.ok, j.step, j.command, j.sentence];
  });
  const kinds = rec.executors.map(d.kindSaid);
  return {fields, rails, steps, asked, kinds, walked: all.map((ms) => ms.filter((m) => m.frame).length)};
}"""

# Walks every step and names what is cut off, what sticks out, and whether the page is wider than the window.
CLIPPED = """() => {
  const bad = new Set(), range = document.querySelector(".emq .transport input");
  const edge = document.querySelector(".emq").getBoundingClientRect();
  const parts = [".cell", ".val", ".head", ".big", ".ans", ".said", ".lab > span", ".trace td", ".trace th",
    ".picks", ".quiz", ".transport", ".note", ".about"];
  for (let i = 0; i <= +range.max; i++) {
    range.value = i;
    range.dispatchEvent(new Event("input", {bubbles: true}));
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth) bad.add(`step ${i}: the page is ${width} wide`);
    for (const node of document.querySelectorAll(parts.map((part) => `.emq ${part}`).join())) {
      const cut = node.offsetParent && node.scrollWidth > node.clientWidth + 1;
      if (cut) bad.add(`step ${i}: ${node.className || node.tagName}: ${node.textContent}`);
    }
    for (const node of document.querySelectorAll(".emq svg :is(text, rect)")) {
      const box = node.getBoundingClientRect(), out = box.left < edge.left - 1 || box.right > edge.right + 1;
      if (box.width && out) bad.add(`step ${i}: drawing: ${node.textContent || node.getAttribute("class")}`);
    }
  }
  return [...bad];
}"""


def mount(page: Page, name: str = "claim/bad-attempts", **values: Any) -> Locator:
    """Put a stage for a stored recording on the page."""
    view = "workers" if name.startswith("workers/") else "stage"
    page.evaluate("(values) => mountStage(values)", {"recording": RECORDINGS[name], "view": view, **values})
    return page.locator(".emq")


def press(page: Page, name: str) -> None:
    """Click a button by its name."""
    page.get_by_role("button", name=name, exact=True).click()


def at(page: Page, count: str) -> None:
    """Expect the transport to stand at ``count``, for instance ``3 / 6``."""
    expect(page.locator(".emq .count")).to_contain_text(count)


def words(recording: dict[str, Any], abouts: list[str]) -> dict[str, Any]:
    """What ``ALL_WORDS`` gives, from Python."""
    columns = derived.moments(recording)
    names, rails = derived.fields(recording, columns), derived.rails(columns)
    keys = [*(f"set/{rail}" for rail in rails), *names]

    def shown(ln: derived.Line, f: str) -> list[str]:
        return [derived.show(ln.was, f, recording), derived.show(ln.now, f, recording)]

    def column(ms: list[derived.Moment], i: int) -> dict[str, Any]:
        v, m = derived.verdict(recording, ms, i), ms[i]
        lines = [(f, derived.line(recording, f, m)) for f in names]
        sent = m.frame and [
            derived.command_text(m.frame, recording),
            derived.reply_text(m.frame.get("reply"), recording),
        ]
        return {
            "verdict": [v.was, v.place, v.stamp, v.text, derived.reply_text(v.said, recording)],
            "note": derived.note_at(recording, ms, i),
            "due": [derived.until("active", t, 0) for t in (1250, 1, 0, -999)],
            "place": derived.place(m.state, recording["subject"]),
            "members": [derived.members(m.state, rail) for rail in rails],
            "lines": [
                [derived.label(f), *shown(ln, f), ln.kind, ln.word, ln.delta, ln.deleted, ln.changed] for f, ln in lines
            ],
            "sent": sent,
        }

    def asked(about: str) -> list[Any]:
        j = judge(recording, Question("?", about, ()), "dead")
        return [answer(recording, about), deciding(recording, about).get("step"), j.ok, j.step, j.command, j.sentence]

    return {
        "fields": names,
        "rails": rails,
        "steps": [
            {
                "columns": [column(ms, i) for ms in columns],
                "differs": [list(derived.differs(recording, columns, key, i)) for key in keys],
                "every": [[k.name, list(k.cells), list(k.odd)] for k in every(recording, columns, i)],
            }
            for i in range(len(columns[0]))
        ],
        "asked": [asked(about) for about in abouts],
        "kinds": [derived.kind_said(executor) for executor in recording["executors"]],
        "walked": [len(executor["frames"]) for executor in recording["executors"]],
    }


#: The same claim with nobody in line, and nothing that any of its frames would change.
NOBODY = {
    **RECORDINGS["claim/ordinary"],
    "before": {
        "rows": {},
        "sets": {"pending": {}, "active": {}, "schedule": {}, "dead": {}},
        "metrics": {},
        "other": {},
    },
    "executors": [
        {**one, "frames": [{**frame, "patch": {}} for frame in one["frames"]]}
        for one in RECORDINGS["claim/ordinary"]["executors"]
    ],
}


@pytest.mark.parametrize("name", [*RECORDINGS, "nobody"])
def test_the_browser_and_python_say_the_same_words_at_every_step(page: Page, name: str) -> None:
    """Verdicts, captions, ledger lines, every key, differences, judgements: one wording, two implementations."""
    recording = NOBODY if name == "nobody" else RECORDINGS[name]
    what = ["place", "stamp", "reply"]
    what += [
        f"{kind}/{field}"
        for kind in ("delta", "value")
        for field in ("attempts", "failures", "stalled", "state", "payload")
    ]
    what += ["delta/metrics:failed", "value/lease_epoch", "delta/gactive a/b"]
    what += [f"{kind}@{step['id']}" for kind in ("stamp", "reply") for step in recording["steps"][::3]]
    abouts = [f"{executor['name']}/{one}" for executor in recording["executors"] for one in what]
    assert page.evaluate(ALL_WORDS, [recording, abouts]) == words(recording, abouts)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 400, 700, 840, 920])
def test_nothing_is_cut_off_at_any_step(page: Page, width: int, dark: bool) -> None:
    """Every step of every recording fits, from a phone to a wide page."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(reduced_motion="reduce")  # a chip on its way is where it will not stay
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    for name in RECORDINGS:
        mount(page, name, picks=PICKS, sources=SOURCES, divergences={"9": "Failures are counted by the verb alone."})
        assert page.evaluate(CLIPPED) == [], name


@pytest.mark.parametrize("width", [360, 920])
def test_a_question_and_its_verdict_fit(page: Page, width: int) -> None:
    """Long questions wrap; the verdict row grows and nothing leaves the page."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(reduced_motion="reduce")
    mount(page, predict=[WHERE, WHAT], picks=PICKS)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.get_by_label("gone").check()
    page.get_by_label("answered").check()
    press(page, "Run")
    assert page.evaluate(CLIPPED) == []


def test_it_opens_on_the_outcome_and_steps_back(page: Page) -> None:
    """Outcome first; then the reader walks back, and the verdict, the trace and the spoken sentence follow."""
    stage = mount(page)
    at(page, "6 / 6")
    expect(stage.locator(".big")).to_have_text(["pending → no set", "stays in pending"])
    expect(stage.locator(".stamp")).to_have_text(["lost", "refused"])
    press(page, "Step back")
    expect(stage.locator(".big").first).to_have_text("pending → in hand")
    expect(stage.locator("[aria-current=step]")).to_have_text("5which token?")
    expect(stage.locator("[aria-live=polite]")).to_contain_text(
        "Step 5 of 6: which token?. claim script: attempts is not"
    )


def test_run_plays_from_the_start_and_stops_at_the_end(page: Page) -> None:
    """A step every 900 ms; Run becomes Pause while it plays."""
    mount(page)
    press(page, "Run")
    at(page, "0 / 6")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    page.clock.run_for(1900)
    at(page, "2 / 6")
    page.clock.run_for(9000)
    at(page, "6 / 6")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible()


def test_with_reduced_motion_run_goes_to_the_end_and_nothing_glides(page: Page) -> None:
    """The reader's setting is honoured: no transition, no playing."""
    page.emulate_media(reduced_motion="reduce")
    stage = mount(page, step=1)
    press(page, "Run")
    at(page, "6 / 6")
    assert stage.locator(".chip").first.evaluate("(chip) => getComputedStyle(chip).transitionDuration") == "0s"


def test_all_of_it_works_by_keyboard(page: Page) -> None:
    """From pick to link by Tab; arrows, Home and End step; inside the trace up and down step too."""
    mount(page, picks=PICKS, recordings={"bad/1": POISONED, "ghost/1": RECORDINGS["claim/ghost"]}, sources=SOURCES)
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("[document.activeElement.tagName, document.activeElement.textContent.slice(0, 20)]"))
    assert [tag for tag, _ in seen] == [
        "SELECT",
        "INPUT",
        "BUTTON",
        "BUTTON",
        "INPUT",
        "BUTTON",
        *["SUMMARY"] * 4,
        "BUTTON",
        "BODY",
    ]
    page.get_by_role("button", name="Run", exact=True).focus()
    page.keyboard.press("Home")
    at(page, "0 / 6")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    at(page, "2 / 6")
    page.keyboard.press("End")
    at(page, "6 / 6")
    page.locator(".trace button[tabindex='0']").focus()
    page.keyboard.press("ArrowUp")
    at(page, "5 / 6")
    assert page.evaluate("document.activeElement.textContent") == "5which token?"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_no_key_leaks_into_the_notebook(page: Page) -> None:
    """A notebook's shortcuts are letters and arrows: of the stage's keys it sees Tab and Escape alone."""
    stage = mount(page)
    page.evaluate("window.leaked = []; document.addEventListener('keydown', (e) => leaked.push(e.key))")
    page.get_by_role("button", name="Run", exact=True).focus()
    for key in ("a", "d", "ArrowLeft", "End", "m", "Escape", "Tab"):
        page.keyboard.press(key)
    assert page.evaluate("leaked") == ["Escape", "Tab"]
    assert stage.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_prediction_holds_the_outcome_back(page: Page) -> None:
    """Before the answers there is no step to go to, and nothing on the page tells how it ends."""
    stage = mount(page, predict=[WHERE, WHAT], divergences={"3": "A bad row is lost."})
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    expect(page.get_by_role("slider")).to_be_disabled()
    expect(page.get_by_role("button", name="Step forward")).to_be_disabled()
    expect(stage.locator(".trace")).to_have_count(0)
    expect(stage.locator(".big")).to_have_text(["in pending", "in pending"])
    text = stage.inner_text()
    assert "HINCRBY" not in text
    assert "≠" not in text
    assert "differs" not in stage.locator("details pre").last.text_content().__str__()
    page.get_by_label("no set").check()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    page.get_by_label("refused").check()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    page.keyboard.press("End")
    expect(stage.locator(".stepno")).to_have_text("–")


def test_the_verdict_row_answers_right_and_wrong(page: Page) -> None:
    """Word, shape and sentence; the sentence names the command, and a button goes there; Python hears it."""
    stage = mount(page, predict=[WHERE, WHAT])
    page.get_by_label("gone").check()
    page.get_by_label("refused").check()
    press(page, "Run")
    at(page, "6 / 6")
    wrong, right = stage.locator(".said li.wrong"), stage.locator(".said li.right")
    expect(wrong.locator(".badge")).to_have_text("✗ wrong")
    expect(wrong).to_contain_text("You said gone; it is no set. Step 3 decided it: ZPOPMIN pending → […GLuC, 0].")
    expect(right.locator(".badge")).to_have_text("✓ right")
    expect(right).to_contain_text("You said refused. Step 5 decided it: HGET row attempts → 1.0.")
    assert wrong.locator(".badge").evaluate("(b) => getComputedStyle(b).borderStyle") == "dashed"
    expect(stage.locator("[aria-live=polite]")).to_contain_text("Wrong. Where does the script leave it? You said gone")
    wrong.get_by_role("button", name="Go to step 3").click()
    at(page, "3 / 6")
    expect(stage.locator(".said li")).to_have_count(2)
    expect(stage.locator(".quiz input").first).to_be_disabled()
    assert page.evaluate("model.saved.at(-1).answered") == [
        {"ask": WHERE["ask"], "guess": "gone", "answer": "no set", "ok": False},
        {"ask": WHAT["ask"], "guess": "refused", "answer": "refused", "ok": True},
    ]


def test_a_prediction_is_made_by_keyboard(page: Page) -> None:
    """Each question is a group with a legend: Tab into it, Space to choose, Tab on to Run, Enter."""
    stage = mount(page, predict=[WHERE])
    expect(page.get_by_role("group", name="Where does the script leave it?")).to_be_visible()
    for key in ("Tab", "Space", "ArrowRight", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(stage.locator(".said li.right")).to_contain_text("You said no set.")


def test_the_outcome_can_be_seen_without_guessing(page: Page) -> None:
    """Nobody has to guess; nothing is judged then, and nothing is sent."""
    stage = mount(page, predict=[WHERE])
    press(page, "Show me without guessing")
    at(page, "6 / 6")
    expect(stage.locator(".said li")).to_have_count(0)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_focused()
    assert page.evaluate("model.saved") == []


def test_another_case_asks_anew(page: Page) -> None:
    """An answer belongs to its case."""
    stage = mount(
        page, predict=[WHERE], picks=PICKS, recordings={"bad/1": POISONED, "ghost/1": RECORDINGS["claim/ghost"]}
    )
    page.get_by_label("no set").check()
    press(page, "Run")
    page.get_by_label("the job").select_option("ghost")
    expect(stage.locator(".said li")).to_have_count(0)
    expect(stage.locator(".quiz input:checked")).to_have_count(0)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()


def test_the_theme_follows_the_host(page: Page) -> None:
    """Light and dark are the host's to say, also while the stage is shown."""
    stage = mount(page)
    paper = "(root) => getComputedStyle(root).backgroundColor"
    assert stage.evaluate(paper) == "rgb(255, 255, 255)"
    page.evaluate("document.body.classList.add('dark')")
    expect(stage).to_have_attribute("data-dark", "")
    assert stage.evaluate(paper) == "rgb(19, 21, 24)"
    page.evaluate("document.body.classList.remove('dark')")
    expect(stage).not_to_have_attribute("data-dark", "")


def test_a_pick_asks_the_kernel_and_keeps_the_old_picture_meanwhile(page: Page) -> None:
    """Busy is said, not danced; the answer replaces picture and questions together."""
    stage = mount(page, picks=PICKS, choice={"case": "bad", "size": "1"}, shown={"case": "bad", "size": "1"})
    page.get_by_label("the job").select_option("ghost")
    assert page.evaluate("model.saved.at(-1).choice") == {"case": "ghost", "size": "1"}
    expect(stage.locator(".picks")).to_have_attribute("aria-busy", "true")
    expect(stage.locator(".big").first).to_have_text("pending → no set")
    press(page, "Step back")
    at(page, "5 / 6")
    answered = {"recording": RECORDINGS["claim/ghost"], "shown": {"case": "ghost", "size": "1"}, "predict": None}
    page.evaluate("(values) => model.receive(values)", answered)
    expect(stage.locator(".big").first).to_have_text("pending → gone")
    expect(stage.locator(".picks")).not_to_have_attribute("aria-busy", "true")


def test_a_kernel_that_is_gone_is_named_after_five_seconds(page: Page) -> None:
    """A message to a dead kernel fails in silence, so the stage says it, puts the pick back, and still steps."""
    stage = mount(page, picks=PICKS, choice={"case": "bad", "size": "1"}, shown={"case": "bad", "size": "1"})
    page.get_by_label("the job").select_option("ghost")
    page.clock.run_for(3000)  # the page's clock runs on by itself: a busy machine needs the rest
    expect(stage.locator(".trouble")).to_be_hidden()
    page.clock.run_for(2100)
    expect(stage.locator(".trouble")).to_have_text(
        "No kernel is running: run the cell above to choose another case; stepping still works."
    )
    expect(page.get_by_label("the job")).to_have_value("bad")
    press(page, "Step back")
    at(page, "5 / 6")


def test_a_kernel_that_is_slow_but_there_is_not_called_gone(page: Page) -> None:
    """It says that it has heard; a real restart may take its time."""
    stage = mount(page, picks=PICKS, choice={"case": "bad", "size": "1"}, shown={"case": "bad", "size": "1"})
    page.get_by_label("the job").select_option("ghost")
    page.evaluate("model.message({heard: true})")
    page.clock.run_for(60_000)
    expect(stage.locator(".trouble")).to_be_hidden()


BAD = {"case": "bad", "size": "1"}
GHOST = {"case": "ghost", "size": "1"}
BOTH = {"case": "ghost", "size": "2"}


def receive(page: Page, name: str, choice: dict[str, str], **more: Any) -> None:
    """Let the kernel answer a choice with a stored recording, as Python sends it."""
    values = {"recording": RECORDINGS[name], "shown": choice, "choice": choice, "answered": [], **more}
    page.evaluate("(values) => model.receive(values)", values)


def test_an_answer_to_an_older_pick_does_not_overwrite_a_newer_one(page: Page) -> None:
    """Two quick picks, one slow kernel: the stage waits for the last, and the picture stays until then."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD)
    page.get_by_label("the job").select_option("ghost")
    stage.locator(".picks").get_by_label("2").check()
    assert page.evaluate("model.saved.at(-1).choice") == BOTH
    receive(page, "claim/ordinary", GHOST)
    expect(stage.locator(".picks")).to_have_attribute("aria-busy", "true")
    expect(stage.locator(".big").first).to_have_text("pending → no set")
    expect(stage.locator(".picks").get_by_label("2")).to_be_checked()
    assert page.evaluate("model.get('choice')") == BOTH
    receive(page, "claim/ghost", BOTH)
    expect(stage.locator(".picks")).not_to_have_attribute("aria-busy", "true")
    expect(stage.locator(".big").first).to_have_text("pending → gone")
    expect(page.get_by_label("the job")).to_have_value("ghost")


def test_going_back_to_the_first_pick_before_the_second_has_run_ends_there(page: Page) -> None:
    """The answer to a pick that was taken back is not shown, and nothing that was answered is wiped by it."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD, predict=[WHERE])
    stage.locator(".quiz").get_by_label("no set").check()
    press(page, "Run")
    page.get_by_label("the job").select_option("ghost")
    page.get_by_label("the job").select_option("bad")
    receive(page, "claim/ghost", GHOST)
    expect(stage.locator(".big").first).to_have_text("pending → no set")
    expect(stage.locator(".said li")).to_have_count(1)
    expect(page.get_by_label("the job")).to_have_value("bad")
    receive(page, "claim/bad-attempts", BAD)
    expect(stage.locator(".picks")).not_to_have_attribute("aria-busy", "true")


def test_a_failure_of_an_older_pick_does_not_end_the_newer_one(page: Page) -> None:
    """The kernel says which choice it runs, so the stage knows which one failed."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD)
    page.get_by_label("the job").select_option("ghost")
    stage.locator(".picks").get_by_label("2").check()
    page.evaluate("(heard) => model.message({heard})", GHOST)
    page.evaluate("(values) => model.receive(values)", {"trouble": "It could not be run.", "choice": BAD})
    expect(stage.locator(".trouble")).to_be_hidden()
    expect(stage.locator(".picks")).to_have_attribute("aria-busy", "true")
    receive(page, "claim/ghost", BOTH, trouble="")
    expect(stage.locator(".big").first).to_have_text("pending → gone")


def test_every_pick_without_a_kernel_ends_in_the_quiet_sentence(page: Page) -> None:
    """The second as the first, also when the kernel dies while it runs; the old picture stays."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD)
    sentence = "No kernel is running: run the cell above to choose another case; stepping still works."
    for wait in (5_100, 5_100, 121_000):
        page.get_by_label("the job").select_option("ghost")
        expect(stage.locator(".picks")).to_have_attribute("aria-busy", "true")
        expect(stage.locator(".trouble")).to_be_hidden()
        if wait > 100_000:
            page.evaluate("(heard) => model.message({heard})", GHOST)
        page.clock.run_for(wait)
        expect(stage.locator(".trouble")).to_have_text(sentence)
        expect(stage.locator(".picks")).not_to_have_attribute("aria-busy", "true")
        expect(page.get_by_label("the job")).to_have_value("bad")
        expect(stage.locator(".big").first).to_have_text("pending → no set")


def test_a_pick_that_cannot_even_be_sent_ends_in_the_quiet_sentence(page: Page) -> None:
    """A channel that is closed throws; the reader is told all the same."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD)
    page.evaluate("() => { model.save_changes = () => { throw new Error('closed'); }; }")
    for _ in range(2):
        page.get_by_label("the job").select_option("ghost")
        page.clock.run_for(5_100)
        expect(stage.locator(".trouble")).to_contain_text("No kernel is running")
        expect(page.get_by_label("the job")).to_have_value("bad")


def test_an_answer_that_comes_after_all_is_not_forced_on_a_reader_who_has_gone_on(page: Page) -> None:
    """Given up after five seconds, and the reader answers about the old case: that stays; a pick fetches the new."""
    stage = mount(page, picks=PICKS, choice=BAD, shown=BAD, predict=[WHERE])
    page.get_by_label("the job").select_option("ghost")
    page.clock.run_for(5_100)
    stage.locator(".quiz").get_by_label("no set").check()
    receive(page, "claim/ghost", GHOST)
    expect(stage.locator(".quiz").get_by_label("no set")).to_be_checked()
    press(page, "Run")
    expect(stage.locator(".said li.right")).to_have_count(1)
    page.get_by_label("the job").select_option("ghost")
    press(page, "Show me without guessing")
    expect(stage.locator(".big").first).to_have_text("pending → gone")


def test_a_case_that_failed_is_told_and_the_old_one_stays(page: Page) -> None:
    """The sentence comes from Python; the pick goes back to what is on show."""
    stage = mount(page, picks=PICKS, choice={"case": "bad", "size": "1"}, shown={"case": "bad", "size": "1"})
    page.get_by_label("the job").select_option("ghost")
    sentence = "This case could not be run (KeyError: 'x'). The one before stays."
    page.evaluate("(values) => model.receive(values)", {"trouble": sentence, "choice": {"case": "bad", "size": "1"}})
    expect(stage.locator(".trouble")).to_have_text(sentence)
    expect(page.get_by_label("the job")).to_have_value("bad")
    expect(stage.locator(".big").first).to_have_text("pending → no set")


def test_what_ran_opens_at_the_line_of_the_step(page: Page) -> None:
    """The file follows the steps, inside its own box."""
    recording = json.loads(json.dumps(POISONED))
    recording["executors"][0]["frames"][1]["line"] = 70
    stage = mount(page, recording=recording, sources=SOURCES, step=3)
    stage.get_by_text("Show what ran").click()
    expect(stage.locator(".ln.here")).to_have_text("line 70\n")
    stage.locator(".src").scroll_into_view_if_needed()
    expect(stage.locator(".ln.here")).to_be_in_viewport()
    assert stage.locator(".src pre").evaluate("(pre) => pre.scrollTop > 500")
    press(page, "Step forward")
    expect(stage.locator(".ln.here")).to_have_text("line 5\n")


def test_the_case_is_json_that_can_be_run(page: Page) -> None:
    """What is shown is the case itself; a column that makes another call adds its own."""
    recording = json.loads(json.dumps(POISONED))
    recording["executors"][1]["when"] = [{"verb": "reap"}]
    stage = mount(page, recording=recording)
    texts = stage.locator("details", has_text="The case").last.locator("pre").all_text_contents()
    assert [json.loads(text) for text in texts] == [
        recording["case"],
        {**recording["case"], "when": [{"verb": "reap"}]},
    ]


def test_a_recording_may_say_more_of_itself_than_its_case_does(page: Page) -> None:
    """Its own numbers come in the place of the case's, below a sentence of its own; both wait for a prediction."""
    sentences = {"1": "The pause.", "8": "The stamp."}
    stage = mount(page, "six/pause", divergences=sentences)
    assert RECORDINGS["six/pause"]["case"]["differs"] == [8]
    expect(stage.locator(".about")).to_have_text("≠ 1 The pause.")
    told = {**RECORDINGS["six/pause"], "about": "Another client came in between."}
    mount(page, recording=told, divergences=sentences)
    expect(stage.locator(".about span")).to_have_text(["Another client came in between.", "≠ 1 The pause."])
    mount(page, recording={**told, "change": {"was": "a = 1", "is": ""}}, divergences={"1": "The pause."})
    lines = ["was a = 1", "is no such line"]
    expect(stage.locator(".about span")).to_have_text([told["about"], *lines, "≠ 1 The pause."])
    expect(stage.locator(".about code")).to_have_text("a = 1")
    mount(page, recording=told, divergences=sentences, predict=[WHERE])
    expect(stage.locator(".about")).to_be_empty()


def test_what_is_unfolded_stays_so_with_another_case(page: Page) -> None:
    """A reader compares two cases without unfolding each again."""
    stage = mount(page, picks=PICKS, recordings={"bad/1": POISONED, "ghost/1": RECORDINGS["claim/ghost"]})
    stage.get_by_text("The case", exact=True).click()
    page.get_by_label("the job").select_option("ghost")
    expect(stage.locator("details[open]")).to_have_count(1)
    expect(stage.locator("details[open]")).to_contain_text(RECORDINGS["claim/ghost"]["case"]["name"])


def test_link_to_this_is_a_code_and_a_step(page: Page) -> None:
    """It says that it was copied, and before it is pressed what it is good for."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    stage = mount(page, step=4)
    link = page.get_by_role("button", name="Link to this", exact=True)
    expect(link).to_have_accessible_description(
        "Copies a code for this case and this step. To come back, paste it into emqlab_widgets.open(…)."
    )
    link.click()
    expect(stage.locator("output.code")).to_have_text(f"Copied: side-by-side/bad-attempts@4 {BACK}")
    assert page.evaluate("navigator.clipboard.readText()") == "side-by-side/bad-attempts@4"


def test_link_to_this_can_be_read_where_nothing_may_be_copied(page: Page) -> None:
    """A page without the right to copy does not claim that it did."""
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    stage = mount(page, step=4)
    press(page, "Link to this")
    expect(stage.locator("output.code")).to_have_text(f"Copy this: side-by-side/bad-attempts@4 {BACK}")


TWO = """async ([values, tags]) => {
  window.model.values.title = "One";
  const Model = window.model.constructor;
  for (const tag of tags) {
    const {default: stage} = await import(`/widgets/emqlab_widgets/stage.js?${tag}`);
    const el = document.body.appendChild(document.createElement("div"));
    el.id = tag;
    const model = new Model({title: tag, question: "", view: "stage", picks: [], choice: {}, ...values});
    stage.render({model, el});
  }
}"""


def test_two_stages_on_one_page_do_not_answer_for_each_other(page: Page) -> None:
    """Each widget loads its own module: names and ids are the page's to keep apart."""
    mount(page, predict=[WHERE])
    page.evaluate(TWO, [{"recording": POISONED, "predict": [WHERE], "picks": PICKS}, ["one", "two"]])
    one, two = page.locator("#one"), page.locator("#two")
    one.get_by_label("gone").check()
    one.locator(".picks").get_by_label("2").check()
    two.get_by_label("no set").check()
    two.locator(".picks").get_by_label("1").check()
    expect(one.get_by_label("gone")).to_be_checked()
    expect(one.locator(".picks").get_by_label("2")).to_be_checked()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((n) => n.id)")
    assert len(ids) == len(set(ids))
    for name in ("one", "two"):
        expect(page.locator(f"#{name}").get_by_role("region", name=name, exact=True)).to_be_visible()


CONTRAST = r"""() => {
  const light = (css) => {
    const channel = (v) => (v / 255 <= .03928 ? v / 3294.6 : ((v / 255 + .055) / 1.055) ** 2.4);
    const [r, g, b] = css.match(/[\d.]+/g).map(channel);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  return [...document.querySelectorAll(".emq .chip")].flatMap((chip) => {
    const [own, number] = [chip.querySelector(":scope > text"), chip.querySelector(".seal text")];
    const of = (text, ground) => ratio(getComputedStyle(text).fill, getComputedStyle(ground).fill);
    const kind = chip.getAttribute("class").trim().replace(/ +/g, " ");
    return [[kind, of(own, chip.querySelector("rect"))],
      ...(number ? [[`${kind} seal`, of(number, chip.querySelector(".seal path"))]] : [])];
  });
}"""


# Walks every step and names the labels of the drawing that the now line crosses or a chip covers.
CROSSED = r"""() => {
  const bad = new Set(), range = document.querySelector(".emq .transport input");
  for (let i = 0; i <= +range.max; i++) {
    range.value = i;
    range.dispatchEvent(new Event("input", {bubbles: true}));
    for (const svg of document.querySelectorAll(".emq .rails")) {
      const box = (node) => node.getBoundingClientRect(), line = box(svg.querySelector(".now"));
      const chips = [...svg.querySelectorAll(".chip > rect, .was")].map(box);
      for (const text of svg.querySelectorAll(":scope > g:first-child text.small")) {
        const own = box(text), high = own.top < line.bottom && own.bottom > line.top;
        if (high && own.left < line.left && own.right > line.right) bad.add(`step ${i}: crossed: ${text.textContent}`);
        const near = chips.filter((c) => c.left < own.right && c.right > own.left);
        const over = near.some((c) => c.top < own.bottom - 3 && c.bottom > own.top + 3);
        if (over) bad.add(`step ${i}: covered: ${text.textContent}`);
      }
    }
  }
  return [...bad];
}"""


@pytest.mark.parametrize("width", [360, 920])
def test_no_label_is_crossed_by_the_now_line_or_covered_by_a_chip(page: Page, width: int) -> None:
    """The time a job has left stands where it can be read, and so does the word now."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(reduced_motion="reduce")
    for name in RECORDINGS:
        mount(page, name)
        assert page.evaluate(CROSSED) == [], name


@pytest.mark.parametrize("width", [360, 920])
def test_an_expired_lease_says_so_clear_of_the_place_its_job_has_left(page: Page, lab: emqlab.Lab, width: int) -> None:
    """Where now stands far right the words have little room behind its line: they take two lines, or go above."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(reduced_motion="reduce")
    mount(page, recording=after_hours(lab).recording)
    assert page.evaluate(CROSSED) == []


# Walks every step and answers the heights at which the rails stood.
STOOD = r"""() => {
  const at = new Set(), range = document.querySelector(".emq .transport input");
  for (let i = 0; i <= +range.max; i++) {
    range.value = i;
    range.dispatchEvent(new Event("input", {bubbles: true}));
    at.add(document.querySelector(".emq .railbox .mark").getBoundingClientRect().top);
  }
  return at.size;
}"""


def test_the_rails_stand_still_while_a_run_is_stepped_through(page: Page) -> None:
    """A sentence of two lines, an answer, a stamp: there was room for them before they came."""
    page.set_viewport_size({"width": 920, "height": 1000})
    page.emulate_media(reduced_motion="reduce")
    mount(page)
    assert page.evaluate(STOOD) == 1


def test_the_legend_has_every_sign_and_being_busy_is_a_sentence_of_its_own(page: Page) -> None:
    """The dotted circle is explained; while a case runs the sentence about the old one makes way."""
    stage = mount(page, "claim/ghost", picks=PICKS, choice=BAD, shown=BAD, sources=SOURCES)
    expect(stage.locator(".legend")).to_contain_text("read in its own round trip")
    expect(stage.locator(".about > span")).to_have_count(1)
    page.get_by_label("the job").select_option("ghost")
    expect(stage.locator(".about > span")).to_be_hidden()
    assert stage.locator(".src pre").evaluate("(pre) => getComputedStyle(pre).whiteSpace") == "pre-wrap"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_on_a_chip_can_be_read(page: Page, dark: bool) -> None:
    """The id on its chip and the number in its octagon, also in the chip of an id in hand."""
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    recording = json.loads(json.dumps(RECORDINGS["claim/ordinary"]))
    recording["before"]["rows"][recording["subject"]]["attempts"] = "3"
    seen: dict[str, float] = {}
    for shown in (recording, POISONED, RECORDINGS["reap/many"], RECORDINGS["claim/ghost"]):
        mount(page, recording=shown)
        for _ in shown["steps"]:
            seen |= dict(page.evaluate(CONTRAST))
            page.get_by_role("button", name="Step back").focus()
            page.keyboard.press("ArrowLeft")
    assert set(seen) >= {"chip", "chip seal", "chip held", "chip held seal", "chip lost", "chip other", "chip ghost"}
    assert {kind: ratio for kind, ratio in seen.items() if ratio < 4.5} == {}


def test_python_can_move_a_stage_that_is_on_show(page: Page) -> None:
    """Setting the step goes there; it is not a reason to begin anew."""
    mount(page)
    page.evaluate("model.receive({step: 2})")
    at(page, "2 / 6")


def test_a_newer_recording_is_not_guessed_at(page: Page) -> None:
    """A reader of version 1 says so instead of drawing something."""
    stage = mount(page, recording={**POISONED, "v": 2})
    expect(stage.locator(".trouble")).to_have_text("This recording is of version 2; this page reads version 1.")


def test_hostile_texts_are_only_texts(page: Page) -> None:
    """Payloads, names and ids are data: nothing in them is ever run or parsed as markup."""
    evil = "<img src=x onerror=window.pwned=1>"
    text = json.dumps(POISONED).replace("JOB0KHTOWnGLuC", evil).replace("tea", evil).replace("which token?", evil)
    recording = json.loads(text)
    recording["before"]["other"] = {evil: evil, "__proto__": "x", "constructor": "y"}
    recording["before"]["sets"][evil] = {evil: "0", "constructor": "0"}
    stage = mount(
        page, recording=recording, title=evil, question=evil, sources={"scripted": {"name": evil, "text": evil}}
    )
    expect(stage.locator(".big").first).to_contain_text(evil)
    expect(stage.locator("img")).to_have_count(0)
    assert page.evaluate("window.pwned") is None


def test_where_nothing_is_declared_the_line_says_what_was_seen(page: Page) -> None:
    """The executors agree all along, part on the way and end alike, or were sent nothing: told from the run on show."""
    with emqlab.open_lab("embedded") as lab:
        life, enqueue = record(lab, cases.LIFE["every"], detail="calls"), record(lab, cases.TRANSITION["enqueue"])
        none = record(lab, {**cases.LIFE["quiet"], "when": []}, detail="calls")
    lines = {}
    for name, recording in {"both": life, "alike": enqueue, "none": none}.items():
        page.evaluate("(values) => mountStage(values)", {"recording": recording})
        lines[name] = page.locator(".emq .about").inner_text()
    assert lines == {
        "both": "They differ on the way, and end with the same replies and keys.",
        "alike": "No declared divergence: both end with the same replies and keys.",
        "none": "Nothing was sent.",
    }


def test_in_a_life_of_whole_calls_the_now_line_moves_with_the_clock(page: Page) -> None:
    """Eight seconds pass between two calls: the line moves right, and the token on the chip with the claims."""
    stage = mount(page, "calls/life", step=2)
    now = "() => +document.querySelector('.rails .now').getAttribute('d').match(/M([\\\\d.]+)/)[1]"
    before = page.evaluate(now.replace("\\\\", "\\"))
    expect(stage.locator(".chip .seal").first).to_have_text("1")
    press(page, "Step forward")
    expect(stage.locator(".ans").first).to_have_text("nothing is sent")
    assert page.evaluate(now.replace("\\\\", "\\")) > before + 20
    page.keyboard.press("End")
    expect(stage.locator(".chip .seal").first).to_have_text("3")


def test_an_id_in_two_sets_has_a_chip_in_each(page: Page) -> None:
    """Where it still is nothing is dashed, as if it had left; a step before it has one chip again."""
    with emqlab.open_lab("embedded") as lab:
        recording = record(lab, cases.after_hours("swept", "delay"), detail="calls")
    page.evaluate("(values) => mountStage(values)", {"recording": recording})
    expect(page.locator(".chip")).to_have_count(3)
    expect(page.locator(".was")).to_have_count(0)
    press(page, "Step back")
    expect(page.locator(".chip")).to_have_count(2)
    expect(page.locator(".was")).to_have_count(2)


def test_two_workers_show_both_holders_and_the_refusal(page: Page) -> None:
    """The diagram is drawn from the run: an event can be clicked, and the late worker's answer is refused."""
    stage = mount(page, "workers/reclaimed")
    expect(stage.locator(".timespace .both")).to_have_count(1)
    expect(stage.locator(".timespace tspan.bad")).to_have_text("refused")
    stage.locator(".timespace .event[data-n='5']").click()
    at(page, "5 / 7")
    mount(page, "workers/in-time")
    expect(page.locator(".timespace .both")).to_have_count(0)


def test_a_stage_that_is_taken_away_leaves_nothing_behind(page: Page) -> None:
    """Its timers and its ears on the model end with it."""
    mount(page)
    press(page, "Run")
    page.evaluate("() => { unmount(); delete window.unmount; }")
    assert page.evaluate("Object.values(model.heard).flat().length") == 0
    page.clock.run_for(5000)
    at(page, "0 / 6")


CELL = """
import json, pathlib
from emqlab_widgets import Stage, after_hours
recordings = json.loads(pathlib.Path({stored!r}).read_text(encoding="utf-8"))
heard = []
stage = Stage(
    title="Side by side",
    picks=[{{"name": "case", "label": "the job at the head", "options": ["bad-attempts", "ghost", "missing"]}}],
    record=lambda choice: recordings["claim/" + choice["case"]],
    predict=lambda choice: [dict(ask="Where?", about="scripted/place", options=["no set", "gone"])],
)
stage.on_answered(heard.append)
stage
"""


def test_in_jupyterlab_picks_run_in_python_and_a_dead_kernel_is_named(
    desk: Desk, lab_server: LabServer, run_all: Callable[..., dict[str, Any]]
) -> None:
    """The whole round trip: pick, predict, be heard by Python, fail with a sentence, lose the kernel."""
    code = CELL.format(stored=str(ROOT / "tests/widgets/recordings.json"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)], metadata={"kernelspec": kernel})
    nbformat.write(notebook, lab_server.root / "stage.ipynb")
    page = desk.open("stage.ipynb")
    assert run_all(page)["errors"] == []
    stage = page.locator(".jp-OutputArea-output .emq")
    pick = stage.get_by_label("the job at the head")
    pick.select_option("ghost")
    expect(stage.locator(".picks")).not_to_have_attribute("aria-busy", "true")
    stage.get_by_label("gone").check()
    stage.get_by_role("button", name="Run", exact=True).click()
    expect(stage.locator(".said li.right")).to_contain_text("You said gone.")
    expect(stage.locator(".big").first).to_have_text("pending → gone")
    pick.select_option("missing")
    expect(stage.locator(".trouble")).to_contain_text("This case could not be run (KeyError: 'claim/missing').")
    expect(pick).to_have_value("ghost")
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    pick.select_option("bad-attempts")
    expect(stage.locator(".trouble")).to_contain_text("No kernel is running", timeout=20_000)
    expect(pick).to_have_value("ghost")
    stage.get_by_role("button", name="Step back").click()
    expect(stage.locator(".count")).to_contain_text("6 / 7")
    desk.clear()  # what the page still says of its dead kernel is of this test
    desk.problems.forgive("Could not send widget sync message")


def test_in_jupyterlab_an_untrusted_notebook_keeps_the_run_folded(desk: Desk, lab_server: LabServer) -> None:
    """Its sanitizer leaves details and summary: a reader who opens the file sees questions, and the run on request."""
    stage = Stage(title="Kept", record=lambda choice: POISONED, predict=[WHERE])
    data, _ = stage._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", {kind: data[kind] for kind in ("text/html", "text/plain")})
    cell = nbformat.v4.new_code_cell("stage", outputs=[output], execution_count=1)
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(
        nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), lab_server.root / "kept.ipynb"
    )
    page = desk.open("kept.ipynb")
    kept = page.locator(".jp-OutputArea-output")
    expect(kept.get_by_text("Where does the script leave it?").first).to_be_visible()
    expect(kept.get_by_role("img")).to_be_hidden()
    expect(kept.locator("table").first).to_be_hidden()
    kept.get_by_text("The run, if you only read along").click()
    expect(kept.get_by_role("img")).to_be_visible()
    expect(kept.locator("table").first).to_be_visible()
