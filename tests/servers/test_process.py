"""One server process: it starts, ends, keeps its data, and is never left behind."""

import errno
import multiprocessing
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from emqlab.native.module import NoCompiler, module_files
from emqlab.native.module.build import shared_object
from emqlab.servers import process as process_module
from emqlab.servers.binaries import VARIABLE, NoServer, find_binary
from emqlab.servers.process import CannotStart, ServerProcess
from emqlab.servers.watcher import Watcher

#: Starts a server as a lab would, tells its folder and number, and goes on as told.
LAB = """
import os, signal, sys
from emqlab.servers.binaries import find_binary
from emqlab.servers.process import ServerProcess
server = ServerProcess(find_binary())
server.start()
print(server.directory, server.pid, flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="session")
def binary() -> Path:
    """The server that the lab would start."""
    try:
        return find_binary()
    except NoServer as error:
        pytest.skip(str(error))


@pytest.fixture
def server(binary: Path) -> Iterator[ServerProcess]:
    """A running server."""
    made = ServerProcess(binary)
    made.start()
    yield made
    made.close()


def client(server: ServerProcess) -> redis.Redis:
    """A plain client."""
    return redis.Redis(unix_socket_path=server.socket, protocol=2)


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it holds before the time is over."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def gone(pid: int) -> bool:
    """Whether no such process runs: it is not there, or waits for its parent to look at it."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        # Gone between the two questions, or a system without /proc, where it is there.
        return Path("/proc/self").exists()


def test_it_answers_on_its_socket(server: ServerProcess) -> None:
    """As soon as start comes back."""
    assert client(server).ping()


def test_only_its_owner_reaches_it(server: ServerProcess) -> None:
    """Folder and socket are private, and no port is set."""
    assert 0o700 == stat.S_IMODE(server.directory.stat().st_mode)
    assert 0o700 == stat.S_IMODE(Path(server.socket).stat().st_mode)
    assert {"port": "0"} == client(server).config_get("port")


def test_no_port_is_open(server: ServerProcess) -> None:
    """The kernel knows no TCP socket of the process."""
    folder = Path(f"/proc/{server.pid}/fd")
    if not folder.exists():
        pytest.skip("this system has no /proc to look at a process's sockets")
    held = {str(entry.readlink()) for entry in folder.iterdir() if entry.is_symlink()}
    listening = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if Path(table).exists():
            listening |= {f"socket:[{line.split()[9]}]" for line in Path(table).read_text().splitlines()[1:]}
    assert any(name.startswith("socket:") for name in held)
    assert set() == held & listening


def test_its_socket_has_a_short_path(server: ServerProcess) -> None:
    """Whatever the temporary folder is: the limit is 104 bytes."""
    assert len(server.socket.encode()) < 104


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_was_written_is_there_again(server: ServerProcess, end: str) -> None:
    """After an ordered stop and after SIGKILL, to the last command, under another number."""
    before = server.pid
    for number in range(200):
        client(server).set("n", number)
    getattr(server, end)()
    assert (None, False) == (server.pid, server.alive)
    server.start()
    assert (b"199", True) == (client(server).get("n"), before != server.pid)


def test_forgotten_data_is_gone(server: ServerProcess) -> None:
    """The next start begins with nothing."""
    client(server).set("k", "v")
    server.kill()
    server.forget_data()
    server.start()
    assert 0 == client(server).dbsize()


def test_a_running_server_is_not_started_again(server: ServerProcess) -> None:
    """That would leave the first one behind."""
    with pytest.raises(RuntimeError, match="runs already"):
        server.start()
    assert client(server).ping()


def test_a_closed_server_is_not_started(server: ServerProcess) -> None:
    """Its folder is gone, and that is said."""
    server.close()
    server.forget_data()
    with pytest.raises(CannotStart, match="was closed"):
        server.start()
    assert not server.directory.exists()


def test_close_leaves_nothing(binary: Path) -> None:
    """Neither process nor folder, and it may be called again."""
    server = ServerProcess(binary)
    server.start()
    pid = server.pid
    assert pid is not None
    server.close()
    server.close()
    assert (True, False) == (gone(pid), server.directory.exists())


