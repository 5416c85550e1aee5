"""Replies as plain values, and their JSON form (SPEC 9)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import redis
from redis.exceptions import AuthorizationError

Json = Any


#: What redis-py raises for an error reply; the last two are connection errors by their class only.
ERROR_REPLIES = (redis.ResponseError, redis.AuthenticationError, AuthorizationError)


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error reply: the whole text as the server sent it, code word first."""

    text: str

    @property
    def code(self) -> str:
        """The code word: ``EMQSTALE``, ``ERR``, ``WRONGTYPE``, …"""
        return self.text.split(" ", 1)[0]


@dataclass(frozen=True, slots=True)
class NotSent:
    """The outcome ``Unsupported``: this executor has no such ``verb``, so nothing was sent."""

    verb: str


def error_reply(error: Exception) -> ErrorReply:
    """The server's own text of a redis-py error, which cuts a known code word off and keeps it aside."""
    code = getattr(error, "status_code", None)
    return ErrorReply(f"{code} {error}" if code else str(error))


def settled(value: Any) -> Any:
    """A reply with every redis-py error in it, at any depth, turned into an ErrorReply."""
    if isinstance(value, ERROR_REPLIES):
        return error_reply(value)
    if isinstance(value, (list, tuple)):
        return [settled(item) for item in value]
    return value


def ask(client: redis.Redis, *command: bytes | str | int) -> Any:
    """Send one command and answer the reply as the server shaped it, past redis-py's own conversions.

    Raises redis.ResponseError for an error reply.
    """
    (reply,) = ask_all(client, [command])
    if isinstance(reply, redis.ResponseError):
        raise reply
    return reply


def ask_all(client: redis.Redis, commands: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
    """Send many commands in one round trip; their replies in order, an error reply as its exception."""
    if not commands:
        return []
    pool: Any = client.connection_pool
    connection = pool.get_connection()
    try:
        connection.send_packed_command(_packed(connection, commands))
        return [_read(connection) for _ in commands]
    except BaseException:
        # Its other replies may be unread: they are not the next caller's.
        connection.disconnect()
        raise
    finally:
        pool.release(connection)


def _packer() -> Callable[[tuple[Any, ...]], bytes] | None:
    """What writes one command in C; None in an edition without it."""
    try:
        from hiredis import pack_command
    except ImportError:
        return None
    return pack_command


_PACK = _packer()


def _packed(connection: Any, commands: Sequence[Sequence[bytes | str | int]]) -> list[bytes]:
    """The commands as they are sent; many of them in C, where hiredis is there."""
    if _PACK is None or len(commands) < 50:
        return list(connection.pack_commands(commands))
    # redis-py takes a first word with a blank in it for two.
    whole = all(isinstance(command[0], bytes) and b" " not in command[0] for command in commands)
    if not whole:
        return list(connection.pack_commands(commands))
    return [b"".join([_PACK(tuple(command)) for command in commands])]


def _read(connection: Any) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error


def text_json(raw: bytes) -> Json:
    """Bytes as a string, or as ``{"hex": …}`` when they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"hex": raw.hex()}


def value_json(value: Any) -> Json:
    """A value inside ``{"ok": …}``: numbers, null, lists, strings."""
    if isinstance(value, ErrorReply):
        return {"error": value.text}
    if isinstance(value, bytes):
        return text_json(value)
    if isinstance(value, (list, tuple)):
        return [value_json(item) for item in value]
    return value


def reply_json(value: Any) -> Json:
    """A reply: ``{"ok": value}``, ``{"error": text}`` or ``{"unsupported": verb}``."""
    if isinstance(value, ErrorReply):
        return {"error": value.text}
    if isinstance(value, NotSent):
        return {"unsupported": value.verb}
    return {"ok": value_json(value)}
