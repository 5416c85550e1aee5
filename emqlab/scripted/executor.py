"""Runs each transition as a Lua script: EVALSHA first, the text again when the server has forgotten it (SPEC 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redis

from emqlab import errors, keys
from emqlab.executor import Executor, Told, Traced, number
from emqlab.outcomes import Claimed
from emqlab.replies import ErrorReply, NotSent, settled
from emqlab.scripted.scripts import SCRIPTS, Script
from emqlab.transitions import PLAIN, TRANSITIONS, Call


class ScriptedExecutor(Executor):
    """The scripted executor."""

    name = "scripted"

    def __init__(self, client: redis.Redis, mint: Callable[[], bytes], scripts: Mapping[str, Script] = SCRIPTS) -> None:
        """``scripts`` by their files' names: the lab's own, unless a lesson or a mutant brings others."""
        super().__init__(client, mint)
        self._scripts = scripts

    def claim_v1(self, queue: str, *, lease_ms: int = 30_000) -> Claimed | None:
        """The older claim, which leases ghosts too; kept for the lesson that shows why it was changed."""
        call = Call("claim", keys.check_queue(queue), {"lease_ms": number("lease_ms", lease_ms, 1)})
        if self._paused(call)[0]:
            return None
        reply = self._run(self._scripts["claim_v1"], *call.wire())
        if isinstance(reply, ErrorReply):
            self._refuse(reply, "claim_v1", call.values)
        return Claimed(reply[0], reply[1], reply[2]) if reply else None

    def perform_many(self, calls: Sequence[Call]) -> list[Any]:
        """Send many transitions in one pipeline; the replies in their order, as ``perform`` gives them.

        A script cache that is emptied on the way costs a second round trip, never a step: a forgotten script had no
        effect, so it is sent again as text. Raises ServerLost.
        """
        replies: list[Any] = [None] * len(calls)
        pipe = self._client.pipeline(transaction=False)
        sent: list[tuple[int, Script]] = []
        for place, call in enumerate(calls):
            script = self._script(call)
            if call.verb in PLAIN or script is None or call.verb == "claim":
                # A claim reads the pause flag in a round trip of its own: what came before it must be done by then.
                self._flush(pipe, sent, calls, replies)
                replies[place] = self.perform(call)
                continue
            sent_keys, args = call.wire()
            command = ("EVALSHA", script.sha, len(sent_keys), *sent_keys, *args)
            pipe.execute_command(*command)
            sent.append((place, script))
        self._flush(pipe, sent, calls, replies)
        return replies

    def perform_each(self, calls: Sequence[Call]) -> list[Any]:
        """Perform many transitions, each on a queue of its own: the looks at pause flags first, then all the scripts.

        A script that the server has forgotten is sent again as text.
        """
        replies: list[Any] = [None] * len(calls)
        claims = [place for place, call in enumerate(calls) if call.verb == "claim"]
        asked = self._send_all([self._pause_flag(calls[place]) for place in claims])
        paused = {place for place, reply in zip(claims, asked, strict=True) if reply is not None}
        sent: list[tuple[int, Script | None]] = []
        commands: list[tuple[bytes | int, ...]] = []
        for place, call in enumerate(calls):
            script = self._script(call)
            if place in paused:
                replies[place] = []
            elif call.verb in PLAIN:
                sent.append((place, None))
                commands.append(tuple(call.plain()))
            elif script is None:
                replies[place] = NotSent(call.verb)
            else:
                sent_keys, args = call.wire()
                sent.append((place, script))
                commands.append((b"EVALSHA", script.sha, len(sent_keys), *sent_keys, *args))
        for (place, script), reply in zip(sent, self._send_all(commands), strict=True):
            replies[place] = self._known(script, calls[place], reply) if script else reply
        return replies

    def load(self) -> None:
        """Have the server know every script's text, so that none is sent again when many are performed."""
        self._send_all([(b"SCRIPT", b"LOAD", script.text) for script in self._scripts.values()])

    def _flush(self, pipe: Any, sent: list[tuple[int, Script]], calls: Sequence[Call], replies: list[Any]) -> None:
        if not sent:
            return
        try:
            answers = pipe.execute(raise_on_error=False)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error
        for (place, script), answer in zip(sent, answers, strict=True):
            replies[place] = self._known(script, calls[place], settled(answer))
        sent.clear()

    def _perform(self, call: Call) -> Any:
        script = self._script(call)
        if script is None:
            return NotSent(call.verb)
        if call.verb == "claim" and self._paused(call)[0]:
            return []
        return self._run(script, *call.wire())

    def _trace(self, call: Call) -> Traced:
        script = self._script(call)
        if script is None:
            return Traced((), (), NotSent(call.verb))
        told: list[Told] = []
        sent_keys, args = call.wire()
        sent = (b"EVALSHA", script.name.encode() + b".lua", b"%d" % len(sent_keys), *sent_keys, *args)
        if call.verb == "claim":
            paused, asked = self._paused(call)
            told.append(asked)
            if paused:
                return Traced(sent, tuple(told), [])
        answer = self._send(b"EVAL", script.traced, len(sent_keys), *sent_keys, *args)
        if isinstance(answer, ErrorReply):
            return Traced(sent, tuple(told), answer)
        boxed, lines = answer
        told += [_told(int(line), tuple(command), _unbox(reply)) for line, command, reply in lines]
        return Traced(sent, tuple(told), _unbox(boxed))

    def _paused(self, call: Call) -> tuple[bool, Told]:
        """The host's own look at the pause flag. Any reply but nil is a yes, an error reply too."""
        command = self._pause_flag(call)
        try:
            reply = self._send(*command)
        except errors.ServerLost as error:
            return False, Told("host", command, ErrorReply(str(error)))
        return reply is not None, Told("host", command, reply)

    def _pause_flag(self, call: Call) -> tuple[bytes, ...]:
        return (b"HGET", keys.base(call.queue) + b"meta", b"paused")

    def _run(self, script: Script, sent_keys: list[bytes], args: list[bytes]) -> Any:
        reply = self._send(b"EVALSHA", script.sha, len(sent_keys), *sent_keys, *args)
        return self._again(script, sent_keys, args) if _forgotten(reply) else reply

    def _known(self, script: Script, call: Call, reply: Any) -> Any:
        """The reply, or that of the text itself when the server has forgotten the script."""
        return self._again(script, *call.wire()) if _forgotten(reply) else reply

    def _again(self, script: Script, sent_keys: list[bytes], args: list[bytes]) -> Any:
        # EVAL, not SCRIPT LOAD and EVALSHA: a flush could fall between the two.
        return self._send(b"EVAL", script.text, len(sent_keys), *sent_keys, *args)

    def _script(self, call: Call) -> Script | None:
        name = None if call.verb in PLAIN else TRANSITIONS[call.verb].script
        return self._scripts[name] if name else None

    def _gone_is_stale(self, verb: str) -> bool:
        return verb == "fail"


