"""`emqlab native build`: what it prints, what it writes, and how it fails."""

import argparse
import ast
import json
import shlex
from pathlib import Path

import pytest

from emqlab.native import module
from emqlab.native.module import CannotBuild, NotInSubset
from emqlab.native.module.build import Tell
from emqlab.native.module.command import BUILT, UNUSABLE, native_options


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that is built in no time, in a folder with a blank in its name."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    made = folder / "emq-1.so"
    made.write_bytes(b"built")

    def module_path(tell: Tell) -> Path:
        tell("Building emq with cc, once ...")
        return made

    monkeypatch.setattr(module, "module_path", module_path)
    return made


def run(*arguments: str) -> int:
    """The exit status of `emqlab native` with these arguments."""
    parser = argparse.ArgumentParser(prog="emqlab native")
    native_options(parser)
    options = parser.parse_args(arguments)
    status: int = options.call(options)
    return status


def test_it_prints_the_path_and_how_to_load_it(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line can be pasted into a shell; that something is built is said on standard error."""
    assert BUILT == run("build")
    printed = capsys.readouterr()
    path, line = printed.out.splitlines()
    assert str(built) == path
    assert ["valkey-server", "--loadmodule", str(built)] == shlex.split(line)
    assert "Building emq with cc, once ...\n" == printed.err


def test_it_prints_one_object(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json`: the same two things."""
    assert BUILT == run("build", "--json")
    load = f"valkey-server --loadmodule {shlex.quote(str(built))}"
    assert {"path": str(built), "load": load} == json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("built")
def test_it_writes_the_file_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server wants a whole path and a file it may execute; one that is there already is replaced, not overwritten."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emq.so").write_bytes(b"old")
    with (tmp_path / "emq.so").open("rb") as loaded:
        assert BUILT == run("build", "--output", "emq.so")
        assert b"old" == loaded.read()
    assert str(tmp_path / "emq.so") == capsys.readouterr().out.splitlines()[0]
    assert b"built" == (tmp_path / "emq.so").read_bytes()
    assert 0o755 == (tmp_path / "emq.so").stat().st_mode & 0o777
    assert {"a folder", "emq.so"} == {file.name for file in tmp_path.iterdir()}


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("output", "why"),
    [
        (".", "is no file name; name the file to write, as emq.so"),
        ("", "is no file name; name the file to write, as emq.so"),
        ("/nowhere/emq.so", "can't be written: No such file or directory; name another file"),
        ("/dev/null/emq.so", "can't be written: Not a directory; name another file"),
    ],
)
def test_an_output_that_can_t_be_written_is_named(output: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit status 2, nothing on standard output."""
    assert UNUSABLE == run("build", "--output", output)
    printed = capsys.readouterr()
    assert "" == printed.out
    assert why in printed.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (CannotBuild("there is no C compiler here"), "there is no C compiler here"),
        (NotInSubset("claim.py", ast.Pass(lineno=7), "not a statement"), "claim.py:7: not a statement: pass"),
    ],
)
def test_what_can_t_be_built_is_one_sentence(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2: a machine without a compiler, or a verb that was edited and is no C any more."""

    def module_path(tell: Tell) -> Path:
        raise error

    monkeypatch.setattr(module, "module_path", module_path)
    assert UNUSABLE == run("build")
    assert ("", f"emqlab native build: {said}\n") == capsys.readouterr()


def test_native_alone_asks_for_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`emqlab native` is no command."""
    with pytest.raises(SystemExit) as ended:
        run()
    assert 2 == ended.value.code
    assert "required: COMMAND" in capsys.readouterr().err
