"""Where the lessons are, the reader's own folder, and how small files of theirs are kept there (SPEC 11)."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from emqlab.errors import EmqError

#: Names the progress file; what else is kept for a reader lies beside it.
VARIABLE = "EMQLAB_PROGRESS"
FIRST_LESSON = "00_start_here.ipynb"
#: The folder of a reader's copy of the lessons.
COPY = "emqlab-course"
PACKAGE = Path(__file__).parent


class CannotOpen(EmqError, OSError):
    """The course can't be opened here; ``str(error)`` is one sentence that says what to do."""


def find_lessons(package: Path = PACKAGE) -> Path:
    """Where the lessons are: a clone's ``notebooks/``, or else the copy that an installed package carries.

    Raises ``CannotOpen`` when there are none.
    """
    clone = package.parent
    for folder in (clone / "notebooks", package / "notebooks"):
        of_clone = folder.parent == clone
        if (folder / FIRST_LESSON).is_file() and (not of_clone or (clone / "pyproject.toml").is_file()):
            return folder
    raise CannotOpen(f"There is no {FIRST_LESSON} beside emqlab: install emqlab again, or use a fresh clone.")


def folder() -> Path | None:
    """Where the reader's files are: beside ``$EMQLAB_PROGRESS``, or the lessons being read; None: none are here."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).parent
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


def read(path: Path) -> str:
    """The text of a file. Raises OSError when it can't be read, also for what would be waited for, and ValueError."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file")
    return path.read_text(encoding="utf-8")


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
