"""A private copy of a queue's keys, on which the writes of a run are made again to see what each one did."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from emqlab import keys
from emqlab.observe.snapshot import Key, Snapshot, looked
from emqlab.replies import ask_all, settled
from emqlab.servers.embedded import EmbeddedServer


class Keyspace:
    """A scratch server of its own: nothing done here is seen by any lab."""

    def __init__(self) -> None:
        self._server = EmbeddedServer([])
        self._client = self._server.client
        #: Held while one run is told: the copy is shared.
        self.lock = self._server.lock
        self._queue = b""
        self._kept: Snapshot = {}

    def fill(self, before: Snapshot, queue: bytes, now_ms: int) -> None:
        """Forget everything, then hold ``before`` at the server time ``now_ms`` (ms since 1970)."""
        self._server.begin_case(queue)
        self.move_to(now_ms)
        self._queue = queue
        self._kept = {}
        if keys.VERSION_KEY in before:
            self._client.delete(keys.VERSION_KEY)
        direct: dict[bytes, Any] = {}
        for name, key in before.items():
            if key.ttl_ms < 0 and key.type in ("hash", "zset"):
                direct[name] = {a: float(b) if key.type == "zset" else b for a, b in key.pairs().items()}
                continue
            commands = list(_making(name, key))
            if not commands:
                self._kept[name] = key
            for command in commands:
                self._client.execute_command(*command)
        self._server.fill(direct)

    def move_to(self, now_ms: int) -> None:
        """Set the time; keys expire by it."""
        self._server.advance(now_ms - self._server.now_ms())

    def ours(self, name: bytes) -> bool:
        """Whether a key belongs to what a snapshot of the queue shows."""
        return name.startswith((keys.base(self._queue), b"{emq}:"))

    def run(self, command: Sequence[bytes]) -> Any:
        """Run one command; an error reply is an ErrorReply."""
        return settled(ask_all(self._client, [command])[0])

    def key(self, name: bytes) -> Key | None:
        """What one key holds now, None when it is absent."""
        return looked(self._server.look(name.__eq__)).get(name, self._kept.get(name))


def _making(name: bytes, key: Key) -> Iterator[tuple[bytes, ...]]:
    """The commands that make a key; none for a type that the lab does not know."""
    if isinstance(key.value, bytes):
        yield (b"SET", name, key.value)
    elif key.value:
        command = {"hash": b"HSET", "zset": b"ZADD", "set": b"SADD", "list": b"RPUSH"}[key.type]
        flat: list[bytes] = []
        for item in key.value:
            pair = item if isinstance(item, tuple) else (item,)
            flat.extend(reversed(pair) if key.type == "zset" else pair)
        yield (command, name, *flat)
    else:
        return
    if key.ttl_ms >= 0:
        yield (b"PEXPIRE", name, b"%d" % key.ttl_ms)


@cache
def scratch() -> Keyspace:
    """The one scratch server, made when the first run is told and used again for the next."""
    return Keyspace()
