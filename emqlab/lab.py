"""A lab: one server, both executors, and a clock that the reader moves (SPEC 11)."""

import os
from types import TracebackType
from typing import Any, Literal

import redis

from emqlab import errors, ids, keys
from emqlab.executor import Executor
from emqlab.native.embedded import COMMANDS
from emqlab.native.executor import NativeExecutor
from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, Skipped, run_case
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.servers.embedded import EmbeddedServer
from emqlab.servers.server import Server

ExecutorName = Literal["scripted", "native"]


class Lab:
    """One server and what runs on it. A context manager; ``close`` lets go of the server."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        self.client: redis.Redis = server.client
        self._mint = ids.Mint(server.now_ms, server.node)
        self.scripted = ScriptedExecutor(self.client, self._mint.next)
        self.native = NativeExecutor(self.client, self._mint.next, lambda: server.run_id)
        self._bench: tuple[Server, dict[str, Executor]] | None = None
        claim_version(self.client)

    def __enter__(self) -> "Lab":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Lab on the {self.server.name} server>"

    def close(self) -> None:
        """Let go of the server."""
        if self._bench is not None:
            self._bench[0].close()
        self.server.close()

    @property
    def run_id(self) -> str:
        """The epoch in force: 40 hex characters, new at every start of the server."""
        return self.server.run_id.decode()

    def now_ms(self) -> int:
        """The server's time, ms since 1970."""
        return self.server.now_ms()

    def advance_ms(self, ms: int) -> None:
        """Move the server's clock by ``ms``. TIME, expiry and leases follow."""
        if isinstance(ms, bool) or not isinstance(ms, int):
            raise TypeError(f"ms must be an int, not {type(ms).__name__}")
        self.server.advance(ms)

    def restart(self) -> None:
        """Restart the server: the data stays, the epoch is new, the script cache is empty."""
        self.server.restart()

    def connect(self, **options: Any) -> redis.Redis:
        """One more client of the same server, for instance as an ACL user: ``username=``, ``password=``."""
        return self.server.connect(**options)

    def run(self, case: Case | dict[str, Any], *, executor: ExecutorName, traced: bool = True) -> Run | Skipped:
        """Run one case (SPEC 8) on one executor, on an empty queue of its own: replies, before, trace, after.

        The lab's own jobs are not touched. Raises BadCase (a ValueError) for an unusable case.
        """
        self.executor(executor)
        checked = case if isinstance(case, Case) else parse_case(case)
        server, executors = self.bench()
        return run_case(server, executors, checked, executor, traced=traced)

    def bench(self) -> tuple[Server, dict[str, Executor]]:
        """Where cases are run: a second embedded server of the same seed, emptied before each case."""
        with self.server.lock:
            if self._bench is None:
                server = EmbeddedServer(COMMANDS, self.server.node)
                mint = ids.Mint(server.now_ms, server.node)
                self._bench = (
                    server,
                    {
                        "scripted": ScriptedExecutor(server.client, mint.next),
                        "native": NativeExecutor(server.client, mint.next, lambda: server.run_id),
                    },
                )
            return self._bench

    def executor(self, name: ExecutorName) -> Executor:
        """The executor of that name. Raises ValueError for another name."""
        if name == "scripted":
            return self.scripted
        if name == "native":
            return self.native
        raise ValueError(f"executor must be 'scripted' or 'native', not {name!r}")


def claim_version(client: redis.Redis) -> None:
    """Claim the wire version with SET NX. Raises WrongVersion when the server holds another one."""
    client.set(keys.VERSION_KEY, keys.VERSION, nx=True)
    got = client.get(keys.VERSION_KEY)
    if got != keys.VERSION:
        raise errors.WrongVersion(got if isinstance(got, bytes) else b"")


def open_lab(server: str | None = None, *, seed: int = 0) -> Lab:
    """Open a lab on ``embedded``, ``auto``, ``valkey`` or a URL; on ``$EMQLAB_SERVER``, else embedded, when not told.

    ``seed`` fixes the ids and epochs of the embedded server. Raises ValueError for a server that cannot be opened.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be an int, not {type(seed).__name__}")
    if server is not None and not isinstance(server, str):
        raise TypeError(f"server must be a str, not {type(server).__name__}")
    name = server if server not in (None, "auto") else os.environ.get("EMQLAB_SERVER") or "embedded"
    if name not in ("embedded", "auto"):
        raise ValueError(f"this release opens the embedded server only, not {name!r}; use server='embedded'")
    return Lab(EmbeddedServer(COMMANDS, seed))
