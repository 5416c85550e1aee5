"""Run the course, or every check of it, from a clone: no installation before, nothing left running.

    python3 binder/here.py          opens the course
    python3 binder/here.py test     runs every check and reports each

The first form takes the options of `emqlab course` (--port N, --no-browser). Everything made is in .venv. The second
one also wants a Chromium, a Redis, a C compiler and node's redis client. As root of a Debian or Ubuntu it installs the
packages it does not find (chromium, redis-tools, gcc); elsewhere it says what is missing and how to get it.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  this file is what an older Python is started with
    sys.exit("emqlab needs Python 3.11 or newer, and this is {}.{}.".format(*sys.version_info))

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from binder.outside import CLONE, PYTHON, VENV, apt_install, ensure_tools, is_debian_root, run

STAMP = VENV / "emqlab-installed.json"
HOME = VENV / "home"
BROWSERS = VENV / "browsers"
TEST_SECONDS = 300

Check = tuple[str, list[str], dict[str, str]]


class CannotGoOn(Exception):
    """One sentence that says what is missing and what to do."""


def can_make_venv() -> bool:
    """Whether this Python can make a virtual environment with pip in it (Debian keeps that part apart)."""
    command = [sys.executable, "-c", "import ensurepip, venv"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def make_venv() -> None:
    """Make ``.venv`` anew with this Python."""
    package = f"python3.{sys.version_info.minor}-venv"
    if not can_make_venv() and not (is_debian_root() and apt_install(package)):
        raise CannotGoOn(f"This Python can't make a virtual environment: sudo apt-get install {package}")
    print("Making .venv ...", flush=True)
    if not run([sys.executable, "-m", "venv", "--clear", str(VENV)]):
        raise CannotGoOn("The virtual environment could not be made; the lines above say why.")


def state(test: bool) -> dict[str, object]:
    """What an installation depends on: made again when any of it changes."""
    project = hashlib.sha256((CLONE / "pyproject.toml").read_bytes()).hexdigest()
    return {"clone": str(CLONE), "python": list(sys.version_info[:2]), "project": project, "test": test}


def installed(stamp: Path, wanted: dict[str, object]) -> bool:
    """Whether the installation that ``stamp`` records will do; one for the tests will do for the course."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return found in (wanted, {**wanted, "test": True})


def works() -> bool:
    """Whether ``.venv`` has a Python that starts, is this one's version and has pip."""
    command = [str(PYTHON), "-c", "import sys, pip; print(*sys.version_info[:2], sys.prefix)"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return done.stdout.split(maxsplit=2) == [*map(str, sys.version_info[:2]), f"{VENV}\n"]


def install(test: bool) -> None:
    """Make sure that ``.venv`` holds the project (editable), for ``test`` also the tools of the checks."""
    wanted = state(test)
    if installed(STAMP, wanted) and PYTHON.exists():
        return
    if not works():
        make_venv()
    print("Installing emqlab into .venv, which takes a minute the first time ...", flush=True)
    project = ".[test]" if test else "."
    # No cache: pip's is in the home folder.
    quiet = ["--quiet", "--no-cache-dir", "--disable-pip-version-check", "--no-warn-script-location"]
    # The checks compile what they import, and keep it; much of what pip would compile they never import.
    ahead = ["--no-compile"] if test else []
    if not run([str(PYTHON), "-m", "pip", "install", *quiet, *ahead, "--editable", project]):
        raise CannotGoOn(
            "pip could not install emqlab; its last line says why (is the network there?). Then try again."
        )
    STAMP.write_text(json.dumps(wanted), encoding="utf-8")


def jupyter_places() -> dict[str, str]:
    """Where Jupyter, IPython, matplotlib and npm keep their files: in the clone, not in the reader's home."""
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "lab-settings",
        "JUPYTERLAB_WORKSPACES_DIR": "lab-workspaces",
        "IPYTHONDIR": "ipython",
        "MPLCONFIGDIR": "matplotlib",
        "npm_config_cache": "npm",  # Jupyter runs it, to know what there is
    }
    return {name: str(HOME / folder) for name, folder in names.items()}


def open_course(options: list[str]) -> None:
    """Become `emqlab course`."""
    install(test=False)
    os.chdir(CLONE)
    emqlab = [str(PYTHON), "-m", "emqlab.cli", "course", *options]
    os.execve(emqlab[0], emqlab, {**os.environ, **jupyter_places()})


