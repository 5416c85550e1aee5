"""A snapshot of every key of a queue, and its JSON form (SPEC 9)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import redis

from emqlab import keys
from emqlab.replies import Json, ask_all, error_reply, text_json
from emqlab.servers.server import Server
from emqlab.servers.survey import under

#: Hash and zset: pairs; list and set: members; string: the bytes.
KeyValue = bytes | list[bytes] | list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its type as TYPE names it, PTTL in ms (-1: none), and its value.

    A hash is its (field, value) pairs sorted by field; a zset its (member, score) pairs in the server's order, scores
    as ZSCORE prints them; a set its members sorted; a list its items in order.
    """

    type: str
    ttl_ms: int
    value: KeyValue

    def pairs(self) -> dict[bytes, bytes]:
        """A hash's fields or a zset's scores, by name; empty for other types."""
        if isinstance(self.value, bytes):
            return {}
        return {item[0]: item[1] for item in self.value if isinstance(item, tuple)}


#: Key name -> what it holds, sorted by name.
Snapshot = dict[bytes, Key]


def snapshot_of(server: Server, queue: bytes) -> Snapshot:
    """What ``take`` finds on a lab's server; an embedded one is looked into, which takes no command."""
    look = getattr(server, "look", None)
    if look is None:
        return take(server.observer, queue, shared=server.shared)
    ours = (keys.base(queue), b"{emq}:")
    return _but_our_version(looked(look(lambda name: name.startswith(ours))))


def looked(rows: Iterable[tuple[bytes, bytes, int, Any]]) -> Snapshot:
    """The snapshot of the rows that an embedded server's ``look`` answers."""
    return {
        name: Key(kind.decode(), ttl_ms, sorted(value) if kind in (b"hash", b"set") else [] if value is None else value)
        for name, kind, ttl_ms, value in sorted(rows, key=itemgetter(0))
    }


def take(client: redis.Redis, queue: bytes, *, shared: Collection[bytes] | None = None) -> Snapshot:
    """All keys under ``emq:{q}:*`` and ``{emq}:*``, but ``{emq}:version`` while it holds our value.

    With ``shared``, of those under ``{emq}:`` only these are looked at.
    """
    everywhere = [b"{emq}:"] if shared is None else []
    return _but_our_version(read(client, sorted({*under(client, keys.base(queue), *everywhere), *(shared or ())})))


def _but_our_version(found: Snapshot) -> Snapshot:
    version = found.get(keys.VERSION_KEY)
    if version is not None and version.value == keys.VERSION and version.ttl_ms == -1:
        del found[keys.VERSION_KEY]
    return found


def read(client: redis.Redis, names: Sequence[bytes]) -> Snapshot:
    """What each of ``names`` holds; a name without a key is left out. Two round trips, however many keys.

    A key that goes meanwhile is left out too, one that becomes of another type is read again. Raises
    redis.ResponseError, also for a key that never keeps its type.
    """
    found: Snapshot = {}
    waiting = list(names)
    for _ in range(_ROUNDS):
        waiting = _read_once(client, waiting, found)
        if not waiting:
            return {name: found[name] for name in names if name in found}
    raise redis.ResponseError(f"ERR {name_json(waiting[0])} changes its type faster than it can be read")


def _read_once(client: redis.Redis, names: Sequence[bytes], found: Snapshot) -> list[bytes]:
    """Put what ``names`` hold into ``found``; those whose type was another one by the time they were read."""
    kinds = [kind.decode() for kind in _asked(client, [("TYPE", name) for name in names])]
    there = [(name, kind) for name, kind in zip(names, kinds, strict=True) if kind != "none"]
    commands: list[tuple[bytes | str | int, ...]] = []
    for name, kind in there:
        commands += [(_READ.get(kind, "TYPE"), name, *_RANGE.get(kind, ())), ("PTTL", name)]
    replies = _asked(client, commands)
    again: list[bytes] = []
    for (name, kind), value, ttl_ms in zip(there, replies[::2], replies[1::2], strict=True):
        if ttl_ms == -2:
            continue
        if isinstance(value, redis.ResponseError) or (kind not in _READ and value != kind.encode()):
            again.append(name)
        # A string may be empty; of the others none is while it is there, so it went between the commands.
        elif value or value == b"":
            found[name] = Key(kind, ttl_ms, _value(kind, value))
    return again


def _asked(client: redis.Redis, commands: Sequence[Sequence[bytes | str | int]]) -> list[Any]:
    """The replies, WRONGTYPE among them as its exception. Raises redis.ResponseError for any other error."""
    replies = ask_all(client, commands)
    for reply in replies:
        if isinstance(reply, redis.ResponseError) and error_reply(reply).code != "WRONGTYPE":
            raise reply
    return replies


#: How often a key is read whose type changes under the reader's eyes.
_ROUNDS = 10
#: How each type is read whole. The value of another type (a stream, a module's) is not looked at.
_READ = {"hash": "HGETALL", "zset": "ZRANGE", "set": "SMEMBERS", "list": "LRANGE", "string": "GET"}
_RANGE: dict[str, tuple[str | int, ...]] = {"zset": (0, -1, "WITHSCORES"), "list": (0, -1)}


def _value(kind: str, reply: Any) -> KeyValue:
    if kind in ("hash", "zset"):
        pairs = list(zip(reply[::2], reply[1::2], strict=True))
        return sorted(pairs) if kind == "hash" else pairs
    if kind == "set":
        return sorted(reply)
    if kind == "list":
        return list(reply)
    return bytes(reply) if kind == "string" else []


def name_json(name: bytes) -> str:
    """A key's name as text; one that is not UTF-8 as ``hex:…``."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return "hex:" + name.hex()


def key_json(key: Key) -> Json:
    """``{"type": …, "ttl_ms": …, "value": …}``."""
    value: Json
    if isinstance(key.value, bytes):
        value = text_json(key.value)
    else:
        value = [_member_json(item) for item in key.value]
    return {"type": key.type, "ttl_ms": key.ttl_ms, "value": value}


def _member_json(item: bytes | tuple[bytes, bytes]) -> Json:
    return text_json(item) if isinstance(item, bytes) else [text_json(part) for part in item]


def snapshot_json(snapshot: Snapshot) -> dict[str, Json]:
    """The whole snapshot, sorted by name."""
    return {name_json(name): key_json(key) for name, key in sorted(snapshot.items())}
