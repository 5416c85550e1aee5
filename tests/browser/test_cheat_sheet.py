"""The cheat sheet prints on one page."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

SHEET = Path(__file__).parents[2] / "notebooks" / "cheat_sheet.html"


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_cheat_sheet_is_one_page(chromium: Browser, paper: str) -> None:
    """On the paper of either side of the ocean, and as wide as it is."""
    page = chromium.new_page()
    page.goto(SHEET.as_uri())
    printed = page.pdf(format=paper)
    page.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_the_cheat_sheet_fits_a_telephone(chromium: Browser) -> None:
    """At 360 px nothing but the wide table scrolls sideways."""
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    page.goto(SHEET.as_uri())
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert width == 360
