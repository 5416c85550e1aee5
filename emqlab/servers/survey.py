"""What is asked of any server: which keys begin with a prefix, which program it is."""

from collections.abc import Iterator, Mapping
from typing import Any

import redis

from emqlab.replies import ask

_GLOB = {byte: b"\\" + bytes([byte]) for byte in b"*?[]\\^-"}


def under(client: redis.Redis, prefix: bytes) -> Iterator[bytes]:
    """The names of all keys that begin with ``prefix``, found by SCAN; pattern characters in it mean themselves."""
    pattern = b"".join(_GLOB.get(byte, bytes([byte])) for byte in prefix) + b"*"
    cursor = b"0"
    while True:
        cursor, names = ask(client, "SCAN", cursor, "MATCH", pattern, "COUNT", 1000)
        yield from names
        if cursor == b"0":
            return


def program(info: Mapping[str, Any]) -> str:
    """``valkey 9.1.2`` or ``redis 7.0.15``, out of INFO's section ``server``."""
    name = info.get("server_name", "redis")
    return f"{name} {info.get(f'{name}_version') or info.get('redis_version', '')}"
