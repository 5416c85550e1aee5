"""The optimistic host: the verbs run by the client over WATCH, reads and MULTI/EXEC, for servers without the module.

What was read is watched, and EXEC writes only if none of it has changed; otherwise the verb is run again. The price is
a round trip a read. A user needs the rights of the inner commands, and WATCH, MULTI, EXEC, TIME and INFO.
"""

import random
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import redis

from emqlab import errors, keys
from emqlab.executor import Executor, Meanwhile, Told, Traced
from emqlab.native import texts
from emqlab.native.host import Refusal, Value
from emqlab.native.line import Command, Known, Line, refusal_of
from emqlab.native.verbs import VERBS
from emqlab.replies import ErrorReply, NotSent
from emqlab.transitions import TRANSITIONS, Call

TRIES = 100
#: The longest wait before the first and before any later try.
_FIRST_S, _LONGEST_S = 0.0005, 0.05


class Pools(Protocol):
    """Where a queue's connections come from: one pool, or in a cluster that of the node that owns the key."""

    def pool_of(self, key: bytes) -> Any:
        """A redis-py connection pool of the node that serves ``key``."""

    def moved(self, reply: str) -> None:
        """Learn from ``MOVED slot host:port``."""


class _OnePool:
    def __init__(self, client: redis.Redis) -> None:
        self._pool: Any = client.connection_pool

    def pool_of(self, key: bytes) -> Any:
        return self._pool

    def moved(self, reply: str) -> None:
        pass


@dataclass(slots=True)
class Cost:
    """What the calls so far took: ``seconds`` from the first byte sent to the verdict, waits included."""

    calls: int = 0
    round_trips: int = 0
    retries: int = 0
    seconds: float = 0.0


class _Conflict(Exception):
    """What the verb read is no longer so: it has to be run again."""


class _Moved(Exception):
    """Another node of the cluster serves these keys."""


@dataclass(frozen=True, slots=True)
class _Promise:
    """Stands for a write's reply until EXEC has answered."""

    place: int


class OptimisticHost:
    """Host for one try of one verb. ``tell`` is given each command; ``file`` is the verb's, to name its lines."""

    def __init__(self, line: Line, tell: Callable[[Told], None] | None = None, file: str = "") -> None:
        self._line = line
        self._tell = tell
        self._file = file
        self._watched: set[bytes] = set()
        self._writing = False
        self._writes: list[tuple[Command, int | None]] = []
        self._expected: list[tuple[Value, int]] = []
        self._now: int | None = None

    def fence(self) -> None:
        self._line.check()
        command = (b"GET", keys.VERSION_KEY)
        version = self._watch_and_ask(command)
        if isinstance(version, ErrorReply) and version.code == "MOVED":
            # A node that does not own the key can't be asked; the lab looked when it opened.
            version = None
        self._say("read", command, version)
        if isinstance(version, ErrorReply):
            raise refusal_of(version)
        if version is not None and version != keys.VERSION:
            raise Refusal(texts.FENCE + version)

    def open(self, key: bytes, access: int) -> None:
        pass  # the server checks the caller's rights at each command

    def read(self, cmd: bytes, *args: bytes) -> Any:
        if self._writing:
            raise AssertionError("a verb read after begin_writes")
        reply = self._watch_and_ask((cmd, *args))
        if isinstance(reply, ErrorReply) and reply.code == "MOVED":
            raise _Moved(reply.text)
        self._say("read", (cmd, *args), reply)
        if isinstance(reply, ErrorReply):
            raise refusal_of(reply)
        return reply

    def begin_writes(self) -> None:
        self._writing = True
        self._say("guard", (), None)

    def write(self, cmd: bytes, *args: bytes) -> Any:
        if not self._writing:
            raise AssertionError("a verb wrote before begin_writes")
        self._writes.append(((cmd, *args), self._where()))
        return _Promise(len(self._writes) - 1)

    def expect(self, want: Value, got: Any) -> None:
        self._expected.append((want, got.place))

    def now_ms(self) -> int:
        if self._now is None:
            (reply,) = self._line.ask((b"TIME",))
            if isinstance(reply, ErrorReply):
                raise refusal_of(reply)
            self._now = int(reply[0]) * 1000 + int(reply[1]) // 1000
            self._say("read", (b"(clock)",), b"%d" % self._now)
        return self._now

    def run_id(self) -> bytes:
        return self._line.run_id()

    def drop_writes(self) -> None:
        """Forget the writes of a verb that was refused on its way through them."""
        self._writes.clear()
        self._expected.clear()

    def finish(self) -> None:
        """End the try: make the writes, or, where there are none, hold the verdict to what is still so.

        Raises _Conflict when a key that was read has changed, Refusal when the server refuses.
        """
        if not self._watched:
            return
        _, *queued, done = self._line.ask((b"MULTI",), *(write for write, _ in self._writes), (b"EXEC",))
        for (command, where), reply in zip(self._writes, queued, strict=True):
            if isinstance(reply, ErrorReply):
                # Refused when it was queued, so EXEC has written nothing: no right, or no memory.
                self._say("write", command, reply, where)
                raise refusal_of(reply)
        if done is None:
            raise _Conflict
        if isinstance(done, ErrorReply):
            raise refusal_of(done)
        self._judge(done)

    def _judge(self, done: list[Any]) -> None:
        for (command, where), reply in zip(self._writes, done, strict=True):
            self._say("write", command, reply, where)
        for reply in done:
            if isinstance(reply, ErrorReply):
                raise refusal_of(reply)
        for want, place in self._expected:
            got = done[place]
            if isinstance(got, list):
                got = got[0] if got else None
            if got != want:
                raise Refusal(texts.HOST)

    def _watch_and_ask(self, command: Command) -> Any:
        """The reply of a read whose key is watched from before it; WATCH's own error in its place."""
        key = command[1]
        if key in self._watched:
            return self._line.ask(command)[0]
        watching, reply = self._line.ask((b"WATCH", key), command)
        if isinstance(watching, ErrorReply):
            return watching
        self._watched.add(key)
        return reply

    def _say(self, phase: str, command: Command, reply: Any, where: int | None = None) -> None:
        if self._tell:
            self._tell(Told(phase, command, reply, where or self._where()))

    def _where(self) -> int | None:
        """The verb's line that is now being run, past any helper it called; looked up only when it is told."""
        if self._tell is None:
            return None
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back
        return frame.f_lineno


