"""A client that takes nothing on trust: every reply is parsed by the letter of RESP2 and RESP3.

https://valkey.io/topics/protocol/
"""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class Malformed(Exception):
    """What the server sent is no reply."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An error reply: its whole text."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Status:
    """A status reply: ``OK``, ``QUEUED``, …"""

    text: bytes


class Wire:
    """One connection to a server's unix socket; ``protocol`` is 2 or 3."""

    def __init__(self, path: str, protocol: int = 2) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(path)
        self._replies = self._socket.makefile("rb", buffering=1 << 16)
        self._asked = 0
        if protocol == 3:
            self.ask(b"HELLO", b"3")

    def close(self) -> None:
        """Close the connection."""
        self._replies.close()
        self._socket.close()

    def ask(self, *words: bytes) -> Any:
        """Send one command; its reply."""
        return self.ask_all([words])[0]

    def ask_all(self, commands: Sequence[Sequence[bytes]]) -> list[Any]:
        """Send many commands at once; a reply each. Raises Malformed when what comes back is not that."""
        self._asked += 1
        # What comes back last shows that no reply was short or long.
        last = b"end of %d" % self._asked
        self._socket.sendall(b"".join(map(packed, [*commands, (b"ECHO", last)])))
        replies = [self._read() for _ in commands]
        if self._read() != last:
            raise Malformed("there are more replies than commands")
        return replies

    def _line(self) -> bytes:
        line = self._replies.readline()
        if not line.endswith(b"\r\n"):
            raise Malformed(f"a line ends early: {line[:80]!r}")
        return line[:-2]

    def _number(self, text: bytes) -> int:
        digits = text[1:] if text[:1] == b"-" else text
        if not digits.isdigit():
            raise Malformed(f"no number: {text[:80]!r}")
        return int(text)

    def _bulk(self, size: int) -> bytes:
        body: bytes = self._replies.read(size + 2)
        if len(body) != size + 2 or body[-2:] != b"\r\n":
            raise Malformed("a text is not as long as it says")
        return body[:-2]

    def _read(self) -> Any:
        line = self._line()
        kind, rest = line[:1], line[1:]
        match kind:
            case b":":
                return self._number(rest)
            case b"$":
                size = self._number(rest)
                return None if size == -1 else self._bulk(size)
            case b"*" | b"~":
                size = self._number(rest)
                return None if size == -1 else [self._read() for _ in range(size)]
            case b"%":
                return [[self._read(), self._read()] for _ in range(self._number(rest))]
            case b"-":
                return Failed(rest)
            case b"+":
                return Status(rest)
            case b"_" if rest == b"":
                return None
            case b"#" if rest in (b"t", b"f"):
                return rest == b"t"
            case b",":
                return float(rest)
            case b"=":
                return self._bulk(self._number(rest))[4:]
        raise Malformed(f"no reply begins like this: {line[:80]!r}")


def packed(words: Sequence[bytes]) -> bytes:
    """A command as it goes over the wire."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        parts.append(b"$%d\r\n%b\r\n" % (len(word), word))
    return b"".join(parts)
