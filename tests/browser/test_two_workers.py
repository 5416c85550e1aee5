"""Two workers in Chromium: events are dragged, moved by keys and by number, and the run says who was refused."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.story import alike
from emqlab.teach import plan
from tests.browser.conftest import sent
from tests.browser.problems import Problems

PRESET = "A-claims@0 A-stalls@2 sweep@10 B-claims@14 A-completes@16 B-completes@18"

# What sticks out of the widget, or makes the page wider than the window.
OUT = """() => {
  const edge = document.querySelector(".emq").getBoundingClientRect(), bad = new Set();
  if (document.documentElement.scrollWidth > innerWidth) bad.add("the page is too wide");
  for (const node of document.querySelectorAll(".timespace :is(text, rect.lease, circle, .msg), .numbers label")) {
    const box = node.getBoundingClientRect();
    if (box.width && (box.left < edge.left - 1 || box.right > edge.right + 1)) bad.add(node.textContent || "a shape");
  }
  const boxes = [...document.querySelectorAll(".timespace:first-of-type > text:not(.small, .who)")];
  const rects = boxes.map((node) => node.getBoundingClientRect());
  rects.forEach((a, k) => rects.slice(k + 1).forEach((b, m) => {
    const over = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
    if (over) bad.add(`${boxes[k].textContent} over ${boxes[k + 1 + m].textContent}`);
  }));
  return [...bad];
}"""


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    """The plain page, 920 wide, its clock in the test's hand; the test fails on anything that ``Problems`` notes."""
    context = chromium.new_context(viewport={"width": 920, "height": 1200}, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(10_000)
    problems = Problems()
    problems.watch(page)
    page.clock.install()
    page.goto(address)
    page.wait_for_function("!!window.mountStage")
    yield page
    context.close()
    assert problems.seen == []


Answer = Callable[[], dict[str, str]]


@pytest.fixture
def mount(page: Page, lab: emqlab.Lab) -> Callable[..., Answer]:
    """A function that mounts the widget. It answers another that asks Python for what the page chose."""

    def mounted(choice: dict[str, str] | None = None, predict: bool = False, **more: Any) -> Answer:
        stage = widgets.two_workers(lab, choice, predict, **more)
        page.evaluate("(values) => mountStage(values)", sent(stage))

        def answer() -> dict[str, str]:
            asked: dict[str, str] = page.evaluate("model.values.choice")
            stage.choice = asked
            page.evaluate("(values) => model.receive(values)", sent(stage))
            return asked

        return answer

    return mounted


def slider(page: Page, name: str) -> Locator:
    """What moves an event, by the event's words."""
    return page.get_by_role("slider", name=name, exact=True)


def drag(page: Page, name: str, seconds: float) -> None:
    """Drag an event by so many seconds, with the mouse, as far as two seconds are apart on the drawing's own ticks."""
    box = slider(page, name).bounding_box()
    assert box is not None
    ticks = page.locator(".timespace").first.locator(".tick")
    first, second = ticks.nth(0).bounding_box(), ticks.nth(1).bounding_box()
    assert first is not None
    assert second is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + seconds * (second["x"] - first["x"]) / 4, y + 3)
    page.mouse.move(x + seconds * (second["x"] - first["x"]) / 2, y + 3)


def test_a_dragged_event_is_run_again_and_keeps_the_focus(page: Page, mount: Callable[..., Answer]) -> None:
    """A completes before B claims instead of after it: it was refused, and is not any more."""
    answer = mount()
    refused = page.locator(".timespace tspan.bad")
    expect(refused).to_have_text("refused")
    expect(page.locator(".outcome")).to_have_text("A completes: refused; B completes: done")
    drag(page, "A completes", -3)
    expect(page.locator(".ghost")).to_have_text("A completes: 13 s")
    expect(refused).to_have_count(1)  # what ran stays drawn until another run has come
    page.mouse.up()
    moved = PRESET.replace(" B-claims@14 A-completes@16", " A-completes@13 B-claims@14")
    assert answer() == {"plan": moved, "lease": "6000"}
    expect(refused).to_have_count(0)
    expect(page.locator(".outcome")).to_have_text("A completes: done; B completes: no token")
    expect(page.locator(".ghost")).to_be_hidden()
    expect(slider(page, "A completes")).to_be_focused()
    expect(slider(page, "A completes")).to_have_attribute("aria-valuetext", "A completes at 13 s, after the sweep")
    expect(page.get_by_label("A comes back")).to_have_value(moved)


