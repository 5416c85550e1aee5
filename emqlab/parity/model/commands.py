"""What the server's commands do to plain containers, and the errors that they answer with."""

from typing import cast

from emqlab.parity.model.numbers import LARGEST, SMALLEST, stored_integer
from emqlab.parity.model.world import Held, Zset

Keys = dict[bytes, Held]
WRONGTYPE = b"WRONGTYPE Operation against a key holding the wrong kind of value"


class Refused(Exception):
    """A command, or what sent it, ends in the error ``text``; what was written before stays."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.text = text


def hash_at(keys: Keys, key: bytes) -> dict[bytes, bytes] | None:
    """The hash at ``key``, None without one. Raises Refused when the key holds another kind."""
    held = keys.get(key)
    if held is None or type(held) is dict:
        return cast("dict[bytes, bytes] | None", held)
    raise Refused(WRONGTYPE)


def zset_at(keys: Keys, key: bytes) -> Zset | None:
    """The sorted set at ``key``, None without one. Raises Refused when the key holds another kind."""
    held = keys.get(key)
    if held is None or type(held) is Zset:
        return held
    raise Refused(WRONGTYPE)


def list_at(keys: Keys, key: bytes) -> list[bytes] | None:
    """The list at ``key``, None without one. Raises Refused when the key holds another kind."""
    held = keys.get(key)
    if held is None or type(held) is list:
        return held
    raise Refused(WRONGTYPE)


def sismember(keys: Keys, key: bytes, member: bytes) -> bool:
    """Whether the set at ``key`` has ``member``. Raises Refused when the key holds another kind."""
    held = keys.get(key)
    if held is None:
        return False
    if type(held) is set:
        return member in held
    raise Refused(WRONGTYPE)


def sadd(keys: Keys, key: bytes, member: bytes) -> None:
    """Adds a member, to a new set if need be. Raises Refused when the key holds another kind."""
    if not sismember(keys, key, member):
        cast("set[bytes]", keys.setdefault(key, set())).add(member)


def srem(keys: Keys, key: bytes, member: bytes) -> None:
    """Removes a member, the set with its last one. Raises Refused when the key holds another kind."""
    if sismember(keys, key, member):
        found = cast("set[bytes]", keys[key])
        found.remove(member)
        if not found:
            del keys[key]


def decr(keys: Keys, key: bytes) -> int:
    """Takes one off a string's number, 0 without the key, and returns the rest.

    Raises Refused when the key holds another kind, and with DECR's own text when it makes nothing of the bytes: they
    are read as HINCRBY reads a field's. Source: https://valkey.io/commands/decr/
    """
    held = keys.get(key, b"0")
    if type(held) is not bytes:
        raise Refused(WRONGTYPE)
    number = stored_integer(held)
    if number is None:
        raise Refused(b"ERR value is not an integer or out of range")
    if number == SMALLEST:
        raise Refused(b"ERR increment or decrement would overflow")
    keys[key] = b"%d" % (number - 1)
    return number - 1


def hget(keys: Keys, key: bytes, field: bytes) -> bytes | None:
    """A field's bytes, None without key or field. Raises Refused when the key holds another kind."""
    found = hash_at(keys, key)
    return None if found is None else found.get(field)


def hset(keys: Keys, key: bytes, fields: dict[bytes, bytes]) -> None:
    """Writes the fields, into a new hash if need be. Raises Refused when the key holds another kind."""
    found = hash_at(keys, key)
    if found is None:
        keys[key] = fields
    else:
        found.update(fields)


def hdel(keys: Keys, key: bytes, field: bytes) -> bool:
    """Removes a field, the hash with its last one; whether it was there. Raises Refused for another kind of key."""
    found = hash_at(keys, key)
    if found is None or field not in found:
        return False
    del found[field]
    if not found:
        del keys[key]
    return True


def incremented(stored: bytes | None, by: int) -> int:
    """What HINCRBY makes of a field's bytes. Raises Refused with HINCRBY's own text when it makes nothing of them."""
    number = 0 if stored is None else stored_integer(stored)
    if number is None:
        raise Refused(b"ERR hash value is not an integer")
    if not SMALLEST <= number + by <= LARGEST:
        raise Refused(b"ERR increment or decrement would overflow")
    return number + by


def hincrby(keys: Keys, key: bytes, field: bytes, by: int) -> int:
    """Adds to a field and returns the sum. Raises Refused for another kind of key, and as ``incremented``."""
    number = incremented(hget(keys, key, field), by)
    hset(keys, key, {field: b"%d" % number})
    return number


def zscore(keys: Keys, key: bytes, member: bytes) -> float | None:
    """A member's score, None without it. Raises Refused when the key holds another kind."""
    found = zset_at(keys, key)
    return None if found is None else found.get(member)


def zadd(keys: Keys, key: bytes, score: float, member: bytes) -> None:
    """Sets a member's score. Raises Refused for a score that is not a number, then for another kind of key."""
    if score != score:
        raise Refused(b"ERR value is not a valid float")
    found = zset_at(keys, key)
    if found is None:
        keys[key] = Zset({member: score})
    else:
        found[member] = score


def zrem(keys: Keys, key: bytes, member: bytes) -> bool:
    """Removes a member, the set with its last one; whether it was there. Raises Refused for another kind of key."""
    found = zset_at(keys, key)
    if found is None or member not in found:
        return False
    del found[member]
    if not found:
        del keys[key]
    return True


def first(keys: Keys, key: bytes) -> bytes | None:
    """The member that ZPOPMIN would pop, None without one. Raises Refused when the key holds another kind."""
    found = zset_at(keys, key)
    return None if found is None else min((score, member) for member, score in found.items())[1]


def zpopmin(keys: Keys, key: bytes) -> bytes | None:
    """Takes the first member out and returns it, None without one. Raises Refused when the key holds another kind."""
    member = first(keys, key)
    if member is not None:
        zrem(keys, key, member)
    return member


def due(keys: Keys, key: bytes, now_ms: int, count: int) -> list[bytes]:
    """The members scored up to ``now_ms``, in order, at most ``count``, all if it is negative.

    Raises Refused when the key holds another kind.
    """
    found = zset_at(keys, key)
    if found is None:
        return []
    ready = sorted((score, member) for member, score in found.items() if score <= now_ms)
    return [member for _, member in (ready if count < 0 else ready[:count])]


def rpush(keys: Keys, key: bytes, item: bytes) -> None:
    """Appends to a list, a new one if need be. Raises Refused when the key holds another kind."""
    found = list_at(keys, key)
    if found is None:
        keys[key] = [item]
    else:
        found.append(item)


def lpush(keys: Keys, key: bytes, item: bytes, keep: int) -> None:
    """Puts an item at a list's head and keeps the first ``keep``. Raises Refused when the key holds another kind."""
    keys[key] = [item, *(list_at(keys, key) or ())][:keep]


def lrem(keys: Keys, key: bytes, item: bytes) -> None:
    """Removes every ``item`` from a list, the list with its last one. Raises Refused for another kind of key."""
    left = [other for other in list_at(keys, key) or () if other != item]
    if left:
        keys[key] = left
    else:
        keys.pop(key, None)


def lmove(keys: Keys, key: bytes) -> bytes | None:
    """Moves a list's head to its own tail and returns it, None without one. Raises Refused for another kind of key."""
    found = list_at(keys, key)
    if found is None:
        return None
    found.append(found.pop(0))
    return found[-1]
