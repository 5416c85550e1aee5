"""`binder/here.py`: what it decides before it installs or runs anything."""

import ast
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from binder import here, outside


@pytest.mark.parametrize("file", [here.__file__, outside.__file__], ids=["here", "outside"])
def test_it_needs_nothing_but_python(file: str) -> None:
    """A fresh clone has no packages, so only the standard library is imported, and its neighbour."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names | modules} <= sys.stdlib_module_names | {"binder"}


def test_it_can_be_started_from_anywhere(tmp_path: Path) -> None:
    """As a file, it finds its neighbour in the clone, whatever folder it is started in."""
    command = [sys.executable, "-I", here.__file__, "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Run the course, or every check of it")


def test_an_older_python_is_told_so_before_anything_else() -> None:
    """The sentence comes first: the annotations further down would stop an older Python less kindly."""
    code = (
        "import sys, runpy; sys.version_info = (3, 8, 1); sys.argv = ['here.py'];"
        f"runpy.run_path({here.__file__!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "emqlab needs Python 3.11 or newer, and this is 3.8.\n"


@pytest.mark.parametrize(
    ("made_for_test", "wanted_for_test", "enough"),
    [(False, False, True), (True, True, True), (True, False, True), (False, True, False)],
)
def test_an_installation_is_used_again(
    tmp_path: Path, made_for_test: bool, wanted_for_test: bool, enough: bool
) -> None:
    """A second run installs nothing; only the checks' tools ask for more than the course did."""
    stamp = tmp_path / "stamp.json"
    stamp.write_text(json.dumps(here.state(made_for_test)), encoding="utf-8")
    assert here.installed(stamp, here.state(wanted_for_test)) is enough


@pytest.mark.parametrize("changed", [{"clone": "/elsewhere"}, {"python": [3, 10]}, {"project": "other"}])
def test_an_installation_is_made_again_when_its_ground_changed(tmp_path: Path, changed: dict[str, object]) -> None:
    """A moved clone, another Python or another pyproject.toml each need a new installation."""
    stamp = tmp_path / "stamp.json"
    stamp.write_text(json.dumps({**here.state(True), **changed}), encoding="utf-8")
    assert not here.installed(stamp, here.state(True))


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_broken_stamp_means_not_installed(tmp_path: Path, text: str) -> None:
    """An installation that was interrupted is made again."""
    stamp = tmp_path / "stamp.json"
    stamp.write_text(text, encoding="utf-8")
    assert not here.installed(stamp, here.state(False))


def test_every_check_is_run_in_order() -> None:
    """Style, types, tests, lessons: the cheap ones first."""
    names = [name for name, _, _ in here.checks({})]
    assert names == ["ruff check", "ruff format", "mypy", "tests", "lessons"]


def test_the_lessons_are_compared_strictly_on_the_embedded_server() -> None:
    """The lessons' check names the server and the flags that make it exact."""
    _, command, environment = here.checks({})[-1]
    assert environment["EMQLAB_SERVER"] == "embedded"
    assert {"--nbval", "--nbval-current-env", "--nbval-cell-timeout=60"} <= set(command)


def test_the_checks_touch_nothing_outside_the_clone() -> None:
    """Home, caches, settings and progress of every check are in the clone's environment folder."""
    environment = here.check_environment(None)
    places = {name for name in environment if name.startswith(("XDG_CACHE", "XDG_CONFIG", "XDG_DATA_HOME"))}
    for name in {
        "HOME",
        "EMQLAB_PROGRESS",
        "IPYTHONDIR",
        "JUPYTER_CONFIG_DIR",
        "MPLCONFIGDIR",
        "PYTHONPYCACHEPREFIX",
        "npm_config_cache",
        *places,
    }:
        assert Path(environment[name]).is_relative_to(outside.VENV), name


def test_what_a_user_has_set_does_not_reach_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server, a path or pytest options of the user's own would make the checks another user's."""
    for name in ("EMQLAB_SERVER", "EMQLAB_SERVER_BINARY", "PYTHONPATH", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "theirs")
    assert "theirs" not in here.check_environment(None).values()


def test_an_unknown_word_is_answered_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing mistake installs nothing and says what is known."""
    assert here.main(["tests"]) == 2
    assert capsys.readouterr().err == "'tests' is not known: `test`, or nothing to open the course.\n"


def test_a_failure_does_not_hide_the_checks_after_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every check is run and reported, and one failure fails the whole."""
    ran = []

    def run(command: list[str], environment: dict[str, str] | None = None) -> bool:
        ran.append(command)
        return command[-1] != "mypy"

    monkeypatch.setattr(here, "install", lambda test: None)
    monkeypatch.setattr(here, "ensure_browser", lambda: "chromium")
    monkeypatch.setattr(here, "ensure_tools", lambda: None)
    monkeypatch.setattr(here, "warm_up", lambda environment: None)
    monkeypatch.setattr(here, "run", run)
    assert here.test() == 1
    words = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.endswith(" s")]
    assert words == ["passed", "passed", "FAILED", "passed", "passed"]
    assert len(ran) == 5


def test_ctrl_c_is_heard_by_checks_in_the_background_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that starts them there has it ignored, and whoever is started by them inherits that."""
    heard: list[object] = []

    def install(test: bool) -> None:
        heard.append(signal.getsignal(signal.SIGINT))
        raise here.CannotGoOn("enough")

    monkeypatch.setattr(here, "install", install)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert here.main(["test"]) == 2
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.default_int_handler]
