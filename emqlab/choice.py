"""Which server ``open_lab("auto")`` is to take: what the reader chose, in a small file beside their progress.

``auto`` there means: a real Valkey where one can be had, else the embedded server. A file that can't be read or written
is left as it is: the choice then lives in memory, and that is said once, in one sentence.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from emqlab import reader

#: Wins over every choice that is kept here.
VARIABLE = "EMQLAB_SERVER"
BINARY = "EMQLAB_SERVER_BINARY"
FILE = ".server.json"
VERSION = 1

AUTO, EMBEDDED, VALKEY = "auto", "embedded", "valkey"
NAMES = (AUTO, EMBEDDED, VALKEY)

#: What could not be kept in a file; None while the file is used.
_memory: str | None = None


def place() -> Path | None:
    """The file's path; None when there is no folder for it."""
    folder = reader.folder()
    return None if folder is None else folder / FILE


def chosen() -> str:
    """What the reader chose: ``auto``, ``embedded`` or ``valkey``; auto when they never did."""
    if _memory is not None:
        return _memory
    try:
        return _load()
    except (OSError, ValueError) as error:
        return _keep_in_memory(AUTO, error)


def choose(name: str) -> bool:
    """Keep ``name``, one of ``NAMES``; False when it is kept until this kernel ends only. ValueError: another name."""
    global _memory
    if name not in NAMES:
        raise ValueError(f"server must be one of {', '.join(NAMES)}, not {name!r}")
    chosen()  # what is in the file and none of ours must not be written over
    if _memory is None:
        try:
            text = json.dumps({"v": VERSION, "server": name}, indent=1) + "\n"
            reader.write(reader.there(place()), text)
        except OSError as error:
            _keep_in_memory(name, error)
    else:
        _memory = name
    return _memory is None


def _keep_in_memory(name: str, error: Exception) -> str:
    global _memory
    _memory = name
    told = f"Your choice of a server can't be kept in {FILE} ({reader.why(error)}); it is kept until this kernel ends."
    print(told, file=sys.stderr)
    return name


def _load() -> str:
    """The file's content. Raises OSError when it can't be read, ValueError when it is none of ours."""
    path = place()
    if path is None:
        return AUTO  # nothing chosen is nothing lost: said when somebody chooses
    try:
        text = reader.read(path)
    except FileNotFoundError:
        return AUTO
    try:
        found = json.loads(text)
        sound = found["v"] == VERSION and found["server"] in NAMES
    except (ValueError, RecursionError, KeyError, TypeError):
        sound = False
    if not sound:
        raise ValueError("it holds none that this release wrote: delete it")
    return str(found["server"])


class Found(NamedTuple):
    """What there is for a real server: the program with its version, the module; None and sentences where not.

    ``named``: ``$EMQLAB_SERVER_BINARY`` asks for a program, which ``auto`` does not replace by the embedded server
    unless it was told to take valkey, which is a wish and not a name.
    """

    server: str | None
    module: str | None
    missing: str
    named: bool


def look() -> Found:
    """What a lab on ``valkey`` would find on this machine. Starts nothing and builds nothing."""
    missing: list[str] = []
    server = _found(_program, missing)
    module = _found(_module, missing)
    return Found(server, module, ". ".join(one[:1].upper() + one[1:] for one in missing), bool(os.environ.get(BINARY)))


def _found(get: Callable[[], str], missing: list[str]) -> str | None:
    try:
        return get()
    except Exception as error:  # whatever it is, the reader is told, and reads on
        missing.append(" ".join(str(error).split()).rstrip("."))
        return None


def _program() -> str:
    from emqlab.servers.binaries import NoServer, binary_version, find_binary, named

    binary = find_binary()
    version = binary_version(str(binary))
    if version is None:
        raise NoServer(f"{named(binary)} does not say its version, as a Valkey or Redis server would")
    return f"{binary.name} {version}"


def _module() -> str:
    from emqlab.native.module import module_at_hand

    return "built" if module_at_hand() else "to be built once, when it is first taken"


def overridden() -> str | None:
    """What ``$EMQLAB_SERVER`` names, which wins over a choice; None when it is not set."""
    return os.environ.get(VARIABLE) or None
