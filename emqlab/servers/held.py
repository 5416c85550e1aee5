"""What a server process holds and must let go of: the process itself, and what watches over it."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

from emqlab.servers.refusal import CannotStart
from emqlab.servers.watcher import Watcher

#: How long a process may take to end.
STOP_S = 10.0
#: How long to wait between two looks at it.
POLL_S = 0.002


class Held:
    """What must be let go of, kept apart from ServerProcess so that its finalizer does not keep it alive."""

    def __init__(self, directory: Path) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._closed = False
        # Whether the watcher has the process's number.
        self._named = False
        self._directory = directory
        self._watcher = Watcher(directory)
        # Held while the process is signalled or waited for: a number that was waited for is never signalled.
        self._lock = threading.RLock()

    def check_owner(self) -> None:
        """Refuse in a fork of the process that made it. Raises RuntimeError."""
        if not self._watcher.ours:
            raise RuntimeError("this server belongs to the process that started it; open a lab of your own")

    def launch(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        """Start a process, known here whatever breaks in. Raises RuntimeError if one runs, CannotStart once closed."""
        with self._lock:
            if self.reap() is None:
                raise RuntimeError("the server runs already")
            if self._closed:
                raise CannotStart("the server was closed, and its folder is gone; open another")
            if not self._watcher.alive:
                self._watcher.let_go()
                self._watcher = Watcher(self._directory)
            _undisturbed(lambda: self._launch(command, environment, log))

    def _launch(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.process = self._watcher.launch(command, environment, log)
        self._named = True

    def reap(self) -> int | None:
        """The exit status of the process, None while it runs."""
        with self._lock:
            if self.process is None:
                return 0
            if self._watcher.ours and self.process.poll() is not None and self._named:
                self._named = False
                self._watcher.forget_server(self.process.pid)
            return self.process.returncode

    def terminate(self) -> None:
        """Ask it to end (SIGTERM)."""
        with self._lock:
            if self.process is not None and self.reap() is None:
                self.process.terminate()

    def kill(self) -> None:
        """End it at once, with its children, and wait for that."""
        with self._lock:
            if self.process is not None and self.reap() is None:
                # The whole group: a server that is rewriting its file has a child that does it. A process that ended
                # this very moment is refused on some systems.
                with contextlib.suppress(OSError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                # One that was interrupted before it had a group of its own.
                self.process.kill()
        self.ended(STOP_S)

    def ended(self, seconds: float) -> bool:
        """Wait for its end; False when it still runs after ``seconds``."""
        deadline = time.monotonic() + seconds
        while self.reap() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_S)
        return True

    def close(self) -> None:
        """End it for good, and remove the folder. In a fork this does nothing."""
        if self._watcher.ours:
            with self._lock:
                # From here on another thread's start launches nothing.
                self._closed = True
            self.kill()
            self._watcher.end()


def _undisturbed(work: Callable[[], None]) -> None:
    """Do ``work`` in a thread, where no Ctrl-C breaks in: when this raises one, it was done or it never will be."""
    working, given_up = threading.Lock(), False
    failed: list[BaseException] = []

    def run() -> None:
        with working:
            if given_up:
                return
            try:
                work()
            except BaseException as error:
                failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
        thread.join()
    except BaseException:
        with working:
            given_up = True
        raise
    if failed:
        raise failed[0]
