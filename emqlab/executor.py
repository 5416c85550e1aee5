"""What both executors are: the same methods with the same outcomes, written once (SPEC 11)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import redis

from emqlab import errors, ids, keys
from emqlab.outcomes import Claimed, Dead, Scheduled, Swept
from emqlab.replies import ERROR_REPLIES, ErrorReply, NotSent, ask_all, error_reply, settled
from emqlab.transitions import PLAIN, Call, Values

I64_MAX = 2**63 - 1

#: What a token may be given as: the number, or its text.
Token = int | bytes


@dataclass(frozen=True, slots=True)
class Told:
    """One command an executor ran inside a transition.

    ``phase`` is read, guard, write, or host (a read in its own round trip); ``line`` is the line of the file that ran.
    """

    phase: str
    command: tuple[bytes, ...]
    reply: Any
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Traced:
    """One transition, told: the call as it was sent, every command inside, the reply."""

    sent: tuple[bytes, ...]
    told: tuple[Told, ...] = field(default=())
    reply: Any = None


class Executor(ABC):
    """One way to run every transition against a server's client."""

    name: str

    def __init__(self, client: redis.Redis, mint: Callable[[], bytes]) -> None:
        self._client = client
        self._mint = mint

    # -- a call as it is: nothing checked, the reply as a value

    def perform(self, call: Call) -> Any:
        """Send one transition and answer its reply; an error reply is an ErrorReply, no such verb a NotSent.

        Raises ServerLost when the connection breaks.
        """
        if call.verb in PLAIN:
            return self._send(*call.plain())
        return self._perform(call)

    def trace(self, call: Call) -> Traced:
        """Perform one transition and tell every command the server ran inside it, with the same effects."""
        if call.verb in PLAIN:
            command = tuple(call.plain())
            reply = self._send(*command)
            return Traced(command, (Told("write", command, reply),), reply)
        return self._trace(call)

    def perform_each(self, calls: Sequence[Call]) -> list[Any]:
        """Perform many transitions, each on a queue of its own, in few round trips; the replies in their order.

        They don't see each other, so nothing is lost by sending them together. Raises ServerLost.
        """
        return [self.perform(call) for call in calls]

    @abstractmethod
    def _perform(self, call: Call) -> Any: ...

    @abstractmethod
    def _trace(self, call: Call) -> Traced: ...

    def _send(self, *command: bytes | int) -> Any:
        try:
            return settled(self._client.execute_command(*command))
        except ERROR_REPLIES as error:
            return error_reply(error)
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error

    def _send_all(self, commands: Sequence[Sequence[bytes | int]]) -> list[Any]:
        """Many commands in one round trip, each reply settled."""
        try:
            return [settled(reply) for reply in ask_all(self._client, commands)]
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error

    # -- the methods: types and ranges first, then one call, then its outcome

    def enqueue(self, queue: str, payload: bytes | str, *, id: str | bytes | None = None) -> bytes:
        """Add a job, last in line. Answers its id, minted unless ``id`` is given.

        Raises Duplicate, WrongKind.
        """
        job_id = self._mint() if id is None else ids.check(id)
        values = {"id": job_id, "payload": _payload(payload)}
        if self._ask("enqueue", queue, values) == 0:
            raise errors.Duplicate(job_id)
        return job_id

    def schedule(
        self,
        queue: str,
        payload: bytes | str,
        *,
        in_ms: int | None = None,
        at_ms: int | None = None,
        id: str | bytes | None = None,
    ) -> bytes:
        """Add a job that is due ``in_ms`` from now or ``at_ms`` (server time since 1970). Answers its id.

        Raises Duplicate, WrongKind.
        """
        mode, value = _due(in_ms, at_ms)
        job_id = self._mint() if id is None else ids.check(id)
        values = {"id": job_id, "payload": _payload(payload), "mode": mode, "value": value}
        if self._ask("schedule", queue, values) == 0:
            raise errors.Duplicate(job_id)
        return job_id

    def claim(self, queue: str, *, lease_ms: int = 30_000) -> Claimed | None:
        """Lease the head of the line for ``lease_ms``; None when there is nothing to lease or the queue is paused."""
        reply = self._ask("claim", queue, {"lease_ms": number("lease_ms", lease_ms, 1)})
        return Claimed(reply[0], reply[1], reply[2]) if reply else None

    def complete(self, queue: str, id: str | bytes, token: Token) -> None:
        """Retire a job; its row is deleted and counted. Raises JobGone, StaleToken, NotActive."""
        job = {"id": ids.check(id), "token": _token(token)}
        if self._ask("complete", queue, job) == 0:
            raise errors.JobGone("complete", job["id"])

    def fail(
        self,
        queue: str,
        id: str | bytes,
        token: Token,
        *,
        error: bytes | str,
        delay_ms: int = 0,
        max_attempts: int = 3,
    ) -> Scheduled | Dead:
        """Report a failure: try again ``delay_ms`` from now, or a dead letter when the budget is spent.

        Raises JobGone (native), StaleToken, NotActive.
        """
        values = {
            "id": ids.check(id),
            "token": _token(token),
            "delay_ms": number("delay_ms", delay_ms, 0),
            "max_attempts": number("max_attempts", max_attempts, 1),
            "error": _text("error", error),
        }
        return Dead() if self._ask("fail", queue, values) == b"dead" else Scheduled()

    def delay(
        self, queue: str, id: str | bytes, token: Token, *, in_ms: int | None = None, at_ms: int | None = None
    ) -> None:
        """Give a job back, due ``in_ms`` from now or ``at_ms``. Raises JobGone, StaleToken, NotActive."""
        mode, value = _due(in_ms, at_ms)
        self._ask("delay", queue, {"id": ids.check(id), "token": _token(token), "mode": mode, "value": value})

    def requeue(self, queue: str, id: str | bytes, token: Token) -> None:
        """Give a job back at no cost. Raises JobGone, StaleToken, NotActive; Unsupported on the scripts."""
        self._ask("requeue", queue, {"id": ids.check(id), "token": _token(token)})

    def extend(self, queue: str, id: str | bytes, token: Token, *, lease_ms: int) -> None:
        """Move a lease's deadline to ``lease_ms`` from now. Raises JobGone, StaleToken, NotActive."""
        job = {"id": ids.check(id), "token": _token(token)}
        if self._ask("extend", queue, {**job, "lease_ms": number("lease_ms", lease_ms, 1)}) == -1:
            raise errors.JobGone("extend", job["id"])

    def extends(self, queue: str, pairs: Iterable[tuple[str | bytes, Token]], *, lease_ms: int) -> tuple[bytes, ...]:
        """Extend many leases; answers the ids that were not extended, in the order given."""
        checked = _pairs(pairs)
        values: Values = {"lease_ms": number("lease_ms", lease_ms, 1), "pairs": checked}
        return tuple(self._ask("extends", queue, values))

    def promote(self, queue: str, *, batch: int = 100) -> int:
        """Move at most ``batch`` due jobs back in line; answers how many."""
        return int(self._ask("promote", queue, {"batch": number("batch", batch, 1)}))

    def stalled_check(self, queue: str, *, max_stalled: int = 1, limit: int = 100) -> Swept:
        """Recover at most ``limit`` expired leases; a job that stalled ``max_stalled`` times is a dead letter."""
        values = {
            "max_stalled": number("max_stalled", max_stalled, 1),
            "limit": number("limit", limit, 1),
        }
        recovered, dead = self._ask("stalled_check", queue, values)
        return Swept(tuple(recovered), tuple(dead))

    def reap(self, queue: str) -> int:
        """Put at most 100 expired leases back in line, uncounted; answers how many. Unsupported natively."""
        return int(self._ask("reap", queue, {}))

    def reprocess(self, queue: str, id: str | bytes) -> None:
        """Put a dead letter back in line. Raises JobGone, NotDead."""
        job_id = ids.check(id)
        if self._ask("reprocess", queue, {"id": job_id}) == -1:
            raise errors.JobGone("reprocess", job_id)

    def pause(self, queue: str) -> None:
        """Stop claims on ``queue`` until it is resumed."""
        self._ask("pause", queue, {})

    def resume(self, queue: str) -> None:
        """Let claims on ``queue`` go on."""
        self._ask("resume", queue, {})

    def _ask(self, verb: str, queue: str, values: Values) -> Any:
        reply = self.perform(Call(verb, keys.check_queue(queue), values))
        if isinstance(reply, NotSent):
            raise errors.Unsupported(verb, self.name)
        if isinstance(reply, ErrorReply):
            self._refuse(reply, verb, values)
        return reply

    def _refuse(self, reply: ErrorReply, verb: str, values: Values) -> NoReturn:
        """Raise what an error reply means to the caller (SPEC 4.2, 11)."""
        text, job_id, presented = reply.text, values.get("id"), values.get("token")
        if isinstance(job_id, bytes):
            if text.startswith("EMQSTALE job gone") and not self._gone_is_stale(verb):
                raise errors.JobGone(verb, job_id)
            if text.startswith("EMQSTALE") and isinstance(presented, bytes):
                raise errors.StaleToken(verb, job_id, presented)
            about_job: dict[str, Callable[[], errors.EmqError]] = {
                "EMQSTATE not active": lambda: errors.NotActive(verb, job_id),
                "EMQSTATE not dead": lambda: errors.NotDead(verb, job_id),
                "EMQFLOW": lambda: errors.FlowRow(verb, job_id),
                "EMQKIND": lambda: errors.WrongKind(job_id),
            }
            for beginning, make in about_job.items():
                if text.startswith(beginning):
                    raise make()
        if reply.code == "EMQLANE":
            raise errors.LaneRow(verb, job_id if isinstance(job_id, bytes) else None)
        if reply.code == "EMQARGS":
            name, _, why = text.removeprefix("EMQARGS ").partition(" ")
            raise errors.BadArgument(name, why)
        if reply.code == "EMQFENCE":
            # The reply's text is made for one line: the value itself is asked for.
            got = self._send(b"GET", keys.VERSION_KEY)
            raise errors.WrongVersion(got if isinstance(got, bytes) else text.split(" ", 3)[-1].encode())
        if reply.code == "NOPERM":
            raise errors.Forbidden(text)
        raise errors.ServerRefused(reply.code, text)

    def _gone_is_stale(self, verb: str) -> bool:
        """Whether ``job gone`` reads as a stale token here: so it does for the scripted retry."""
        return False


