"""A cluster behind one redis-py connection: each command goes to the node that owns its key, MOVED is followed.

redis-py's own cluster client asks each server for the place of a command's keys and has no connection pool that could
be used as a single server's. A queue has one slot, so a map of the slots that were met is enough.
"""

import os
from collections import deque
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AskError, MovedError
from redis.retry import Retry

from emqlab import keys

Address = tuple[str, int]
Command = tuple[bytes, ...]

#: How often one command is sent on from node to node.
_HOPS = 5
_KEYLESS = frozenset(
    b"ACL AUTH CLIENT CLUSTER COMMAND CONFIG DBSIZE DISCARD ECHO EXEC HELLO INFO MULTI PING SCRIPT TIME UNWATCH".split()
)
_NUMBERED = frozenset(b"EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO".split())


def key_of(command: Command) -> bytes | None:
    """The first key of a command, None when it has none. SCAN's is its pattern, a whole hashtag in it."""
    name = command[0].upper()
    if name in _KEYLESS or len(command) < 2:
        return None
    if name in (b"SCAN",):
        options = [part.upper() for part in command[2:-1:2]]
        if b"MATCH" not in options:
            return None
        return _unescaped(command[3 + 2 * options.index(b"MATCH")])
    if name in _NUMBERED or name.startswith(b"EMQ."):
        at = 3 if name in _NUMBERED or name == b"EMQ.TRACE" else 2
        return command[at] if len(command) > at and command[at - 1] not in (b"", b"0") else None
    return command[1]


def _unescaped(pattern: bytes) -> bytes:
    out = bytearray()
    signs = iter(pattern)
    for sign in signs:
        out.append(next(signs, sign) if sign == ord("\\") else sign)
    return bytes(out)


class Nodes:
    """Which node serves which slot, as far as MOVED has told; the others are asked of the first node."""

    def __init__(self, connection_class: type, options: dict[str, Any]) -> None:
        self._class = connection_class
        self._options = options
        self._home: Address = (options.get("host", "localhost"), options.get("port", 6379))
        self._owners: dict[int, Address] = {}
        self._pools: dict[Address, redis.ConnectionPool] = {}

    def owner(self, key: bytes | None) -> Address:
        """The node to ask about ``key``."""
        return self._home if key is None else self._owners.get(keys.slot(key), self._home)

    def connection(self, address: Address) -> Any:
        """A new connection to one node."""
        return self._class(**self._options_of(address))

    def pool_of(self, key: bytes) -> redis.ConnectionPool:
        """The pool of connections to the one node that serves ``key``."""
        address = self.owner(key)
        pool = self._pools.get(address)
        if pool is None:
            pool = redis.ConnectionPool(connection_class=self._class, **self._options_of(address))
            pool = self._pools.setdefault(address, pool)
        return pool

    def moved(self, reply: str) -> None:
        """Learn from ``MOVED slot host:port``; a host that is left out is the first node's."""
        slot, _, address = reply.removeprefix("MOVED ").partition(" ")
        self.learn(int(slot), self._home[0], address)

    def learn(self, slot: int, asked: str, address: str) -> Address:
        """Note who serves ``slot``, told by the node at ``asked``; the node's address."""
        host, _, port = address.rpartition(":")
        self._owners[slot] = (host or asked, int(port))
        return self._owners[slot]

    def lost(self, address: Address) -> None:
        """Forget what a node served that can't be reached: another may have taken over."""
        for slot in [slot for slot, owner in self._owners.items() if owner == address]:
            del self._owners[slot]

    def hang_up(self) -> None:
        """Close the idle connections to single nodes."""
        for pool in list(self._pools.values()):
            pool.disconnect()

    def _options_of(self, address: Address) -> dict[str, Any]:
        return {**self._options, "host": address[0], "port": address[1]}


