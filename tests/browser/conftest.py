"""The harness of the browser tests: one JupyterLab, one Chromium, a page that tells what went wrong on it."""

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from emqlab.browsers import find_browser
from emqlab.course import HOST, choose_port, write_quiet_settings
from tests.browser.problems import Problems

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
START_SECONDS = 60
CHROMIUM = [
    "--no-sandbox",  # or it does not start as root, as in most containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Run All through the application itself: the menu, clicked before the kernel is connected, does nothing.
RUN_ALL = """async (seconds) => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
  const late = new Promise((_, fail) =>
    setTimeout(() => fail(new Error(`the notebook was not done after ${seconds} s`)), seconds * 1000));
  const ok = await Promise.race([app.commands.execute('notebook:run-all-cells'), late]);
  const code = panel.content.model.sharedModel.toJSON().cells.filter(cell => cell.cell_type === 'code');
  const errors = code.flatMap(cell => cell.outputs).filter(output => output.output_type === 'error');
  return {
    ok,
    errors: errors.map(error => `${error.ename}: ${error.evalue}`),
    counts: code.map(cell => cell.execution_count),
  };
}"""


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab: its address, the folder it shows (a copy of the lessons), and its log."""

    port: int
    root: Path
    log: Path

    @property
    def url(self) -> str:
        """The address, without a slash at the end."""
        return f"http://{HOST}:{self.port}"

    def request(self, method: str, path: str) -> Any:
        """The answer of JupyterLab's REST interface, parsed; None when it is empty. Raises ``OSError``."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=10)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read()
            if response.status >= 400:
                raise OSError(f"{method} {path}: {response.status} {response.reason}")
            return json.loads(body) if body else None
        finally:
            connection.close()

    def end_sessions(self) -> None:
        """Shut down every notebook's kernel, so that the next test begins without one."""
        for session in self.request("GET", "/api/sessions"):
            self.request("DELETE", f"/api/sessions/{session['id']}")


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which Jupyter and Chromium read nothing of the user's and leave nothing with them."""
    home = tmp_path_factory.mktemp("home")
    write_quiet_settings(home / "settings")
    names = ["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR"]
    names += ["JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
    places = {name: str(home / name.lower()) for name in names}
    progress = {"EMQLAB_PROGRESS": str(home / "progress.json"), "EMQLAB_SERVER": "embedded"}
    return {**os.environ, **places, **progress, "HOME": str(home), "JUPYTER_PREFER_ENV_PATH": "1"}


def wait_until_up(server: LabServer, process: "subprocess.Popen[bytes]") -> None:
    """Return when JupyterLab answers; fail with its log when it ends or takes too long."""
    for _ in range(START_SECONDS * 10):
        with suppress(OSError, ValueError):
            server.request("GET", "/api/status")
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
    pytest.fail(f"JupyterLab did not start:\n{server.log.read_text(encoding='utf-8')[-3000:]}")


@pytest.fixture(scope="session")
def lab_server(lab_home: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """JupyterLab on a copy of the lessons; each worker of a parallel run has its own."""
    folder = tmp_path_factory.mktemp("lab")
    root = folder / "notebooks"
    shutil.copytree(NOTEBOOKS, root, ignore=shutil.ignore_patterns(".*"))
    server = LabServer(choose_port(None), root, folder / "log")
    options = {
        "ServerApp.ip": HOST,
        "ServerApp.port": server.port,
        "ServerApp.port_retries": 0,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "ServerApp.root_dir": root,
        "IdentityProvider.token": "",
        "PasswordIdentityProvider.hashed_password": "",
        "ServerApp.disable_check_xsrf": True,  # or a DELETE that no page sends is refused
        "LabApp.app_settings_dir": Path(lab_home["HOME"], "settings"),
        "LabApp.expose_app_in_browser": True,
        "LabApp.extension_manager": "readonly",
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    with server.log.open("wb") as log:
        process = subprocess.Popen(
            command, env=lab_home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait_until_up(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def chromium(lab_home: dict[str, str]) -> Iterator[Browser]:
    """A headless Chromium; each test gets a fresh profile in it."""
    path = find_browser()
    if path is None:
        pytest.fail("There is no Chromium for the browser tests: `python3 binder/here.py test` fetches one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM, env=dict(lab_home))
        yield browser
        browser.close()


@pytest.fixture
def browser_page(chromium: Browser, lab_server: LabServer) -> Iterator[Page]:
    """A page in a fresh profile, 1280 × 1000; the test fails on anything that ``Problems`` notes."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(30_000)
    problems = Problems()
    problems.watch(page)
    yield page
    context.close()
    lab_server.end_sessions()
    assert problems.seen == []


@pytest.fixture
def open_notebook(browser_page: Page, lab_server: LabServer) -> Callable[[str], Page]:
    """A function that opens a notebook by its path under the lessons' folder and answers the page."""

    def open_it(path: str) -> Page:
        browser_page.goto(f"{lab_server.url}/lab/tree/{path}?reset")
        browser_page.locator(".jp-NotebookPanel .jp-Notebook").wait_for()
        browser_page.wait_for_function("window.jupyterapp")
        return browser_page

    return open_it


@pytest.fixture
def run_all() -> Callable[..., dict[str, Any]]:
    """A function that runs every cell of the open notebook and answers when the last one is done.

    ``run_all(page, seconds=120)`` gives ``ok`` (no cell raised), ``errors`` (what they raised, as texts) and
    ``counts`` (the code cells' execution counts, None for a cell that did not run).
    """

    def run(page: Page, seconds: int = 120) -> dict[str, Any]:
        result: dict[str, Any] = page.evaluate(RUN_ALL, seconds)
        return result

    return run
