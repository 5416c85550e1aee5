"""Opening the course: which folder, which port, and a server that is private and gone afterwards."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from emqlab import course, reader
from emqlab.reader import CannotOpen


def lessons(folder: Path) -> Path:
    """A folder that looks like the lessons', with a picture in a folder of its own."""
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "dive.png").write_bytes(b"png")
    (folder / reader.FIRST_LESSON).write_text("{}", encoding="utf-8")
    return folder


def test_a_clone_opens_its_own_notebooks(tmp_path: Path) -> None:
    """In a clone the lessons are read, and saved, where they are."""
    (tmp_path / "pyproject.toml").touch()
    folder = lessons(tmp_path / "notebooks")
    assert course.course_folder(tmp_path / "emqlab") == folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that carries the lessons, seen from another folder."""
    lessons(tmp_path / "site" / "emqlab" / "notebooks")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "site" / "emqlab"


def test_an_installed_package_copies_its_lessons(package: Path) -> None:
    """A reader without a clone gets the lessons in the current folder."""
    folder = course.course_folder(package)
    assert folder == Path.cwd() / "emqlab-course"
    assert (folder / reader.FIRST_LESSON).read_text(encoding="utf-8") == "{}"
    assert (folder / "images" / "dive.png").read_bytes() == b"png"


def test_a_readers_work_is_never_overwritten(package: Path) -> None:
    """Opening the course again brings back a lost file and leaves a changed one alone."""
    folder = course.course_folder(package)
    (folder / reader.FIRST_LESSON).write_text("mine", encoding="utf-8")
    (folder / "images" / "dive.png").unlink()
    course.course_folder(package)
    assert (folder / reader.FIRST_LESSON).read_text(encoding="utf-8") == "mine"
    assert (folder / "images" / "dive.png").exists()


def test_a_copy_that_cannot_be_made_is_explained(package: Path) -> None:
    """A file in the way of the folder ends in a sentence that says what to do."""
    Path("emqlab-course").touch()
    with pytest.raises(CannotOpen, match=r"can't be copied to .*emqlab-course .*folder of your own"):
        course.course_folder(package)


def test_no_lessons_at_all_are_explained(tmp_path: Path) -> None:
    """A half-installed package is not opened on an empty folder."""
    with pytest.raises(CannotOpen, match="install emqlab again"):
        course.course_folder(tmp_path / "emqlab")


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    """Trying out whether a file can be made leaves none behind."""
    course.check_writable(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    """A file where the folder should be can't be written into, not even by root."""
    in_the_way = tmp_path / "notebooks"
    in_the_way.touch()
    with pytest.raises(CannotOpen, match=r"notebooks can't be written to .*folder of your own"):
        course.check_writable(in_the_way)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server((course.HOST, 0)) as listening:
        yield listening.getsockname()[1]


def test_a_port_in_use_is_explained(taken_port: int) -> None:
    """The reader is told to name another port, or none."""
    with pytest.raises(CannotOpen, match=f"Port {taken_port} can't be used .*leave --port out"):
        course.choose_port(taken_port)


def test_a_free_port_is_found() -> None:
    """Without a wish, a port is chosen that can be used at once."""
    with socket.create_server((course.HOST, course.choose_port(None))) as listening:
        assert listening.getsockname()[1] > 0


def test_the_token_is_kept_from_other_users(tmp_path: Path) -> None:
    """The server asks for the token, and the token is in a file, not on a command line."""
    config = json.loads(course.write_config(tmp_path, tmp_path, 8888, "secret").read_text(encoding="utf-8"))
    assert config["IdentityProvider"] == {"token": "secret"}
    assert config["PasswordIdentityProvider"] == {"hashed_password": ""}
    assert config["ServerApp"]["ip"] == "127.0.0.1"


def test_without_a_screen_the_address_is_for_copying(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No browser to open is one sentence, and the address stands in a line of its own."""
    monkeypatch.setattr(course, "show", lambda url: False)
    course.announce("http://127.0.0.1:1/lab", browser=True)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "The course is at http://127.0.0.1:1/lab"
    assert "copy the address" in printed[1]


def test_a_terminal_without_a_screen_opens_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser for terminals would take over the one the course was started from."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("webbrowser.open", lambda url: pytest.fail("a browser was opened"))
    assert course.show("http://127.0.0.1:1/") is False


def test_a_server_that_does_not_start_shows_its_last_words(tmp_path: Path) -> None:
    """What JupyterLab printed before it ended is part of the explanation."""
    log = tmp_path / "log"
    log.write_text("no such port", encoding="utf-8")
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
        with pytest.raises(CannotOpen, match=r"did not start.*\n.*no such port"):
            course.wait_until_up(process, course.choose_port(None), "", log)


def test_the_lessons_find_the_commands_that_they_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of this interpreter, where ``emqlab`` is, comes first for the server, its kernels and terminals."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\necho "$PATH"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    log = tmp_path / "log"
    with course.serving(tmp_path / "config", log) as process:
        assert process.wait(30) == 0
    assert log.read_text(encoding="utf-8").split(os.pathsep)[0] == str(python.parent)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment in which Jupyter finds nothing of the user's and leaves nothing with them."""
    own = {name: str(tmp_path / name) for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    runtime = {"JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "TMPDIR": str(tmp_path)}
    screen = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return {**{name: value for name, value in os.environ.items() if name not in screen}, **own, **runtime}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_course_opens_and_ends_with_nothing_left(
    number: signal.Signals, tmp_path: Path, home: dict[str, str]
) -> None:
    """The printed address answers only with its token; a signal ends the server and clears its files."""
    port = course.choose_port(None)
    command = [sys.executable, "-m", "emqlab.cli", "course", "--no-browser", "--port", str(port)]
    with subprocess.Popen(command, env=home, stdout=subprocess.PIPE, text=True) as process:
        stop = threading.Timer(90, process.kill)  # or a server that never comes up would hang the suite
        stop.start()
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("The course is at ").strip()
            address, _, token = url.partition("?token=")
            assert address == f"http://127.0.0.1:{port}/lab/tree/{reader.FIRST_LESSON}"
            assert course.answers(port, token)
            assert not course.answers(port, "another")
        finally:
            process.send_signal(number)
            process.communicate()
            stop.cancel()
    assert process.returncode == (0 if number == signal.SIGINT else 128 + number)
    assert not course.answers(port, token)
    assert list(tmp_path.glob("emqlab-*")) == []
