"""The harness of the browser tests notices what it promises to notice."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.problems import Problems


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A blank page whose problems the harness does not watch."""
    context = chromium.new_context()
    yield context.new_page()
    context.close()


def problems_of(page: Page, script: str) -> list[str]:
    """What the harness notes while ``page`` runs ``script``."""
    problems = Problems()
    problems.watch(page)
    with page.expect_event("console", lambda message: message.text == "done"):
        page.evaluate(f"() => {{ {script}; setTimeout(() => console.log('done')); }}")
    return problems.seen


def test_a_quiet_page_has_no_problems(page: Page) -> None:
    """What a page logs is no problem unless it is an error."""
    assert problems_of(page, "console.warn('careful')") == []


def test_an_error_on_the_console_is_noted(page: Page) -> None:
    """The text of the error is in the note."""
    (seen,) = problems_of(page, "console.error('lost')")
    assert seen.startswith("console: lost")


def test_an_error_in_a_script_is_noted(page: Page) -> None:
    """An exception that nobody caught is a problem of the page."""
    (seen,) = problems_of(page, "setTimeout(() => { throw new Error('lost') })")
    assert seen.startswith("page error: ")
    assert "lost" in seen


def test_a_request_that_leaves_the_machine_is_noted(page: Page) -> None:
    """The address is in the note, whether or not anything answers there."""
    seen = problems_of(page, "new Image().src = 'http://emqlab.invalid/pixel.png'")
    assert "a request left this machine: http://emqlab.invalid/pixel.png" in seen
