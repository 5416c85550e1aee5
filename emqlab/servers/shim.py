"""The clock of a real server, moved by a small shared object that is preloaded into it (Linux)."""

import mmap
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from emqlab.errors import ServerLost
from emqlab.servers.clock import shown

_SOURCE = Path(__file__).with_name("clock_shim.c")

#: The words of the file that the shim looks at (clock_shim.c).
_OFFSET, _STILL, _PROCESS = range(3)
_SIZE = 24

#: How long a server may take to show a moved clock; it takes one command, or a millisecond on Valkey 9.
PATIENCE_S = 5.0
#: After how long a server that is asked looks at its clock again, where it does not look each time.
LOOKS_EVERY_US = 1000


def shim_files() -> dict[str, str]:
    """The shim's C file, name -> text."""
    return {_SOURCE.name: _SOURCE.read_text(encoding="utf-8")}


def clock_shim(tell: Callable[[str], None] | None = None) -> Path | None:
    """The built shim, or None where there can be none: not on Linux, or no C compiler.

    ``tell`` hears a line if it has to be built.
    """
    from emqlab.native.module.build import CannotBuild, shared_object

    if sys.platform != "linux":
        return None
    try:
        return shared_object("clock_shim", shim_files(), main=_SOURCE.name, tell=tell)
    except CannotBuild:
        return None


class ShimClock:
    """The real time plus an offset, or a moment at which it stands still, for the one server that preloads it."""

    def __init__(self, shim: Path, file: Path) -> None:
        self._shim = shim
        self._file = file
        file.write_bytes(bytes(_SIZE))
        with file.open("r+b") as opened:
            self._map = mmap.mmap(opened.fileno(), _SIZE)
        # A 64-bit item is written in one store: the server never reads half of one.
        self._words = memoryview(self._map).cast("q")

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """What the server's environment must hold, as names that its launcher understands."""
        before = given.get("LD_PRELOAD")
        # A sanitizer's own library must stay the first.
        preload = f"{before}:{self._shim}" if before else str(self._shim)
        return {"EMQLAB_PRELOAD": preload, "EMQLAB_CLOCK": str(self._file)}

    @property
    def watched(self) -> bool:
        """Whether a server looks at this clock: one that is linked statically never will."""
        return self._words[_PROCESS] != 0

    @property
    def moved(self) -> bool:
        """Whether it shows anything but the real time."""
        return self._words[_OFFSET] != 0 or self._words[_STILL] != 0

    def advance(self, ms: int, shown_us: Callable[[], int]) -> None:
        """Move it by ``ms``; comes back when the server, asked by ``shown_us``, shows it.

        Raises NoSuchTime, ServerLost; it is as it was then.
        """
        if self._words[_STILL]:
            self.stand(self._words[_STILL] // 1000 + ms, shown_us)
            return
        shown(shown_us() // 1000 + ms)
        self._run(self._words[_OFFSET] + ms * 1000, ms > 0, shown_us)

    def stand(self, at_ms: int, shown_us: Callable[[], int]) -> None:
        """Let it stand still at ``at_ms``, until moved. Raises NoSuchTime, ServerLost; it is as it was then."""
        # Valkey 9 counts on by itself for up to a millisecond before it looks again: until then a clock that ran shows
        # at_ms only in passing.
        passing_us = 0 if self._words[_STILL] else time.monotonic_ns() // 1000 + 2 * LOOKS_EVERY_US
        self._set(
            self._words[_OFFSET],
            shown(at_ms) * 1000,
            lambda: time.monotonic_ns() // 1000 > passing_us and shown_us() // 1000 == at_ms,
        )

    def reset(self, shown_us: Callable[[], int]) -> None:
        """Let it show the real time again. Raises ServerLost; it is as it was then."""
        forwards = self._words[_STILL] // 1000 < time.time() * 1000 if self._words[_STILL] else self._words[_OFFSET] < 0
        self._run(0, forwards, shown_us)

    def _run(self, offset: int, forwards: bool, shown_us: Callable[[], int]) -> None:
        written = _real_us()
        if forwards:
            self._set(offset, 0, lambda: shown_us() >= written + offset)
        else:
            self._set(offset, 0, lambda: shown_us() <= _real_us() + offset)

    def _set(self, offset: int, still: int, seen: Callable[[], bool]) -> None:
        """Write both words and wait until the server shows them; if it never does, they are what they were."""
        before = self._words[_OFFSET], self._words[_STILL]
        self._words[_OFFSET], self._words[_STILL] = offset, still
        try:
            _await(seen)
        except BaseException:
            self._words[_OFFSET], self._words[_STILL] = before
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._words.release()
        self._map.close()


def _real_us() -> int:
    return time.time_ns() // 1000


def _await(seen: Callable[[], bool]) -> None:
    """Ask until the moved time is shown: each question makes the server look at its clock again."""
    deadline = time.monotonic() + PATIENCE_S
    while not seen():
        if time.monotonic() > deadline:
            raise ServerLost(f"the server did not show its moved clock within {PATIENCE_S:.0f} s")
        os.sched_yield()
