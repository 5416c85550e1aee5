"""Runs one case on one executor (SPEC 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import redis

from emqlab import errors
from emqlab.executor import Executor, Told, Traced
from emqlab.observe.case import Case, Step, World, substitute
from emqlab.observe.snapshot import Snapshot, snapshot_json, snapshot_of
from emqlab.replies import ERROR_REPLIES, ErrorReply, Json, ask, ask_all, error_reply, reply_json
from emqlab.servers.bounds import DATA, CannotRun
from emqlab.servers.clock import NoSuchTime
from emqlab.servers.server import Server
from emqlab.transitions import Call


@dataclass(frozen=True, slots=True)
class Done:
    """One step that was run. ``traced`` is None for a world step, ``reply`` that of a raw command or a verb.

    ``sent`` is a raw command as it was sent. ``after`` is the state after a world step, kept in a traced run.
    """

    index: int
    step: Step
    traced: Traced | None
    reply: Any
    clock_ms: int
    sent: tuple[bytes, ...] | None = None
    after: Snapshot | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One case on one executor. ``replies`` has one entry a verb step; ``before`` is the state after ``given``.

    ``epochs`` are the run_ids that were in force, in order; ``run_id`` is the last.
    """

    case: Case
    executor: str
    server: str
    now_ms: int
    done_ms: int
    run_id: str
    replies: tuple[Any, ...]
    before: Snapshot
    trace: tuple[Done, ...]
    after: Snapshot
    epochs: tuple[str, ...] = ()

    def json(self) -> dict[str, Json]:
        """The line that ``emqlab run --json`` prints (SPEC 9)."""
        return {
            "case": self.case.name,
            "executor": self.executor,
            "server": self.server,
            "now_ms": self.now_ms,
            "done_ms": self.done_ms,
            "run_id": self.run_id,
            "replies": [reply_json(reply) for reply in self.replies],
            "keys": snapshot_json(self.after),
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """A case that this server can't run, and ``why``."""

    case: Case
    executor: str
    server: str
    why: str

    def json(self) -> dict[str, Json]:
        """The line that ``emqlab run --json`` prints (SPEC 9)."""
        return {"case": self.case.name, "executor": self.executor, "server": self.server, "skipped": self.why}


def run_case(
    server: Server,
    executors: Mapping[str, Executor],
    case: Case,
    executor: str,
    *,
    traced: bool = True,
    before: bool = True,
    meanwhile: Sequence[Sequence[str]] = (),
) -> Run | Skipped:
    """Run ``case`` on one executor, on an empty queue of its own.

    ``traced`` keeps every command run inside a transition; ``before`` the state after ``given``. Both cost time and
    change nothing. ``meanwhile`` are the commands of a second client (as in ``given``) that reach the server while the
    last transition is on its way there, after its host's own look; they need a traced run. Raises ServerLost when the
    server went away, CannotRun when a user's server holds something where the case would be run.
    """
    why = _cannot(server, case)
    if why:
        return Skipped(case, executor, server.name, why)
    with server.lock:
        try:
            server.admit(case.queue, *_sent(case))
        except CannotRun as error:
            return Skipped(case, executor, server.name, str(error))
        running = _Running(server, executors[executor], case, traced, meanwhile)
        server.begin_case(case.queue)
        try:
            return running.run(before)
        except NoSuchTime as error:
            return Skipped(case, executor, server.name, str(error))
        except (errors.ServerLost, redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(server.overran or str(error)) from error
        finally:
            server.end_case(case.queue, plain=running.plain)


def _cannot(server: Server, case: Case) -> str | None:
    if case.servers is not None and server.name not in case.servers:
        return f"it is for {' and '.join(case.servers)}, not for {server.name}"
    if not server.movable and any(step.advance_ms is not None for step in case.when):
        return f"the clock of the {server.name} server can't be moved"
    if not server.restartable and any(step.restart for step in case.when):
        return f"the {server.name} server can't be restarted from here"
    return None


def _sent(case: Case) -> tuple[list[tuple[bytes, ...]], list[Call]]:
    """What a case sends: its raw commands and its transitions, with any time and any epoch put in."""
    world = World(0, b"")
    raw = [*case.given, *(step.command for step in case.when if step.command is not None)]
    calls = [step.call(case.queue, world) for step in case.when if step.verb]
    return [tuple(substitute(item, case.queue, world) for item in command) for command in raw], calls


@dataclass(slots=True)
class _Running:
    server: Server
    executor: Executor
    case: Case
    traced: bool
    meanwhile: Sequence[Sequence[str]] = ()
    now_ms: int = 0
    connection: Any = None
    trace: list[Done] = field(default_factory=list)
    epochs: list[bytes] = field(default_factory=list)
    #: Whether its raw commands only read and write keys, so that any connection will do for them.
    plain: bool = field(init=False)

    def __post_init__(self) -> None:
        raw = [*self.case.given, *(step.command for step in self.case.when if step.command is not None)]
        self.plain = all(isinstance(command[0], str) and command[0].upper().encode() in DATA for command in raw)

    def run(self, before: bool) -> Run:
        server = self.server
        self.now_ms = server.now_ms()
        self.epochs.append(server.run_id)
        try:
            self._fill()
            start = self._seen() if before or self.traced else {}
            for index, step in enumerate(self.case.when):
                self._step(index, step)
            done_ms = server.now_ms()
        finally:
            self._hang_up()
        return Run(
            case=self.case,
            executor=self.executor.name,
            server=server.name,
            now_ms=self.now_ms,
            done_ms=done_ms,
            run_id=server.run_id.decode(),
            replies=tuple(done.reply for done in self.trace if done.step.verb is not None),
            before=start,
            trace=tuple(self.trace),
            after=self._seen(),
            epochs=tuple(epoch.decode() for epoch in self.epochs),
        )

    def _fill(self) -> None:
        given = [self._substituted(command) for command in self.case.given]
        if self.plain:
            ask_all(self.server.client, given)
            return
        for command in given:
            self._raw(command)

    def _step(self, index: int, step: Step) -> None:
        reply: Any = None
        traced: Traced | None = None
        sent: tuple[bytes, ...] | None = None
        if step.verb is not None:
            call = step.call(self.case.queue, self._world())
            if self.traced:
                last = all(later.verb is None for later in self.case.when[index + 1 :])
                traced = self.executor.trace(call, self._second_client) if last else self.executor.trace(call)
                reply = traced.reply
            else:
                reply = self.executor.perform(call)
        elif step.restart:
            self.server.restart()
            self.epochs.append(self.server.run_id)
        elif step.advance_ms is not None:
            self.server.advance(step.advance_ms)
        elif step.command is not None:
            sent = self._substituted(step.command)
            reply = self._raw(sent)
        clock_ms = self.server.now_ms() if self.traced else 0
        seen = self.traced and step.verb is None
        after = self._seen() if seen else None
        self.trace.append(Done(index, step, traced, reply, clock_ms, sent, after))

    def _second_client(self) -> list[Told]:
        """What another client does while a transition is on its way."""
        if not self.meanwhile:
            return []
        with self.server.connect() as other:
            commands = [self._substituted(tuple(command)) for command in self.meanwhile]
            return [Told("world", command, ask(other, *command)) for command in commands]

    def _seen(self) -> Snapshot:
        return snapshot_of(self.server, self.case.queue)

    def _world(self) -> World:
        return World(self.now_ms, self.server.run_id)

    def _substituted(self, command: tuple[Any, ...]) -> tuple[bytes, ...]:
        world = self._world()
        return tuple(substitute(item, self.case.queue, world) for item in command)

    def _raw(self, command: tuple[bytes, ...]) -> Any:
        """Send a raw command; its reply, or its error as an ErrorReply."""
        try:
            if self.plain:
                return ask(self.server.client, *command)
            return self._aside(command)
        except ERROR_REPLIES as error:
            return error_reply(error)

    def _aside(self, command: tuple[bytes, ...]) -> Any:
        """Send it on a connection of the case's own: it may leave a MULTI open, change the user, or kill clients."""
        if self.connection is None:
            pool: Any = self.server.client.connection_pool
            self.connection = pool.connection_class(**pool.connection_kwargs)
        try:
            self.connection.send_command(*command)
            return self.connection.read_response()
        except ERROR_REPLIES:
            raise
        except (redis.ConnectionError, redis.InvalidResponse) as error:
            # Killed by its own command, perhaps, or told to speak RESP3. If the server is really gone, the next step
            # finds out.
            self._hang_up()
            return ErrorReply(f"ERR {error}")
        finally:
            self.server.hang_up()

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.disconnect()
            self.connection = None
