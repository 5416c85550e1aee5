"""`emqlab serve`: an address, three lines that work, and nothing left behind."""

import argparse
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

import emqlab
from emqlab import keys
from emqlab.native.module import CannotBuild
from emqlab.serve import file_path, serve
from emqlab.servers.process import ServerProcess
from tests.servers.real import binary_of, built_module, wait_until

#: What the command line does with its options.
SERVE = """
import argparse, sys
from emqlab.serve import serve, serve_options
parser = argparse.ArgumentParser()
serve_options(parser)
sys.exit(serve(**vars(parser.parse_args())))
"""


@pytest.fixture(scope="module", autouse=True)
def a_server_can_be_had() -> None:
    """A Valkey, and the module built: here, not within a test's time."""
    binary_of("valkey")
    built_module()


class Serving:
    """``emqlab serve`` in a process of its own, once it has said where it is."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # As a shell starts a command in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
        self.said = ""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if line.startswith("Ctrl-C"):
                break

    @property
    def url(self) -> str:
        """Its address, as a lab is told it."""
        found = re.search(r"--server (\S+)", self.said)
        assert found, self.said
        return found[1]

    @property
    def lines(self) -> list[str]:
        """The lines to try."""
        return [line.strip() for line in self.said.splitlines() if line.startswith("  redis-cli ")]

    def client(self) -> redis.Redis:
        """A client of the server."""
        return redis.Redis.from_url(self.url, protocol=2, retry=None)

    def server(self) -> tuple[int, Path]:
        """The number of the server's process, and the private folder it runs in."""
        with self.client() as client:
            info = client.info("server")
        return int(info["process_id"]), Path(str(info["config_file"])).parent

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal; answer the exit status and what was said after that."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@pytest.fixture
def start() -> Iterator[type[Serving]]:
    """Starts ``emqlab serve``; what a test leaves running is ended."""
    begun: list[Serving] = []

    class Noted(Serving):
        def __init__(self, *options: str) -> None:
            begun.append(self)
            super().__init__(*options)

    yield Noted
    for serving in begun:
        if serving.process.poll() is None:
            serving.end(signal.SIGTERM)


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path short enough for a socket in it."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="emqlab-test-") as folder:
        yield Path(folder)


def gone(pid: int) -> bool:
    """Whether there is no such process any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def run(line: str) -> str:
    """What a line prints when it is pasted into a shell."""
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.rstrip("\n")


@pytest.fixture
def redis_cli() -> None:
    """The program that the lines to try call."""
    if not shutil.which("redis-cli"):
        pytest.skip("there is no redis-cli on the PATH; install one (apt-get install redis-tools)")


@pytest.mark.usefixtures("redis_cli")
@pytest.mark.parametrize("at", ["port", "socket"])
def test_the_three_lines_work_when_pasted_in_their_order(start: type[Serving], short: Path, at: str) -> None:
    """Enqueued, claimed with token 1, completed."""
    serving = start(*(["--socket", str(short / "a b")] if at == "socket" else []))
    enqueue, claim, complete = serving.lines
    job_id = re.search(r"JOB\w{11}", enqueue)
    assert job_id
    assert run(enqueue) == "1"
    assert run(claim) == f"{job_id[0]}\ntea\n1"
    assert run(complete) == "1"


@pytest.mark.usefixtures("redis_cli")
def test_its_job_is_not_mistaken_for_one_that_waits_already(start: type[Serving], tmp_path: Path) -> None:
    """With a job left waiting, the lines to try use another queue, so that they still work."""
    first = start("--data", str(tmp_path))
    run(first.lines[0])
    first.end(signal.SIGTERM)
    again = start("--data", str(tmp_path))
    assert "emq:{demo}:" in first.lines[0]
    assert "emq:{demo-2}:" in again.lines[0]
    assert [run(line).splitlines()[-1] for line in again.lines] == ["1", "1", "1"]


def test_a_lab_opens_on_what_it_names(start: type[Serving]) -> None:
    """The address is one that a lab takes, and its native verbs are there."""
    with emqlab.open_lab(start().url) as lab:
        job = lab.native.enqueue("q", b"tea")
        claim = lab.native.claim("q")
        assert claim is not None
        assert (job, 1) == (claim.id, claim.token)


def test_it_claims_the_wire_version(start: type[Serving]) -> None:
    """Before anybody comes, the server holds the version that the verbs ask for."""
    with start().client() as client:
        assert client.get(keys.VERSION_KEY) == keys.VERSION


def test_it_listens_for_this_machine_only(start: type[Serving]) -> None:
    """One address of the loopback, and the protected mode."""
    with start().client() as client:
        assert client.config_get("bind") == {"bind": "127.0.0.1"}
        assert client.config_get("protected-mode") == {"protected-mode": "yes"}


def test_at_a_socket_it_has_no_port(start: type[Serving], short: Path) -> None:
    """The file is its user's alone, and there is no other way in."""
    place = short / "emq.sock"
    with start("--socket", str(place)).client() as client:
        assert client.config_get("port") == {"port": "0"}
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_stops_cleanly(start: type[Serving], short: Path, number: int) -> None:
    """No process, no folder and no socket is left, and the end is told in one sentence."""
    place = short / "s"
    serving = start("--socket", str(place))
    pid, folder = serving.server()
    assert folder.exists()
    assert serving.end(number) == (0, "\nThe server has stopped.\n", "")
    assert (True, False, False) == (gone(pid), folder.exists(), place.exists())


