"""One connection that only reads: commands in pieces of bounded size, and transactions of reads."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import redis

from emqlab import errors
from emqlab.replies import ERROR_REPLIES, ErrorReply, error_reply, settled
from emqlab.servers.survey import under

Command = tuple[bytes | str | int, ...]

#: How many commands go out in one round trip, and how many members one ZSCAN is asked for.
PIECE = 500
RIGHTS = (
    "+multi +exec +watch +info +time +scan +type +pttl +get +zcard +zcount +zscan +zscore +zrank +hget +hmget"
    " +hlen +hscan +hexists +sscan +sismember +lrange +lpos %R~emq:* %R~{emq}:version, and in a cluster +cluster|slots"
)


class CannotLook(errors.EmqError, ValueError):
    """The queue can't be looked at. ``str`` is one sentence that says what to do."""


class Moved(errors.EmqError):
    """The server says that another node holds the key."""


class Reader:
    """One connection of ``client``'s, kept until ``close``; a context manager. ``asked`` counts the commands sent.

    Every method raises CannotLook when the server refuses a read, ServerLost when it is gone. WRONGTYPE is an answer.
    """

    def __init__(self, client: redis.Redis) -> None:
        self.asked = 0
        self._client = client
        self._pool: Any = client.connection_pool
        with lost():
            try:
                self._connection: Any = self._pool.get_connection()
            except ERROR_REPLIES as error:
                readable(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # Replies may be on their way, and keys be watched.
            self._connection.disconnect()
        self._pool.release(self._connection)

    def ask(self, *command: bytes | str | int) -> Any:
        """One reply, an error as an ErrorReply."""
        return self.ask_all([command])[0]

    def ask_all(self, commands: Iterable[Command]) -> list[Any]:
        """The replies in order, an error as an ErrorReply."""
        found: list[Any] = []
        for piece in pieces(commands, PIECE):
            found += [readable(reply) for reply in self._round_trip(piece)]
        return found

    def at_once(self, blocks: Iterable[Sequence[Command]]) -> Iterator[list[Any]]:
        """The replies to each block; between the commands of a block nobody else's runs (MULTI, EXEC)."""
        for piece in pieces(blocks, PIECE // 10):
            sent = [command for block in piece for command in (("MULTI",), *block, ("EXEC",))]
            replies = iter(self._round_trip(sent))
            for block in piece:
                for queued in itertools.islice(replies, 1 + len(block)):
                    readable(queued)
                yield [readable(reply) for reply in readable(next(replies))]

    def unchanged(self, *block: Command) -> list[Any] | None:
        """End a WATCH with a transaction of reads; None when a watched key has changed."""
        *queued, replies = self._round_trip([("MULTI",), *block, ("EXEC",)])
        for reply in queued:
            readable(reply)
        replies = readable(replies)
        return None if replies is None else [readable(reply) for reply in replies]

    def members(self, key: bytes) -> Iterator[tuple[bytes, float]]:
        """A sorted set's members and scores, some twice if it changes meanwhile; none of a key of another type."""
        for piece in self._scanned("ZSCAN", key):
            yield from ((member, float(score)) for member, score in piece)

    def fields(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        """A hash's fields and values, likewise."""
        for piece in self._scanned("HSCAN", key):
            yield from piece

    def _scanned(self, command: str, key: bytes) -> Iterator[list[Any]]:
        cursor = b"0"
        while True:
            reply = self.ask(command, key, cursor, "COUNT", PIECE)
            if isinstance(reply, ErrorReply):
                return
            cursor, flat = reply
            yield flat if command == "SSCAN" else list(zip(flat[::2], flat[1::2], strict=True))
            if cursor in (b"0", 0):
                return

    def items(self, key: bytes) -> Iterator[bytes]:
        """A set's members, some twice if it changes meanwhile; none of a key of another type."""
        for piece in self._scanned("SSCAN", key):
            yield from piece

    def entries(self, key: bytes) -> Iterator[bytes]:
        """A list's entries, some twice or not at all if it changes meanwhile; none of a key of another type."""
        start = 0
        while True:
            reply = self.ask("LRANGE", key, start, start + PIECE - 1)
            if isinstance(reply, ErrorReply) or not reply:
                return
            yield from reply
            start += PIECE

    def names(self, prefix: bytes) -> Iterator[bytes]:
        """The names of all keys that begin with ``prefix``, by SCAN, some twice; these SCANs are not counted."""
        with lost():
            try:
                yield from under(self._client, prefix)
            except ERROR_REPLIES as error:
                readable(error)

    def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        self.asked += len(commands)
        with lost():
            self._connection.send_packed_command(self._connection.pack_commands(commands))
            return [self._reply() for _ in commands]

    def _reply(self) -> Any:
        try:
            return settled(self._connection.read_response())
        except redis.exceptions.ExecAbortError as error:
            return error_reply(error)
        except ERROR_REPLIES as error:
            return error_reply(error)


def pieces(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """The items in lists of at most ``size``."""
    rest = iter(items)
    while piece := list(itertools.islice(rest, size)):
        yield piece


def readable(reply: Any) -> Any:
    """The reply; raises CannotLook for an error that is no answer about a key."""
    if isinstance(reply, ERROR_REPLIES):
        reply = error_reply(reply)
    if not isinstance(reply, ErrorReply) or reply.code == "WRONGTYPE":
        return reply
    if reply.code == "MOVED":
        raise Moved(reply.text)
    if reply.code in ("ASK", "TRYAGAIN", "CLUSTERDOWN"):
        raise CannotLook(f"the cluster is moving the queue or is down ({reply.text}); look again when it has settled")
    # Of a user who may queue reads and not run them, or the other way round, EXECABORT tells.
    if reply.code == "NOPERM" or (reply.code == "EXECABORT" and " NOPERM " in reply.text):
        lacking = reply.text[reply.text.index("NOPERM") :]
        raise CannotLook(f"this user may not look at the queue ({lacking}); an audit needs {RIGHTS}")
    raise CannotLook(f"the server refused to be read: {reply.text}; see to it")


@contextmanager
def lost() -> Iterator[None]:
    """For the length of a block, raise ServerLost when the server goes away."""
    try:
        yield
    except ERROR_REPLIES:
        raise
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise errors.ServerLost(str(error)) from error
