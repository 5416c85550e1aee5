"""What a lab asks of any server."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import redis

from emqlab.transitions import Call


class Server(Protocol):
    """A server that a lab holds open: how to reach it, its clock and its epoch."""

    #: ``embedded``, ``valkey`` or ``remote``: the name in cases' ``servers`` and in reports.
    name: str
    #: Whether the clock runs by itself, and whether ``advance`` and ``restart`` can be had.
    ticks: bool
    movable: bool
    restartable: bool
    client: redis.Redis
    #: The lab's own client: no ACL rule of a case limits what it sees.
    observer: redis.Redis
    #: Held while a case runs: one server runs one case at a time.
    lock: AbstractContextManager[bool, None]

    @property
    def run_id(self) -> bytes:
        """The epoch in force."""

    @property
    def node(self) -> int:
        """The node number in the ids minted for this server."""

    def now_ms(self) -> int:
        """The server's time, ms since 1970."""

    def advance(self, ms: int) -> None:
        """Move the server's clock. Raises NoSuchTime."""

    def restart(self) -> None:
        """A new epoch on the same data."""

    def connect(self, **options: Any) -> redis.Redis:
        """One more client."""

    #: The keys under ``{emq}:`` that are the case's; None when all are, for the server is the lab's own.
    shared: frozenset[bytes] | None

    def admit(self, queue: bytes, raw: Sequence[Sequence[bytes]], calls: Iterable[Call]) -> None:
        """Look at a case before it is begun: its raw commands as they are sent, and its transitions.

        Raises CannotRun when this server can't run it, as it would touch what is not its own.
        """

    def begin_case(self, queue: bytes) -> None:
        """Make sure that a case finds an empty queue, and nothing of the case before it."""

    def end_case(self, queue: bytes, *, plain: bool) -> None:
        """Leave nothing of the case behind, and the wire version as the lab claimed it.

        ``plain``: the case sent no raw command but those that read and write keys.
        """

    @property
    def overran(self) -> str | None:
        """Why the lab itself has ended the server under the last case, in one sentence; None: it has not."""

    def hang_up(self) -> None:
        """Close the idle connections of the lab's clients, which a raw command may have killed."""

    def close(self) -> None:
        """Let go of it."""
