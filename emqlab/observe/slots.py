"""Which slots a command touches: ``pending``, ``row.attempts``, ``metrics:failed.count``, … (FRAMES.md, "Frame")."""

from collections.abc import Sequence

from emqlab import keys
from emqlab.executor import Told
from emqlab.observe.words import effective, shown
from emqlab.replies import ErrorReply

#: What was read and what was written, in the order of the command.
Touched = tuple[list[str], list[str]]

_BOTH = {b"HINCRBY", b"ZPOPMIN", b"DECR", b"LMOVE"}


def touched(told: Told, queue: bytes, subject: bytes) -> Touched:
    """The slots read and written. The subject's row is ``row``, another's ``job:<id>``.

    HINCRBY, DECR, ZPOPMIN and LMOVE read and write; a write that failed writes nothing, but such a one has read. A
    removal of what is not there (ZREM, HDEL, SREM answering 0, an empty pop) and SADD of what is there wrote nothing
    either: it has only looked.
    """
    command = told.command
    if len(command) < 2:
        return [], []
    slots = _slots(command, queue, subject)
    if told.phase != "write":
        return slots, []
    if effective(told):
        return (slots if command[0] in _BOTH else []), slots
    if isinstance(told.reply, ErrorReply) and command[0] not in _BOTH:
        return [], []
    return slots, []


def slot_of(key: bytes, queue: bytes, subject: bytes, field: bytes | None = None) -> str:
    """A key, or one field of it, as a slot."""
    base = keys.base(queue)
    name = shown(key[len(base) :] if key.startswith(base) else key)
    if key == base + b"job:" + subject:
        name = "row"
    return name if field is None else f"{name}.{shown(field)}"


def _slots(command: Sequence[bytes], queue: bytes, subject: bytes) -> list[str]:
    name, key = command[0], command[1]
    if name in (b"HGET", b"HINCRBY"):
        return [slot_of(key, queue, subject, command[2])]
    if name in (b"HDEL", b"HMGET"):
        return [slot_of(key, queue, subject, field) for field in command[2:]]
    if name == b"HSET":
        return [slot_of(key, queue, subject, field) for field in command[2::2]]
    if name == b"LMOVE":
        return list(dict.fromkeys(slot_of(one, queue, subject) for one in command[1:3]))
    return [slot_of(key, queue, subject)]
