"""What both executors are: the same methods with the same outcomes, written once (SPEC 11)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import redis

from emqlab import arguments, errors, ids, keys
from emqlab.arguments import Token
from emqlab.outcomes import Claimed, Dead, Flow, LaneClaimed, Scheduled, Swept
from emqlab.replies import ERROR_REPLIES, ErrorReply, NotSent, ask_all, error_reply, settled
from emqlab.transitions import PLAIN, Call, Values


@dataclass(frozen=True, slots=True)
class Told:
    """One command an executor ran inside a transition.

    ``phase`` is read, guard, write, or host (a read in its own round trip); or world, for what another client sent
    while the transition was on its way. ``line`` is the line of the file that ran.
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


#: What happens while a transition is on its way: it has left its host, and the server has not seen it. Each command
#: of another client, as it is told.
Meanwhile = Callable[[], Sequence[Told]]


def _nothing() -> Sequence[Told]:
    """Nobody else is there."""
    return ()


class Executor(ABC):
    """One way to run every transition against a server's client.

    Native verbs serve flat rows: for those of lanes and flows they raise LaneRow and FlowRow.
    """

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

    def trace(self, call: Call, meanwhile: Meanwhile = _nothing) -> Traced:
        """Perform one transition and tell every command the server ran inside it, with the same effects.

        ``meanwhile`` is called once, when the host has looked at all it looks at and is about to send the transition;
        never for one that is not sent.
        """
        if call.verb in PLAIN:
            command = tuple(call.plain())
            told = tuple(meanwhile())
            reply = self._send(*command)
            return Traced(command, (*told, Told("write", command, reply)), reply)
        return self._trace(call, meanwhile)

    def perform_each(self, calls: Sequence[Call]) -> list[Any]:
        """Perform many transitions, each on a queue of its own, in few round trips; the replies in their order.

        They don't see each other, so nothing is lost by sending them together. Raises ServerLost.
        """
        return [self.perform(call) for call in calls]

    @abstractmethod
    def _perform(self, call: Call) -> Any: ...

    @abstractmethod
    def _trace(self, call: Call, meanwhile: Meanwhile) -> Traced: ...

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
        values = {"id": job_id, "payload": arguments.text("payload", payload)}
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
        mode, value = arguments.due(in_ms, at_ms)
        job_id = self._mint() if id is None else ids.check(id)
        values = {"id": job_id, "payload": arguments.text("payload", payload), "mode": mode, "value": value}
        if self._ask("schedule", queue, values) == 0:
            raise errors.Duplicate(job_id)
        return job_id

    def claim(self, queue: str, *, lease_ms: int = 30_000) -> Claimed | None:
        """Lease the head of the line for ``lease_ms``; None when there is nothing to lease or the queue is paused."""
        reply = self._ask("claim", queue, {"lease_ms": arguments.number("lease_ms", lease_ms, 1)})
        return Claimed(reply[0], reply[1], reply[2]) if reply else None

    def complete(self, queue: str, id: str | bytes, token: Token, *, result: bytes | str | None = None) -> None:
        """Retire a job; its row is deleted and counted. ``result`` is kept for a flow's parent, else the job's id.

        Raises JobGone, StaleToken, NotActive.
        """
        job = {"id": ids.check(id), "token": arguments.token(token)}
        if result is not None:
            job["result"] = arguments.text("result", result)
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
            "token": arguments.token(token),
            "delay_ms": arguments.number("delay_ms", delay_ms, 0),
            "max_attempts": arguments.number("max_attempts", max_attempts, 1),
            "error": arguments.text("error", error),
        }
        return Dead() if self._ask("fail", queue, values) == b"dead" else Scheduled()

    def delay(
        self, queue: str, id: str | bytes, token: Token, *, in_ms: int | None = None, at_ms: int | None = None
    ) -> None:
        """Give a job back, due ``in_ms`` from now or ``at_ms``. Raises JobGone, StaleToken, NotActive."""
        mode, value = arguments.due(in_ms, at_ms)
        self._ask("delay", queue, {"id": ids.check(id), "token": arguments.token(token), "mode": mode, "value": value})

    def requeue(self, queue: str, id: str | bytes, token: Token) -> None:
        """Give a job back at no cost. Raises JobGone, StaleToken, NotActive; Unsupported on the scripts."""
        self._ask("requeue", queue, {"id": ids.check(id), "token": arguments.token(token)})

    def extend(self, queue: str, id: str | bytes, token: Token, *, lease_ms: int) -> None:
        """Move a lease's deadline to ``lease_ms`` from now. Raises JobGone, StaleToken, NotActive."""
        job = {"id": ids.check(id), "token": arguments.token(token)}
        if self._ask("extend", queue, {**job, "lease_ms": arguments.number("lease_ms", lease_ms, 1)}) == -1:
            raise errors.JobGone("extend", job["id"])

    def extends(self, queue: str, pairs: Iterable[tuple[str | bytes, Token]], *, lease_ms: int) -> tuple[bytes, ...]:
        """Extend many leases; answers the ids that were not extended, in the order given."""
        checked = arguments.pairs(pairs)
        values: Values = {"lease_ms": arguments.number("lease_ms", lease_ms, 1), "pairs": checked}
        return tuple(self._ask("extends", queue, values))

    def promote(self, queue: str, *, batch: int = 100) -> int:
        """Move at most ``batch`` due jobs back in line; answers how many."""
        return int(self._ask("promote", queue, {"batch": arguments.number("batch", batch, 1)}))

    def stalled_check(self, queue: str, *, max_stalled: int = 1, limit: int = 100) -> Swept:
        """Recover at most ``limit`` expired leases; a job that stalled ``max_stalled`` times is a dead letter."""
        values = {
            "max_stalled": arguments.number("max_stalled", max_stalled, 1),
            "limit": arguments.number("limit", limit, 1),
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

    # -- lanes and flows: scripts alone, Unsupported natively

    def lane_enqueue(
        self, queue: str, payload: bytes | str, *, group: bytes | str, id: str | bytes | None = None
    ) -> bytes:
        """Add a job to its group's lane, last in line. Answers its id.

        Raises Duplicate, WrongKind; Unsupported natively.
        """
        job_id = self._mint() if id is None else ids.check(id)
        values = {"id": job_id, "payload": arguments.text("payload", payload), "group": arguments.group(group)}
        if self._ask("lane_enqueue", queue, values) == 0:
            raise errors.Duplicate(job_id)
        return job_id

    def lane_claim(self, queue: str, *, lease_ms: int = 30_000) -> LaneClaimed | None:
        """Lease the head of the next group's lane for ``lease_ms``; None when no lane may be served now.

        Unsupported natively.
        """
        reply = self._ask("lane_claim", queue, {"lease_ms": arguments.number("lease_ms", lease_ms, 1)})
        return LaneClaimed(*reply) if reply else None

    def lane_pause(self, queue: str, group: bytes | str) -> None:
        """Stop claims on one lane; its backlog stays. Unsupported natively."""
        self._ask("lane_pause", queue, {"group": arguments.group(group)})

    def lane_resume(self, queue: str, group: bytes | str) -> None:
        """Let claims on one lane go on. Unsupported natively."""
        self._ask("lane_resume", queue, {"group": arguments.group(group)})

    def lane_limit(self, queue: str, group: bytes | str, limit: int) -> None:
        """Let at most ``limit`` jobs of one lane be active at once, none if it is 0. Unsupported natively."""
        self._ask("lane_limit", queue, {"group": arguments.group(group), "limit": arguments.number("limit", limit, 0)})

    def flow_add(
        self,
        queue: str,
        payload: bytes | str,
        children: Iterable[bytes | str | tuple[str | bytes, bytes | str]],
        *,
        policy: str | None = None,
        id: str | bytes | None = None,
    ) -> Flow:
        """Add a parent that waits for ``children``: payloads, or (id, payload). Answers all their ids.

        ``policy`` says what a dead child does: ``fp``, the default, kills the parent; ``id`` is counted as done.
        Raises Duplicate when a row of any of them exists, WrongKind; Unsupported natively.
        """
        job_id = self._mint() if id is None else ids.check(id)
        checked = arguments.children(children, self._mint, job_id)
        values: Values = {
            "id": job_id,
            "payload": arguments.text("payload", payload),
            "children": checked,
            "policy": arguments.policy(policy),
        }
        flow = Flow(job_id, tuple(child for child, _ in checked))
        if self._ask("flow_add", queue, values) == 0:
            raise errors.Duplicate(flow.id, flow.children)
        return flow

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
                "EMQKIND": lambda: errors.WrongKind(_strange(values)),
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


def _strange(values: Values) -> bytes:
    """The id of a call that is no job's: the one that it is about, or the first such child of its flow."""
    told: Mapping[str, Any] = values
    everybody: list[bytes] = [told["id"], *(job_id for job_id, _ in told.get("children", ()))]
    return next((job_id for job_id in everybody if job_id[:3] != ids.KIND), everybody[0])


__all__ = ["Executor", "Token", "Told", "Traced"]
