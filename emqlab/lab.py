"""A lab: one server, both executors, and a clock that the reader moves (SPEC 11)."""

import os
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, NoReturn

import redis

from emqlab import choice, errors, ids, keys
from emqlab.executor import Executor, Meanwhile, Traced
from emqlab.native.embedded import COMMANDS
from emqlab.native.executor import NativeExecutor
from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, Skipped, run_case
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.servers.embedded import EmbeddedServer
from emqlab.servers.server import Server
from emqlab.transitions import Call

#: What everything of a closed lab says, and of one that came along into a fork.
CLOSED = "the lab is closed; open another"
FORKED = "this lab belongs to the process that opened it; open a lab of your own"

#: How far a clock is moved at once, as in a case: deadlines stay numbers that a score holds exactly.
FURTHEST_MS = 10**15

ExecutorName = Literal["scripted", "native"]

#: Makes the native executor out of a client, what mints its ids, and the epoch in force.
MakeNative = Callable[[redis.Redis, Callable[[], bytes], Callable[[], bytes]], Executor]


class NativeMissing(errors.EmqError, NotImplementedError):
    """The server of this lab has no native verbs. One sentence that says what is missing and how to get it."""


class MissingNative(Executor):
    """Stands in for the native executor: it answers every call with NativeMissing, and sends nothing."""

    name = "native"

    def __init__(self, client: redis.Redis, mint: Callable[[], bytes], why: str) -> None:
        super().__init__(client, mint)
        self.why = why

    def perform(self, call: Call) -> NoReturn:
        """Raise NativeMissing."""
        raise NativeMissing(self.why)

    def trace(self, call: Call, meanwhile: Meanwhile | None = None) -> NoReturn:
        """Raise NativeMissing."""
        raise NativeMissing(self.why)

    def _perform(self, call: Call) -> Any:
        raise NativeMissing(self.why)

    def _trace(self, call: Call, meanwhile: Meanwhile) -> Traced:
        raise NativeMissing(self.why)


class _NoConnections(redis.ConnectionPool):
    """The pool of a lab's clients that are of no use any more; ``why`` says what to do."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why

    def get_connection(self, *_: Any, **__: Any) -> NoReturn:
        raise redis.ConnectionError(self.why)


class Lab:
    """One server and what runs on it. A context manager; ``close`` lets go of the server."""

    def __init__(
        self, server: Server, *, native: MakeNative = NativeExecutor, twin: Callable[[], Server] | None = None
    ) -> None:
        """``twin`` makes a second server like the first, for cases; without it they run on the first."""
        self.server = server
        self.client: redis.Redis = server.client
        self._make_native = native
        self._twin = twin
        self.scripted, self.native = self._executors(server)
        self._bench: tuple[Server, dict[str, Executor]] | None = None
        #: Why nothing can be done with it any more.
        self._over: str | None = None
        _labs.add(self)
        claim_version(self.client)

    def _executors(self, server: Server) -> tuple[ScriptedExecutor, Executor]:
        mint = ids.Mint(server.now_ms, server.node)
        return (
            ScriptedExecutor(server.client, mint.next),
            self._make_native(server.client, mint.next, lambda: server.run_id),
        )

    def _open(self) -> Server:
        if self._over:
            raise errors.ServerLost(self._over)
        return self.server

    def __enter__(self) -> "Lab":
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Lab on the {self.server.name} server>"

    def close(self) -> None:
        """Let go of the server. May be called again. In a fork of the process that opened the lab this does nothing."""
        if self._over == FORKED:
            return
        self._over = CLOSED
        if self._bench is not None and self._bench[0] is not self.server:
            self._bench[0].close()
        self.server.close()
        self._cut_off(CLOSED)

    def _cut_off(self, why: str) -> None:
        """Tell the same to whoever still holds a client or an executor."""
        self._over = why
        for server in (self.server, *(self._bench or ())[:1]):
            for client in (self.client, server.client, server.observer):
                client.connection_pool = _NoConnections(why)

    @property
    def run_id(self) -> str:
        """The epoch in force: 40 hex characters, new at every start of the server."""
        return self._open().run_id.decode()

    def now_ms(self) -> int:
        """The server's time, ms since 1970."""
        return self._open().now_ms()

    def advance_ms(self, ms: int) -> None:
        """Move the server's clock by ``ms``, at most 10**15 either way. TIME, expiry and leases follow.

        Raises ValueError, also for a time that no server's clock can show, such as one before 1970.
        """
        if isinstance(ms, bool) or not isinstance(ms, int):
            raise TypeError(f"ms must be an int, not {type(ms).__name__}")
        if abs(ms) > FURTHEST_MS:
            raise ValueError(f"ms must lie between -{FURTHEST_MS} and {FURTHEST_MS}, not {ms}")
        self._open().advance(ms)

    def restart(self) -> None:
        """Restart the server: the data stays, the epoch is new, the script cache is empty."""
        self._open().restart()

    def connect(self, **options: Any) -> redis.Redis:
        """One more client of the same server, for instance as an ACL user: ``username=``, ``password=``."""
        return self._open().connect(**options)

    def run(self, case: Case | dict[str, Any], *, executor: ExecutorName, traced: bool = True) -> Run | Skipped:
        """Run one case (SPEC 8) on one executor, on an empty queue of its own: replies, before, trace, after.

        The lab's own jobs are not touched. Raises BadCase (a ValueError) for an unusable case.
        """
        self.executor(executor)
        checked = case if isinstance(case, Case) else parse_case(case)
        server, executors = self.bench()
        return run_case(server, executors, checked, executor, traced=traced)

    def bench(self) -> tuple[Server, dict[str, Executor]]:
        """Where cases are run, emptied before each: a second server like the lab's own, or a user's server itself."""
        # Before the lock as well: in a fork nobody would give it back.
        with self._open().lock:
            self._open()
            if self._bench is None:
                server = self._twin() if self._twin else self.server
                scripted, native = self._executors(server) if self._twin else (self.scripted, self.native)
                self._bench = (server, {"scripted": scripted, "native": native})
            return self._bench

    def executor(self, name: ExecutorName) -> Executor:
        """The executor of that name. Raises ValueError for another name."""
        if name == "scripted":
            return self.scripted
        if name == "native":
            return self.native
        raise ValueError(f"executor must be 'scripted' or 'native', not {name!r}")


