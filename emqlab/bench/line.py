"""One connection that sends prepared commands, and reads the server's own account of what they took."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from emqlab.replies import ERROR_REPLIES, error_reply


@dataclass(frozen=True, slots=True)
class Packed:
    """Commands as the bytes that are sent, made once: they are sent again every round."""

    chunks: list[bytes]
    count: int


@dataclass(frozen=True, slots=True)
class Account:
    """What a server says of one of its commands since it was started: calls, microseconds in them, failures."""

    calls: int = 0
    usec: int = 0
    failed: int = 0

    def since(self, before: "Account") -> "Account":
        """What came on top of ``before``."""
        return Account(self.calls - before.calls, self.usec - before.usec, self.failed - before.failed)


class Line:
    """A connection out of ``pool``, held until it is closed. An error reply is answered as an ErrorReply."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._connection = pool.get_connection()

    def __enter__(self) -> "Line":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(broken=error is not None)

    def close(self, *, broken: bool = False) -> None:
        """Give the connection back; a ``broken`` one, which may have replies to come, is closed."""
        if broken:
            self._connection.disconnect()
        self._pool.release(self._connection)

    def pack(self, commands: Iterable[Sequence[bytes]]) -> Packed:
        """The commands, ready to be sent many times."""
        listed = list(commands)
        return Packed(list(self._connection.pack_commands(listed)), len(listed))

    def send(self, packed: Packed) -> list[Any]:
        """Send them in one go; their replies in order."""
        if packed.count:
            self._connection.send_packed_command(packed.chunks)
        return [self._reply() for _ in range(packed.count)]

    def ask(self, *command: bytes) -> Any:
        """The reply to one command."""
        return self.send(self.pack([command]))[0]

    def account(self, command: str) -> Account:
        """The server's account of ``command``, a name in lower case. Raises PermissionError where INFO is refused."""
        reply = self.ask(b"INFO", b"commandstats")
        if not isinstance(reply, bytes):
            raise PermissionError(f"the server keeps its account of commands to itself ({reply.text}); give +info")
        for line in reply.decode().splitlines():
            name, _, told = line.partition(":")
            if name == f"cmdstat_{command}":
                parts = dict(part.split("=") for part in told.split(","))
                return Account(int(parts["calls"]), int(parts["usec"]), int(parts.get("failed_calls", 0)))
        return Account()

    def _reply(self) -> Any:
        try:
            return self._connection.read_response()
        except ERROR_REPLIES as error:
            return error_reply(error)
