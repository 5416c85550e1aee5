"""Programs and libraries that speak to a server, each behind the same three questions."""

import base64
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest
import redis

from emqlab.replies import ErrorReply

#: Commands, each in its words.
Commands = Sequence[Sequence[bytes]]
#: One after the other, in one packet, or in a transaction.
How = Literal["each", "pipeline", "multi"]

#: Where the test line puts what npm installs.
NODE_PACKAGES = Path(sys.prefix, "node", "node_modules")


class Driver(ABC):
    """One client on one server, over RESP2 or RESP3. Replies are int, bytes, None, lists, and ErrorReply."""

    @abstractmethod
    def send(self, commands: Commands, how: How) -> list[Any]:
        """The replies to some commands, one each."""

    def ask(self, *words: bytes) -> Any:
        """The reply to one command."""
        return self.send([words], "each")[0]

    def close(self) -> None:  # noqa: B027  most have nothing to let go of
        """Let go of the server."""


class RedisCli(Driver):
    """``redis-cli``, its commands on standard input and its replies as JSON, one a line."""

    def __init__(self, socket: str, protocol: int) -> None:
        program = shutil.which("redis-cli")
        if program is None:
            pytest.skip("there is no redis-cli on the PATH; install one (apt-get install redis-tools)")
        #: How it is called, but for what it is to print.
        self.program = [program, "-s", socket, f"-{protocol}"]

    def send(self, commands: Commands, how: How) -> list[Any]:
        """Whether a packet holds one command or more is redis-cli's own affair."""
        around = ([[b"MULTI"]], [[b"EXEC"]]) if how == "multi" else ([], [])
        lines = b"".join(_quoted(command) for command in (*around[0], *commands, *around[1]))
        done = subprocess.run([*self.program, "--json"], input=lines, capture_output=True, check=True, timeout=60)
        replies = [_read(line) for line in done.stdout.splitlines() if line]
        if how != "multi":
            return replies
        assert [b"OK", *[b"QUEUED"] * len(commands)] == replies[:-1]
        assert isinstance(replies[-1], list)
        return replies[-1]


def _quoted(command: Sequence[bytes]) -> bytes:
    words = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"' for word in command]
    return " ".join(words).encode() + b"\n"


def _read(line: bytes) -> Any:
    """A reply in redis-cli's JSON, which writes an error as ``error:"text"`` and leaves bytes beyond ASCII alone."""
    text = re.sub(r'error:("(?:[^"\\]|\\.)*")', r'{"error": \1}', line.decode("latin-1"))
    return _settled(json.loads(text))


def _settled(reply: Any) -> Any:
    if isinstance(reply, list):
        return [_settled(one) for one in reply]
    if isinstance(reply, dict):
        return ErrorReply(reply["error"])
    return reply.encode("latin-1") if isinstance(reply, str) else reply


class FromPython(Driver):
    """redis-py, or valkey-py, which is a fork of it."""

    def __init__(self, library: ModuleType, socket: str, protocol: int) -> None:
        make: Any = getattr(library, "Valkey", None) or library.Redis
        self._error = library.ResponseError
        self._client = make(unix_socket_path=socket, protocol=protocol)

    def send(self, commands: Commands, how: How) -> list[Any]:
        """As a program would: ``execute_command``, or a pipeline with or without a transaction."""
        if how == "each":
            return [self._settled(self._one(command)) for command in commands]
        with self._client.pipeline(transaction=how == "multi") as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            return [self._settled(reply) for reply in pipeline.execute(raise_on_error=False)]

    def _one(self, command: Sequence[bytes]) -> Any:
        try:
            return self._client.execute_command(*command)
        except self._error as error:
            return error

    def _settled(self, reply: Any) -> Any:
        if isinstance(reply, list):
            return [self._settled(one) for one in reply]
        if isinstance(reply, self._error):
            # A pipeline puts its own words in front of the server's.
            return ErrorReply(str(reply).rpartition("caused error: ")[2])
        return reply

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


class Node(Driver):
    """node's ``redis`` package, in a process that answers a line for each line."""

    def __init__(self, socket: str, protocol: int) -> None:
        program = shutil.which("node")
        if program is None:
            pytest.skip("there is no node on the PATH; install one (apt-get install nodejs npm)")
        if not (NODE_PACKAGES / "redis").is_dir():
            pytest.skip("node's redis package is not here; `python3 binder/here.py test` installs it where npm is")
        script = Path(__file__).with_name("drive.mjs")
        self._process = subprocess.Popen(
            [program, str(script), socket, str(protocol)],
            env={**os.environ, "NODE_PATH": str(NODE_PACKAGES)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, commands: Commands, how: How) -> list[Any]:
        """``sendCommand``, awaited one by one or together, or ``multi()``."""
        words = [[base64.b64encode(word).decode() for word in command] for command in commands]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"how": how, "commands": words}) + "\n")
        self._process.stdin.flush()
        replies: list[Any] = [self._settled(reply) for reply in json.loads(self._process.stdout.readline())]
        return replies

    def _settled(self, reply: Any) -> Any:
        if isinstance(reply, list):
            return [self._settled(one) for one in reply]
        if isinstance(reply, dict):
            return ErrorReply(reply["error"]) if "error" in reply else base64.b64decode(reply["bytes"])
        return reply

    def close(self) -> None:
        """Close its standard input, which ends it."""
        self._process.communicate(timeout=60)


def _valkey() -> ModuleType:
    try:
        return importlib.import_module("valkey")
    except ImportError:
        pytest.skip(f"there is no valkey-py; run {sys.executable} -m pip install valkey")


_MAKERS = {
    "redis-cli": RedisCli,
    "redis-py": lambda socket, protocol: FromPython(redis, socket, protocol),
    "valkey-py": lambda socket, protocol: FromPython(_valkey(), socket, protocol),
    "node": Node,
}

#: Every client with every protocol, such as ``("node", 3)``.
CLIENTS = [(client, protocol) for client in _MAKERS for protocol in (2, 3)]


def open_driver(client: str, protocol: int, socket: str) -> Driver:
    """The client of that name on the server at ``socket``; the test is skipped, with the cure, where it is missing."""
    driver: Driver = _MAKERS[client](socket, protocol)
    return driver