def test_dropping_it_closes_it(binary: Path) -> None:
    """A lab that nobody holds any more holds no server either."""
    server = ServerProcess(binary)
    server.start()
    pid, folder = server.pid, server.directory
    assert pid is not None
    del server
    assert eventually(lambda: gone(pid) and not folder.exists())


def test_a_frozen_server_can_be_closed(server: ServerProcess) -> None:
    """SIGKILL reaches one that is stopped or busy."""
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    server.close()
    assert gone(pid)


def test_a_server_that_does_not_listen_is_ended(server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordered stop becomes a kill, and the data is there again."""
    client(server).set("k", "v")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    monkeypatch.setattr(process_module, "STOP_S", 0.2)
    server.stop()
    assert not server.alive
    server.start()
    assert b"v" == client(server).get("k")


def test_many_start_at_once(binary: Path) -> None:
    """24 starts in parallel: each answers, and no two share anything."""
    servers = [ServerProcess(binary) for _ in range(24)]
    try:
        with ThreadPoolExecutor(24) as pool:
            list(pool.map(ServerProcess.start, servers))
        for number, one in enumerate(servers):
            client(one).set("mine", number)
        assert [b"%d" % number for number in range(24)] == [client(one).get("mine") for one in servers]
        assert 24 == len({one.pid for one in servers})
    finally:
        for one in servers:
            one.close()


# ---------------------------------------------------------------- a start that fails


def test_a_wrong_setting_is_a_sentence(binary: Path) -> None:
    """With the server's own words, on one line, and nothing is left."""
    server = ServerProcess(binary, config={"maxmemory": "lots"})
    with pytest.raises(CannotStart, match=r"did not start: .*memory value.*maxmemory") as refused:
        server.start()
    server.close()
    assert (False, False) == ("\n" in str(refused.value), server.directory.exists())


def test_a_refused_module_is_a_sentence(binary: Path) -> None:
    """It names the module and says what the server said."""
    server = ServerProcess(binary, modules=["/nowhere.so"])
    with pytest.raises(CannotStart, match=r"/nowhere\.so.*cannot open shared object file|/nowhere\.so.*failed to load"):
        server.start()
    server.close()


def test_a_program_that_is_no_server_is_a_sentence() -> None:
    """Nothing that it printed is passed on: some print the settings."""
    for program in ("/bin/true", "/bin/cat"):
        server = ServerProcess(program)
        with pytest.raises(CannotStart) as refused:
            server.start()
        server.close()
        assert str(refused.value) == (
            f"{program} is no Valkey or Redis that runs here;"
            " set $EMQLAB_SERVER_BINARY to a valkey-server or redis-server"
        )


def test_a_program_that_never_answers_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while the start is given up and the program is gone."""
    program = tmp_path / "mute"
    version = '[ "$1" != --version ] || { echo v=9.1.2; exit; }'
    program.write_text(f"#!/bin/sh\n{version}\necho $$ > number\nexec sleep 1000\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(process_module, "START_S", 0.3)
    monkeypatch.setenv(VARIABLE, str(program))
    server = ServerProcess(program)
    with pytest.raises(CannotStart, match=rf"mute, named by \${VARIABLE}, did not answer within"):
        server.start()
    pid = int((server.directory / "number").read_text())
    assert gone(pid)
    server.close()


def test_a_password_is_not_printed(binary: Path) -> None:
    """A server that complains of the line that holds it quotes that line."""
    secret = "ab" * 32
    server = ServerProcess(binary, config={"usr": f"x on >{secret}"})
    with pytest.raises(CannotStart, match=r"usr.*>\.\.\.") as refused:
        server.start()
    text = server.log.read_text(encoding="utf-8")
    server.close()
    assert (True, False) == (secret in text, secret in str(refused.value))


def test_a_damaged_module_is_named_for_removal(binary: Path, tmp_path: Path) -> None:
    """It is built anew once it is gone."""
    damaged = tmp_path / "emq.so"
    damaged.write_bytes(b"\x7fELF")
    damaged.chmod(0o755)
    server = ServerProcess(binary, modules=[damaged])
    with pytest.raises(CannotStart, match=f"remove {damaged}, and it is built anew"):
        server.start()
    server.close()


@pytest.mark.parametrize("kind", ["missing", "long"])
def test_no_folder_to_write_in_is_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    """Which folder, why, and what to do; nothing is left."""
    wanted = tmp_path / ("x" * 100 if kind == "long" else "none")
    monkeypatch.setenv("TMPDIR", str(wanted))

    def refuse(**_: object) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(CannotStart) as refused:
        ServerProcess("/bin/true")
    why = "the path of {} is too long for a socket" if kind == "long" else "{} can't be written: Read-only file system"
    cure = "; make room, or set TMPDIR to a short path you can write"
    assert why.format(wanted) + cure == str(refused.value)


def test_the_temporary_folder_is_the_one_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its path is short enough; else that of the system is taken."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="emq-t-") as short:
        for asked, got in ((short, short), (f"{short}/{'x' * 90}", "/tmp")):
            monkeypatch.setenv("TMPDIR", asked)
            server = ServerProcess("/bin/true")
            assert got == str(server.directory.parent)
            server.close()


def test_a_folder_that_was_removed_is_a_sentence(server: ServerProcess) -> None:
    """It says that this lab is lost."""
    server.kill()
    shutil.rmtree(server.directory)
    with pytest.raises(CannotStart, match=f"{server.directory} was removed; open another lab"):
        server.start()


def test_a_disk_that_is_full_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Found out when the clock's file is written."""
    folder = tmp_path / "private"
    folder.mkdir()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(process_module, "private_folder", lambda: folder)
    monkeypatch.setattr(process_module, "ShimClock", full)
    with pytest.raises(CannotStart, match="can't be written: No space left on device; make room, or set TMPDIR"):
        ServerProcess("/bin/true", shim=Path("/shim.so"))
    assert not folder.exists()


# ---------------------------------------------------------------- threads, and Ctrl-C


def test_one_of_many_starts_wins(binary: Path) -> None:
    """The others are refused, and one process runs."""
    server = ServerProcess(binary)

    def attempt(_: int) -> str:
        try:
            server.start()
        except RuntimeError as error:
            return str(error)
        return "started"

    try:
        with ThreadPoolExecutor(8) as pool:
            said = sorted(pool.map(attempt, range(8)))
        assert [*["started"], *["the server runs already"] * 7] == sorted(said, key=lambda text: text != "started")
    finally:
        server.close()


def test_a_launch_is_refused_while_one_is_held(server: ServerProcess) -> None:
    """Nothing overwrites a process that nobody else knows."""
    pid = server.pid
    with pytest.raises(RuntimeError, match="runs already"):
        server._held.launch(["/bin/true"], {}, server.log)
    assert pid == server.pid


def test_the_watcher_ends_every_process_it_heard_of(tmp_path: Path) -> None:
    """Not only the last; and none that was taken back."""
    several = [subprocess.Popen(["sleep", "1000"], start_new_session=True) for _ in range(3)]
    folder = tmp_path / "watched"
    folder.mkdir()
    watcher = Watcher(folder)
    try:
        for one in several:
            os.write(watcher._writer, b"%d\n" % one.pid)
        watcher.forget_server(several[1].pid)
        watcher.end()
        assert (-signal.SIGKILL, -signal.SIGKILL) == (several[0].wait(10), several[2].wait(10))
        assert several[1].poll() is None
    finally:
        for one in several:
            one.kill()
            one.wait()


def test_an_interrupted_start_leaves_no_process(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while its answer is waited for; the next start works."""
    server = ServerProcess(binary)
    launched: list[int] = []

    def interrupt(*_: object) -> bytes:
        assert server.pid is not None
        launched.append(server.pid)
        raise KeyboardInterrupt

    with monkeypatch.context() as breaking:
        breaking.setattr(process_module, "_ping", interrupt)
        with pytest.raises(KeyboardInterrupt):
            server.start()
    assert (True, False, False) == (gone(launched[0]), server.alive, server.ready)
    server.start()
    assert (True, True) == (server.ready, client(server).ping())
    server.close()


def test_a_launch_that_is_interrupted_is_known(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real Ctrl-C between the fork and its being noted: the process is ended, and not found on the data later."""
    server = ServerProcess(binary)
    launch, launched = Watcher.launch, []

    def interrupted(self: Watcher, *args: Any) -> Any:
        made = launch(self, *args)
        launched.append(made.pid)
        signal.raise_signal(signal.SIGINT)
        return made

    with monkeypatch.context() as breaking:
        breaking.setattr(Watcher, "launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server.start()
    assert (True, False) == (gone(launched[0]), server.alive)
    server.close()


def test_closing_a_server_that_starts_is_a_sentence(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The start fails as such, though its folder is gone, and launches nothing afterwards."""
    server = ServerProcess(binary)

    def close(*_: object) -> bytes:
        server.close()
        return b""

    monkeypatch.setattr(process_module, "_ping", close)
    with pytest.raises(CannotStart, match="was closed while it started"):
        server.start()
    with pytest.raises(CannotStart, match="was closed"):
        server._held.launch(["/bin/true"], {}, server.log)


# ---------------------------------------------------------------- the lab dies


def lab_process(ending: str) -> tuple["subprocess.Popen[str]", Path, int]:
    """A lab in a process of its own, with its server's folder and number; ``ending`` runs when it is told to."""
    started = subprocess.Popen(
        [sys.executable, "-c", LAB + ending], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    folder, _, pid = started.stdout.readline().strip().partition(" ")
    return started, Path(folder), int(pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_lab_that_is_killed_leaves_nothing(binary: Path, number: signal.Signals) -> None:
    """Neither server nor folder, by whatever signal."""
    lab, folder, pid = lab_process("")
    assert not gone(pid)
    lab.send_signal(number)
    lab.communicate()
    assert eventually(lambda: gone(pid) and not folder.exists())


@pytest.mark.parametrize("ending", ["os._exit(3)", "raise SystemExit", "os.abort()", "server.kill(); os._exit(0)", ""])
def test_a_lab_that_ends_leaves_nothing(binary: Path, ending: str) -> None:
    """With or without what Python does at its end."""
    lab, folder, pid = lab_process(ending)
    lab.communicate("go on\n")
    assert eventually(lambda: gone(pid) and not folder.exists())


def test_a_server_in_the_midst_of_its_start_is_not_left_behind(tmp_path: Path) -> None:
    """The launcher tells its number before it becomes the server, so a lab killed right then leaves nothing."""
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/number\nexec sleep 1000\n", encoding="utf-8")
    slow.chmod(0o755)
    code = f"from emqlab.servers.process import ServerProcess; ServerProcess({str(slow)!r}).start()"
    lab = subprocess.Popen([sys.executable, "-c", code])
    told = tmp_path / "number"
    assert eventually(lambda: told.exists() and told.read_text().strip() != "")
    lab.kill()
    lab.wait()
    pid = int(told.read_text())
    assert eventually(lambda: gone(pid))


def _leave() -> None:
    """What a forked child does: it ends, with what Python does at an end."""
    raise SystemExit(0)


def test_a_fork_that_ends_leaves_the_server_alone(server: ServerProcess) -> None:
    """It may talk to it, not end it; the server still ends with the lab that made it."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            server.close()
            status = 0 if client(server).ping() and server.alive else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert (0, True) == (os.waitstatus_to_exitcode(status), server.alive)
    child_process = multiprocessing.get_context("fork").Process(target=_leave)
    child_process.start()
    child_process.join()
    assert client(server).ping()


def test_a_fork_that_lives_on_keeps_no_server(binary: Path) -> None:
    """The pipe's end that it inherited is closed: the server ends with the lab."""
    ending = "child = os.fork()\nif child == 0:\n    signal.pause()\nprint(child, flush=True); os.kill(os.getpid(), 9)"
    lab, folder, pid = lab_process(ending)
    assert lab.stdin is not None
    assert lab.stdout is not None
    lab.stdin.write("go on\n")
    lab.stdin.flush()
    child = int(lab.stdout.readline())
    lab.wait()
    try:
        assert eventually(lambda: gone(pid) and not folder.exists())
        assert not gone(child)
    finally:
        os.kill(child, signal.SIGKILL)
        lab.communicate()


def test_a_fork_may_not_start_it(server: ServerProcess) -> None:
    """It is told to open a lab of its own."""
    child = os.fork()
    if child == 0:
        try:
            server.kill()
        except RuntimeError as error:
            os._exit(7 if "open a lab of your own" in str(error) else 8)
        os._exit(9)
    assert 7 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert client(server).ping()


def test_children_of_the_lab_do_not_inherit_the_pipe(server: ServerProcess) -> None:
    """Not even those that are given every open file."""
    code = "import os; print(sorted(int(n) for n in os.listdir('/dev/fd')))"
    kept = subprocess.run([sys.executable, "-c", code], close_fds=False, capture_output=True, text=True, check=True)
    writer = server._held._watcher._writer
    assert not os.get_inheritable(writer)
    assert str(writer) not in kept.stdout.strip("[]\n").split(", ")


def test_a_watcher_that_was_killed_is_replaced(server: ServerProcess) -> None:
    """The next start is watched again."""
    first = server._held._watcher
    server.kill()
    first._shell.kill()
    first._shell.wait()
    server.start()
    assert (True, True) == (client(server).ping(), server._held._watcher.alive)
    assert first is not server._held._watcher


def test_the_watcher_does_not_kill_what_was_waited_for(tmp_path: Path) -> None:
    """A number is taken back when its process has ended: it may be another's by then."""
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    folder = tmp_path / "watched"
    folder.mkdir()
    watcher = Watcher(folder)
    try:
        os.write(watcher._writer, b"%d\n" % bystander.pid)
        watcher.forget_server(bystander.pid)
        watcher.end()
        assert (None, False) == (bystander.poll(), folder.exists())
    finally:
        bystander.kill()
        bystander.wait()


def test_ctrl_c_in_the_terminal_reaches_the_lab_only(server: ServerProcess) -> None:
    """The server runs in a session of its own, as the watcher does."""
    pid = server.pid
    assert pid is not None
    sessions = {os.getsid(0), os.getsid(pid), os.getsid(server._held._watcher._shell.pid)}
    assert 3 == len(sessions)


def test_a_server_that_is_too_old_for_the_module_is_told_by_the_module(binary: Path) -> None:
    """What the server lacks is named in the module's own sentence; the rest of the log stays in the log."""
    files = module_files()
    needed = "#define NEEDED(API)"
    assert 1 == files["api.h"].count(needed)
    files["api.h"] = files["api.h"].replace(needed, f"{needed} API(int, FunctionOfTomorrow, (void))")
    try:
        demanding = shared_object("emq-demanding", files, main="module.c")
    except NoCompiler as error:
        pytest.skip(str(error))
    server = ServerProcess(binary, modules=[demanding])
    with pytest.raises(CannotStart) as caught:
        server.start()
    server.close()
    assert str(caught.value) == (
        f"{binary} did not start: this server is too old, use Valkey 8 or Redis 7.0 or newer;"
        " it has no FunctionOfTomorrow"
    )


def test_settings_that_were_cut_short_open_no_port(binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its settings a server would listen at 6379 for everybody; told the port apart, it listens nowhere."""
    server = ServerProcess(binary)
    monkeypatch.setattr(server, "_write_settings", lambda: (server.directory / "conf").write_text(""))
    monkeypatch.setattr(process_module, "START_S", 0.5)
    with pytest.raises(CannotStart):
        server.start()
    log = server.log.read_text()
    server.close()
    assert "port=0." in log
