"""Take the pictures of dive 01, as JupyterLab shows it: ``.venv/bin/python notebooks/picture.py``.

Runs the lesson on the embedded server, answers the Transition stage's questions, presses Run, and writes
``images/dive01-light.png`` and ``images/dive01-dark.png`` (1200 px wide). Needs the test extras and a Chromium.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from emqlab.browsers import find_browser
from emqlab.course import HOST, choose_port, serving, wait_until_up, write_config

LESSON, CHOICE = "01_state_and_attempts.ipynb", "fail-below"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-proxy-server"]
RUN_ALL = """async () => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  app.shell.collapseLeft();
  await app.commands.execute('notebook:run-all-cells');
}"""


def run_stage(page: Page) -> None:
    """Pick a transition on the first stage of the lesson, answer as the run will, and run it to its end."""
    stage = page.locator("section.emq").first
    stage.get_by_role("combobox").select_option(CHOICE)
    for answer in ("schedule", "0"):
        stage.locator("fieldset").get_by_label(answer, exact=True).last.check()
    stage.get_by_role("button", name="Run", exact=True).click()
    stage.locator("table.trace").wait_for()
    stage.evaluate("stage => stage.scrollIntoView({block: 'start'})")


def main() -> None:
    """Take both pictures."""
    images = Path(__file__).parent / "images"
    images.mkdir(exist_ok=True)
    os.environ["EMQLAB_SERVER"] = "embedded"
    with tempfile.TemporaryDirectory(prefix="emqlab-") as own, sync_playwright() as playwright:
        shutil.copy(images.parent / LESSON, own)
        port = choose_port(None)
        config, log = write_config(Path(own), Path(own), port, "picture"), Path(own, "log")
        settings = json.loads(config.read_text(encoding="utf-8"))
        settings["LabApp"]["expose_app_in_browser"] = True
        config.write_text(json.dumps(settings), encoding="utf-8")
        with serving(config, log) as process:
            wait_until_up(process, port, "picture", log)
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            page = browser.new_page(viewport={"width": 1200, "height": 1570}, reduced_motion="reduce")
            page.goto(f"http://{HOST}:{port}/lab/tree/{LESSON}?token=picture")
            page.locator(".jp-NotebookPanel .jp-Notebook").wait_for()
            page.wait_for_function("window.jupyterapp")
            page.evaluate(RUN_ALL)
            run_stage(page)
            for name, theme in THEMES.items():
                page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
                page.locator("#jupyterlab-splash").wait_for(state="detached")
                file = images / f"dive01-{name}.png"
                page.screenshot(path=file)
                Image.open(file).convert("RGB").quantize(64).save(file, optimize=True)  # a third of the size
            browser.close()


if __name__ == "__main__":
    main()
