"""Every widget of the course for readers who use a keyboard, a screen reader, a phone, the dark, or paper."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import emqlab
import emqlab_widgets
from emqlab_widgets import Stage
from emqlab_widgets.links import WIDGETS
from tests.browser.conftest import sent
from tests.browser.problems import Problems

#: Rules about whole pages, and this one has widgets only.
RULES = {
    "resultTypes": ["violations"],
    "rules": {name: {"enabled": False} for name in ("region", "page-has-heading-one", "landmark-one-main")},
}

# What has the focus: which widget it is in, what it is, and whether a ring shows that it is there.
FOCUSED = """() => {
  const node = document.activeElement, style = getComputedStyle(node);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const name = node.ariaLabel ?? node.textContent.trim().slice(0, 30);
  return [node.closest("#mount > div")?.id ?? "", `${node.getAttribute("role") ?? node.localName}: ${name}`, ring];
}"""

# What can be used by mouse, visible and not disabled, a set of radios counted once.
USABLE = """(id) => {
  const seen = new Set(), all = "button, select, input, summary, [role=slider], [tabindex='0']";
  for (const node of document.querySelectorAll(`#${CSS.escape(id)} :is(${all})`)) {
    const shown = node.checkVisibility() && !node.closest("details:not([open]) > :not(summary)");
    if (!shown || node.matches(":disabled, [tabindex='-1']")) continue;
    seen.add(node.type === "radio" ? node.name : node);
  }
  return seen.size;
}"""


@pytest.fixture(scope="module")
def stages() -> dict[str, Stage]:
    """Every widget of the course, run once on an embedded server."""
    with emqlab.open_lab("embedded") as lab:
        return {code: getattr(emqlab_widgets, name)(lab) for code, name in WIDGETS.items()}


@pytest.fixture(scope="module")
def shown(chromium: Browser, address: str, stages: dict[str, Stage]) -> Iterator[Page]:
    """A plain page for a reader who wants no motion, with every widget on it."""
    context = chromium.new_context(viewport={"width": 920, "height": 1000}, reduced_motion="reduce")
    page, problems = context.new_page(), Problems()
    page.set_default_timeout(10_000)
    problems.watch(page)
    page.goto(address)
    page.wait_for_function("!!window.mountAll")
    yield page
    context.close()
    assert problems.seen == []


def mount(page: Page, stages: dict[str, Stage], *, dark: bool = False, width: int = 920) -> None:
    """Put every widget on the page, one under the other."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", dark)
    page.evaluate("(named) => mountAll(named)", {code: sent(stage) for code, stage in stages.items()})


def reveal(page: Page) -> None:
    """See every outcome, without a guess."""
    page.evaluate("document.querySelectorAll('.skip').forEach((skip) => skip.hidden || skip.click())")


def complaints(page: Page) -> list[str]:
    """What axe has to say, and of which element."""
    found = Axe().run(page, options=RULES).response["violations"]
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]


def test_every_widget_of_the_course_is_looked_at(stages: dict[str, Stage]) -> None:
    """Those that a code opens are all there are."""
    returns = {name: getattr(emqlab_widgets, name).__annotations__.get("return") for name in emqlab_widgets.__all__}
    assert set(WIDGETS.values()) == {name for name, kind in returns.items() if kind == "Stage"}
    assert len(stages) == len(WIDGETS)


@pytest.mark.parametrize(("width", "dark"), [(920, False), (360, True)], ids=["light", "dark-narrow"])
def test_axe_finds_nothing(shown: Page, stages: dict[str, Stage], width: int, dark: bool) -> None:
    """Names, roles, contrast, labels and the rest of its rules, before the guess and after it."""
    mount(shown, stages, dark=dark, width=width)
    held = complaints(shown)
    reveal(shown)
    assert held + complaints(shown) == []


@pytest.mark.parametrize("width", [920, 360])
def test_no_widget_is_wider_than_its_page(shown: Page, stages: dict[str, Stage], width: int) -> None:
    """Before the guess and after it, with everything unfolded that can be."""
    mount(shown, stages, width=width)
    wide = "[...document.querySelectorAll('#mount > div')].filter((d) => d.scrollWidth > innerWidth).map((d) => d.id)"
    held = shown.evaluate(wide)
    reveal(shown)
    shown.evaluate("document.querySelectorAll('.emq details').forEach((one) => { one.open = true; })")
    assert held + shown.evaluate(wide) == []


def test_all_that_a_mouse_can_use_is_reached_with_tab(shown: Page, stages: dict[str, Stage]) -> None:
    """Once around the page: in each widget as many stops as there are controls, and a ring at every one."""
    mount(shown, stages)
    reveal(shown)
    shown.evaluate("() => { const all = document.getElementById('mount'); all.tabIndex = -1; all.focus(); }")
    usable = {code: shown.evaluate(USABLE, code) for code in stages}
    stops: dict[str, list[str]] = {code: [] for code in stages}
    unseen = []
    for _ in range(sum(usable.values())):
        shown.keyboard.press("Tab")
        code, name, ring = shown.evaluate(FOCUSED)
        stops.setdefault(code, []).append(name)
        unseen += [] if ring else [f"{code}: {name}"]
    assert {code: len(names) for code, names in stops.items()} == usable, stops
    assert unseen == []


def test_a_screen_reader_hears_no_outcome_before_the_guess(shown: Page, stages: dict[str, Stage]) -> None:
    """Its view of a stage that holds back has the question and its options, and neither trace nor answer."""
    mount(shown, stages)
    asking = {code: stage for code, stage in stages.items() if stage.predict}
    heard = {code: shown.locator(f"[id='{code}']").aria_snapshot() for code in asking}
    for code, stage in asking.items():
        told: list[dict[str, Any]] = stage.predict or []
        assert [f'group "{one["ask"]}"' in heard[code] for one in told] == [True] * len(told), heard[code]
        assert "answers" not in heard[code]
        assert "columnheader" not in heard[code].split("Answer first.")[0], heard[code]


def test_a_screen_reader_hears_the_step_that_is_taken(shown: Page, stages: dict[str, Stage]) -> None:
    """Heading, controls, trace with the current step, and one sentence about it: in each widget."""
    mount(shown, stages)
    reveal(shown)
    for code, stage in stages.items():
        root = shown.locator(f"[id='{code}']")
        root.get_by_role("slider", name="Step", exact=True).press("Home")
        root.get_by_role("slider", name="Step", exact=True).press("ArrowRight")
        first = stage.recording["steps"][0]["word"]
        heard = root.aria_snapshot()
        assert f'heading "{stage.title}" [level=3]' in heard
        assert f"Step 1 of {len(stage.recording['steps'])}: {first}. " in heard, heard
        assert f'button "1 {first}"' in heard or f'rowheader "1 {first}"' in heard, heard


def test_on_paper_the_run_is_unfolded(chromium: Browser, stages: dict[str, Stage]) -> None:
    """What a lesson's HTML export shows when it is printed: the twin's tables too."""
    page = chromium.new_page()
    page.set_content(stages["transition"]._repr_mimebundle_()[0]["text/html"])
    seen = []
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        seen.append(page.get_by_text("What was sent, in order.").is_visible())
    page.close()
    assert seen == [False, True]
