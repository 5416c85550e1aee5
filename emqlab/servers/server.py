"""What a lab asks of any server."""

from typing import Any, Protocol

import redis


class Server(Protocol):
    """A server that a lab holds open: how to reach it, its clock and its epoch."""

    #: ``embedded``, ``valkey`` or ``remote``: the name in cases' ``servers`` and in reports.
    name: str
    #: Whether ``advance`` and ``restart`` can be had.
    movable: bool
    restartable: bool
    client: redis.Redis

    @property
    def run_id(self) -> bytes:
        """The epoch in force."""

    @property
    def node(self) -> int:
        """The node number in the ids minted for this server."""

    def now_ms(self) -> int:
        """The server's time, ms since 1970."""

    def advance(self, ms: int) -> None:
        """Move the server's clock."""

    def restart(self) -> None:
        """A new epoch on the same data."""

    def connect(self, **options: Any) -> redis.Redis:
        """One more client."""

    def begin_case(self, queue: bytes) -> None:
        """Make sure that a case finds an empty queue, and nothing of the case before it."""

    def end_case(self, queue: bytes) -> None:
        """Leave nothing of the case behind, and the wire version as the lab claimed it."""

    def close(self) -> None:
        """Let go of it."""
