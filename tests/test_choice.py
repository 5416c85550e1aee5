"""The reader's choice of a server: kept in a small file, honoured by ``auto``, never in the way of a lesson."""

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

import emqlab
from emqlab import choice, reader
from emqlab.native.module import CannotBuild, NoCompiler, module_path
from emqlab.servers.binaries import NoServer, find_binary


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a new kernel does, on a machine where nothing is set."""
    for name in ("EMQLAB_PROGRESS", choice.VARIABLE, choice.BINARY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(choice, "_memory", None)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the choice is kept beside a progress file of the test's own; not there yet."""
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    return tmp_path / choice.FILE


@pytest.fixture
def without_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any server to start."""

    def none() -> NoReturn:
        raise NoServer("there is no Valkey or Redis here; install one.")

    monkeypatch.setattr("emqlab.servers.binaries.find_binary", none)


def opened(name: str | None) -> str:
    """The server that a lab gets."""
    with emqlab.open_lab(name) as lab:
        return lab.server.name


def test_a_choice_is_in_the_file(file: Path) -> None:
    """Kept, read again by another kernel, and replaced by the next."""
    assert choice.chosen() == "auto"
    assert not file.exists()
    for name in ("valkey", "embedded", "auto"):
        assert choice.choose(name) is True
        assert json.loads(file.read_text(encoding="utf-8")) == {"v": 1, "server": name}
        assert choice.chosen() == name
    assert [path.name for path in file.parent.iterdir()] == [choice.FILE]


def test_another_name_is_refused(file: Path) -> None:
    """One sentence with the names there are; nothing is kept."""
    with pytest.raises(ValueError, match=r"^server must be one of auto, embedded, valkey, not 'redis'$"):
        choice.choose("redis")
    assert not file.exists()


def test_the_file_lies_beside_the_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the progress is kept: in the folder of the lessons that are being read."""
    (tmp_path / reader.FIRST_LESSON).touch()
    monkeypatch.chdir(tmp_path)
    choice.choose("embedded")
    assert (tmp_path / choice.FILE).is_file()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"v": 2, "server": "auto"}', '{"v": 1, "server": []}', "[" * 100_000, b"\xff\xfe"]
)
def test_a_broken_file_is_left_as_it_is(file: Path, text: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is, it is not ours: said once, and what is chosen then lives in memory."""
    data = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(data)
    assert choice.chosen() == "auto"
    assert choice.choose("embedded") is False
    assert choice.chosen() == "embedded"
    assert file.read_bytes() == data
    assert capsys.readouterr().err.count("Your choice of a server can't be kept in .server.json (") == 1


def test_an_unwritable_place_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that is none: nothing is written, nothing raised."""
    (tmp_path / "flat").touch()
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "flat" / "progress.json"))
    assert choice.choose("embedded") is False
    assert [choice.choose("valkey"), choice.chosen()] == [False, "valkey"]
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["flat"]


def test_without_lessons_auto_is_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who only uses the lab has chosen nothing and hears nothing."""

    def nowhere(package: Path = tmp_path) -> Path:
        raise reader.CannotOpen("There are no lessons.")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reader, "find_lessons", nowhere)
    assert choice.chosen() == "auto"
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("file")
def test_auto_takes_what_was_chosen() -> None:
    """Embedded, although a real server may be there."""
    choice.choose("embedded")
    assert opened("auto") == "embedded"


@pytest.mark.usefixtures("file")
def test_the_variable_and_a_name_win_over_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """$EMQLAB_SERVER overrides what is chosen, a name overrides both, and no name is no question to the reader."""
    try:
        find_binary()
        module_path()
    except (NoServer, NoCompiler) as error:
        pytest.skip(str(error))
    choice.choose("valkey")
    assert [opened("auto"), opened("embedded"), opened(None)] == ["valkey", "embedded", "embedded"]
    monkeypatch.setenv(choice.VARIABLE, "embedded")
    assert opened("auto") == "embedded"
    choice.choose("embedded")
    monkeypatch.setenv(choice.VARIABLE, "auto")
    assert opened("auto") == "valkey"


@pytest.mark.usefixtures("file", "without_server")
def test_valkey_chosen_where_there_is_none_stops_no_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    """The embedded server instead, and one sentence that says what is missing."""
    choice.choose("valkey")
    assert opened("auto") == "embedded"
    said = "You chose valkey, but this is the embedded server: there is no Valkey or Redis here; install one.\n"
    assert capsys.readouterr().err == said
    choice.choose("auto")
    assert opened("auto") == "embedded"
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("file")
def test_a_wrong_program_that_was_named_stops_no_lesson_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who chose valkey is told that $EMQLAB_SERVER_BINARY is wrong, and reads on."""
    monkeypatch.setenv(choice.BINARY, "/nowhere/valkey-server")
    choice.choose("valkey")
    assert opened("auto") == "embedded"
    assert "$EMQLAB_SERVER_BINARY is '/nowhere/valkey-server'" in capsys.readouterr().err


@pytest.mark.usefixtures("without_server")
def test_looking_says_what_is_missing() -> None:
    """In a sentence, for a reader."""
    told = choice.look()
    assert told.server is None
    assert told.missing.startswith("There is no Valkey or Redis here; install one")


def test_looking_builds_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module that is not there yet is announced, and a machine without a compiler is told so."""
    monkeypatch.setattr("emqlab.native.module.build.cache_folder", lambda: tmp_path)
    monkeypatch.setattr("emqlab.native.module.build.PREBUILT", tmp_path)
    monkeypatch.setattr("emqlab.native.module.build.compilers", lambda: [["cc"]])
    assert choice.look().module == "to be built once, when it is first taken"
    monkeypatch.setattr("emqlab.native.module.build.compilers", list)
    told = choice.look()
    assert told.module is None
    assert "there is no C compiler here" in told.missing
    assert list(tmp_path.iterdir()) == []


def test_a_built_module_is_at_hand() -> None:
    """What was built once is said to be."""
    try:
        module_path()
    except CannotBuild as error:
        pytest.skip(str(error))
    assert choice.look().module == "built"
