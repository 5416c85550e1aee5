"""The lessons run from the first cell to the last in JupyterLab, as a reader runs them, and every stage works."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from emqlab.teach.dives import DIVES

#: How long a pick may take: a defect is really hunted, and the machine may be busy.
SECONDS = 60_000


@pytest.mark.parametrize("lesson", [dive.file for dive in DIVES])
def test_a_lesson_runs_and_each_of_its_stages_runs_another_case(
    lesson: str, open_notebook: Callable[[str], Page], run_all: Callable[..., dict[str, Any]]
) -> None:
    """No cell raises; and in every stage another pick is run by the kernel, guessed at, judged and shown."""
    page = open_notebook(lesson)
    result = run_all(page)
    assert result["errors"] == []
    assert result["ok"] is True
    assert result["counts"] == list(range(1, len(result["counts"]) + 1))
    page.emulate_media(reduced_motion="reduce")
    stages = page.locator("section.emq")
    assert stages.count() > 0
    for place in range(stages.count()):
        pick_another(stages.nth(place))


def pick_another(stage: Locator) -> None:
    """Take the second option of the first pick, answer what is asked, run, and step back."""
    stage.scroll_into_view_if_needed()
    box = stage.locator(".picks select").first
    if box.count():
        box.select_option(index=1)
    expect(stage).not_to_have_attribute("aria-busy", "true", timeout=SECONDS)
    expect(stage.locator(".trouble")).to_be_hidden()
    questions = stage.locator(".quiz fieldset")
    for question in questions.all():
        question.get_by_role("radio").first.check()
    if questions.count():
        stage.get_by_role("button", name="Run", exact=True).click()
        expect(stage.locator(".said li")).to_have_count(questions.count())
    expect(stage.locator("table.trace")).to_be_visible()
    last = int(stage.get_by_role("slider", name="Step", exact=True).get_attribute("max") or 0)
    stage.get_by_role("button", name="Step back").click()
    expect(stage.get_by_role("slider", name="Step", exact=True)).to_have_value(str(last - 1))
