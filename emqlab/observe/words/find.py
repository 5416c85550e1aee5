"""Finds a command's line in the table: by what its key is to the transition that sent it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emqlab import keys
from emqlab.executor import Told
from emqlab.observe.words.arrive import ARRIVE
from emqlab.observe.words.common import LANES
from emqlab.observe.words.entry import At, Entry, Table, joined, shown
from emqlab.observe.words.holder import HOLDERS
from emqlab.observe.words.recover import RECOVER
from emqlab.observe.words.trouble import broken_off
from emqlab.replies import ErrorReply
from emqlab.transitions import TRANSITIONS

TABLE: Table = joined(ARRIVE, HOLDERS, RECOVER, LANES)

_FIELDED = {b"HGET", b"HSET", b"HDEL", b"HINCRBY"}
_LANE_HASHES = {"gactive", "glimit"}


@dataclass(frozen=True, slots=True)
class Sent:
    """What a call sent: its keys, its base where it has one, and whether the case replaced keys or arguments."""

    keys: tuple[bytes, ...] = ()
    base: bytes | None = None
    odd: bool = False


def entry_of(verb: str, executor: str, told: Told, queue: bytes, sent: Sent) -> tuple[Entry, str]:
    """The table's entry for one command, and the role its key has.

    Where the case replaced keys or arguments, a key that is nobody's is known by what is asked of it. Raises
    LookupError, which names the command.
    """
    name = shown(told.command[0]) if told.command else ""
    where = (verb, executor, told.phase)
    roles = list(_roles(verb, told.command, queue, sent))
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


def _roles(verb: str, command: Sequence[bytes], queue: bytes, sent: Sent) -> Iterator[str]:
    """What a command's key may be to its transition, the likeliest first; empty for a command without a key."""
    if len(command) < 2 or command[0] in (b"TIME", b"(clock)"):
        yield ""
        return
    key, field = command[1], _field(command)
    for base in (keys.base(queue), sent.base):
        name = _named(key, base) if base is not None else ""
        if name:
            yield f"{name}.{field}" if field and name not in _LANE_HASHES else name
    transition = TRANSITIONS.get(verb)
    for role, given in zip(transition.keys if transition else (), sent.keys, strict=False):
        if given == key:
            yield f"{role}.{field}" if field else role
    yield shown(key)


def _named(key: bytes, base: bytes) -> str:
    if key == keys.VERSION_KEY:
        return "version"
    if not key.startswith(base):
        return ""
    name = key[len(base) :]
    if name.startswith(b"job:"):
        return "row"
    if name.startswith(b"g:") and name.endswith(b":pending"):
        return "lane"
    return shown(name)


def _field(command: Sequence[bytes]) -> str:
    if len(command) > 2 and command[0] in _FIELDED:
        return shown(command[2])
    return ""
