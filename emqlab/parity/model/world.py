"""What the third voice keeps: a queue's keys as plain containers, a clock, an epoch, and how a verb answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Zset(dict[bytes, float]):
    """A sorted set, member to score; the server's order is (score, member)."""

    __slots__ = ()

    def copy(self) -> "Zset":
        """Another sorted set with the same members."""
        return Zset(self)


Held = bytes | list[bytes] | set[bytes] | dict[bytes, bytes] | Zset
Values = Mapping[str, bytes | Sequence[tuple[bytes, bytes]]]
#: The same values where a step reads its own by name, and so knows which are pairs.
Given = Mapping[str, Any]


class World:
    """The keys of a server by full name (an empty container is no key), its clock in ms and its run_id."""

    __slots__ = ("keys", "now_ms", "run_id")

    def __init__(self, keys: dict[bytes, Held], now_ms: int, run_id: bytes) -> None:
        self.keys = keys
        self.now_ms = now_ms
        self.run_id = run_id

    def copy(self) -> "World":
        """The same world with containers of its own."""
        keys = {key: held if type(held) is bytes else held.copy() for key, held in self.keys.items()}  # type: ignore[union-attr]
        return World(keys, self.now_ms, self.run_id)


@dataclass(frozen=True, slots=True)
class Error:
    """An error reply: the whole text, and ``ERR`` alone for a script's own runtime error."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Unsupported:
    """The executor has no such verb: nothing was sent."""

    verb: str


Reply = bytes | int | None | list["Reply"] | Error | Unsupported
