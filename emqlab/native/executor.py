"""Sends each transition as the command the server knows (SPEC 5)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redis

from emqlab.executor import Executor, Meanwhile, Traced
from emqlab.native.replay import with_lines
from emqlab.native.verbs import VERBS, Verb
from emqlab.replies import ErrorReply, NotSent
from emqlab.transitions import PLAIN, TRANSITIONS, Call


class NativeExecutor(Executor):
    """The native executor."""

    name = "native"

    def __init__(
        self,
        client: redis.Redis,
        mint: Callable[[], bytes],
        run_id: Callable[[], bytes],
        verbs: Mapping[str, Verb] = VERBS,
    ) -> None:
        """``verbs`` by command name are those that the server runs: the lab's own, unless a mutant brings others."""
        super().__init__(client, mint)
        self._run_id = run_id
        self._verbs = verbs

    def _perform(self, call: Call) -> Any:
        command = _command(call)
        return self._send(*command) if command else NotSent(call.verb)

    def perform_each(self, calls: Sequence[Call]) -> list[Any]:
        """Perform many transitions, each on a queue of its own, in one round trip."""
        commands = [tuple(call.plain()) if call.verb in PLAIN else _command(call) for call in calls]
        replies = iter(self._send_all([command for command in commands if command]))
        return [next(replies) if command else NotSent(call.verb) for call, command in zip(calls, commands, strict=True)]

    def _trace(self, call: Call, meanwhile: Meanwhile) -> Traced:
        command = _command(call)
        if command is None:
            return Traced((), (), NotSent(call.verb))
        between = tuple(meanwhile())
        answer = self._send(b"EMQ.TRACE", *command)
        if isinstance(answer, ErrorReply):
            return Traced(command, between, answer)
        reply, told = answer
        return Traced(command, (*between, *with_lines(command, told, self._run_id(), self._verbs)), reply)


def _command(call: Call) -> tuple[bytes, ...] | None:
    name = TRANSITIONS[call.verb].command
    if name is None:
        return None
    sent_keys, args = call.wire()
    return (name.encode(), b"%d" % len(sent_keys), *sent_keys, *args)
