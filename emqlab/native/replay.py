"""Finds the line of the verb behind each command of a trace, by running the verb against the recorded replies.

A compiled verb tells commands and replies, not lines. The verb is a function of what it reads, so the same body over
the same replies passes the same lines, on every host.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from emqlab.executor import Told
from emqlab.native.host import Refusal
from emqlab.native.verbs import VERBS, Verb
from emqlab.replies import ErrorReply


class _Replay:
    """A Host whose answers are a recorded trace; ``file`` is where the verb's own lines are."""

    def __init__(self, file: str, told: Sequence[Told], run_id: bytes) -> None:
        self._run_id = run_id
        self._file = file
        self._told = iter(told)
        self.lines: list[int] = []

    def fence(self) -> None:
        self._next()

    def open(self, key: bytes, access: int) -> None:
        pass

    def read(self, cmd: bytes, *args: bytes) -> Any:
        return self._next()

    def begin_writes(self) -> None:
        self._next()

    def write(self, cmd: bytes, *args: bytes) -> Any:
        return self._next()

    def expect(self, want: Any, got: Any) -> None:
        pass

    def now_ms(self) -> int:
        return int(self._next())

    def run_id(self) -> bytes:
        return self._run_id

    def _next(self) -> Any:
        told = next(self._told, None)
        if told is None:
            raise Refusal(b"")
        self.lines.append(self._line())
        if isinstance(told.reply, ErrorReply):
            raise Refusal(told.reply.text.encode())
        return told.reply

    def _line(self) -> int:
        """The verb's line that is now being run, past any helper it called."""
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back
        return frame.f_lineno


def with_lines(
    command: Sequence[bytes],
    entries: Sequence[Sequence[Any]],
    run_id: bytes,
    verbs: Mapping[str, Verb] = VERBS,
) -> tuple[Told, ...]:
    """EMQ.TRACE's entries ``[phase, command…, reply]`` as Told, each with its line in the verb's file.

    ``run_id`` is the epoch in force when the verb ran: a sweep's verdicts depend on it. ``verbs`` are those that ran.
    """
    told = [Told(entry[0].decode(), tuple(entry[1:-1]), entry[-1]) for entry in entries]
    verb = verbs[command[0].decode()]
    replay = _Replay(inspect.unwrap(verb).__code__.co_filename, told, run_id)
    with suppress(Refusal):
        verb(replay, list(command[1:]))
    return tuple(Told(one.phase, one.command, one.reply, line) for one, line in zip(told, replay.lines, strict=True))