class ClusterConnection:
    """What redis-py takes for one connection: one to each node that it had to speak to."""

    def __init__(self, nodes: Nodes, **options: Any) -> None:
        self._nodes = nodes
        self._lines: dict[Address, Any] = {}
        #: Where a command that was sent on is asked: its reply must not stand behind others.
        self._aside: dict[Address, Any] = {}
        self._waiting: deque[tuple[Address, Command]] = deque()
        self.pid = os.getpid()
        self.db = 0
        self.host, self.port = nodes.owner(None)
        self.retry = Retry(NoBackoff(), 0)

    def connect(self) -> None:
        """Make sure that the first node is there, and every other that was."""
        self._line(self._nodes.owner(None))
        for line in self._all():
            line.connect()

    def disconnect(self, *args: Any) -> None:
        """Close all."""
        self._waiting.clear()
        for line in self._all():
            line.disconnect()
        # Made anew when they are needed: a node that is gone must not be asked for ever.
        self._lines.clear()
        self._aside.clear()

    def can_read(self, timeout: float = 0) -> bool:
        """Whether a node has said more than it was asked for, or hung up."""
        return any(line.can_read(timeout) for line in self._all())

    def should_reconnect(self) -> bool:
        """Never of itself."""
        return False

    def re_auth(self) -> None:
        """Nothing: a password does not change while a lab is open."""

    def pack_commands(self, commands: Sequence[Sequence[Any]]) -> list[Command]:
        """The commands as bytes; they are packed for their node when they are sent."""
        return [tuple(_encoded(part) for part in command) for command in commands]

    def send_command(self, *command: Any, **options: Any) -> None:
        """Send one command to its node."""
        self.send_packed_command(self.pack_commands([command]))

    def send_packed_command(self, commands: Sequence[Command], check_health: bool = True) -> None:
        """Send each command to its node, one packet a node."""
        try:
            packets: dict[Address, list[Command]] = {}
            for command in commands:
                address = self._place(command)
                packets.setdefault(address, []).append(command)
                self._waiting.append((address, command))
            for address, packet in packets.items():
                line = self._line(address)
                line.send_packed_command(line.pack_commands(packet))
        except BaseException:
            self.disconnect()
            raise

    def read_response(self, *args: Any, **options: Any) -> Any:
        """The reply to the earliest command that has none yet. Raises as redis-py's connections do."""
        address, command = self._waiting.popleft()
        try:
            return self._followed(self._lines[address], address, command)
        except redis.ResponseError:
            raise
        except redis.ConnectionError as error:
            if not isinstance(error, redis.AuthenticationError):
                self._nodes.lost(address)
                self.disconnect()
            raise
        except BaseException:
            self.disconnect()
            raise

    def _followed(self, line: Any, address: Address, command: Command) -> Any:
        for _ in range(_HOPS):
            try:
                return line.read_response()
            except MovedError as error:
                address = self._nodes.learn(error.slot_id, address[0], str(error.args[0]).split(" ")[1])
                line = self._line(address, self._aside)
            except AskError as error:
                address = (error.host or address[0], error.port)
                line = self._line(address, self._aside)
                line.send_command(b"ASKING")
                line.read_response()
            line.send_command(*command)
        return line.read_response()

    def _place(self, command: Command) -> Address:
        key = key_of(command)
        if key is not None and command[0].upper() == b"SCAN":
            self._find(key)
        return self._nodes.owner(key)

    def _find(self, key: bytes) -> None:
        """Let MOVED tell who owns a slot: a node answers SCAN also where it owns none of it."""
        address = self._nodes.owner(key)
        line = self._line(address, self._aside)
        line.send_command(b"TYPE", key)
        try:
            line.read_response()
        except MovedError as error:
            self._nodes.learn(error.slot_id, address[0], str(error.args[0]).split(" ")[1])
        except redis.ResponseError:
            pass  # no right to it: whoever else reads the key is sent on

    def _line(self, address: Address, lines: dict[Address, Any] | None = None) -> Any:
        lines = self._lines if lines is None else lines
        line = lines.get(address)
        if line is None:
            line = lines[address] = self._nodes.connection(address)
            try:
                line.connect()
            except redis.ConnectionError:
                self._nodes.lost(address)
                raise
        return line

    def _all(self) -> list[Any]:
        return [*self._lines.values(), *self._aside.values()]


def _encoded(part: Any) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode()


def connect(nodes: Nodes) -> redis.Redis:
    """A client of the whole cluster. A transaction of its own is not for it: its commands have no one node."""
    pool = redis.ConnectionPool(connection_class=ClusterConnection, nodes=nodes, protocol=2)
    return redis.Redis(connection_pool=pool)