def test_keys_move_an_event_and_one_run_is_asked_for(page: Page, mount: Callable[..., Answer]) -> None:
    """By a second, by a tenth, by five; to either end; and the stage underneath does not step meanwhile."""
    answer = mount()
    late = slider(page, "A completes")
    late.focus()
    for key, text in [
        ("ArrowLeft", "A completes at 15 s, after B claims"),
        ("Shift+ArrowRight", "A completes at 15.1 s, after B claims"),
        ("PageDown", "A completes at 10.1 s, after the sweep"),
        ("End", "A completes at 21 s, after B completes"),
        ("Home", "A completes at 0 s, after A claims"),
        ("PageUp", "A completes at 5 s, after A falls silent"),
    ]:
        page.keyboard.press(key)
        expect(late).to_have_attribute("aria-valuetext", text)
    expect(page.locator(".emq .count")).to_contain_text("7 / 7")
    assert page.evaluate("model.saved.length") == 0
    page.clock.run_for(600)
    assert page.evaluate("model.saved.length") == 1
    assert answer()["plan"].split()[2] == "A-completes@5"
    expect(late).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    page.clock.run_for(600)
    assert page.evaluate("model.saved.length") == 1
    expect(late).to_have_attribute("aria-valuenow", "5")
    page.keyboard.press("Enter")
    expect(page.locator(".emq .count")).to_contain_text("3 / 6")


def test_a_click_on_an_event_stands_at_its_row(page: Page, mount: Callable[..., Answer]) -> None:
    """A press that moves nothing is no move."""
    mount()
    slider(page, "B claims").click()
    expect(page.locator(".emq .count")).to_contain_text("5 / 7")
    assert page.evaluate("model.saved.length") == 0


def test_events_can_be_moved_added_and_taken_out_by_number(page: Page, mount: Callable[..., Answer]) -> None:
    """Without dragging: a box each; an empty one does not happen, and a number out of reach is refused by the box."""
    answer = mount()
    page.get_by_text("Move events by number").click()
    box = page.get_by_label("A completes at")
    box.fill("11.5")
    box.press("Enter")
    assert "A-completes@11.5 B-claims@14" in answer()["plan"]
    gone = page.get_by_label("A falls silent at")
    gone.fill("")
    gone.press("Enter")
    assert "A-stalls" not in answer()["plan"]
    expect(slider(page, "A falls silent")).to_have_count(0)
    gone.fill("200")
    gone.press("Tab")
    page.clock.run_for(600)
    assert gone.evaluate("(box) => box.validationMessage") == "Seconds go from 0 to 120."
    gone.fill("4")
    gone.press("Enter")
    assert "A-stalls@4" in answer()["plan"]
    expect(page.get_by_label("A falls silent at")).to_be_visible()


def test_a_plan_that_cannot_be_run_is_told_and_the_one_before_stays(page: Page, mount: Callable[..., Answer]) -> None:
    """The trouble is the recorder's sentence, and the sliders stand where the run was."""
    answer = mount({"plan": "A-claims@3"})
    page.get_by_text("Move events by number").click()
    box = page.get_by_label("A claims at")
    box.fill("")
    box.press("Enter")
    answer()
    expect(page.locator(".trouble")).to_contain_text("a plan needs at least one event")
    expect(slider(page, "A claims")).to_have_attribute("aria-valuenow", "3")


