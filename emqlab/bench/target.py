"""The server that is measured: one of the bench's own, or one by its URL."""

import contextlib
import secrets
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from emqlab import keys
from emqlab.bench.jobs import Jobs
from emqlab.bench.workloads import MOST_JOBS
from emqlab.errors import EmqError
from emqlab.native.module import module_path
from emqlab.native.module.build import Tell, shared_object
from emqlab.replies import ask
from emqlab.servers.binaries import find_binary
from emqlab.servers.process import ServerProcess
from emqlab.servers.remote import RemoteServer

_LIMIT = Path(__file__).parents[2] / "tests" / "benchmarks" / "limit"
_NOT_HERE = "the hand-written claim is only in a clone of the repository (tests/benchmarks/limit)"
_NOT_THERE = "the hand-written claim is only loaded into a server of the lab's own (--server valkey)"

#: No file is written, and the clock is the machine's: nothing but commands takes time. The page says what that means.
_SETTINGS = {"appendonly": "no"}


class CannotBench(EmqError, ValueError):
    """There is nothing to measure there. One sentence that says what to do."""


class Target:
    """A server with the verbs, and a queue there that nobody else uses. A context manager; ``close`` lets go of it.

    ``pool`` is of connections to the one process that holds ``queue``. ``socket`` is that of a server of the lab's own,
    ``limit_missing`` why it has no hand-written claim, None where it has.
    """

    def __init__(
        self, pool: Any, queue: bytes, *, socket: str | None, limit_missing: str | None, cluster: bool = False
    ) -> None:
        self.pool = pool
        self.client: redis.Redis = redis.Redis(connection_pool=pool)
        self.queue = queue
        self.socket = socket
        self.limit_missing = limit_missing
        self.cluster = cluster
        info = {name: value for name, _, value in (line.partition(":") for line in self._info("server"))}
        self.run_id = info.get("run_id", "").encode()
        kind = info.get("server_name", "redis")
        #: ``valkey 9.1.2``: the program's name and version.
        self.name = f"{kind} {info.get(f'{kind}_version') or info.get('redis_version', '')}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it, and leave nothing behind."""
        self.pool.disconnect()

    def memory(self) -> dict[str, int]:
        """The server's figures on its memory, bytes by name."""
        parts = (line.partition(":") for line in self._info("memory"))
        return {name: int(value) for name, _, value in parts if value.isdigit()}

    def seconds(self) -> int:
        """How many whole seconds the server has run."""
        return int(dict(line.split(":", 1) for line in self._info("server") if ":" in line)["uptime_in_seconds"])

    def _info(self, section: str) -> list[str]:
        told: bytes = ask(self.client, "INFO", section)
        return told.decode("utf-8", "replace").splitlines()


class OwnTarget(Target):
    """A server started for this, with the module and, in a clone, the hand-written claim; less when told so.

    Raises NoServer, CannotBuild, CannotStart.
    """

    def __init__(
        self,
        tell: Tell | None = None,
        *,
        module: bool = True,
        limit: bool = True,
        binary: Path | str | None = None,
    ) -> None:
        program = binary or find_binary()
        by_hand = limit_path(tell) if module and limit else _NOT_HERE
        modules = [module_path(tell)] if module else []
        if isinstance(by_hand, Path):
            modules.append(by_hand)
        self.process = ServerProcess(program, modules=modules, config=_SETTINGS)
        try:
            self.process.start()
            pool = redis.ConnectionPool(
                connection_class=redis.UnixDomainSocketConnection,
                path=self.process.socket,
                protocol=2,
                driver_info=None,
                socket_timeout=None,
                retry=Retry(NoBackoff(), 0),
            )
            missing = None if isinstance(by_hand, Path) else by_hand
            super().__init__(pool, _new_queue(), socket=self.process.socket, limit_missing=missing)
            ask(self.client, "SET", keys.VERSION_KEY, keys.VERSION)
        except BaseException:
            self.process.close()
            raise

    def close(self) -> None:
        """End the server."""
        super().close()
        self.process.close()


class RemoteTarget(Target):
    """A user's server by its URL, which must have the module. Raises ValueError, CannotBench, WrongVersion."""

    def __init__(self, url: str) -> None:
        self._remote = RemoteServer(url)
        queue = _new_queue()
        try:
            if self._remote.native_missing():
                raise CannotBench(
                    f"{self._remote.address} has no EMQ commands to measure: run `emqlab native build`, then start it"
                    " with --loadmodule and the file that was named"
                )
            # In a cluster the reply tells which process holds the queue; that one is measured.
            ask(self._remote.client, "EXISTS", keys.base(queue))
            pool = self._remote.pool_of(keys.base(queue))
            cluster = self._remote.nodes is not None
            super().__init__(pool, queue, socket=None, limit_missing=_NOT_THERE, cluster=cluster)
        except (redis.RedisError, OSError) as error:
            self._remote.close()
            raise CannotBench(self._remote.address.failure(error)) from None
        except BaseException:
            self._remote.close()
            raise

    def close(self) -> None:
        """Remove the queue's keys, also those of a round that was interrupted, and hang up."""
        try:
            self.pool.disconnect()
            with contextlib.suppress(redis.RedisError):
                ask(self.client, *Jobs(self.queue, self.run_id, MOST_JOBS).clear())
        finally:
            self.pool.disconnect()
            self._remote.close()


def limit_path(tell: Tell | None = None) -> Path | str:
    """The hand-written claim as a file that a server can load; where it is not at hand, a sentence that says why."""
    files = {file.name: file.read_text(encoding="utf-8") for file in sorted(_LIMIT.glob("*.[ch]"))}
    if not files:
        return _NOT_HERE
    return shared_object("emqlimit", files, main="claim.c", tell=tell)


def _new_queue() -> bytes:
    return b"emqlab-bench-" + secrets.token_hex(6).encode()
