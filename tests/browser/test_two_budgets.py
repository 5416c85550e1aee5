"""Two budgets in Chromium: a history is composed by mouse and keyboard, the chart is Python's, and links lead back."""

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import emqlab_widgets as widgets
from emqlab.teach.history import HISTORIES
from emqlab_widgets import chart
from tests.browser import conftest
from tests.browser.test_stage import BACK, CLIPPED, at, press

LOST = HISTORIES["lost"]
OTHERS = (
    ("claim fail claim requeue claim lapse claim fail claim delay claim fail", "2"),
    ("fail lapse claim lapse claim fail claim fail", "1"),
    ("claim", "5"),
)


def sent(moves: str, cap: str = "3", *, predict: bool = False) -> dict[str, Any]:
    """All that Python sends of a history."""
    stage = widgets.two_budgets(choice={"moves": moves, "max_attempts": cap}, predict=predict)
    return conftest.sent(stage)


def mount(page: Page, values: dict[str, Any]) -> Locator:
    """Put a stage on the page."""
    page.evaluate("(values) => mountStage(values)", values)
    return page.locator(".emq")


def moves_sent(page: Page) -> Any:
    """The moves that the browser has sent last."""
    return page.evaluate("model.saved.at(-1).choice.moves")


def focused(page: Page) -> Any:
    """What a screen reader calls the part that has the focus."""
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")


def test_the_chart_in_the_browser_is_the_one_in_python(page: Page) -> None:
    """Moves, counters, deaths and where the executors part: derived twice, the same."""
    for moves, cap in ((LOST, "3"), *OTHERS):
        recording = sent(moves, cap)["recording"]
        found = chart.budgets(recording)
        columns = [
            {
                "name": one.name,
                "counter": one.counter,
                "each": [list(step) for step in one.each],
                "spent": list(one.spent),
                "died": one.died,
            }
            for one in found.columns
        ]
        moved = [list(move) for move in found.moves]
        expected = {"moves": moved, "cap": found.cap, "columns": columns, "parted": list(found.parted)}
        assert page.evaluate("(rec) => derived.budgets(rec)", recording) == expected


def test_a_history_is_composed_by_mouse(page: Page) -> None:
    """Moves are added, taken out, taken back and cleared; each time the kernel is asked, and a sentence says so."""
    stage = mount(page, sent(LOST))
    live = stage.locator(".moves [aria-live]")
    press(page, "+ claim")
    page.evaluate("model.message({heard: true})")  # a kernel is there, and takes its time
    expect(live).to_have_text("claim added, 7 moves")
    assert moves_sent(page) == f"{LOST} claim"
    expect(page.get_by_label("start from")).to_have_value("")
    press(page, "remove 4: lapse")
    expect(live).to_have_text("lapse removed, 6 moves")
    assert moves_sent(page) == "claim fail claim claim fail claim"
    press(page, "undo")
    expect(live).to_have_text("undone, 7 moves")
    assert moves_sent(page) == f"{LOST} claim"
    press(page, "clear")
    expect(live).to_have_text("cleared, no moves")
    assert moves_sent(page) == ""
    page.get_by_label("start from").select_option("released twice, then fails")
    assert moves_sent(page) == HISTORIES["released"]
    for _ in range(6):
        press(page, "+ lapse")
    page.keyboard.press("Enter")
    expect(live).to_have_text("12 moves are the most")
    expect(page.get_by_role("list", name="the history").get_by_role("button")).to_have_count(12)


def test_a_history_is_composed_by_keyboard_and_the_focus_stays(page: Page) -> None:
    """Through the redraw that a new recording brings too; where a token goes, the next one has the focus."""
    stage = mount(page, sent("claim"))
    page.get_by_role("button", name="+ fail", exact=True).focus()
    page.keyboard.press("Enter")
    page.evaluate("(values) => model.receive(values)", sent("claim fail"))
    at(page, "3 / 3")
    assert focused(page) == "+ fail"
    for key in ("Shift+Tab", "Shift+Tab", "Shift+Tab"):
        page.keyboard.press(key)
    assert focused(page) == "remove 1: claim"
    page.keyboard.press("Space")
    assert focused(page) == "remove 1: fail"
    page.keyboard.press("Enter")
    assert focused(page) == "+ claim"
    assert moves_sent(page) == ""
    expect(stage.locator(".moves .many")).to_have_text("0 of 12 moves")


