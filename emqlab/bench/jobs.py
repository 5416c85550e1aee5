"""The jobs of one round: what puts them there, what is called on them, what shows that it was done."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from emqlab import ids, keys
from emqlab.transitions import Call, Values

#: One command as it is sent.
Command = tuple[bytes, ...]

PAYLOAD = b"x" * 64
_SETS = ("pending", "active", "schedule", "dead")
#: Times that no clock meets: long past, and the year 2500.
PAST, FUTURE = b"1000", b"16725225600000"


@dataclass(frozen=True, slots=True)
class Work:
    """One round of one row: the same calls in the same state, whichever executor runs them.

    ``given`` is sent first and not measured. Each of ``replies`` is what the call at its place must answer. ``after``
    are commands with the replies that show that the work was done. ``clear`` removes all of it.
    """

    given: tuple[Command, ...]
    calls: tuple[Call, ...]
    replies: tuple[Any, ...]
    after: tuple[tuple[Command, Any], ...]
    clear: Command


class Jobs:
    """The jobs of one round in a queue of the bench's own: their ids, and commands about all of them."""

    def __init__(self, queue: bytes, run_id: bytes, count: int) -> None:
        self.queue = queue
        self.run_id = run_id
        # Half of the sequence numbers of one millisecond after another: ids as a busy queue mints them.
        self.ids = [ids.KIND + ids.encode(((20_000_000_000 + n // 2048) << 22) | n % 2048) for n in range(count)]

    def __len__(self) -> int:
        return len(self.ids)

    def key(self, name: str) -> bytes:
        """The key of that name in the queue."""
        return keys.base(self.queue) + name.encode()

    def row(self, job_id: bytes) -> bytes:
        """The key of a job's row."""
        return keys.row(self.queue, job_id)

    def given(self, where: str, *, score: bytes = b"0", attempts: bytes = b"1", **fields: bytes) -> tuple[Command, ...]:
        """Every job in the set ``where``, with a row that says so."""
        state = {"active": b"active", "schedule": b"scheduled"}.get(where, where.encode())
        row = {"state": state, "attempts": attempts, "payload": PAYLOAD, **fields}
        flat = [part for name, value in row.items() for part in (name.encode(), value)]
        members = [part for job_id in self.ids for part in (score, job_id)]
        return (
            *((b"HSET", self.row(job_id), *flat) for job_id in self.ids),
            (b"ZADD", self.key(where), *members),
        )

    def leased(self, *, score: bytes = FUTURE) -> tuple[Command, ...]:
        """Every job claimed once, by a worker of this run of the server."""
        return self.given("active", score=score, lease_epoch=self.run_id)

    def calls(self, verb: str, values: Values, *, count: int | None = None) -> tuple[Call, ...]:
        """One call a job with its ``id`` added to ``values``, or ``count`` calls that name no job."""
        if count is not None:
            return tuple(Call(verb, self.queue, values) for _ in range(count))
        return tuple(Call(verb, self.queue, {"id": job_id, **values}) for job_id in self.ids)

    def all_in(self, where: str | None, **fields: bytes | None) -> Iterator[tuple[Command, Any]]:
        """Every job is in ``where`` and in no other set, with its row; nowhere and without one for None.

        ``fields`` are those of the last row.
        """
        for name in _SETS:
            yield (b"ZCARD", self.key(name)), len(self) if name == where else 0
        yield (b"EXISTS", *map(self.row, self.ids)), 0 if where is None else len(self)
        for field, value in fields.items():
            yield (b"HGET", self.row(self.ids[-1]), field.encode()), value

    def clear(self) -> Command:
        """One command that removes every key of theirs."""
        names = (*_SETS, "meta", "metrics:completed", "metrics:failed")
        return (b"DEL", *map(self.key, names), *map(self.row, self.ids))

    def work(
        self,
        given: tuple[Command, ...],
        calls: tuple[Call, ...],
        replies: Sequence[Any],
        *after: Iterator[tuple[Command, Any]],
    ) -> Work:
        """A Work out of its parts; one reply stands for all calls."""
        every = tuple(replies) * (len(calls) if len(replies) == 1 else 1)
        return Work(given, calls, every, tuple(check for checks in after for check in checks), self.clear())
