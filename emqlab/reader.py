"""The reader's own folder, in which small files of theirs are kept, and how such a file is written (SPEC 11)."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

#: Names the progress file; what else is kept for a reader lies beside it.
VARIABLE = "EMQLAB_PROGRESS"


def folder() -> Path | None:
    """Where the reader's files are: beside ``$EMQLAB_PROGRESS``, or the lessons being read; None: none are here."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).parent
    # Here, not above: it knows about sockets and subprocesses, which an edition in the browser has not.
    from emqlab.course import COPY, FIRST_LESSON, CannotOpen, find_lessons

    for place in (Path.cwd(), Path.cwd() / COPY):
        if (place / FIRST_LESSON).is_file():
            return place
    try:
        return find_lessons()
    except CannotOpen:
        return None


def there(path: Path | None) -> Path:
    """``path``. Raises FileNotFoundError when it is None: a reader without lessons has no place for a file."""
    if path is None:
        raise FileNotFoundError(0, "there is no folder with lessons here")
    return path


def write(path: Path, text: str) -> None:
    """Write ``text`` beside ``path`` and put it in its place in one step: nobody sees half of it. Raises OSError."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def why(error: Exception) -> str:
    """What went wrong with a file, without its path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
