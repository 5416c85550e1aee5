"""Real servers on loopback TCP, for tests: alone, with TLS, and a cluster of three; each ends with its test."""

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import redis

from emqlab.servers.binaries import find_binary
from emqlab.servers.process import CannotStart, ServerProcess, Setting

SLOTS = 16384


def free_port() -> int:
    """A port that is free, and so is the one 10000 above it, which a cluster's node talks on."""
    while True:
        port = random.randrange(20_000, 50_000)
        with socket.socket() as one, socket.socket() as other:
            try:
                one.bind(("127.0.0.1", port))
                other.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port


def until(holds: Callable[[], Any], what: str, seconds: float = 30) -> Any:
    """Ask until it holds; its answer. Fails, saying ``what`` did not come about, after ``seconds``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        answer = holds()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {seconds} s")


def started(
    config: Mapping[str, Setting] | None = None,
    *,
    binary: Path | str | None = None,
    tls: bool = False,
    modules: Sequence[Path | str] = (),
) -> ServerProcess:
    """A server on a loopback port, which is its ``config["port"]`` (``tls-port`` with ``tls``)."""
    for _ in range(5):
        ports = {"port": "0", "tls-port": str(free_port())} if tls else {"port": str(free_port())}
        process = ServerProcess(
            binary or find_binary(), modules=modules, config={"bind": "127.0.0.1", **ports, **(config or {})}
        )
        try:
            process.start()
        except CannotStart:
            process.close()
            if "Address already in use" not in process_log(process):
                raise
            continue
        return process
    raise AssertionError("no port of five was free")


def process_log(process: ServerProcess) -> str:
    """What a server has printed; nothing once its folder is gone."""
    return process.log.read_text() if process.log.exists() else ""


@contextmanager
def server(config: Mapping[str, Setting] | None = None, **options: Any) -> Iterator[ServerProcess]:
    """A server for the length of a block."""
    process = started(config, **options)
    try:
        yield process
    finally:
        process.close()


def url(process: ServerProcess, login: str = "", end: str = "") -> str:
    """The server's redis:// URL; ``login`` is ``user:password@``."""
    return f"redis://{login}127.0.0.1:{process.config['port']}{end}"


def inside(process: ServerProcess) -> redis.Redis:
    """A client of the default user's on the server's socket."""
    return redis.Redis(unix_socket_path=process.socket, protocol=2)


def dumps(process: ServerProcess) -> dict[bytes, tuple[bytes | None, int]]:
    """Every key of every database that is used here (0 and 1), byte for byte, with its PTTL."""
    found: dict[bytes, tuple[bytes | None, int]] = {}
    alone = not inside(process).info("cluster")["cluster_enabled"]
    for db in (0, 1) if alone else (0,):
        client = redis.Redis(unix_socket_path=process.socket, protocol=2, db=db)
        for name in client.scan_iter(count=1000):
            found[b"%d " % db + name] = (client.dump(name), client.pttl(name))
    return found


@contextmanager
def cluster(size: int = 3, config: Mapping[str, Setting] | None = None) -> Iterator[list[ServerProcess]]:
    """A cluster of ``size`` nodes, the slots in equal parts in their order."""
    wanted = {"cluster-enabled": "yes", "cluster-node-timeout": "5000", **(config or {})}
    with ExitStack() as stack:
        nodes = [stack.enter_context(server(wanted)) for _ in range(size)]
        clients = [inside(node) for node in nodes]
        for place, client in enumerate(clients):
            first, after = SLOTS * place // size, SLOTS * (place + 1) // size
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, after - 1)
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", place + 1)
        for node in nodes[1:]:
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", node.config["port"])

        def whole() -> bool:
            told = [client.execute_command("CLUSTER", "INFO") for client in clients]
            return all(b"cluster_state:ok" in str(one).encode() and f"known_nodes:{size}" in str(one) for one in told)

        until(whole, "the nodes are one cluster")
        yield nodes


def node_of(nodes: list[ServerProcess], slot: int) -> ServerProcess:
    """The node that has served ``slot`` since the beginning."""
    return next(node for place, node in enumerate(nodes) if slot < SLOTS * (place + 1) // len(nodes))


def certificates(folder: Path) -> dict[str, str] | None:
    """A throw-away authority and a certificate for 127.0.0.1, as a server's settings; None without ``openssl``."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None

    def make(*arguments: str) -> None:
        subprocess.run([openssl, *arguments], cwd=folder, check=True, capture_output=True)

    make("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=emqlab test authority",
         "-keyout", "ca.key", "-out", "ca.crt")  # fmt: skip
    make("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", "it.key", "-out", "it.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    make("x509", "-req", "-in", "it.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
         "-extfile", "names", "-out", "it.crt")  # fmt: skip
    files = {"tls-ca-cert-file": "ca.crt", "tls-cert-file": "it.crt", "tls-key-file": "it.key"}
    return {setting: str(folder / file) for setting, file in files.items()}


def speaks_tls(settings: Mapping[str, Setting]) -> str | None:
    """The binary of a server that was built with TLS, None when none of those at hand was."""
    for binary in (str(find_binary()), shutil.which("valkey-server"), shutil.which("redis-server")):
        if binary is None:
            continue
        try:
            with server({**settings, "tls-auth-clients": "no"}, binary=binary, tls=True):
                return binary
        except CannotStart:
            continue
    return None
