"""Runs one case on one executor (SPEC 8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import redis

from emqlab import errors
from emqlab.executor import Executor, Traced
from emqlab.observe.case import Case, Step, World, substitute
from emqlab.observe.snapshot import Snapshot, snapshot_json, take
from emqlab.replies import Json, NotSent, error_reply, reply_json
from emqlab.servers.server import Server
from emqlab.transitions import UNSUPPORTED_NATIVELY


@dataclass(frozen=True, slots=True)
class Done:
    """One step that was run. ``traced`` is None for a world step, ``reply`` that of a raw command or a verb."""

    index: int
    step: Step
    traced: Traced | None
    reply: Any
    clock_ms: int


@dataclass(frozen=True, slots=True)
class Run:
    """One case on one executor. ``replies`` has one entry a verb step; ``before`` is the state after ``given``."""

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
) -> Run | Skipped:
    """Run ``case`` on one executor, on an empty queue of its own.

    ``traced`` keeps every command run inside a transition; ``before`` the state after ``given``. Both cost time and
    change nothing. Raises ServerLost when the server went away.
    """
    why = _cannot(server, case)
    if why:
        return Skipped(case, executor, server.name, why)
    server.begin_case(case.queue)
    try:
        return _Running(server, executors[executor], case, traced).run(before)
    except redis.ConnectionError as error:
        raise errors.ServerLost(str(error)) from error
    finally:
        server.end_case(case.queue)


def _cannot(server: Server, case: Case) -> str | None:
    if case.servers is not None and server.name not in case.servers:
        return f"it is for {' and '.join(case.servers)}, not for {server.name}"
    if not server.movable and any(step.advance_ms is not None for step in case.when):
        return f"the clock of the {server.name} server can't be moved"
    if not server.restartable and any(step.restart for step in case.when):
        return f"the {server.name} server can't be restarted from here"
    return None


@dataclass(slots=True)
class _Running:
    server: Server
    executor: Executor
    case: Case
    traced: bool
    now_ms: int = 0
    raw: Any = None
    trace: list[Done] = field(default_factory=list)

    def run(self, before: bool) -> Run:
        server, queue = self.server, self.case.queue
        self.now_ms = server.now_ms()
        try:
            for command in self.case.given:
                self._raw(command)
            start = take(server.client, queue) if before or self.traced else {}
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
            after=take(server.client, queue),
        )

    def _step(self, index: int, step: Step) -> None:
        reply: Any = None
        traced: Traced | None = None
        if step.verb is not None:
            call = step.call(self.case.queue, self._world())
            if step.verb in UNSUPPORTED_NATIVELY:
                if self.executor.name != "native":
                    raise NotImplementedError(f"{step.verb}: the scripted lanes and flows are not built yet")
                reply = NotSent(step.verb)
                traced = Traced((), (), reply)
            elif self.traced:
                traced = self.executor.trace(call)
                reply = traced.reply
            else:
                reply = self.executor.perform(call)
        elif step.restart:
            self.server.restart()
        elif step.advance_ms is not None:
            self.server.advance(step.advance_ms)
        elif step.command is not None:
            reply = self._raw(step.command)
        clock_ms = self.server.now_ms() if self.traced else 0
        self.trace.append(Done(index, step, traced, reply, clock_ms))

    def _world(self) -> World:
        return World(self.now_ms, self.server.run_id)

    def _raw(self, command: tuple[Any, ...]) -> Any:
        """A raw command on a connection of its own: it may leave a MULTI open or change the user."""
        if self.raw is None:
            self.raw = self.server.client.connection_pool.get_connection()
        world = self._world()
        self.raw.send_command(*(substitute(item, self.case.queue, world) for item in command))
        try:
            return self.raw.read_response()
        except redis.ResponseError as error:
            return error_reply(error)

    def _hang_up(self) -> None:
        if self.raw is not None:
            if any(step.command for step in self.case.when):
                self.raw.disconnect()
            self.server.client.connection_pool.release(self.raw)
            self.raw = None
