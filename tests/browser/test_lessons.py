"""The widgets of dive 01 in JupyterLab: predict, run, step, pick again."""

from playwright.sync_api import Locator, Page, expect

#: What the fixture ``lesson`` opens.
LESSON = "01_state_and_attempts.ipynb"


def stage_of(page: Page, title: str) -> Locator:
    """The first live stage of that title."""
    stage = page.locator("section.emq").filter(has=page.get_by_role("heading", name=title, exact=True)).first
    stage.scroll_into_view_if_needed()
    return stage


AFTER_SCRIPT = "Where is the job after the script?"
AFTER_VERB = "Where is the job after the verb?"
CHANGE = "By how much does the verb change attempts?"
FIRST = "What does the verb write into attempts?"
HOLDS = "What does attempts hold after the verbs?"
AT_END = "Where is the job after the verbs?"


def answer(stage: Locator, guesses: dict[str, str]) -> None:
    """Answer each question and press Run."""
    for question, guess in guesses.items():
        stage.get_by_role("group", name=question).get_by_role("radio", name=guess, exact=True).check()
    stage.get_by_role("button", name="Run", exact=True).click()


def column(stage: Locator, place: int) -> Locator:
    """An executor's column: 0 scripted, 1 native."""
    return stage.locator("article").nth(place)


def at_step(stage: Locator, number: int) -> None:
    """Hold that the stage is at that step."""
    expect(stage.get_by_role("slider")).to_have_value(str(number))


def test_a_reader_predicts_runs_and_steps_through_a_transition(lesson: Page) -> None:
    """The outcome is held back until both questions are answered; each executor's column then says how it went."""
    lesson.emulate_media(reduced_motion="reduce")
    stage = stage_of(lesson, "Transition")
    stage.get_by_role("combobox").select_option("claim")
    expect(column(stage, 0)).to_contain_text("in pending")
    expect(stage.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    expect(stage.locator("table.trace")).to_have_count(0)
    answer(stage, {AFTER_VERB: "active", CHANGE: "0"})
    expect(column(stage, 0)).to_contain_text("pending → active")
    expect(column(stage, 1)).to_contain_text("pending → active")
    expect(column(stage, 1)).to_contain_text("✓ right")
    expect(column(stage, 1)).to_contain_text("✗ wrong")
    expect(column(stage, 1)).to_contain_text("it is +1")
    steps = stage.locator("table.trace tbody tr")
    last = steps.count()
    assert last > 10
    at_step(stage, last)
    stage.get_by_role("button", name="Step back").click()
    at_step(stage, last - 1)
    stage.get_by_role("slider").press("Home")
    at_step(stage, 0)
    expect(column(stage, 1)).to_contain_text("Nothing has been sent.")
    stage.get_by_role("button", name="Step forward").click()
    at_step(stage, 1)


def test_another_pick_brings_another_run_its_questions_and_its_files(lesson: Page) -> None:
    """The kernel runs the new case, and the files on show are the ones that ran it."""
    lesson.emulate_media(reduced_motion="reduce")
    stage = stage_of(lesson, "Transition")
    answer(stage, {AFTER_VERB: "pending", FIRST: "0"})
    expect(column(stage, 1)).to_contain_text("new → pending")
    stage.get_by_role("combobox").select_option("requeue")
    expect(column(stage, 0)).to_contain_text("in active")
    answer(stage, {AFTER_SCRIPT: "active", AFTER_VERB: "pending", CHANGE: "0"})
    expect(column(stage, 0)).to_contain_text("stays in active")
    expect(column(stage, 1)).to_contain_text("active → pending")
    expect(stage.get_by_text("≠ 21")).to_be_visible()
    expect(column(stage, 0).get_by_text("✓ right")).to_have_count(1)
    expect(column(stage, 1).get_by_text("✓ right")).to_have_count(2)
    stage.get_by_text("Show what ran").click()
    expect(stage.locator("figcaption code")).to_have_text(["requeue.py"])


def test_a_lease_that_is_swept_too_early_makes_no_token(lesson: Page) -> None:
    """Each pick of the lease stage is a new run: the length, the moment of the sweep and the cap."""
    lesson.emulate_media(reduced_motion="reduce")
    stage = stage_of(lesson, "Lease")
    answer(stage, {HOLDS: "2", AT_END: "active"})
    for place in (0, 1):
        expect(column(stage, place)).to_contain_text("pending → active")
    expect(column(stage, 1).get_by_text("✓ right")).to_have_count(2)
    stage.get_by_role("combobox").first.select_option("before")
    expect(stage.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    stage.get_by_role("radio", name="30 s", exact=True).check()
    expect(stage.get_by_role("radio", name="30 s", exact=True)).to_be_checked()
    stage.get_by_text("The case", exact=True).click()
    expect(stage.locator("details[open]")).to_contain_text('"lease_ms": "30000"')
    answer(stage, {HOLDS: "1", AT_END: "active"})
    expect(column(stage, 1).get_by_text("✓ right")).to_have_count(2)
    expect(stage.locator("table.trace")).to_contain_text("EMQ.CLAIM 3 pending active base 30000")