def find_browser() -> str | None:
    """The Chromium that the tests will find, or None."""
    code = "from emqlab.browsers import find_browser; print(find_browser() or '')"
    done = subprocess.run([str(PYTHON), "-c", code], cwd=CLONE, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise CannotGoOn("emqlab can't be imported, so nothing can be checked; the lines above say why.")
    return done.stdout.strip() or None


def ensure_browser() -> str | None:
    """The Chromium for the tests, fetched if there is none; None when that can't be done."""
    found = find_browser()
    if found or os.environ.get("EMQLAB_CHROMIUM"):
        return found
    print("No Chromium is here: fetching one for the tests ...", flush=True)
    if is_debian_root():
        apt_install("chromium")
    if not find_browser():
        fetch = [str(PYTHON), "-m", "playwright", "install", "chromium"]
        run(fetch, {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(BROWSERS)})
    return find_browser()


def check_environment(browser: str | None) -> dict[str, str]:
    """The environment of every check: a home of its own, so that the user's is neither read nor written."""
    own = {"HOME": str(HOME), "EMQLAB_PROGRESS": str(HOME / "progress.json")}
    caches = {name: str(HOME / name.lower()) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    # What is compiled is kept, in .venv: hundreds of processes are started, and each would compile all of it again.
    own["PYTHONPYCACHEPREFIX"] = str(VENV / "pycache")
    unwanted = {"EMQLAB_SERVER", "EMQLAB_SERVER_BINARY", "PYTEST_ADDOPTS", "PYTHONHOME", "PYTHONPATH"}
    unwanted |= {"PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in unwanted}
    chromium = {"EMQLAB_CHROMIUM": browser} if browser else {}
    path = os.pathsep.join([str(PYTHON.parent), os.environ.get("PATH", os.defpath)])
    return {**kept, **own, **caches, **jupyter_places(), **chromium, "PATH": path}


def checks(environment: dict[str, str]) -> list[Check]:
    """Every check in order: its name, its command, its environment."""
    module = [str(PYTHON), "-m"]
    # A file's kernel or server serves all its tests. Three workers on two cores: browsers and servers are waited for,
    # and those come early, in the order of their names, not last because they are few.
    together = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
    bounded = f"--timeout={TEST_SECONDS}"  # a browser that died would be waited for without end
    pytest = [*module, "pytest", *together, bounded, f"--basetemp={VENV / 'tmp'}"]
    # It reads every notebook format's schema at its start, in each worker.
    no_lessons = ["-p", "no:nbval"]
    lessons = [
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout=60",
        "-p",
        "no:cacheprovider",
        "notebooks",
    ]
    return [
        ("ruff check", [*module, "ruff", "check", "."], environment),
        ("ruff format", [*module, "ruff", "format", "--check", "."], environment),
        ("mypy", [*module, "mypy"], environment),
        ("tests", [*pytest, *no_lessons], environment),
        ("lessons", [*pytest, *lessons], {**environment, "EMQLAB_SERVER": "embedded"}),
    ]


def warm_up(environment: dict[str, str]) -> None:
    """Have matplotlib look for fonts now: inside a lesson, on a slow machine, it would print about it."""
    HOME.mkdir(exist_ok=True)
    (HOME / "progress.json").unlink(missing_ok=True)
    run([str(PYTHON), "-c", "import matplotlib.font_manager"], environment)


def test() -> int:
    """Run every check, go on after a failure, and report each; 0 if all went well, else 1."""
    # Started in the background by a script, it would hand on that Ctrl-C is not heard, which some tests send.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    install(test=True)
    browser = ensure_browser()
    if not browser:
        wrong = os.environ.get("EMQLAB_CHROMIUM")
        cure = "unset EMQLAB_CHROMIUM, which names none" if wrong else "sudo apt-get install chromium"
        print(f"There is no Chromium, so the browser tests will fail: {cure}", flush=True)
    ensure_tools()
    environment = check_environment(browser)
    warm_up(environment)
    results = []
    for name, command, own in checks(environment):
        print(f"\n--- {name}", flush=True)
        start = time.monotonic()
        results.append((name, run(command, own), time.monotonic() - start))
    print("\n--- all checks")
    for name, passed, seconds in results:
        print(f"{'passed' if passed else 'FAILED'}  {name:<12}{seconds:6.1f} s")
    return 0 if all(passed for _, passed, _ in results) else 1


def main(arguments: list[str]) -> int:
    """Do what the command line asks; answer the exit status."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    try:
        if arguments == ["test"]:
            return test()
        if arguments and not arguments[0].startswith("-"):
            raise CannotGoOn(f"{' '.join(arguments)!r} is not known: `test`, or nothing to open the course.")
        open_course(arguments)
    except CannotGoOn as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
