"""Where a reader's own code is judged: a process of its own with a server of its own, ended when it takes too long.

The answer goes there pickled, functions by their code (cloudpickle), and the verdict comes back as JSON. Nothing that
the code breaks, keeps or kills is the notebook's. It guards a notebook against accidents, not a verdict against a
cheat: the code runs where it is judged, and could say the verdict itself.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import FunctionType, ModuleType
from typing import IO, TYPE_CHECKING, Any

from emqlab.teach.verdict import Verdict, as_text

if TYPE_CHECKING:
    import subprocess

#: How long an answer may run, and how long the process may take until it begins (a first start reads many files).
LIMIT_S = 5.0
START_S = 60.0
#: How long one that was killed may take until it is gone.
ENDS_S = 2.0
#: How much memory it may ask for, in bytes, and how much of what it prints is shown.
MEMORY = 2 * 1024**3
PRINTED = 2_000
#: How much it may write into a file, in bytes.
WRITTEN = 64 * 1024**2
#: In the environment of the process, and of those that it starts.
MARK = "EMQLAB_JUDGED"
#: What is said of a changed script or verb where there are no processes: nothing there could stop one.
NO_PROCESS = (
    "A changed file is run in a process of its own, which can be stopped, and there are no processes here: "
    "try this one where emqlab is installed."
)


class CannotSend(ValueError):
    """The answer can't be taken along to another process; one sentence that says why."""


def possible() -> bool:
    """Whether there are processes here: an edition in the browser has none."""
    return sys.platform != "emscripten"


def judged(exercise: str, answer: Any) -> Verdict:
    """The verdict on ``answer``, given in a process of its own.

    What the code prints is printed here. Raises CannotSend for an answer that stays behind.
    """
    return Verdict(**told(exercise, answer))


def told(job: str, answer: Any) -> dict[str, Any]:
    """What a process of its own says of ``answer``: to an exercise its verdict's fields, to ``hunt`` what was found.

    A verdict's fields in any case when it came to nothing. Raises CannotSend.
    """
    import subprocess
    import tempfile

    packed, mark = _packed(answer), secrets.token_hex(16)
    out, back = os.pipe()
    try:
        with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as handed:
            handed.write(packed)  # no pipe: nobody would wait for one whose other end is not read
            handed.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-m", "emqlab.teach.judge", job, str(back)],
                stdin=handed,
                stdout=printed,
                stderr=subprocess.STDOUT,
                pass_fds=[back],
                env={**os.environ, MARK: mark, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
                start_new_session=True,
            )
            os.close(back)
            back = -1
            try:
                return _answer(_Lines(out))
            finally:
                _end(process, mark)
                _show(printed)
    finally:
        for each in (out, back):
            if each >= 0:
                os.close(each)


def _packed(answer: Any) -> bytes:
    import cloudpickle

    # A function of a file beside the lessons goes by its code too; what is installed is there at the other end.
    module = sys.modules.get(answer.__module__) if isinstance(answer, FunctionType) else None
    own = module is not None and module.__name__ != "__main__" and not _installed(module)
    try:
        if own:
            cloudpickle.register_pickle_by_value(module)
        try:
            return base64.b64encode(cloudpickle.dumps(answer))
        finally:
            if own:
                cloudpickle.unregister_pickle_by_value(module)
    except Exception as error:  # a lock, a socket, a lab: whatever can't be taken along
        why = " ".join(as_text(error, str).split())[:120]
        raise CannotSend(
            "Your code is judged in a process of its own, and uses something that can't go along "
            f"({type(error).__name__}: {why}). Let it use its arguments, and what it makes or imports itself."
        ) from error


def _installed(module: ModuleType) -> bool:
    name, file = module.__name__.partition(".")[0], getattr(module, "__file__", None) or ""
    return name in sys.stdlib_module_names or "site-packages" in file


def _answer(answers: _Lines) -> dict[str, Any]:
    if not answers.next(START_S):
        return _no("The process in which your answer is judged did not begin; what it printed is above.")
    line = answers.next(LIMIT_S)
    if line is None:
        return _no(f"Your code was still running after {LIMIT_S:g} s: it was stopped.")
    if not line:
        return _no("Your code ended the process in which it was judged, before there was a verdict.")
    found: dict[str, Any] = json.loads(line)
    return found


class _Lines:
    """The lines that come through a pipe."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._read = b""

    def next(self, seconds: float) -> bytes | None:
        """The next line; empty when the other end is closed, None when the time is over."""
        until = time.monotonic() + seconds
        while b"\n" not in self._read:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                return None
            more = os.read(self._pipe, 65_536)
            if not more:
                return b""
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line


def _no(sentence: str) -> dict[str, Any]:
    return asdict(Verdict(False, "", "", "", "", sentence))


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End it and whatever it has started: its group, whose number stays theirs until it is waited for, and who left it.

    Who left it is known by what it inherited, on Linux.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            held = os.pidfd_open(int(folder.name))  # its number is nobody else's while it is held
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    signal.pidfd_send_signal(held, signal.SIGKILL)
                    select.select([held], [], [], ENDS_S)
            finally:
                os.close(held)


def _show(printed: IO[bytes]) -> None:
    """Print what the code printed, up to a length."""
    printed.seek(0)
    text = printed.read(PRINTED + 1).decode("utf-8", "replace")
    if text:
        print(text if len(text) <= PRINTED else f"{text[:PRINTED]} …", end="" if text.endswith("\n") else "\n")