def _script(call: Call) -> Script | None:
    if call.verb in PLAIN:
        return None
    name = TRANSITIONS[call.verb].script
    return SCRIPTS[name] if name else None


def _forgotten(reply: Any) -> bool:
    return isinstance(reply, ErrorReply) and reply.code == "NOSCRIPT"


_READS = {b"HGET", b"EXISTS", b"TIME", b"ZRANGEBYSCORE", b"ZCARD", b"SISMEMBER", b"LPOS"}


def _told(line: int, command: tuple[bytes, ...], reply: Any) -> Told:
    return Told("read" if command[0] in _READS else "write", command, reply, line)


def _unbox(boxed: list[Any]) -> Any:
    """A reply out of the traced form's box; a script's own runtime error becomes an ``ERR`` reply."""
    kind = boxed[0]
    if kind == b"n":
        return None
    if kind == b"i":
        return int(float(boxed[1])) if b"e" in boxed[1] or b"." in boxed[1] else int(boxed[1])
    if kind == b"e":
        return ErrorReply(boxed[1].decode("utf-8", "replace"))
    if kind == b"x":
        # The chunk is called user_script on a server; fakeredis's Lua names it after Python.
        text = boxed[1].decode("utf-8", "replace").removeprefix("ERR ")
        return ErrorReply("ERR " + text.replace('[string "<python>"]:', "user_script:"))
    if kind == b"l":
        return [_unbox(item) for item in boxed[1:]]
    return boxed[1]
