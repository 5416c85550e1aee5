"""The embedded server: a private fake server in this process, with a clock that the reader moves."""

import hashlib
from typing import Any

import redis

from emqlab import keys
from emqlab.servers import fake
from emqlab.servers.clock import VirtualClock


class EmbeddedServer:
    """``embedded``: nothing to install, a virtual clock, epochs and ids that come from ``seed``."""

    name = "embedded"
    movable = True
    restartable = True

    def __init__(self, commands: list[fake.Command], seed: int = 0) -> None:
        self._seed = seed
        self._starts = 0
        self.clock = VirtualClock()
        self._fake = fake.FakeServer(self.clock, self._epoch(), commands)
        self.client: redis.Redis = fake.connect(self._fake)

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
        """Move the server's clock by ``ms``; TIME, expiry and leases follow."""
        self.clock.advance(ms)

    def connect(self, **options: Any) -> redis.Redis:
        """One more client; ``username`` and ``password`` make it an ACL user's, ``protocol=3`` RESP3."""
        return fake.connect(self._fake, **options)

    def restart(self) -> None:
        """Play a restart: the data stays, the epoch is new and the script cache is empty."""
        self._starts += 1
        self._fake.run_id = self._epoch()
        self._fake.forget_scripts()

    def reset(self) -> None:
        """Back to the first start: no key, no user, the first epoch, the clock at its beginning."""
        self._fake.wipe()
        self._starts = 0
        self._fake.run_id = self._epoch()
        self.clock = self._fake.clock = VirtualClock()

    def begin_case(self, queue: bytes) -> None:
        """Start from nothing: a case may have left users, keys of other queues or another clock behind."""
        self.reset()
        self.client.set(keys.VERSION_KEY, keys.VERSION)

    def end_case(self, queue: bytes) -> None:
        """Nothing to do: the next case starts from nothing."""

    def close(self) -> None:
        """Let go of the connections; the data goes with the object."""
        self.client.close()