def test_the_chart_is_drawn_and_leads_to_the_steps(page: Page) -> None:
    """The cross stands on the line whose job is dead, the pen where the executors part; a click goes to a move.

    A move is filled from its first step on, and what is written at the lines' ends is of the step on show.
    """
    stage = mount(page, sent(LOST))
    expect(stage.locator(".budgets .dead")).to_have_count(1)
    expect(stage.locator(".budgets .both")).to_have_count(1)
    stage.locator(".budgets text", has_text="lapse").click()
    at(page, "6 / 9")
    expect(stage.locator(".budgets .dead.later")).to_have_count(1)
    ends = stage.locator(".budgets .who + text")
    expect(ends).to_have_text(["attempts 2", "failures 1"])
    press(page, "Step forward")
    expect(ends).to_have_text(["attempts 3", "failures 1"])
    press(page, "Step forward")
    expect(ends).to_have_text(["attempts 3, dead", "failures 2"])
    expect(stage.locator(".budgets .later:not(path)")).to_have_count(0)
    stage.get_by_text("The same as a table").click()
    expect(stage.get_by_role("row", name="6 fail")).to_contain_text("attempts 3 of 3, dead")


def test_the_chart_waits_for_the_answers(page: Page) -> None:
    """It would tell them."""
    stage = mount(page, sent(LOST, predict=True))
    expect(stage.locator(".budgets")).to_have_count(0)
    press(page, "Show me without guessing")
    expect(stage.locator(".budgets")).to_have_count(1)


@pytest.mark.parametrize("width", [360, 700, 920])
def test_twelve_moves_fit(page: Page, width: int) -> None:
    """Tokens wrap, words under the chart lean, and nothing leaves the page; unfolded tables neither."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(reduced_motion="reduce")
    stage = mount(page, sent(*OTHERS[0]))
    for summary in stage.locator("summary").all():
        summary.click()
    assert page.evaluate(CLIPPED) == []


def test_what_ran_follows_whole_calls_and_each_file_has_a_link(page: Page) -> None:
    """The file of the step is shown; its link names the executor, and such a code unfolds it."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    stage = mount(page, {**sent(LOST), "step": 6})
    stage.get_by_text("Show what ran").click()
    names = stage.locator("figcaption > code")
    expect(names).to_have_text(["sweep_stalled.lua", "stalled_check.py"])
    page.get_by_role("button", name="Link to this line").nth(1).click()
    code = f"two-budgets/{LOST}/3@6:native"
    expect(stage.locator("figure").nth(1).locator("output")).to_have_text(f"Copied: {code} {BACK}")
    press(page, "Step back")
    press(page, "Step back")
    expect(names).to_have_text(["claim.lua", "claim.py"])
    opened = widgets.open(code)
    mount(page, conftest.sent(opened))
    press(page, "Show me without guessing")
    at(page, "6 / 9")
    expect(stage.locator("figure.asked code").first).to_have_text("stalled_check.py")
    expect(stage.locator("figure.asked")).to_be_visible()


def test_each_form_of_the_case_can_be_copied(page: Page) -> None:
    """What is copied is what is shown; where nothing may be copied it is selected, and the page says so."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    stage = mount(page, sent("claim lapse claim fail claim fail", "2"))
    stage.get_by_text("The case", exact=True).click()
    press(page, "Copy the case of the verbs")
    expect(stage.locator(".form output").nth(1)).to_have_text("Copied")
    form = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert [step["token"] for step in form["when"] if step.get("verb") == "fail"] == ["2", "3"]
    page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    press(page, "Copy the case of the scripts")
    expect(stage.locator(".form output").first).to_have_text("It is selected: copy it with the keyboard or the menu.")
    selected = json.loads(page.evaluate("String(getSelection())"))
    assert [step["token"] for step in selected["when"] if step.get("verb") == "fail"] == ["2", "2"]


def test_the_divergences_of_both_forms_are_listed_in_order(page: Page) -> None:
    """The verbs' own case names one between those of the scripts'."""
    stage = mount(page, sent("claim requeue claim lapse claim fail", "2"))
    expect(stage.locator(".about b")).to_have_text(["≠ 8", "≠ 9", "≠ 21"])


def test_every_key_is_a_table_that_follows_the_steps(page: Page) -> None:
    """The differing ones have the pen, the sign and the word."""
    stage = mount(page, sent(LOST))
    stage.get_by_text("Every key", exact=True).click()
    row = stage.locator(".every tr", has_text="row failures")
    expect(row.locator(".differs")).to_have_text(["absent, differs", "2, differs"])
    expect(row.locator("th")).to_have_text("≠ row failures")
    page.get_by_role("button", name="Run", exact=True).focus()
    page.keyboard.press("Home")
    expect(row).to_have_count(0)
    expect(stage.locator(".every caption")).to_have_text("Every key, before and now. Before the call.")


def test_each_move_says_what_it_sends(page: Page) -> None:
    """Word for word what Python says of it: it is the only place where a lapse is explained."""
    values = sent(LOST)
    stage = mount(page, values)
    stage.get_by_text("What each move sends").click()
    (pick,) = (one for one in values["picks"] if one["kind"] == "moves")
    shown = stage.locator(".what dl")
    assert [option["value"] for option in pick["options"]] == shown.locator("dt").all_inner_texts()
    assert [option["about"] for option in pick["options"]] == shown.locator("dd").all_inner_texts()
