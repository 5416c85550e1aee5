"""A row and the sets that hold its id, as one look found them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from emqlab import keys
from emqlab.audit.layout import SETS, lane
from emqlab.audit.reading import Command, Reader, pieces
from emqlab.parity.model import Held
from emqlab.replies import ErrorReply

#: The fields that are read; the payload, which no verb reads, may be large.
FIELDS = (b"state", b"attempts", b"failures", b"stalled", b"lease_epoch", b"group", b"parent", b"parent_policy")
#: How many rows one pipeline of the first look asks about: three commands each.
_ROWS = 160


#: A job by its score, and whether it is a flow's child.
Timed = tuple[float, bytes, bool]


@dataclass(frozen=True, slots=True)
class Lane:
    """A group at one moment: how many ``jobs`` wait, its glimit, its gactive, how often the ring has it."""

    jobs: int = 0
    limit: bytes | None = None
    busy: bytes | None = None
    paused: bool = False
    rung: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """Whose eyes a queue is seen with: its name, the server's time in ms, the epoch in force.

    What a verb meets besides the job itself: ``around`` by full key name, ``lanes`` by group, ``kin`` by parent (its
    keys, its places in the sets); ``paused``: claims are. ``expired`` and ``due`` are the jobs of no lane that a sweep
    and a promotion would move, in their order; ``waiting`` and ``working`` whether pending and active hold anything.
    """

    queue: bytes
    now_ms: int
    run_id: bytes
    around: Mapping[bytes, Held] = field(default_factory=dict)
    lanes: Mapping[bytes, Lane] = field(default_factory=dict)
    kin: Mapping[bytes, Mapping[bytes, Held]] = field(default_factory=dict)
    paused: bool = False
    expired: Sequence[Timed] = ()
    due: Sequence[Timed] = ()
    waiting: bool = True
    working: bool = True

    @property
    def base(self) -> bytes:
        """The prefix of the queue's keys."""
        return keys.base(self.queue)

    def row(self, job: bytes) -> bytes:
        """The key of a job's row."""
        return keys.row(self.queue, job)


@dataclass(frozen=True, slots=True)
class Row:
    """One id: the ``type`` of its row (``none`` for a ghost), its fields, PTTL, and the sets that hold it with scores.

    ``first``: it stands at the head of pending; ``bare``: the row is known to hold one field alone.
    """

    id: bytes
    type: bytes
    fields: Mapping[bytes, bytes]
    ttl_ms: int
    sets: Mapping[bytes, float]
    first: bool
    bare: bool = False

    def get(self, field: bytes) -> bytes | None:
        """A field's value, None when it is absent."""
        return self.fields.get(field)


def first_look(
    reader: Reader, view: View, held: Mapping[bytes, Mapping[bytes, float]], head: bytes | None
) -> Iterator[Row]:
    """Every id of ``held`` (id -> the sets it was seen in) with its row; ``head`` is the one seen first in pending.

    The row is read later than the sets, so what it shows of a live queue is a suspicion.
    """
    for ids in pieces(held, _ROWS):
        replies = reader.ask_all(command for job in ids for command in _of_row(view.row(job)))
        for place, job in enumerate(ids):
            yield _row(job, replies[3 * place : 3 * place + 3], held[job], first=job == head)


def second_look(reader: Reader, view: View, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows as they are now, each with its sets in one transaction."""
    for piece in pieces(rows, 50):
        asked = [_sets_of(row) for row in piece]
        blocks = [
            [
                *_of_row(view.row(row.id)),
                ("ZRANK", view.base + b"pending", row.id),
                ("HLEN", view.row(row.id)),
                *(("ZSCORE", view.base + name, row.id) for name in names),
            ]
            for row, names in zip(piece, asked, strict=True)
        ]
        for row, names, replies in zip(piece, asked, reader.at_once(blocks), strict=True):
            scores = {
                name: float(score) for name, score in zip(names, replies[5:], strict=True) if isinstance(score, bytes)
            }
            yield replace(_row(row.id, replies[:3], scores, first=replies[3] == 0), bare=replies[4] == 1)


def _sets_of(row: Row) -> tuple[bytes, ...]:
    group = row.get(b"group")
    own = () if group is None else (lane(group),)
    return tuple(dict.fromkeys((*SETS, *own, *row.sets)))


def _of_row(key: bytes) -> tuple[Command, Command, Command]:
    return ("TYPE", key), ("HMGET", key, *FIELDS), ("PTTL", key)


def _row(job: bytes, replies: list[Any], sets: Mapping[bytes, float], *, first: bool) -> Row:
    kind, values, ttl_ms = replies
    told = [] if isinstance(values, ErrorReply) else values
    fields = {name: value for name, value in zip(FIELDS, told, strict=False) if value is not None}
    return Row(job, kind, fields, ttl_ms, sets, first)
