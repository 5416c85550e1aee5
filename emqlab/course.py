"""Open the course: JupyterLab on the lessons, on this machine only, with nothing left running afterwards."""

import http.client
import importlib.util
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from emqlab import ports
from emqlab.reader import COPY, FIRST_LESSON, PACKAGE, CannotOpen, find_lessons

HOST = ports.LOOPBACK
START_SECONDS = 60
STOP_SECONDS = 10


def course_folder(package: Path = PACKAGE) -> Path:
    """Where the lessons are to be opened: in a clone, where they are; else in ``./emqlab-course/``.

    That is a copy in the current folder, in which a file that is already there is never overwritten.
    Raises ``CannotOpen`` when there are no lessons or the copy can't be made.
    """
    lessons = find_lessons(package)
    return copy_course(lessons, Path.cwd() / COPY) if lessons.parent == package else lessons


def copy_course(source: Path, target: Path) -> Path:
    """Copy what ``target`` lacks of ``source``, leave every file that is there alone, answer ``target``."""
    try:
        for path in sorted(source.rglob("*")):
            copy = target / path.relative_to(source)
            if path.is_dir():
                copy.mkdir(parents=True, exist_ok=True)
            elif not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
    except OSError as error:
        raise CannotOpen(
            f"The lessons can't be copied to {target} ({error.strerror}): start in a folder of your own."
        ) from error
    return target


def check_writable(folder: Path) -> None:
    """Raise ``CannotOpen`` unless a file can be made in ``folder``: what a reader types is saved there."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".emqlab-"):
            pass
    except OSError as error:
        raise CannotOpen(
            f"{folder} can't be written to ({error.strerror}): copy it to a folder of your own."
        ) from error


def choose_port(asked: int | None) -> int:
    """A TCP port on this machine: the asked one if it is free, any free one if none was asked for."""
    try:
        return ports.usable(asked)
    except OSError as error:
        raise CannotOpen(
            f"Port {asked} can't be used ({error.strerror}): name another, or leave --port out."
        ) from error


def write_quiet_settings(folder: Path) -> None:
    """Write JupyterLab's ``overrides.json`` into ``folder``: no question about news, no look for updates."""
    folder.mkdir(parents=True, exist_ok=True)
    notification = {"fetchNews": "false", "checkForUpdates": False}  # the first one is text, not a boolean
    settings = {"@jupyterlab/apputils-extension:notification": notification}
    (folder / "overrides.json").write_text(json.dumps(settings), encoding="utf-8")


def write_config(own: Path, folder: Path, port: int, token: str) -> Path:
    """Write the server's configuration into ``own``, a folder only this user can read, and answer its path.

    A file, because a token on the command line is there for every user of the machine to see.
    """
    write_quiet_settings(own / "settings")
    server = {"ip": HOST, "port": port, "port_retries": 0, "open_browser": False, "allow_root": True}
    lab = {"app_settings_dir": str(own / "settings"), "workspaces_dir": str(own / "workspaces")}
    config = {
        "ServerApp": {**server, "root_dir": str(folder)},
        "IdentityProvider": {"token": token},
        "PasswordIdentityProvider": {"hashed_password": ""},
        "LabApp": {**lab, "extension_manager": "readonly"},
    }
    path = own / "course.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@contextmanager
def serving(config: Path, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run JupyterLab with ``config`` for the length of a ``with`` block; its output goes to ``log``."""
    command = [sys.executable, "-m", "jupyterlab", f"--config={config}"]
    # The kernel is this interpreter's, whatever kernels the reader's home may name; and so are the commands that a
    # lesson names, for a cell with an exclamation mark and for a terminal.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1", "PATH": path}
    with log.open("wb") as output:
        # A session of its own: Ctrl-C comes to us, and the server is not left asking "are you sure?".
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                process.kill()
                process.wait()


def answers(port: int, token: str) -> bool:
    """Whether the server on ``port`` answers, and to our token."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/api/status", headers={"Authorization": f"token {token}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def wait_until_up(process: "subprocess.Popen[bytes]", port: int, token: str, log: Path) -> None:
    """Return once the server answers; raise ``CannotOpen`` with its last words if it ends or is too slow."""
    for _ in range(START_SECONDS * 10):
        if answers(port, token):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
    last_words = log.read_text(encoding="utf-8", errors="replace").strip()[-2000:]
    raise CannotOpen(f"JupyterLab did not start; `emqlab doctor` may say why. Its last words:\n{last_words}")


def show(url: str) -> bool:
    """Open ``url`` in the reader's browser; False when there is none to open."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if sys.platform == "linux" and not screen:
        return False  # or a browser for terminals would take this one over
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@contextmanager
def ending_on_signals() -> Iterator[None]:
    """For the length of a ``with`` block, have Ctrl-C, a closed terminal and a kill end it in good order."""
    # Ctrl-C too: a shell that starts us in the background has it ignored.
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: _end, signal.SIGHUP: _end}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def open_course(*, port: int | None = None, browser: bool = True) -> int:
    """Open the course and stay until it is closed (Ctrl-C, or Shut Down in JupyterLab's File menu).

    ``port`` is a TCP port, or None for a free one; ``browser=False`` only prints the address. Answers the
    exit status. Raises ``CannotOpen`` with one sentence that says what to do.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        raise CannotOpen(f"JupyterLab is not installed here: {sys.executable} -m pip install jupyterlab")
    folder = course_folder()
    check_writable(folder)
    chosen = choose_port(port)
    token = secrets.token_hex(24)
    try:
        with (
            ending_on_signals(),
            tempfile.TemporaryDirectory(prefix="emqlab-", ignore_cleanup_errors=True) as own,
        ):
            log = Path(own, "log")
            config = write_config(Path(own), folder, chosen, token)
            with serving(config, log) as process:
                wait_until_up(process, chosen, token, log)
                announce(f"http://{HOST}:{chosen}/lab/tree/{FIRST_LESSON}?token={token}", browser=browser)
                return process.wait()
    except KeyboardInterrupt:
        print("\nThe course is closed.")
        return 0


def announce(url: str, *, browser: bool) -> None:
    """Print where the course is, in one line, and open it if asked to and possible."""
    print(f"The course is at {url}", flush=True)
    if browser and not show(url):
        print("No browser was found to open it: copy the address above into one.", flush=True)
    print("Ctrl-C here ends it.", flush=True)
