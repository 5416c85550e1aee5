"""What is asked of any server: which keys begin with a prefix, which program it is."""

from collections.abc import Iterator, Mapping
from typing import Any

import redis

from emqlab.replies import ask_all

_GLOB = {byte: b"\\" + bytes([byte]) for byte in b"*?[]\\^-"}


def under(client: redis.Redis, *prefixes: bytes) -> Iterator[bytes]:
    """The names of all keys that begin with one of ``prefixes``, found by SCAN; pattern characters mean themselves.

    A round trip asks for all prefixes. Raises redis.ResponseError.
    """
    cursors = {_pattern(prefix): b"0" for prefix in prefixes}
    while cursors:
        asked = [("SCAN", cursor, "MATCH", pattern, "COUNT", 1000) for pattern, cursor in cursors.items()]
        replies = ask_all(client, asked)
        for pattern, reply in zip(list(cursors), replies, strict=True):
            if isinstance(reply, redis.ResponseError):
                raise reply
            cursors[pattern], names = reply
            yield from names
            if cursors[pattern] == b"0":
                del cursors[pattern]


def _pattern(prefix: bytes) -> bytes:
    return b"".join(_GLOB.get(byte, bytes([byte])) for byte in prefix) + b"*"


def program(info: Mapping[str, Any]) -> str:
    """``valkey 9.1.2`` or ``redis 7.0.15``, out of INFO's section ``server``."""
    name = info.get("server_name", "redis")
    return f"{name} {info.get(f'{name}_version') or info.get('redis_version', '')}"
