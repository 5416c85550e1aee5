"""Sends each transition as the command the server knows (SPEC 5)."""

from collections.abc import Callable
from typing import Any

import redis

from emqlab.executor import Executor, Traced
from emqlab.native.replay import with_lines
from emqlab.replies import ErrorReply, NotSent
from emqlab.transitions import TRANSITIONS, Call


class NativeExecutor(Executor):
    """The native executor."""

    name = "native"

    def __init__(self, client: redis.Redis, mint: Callable[[], bytes], run_id: Callable[[], bytes]) -> None:
        super().__init__(client, mint)
        self._run_id = run_id

    def _perform(self, call: Call) -> Any:
        command = _command(call)
        return self._send(*command) if command else NotSent(call.verb)

    def _trace(self, call: Call) -> Traced:
        command = _command(call)
        if command is None:
            return Traced((), (), NotSent(call.verb))
        answer = self._send(b"EMQ.TRACE", *command)
        if isinstance(answer, ErrorReply):
            return Traced(command, (), answer)
        reply, told = answer
        return Traced(command, with_lines(command, told, self._run_id()), reply)


def _command(call: Call) -> tuple[bytes, ...] | None:
    name = TRANSITIONS[call.verb].command
    if name is None:
        return None
    sent_keys, args = call.wire()
    return (name.encode(), b"%d" % len(sent_keys), *sent_keys, *args)
