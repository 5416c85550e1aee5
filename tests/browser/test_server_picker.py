"""The picker of a server in a browser: radio buttons that a keyboard can drive, and words that follow the kernel."""

import json
from pathlib import Path

from playwright.sync_api import Browser, expect

from emqlab import choice
from emqlab_widgets import server_picker
from emqlab_widgets.server_picker import LEGEND, OPTIONS

SCRIPT = Path(server_picker.__code__.co_filename).with_suffix(".js")

# The model contract of a kernel: what is set and saved, what is sent, and what comes back.
MODEL = """
class Model {
  constructor(values) { this.values = values; this.saved = []; this.sent = []; this.heard = {}; }
  get(name) { return this.values[name]; }
  set(name, value) { this.values[name] = value; }
  save_changes() { this.saved.push(this.values.choice); }
  send(content) { this.sent.push(content); }
  on(name, act) { this.heard[name] = act; }
  receive(name, value) { this.set(name, value); this.heard[`change:${name}`](); }
}
"""


def test_a_keyboard_chooses_and_the_words_follow(chromium: Browser) -> None:
    """An arrow key sends the next choice, the kernel's words appear, and what is on the machine was asked for once."""
    values = {
        "legend": LEGEND,
        "options": [{"value": value, "label": label, "about": about} for value, label, about in OPTIONS],
        "choice": choice.AUTO,
        "found": {},
        "status": "This notebook's lab runs on embedded.",
    }
    page = chromium.new_page(viewport={"width": 360, "height": 800})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.set_content("<main></main>")
    mount = "window.model = new Model(%s); render({ model: window.model, el: document.querySelector('main') });"
    source = SCRIPT.read_text(encoding="utf-8")
    page.add_script_tag(type="module", content=source + MODEL + mount % json.dumps(values))
    group = page.get_by_role("group", name=LEGEND)
    expect(group.get_by_role("radio")).to_have_count(3)
    group.get_by_role("radio", name="auto", checked=True).press("ArrowDown")
    expect(group.get_by_role("radio", name="embedded")).to_be_checked()
    page.evaluate("window.model.receive('status', 'Chosen: embedded.')")
    expect(page.get_by_role("status")).to_have_text("Chosen: embedded.")
    page.evaluate("window.model.receive('found', {valkey: 'Not on this machine.'})")
    expect(group.get_by_role("radio", name="valkey")).to_have_accessible_description(
        f"{OPTIONS[2][2]} Not on this machine."
    )
    told = page.evaluate("[window.model.saved, window.model.sent, document.documentElement.scrollWidth]")
    page.close()
    assert told == [["embedded"], [{"look": True}], 360]
    assert problems == []
