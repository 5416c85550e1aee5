"""What a verb asks of whoever runs it: the Host protocol, and how it refuses.

Two rules make one verb body right on every host: no read after ``begin_writes``, and a write's reply is only ever
``expect``-ed, never branched on (ARCHITECTURE.md).
"""

from typing import Any, Protocol

#: What a verb reads, writes and answers: bulk strings, integers, nil, and lists of them.
Value = bytes | int | None | list["Value"]

READ = 1
WRITE = 2

_ONE_LINE = bytes.maketrans(b"\r\n\0", b"   ")


class Refusal(Exception):
    """A verb's error reply: nothing was written. ``text`` is the whole text, code word first."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text.decode("utf-8", "replace"))
        self.text = text

    @property
    def line(self) -> bytes:
        """The text as a reply: one line, whatever a foreign wire version holds."""
        return self.text.translate(_ONE_LINE)


class Host(Protocol):
    """The server, as one verb sees it for the length of one call."""

    def fence(self) -> None:
        """Refuse unless ``{emq}:version``, read as the caller, is absent or ours."""

    def open(self, key: bytes, access: int) -> None:
        """Refuse (NOPERM) unless the caller may READ or WRITE ``key``; for keys outside the command's key spec."""

    def read(self, cmd: bytes, *args: bytes) -> Any:
        """Run one read and answer as the server does: bytes, int, None or a list; an error reply refuses."""

    def begin_writes(self) -> None:
        """The write guard: every answer is known, nothing is read from here on."""

    def write(self, cmd: bytes, *args: bytes) -> Value:
        """Run one write. The reply is for ``expect`` only."""

    def expect(self, want: Value, got: Value) -> None:
        """Hold a write's reply (of a list, its first element) to what was predicted, else ``EMQHOST``."""

    def now_ms(self) -> int:
        """The clock the server froze for this command, ms since 1970. Asked once a verb."""

    def run_id(self) -> bytes:
        """The epoch: 40 hex characters, new at every start of the server."""
