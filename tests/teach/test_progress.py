"""Progress: a small file, written whole or not at all; in memory when there can be none."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from emqlab import reader
from emqlab.teach import progress

WHOLE = {"v": 1, "solved": ["01-1"], "hints": {"01-2": 2}}


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a new kernel does."""
    monkeypatch.delenv("EMQLAB_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "_memory", None)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file named by the environment, not there yet."""
    path = tmp_path / "mine.json"
    monkeypatch.setenv("EMQLAB_PROGRESS", str(path))
    return path


def test_what_is_done_is_in_the_file(file: Path) -> None:
    """Solved once is solved; hints are counted; a new kernel reads the same."""
    assert progress.read() == progress.Progress()
    progress.solved("01-1")
    progress.solved("01-1")
    assert [progress.hinted("01-2"), progress.hinted("01-2")] == [1, 2]
    assert json.loads(file.read_text(encoding="utf-8")) == WHOLE == json.loads(progress.export())
    assert progress.read() == progress.Progress(("01-1",), {"01-2": 2})


def test_reading_makes_no_file(file: Path) -> None:
    """Somebody who only looks leaves nothing behind."""
    progress.read()
    progress.export()
    assert not file.exists()


def test_another_kernels_notes_are_kept(file: Path) -> None:
    """Two lessons are open at once: what the other wrote in between is not lost."""
    progress.solved("01-2")
    file.write_text(json.dumps(WHOLE), encoding="utf-8")
    progress.solved("00-1")
    assert progress.read().solved == ("01-1", "00-1")


def test_the_default_place_is_beside_the_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel of a lesson runs; else in the copy that ``emqlab course`` made; else in the clone."""
    monkeypatch.chdir(tmp_path)
    assert progress.place() == reader.find_lessons() / ".progress.json"
    copy = tmp_path / reader.COPY
    copy.mkdir()
    (copy / reader.FIRST_LESSON).touch()
    assert progress.place() == copy / ".progress.json"
    monkeypatch.chdir(copy)
    assert progress.place() == copy / ".progress.json"


def test_without_lessons_progress_is_kept_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No folder to keep it in: said once, and it works all the same."""

    def nowhere(package: Path = tmp_path) -> Path:
        raise reader.CannotOpen("There are no lessons.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reader, "find_lessons", nowhere)
    in_memory(capsys)


def test_an_unwritable_place_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is none: nothing is written, nothing raised."""
    (tmp_path / "flat").touch()
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "flat" / "progress.json"))
    in_memory(capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["flat"]


def in_memory(capsys: pytest.CaptureFixture[str]) -> None:
    """Note two things, and hold that they are there and one sentence was said."""
    progress.solved("01-1")
    assert [progress.hinted("01-2"), progress.hinted("01-2")] == [1, 2]
    assert json.loads(progress.export()) == WHOLE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("Your progress can't be kept in its file (")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"v": 2, "solved": [], "hints": {}}',
        '{"v": 1, "solved": [7], "hints": {}}',
        '{"v": 1, "solved": [], "hints": {"01-1": "many"}}',
        '{"v": 1, "solved": [], "hints": []}',
        '{"v": 1}',
        "[" * 100_000,
        b"\xff\xfe",
    ],
    ids=range(11),
)
def test_a_broken_file_is_left_as_it_is(file: Path, text: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It may hold what somebody can still rescue; progress goes on in memory."""
    raw = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(raw)
    in_memory(capsys)
    assert file.read_bytes() == raw


def test_a_write_that_fails_half_way_loses_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk is full: the old file stays whole, and no half of a new one is left beside it."""
    file.write_text(json.dumps({"v": 1, "solved": [], "hints": {}}), encoding="utf-8")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    in_memory(capsys)
    assert json.loads(file.read_text(encoding="utf-8"))["solved"] == []
    assert [path.name for path in file.parent.iterdir()] == [file.name]
