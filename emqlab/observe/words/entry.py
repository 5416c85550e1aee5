"""What a note is made from: one command or answer of a transition, seen with what ran before and after it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emqlab import keys
from emqlab.executor import Told
from emqlab.replies import ErrorReply
from emqlab.transitions import Values


@dataclass(frozen=True, slots=True)
class At:
    """One moment inside a transition. ``told`` ran before it, ``then`` after it; ``row`` is the row it finds.

    ``role`` says what the command's key is to the transition: ``pending``, ``row.attempts``, ``lane``, …
    ``row`` holds the fields as text, a type's name when the key is no hash, None when there is none.
    """

    verb: str
    executor: str
    queue: bytes
    values: Values
    command: tuple[bytes, ...] = ()
    reply: Any = None
    role: str = ""
    told: tuple[Told, ...] = ()
    then: tuple[Told, ...] = ()
    member: bytes | None = None
    row: Mapping[str, str] | str | None = None

    @property
    def native(self) -> bool:
        """Whether a native verb runs, which refuses where a script breaks off."""
        return self.executor == "native"

    @property
    def job(self) -> str:
        """The id this is about, shortened: ``…GLuC``."""
        return short(self.member if self.member is not None else self.value("id"))

    def value(self, name: str) -> bytes:
        """A named value of the call; empty when it has none."""
        found = self.values.get(name, b"")
        return found if isinstance(found, bytes) else b""

    def text(self, name: str) -> str:
        """A named value as text."""
        return shown(self.value(name))

    @property
    def now_ms(self) -> int | None:
        """The time the transition has asked for, ms since 1970; None before it asked."""
        for one in reversed(self.told):
            if one.command[:1] == (b"TIME",) and isinstance(one.reply, list):
                return int(one.reply[0]) * 1000 + int(one.reply[1]) // 1000
            if one.command[:1] == (b"(clock)",):
                return int(one.reply)
        return None

    def ahead(self, place: int = 2) -> str:
        """How far the command's score lies from the time that was asked for: ``30 s``; the raw text without one."""
        raw = shown(self.command[place]) if len(self.command) > place else ""
        try:
            return span(int(float(raw)) - (self.now_ms or 0)) if self.now_ms is not None else raw
        except (ValueError, OverflowError):
            return raw

    def said(self, name: bytes, *args: bytes) -> Any:
        """The reply of the latest earlier command that begins with ``name`` and ends with ``args``, else None."""
        for one in reversed(self.told):
            if one.command[:1] == (name,) and one.command[len(one.command) - len(args) :] == args:
                return one.reply
        return None

    @property
    def wrote(self) -> bool:
        """Whether a write took effect before this."""
        return any(one.phase == "write" and effective(one) for one in self.told)


Note = str | Callable[[At], str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table: the step's id, its word, and its note (for an error reply: ``on_error``)."""

    step: str
    word: str
    note: Note
    on_error: Note | None = None


#: transition, executor, phase, command, role -> entry. A repetition is numbered where steps are merged.
Key = tuple[str, str, str, str, str]
Table = dict[Key, Entry]
Row = tuple[str, str, str, Note] | tuple[str, str, str, Note, Note]


def rows(verbs: str, executor: str, lines: Iterable[Row]) -> Table:
    """Lines ``(phase command role, step, word, note)`` for each of ``verbs`` (names with a blank between)."""
    table: Table = {}
    for what, *rest in lines:
        phase, command, role = [*what.split(" ", 2), "", ""][:3]
        for verb in verbs.split():
            key = (verb, executor, phase, command, role)
            if key in table:
                raise ValueError(f"two entries for {key}")
            table[key] = Entry(*rest)  # type: ignore[arg-type]
    return table


def joined(*tables: Table) -> Table:
    """All tables as one. Raises ValueError when two of them speak of the same command."""
    out: Table = {}
    for table in tables:
        twice = out.keys() & table.keys()
        if twice:
            raise ValueError(f"two entries for {sorted(twice)}")
        out |= table
    return out


# -- what commands do to ids

#: Their reply 0 says that there was nothing to take out, or that it was in there already.
_MEMBERS = {b"ZREM", b"HDEL", b"LREM", b"DEL", b"SREM", b"SADD"}


def effective(told: Told) -> bool:
    """Whether a write changed something: an error, a removal of nothing and an empty pop did not."""
    if isinstance(told.reply, ErrorReply):
        return False
    if told.command[0] in _MEMBERS:
        return bool(told.reply != 0)
    return (told.command[0], told.reply) not in ((b"ZPOPMIN", []), (b"LMOVE", None))


def in_hand(told: Iterable[Told]) -> set[bytes]:
    """The ids that were taken out of a set and not put into another."""
    hand: set[bytes] = set()
    put: set[bytes] = set()
    for one in told:
        if one.phase != "write" or not effective(one):
            continue
        if one.command[0] == b"ZPOPMIN":
            hand.add(one.reply[0])
        elif one.command[0] == b"ZREM":
            # What was put elsewhere before is not in hand: a flow's parent is laid aside, then taken out of the line.
            hand |= {one.command[2]} - put
        elif one.command[0] == b"ZADD":
            put.add(one.command[-1])
            hand.discard(one.command[-1])
        elif one.command[0] == b"DEL":
            hand = {job for job in hand if not one.command[1].endswith(b"job:" + job)}
    return hand


def member_of(command: tuple[bytes, ...], queue: bytes, reply: Any = None) -> bytes | None:
    """The id a command is about: its row's, the one it moves, the one it pops or peeks; else None."""
    if len(command) < 2:
        return None
    name, key = command[0], command[1]
    row = keys.base(queue) + b"job:"
    if key.startswith(row) and name != b"GET":
        job = key[len(row) :]
        return next((job.removesuffix(end) for end in keys.FLOW_ENDS if job.endswith(end)), job)
    if name in (b"ZREM", b"ZADD", b"ZSCORE"):
        return command[-1]
    if name in (b"ZPOPMIN", b"ZRANGE") and isinstance(reply, list) and reply:
        first = reply[0]
        return first if isinstance(first, bytes) else None
    return None


# -- how values read


def shown(raw: bytes) -> str:
    """Bytes as text; ``hex:…`` when they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "hex:" + raw.hex()


def short(job_id: bytes) -> str:
    """An id as a sentence names it: ``…`` and its last four characters."""
    text = shown(job_id)
    return text if len(text) <= 4 else f"…{text[-4:]}"


def quoted(raw: Any) -> str:
    """A stored text in a sentence, cut to fourteen characters; an empty one, or one with blanks, in quotes."""
    text = shown(raw) if isinstance(raw, bytes) else str(raw)
    text = text if len(text) <= 14 else f"{text[:14]}…"
    return text if text and not any(char.isspace() for char in text) else f'"{text}"'


def span(ms: int) -> str:
    """A time span: ``30 s``, ``1.5 s``, ``250 ms``."""
    if abs(ms) < 1000:
        return f"{ms} ms"
    return f"{ms // 1000} s" if ms % 1000 == 0 else f"{ms / 1000:.10g} s"


def listed(ids: Iterable[bytes]) -> str:
    """Ids in a sentence: ``…EJfs, …GLuC and 3 more``."""
    names = [short(one) for one in ids]
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and {names[2]}"


def sentences(note: str) -> Iterator[str]:
    """The sentences of a note, for those who count their words."""
    for part in note.replace("? ", ". ").replace("! ", ". ").split(". "):
        if part.strip(". "):
            yield part.strip()