def test_without_a_kernel_the_event_goes_back(page: Page, mount: Callable[..., Answer]) -> None:
    """Nothing answers: after a while the reader is told, and what ran is shown."""
    mount()
    slider(page, "A completes").press("ArrowLeft")
    page.clock.run_for(6_000)
    expect(page.locator(".trouble")).to_contain_text("No kernel is running")
    expect(slider(page, "A completes")).to_have_attribute("aria-valuenow", "16")
    expect(page.locator(".ghost")).to_be_hidden()


def test_a_held_stage_shows_the_plan_and_nothing_of_the_outcome(page: Page, mount: Callable[..., Answer]) -> None:
    """Hollow marks at their times; a move is asked about anew, and once answered moves are shown at once."""
    answer = mount(predict=True)
    drawing = page.locator(".timespace")
    expect(drawing.locator(".event")).to_have_count(6)
    expect(drawing.locator(".msg, .lease, .seal, .both, tspan.bad")).to_have_count(0)
    expect(page.locator(".outcome")).to_be_hidden()
    slider(page, "A completes").press("ArrowLeft")
    page.clock.run_for(600)
    answer()
    expect(drawing.locator(".msg")).to_have_count(0)
    for question in page.locator(".quiz fieldset").all():
        question.get_by_label("refused").check()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(drawing.locator("tspan.bad")).to_have_text("refused")
    expect(page.locator(".badge").first).to_have_text("✓ right")
    slider(page, "A completes").press("ArrowLeft")
    page.clock.run_for(600)
    answer()
    expect(drawing.locator("tspan.bad")).to_have_text("refused")
    expect(page.locator(".quiz")).to_be_hidden()
    page.get_by_label("A comes back").select_option("in-time")
    answer()
    expect(drawing.locator(".msg")).to_have_count(0)


def test_where_the_executors_part_there_are_two_diagrams(
    page: Page, mount: Callable[..., Answer], lab: emqlab.Lab
) -> None:
    """The browser judges by the same rule as Python; each diagram is named and only the verb's refuses."""
    mount({"plan": "after-sweep"}, max_stalled=1)
    charts = page.locator(".chart")
    expect(charts).to_have_count(2)
    expect(charts.nth(0)).to_contain_text("the verbs")
    expect(charts.nth(0).locator("tspan.bad")).to_have_text("refused")
    expect(charts.nth(1)).to_contain_text("the scripts")
    expect(charts.nth(1).locator("tspan.bad")).to_have_count(0)
    recorded = [plan.recorded(lab, plan.preset("after-sweep", 6_000), 6_000, max_stalled=cap) for cap in (1, 2)]
    told = page.evaluate("(them) => them.map((one) => derived.alike(one, derived.moments(one)))", recorded)
    assert told == [alike(one) for one in recorded] == [False, True]


@pytest.mark.parametrize("width", [360, 700, 920])
def test_the_diagram_fits_and_a_finger_scrolls_past_it(page: Page, mount: Callable[..., Answer], width: int) -> None:
    """Crowded or wide, no label leaves the page or covers another; up and down still belongs to the page."""
    page.set_viewport_size({"width": width, "height": 1200})
    crowded = "A-claims@1 A-stalls@1.5 A-completes@2 sweep@8 B-claims@8.5 B-completes@9"
    for text in (PRESET, crowded, "A-claims@0 sweep@6 B-claims@6 A-completes@6 B-completes@120"):
        mount({"plan": text})
        page.get_by_text("Move events by number").click()
        assert page.evaluate(OUT) == [], text
    mount()
    drag(page, "B completes", 2)
    expect(page.locator(".ghost")).to_have_text("B completes: 20 s")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.mouse.up()
    assert slider(page, "A claims").evaluate("(node) => getComputedStyle(node).touchAction") == "pan-y"