#: The labs that are not gone: a fork's end is not theirs, and what it did to their server would be behind their back.
_labs: "weakref.WeakSet[Lab]" = weakref.WeakSet()


def _after_fork() -> None:
    for lab in list(_labs):
        if lab._over is None:
            lab._cut_off(FORKED)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def claim_version(client: redis.Redis) -> None:
    """Claim the wire version with SET NX. Raises WrongVersion when the server holds another one."""
    client.set(keys.VERSION_KEY, keys.VERSION, nx=True)
    got = client.get(keys.VERSION_KEY)
    if got != keys.VERSION:
        raise errors.WrongVersion(got if isinstance(got, bytes) else b"")


def open_lab(server: str | None = None, *, seed: int = 0) -> Lab:
    """Open a lab on ``embedded``, ``valkey``, ``auto`` or a URL; on ``$EMQLAB_SERVER``, else embedded, when not told.

    ``auto`` is ``$EMQLAB_SERVER``, else what the reader chose on the start page, else valkey where a server and the
    module are at hand, else embedded. ``seed`` fixes the ids and epochs of the embedded server. Raises ValueError for a
    server that cannot be opened.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an int, not {type(seed).__name__}")
    if server is not None and not isinstance(server, str):
        raise TypeError(f"server must be a str, not {type(server).__name__}")
    overriding = choice.overridden()
    name = server if server not in (None, "auto") else overriding or server or "embedded"
    if name == "embedded":
        return _embedded(seed)
    if name == "valkey":
        return _valkey(seed)
    if name == "auto":
        return _auto(seed, choice.AUTO if overriding else choice.chosen())
    if "://" in name:
        return _remote(name)
    raise ValueError(f"server must be embedded, valkey, auto, or a URL (redis://, rediss:// or unix://), not {name!r}")


def _embedded(seed: int) -> Lab:
    return _on(lambda: EmbeddedServer(COMMANDS, seed))


def _valkey(seed: int) -> Lab:
    """A real server; without the native verbs where the module can't be had or is refused."""
    from emqlab.native.module import module_path
    from emqlab.native.module.build import CannotBuild, on_stderr
    from emqlab.servers.process import Ended
    from emqlab.servers.valkey import ValkeyServer

    node = seed % 1024
    try:
        module = module_path(on_stderr)
        return _on(lambda: ValkeyServer(module=module, node=node))
    except (CannotBuild, Ended) as error:
        why = f"the native verbs are missing here: {error}"
    # If it was not the module that stopped it, this stops as well, and says so.
    return _on(lambda: ValkeyServer(node=node), lambda client, mint, run_id: MissingNative(client, mint, why))


def _remote(url: str) -> Lab:
    """A user's own server; without the native verbs where its module is not loaded."""
    from emqlab.servers.remote import RemoteServer

    server = RemoteServer(url)
    why = server.native_missing()
    if why is None:
        return _opened(server)
    return _opened(server, native=lambda client, mint, run_id: MissingNative(client, mint, why))


def _auto(seed: int, chosen: str) -> Lab:
    """A real server where there can be one, unless the reader chose the embedded one."""
    if chosen == choice.EMBEDDED:
        return _embedded(seed)
    from emqlab.native.module import module_path
    from emqlab.native.module.build import CannotBuild, on_stderr
    from emqlab.servers.binaries import VARIABLE, NoServer, find_binary
    from emqlab.servers.process import CannotStart
    from emqlab.servers.valkey import ValkeyServer

    try:
        binary, module = find_binary(), module_path(on_stderr)
        return _on(lambda: ValkeyServer(binary, module=module, node=seed % 1024))
    except (NoServer, CannotBuild, CannotStart) as error:
        if chosen == choice.VALKEY:
            on_stderr(f"You chose valkey, but this is the embedded server: {str(error).rstrip('.')}.")
        elif os.environ.get(VARIABLE):
            # What somebody has asked for by name is not quietly replaced.
            raise
        return _embedded(seed)


def _on(make: Callable[[], Server], native: MakeNative = NativeExecutor) -> Lab:
    """A lab on a server of its own, with another one like it for cases."""
    return _opened(make(), native=native, twin=make)


def _opened(server: Server, **options: Any) -> Lab:
    try:
        return Lab(server, **options)
    except BaseException:
        server.close()
        raise
