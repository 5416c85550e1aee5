"""One server process of the lab's own: private folder, unix socket, append-only data; gone when the lab is."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from emqlab.errors import EmqError
from emqlab.servers.shim import ShimClock
from emqlab.servers.watcher import Watcher

#: How long a server may take to listen, and to end when it is asked to.
START_S = 30.0
STOP_S = 10.0
_POLL_S = 0.002

#: What was written reaches the file before it is answered, so a killed process loses nothing; only the machine could.
_SETTINGS: dict[str, str] = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "no",
    "save": "",
}

#: Settings of several words; any other is one, blanks and all. A module's path is quoted, for it stands alone.
_SEVERAL_WORDS = frozenset({"client-output-buffer-limit", "rename-command", "save", "user"})

Setting = str | Sequence[str]


class CannotStart(EmqError, ValueError):
    """A server did not start. One sentence with the server's own words."""


class ServerProcess:
    """A Valkey or Redis, to be started by ``start``. ``close``, the end of Python, or its sudden death end it.

    ``config`` are settings by name; a sequence gives one several times. ``shim`` gives it a clock that can be moved.
    """

    def __init__(
        self,
        binary: Path | str,
        *,
        modules: Sequence[Path | str] = (),
        config: Mapping[str, Setting] | None = None,
        shim: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.binary = Path(binary)
        self.modules = tuple(str(module) for module in modules)
        self.config: dict[str, Setting] = {**_SETTINGS, **(config or {})}
        self.directory = _private_folder()
        self.socket = str(self.directory / "s")
        self._held = _Held(self.directory)
        # Also at the end of Python, and when the last reference is dropped.
        self._finalizer = weakref.finalize(self, _Held.close, self._held)
        self._environment = dict(os.environ if environment is None else environment)
        self.clock = ShimClock(shim, self.directory / "clock") if shim else None
        if self.clock:
            self._environment |= self.clock.environment(self._environment)

    @property
    def pid(self) -> int | None:
        """The number of the running process, None when there is none."""
        process = self._held.process
        return process.pid if process is not None and self.alive else None

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._held.reap() is None

    @property
    def log(self) -> Path:
        """The file that holds what every start of it has printed."""
        return self.directory / "log"

    def start(self) -> None:
        """Start it, on the data that is there, and wait until it answers. Raises CannotStart."""
        self._held.check_owner()
        if self.alive:
            raise RuntimeError("the server runs already")
        if not self._finalizer.alive:
            raise CannotStart("the server was closed, and its folder is gone; open another")
        self._write_settings()
        Path(self.socket).unlink(missing_ok=True)
        begin = self.log.stat().st_size if self.log.exists() else 0
        try:
            self._held.launch([str(self.binary), str(self.directory / "conf")], self._environment, self.log)
        except OSError as error:
            raise CannotStart(f"{self.binary} did not start: {error.strerror}") from None
        self._await_answer(begin)

    def stop(self) -> None:
        """Ask it to end (SIGTERM) and wait; end it when it does not listen."""
        self._held.check_owner()
        self._held.terminate()
        if not self._held.ended(STOP_S):
            self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        self._held.check_owner()
        self._held.kill()

    def forget_data(self) -> None:
        """Remove what a stopped server has left, so that the next start begins with nothing."""
        for entry in self.directory.glob("*"):
            if entry.name not in ("log", "clock"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink(missing_ok=True)

    def close(self) -> None:
        """End it and remove its folder. In a fork of the lab this does nothing."""
        self._finalizer()

    def _write_settings(self) -> None:
        settings = {"unixsocket": self.socket, "dir": str(self.directory), "loadmodule": self.modules, **self.config}
        lines = []
        for name, value in settings.items():
            for one in [value] if isinstance(value, str) else value:
                lines.append(f"{name} {one if one and name in _SEVERAL_WORDS else _quoted(one)}")
        (self.directory / "conf").write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _await_answer(self, begin: int) -> None:
        """Ask until it answers anything but that it is loading its data."""
        deadline = time.monotonic() + START_S
        while True:
            answer = _ping(self.socket)
            if answer.startswith(b"-LOADING"):
                deadline = time.monotonic() + START_S
            elif answer:
                return
            if not self.alive:
                raise CannotStart(f"{self.binary} did not start: {_reason(self.log, begin)}")
            if time.monotonic() > deadline:
                self.kill()
                raise CannotStart(f"{self.binary} did not answer within {START_S:.0f} s: {_reason(self.log, begin)}")
            time.sleep(_POLL_S)


class _Held:
    """What must be let go of, kept apart from ServerProcess so that its finalizer does not keep it alive."""

    def __init__(self, directory: Path) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._directory = directory
        self._watcher = Watcher(directory)
        # Held while the process is signalled or waited for: a number that was waited for is never signalled.
        self._lock = threading.RLock()

    def check_owner(self) -> None:
        if not self._watcher.ours:
            raise RuntimeError("this server belongs to the process that started it; open a lab of your own")

    def launch(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        with self._lock:
            if not self._watcher.alive:
                self._watcher.let_go()
                self._watcher = Watcher(self._directory)
            self.process = self._watcher.launch(command, environment, log)

    def reap(self) -> int | None:
        """The exit status of the process, None while it runs."""
        with self._lock:
            if self.process is None:
                return 0
            if self.process.returncode is None and self._watcher.ours and self.process.poll() is not None:
                self._watcher.forget_server()
            return self.process.returncode

    def terminate(self) -> None:
        with self._lock:
            if self.process is not None and self.reap() is None:
                self.process.terminate()

    def kill(self) -> None:
        with self._lock:
            if self.process is not None and self.reap() is None:
                # The whole group: a server that is rewriting its file has a child that does it. A process that ended
                # this very moment is refused on some systems.
                with contextlib.suppress(OSError):
                    os.killpg(self.process.pid, signal.SIGKILL)
        self.ended(STOP_S)

    def ended(self, seconds: float) -> bool:
        """Wait for its end; False when it still runs after ``seconds``."""
        deadline = time.monotonic() + seconds
        while self.reap() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> None:
        if self._watcher.ours:
            self.kill()
            self._watcher.end()


def _private_folder() -> Path:
    # Not the temporary folder of the system: the path of a unix socket is at most 104 bytes long.
    parent = "/tmp" if os.access("/tmp", os.W_OK) else tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="emqlab-", dir=parent))


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _ping(path: str) -> bytes:
    """What the server answers to PING; nothing when nobody listens yet."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(1)
        try:
            asking.connect(path)
            asking.sendall(b"PING\r\n")
            return asking.recv(64)
        except OSError:
            return b""


#: What a server says when all is well, or of the machine.
_CHATTER = ("WARNING", "oO0O", "Server initialized", "Running mode", "monotonic clock")


def _reason(log: Path, begin: int) -> str:
    """The server's own words for why it did not start, out of what it printed after ``begin``."""
    lines = log.read_bytes()[begin:].decode("utf-8", "replace").splitlines()
    said = [_message(line) for line in lines if line.strip()]
    for place, line in enumerate(said):
        if "FATAL CONFIG FILE ERROR" in line:
            return ": ".join(reversed([part.removeprefix(">>> ") for part in said[place + 2 :]])) or line
    ours = [line.partition("emqlab: ")[2] for line in said if "> emqlab: " in line]
    if ours:
        # What the module itself said when it refused to be loaded is all there is to know.
        return ours[-1]
    told = [line for line in said if line and not line.startswith(_CHATTER)]
    return "; ".join(told[-3:]) or "it printed nothing"


def _message(line: str) -> str:
    """A line of a log without its process, time and level."""
    head, _, message = line.partition(" # ") if " # " in line else line.partition(" * ")
    return (message or head).strip()
