"""Runs each transition as a Lua script: EVALSHA first, the text again when the server has forgotten it (SPEC 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import redis

from emqlab import arguments, errors, keys
from emqlab.executor import Executor, Meanwhile, Told, Traced
from emqlab.outcomes import Claimed
from emqlab.replies import ErrorReply, NotSent
from emqlab.scripted.looks import ADDS, CLAIMS, Wire, look, stops, wire
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
        call = Call("claim", keys.check_queue(queue), {"lease_ms": arguments.number("lease_ms", lease_ms, 1)})
        if stops(call, self._looked(call)[0]):
            return None
        reply = self._run(self._scripts["claim_v1"], *call.wire())
        if isinstance(reply, ErrorReply):
            self._refuse(reply, "claim_v1", call.values)
        return Claimed(reply[0], reply[1], reply[2]) if reply else None

    def perform_many(self, calls: Sequence[Call]) -> list[Any]:
        """Send many transitions in few round trips; the replies in their order, as ``perform`` gives them.

        A script's first call sends its text, so that all are run in order. A script cache that is emptied on the way
        costs another round trip, never a step: what the server has forgotten had no effect, so it is sent again as
        text, behind the others. Raises ServerLost.
        """
        replies: list[Any] = []
        together: list[Call] = []
        for call in calls:
            # What the host looks at must be as the calls before it leave it: a pause flag, a row that is new.
            if call.verb in CLAIMS or (look(call) and any(earlier.verb in ADDS for earlier in together)):
                replies += self._together(together, set())
                together = []
            together.append(call)
        return replies + self._together(together, set())

    def perform_each(self, calls: Sequence[Call]) -> list[Any]:
        """Perform many transitions, each on a queue of its own: the host's own looks first, then all the scripts."""
        return self._together(calls, set())

    def _together(self, calls: Sequence[Call], known: set[bytes]) -> list[Any]:
        """The looks in one round trip, then the scripts in one; a script that is not ``known`` goes as text, once.

        A look sees nothing of what the calls before it do, which must change nothing that is looked at.
        """
        asked = self._looked_all(calls)
        replies: list[Any] = [None] * len(calls)
        sent: list[tuple[int, Script | None]] = []
        commands: list[tuple[bytes | int, ...]] = []
        wires: dict[int, Wire] = {}
        for place, call in enumerate(calls):
            script = self._script(call)
            if call.verb in PLAIN:
                sent.append((place, None))
                commands.append(tuple(call.plain()))
            elif script is None:
                replies[place] = NotSent(call.verb)
            elif place in asked and stops(call, asked[place]):
                replies[place] = []
            else:
                wires[place] = sent_keys, args = wire(call, asked.get(place))
                sent.append((place, script))
                sent_as = (b"EVALSHA", script.sha) if script.sha in known else (b"EVAL", script.text)
                known.add(script.sha)
                commands.append((*sent_as, len(sent_keys), *sent_keys, *args))
        for (place, script), reply in zip(sent, self._send_all(commands), strict=True):
            replies[place] = self._again(script, *wires[place]) if script and _forgotten(reply) else reply
        return replies

    def _perform(self, call: Call) -> Any:
        script = self._script(call)
        if script is None:
            return NotSent(call.verb)
        asked = self._looked(call)[0] if look(call) else None
        return [] if stops(call, asked) else self._run(script, *wire(call, asked))

    def _trace(self, call: Call, meanwhile: Meanwhile) -> Traced:
        script = self._script(call)
        if script is None:
            return Traced((), (), NotSent(call.verb))
        told: list[Told] = []
        asked = None
        if look(call):
            asked, seen = self._looked(call)
            told.append(seen)
        sent_keys, args = wire(call, asked)
        sent = (b"EVALSHA", script.name.encode() + b".lua", b"%d" % len(sent_keys), *sent_keys, *args)
        if stops(call, asked):
            return Traced(sent, tuple(told), [])
        told += meanwhile()
        answer = self._send(b"EVAL", script.traced, len(sent_keys), *sent_keys, *args)
        if isinstance(answer, ErrorReply):
            return Traced(sent, tuple(told), answer)
        boxed, lines = answer
        told += [_told(int(line), tuple(command), _unbox(reply)) for line, command, reply in lines]
        return Traced(sent, tuple(told), _unbox(boxed))

    def _looked(self, call: Call) -> tuple[Any, Told]:
        """What the host's own look was answered, and how it is told. A lost connection reads as not paused.

        Raises ServerLost where it is a parent that is looked for: nothing was done yet, and a child that is taken for
        a flat job would leave its parent waiting.
        """
        command = look(call)
        try:
            reply = self._send(*command)
        except errors.ServerLost as error:
            if call.verb not in CLAIMS:
                raise
            return None, Told("host", command, ErrorReply(str(error)))
        return reply, Told("host", command, reply)

    def _looked_all(self, calls: Sequence[Call]) -> dict[int, Any]:
        """The replies to the looks of many calls, by the calls' places."""
        places = [place for place, call in enumerate(calls) if self._script(call) and look(call)]
        return dict(zip(places, self._send_all([look(calls[place]) for place in places]), strict=True))

    def _run(self, script: Script, sent_keys: list[bytes], args: list[bytes]) -> Any:
        reply = self._send(b"EVALSHA", script.sha, len(sent_keys), *sent_keys, *args)
        return self._again(script, sent_keys, args) if _forgotten(reply) else reply

    def _again(self, script: Script, sent_keys: list[bytes], args: list[bytes]) -> Any:
        # EVAL, not SCRIPT LOAD and EVALSHA: a flush could fall between the two.
        return self._send(b"EVAL", script.text, len(sent_keys), *sent_keys, *args)

    def _script(self, call: Call) -> Script | None:
        name = None if call.verb in PLAIN else TRANSITIONS[call.verb].script
        return self._scripts[name] if name else None

    def _gone_is_stale(self, verb: str) -> bool:
        return verb == "fail"


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
