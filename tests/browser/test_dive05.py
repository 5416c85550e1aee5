"""What only a browser can show of dive 05: three columns, each with the case it ran, and an epoch that grows old."""

import json
from typing import Any

from playwright.sync_api import Page

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.moments import line, moments, show
from tests.browser.conftest import sent


def mounted(page: Page, stage: widgets.Stage) -> Any:
    """The stage on the page, as a kernel would send it."""
    page.evaluate("values => window.mountStage(values)", sent(stage))
    return page.locator("section.emq")


def test_each_column_gives_the_case_that_it_ran(page: Page, lab: emqlab.Lab) -> None:
    """The sweeps theirs, the reaper its own, each with the divergence that it shows; and all of them are named."""
    stage = widgets.expired_lease(lab, choice={"member": "ghost"}, predict=False)
    shown = mounted(page, stage)
    shown.get_by_text("The case", exact=True).click()
    forms = [json.loads(text) for text in shown.locator("details pre").all_inner_texts() if text.startswith("{")]
    assert [(form["when"][0]["verb"], form["differs"]) for form in forms] == [("reap", [20]), ("stalled_check", [16])]
    assert shown.get_by_text("≠ 16").count() == shown.get_by_text("≠ 20").count() == 1


def test_this_epoch_is_an_earlier_one_after_the_restart(page: Page, lab: emqlab.Lab) -> None:
    """Step by step the browser says of the stamp what Python says."""
    stage = widgets.restart(lab, predict=False)
    recording = stage.recording
    wanted = [
        [show(line(recording, "row/lease_epoch", m).now, "row/lease_epoch", recording, m) for m in ms]
        for ms in moments(recording)
    ]
    said = page.evaluate(
        """rec => window.derived.moments(rec).map((ms) => ms.map((m) => {
          const found = window.derived.line(rec, "row/lease_epoch", m);
          return window.derived.show(found.is, "row/lease_epoch", rec, m);
        }))""",
        json.loads(json.dumps(recording)),
    )
    assert said == wanted
    assert said[1] == ["absent", "this epoch", "earlier epoch", "earlier epoch", "earlier epoch", "this epoch"]
