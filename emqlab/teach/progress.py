"""What a reader has done, in a small JSON file of their own: exercises solved, hints taken.

The file is named by ``$EMQLAB_PROGRESS``, else it is ``.progress.json`` beside the lessons. One that can't be read or
written is left as it is: progress then lives in memory, and that is said once, in one sentence.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from emqlab import reader

VERSION = 1
FILE = ".progress.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """Exercises solved, in the order in which they were; hints taken, by exercise."""

    solved: tuple[str, ...] = ()
    hints: Mapping[str, int] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """As the file holds it."""
        return {"v": VERSION, "solved": list(self.solved), "hints": dict(sorted(self.hints.items()))}


#: What could not be kept in a file; None while the file is used.
_memory: Progress | None = None


def place() -> Path | None:
    """The file's path: ``$EMQLAB_PROGRESS``, or beside the lessons being read; None when there are none here."""
    named = os.environ.get(reader.VARIABLE)
    if named:
        return Path(named)
    folder = reader.folder()
    return None if folder is None else folder / FILE


def read() -> Progress:
    """What is noted so far."""
    if _memory is not None:
        return _memory
    try:
        return _load()
    except (OSError, ValueError) as error:
        return _keep_in_memory(Progress(), error)


def solved(exercise: str) -> None:
    """Note that ``exercise`` is solved."""
    _note(lambda told: told if exercise in told.solved else replace(told, solved=(*told.solved, exercise)))


def hinted(exercise: str) -> int:
    """Note one more hint for ``exercise``; answers how many that makes."""
    told = _note(lambda told: replace(told, hints={**told.hints, exercise: told.hints.get(exercise, 0) + 1}))
    return told.hints[exercise]


def export() -> str:
    """All of it as JSON text, to keep or to send."""
    return json.dumps(read().json(), indent=1) + "\n"


def _note(change: Callable[[Progress], Progress]) -> Progress:
    """Change what is noted. The file is read again each time, for another lesson's kernel may have written to it."""
    global _memory
    new = change(read())
    if _memory is not None:
        _memory = new
        return new
    try:
        _save(new)
    except OSError as error:
        return _keep_in_memory(new, error)
    return new


def _keep_in_memory(told: Progress, error: Exception) -> Progress:
    global _memory
    _memory = told
    print(
        f"Your progress can't be kept in its file ({reader.why(error)}); it is kept until this kernel ends.",
        file=sys.stderr,
    )
    return told


def _load() -> Progress:
    """The file's content. Raises OSError when it can't be read, ValueError when it is none of ours."""
    path = reader.there(place())
    try:
        text = reader.read(path)
    except FileNotFoundError:
        return Progress()
    try:
        found = json.loads(text)
        done, hints = found["solved"], found["hints"]
        sound = found["v"] == VERSION and isinstance(done, list) and all(isinstance(one, str) for one in done)
        sound = sound and all(isinstance(many, int) and many >= 0 for many in hints.values())
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise ValueError("it does not hold progress that this release wrote")
    return Progress(tuple(done), dict(hints))


def _save(told: Progress) -> None:
    """Write the file, whole or not at all. Raises OSError."""
    reader.write(reader.there(place()), json.dumps(told.json(), indent=1) + "\n")