def number(name: str, value: int, least: int) -> bytes:
    """A count or a time in ms as it is sent, from ``least`` to 2^63-1. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not least <= value <= I64_MAX:
        raise ValueError(f"{name} must be from {least} to {I64_MAX}, not {value}")
    return b"%d" % value


def _token(token: Token) -> bytes:
    if isinstance(token, bool) or not isinstance(token, (int, bytes)):
        raise TypeError(f"token must be an int or the bytes of one, not {type(token).__name__}")
    if isinstance(token, int) and not -I64_MAX - 1 <= token <= I64_MAX:
        raise ValueError("token must be a 64-bit integer, as attempts is")
    return token if isinstance(token, bytes) else b"%d" % token


def _text(name: str, value: bytes | str) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{name} must be text that UTF-8 can write, or bytes") from None
    if not isinstance(value, bytes):
        raise TypeError(f"{name} must be bytes or str, not {type(value).__name__}")
    return value


def _pairs(pairs: Any) -> list[tuple[bytes, bytes]]:
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
        raise TypeError("pairs must be a sequence of (id, token)")
    checked = []
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError("pairs must be a sequence of (id, token)")
        checked.append((ids.check(pair[0]), _token(pair[1])))
    if not checked:
        raise ValueError("pairs must hold at least one (id, token)")
    return checked


def _payload(payload: bytes | str) -> bytes:
    return _text("payload", payload)


def _due(in_ms: int | None, at_ms: int | None) -> tuple[bytes, bytes]:
    if (in_ms is None) == (at_ms is None):
        raise TypeError("give either in_ms or at_ms")
    if in_ms is not None:
        return b"in", number("in_ms", in_ms, 0)
    assert at_ms is not None
    return b"at", number("at_ms", at_ms, 0)


__all__ = ["Executor", "Token", "Told", "Traced"]
