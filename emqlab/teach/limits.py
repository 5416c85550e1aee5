"""A bound on how long a reader's own function may run, without a thread or a subprocess."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

#: Steps of bytecode a reader's function may run: some tenths of a second. Steps, because a tight loop stays on a line.
STEPS = 500_000


#: Whether somebody else ends the process when its time is over: then steps are not counted.
by_time = False


class TooLong(BaseException):
    """The function ran for more than ``STEPS``. No Exception, so that its own ``except`` does not keep it going."""


def limited(call: Callable[[], Any], steps: int = STEPS) -> Any:
    """Call ``call`` and answer what it answers; raise TooLong once it has run ``steps`` steps of bytecode.

    In a process that is ended by time (``by_time``) it may run as long as that lets it.
    """
    if by_time:
        return call()
    left = steps

    def tracing(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left < 0:
                raise TooLong
        return tracing

    before = sys.gettrace()
    sys.settrace(tracing)
    try:
        return call()
    finally:
        sys.settrace(before)
