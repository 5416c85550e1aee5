"""What a transition's test stands on: old rows put in with raw commands, one call, the state read back."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from emqlab.executor import Executor, Told
from emqlab.lab import Lab
from emqlab.observe.snapshot import Key, Snapshot, snapshot_of
from emqlab.parity.compare import plain_error
from emqlab.replies import ErrorReply
from emqlab.transitions import Call

QUEUE = "q"
A, B, C, D = (b"JOB0NgWEfAEJf" + end for end in (b"a", b"b", b"c", b"d"))
FOREIGN = "0" * 40

WRONGTYPE = ErrorReply("WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_INTEGER = ErrorReply("ERR hash value is not an integer")
OVERFLOW = ErrorReply("ERR increment or decrement would overflow")
#: A script's own runtime error: its text is the server's business.
SCRIPT_ERROR = ErrorReply("ERR")

I64_MAX = 2**63 - 1
#: Stored counters that HINCRBY refuses, with the words it uses.
BAD_COUNTERS = [
    *((text, NOT_INTEGER) for text in ("", "01", "+1", " 1", "1 ", "1.0", "-0", "1e3", "0x1", str(2**63), "one")),
    (str(I64_MAX), OVERFLOW),
]
#: Stored counters that HINCRBY takes, with the number it answers.
GOOD_COUNTERS = [("0", 1), ("7", 8), ("-1", 0), ("-5", -4), ("41", 42)]
#: Tokens that are not the bytes ``2``.
STALE_TOKENS = ["1", "3", "02", "2 ", " 2", "+2", "2.0", "", "2\x00", "-2"]

#: A hash as a dict, a zset as a dict of scores, a list as a list, a set as a set, a string as text.
Held = Mapping[str, str] | Mapping[str, float] | list[str] | set[str] | str


class Bench:
    """One queue of one lab, and the executor under test."""

    def __init__(self, lab: Lab, executor: Executor) -> None:
        self.lab = lab
        self.executor = executor

    @property
    def native(self) -> bool:
        """Whether the native executor is under test."""
        return self.executor.name == "native"

    @property
    def now(self) -> int:
        """The server's time, ms."""
        return self.lab.now_ms()

    @property
    def stamp(self) -> dict[str, str]:
        """The field a lease written now leaves on its row: none from a script."""
        return {"lease_epoch": self.lab.run_id} if self.native else {}

    # -- old state

    def put(self, *command: bytes | str | int) -> Any:
        """Run one raw command; ``{p}`` in a text is the base."""
        sent = [part.replace("{p}", "emq:{q}:") if isinstance(part, str) else part for part in command]
        return self.lab.client.execute_command(*sent)

    def row(self, job: bytes, **fields: str | bytes | int) -> None:
        """Write a row."""
        self.put("HSET", b"emq:{q}:job:" + job, *(part for pair in fields.items() for part in pair))

    def member(self, name: str, job: bytes, score: int = 0) -> None:
        """Put an id into a set."""
        self.put("ZADD", "{p}" + name, score, job)

    def waiting(self, job: bytes, **fields: str | bytes | int) -> None:
        """A job in ``pending``."""
        self.row(job, **{"state": "pending", "attempts": "0", "payload": "p", **fields})
        self.member("pending", job)

    def leased(self, job: bytes, **fields: str | bytes | int) -> None:
        """A job in ``active`` with token 2, whose lease ends 9 s from now; no stamp unless given."""
        self.row(job, **{"state": "active", "attempts": "2", "payload": "p", **fields})
        self.ends(job, 9_000)

    def ends(self, job: bytes, ms: int) -> None:
        """Move a job's deadline to ``ms`` from now."""
        self.member("active", job, self.now + ms)

    def stalled(self, job: bytes, *, ends: int = 0, **fields: str | bytes | int) -> None:
        """A job whose lease, written by this process, ended ``ends`` ms from now."""
        self.leased(job, **{"lease_epoch": self.lab.run_id, **fields})
        self.ends(job, ends)

    def due(self, job: bytes, *, at: int = 0, **fields: str | bytes | int) -> None:
        """A job in ``schedule``, due ``at`` ms from now."""
        self.row(job, **{"state": "scheduled", "attempts": "1", "payload": "p", **fields})
        self.member("schedule", job, self.now + at)

    def buried(self, job: bytes, **fields: str | bytes | int) -> None:
        """A job in ``dead``."""
        self.row(job, **{"state": "dead", "attempts": "2", "payload": "p", "last_error": "boom", **fields})
        self.member("dead", job)

    def spoil(self, name: str) -> None:
        """Make a key of the queue a string, which no transition can use."""
        self.put("SET", "{p}" + name, "spoiled")

    # -- one call

    def call(self, verb: str, **values: Any) -> Call:
        """A transition with its values as they are."""
        extra = {name: values.pop(name) for name in ("keys", "args") if name in values}
        return Call(verb, QUEUE.encode(), {name: _wire(value) for name, value in values.items()}, **extra)

    def ask(self, verb: str, **values: Any) -> Any:
        """Perform one transition; an error as its code word and detail."""
        reply = self.executor.perform(self.call(verb, **values))
        return ErrorReply(plain_error(reply.text)) if isinstance(reply, ErrorReply) else reply

    def commands(self, verb: str, **values: Any) -> list[str]:
        """What a verb asked the server, short: ``HGET job:… group`` without the base and without the write pass."""
        told: Sequence[Told] = self.executor.trace(self.call(verb, **values)).told
        return [_short(entry.command) for entry in told if entry.phase == "read"]

    # -- the state

    def snapshot(self) -> Snapshot:
        """Every key of the queue, byte for byte."""
        return snapshot_of(self.lab.server, QUEUE.encode())

    def state(self) -> dict[str, Held]:
        """Every key of the queue, by its short name, readable."""
        return readable(self.snapshot())

    def read_row(self, job: bytes) -> dict[str, str]:
        """A row's fields."""
        held = self.state().get(f"job:{job.decode()}", {})
        assert isinstance(held, Mapping)
        return {field: str(value) for field, value in held.items()}

    @contextmanager
    def nothing_written(self) -> Iterator[None]:
        """Hold the queue, byte for byte, to what it was."""
        before = self.snapshot()
        yield
        assert before == self.snapshot()


def readable(snapshot: Snapshot) -> dict[str, Held]:
    """A snapshot by short names, readable."""
    return {_name(name): _held(key) for name, key in snapshot.items()}


def job_key(job: bytes) -> str:
    """The short name of a row."""
    return f"job:{job.decode()}"


def ids(*jobs: bytes) -> dict[str, float]:
    """A zset of ids at score 0, as ``state`` shows it."""
    return {job.decode(): 0 for job in jobs}


def _wire(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("latin-1")
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, (list, tuple)):
        return [tuple(_wire(part) for part in pair) for pair in value]
    return value


def _short(command: tuple[bytes, ...]) -> str:
    return b" ".join(command).decode("latin-1").replace("emq:{q}:", "")


def _name(name: bytes) -> str:
    return name.decode("latin-1").removeprefix("emq:{q}:")


def _score(text: bytes) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


def _held(key: Key) -> Held:
    if isinstance(key.value, bytes):
        return key.value.decode("latin-1")
    if key.type == "hash":
        return {field.decode("latin-1"): value.decode("latin-1") for field, value in key.pairs().items()}
    if key.type == "zset":
        return {member.decode("latin-1"): _score(score) for member, score in key.pairs().items()}
    members = [item.decode("latin-1") for item in key.value if isinstance(item, bytes)]
    return set(members) if key.type == "set" else members
