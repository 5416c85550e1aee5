"""The command line: help, versions, mistakes, and how it ends when it is interrupted."""

import errno
import io
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emqlab import cli, course, doctor, reader


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
        raise reader.CannotOpen("There is no course here.")

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


@pytest.fixture(params=["", "1"], ids=["buffered", "unbuffered"])
def buffering(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether Python writes at once (a failure comes with the print) or later (it comes with the flush)."""
    monkeypatch.setenv("PYTHONUNBUFFERED", request.param)


def started(*arguments: str, redirect: str = "") -> tuple[int, str, str]:
    """`emqlab ARGUMENTS` by a shell that redirects: the exit status, what was printed, what was said."""
    command = ["sh", "-c", f'exec "$@" {redirect}', "sh", sys.executable, "-m", "emqlab.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@needs_dev_full
@pytest.mark.usefixtures("buffering")
@pytest.mark.parametrize("arguments", [["doctor"], ["--help"], ["run", "--help"], ["--version"]], ids=" ".join)
def test_a_full_disk_is_one_sentence(arguments: list[str]) -> None:
    """`emqlab … > /dev/full` fails at the last flush: status 2, no traceback, no second complaint of Python's."""
    status, _, said = started(*arguments, redirect=">/dev/full")
    assert (2, 1) == (status, said.count("\n"))
    assert said.startswith("emqlab: the output can't be written: No space left on device")


@needs_dev_full
@pytest.mark.parametrize("how", [["--json"], []], ids=["json", "table"])
def test_a_disk_that_fills_up_in_the_middle_is_one_sentence(tmp_path: Path, how: list[str]) -> None:
    """More than a buffer of output, so that a write fails before the last flush."""
    case = '{"name": "%s", "queue": "q", "when": [{"verb": "claim", "lease_ms": "5"}]}' % ("n" * 20_000)
    (tmp_path / "a.json").write_text(case)
    status, _, said = started("run", str(tmp_path / "a.json"), *how, redirect=">/dev/full")
    assert (2, 1) == (status, said.count("\n"))
    assert said.startswith("emqlab: the output can't be written: ")


@pytest.mark.parametrize("arguments", [["doctor"], ["run", "x.json"], ["--help"], ["--version"]], ids=" ".join)
def test_a_closed_output_is_one_sentence(arguments: list[str]) -> None:
    """`emqlab … >&-`: Python has no standard output at all."""
    status, _, said = started(*arguments, redirect=">&-")
    assert (2, 1) == (status, said.count("\n"))
    assert said.startswith("emqlab: standard output is closed")


@pytest.mark.parametrize("redirect", ["2>&-", "</dev/null 2>&-", "<&- 2>&-", ">&- 2>&-"])
def test_without_a_standard_error_the_status_still_tells(redirect: str) -> None:
    """What would be said there is said to nobody, and not on standard output instead."""
    assert (2, "", "") == started("run", "missing.json", redirect=redirect)
    assert (2, "", "") == started("run", redirect=redirect)


@needs_dev_full
def test_a_full_standard_error_changes_no_status() -> None:
    """Nothing more can be said."""
    assert (2, "", "") == started("run", "missing.json", redirect="2>/dev/full")


def test_a_closed_input_is_one_sentence() -> None:
    """`emqlab run - <&-`: Python has no standard input at all."""
    status, printed, said = started("run", "-", redirect="<&-")
    assert (2, "", 1) == (status, printed, said.count("\n"))
    assert said.startswith("emqlab run: standard input: it is closed")


def test_another_error_of_the_system_is_not_taken_for_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault inside a command is not explained away."""

    def refuse(**options: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", "elsewhere.txt")

    monkeypatch.setattr(doctor, "report", refuse)
    with pytest.raises(OSError, match=r"elsewhere\.txt"):
        cli.main(["doctor"])


def test_standard_error_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller in Python finds its streams as they were."""
    monkeypatch.setattr(doctor, "report", lambda **options: 0)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", None)
    assert cli.main(["doctor"]) == 0
    assert sys.stderr is None


def test_a_signal_ends_a_run_as_an_exception() -> None:
    """So that it cleans up; one that is ignored, as nohup has it, stays ignored, and all is put back."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    terminate = signal.getsignal(signal.SIGTERM)
    try:
        with cli.ended_by_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            with pytest.raises(SystemExit) as ended:
                signal.raise_signal(signal.SIGTERM)
        assert 143 == ended.value.code
        assert (signal.SIG_IGN, terminate) == (signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_help_says_where_the_optimistic_host_is_to_be_had(capsys: pytest.CaptureFixture[str]) -> None:
    """On every real server, the lab's own too."""
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert "on a real server (valkey or a URL)" in " ".join(capsys.readouterr().out.split())
