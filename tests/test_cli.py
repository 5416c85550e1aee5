"""The command line: help, versions, mistakes, and how it ends when it is interrupted."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emqlab import cli, course, doctor


def usage_error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a mistake in ``arguments`` is answered with; the status must be 2."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`emqlab --help` shows what there is to run, each with a line about it."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    commands = text.partition("commands:")[2].split()
    assert {"course", "run", "doctor"} <= set(commands)


@pytest.mark.parametrize("command", ["course", "run", "doctor"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`emqlab COMMAND --help` begins with how the command is written."""
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: emqlab {command}")


def test_the_version_is_the_installed_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`emqlab --version` answers what the package was installed as."""
    monkeypatch.setattr(metadata, "version", lambda name: "9.8.7")
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "emqlab 9.8.7\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fly"], "'fly'"),
        (["run"], "PATH"),
        (["run", "x.json", "--executor", "lua"], "'lua'"),
        (["run", "x.json", "--colour"], "--colour"),
        (["--port", "0"], "'0'"),
        (["course", "--port", "65536"], "'65536'"),
        (["course", "--port", "http"], "'http'"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake is named in one line on standard error, which says where to look; the status is 2."""
    said = usage_error(capsys, *arguments)
    assert named in said
    assert said.count("\n") == 1
    assert "--help" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"port": None, "browser": True}),
        (["course"], {"port": None, "browser": True}),
        (["--port", "8899"], {"port": 8899, "browser": True}),
        (["--port", "8899", "course", "--no-browser"], {"port": 8899, "browser": False}),
    ],
)
def test_the_course_opens_with_and_without_its_name(
    arguments: list[str], expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`emqlab` alone is `emqlab course`, and the options may stand before the command or after it."""
    opened: list[dict[str, Any]] = []

    def open_course(**options: Any) -> int:
        opened.append(options)
        return 0

    monkeypatch.setattr(course, "open_course", open_course)
    assert cli.main(arguments) == 0
    assert opened == [expected]


def test_run_hands_its_words_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """`emqlab run` parses and calls, and answers the status of what it called."""
    called: list[Any] = []

    def run(paths: list[str], **options: Any) -> int:
        called.append((paths, options))
        return 3

    command = ModuleType("emqlab.parity.command")
    monkeypatch.setattr(command, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, "emqlab.parity.command", command)
    assert cli.main(["run", "a.json", "-", "--executor", "native", "--server", "valkey", "--json"]) == 3
    options = {"executor": "native", "server": "valkey", "native": "module", "as_json": True}
    assert called == [(["a.json", "-"], options)]


def test_a_course_that_cannot_be_opened_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What keeps the course from opening is said without a traceback, with status 1."""

    def refuse(**options: Any) -> int:
        raise course.CannotOpen("There is no course here.")

    monkeypatch.setattr(course, "open_course", refuse)
    assert cli.main([]) == 1
    assert capsys.readouterr().err == "emqlab: There is no course here.\n"


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C in the middle of a command ends it with the shell's status for it and not a word."""

    def interrupted(**options: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "report", interrupted)
    assert cli.main(["doctor"]) == 130
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_a_reader_that_went_away_ends_it_quietly(tmp_path: Path) -> None:
    """`emqlab doctor | head` with nobody at the other end of the pipe prints no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        command = [sys.executable, "-m", "emqlab.cli", "doctor"]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (141, "")
