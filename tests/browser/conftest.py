"""The harness of the browser tests: one JupyterLab, one Chromium, a page that tells what went wrong on it."""

import functools
import http.client
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from emqlab.browsers import find_browser
from emqlab.course import HOST, choose_port, write_quiet_settings
from emqlab_widgets import Stage
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

# What a test left open goes without a question about saving it. Opening is what a click in the list of files does.
OPEN = """async (path) => {
  const app = window.jupyterapp;
  await app.restored;
  const panel = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
  app.shell.activateById(panel.id);
  await panel.context.ready;
  await panel.revealed;
}"""
CLOSE = "() => { for (const open of [...window.jupyterapp.shell.widgets('main')]) open.dispose(); }"

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


def fresh_view(page: Page, width: int) -> None:
    """Give a page that served another test its size and its media back."""
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(media="null", color_scheme="null", reduced_motion="null", forced_colors="null")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the project without a word."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """The address of the plain page; a browser loads modules over http only."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(_Quiet, directory=str(NOTEBOOKS.parent))
    )
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/tests/browser/stage_page.html"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[tuple[Page, Problems]]:
    """A page of the file's own, its clock in the tests' hand, and what goes wrong on it."""
    context, problems = chromium.new_context(), Problems()
    page = context.new_page()
    page.set_default_timeout(10_000)
    problems.watch(page)
    page.clock.install()
    yield page, problems
    context.close()
    assert problems.seen == []


@pytest.fixture
def page(tab: tuple[Page, Problems], address: str) -> Iterator[Page]:
    """The plain page, loaded anew, 920 wide; the test fails on anything that ``Problems`` notes."""
    page, problems = tab
    page.context.clear_permissions()
    fresh_view(page, 920)
    page.goto(address)
    page.wait_for_function("!!window.mountStage")
    yield page
    seen, problems.seen = problems.seen, []
    assert seen == []


class Desk:
    """JupyterLab in a page that all tests of a worker share: to load it takes longer than most of them.

    Each notebook is opened in it with a kernel of its own. A test that failed takes the page with it.
    """

    def __init__(self, chromium: Browser, server: LabServer) -> None:
        self.problems = Problems()
        #: The lesson that is open, and for which file of tests.
        self.lesson: tuple[str, str] | None = None
        self._chromium = chromium
        self._server = server
        self._context: BrowserContext | None = None
        self._page: Page | None = None

    @property
    def page(self) -> Page:
        """The page, 1280 wide, loaded when it is asked for first."""
        if self._page is None:
            self._context = self._chromium.new_context(viewport={"width": 1280, "height": 1000})
            self._page = self._context.new_page()
            self._page.set_default_timeout(30_000)
            self.problems.watch(self._page)
            self._page.goto(f"{self._server.url}/lab?reset")
            self._page.wait_for_function("window.jupyterapp")
        return self._page

    def open(self, path: str) -> Page:
        """Open a notebook, and nothing beside it; its kernel is new."""
        self.lesson = None
        self.page.evaluate(CLOSE)
        self._server.end_sessions()
        self.page.evaluate(OPEN, path)
        self.page.locator(".jp-NotebookPanel .jp-Notebook").wait_for()
        return self.page

    def clear(self) -> None:
        """Close the page and end every kernel."""
        self.lesson = self._page = None
        if self._context is not None:
            self._context.close()
            self._context = None
        self._server.end_sessions()

    def told(self) -> list[str]:
        """What ``Problems`` has noted since it was last asked."""
        seen, self.problems.seen = self.problems.seen, []
        return seen


@pytest.fixture(scope="session")
def shared_desk(chromium: Browser, lab_server: LabServer) -> Iterator[Desk]:
    """The worker's JupyterLab page; what goes wrong on it after its last test is no less a fault."""
    desk = Desk(chromium, lab_server)
    yield desk
    desk.clear()
    assert desk.told() == []


@pytest.fixture
def desk(shared_desk: Desk, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """JupyterLab for one test, which fails on anything that ``Problems`` notes."""
    failed = request.session.testsfailed
    fresh_view(shared_desk.page, 1280)
    yield shared_desk
    told = shared_desk.told()
    if told or request.session.testsfailed > failed:
        shared_desk.clear()
    assert told == []


@pytest.fixture
def open_notebook(desk: Desk) -> Callable[[str], Page]:
    """A function that opens a notebook by its path under the lessons' folder, in a new kernel, and answers the page."""
    return desk.open


@pytest.fixture
def lesson(desk: Desk, request: pytest.FixtureRequest, run_all: Callable[..., dict[str, Any]]) -> Page:
    """The lesson that the file's ``LESSON`` names, every cell run: for each test anew, in one kernel for the file."""
    wanted = request.module.__name__, request.module.LESSON
    if desk.lesson != wanted:
        desk.open(request.module.LESSON)
        desk.lesson = wanted
    assert run_all(desk.page)["errors"] == []
    return desk.page


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


#: What a kernel sends of a stage.
TRAITS = ("title", "question", "view", "picks", "choice", "shown", "recording", "step", "ran", "predict", "sources")
SENT = (*TRAITS, "divergences", "answered", "trouble")


def sent(stage: Stage) -> dict[str, Any]:
    """All that Python sends of a stage, for a plain page to mount."""
    return {name: getattr(stage, name) for name in SENT}
