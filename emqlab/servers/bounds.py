"""What a case may touch on a user's server: the keys of its own queue, and ``{emq}:`` keys that it makes itself."""

from collections.abc import Iterable, Iterator, Sequence

from emqlab import keys
from emqlab.transitions import PLAIN, TRANSITIONS, Call

_FIRST = """
APPEND DECR DECRBY EXPIRE EXPIREAT GET GETDEL HDEL HGET HGETALL HINCRBY HSET HSETNX INCR INCRBY LPUSH LRANGE LREM LTRIM
PERSIST PEXPIRE PEXPIREAT PTTL RPUSH SADD SET SETEX SMEMBERS SREM TTL TYPE ZADD ZCARD ZINCRBY ZRANGE ZREM ZSCORE
"""
#: Raw commands that read and write keys and leave nothing else behind, and which of their words are keys.
DATA: dict[bytes, slice] = {
    **dict.fromkeys(_FIRST.encode().split(), slice(1, 2)),
    b"COPY": slice(1, 3),
    b"DEL": slice(1, None),
    b"EXISTS": slice(1, None),
    b"RENAME": slice(1, 3),
    b"TIME": slice(0, 0),
}
_SHARED = b"{emq}:"
_LOCKS = b"{emq}:busy:"


class CannotRun(ValueError):
    """A case that is not run on a user's server, for the sake of what is there. ``str`` is one sentence."""


def lock_key(queue: bytes) -> bytes:
    """The key that says that a case is being run on this queue."""
    return _LOCKS + queue


def trespass(queue: bytes, raw: Iterable[Sequence[bytes]], calls: Iterable[Call]) -> str | None:
    """Why a case would touch what is not its own, in one sentence; None when it does not.

    ``raw`` are its raw commands as they are sent, ``calls`` its transitions.
    """
    own = keys.base(queue)
    for command in raw:
        name = command[0].upper()
        if name not in DATA or (name == b"COPY" and b"DB" in [word.upper() for word in command[3:]]):
            return (
                f"{shown(b' '.join(command[:2]))} could reach beyond the queue; on a server of your own a case's raw"
                " commands are those that read and write keys, such as SET, HSET and ZADD"
            )
        for key in command[DATA[name]]:
            if key.startswith(_LOCKS):
                return f"it names {shown(key)}, by which runs keep out of each other's way; let it use another key"
            if not key.startswith((own, _SHARED)):
                return _elsewhere(key, own)
    for call in calls:
        for key in _reached(call):
            if not key.startswith(own):
                return _elsewhere(key, own)
    return None


def shared(raw: Iterable[Sequence[bytes]]) -> set[bytes]:
    """The ``{emq}:`` keys that raw commands name, but for the wire version, which is put back anyway."""
    named = {key for command in raw for key in command[DATA[command[0].upper()]] if key.startswith(_SHARED)}
    return named - {keys.VERSION_KEY}


def _reached(call: Call) -> Iterator[bytes]:
    """The keys a transition is given, and the base from which it makes others."""
    if call.verb in PLAIN:
        yield from call.keys or ()
        return
    sent_keys, args = call.wire()
    yield from sent_keys
    names = TRANSITIONS[call.verb].args
    if "base" in names and names.index("base") < len(args):
        yield args[names.index("base")]


def _elsewhere(key: bytes, own: bytes) -> str:
    return (
        f"it names {shown(key)}, which is not in its own queue; on a server of your own a case's keys begin with"
        f" {shown(own)}"
    )


def shown(raw: bytes) -> str:
    """A name as a sentence shows it, in quotes."""
    return repr(raw.decode("utf-8", "backslashreplace"))