class OptimisticExecutor(Executor):
    """The native executor for a server without the module: the same verbs, run from here.

    ``pools`` finds the connections (default: those of ``client``). A verb is run at most ``tries`` times; then its
    reply is ``EMQBUSY``. ``cost`` counts what the calls took.
    """

    name = "native"

    def __init__(
        self, client: redis.Redis, mint: Callable[[], bytes], *, pools: Pools | None = None, tries: int = TRIES
    ) -> None:
        super().__init__(client, mint)
        self.cost = Cost()
        self._pools: Pools = pools or _OnePool(client)
        self._tries = tries
        self._known: weakref.WeakKeyDictionary[Any, Known] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def _perform(self, call: Call) -> Any:
        return self._call(call, None)

    def _trace(self, call: Call, meanwhile: Meanwhile) -> Traced:
        command = TRANSITIONS[call.verb].command
        if command is None:
            return Traced((), (), NotSent(call.verb))
        between = tuple(meanwhile())
        told: list[Told] = []
        reply = self._call(call, told)
        return Traced((command.encode(), *_arguments(call)), (*between, *told), reply)

    def _call(self, call: Call, told: list[Told] | None) -> Any:
        name = TRANSITIONS[call.verb].command
        if name is None:
            return NotSent(call.verb)
        arguments = _arguments(call)
        started = time.perf_counter()
        trips = tried = 0
        try:
            while tried < self._tries:
                if tried:
                    time.sleep(random.uniform(0, min(_LONGEST_S, _FIRST_S * 2 ** min(tried, 16))))
                    if told is not None:
                        told.clear()
                tried += 1
                reply, round_trips = self._try(name, arguments, keys.base(call.queue), told)
                trips += round_trips
                if not isinstance(reply, (_Conflict, _Moved)):
                    return reply
            return ErrorReply(
                f"EMQBUSY other clients changed what the verb had read, {tried} times running; call again,"
                " or load the module"
            )
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error
        finally:
            with self._lock:
                self.cost.calls += 1
                self.cost.round_trips += trips
                self.cost.retries += max(0, tried - 1)
                self.cost.seconds += time.perf_counter() - started

    def _try(self, name: str, arguments: Sequence[bytes], key: bytes, told: list[Told] | None) -> tuple[Any, int]:
        """Run the verb once: its reply, an ErrorReply, or why it has to be run again; and the round trips it took."""
        pool = self._pools.pool_of(key)
        connection = pool.get_connection()
        line = Line(connection, self._known_of(connection))
        clean = False
        try:
            reply = self._verb(line, name, arguments, told)
            # After these, EXEC has been answered or nothing was watched: no WATCH is left.
            clean = not isinstance(reply, (_Moved, _Unfinished))
            if isinstance(reply, _Moved):
                self._pools.moved(str(reply))
            return (reply.reply if isinstance(reply, _Unfinished) else reply), line.round_trips
        finally:
            if not clean:
                connection.disconnect()
            pool.release(connection)

    def _verb(self, line: Line, name: str, arguments: Sequence[bytes], told: list[Told] | None) -> Any:
        verb = VERBS[name]
        host = OptimisticHost(line, None if told is None else told.append, verb.__code__.co_filename)
        reply: Any
        try:
            try:
                reply = verb(host, arguments)
            except Refusal as refusal:
                reply = _error(refusal)
                host.drop_writes()
            host.finish()
        except Refusal as refusal:
            return _Unfinished(_error(refusal))
        except (_Conflict, _Moved) as again:
            return again
        return reply

    def _known_of(self, connection: Any) -> Known:
        with self._lock:
            known = self._known.get(connection)
            if known is None:
                known = self._known[connection] = Known()
                # Held weakly there, and by the table here: a connection that is made anew is asked anew.
                connection.register_connect_callback(known.forget)
            return known


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """A refusal by the server itself, after which the connection is not used again."""

    reply: ErrorReply


def _error(refusal: Refusal) -> ErrorReply:
    return ErrorReply(refusal.line.decode("utf-8", "replace"))


def _arguments(call: Call) -> list[bytes]:
    sent_keys, args = call.wire()
    return [b"%d" % len(sent_keys), *sent_keys, *args]
