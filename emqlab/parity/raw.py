"""A case's raw commands on the third voice's worlds: plain reads and writes of keys, and a script cache flushed."""

import re
from collections.abc import Callable, Sequence

from emqlab.parity.model.commands import Refused, hdel, hincrby, hset, list_at, zadd, zrem
from emqlab.parity.model.numbers import LARGEST, SMALLEST, stored_integer
from emqlab.parity.model.world import Held, World

Keys = dict[bytes, Held]
Words = Sequence[bytes]

_SCORE = re.compile(rb"[+-]?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|inf)")


class NotFollowed(Exception):
    """A raw command, or a form of one, whose effect is not known here."""


def apply(world: World, words: Words) -> None:
    """Do to ``world`` what the server does for one raw command, an error included, which changes nothing.

    Raises NotFollowed for a command or an option that is not known here.
    """
    name = words[0].upper()
    if name in _HARMLESS or (name == b"SCRIPT" and words[1:2] in ([b"FLUSH"], (b"FLUSH",))):
        return
    command = _COMMANDS.get(name)
    least = _LEAST.get(name, 3)
    if command is None or len(words) < least:
        raise NotFollowed
    try:
        command(world.keys, words)
    except Refused:
        return


def _pairs(words: Words) -> list[tuple[bytes, bytes]]:
    if len(words) % 2:
        raise NotFollowed
    return list(zip(words[2::2], words[3::2], strict=True))


def _hset(keys: Keys, words: Words) -> None:
    hset(keys, words[1], dict(_pairs(words)))


def _hdel(keys: Keys, words: Words) -> None:
    for field in words[2:]:
        hdel(keys, words[1], field)


def _hincrby(keys: Keys, words: Words) -> None:
    if len(words) != 4:
        raise NotFollowed
    by = stored_integer(words[3])
    if by is None:
        raise NotFollowed
    hincrby(keys, words[1], words[2], by)


def _zadd(keys: Keys, words: Words) -> None:
    scores = [(float(_score(score)), member) for score, member in _pairs(words)]
    for score, member in scores:
        zadd(keys, words[1], score, member)


def _score(text: bytes) -> bytes:
    if not _SCORE.fullmatch(text):
        raise NotFollowed
    return text


def _zrem(keys: Keys, words: Words) -> None:
    for member in words[2:]:
        zrem(keys, words[1], member)


def _set(keys: Keys, words: Words) -> None:
    if len(words) != 3:
        raise NotFollowed
    keys[words[1]] = words[2]


def _del(keys: Keys, words: Words) -> None:
    for key in words[1:]:
        keys.pop(key, None)


def _rpush(keys: Keys, words: Words) -> None:
    keys[words[1]] = [*(list_at(keys, words[1]) or ()), *words[2:]]


def _lpush(keys: Keys, words: Words) -> None:
    keys[words[1]] = [*reversed(words[2:]), *(list_at(keys, words[1]) or ())]


def _sadd(keys: Keys, words: Words) -> None:
    held = keys.get(words[1], set())
    if isinstance(held, set):
        keys[words[1]] = held | set(words[2:])


def _srem(keys: Keys, words: Words) -> None:
    held = keys.get(words[1])
    if isinstance(held, set):
        left = held - set(words[2:])
        if left:
            keys[words[1]] = left
        else:
            del keys[words[1]]


def _incr(keys: Keys, words: Words) -> None:
    held = keys.get(words[1], b"0")
    number = stored_integer(held) if isinstance(held, bytes) else None
    if len(words) != 2:
        raise NotFollowed
    by = 1 if words[0].upper() == b"INCR" else -1
    if number is not None and SMALLEST <= number + by <= LARGEST:
        keys[words[1]] = b"%d" % (number + by)


#: Commands that change no key, whatever they are asked.
_HARMLESS = frozenset(
    b"PING ECHO TIME GET STRLEN EXISTS TYPE HGET HMGET HGETALL HEXISTS HLEN HKEYS ZSCORE ZCARD ZRANGE ZRANK ZCOUNT"
    b" ZRANGEBYSCORE LRANGE LLEN SMEMBERS SISMEMBER SCARD TTL PTTL".split()
)
_COMMANDS: dict[bytes, Callable[[Keys, Words], None]] = {
    b"HSET": _hset,
    b"HMSET": _hset,
    b"HDEL": _hdel,
    b"HINCRBY": _hincrby,
    b"ZADD": _zadd,
    b"ZREM": _zrem,
    b"SET": _set,
    b"DEL": _del,
    b"UNLINK": _del,
    b"RPUSH": _rpush,
    b"LPUSH": _lpush,
    b"SADD": _sadd,
    b"SREM": _srem,
    b"INCR": _incr,
    b"DECR": _incr,
}
#: How many words a command has at least, where it is not three.
_LEAST = {b"HSET": 4, b"HMSET": 4, b"ZADD": 4, b"DEL": 2, b"UNLINK": 2, b"INCR": 2, b"DECR": 2}