def test_nothing_is_left_when_it_is_killed(start: type[Serving]) -> None:
    """SIGKILL can't be handled, and yet the server and its folder go."""
    serving = start()
    pid, folder = serving.server()
    serving.end(signal.SIGKILL)
    wait_until(lambda: gone(pid) and not folder.exists(), "the server and its folder are gone")


def test_a_restart_finds_the_jobs(start: type[Serving], tmp_path: Path) -> None:
    """``--data`` is made, kept and used again: a job and its token outlive the server."""
    data = tmp_path / "data"
    first = start("--data", str(data))
    with emqlab.open_lab(first.url) as lab:
        lab.native.enqueue("q", "Grüße".encode())
        claim = lab.native.claim("q")
        assert claim is not None
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert first.end(signal.SIGTERM)[1] == f"\nThe server has stopped; its jobs are in {data}.\n"
    with emqlab.open_lab(start("--data", str(data)).url) as lab:
        lab.native.requeue("q", claim.id, claim.token)
        assert lab.native.claim("q") == emqlab.Claimed(claim.id, "Grüße".encode(), 2)


def test_it_says_that_the_server_is_gone(start: type[Serving]) -> None:
    """A client's SHUTDOWN, or a crash, ends it with status 3 and a sentence."""
    serving = start()
    pid, _ = serving.server()
    os.kill(pid, signal.SIGKILL)
    out, err = serving.process.communicate(timeout=30)
    assert (3, "") == (serving.process.returncode, out)
    assert err == "emqlab serve: the server has ended: a client shut it down, or it crashed; start it again\n"


# -- what can't be served, in one sentence


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Iterator[list[str]]:
    """What the one sentence must hold; checked when the test has filled it in."""
    words: list[str] = []
    yield words
    told = capsys.readouterr()
    assert "" == told.out
    assert re.fullmatch(r"emqlab serve: .*\n", told.err), told.err
    assert [word for word in words if word not in told.err] == []
    assert words


def test_a_port_that_is_taken(refused: list[str]) -> None:
    """It names the port and the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert serve(port=port) == 2
    refused += [f"port {port} can't be used", "--port"]


def test_a_socket_that_is_there(refused: list[str], short: Path) -> None:
    """Whatever it is, it is not replaced."""
    (short / "s").write_text("mine", encoding="utf-8")
    assert serve(socket=short / "s") == 2
    assert (short / "s").read_text(encoding="utf-8") == "mine"
    refused += [f"{short / 's'} is there already", "--socket"]


def test_a_socket_that_somebody_listens_at(refused: list[str], short: Path) -> None:
    """It is theirs."""
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(short / "s"))
        theirs.listen()
        assert serve(socket=short / "s") == 2
    assert (short / "s").is_socket()
    refused += [f"{short / 's'} is there already", "--socket"]


def test_a_socket_that_a_killed_server_left_is_replaced(start: type[Serving], short: Path) -> None:
    """Nobody listens there: it is no reason not to start again with the same line."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(short / "s"))
    assert (short / "s").is_socket()
    assert start("--socket", str(short / "s")).client().ping()


