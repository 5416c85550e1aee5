"""``emqlab serve``: a server with the verbs, on this machine only, until it is told to stop.

The command line reads this file for its options, so what takes time to import is imported where it is used.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from emqlab import ports
from emqlab.errors import EmqError

if TYPE_CHECKING:
    from emqlab.servers.process import ServerProcess, Setting

STOPPED, UNUSABLE, LOST = 0, 2, 3

HOST = ports.LOOPBACK
_LOOK_S = 0.1


class CannotServe(EmqError, OSError):
    """There is no such place to listen at, or no such folder to keep jobs in. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens: a ``port`` of the loopback, or a ``socket``'s file."""

    port: int | None = None
    socket: Path | None = None

    @property
    def url(self) -> str:
        """What ``open_lab`` and ``--server`` take."""
        return f"unix://{quote(str(self.socket))}" if self.socket else f"redis://{HOST}:{self.port}"

    @property
    def options(self) -> list[str]:
        """What redis-cli takes."""
        return ["-s", str(self.socket)] if self.socket else ["-p", str(self.port)]

    def __str__(self) -> str:
        return str(self.socket) if self.socket else f"{HOST}:{self.port}"


def file_path(text: str) -> Path:
    """A path as an absolute one, for the server looks at it from another folder."""
    # A line break would end a line of the server's settings.
    if not text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"a path is made of printable characters, at least one, not {text!r}")
    return Path(text).expanduser().absolute()


def serve_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``serve``."""
    from emqlab.cli import port_number

    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--port",
        type=port_number,
        metavar="N",
        default=argparse.SUPPRESS,
        help="the port on 127.0.0.1 (default: a free one)",
    )
    place.add_argument("--socket", type=file_path, metavar="PATH", help="listen at this unix socket, and at no port")
    parser.add_argument(
        "--data",
        type=file_path,
        metavar="DIR",
        help="keep the jobs in this folder, and go on with those that are there",
    )


def serve(*, port: int | None = None, socket: Path | None = None, data: Path | None = None) -> int:
    """Serve until Ctrl-C, SIGTERM, or the server's own end; answer the exit status: 0 stopped, 2 unusable, 3 lost.

    It listens at ``port`` of the loopback (a free one if None), or at the file ``socket``. Jobs are kept in ``data``.
    Both paths are absolute.
    """
    from emqlab.course import ending_on_signals
    from emqlab.native.module import CannotBuild

    try:
        with ending_on_signals(), held(data), running(choose_place(port, socket), data) as process:
            while process.alive:
                time.sleep(_LOOK_S)
        print(
            "emqlab serve: the server has ended: a client shut it down, or it crashed; start it again", file=sys.stderr
        )
        return LOST
    except (KeyboardInterrupt, SystemExit):
        print(f"\nThe server has stopped{f'; its jobs are in {data}' if data else ''}.", flush=True)
        return STOPPED
    except (EmqError, CannotBuild) as error:
        print(f"emqlab serve: {error}", file=sys.stderr)
        return UNUSABLE


def choose_place(port: int | None, path: Path | None) -> Place:
    """A place that is free now: the one that is asked for, else any free port. Raises CannotServe."""
    import socket

    if path is None:
        try:
            return Place(port=ports.usable(port))
        except OSError as error:
            raise CannotServe(
                f"port {port} can't be used ({error.strerror}); name another by --port, or leave it out"
            ) from None
    if os.path.lexists(path) and not _removed_stale(path):
        raise CannotServe(f"{path} is there already; name another file by --socket, or remove it if nobody listens")
    with socket.socket(socket.AF_UNIX) as trying:
        try:
            trying.bind(str(path))
            path.unlink()
        except OSError as error:
            why = error.strerror or f"{error}: {len(os.fsencode(path))} bytes"
            raise CannotServe(f"{path} can't be a socket ({why}); name another by --socket, such as /tmp/emq") from None
    return Place(socket=path)


def _removed_stale(path: Path) -> bool:
    """Remove the socket of a server that was killed: it is one, and nobody listens there."""
    import socket

    if not path.is_socket() or path.is_symlink():
        return False
    with socket.socket(socket.AF_UNIX) as trying:
        try:
            trying.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return True
        except OSError:
            return False
    return False


@contextmanager
def held(data: Path | None) -> Iterator[None]:
    """Make the folder that jobs are kept in, if it is not there, and hold it: nobody else serves it meanwhile.

    The folder that it lies in is not made: it is more likely mistyped than meant. Raises CannotServe.
    """
    import fcntl
    import tempfile

    if data is None:
        yield
        return
    try:
        # Jobs are nobody else's to read.
        data.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=data, prefix=".emqlab-"):
            pass
        opened = os.open(data, os.O_RDONLY)
    except OSError as error:
        if not data.parent.is_dir():
            raise CannotServe(
                f"{data} can't keep jobs, for {data.parent} is no folder; make that, or name another by --data"
            ) from None
        raise CannotServe(f"{data} can't keep jobs ({error.strerror}); name a folder of yours by --data") from None
    try:
        # Two servers that append to one file destroy it. The lock ends with this process, whatever ends that.
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CannotServe(f"{data} is being served already; stop that one, or name another by --data") from None
    finally:
        os.close(opened)


@contextmanager
def running(place: Place, data: Path | None) -> "Iterator[ServerProcess]":
    """A server with the verbs at ``place``, introduced to the reader; nothing of it is left but ``data``.

    Raises NoServer, CannotBuild, CannotStart, WrongVersion.
    """
    import redis

    from emqlab.introduction import introduction
    from emqlab.native.module import module_path
    from emqlab.native.module.build import on_stderr
    from emqlab.servers.binaries import find_binary
    from emqlab.servers.process import ServerProcess

    process = ServerProcess(find_binary(), modules=[module_path(on_stderr)], config=settings(place, data))
    if place.socket:
        process.socket = str(place.socket)
    try:
        process.start()
        with redis.Redis(unix_socket_path=process.socket, protocol=2) as client:
            print(introduction(client, place, data), flush=True)
        yield process
    finally:
        try:
            process.stop()
        finally:
            process.close()
            if place.socket:
                place.socket.unlink(missing_ok=True)


def settings(place: Place, data: Path | None) -> "dict[str, Setting]":
    """The server's settings: never a door to other machines."""
    out: dict[str, Setting] = {"bind": HOST, "protected-mode": "yes", "port": str(place.port or 0)}
    if data:
        out |= {"dir": str(data), "appendfsync": "everysec"}
    return out
