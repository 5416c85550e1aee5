"""The private folder of a server of the lab's own."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from emqlab.servers.refusal import CannotStart

#: The longest path of a unix socket that every system takes, in bytes.
_SOCKET_PATH = 103


def private_folder() -> Path:
    """A new folder whose path is short enough for a socket in it. Raises CannotStart."""
    asked = os.environ.get("TMPDIR")
    refused = None
    for parent in dict.fromkeys(Path(name).absolute() for name in (asked, "/tmp") if name):
        if len(os.fsencode(parent)) + len("/emqlab-12345678/s") > _SOCKET_PATH:
            refused = refused or f"the path of {parent} is too long for a socket"
            continue
        try:
            return Path(tempfile.mkdtemp(prefix="emqlab-", dir=parent))
        except OSError as error:
            refused = refused or f"{parent} can't be written: {error.strerror}"
    raise CannotStart(f"{refused}; {_ROOM}")


_ROOM = "make room, or set TMPDIR to a short path you can write"


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """What can't be written in the server's folder, as CannotStart."""
    try:
        yield
    except FileNotFoundError:
        raise CannotStart(f"the server's folder {folder} was removed; open another lab") from None
    except OSError as error:
        raise CannotStart(f"{folder} can't be written: {error.strerror}; {_ROOM}") from None