def test_only_the_last_folder_is_made(refused: list[str], tmp_path: Path) -> None:
    """The rest is more likely mistyped."""
    assert serve(data=tmp_path / "a" / "b") == 2
    assert not (tmp_path / "a").exists()
    refused += [f"{tmp_path / 'a'} is no folder; make that, or name another by --data"]


def test_a_socket_with_too_long_a_path(refused: list[str], tmp_path: Path) -> None:
    """How long it is, and where a shorter one could be."""
    place = tmp_path / ("s" * 100)
    assert serve(socket=place) == 2
    refused += [f"too long: {len(os.fsencode(place))} bytes", "/tmp/emq"]


def test_a_socket_in_no_folder(refused: list[str], short: Path) -> None:
    """A folder is not made for it."""
    assert serve(socket=short / "none" / "s") == 2
    refused += ["No such file or directory", "--socket"]


@pytest.mark.parametrize("text", ["", "a\nport 1", "\udcff"])
def test_a_path_that_settings_cannot_hold(text: str) -> None:
    """A line break in it would be a setting of its own."""
    with pytest.raises(argparse.ArgumentTypeError, match="printable"):
        file_path(text)


def test_a_path_of_the_readers_folder_is_found_by_the_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The server runs in another folder, and knows no ``~``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    assert [tmp_path / "data", Path("/home/ada/data")] == [file_path("data"), file_path("~/data")]


def test_a_data_folder_that_is_none(refused: list[str], tmp_path: Path) -> None:
    """A file in the way of the folder."""
    (tmp_path / "data").touch()
    assert serve(data=tmp_path / "data") == 2
    refused += [f"{tmp_path / 'data'} can't keep jobs", "--data"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for a folder that nobody can write to: Linux has /proc")
def test_a_data_folder_that_cannot_be_written(refused: list[str]) -> None:
    """Found out before a server is started."""
    assert serve(data=Path("/proc/self")) == 2
    refused += ["/proc/self can't keep jobs", "--data"]


def test_a_data_folder_that_is_in_use(refused: list[str], start: type[Serving], tmp_path: Path) -> None:
    """Two servers would destroy one file of jobs between them."""
    start("--data", str(tmp_path))
    assert serve(data=tmp_path) == 2
    refused += [f"{tmp_path} is being served already"]


def test_data_of_another_wire_version(refused: list[str], tmp_path: Path) -> None:
    """It is left as it is: the verbs would refuse every call on it."""
    process = ServerProcess(binary_of("valkey"), config={"dir": str(tmp_path)})
    process.start()
    with redis.Redis(unix_socket_path=process.socket) as client:
        client.set(keys.VERSION_KEY, "echomq:2.0.0")
    process.close()
    assert serve(data=tmp_path) == 2
    refused += ["echomq:2.0.0"]


def test_no_server_program(refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence of every lab: how to get one."""
    monkeypatch.setenv("EMQLAB_SERVER_BINARY", "no-such-server")
    assert serve() == 2
    refused += ["no-such-server"]


def test_a_program_that_is_no_server(refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and who named it."""
    monkeypatch.setenv("EMQLAB_SERVER_BINARY", shutil.which("false") or "/bin/false")
    assert serve() == 2
    refused += ["named by $EMQLAB_SERVER_BINARY, is no Valkey or Redis"]


def test_no_module(refused: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler and without a built module there are no verbs to serve."""

    def cannot(tell: object) -> Path:
        raise CannotBuild("there is no C compiler here; install one")

    monkeypatch.setattr("emqlab.native.module.module_path", cannot)
    assert serve() == 2
    refused += ["there is no C compiler here; install one"]
