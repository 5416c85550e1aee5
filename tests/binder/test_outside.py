"""What the test line gets from outside Python, where it can; and what it says where it can't."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from binder import outside
from tests.servers.real import built_module

CLONE = Path(__file__).parents[2]

Ensure = Callable[[], bool]


class Machine:
    """A machine with some programs on it, on which commands are noted and do what a test says they do."""

    def __init__(self, folder: Path) -> None:
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.ran: list[list[str]] = []
        self.brings: dict[str, list[str]] = {}

    def has(self, *names: str, answer: int = 0) -> None:
        """Put programs there that do nothing but exit with ``answer``."""
        for name in names:
            program = self.programs / name
            program.write_text(f"#!/bin/sh\nexit {answer}\n", encoding="utf-8")
            program.chmod(0o755)

    def run(self, command: list[str], environment: dict[str, str] | None = None) -> bool:
        """Note a command, and put there what it brings."""
        self.ran.append(command)
        brought = self.brings.get(command[-1])
        self.has(*(brought or []))
        return brought is not None


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with nothing on it, on which we are not root, and a clone whose environment is empty."""
    made = Machine(tmp_path)
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", str(made.programs))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(outside, "run", made.run)
    monkeypatch.setattr(outside, "is_debian_root", lambda: False)
    monkeypatch.setattr(outside, "VENV", venv)
    monkeypatch.setattr(outside, "NODE", venv / "node")
    monkeypatch.setattr(outside, "PYTHON", venv / "bin" / "python")
    (venv / "bin" / "python").symlink_to("/bin/false")
    return made


@pytest.fixture
def debian(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The same as root of a Debian."""
    monkeypatch.setattr(outside, "is_debian_root", lambda: True)
    return machine


def test_what_is_there_is_not_fetched(debian: Machine) -> None:
    """On a machine with all of it, nothing is run."""
    debian.has("redis-server", "redis-cli", "redis-benchmark", "cc")
    (outside.NODE / "node_modules" / "redis").mkdir(parents=True)
    outside.ensure_tools()
    assert [] == debian.ran


def test_a_debian_gets_a_redis_and_no_service(debian: Machine) -> None:
    """The tools hold the server's program; the package that would start it is not installed."""
    debian.brings["redis-tools"] = ["redis-check-rdb", "redis-cli", "redis-benchmark"]
    assert outside.ensure_redis()
    assert ["redis-tools"] == [command[-1] for command in debian.ran]
    link = outside.PYTHON.parent / "redis-server"
    assert debian.programs / "redis-check-rdb" == link.readlink()


def test_a_link_that_does_not_run_is_not_kept(debian: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the tools do not hold the server, there is none, and that is said."""
    debian.has("redis-check-rdb", answer=1)
    debian.brings["redis-tools"] = ["redis-cli", "redis-benchmark"]
    assert not outside.ensure_redis()
    assert not os.path.lexists(outside.PYTHON.parent / "redis-server")
    assert "There is no redis-server here" in capsys.readouterr().err


def test_a_debian_gets_a_compiler_and_its_headers(debian: Machine) -> None:
    """gcc alone would not find stdio.h."""
    debian.brings["libc6-dev"] = ["cc"]
    assert outside.ensure_compiler()
    assert ["gcc", "libc6-dev"] == debian.ran[0][-2:]


def test_elsewhere_the_compiler_comes_by_pip(machine: Machine) -> None:
    """ziglang needs no root."""
    machine.brings["ziglang"] = []
    assert outside.ensure_compiler()
    assert [["install", "--quiet", "--no-cache-dir", "ziglang"]] == [command[-4:] for command in machine.ran]


def test_a_compiler_that_is_named_will_do(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """``$CC`` is what the build takes first."""
    monkeypatch.setenv("CC", "clang")
    assert outside.ensure_compiler()
    assert [] == machine.ran


def test_nodes_client_is_put_into_the_clone(machine: Machine) -> None:
    """Neither npm's cache nor the package is outside of it."""
    machine.has("node", "npm")
    machine.brings[outside.NODE_CLIENT] = []
    assert outside.ensure_node_client()
    (command,) = machine.ran
    assert {f"--prefix={outside.NODE}", f"--cache={outside.VENV / 'npm'}"} <= set(command)


@pytest.mark.parametrize(
    ("ensure", "missing", "skipped", "cure"),
    [
        (outside.ensure_redis, "redis-server", "the tests on Redis", "apt-get install redis-server"),
        (outside.ensure_compiler, "C compiler", "every test of the module", "apt-get install gcc"),
        (outside.ensure_node_client, "node and npm", "node's client", "apt-get install npm"),
    ],
)
def test_what_cannot_be_had_is_said_in_a_line(
    machine: Machine, capsys: pytest.CaptureFixture[str], ensure: Ensure, missing: str, skipped: str, cure: str
) -> None:
    """What is missing, which tests that costs, and how to get it; the tests go on."""
    assert not ensure()
    told = capsys.readouterr().err
    assert 1 == told.count("\n")
    assert [] == [words for words in (f"There is no {missing}", skipped, "skipped", cure) if words not in told]


def test_binders_image_has_what_a_real_server_needs() -> None:
    """A compiler for the module, and redis-cli for the lines that `emqlab serve` gives to try."""
    packages = (CLONE / "binder" / "apt.txt").read_text(encoding="utf-8").split()
    assert ["gcc", "libc6-dev", "redis-tools"] == packages


def test_binders_last_step_builds_the_module(tmp_path: Path) -> None:
    """Run here as it is there, it leaves the module where a lab will look for it."""
    built_module()
    step = (CLONE / "binder" / "postBuild").read_text(encoding="utf-8")
    code = step.partition("<<'PY'\n")[2].partition("\nPY\n")[0]
    assert code
    elsewhere = f"import sys; sys.prefix = {str(tmp_path)!r}\n{code}"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", elsewhere], env=environment, cwd=CLONE, check=True, stdout=subprocess.DEVNULL)
    assert [] != list((tmp_path / "emqlab").glob("emq-*"))
    assert (tmp_path / "share" / "jupyter" / "lab" / "settings" / "overrides.json").is_file()
