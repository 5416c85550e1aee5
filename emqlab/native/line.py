"""One connection as the optimistic host uses it: packets of commands, and what is known for as long as it lives."""

from typing import Any

from emqlab.native.host import Refusal
from emqlab.replies import ERROR_REPLIES, ErrorReply, error_reply, settled

Command = tuple[bytes, ...]


class Known:
    """What holds for as long as one connection lives: that it may run transactions, and its server's epoch."""

    def __init__(self) -> None:
        self.transacts = False
        self.run_id: bytes | None = None

    def forget(self, connection: Any) -> None:
        """The connection was made anew."""
        self.transacts = False
        self.run_id = None


class Line:
    """One connection for the length of one try; counts its round trips."""

    def __init__(self, connection: Any, known: Known) -> None:
        self._connection = connection
        self._known = known
        self.round_trips = 0

    def ask(self, *commands: Command) -> list[Any]:
        """Send all in one packet; the replies in order, an error as an ErrorReply."""
        self.round_trips += 1
        self._connection.send_packed_command(self._connection.pack_commands(commands))
        return [self._reply() for _ in commands]

    def _reply(self) -> Any:
        try:
            return settled(self._connection.read_response())
        except ERROR_REPLIES as error:
            return error_reply(error)

    def check(self) -> None:
        """Refuse a user who may not run transactions: without MULTI, the writes behind it would be done at once."""
        if not self._known.transacts:
            for reply in self.ask((b"MULTI",), (b"EXEC",)):
                if isinstance(reply, ErrorReply):
                    self._connection.disconnect()
                    raise refusal_of(reply)
            self._known.transacts = True

    def run_id(self) -> bytes:
        """The server's epoch, asked for once a connection. Raises Refusal."""
        if self._known.run_id is None:
            (info,) = self.ask((b"INFO", b"server"))
            if isinstance(info, ErrorReply):
                raise refusal_of(info)
            self._known.run_id = next(
                line.removeprefix(b"run_id:") for line in info.splitlines() if line.startswith(b"run_id:")
            )
        return self._known.run_id


def refusal_of(reply: ErrorReply) -> Refusal:
    """An error reply as a verb raises it."""
    # A refused EXEC wraps the reason: "EXECABORT Transaction discarded because of: NOPERM …".
    _, _, reason = reply.text.partition(" because of: ")
    return Refusal((reason or reply.text).encode("utf-8", "replace"))
