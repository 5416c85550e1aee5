"""The embedded server: a private fake server in this process, with a clock that the reader moves."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import redis

from emqlab import keys
from emqlab.servers import fake
from emqlab.servers.clock import VirtualClock
from emqlab.transitions import Call


class EmbeddedServer:
    """``embedded``: nothing to install, a virtual clock, epochs and ids that come from ``seed``."""

    name = "embedded"
    movable = True
    ticks = False
    restartable = True
    shared: frozenset[bytes] | None = None
    overran = None

    def __init__(self, commands: list[fake.Command], seed: int = 0) -> None:
        self._commands = commands
        self._seed = seed
        self._starts = 0
        self.lock: AbstractContextManager[bool, None] = threading.RLock()
        self.clock = VirtualClock()
        self._fake = fake.FakeServer(self.clock, self._epoch(), commands)
        self.client: redis.Redis = fake.connect(self._fake)
        self.observer: redis.Redis = fake.connect(self._fake, inside=True)

    def _epoch(self) -> bytes:
        name = f"emqlab run_id, seed {self._seed}, start {self._starts}"
        return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest().encode()

    @property
    def run_id(self) -> bytes:
        """The epoch in force: 40 hex characters, new at every restart."""
        return self._fake.run_id

    @property
    def node(self) -> int:
        """The node number, 0-1023, in the ids minted for this server."""
        return self._seed % 1024

    def now_ms(self) -> int:
        """The server's time."""
        return self.clock.now_ms()

    def advance(self, ms: int) -> None:
        """Move the server's clock by ``ms``; TIME, expiry and leases follow. Raises NoSuchTime."""
        self.clock.advance(ms)

    def connect(self, **options: Any) -> redis.Redis:
        """One more client; ``username`` and ``password`` make it an ACL user's, ``protocol=3`` RESP3."""
        return fake.connect(self._fake, **options)

    def restart(self) -> None:
        """Play a restart: the data stays, the epoch is new and the script cache is empty."""
        self._starts += 1
        self._fake.run_id = self._epoch()
        self._fake.forget_scripts()

    def admit(self, queue: bytes, raw: Sequence[Sequence[bytes]], calls: Iterable[Call]) -> None:
        """Anything goes: the server is the lab's own."""

    def begin_case(self, queue: bytes) -> None:
        """Start from nothing: no key, the first epoch, the clock at its beginning, the wire version claimed."""
        self._fake.wipe()
        self._starts = 0
        self._fake.run_id = self._epoch()
        self.clock = self._fake.clock = VirtualClock()
        self._fake.fill({keys.VERSION_KEY: keys.VERSION})

    def end_case(self, queue: bytes, *, plain: bool) -> None:
        """A case that sent more than plain data commands takes its server with it: users, settings, Lua state."""
        if not plain:
            self._fake = fake.FakeServer(self.clock, self._epoch(), self._commands)
            self.hang_up()
            for client in (self.client, self.observer):
                fake.move(client, self._fake)

    def fill(self, keys: Mapping[bytes, Any]) -> None:
        """Put whole hashes (dicts of bytes), sorted sets (dicts of floats) and strings in place, many at once."""
        self._fake.fill(keys)

    def look(self, wanted: Callable[[bytes], bool]) -> list[tuple[bytes, bytes, int, Any]]:
        """Look at the keys whose names are ``wanted``, without a command: name, type, PTTL, value (FakeServer.look)."""
        return self._fake.look(wanted)

    def drain(self) -> list[tuple[bytes, bytes, bool, Any]]:
        """Take every key out: name, type, whether it would expire, value (FakeServer.drain)."""
        return self._fake.drain()

    def hang_up(self) -> None:
        """Close the idle connections of the lab's clients; the next command opens new ones."""
        for client in (self.client, self.observer):
            client.connection_pool.disconnect()

    def close(self) -> None:
        """Stop the server: the data goes with it, and later commands fail."""
        fake.end(self._fake)
        self.hang_up()
