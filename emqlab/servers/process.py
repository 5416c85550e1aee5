"""One server process of the lab's own: private folder, unix socket, append-only data; gone when the lab is."""

import contextlib
import os
import shutil
import signal
import socket
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from emqlab.servers.binaries import VARIABLE, binary_version, named
from emqlab.servers.folder import in_folder, private_folder
from emqlab.servers.held import POLL_S, STOP_S, Held
from emqlab.servers.refusal import CannotStart, Ended, is_a_servers, printed, reason
from emqlab.servers.shim import ShimClock

#: How long a server may take to listen.
START_S = 30.0

#: What was written reaches the file before it is answered, so a killed process loses nothing; only the machine could.
_SETTINGS: dict[str, str] = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "no",
    "save": "",
}

#: The exit statuses of a process that a fault of its own has ended, and not somebody else.
_CRASHES = frozenset({-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL, -signal.SIGABRT})

#: Settings of several words; any other is one, blanks and all. A module's path is quoted, for it stands alone.
_SEVERAL_WORDS = frozenset({"client-output-buffer-limit", "rename-command", "save", "user"})

Setting = str | Sequence[str]

__all__ = ["START_S", "STOP_S", "CannotStart", "Ended", "ServerProcess", "Setting"]


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
        #: Held from the end of one process to the first answer of the next: starts and restarts come one by one.
        self.turn = threading.RLock()
        self.directory = private_folder()
        self.socket = str(self.directory / "s")
        with in_folder(self.directory):
            try:
                self._held = Held(self.directory)
            except OSError:
                shutil.rmtree(self.directory, ignore_errors=True)
                raise
        # Also at the end of Python, and when the last reference is dropped.
        self._finalizer = weakref.finalize(self, Held.close, self._held)
        self._answers = False
        self._environment = dict(os.environ if environment is None else environment)
        self.clock: ShimClock | None = None
        if shim:
            try:
                with in_folder(self.directory):
                    self.clock = ShimClock(shim, self.directory / "clock")
            except CannotStart:
                self.close()
                raise

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
    def ready(self) -> bool:
        """Whether the process runs, has answered, and was not told to end."""
        return self._answers and self.alive

    @property
    def closed(self) -> bool:
        """Whether it was closed: it does not start any more."""
        return not self._finalizer.alive

    @property
    def log(self) -> Path:
        """The file that holds what every start of it has printed."""
        return self.directory / "log"

    def start(self) -> None:
        """Start it, on the data that is there, and wait until it answers. Raises CannotStart.

        Whatever breaks in, Ctrl-C too, leaves no process behind.
        """
        self._held.check_owner()
        with self.turn:
            if self.alive:
                raise RuntimeError("the server runs already")
            if self.closed:
                raise CannotStart("the server was closed, and its folder is gone; open another")
            with in_folder(self.directory):
                self._write_settings()
                Path(self.socket).unlink(missing_ok=True)
                begin = self.log.stat().st_size if self.log.exists() else 0
            clock = self.clock.environment(self._environment) if self.clock else {}
            # The port once more: a settings file that was cut short must not open the one that servers open by default.
            command = [str(self.binary), str(self.directory / "conf"), "--port", str(self.config["port"])]
            try:
                self._held.launch(command, {**self._environment, **clock}, self.log)
                self._await_answer(begin)
            except OSError as error:
                raise CannotStart(f"{named(self.binary)} did not start: {error.strerror}") from None
            except BaseException:
                self._held.kill()
                raise
            self._answers = True

    def stop(self) -> None:
        """Ask it to end (SIGTERM) and wait; end it when it does not listen."""
        self._held.check_owner()
        self._answers = False
        self._held.terminate()
        if not self._held.ended(STOP_S):
            self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        self._held.check_owner()
        self._answers = False
        self._held.kill()

    def forget_data(self) -> None:
        """Remove what a stopped server has left, so that the next start begins with nothing."""
        # Another thread may be closing it, and remove them as well.
        with contextlib.suppress(FileNotFoundError):
            for entry in self.directory.glob("*"):
                if entry.name not in ("log", "clock"):
                    shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

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
                raise self._refusal(begin, "did not start")
            if time.monotonic() > deadline:
                self._held.kill()
                raise self._refusal(begin, f"did not answer within {START_S:.0f} s")
            time.sleep(POLL_S)

    def _refusal(self, begin: int, what: str) -> CannotStart:
        """Why the start failed, once the process is gone."""
        if self.closed:
            return CannotStart("the server was closed while it started; open another")
        said, who = printed(self.log, begin), named(self.binary)
        if not is_a_servers(said) and binary_version(str(self.binary)) is None:
            chosen = who != str(self.binary)
            cure = f"set ${VARIABLE} to a valkey-server or redis-server"
            return CannotStart(f"{who} is no Valkey or Redis that runs here; {cure}{', or unset it' if chosen else ''}")
        why, crashed = reason(said), self._held.reap() in _CRASHES
        for module in self.modules:
            if (crashed or ("failed to load" in why and module in why)) and Path(module).exists():
                why += f"; if that file is damaged, remove {module}, and it is built anew"
        if what != "did not start":
            return CannotStart(f"{who} {what}: {why}")
        return Ended(f"{who} {what}: {why}", crashed)


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
