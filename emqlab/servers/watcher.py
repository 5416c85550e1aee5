"""What ends a server when the lab dies, however it dies.

A small shell in a session of its own reads a pipe whose only write end the lab holds. The end of the pipe is the end of
the lab: the kernel closes it, also after SIGKILL, and on every system. Through it the shell hears what is to end then.
"""

import contextlib
import os
import shutil
import subprocess
import weakref
from pathlib import Path

#: ``$1`` is the folder to remove. A number is a process to end, a number after a ``-`` takes it back.
_WATCH = """
servers=
while read -r word; do
  case $word in
    -*)
      kept=
      for one in $servers; do [ "-$one" = "$word" ] || kept="$kept $one"; done
      servers=$kept ;;
    *) servers="$servers $word" ;;
  esac
done
for one in $servers; do kill -s KILL -- "-$one" 2>/dev/null; done
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"""

#: A launcher says its number before it becomes the server: there is no moment at which a server runs unknown to the
#: watcher. Its standard output is the pipe, which the server does not keep. The shell itself runs on the real clock.
_LAUNCH = """
echo $$
if [ -n "$EMQLAB_PRELOAD" ]; then LD_PRELOAD=$EMQLAB_PRELOAD; export LD_PRELOAD; fi
exec "$@" >&2
"""

_open: "weakref.WeakSet[Watcher]" = weakref.WeakSet()


class Watcher:
    """Watches over one folder and the server in it, until it is ended by the process that made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = os.getpid()
        reader, self._writer = os.pipe()
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "emqlab-watcher", str(folder)],
                cwd="/",
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._writer)
            raise
        finally:
            os.close(reader)
        _open.add(self)

    @property
    def ours(self) -> bool:
        """Whether this process made it: a fork of it has no say."""
        return self._owner == os.getpid()

    @property
    def alive(self) -> bool:
        """Whether somebody still reads the pipe."""
        return self._writer >= 0 and self._shell.poll() is None

    def launch(self, command: list[str], environment: dict[str, str], log: Path) -> "subprocess.Popen[bytes]":
        """Start a server in a session and process group of its own; what it prints goes to ``log``."""
        with log.open("ab") as printed:
            return subprocess.Popen(
                ["/bin/sh", "-c", _LAUNCH, "emqlab-launcher", *command],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=self._writer,
                stderr=printed,
                start_new_session=True,
            )

    def forget_server(self, pid: int) -> None:
        """The server has ended and was waited for: its number may be somebody else's by now."""
        with contextlib.suppress(OSError):
            os.write(self._writer, b"-%d\n" % pid)

    def end(self) -> None:
        """End it; the folder goes with it."""
        self.let_go()
        self._shell.wait()
        # Where somebody has killed the shell.
        shutil.rmtree(self._folder, ignore_errors=True)

    def let_go(self) -> None:
        """Close the pipe here. In a fork this is all: the parent's end is still open."""
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1
        _open.discard(self)


def _after_fork() -> None:
    for watcher in list(_open):
        watcher.let_go()


os.register_at_fork(after_in_child=_after_fork)
