"""Finds a command's line in the table: by what its key is to the transition that sent it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emqlab import keys
from emqlab.executor import Told
from emqlab.observe.words.arrive import ARRIVE
from emqlab.observe.words.entry import At, Entry, Table, joined, shown
from emqlab.observe.words.flows import FLOWS
from emqlab.observe.words.holder import HOLDERS
from emqlab.observe.words.lanes import LANES
from emqlab.observe.words.recover import RECOVER
from emqlab.observe.words.trouble import broken_off
from emqlab.replies import ErrorReply

TABLE: Table = joined(ARRIVE, HOLDERS, RECOVER, LANES, FLOWS)

_FIELDED = {b"HGET", b"HMGET", b"HSET", b"HDEL", b"HINCRBY"}
#: Hashes whose fields are groups or jobs.
_BY_NAME = {"gactive", "glimit", "processed", "failed", "unsuccessful"}


@dataclass(frozen=True, slots=True)
class Sent:
    """What a call sent: its keys by their names, its base where it has one, a flow's child its parent's id.

    ``odd``: whether the case replaced keys or arguments.
    """

    keys: tuple[tuple[str, bytes], ...] = ()
    base: bytes | None = None
    odd: bool = False
    parent: bytes | None = None


def entry_of(verb: str, executor: str, told: Told, queue: bytes, sent: Sent) -> tuple[Entry, str]:
    """The table's entry for one command, and the role its key has.

    Where the case replaced keys or arguments, a key that is nobody's is known by what is asked of it. Raises
    LookupError, which names the command.
    """
    name = shown(told.command[0]) if told.command else ""
    where = (verb, executor, told.phase)
    roles = list(_roles(told.command, queue, sent))
    for role in roles:
        found = TABLE.get((*where, name, role))
        if found:
            return found, role
    if sent.odd:
        same = [key for key in TABLE if key[:4] == (*where, name)]
        field = _field(told.command)
        for key in [key for key in same if key[4].endswith(f".{field}")] or same:
            return TABLE[key], key[4]
    raise LookupError(f"no words for {told.phase} {name} {roles[0]} in {verb} on the {executor} executor")


def note_of(entry: Entry, at: At) -> str:
    """The entry's note for this moment: one plain sentence or two."""
    note = entry.note
    if isinstance(at.reply, ErrorReply):
        note = entry.on_error or broken_off
    return note if isinstance(note, str) else note(at)


def stranger(told: Told) -> Entry:
    """The entry of a command that only a changed file sends."""
    name = shown(told.command[0]) if told.command else told.phase
    word = "ask something else" if told.phase == "read" else "do something else"
    return Entry(f"{told.phase} {name}", word, f"The lab's own file sends no such {name} here.")


def _roles(command: Sequence[bytes], queue: bytes, sent: Sent) -> Iterator[str]:
    """What a command's key may be to its transition, the likeliest first; empty for a command without a key."""
    if len(command) < 2 or command[0] in (b"TIME", b"(clock)"):
        yield ""
        return
    key, field = command[1], _field(command)
    given = [role for role, one in sent.keys if one == key]
    names = [name for base in (keys.base(queue), sent.base) if base is not None for name in _named(key, base)]
    if sent.parent is not None:
        # The parent's own row, and the sets it is put into: what is done to the child has other words.
        if command[0] in (b"ZADD", b"ZREM") and command[-1] == sent.parent:
            names[:0] = [f"{name} parent" for name in names]
        if "parent" in given and "row" not in given:
            names.insert(0, "parent")
    for name in [*names, *given]:
        yield f"{name}.{field}" if field and name not in _BY_NAME else name
    yield shown(key)


def _named(key: bytes, base: bytes) -> Iterator[str]:
    if key == keys.VERSION_KEY:
        yield "version"
    if key == keys.VERSION_KEY or not key.startswith(base):
        return
    name = key[len(base) :]
    if name.startswith(b"job:"):
        yield from (end[1:].decode() for end in keys.FLOW_ENDS if name.endswith(end))
        yield "row"
    elif name.startswith(b"g:") and name.endswith(b":pending"):
        yield "lane"
    elif name:
        yield shown(name)


def _field(command: Sequence[bytes]) -> str:
    if len(command) > 2 and command[0] in _FIELDED:
        return shown(command[2])
    return ""
