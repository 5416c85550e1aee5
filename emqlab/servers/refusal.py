"""A start that failed: its errors, and the server's own words out of its log."""

import re
from pathlib import Path

from emqlab.errors import EmqError

#: What a server says when all is well, or of the machine.
_CHATTER = ("WARNING", "oO0O", "Server initialized", "Running mode", "monotonic clock")
#: Only a Valkey or Redis says so: a program that does neither may be anything.
_SERVER_MARKS = ("oO0O", "FATAL CONFIG FILE ERROR")
#: A password of the lab's own, as its settings hold it.
_PASSWORD = re.compile(r"(?<=>)[0-9a-f]{64}")


def printed(log: Path, begin: int) -> str:
    """What a start has printed, after ``begin`` bytes of the log; without the lab's own password."""
    try:
        text = log.read_bytes()[begin:].decode("utf-8", "replace")
    except OSError:
        # The folder went away under the server.
        return ""
    return _PASSWORD.sub("...", text)


def is_a_servers(text: str) -> bool:
    """Whether what was printed shows that it was a Valkey or Redis that printed it."""
    return any(mark in text for mark in _SERVER_MARKS)


def reason(text: str) -> str:
    """Why it did not start, out of what it printed."""
    lines = text.splitlines()
    said = [_message(line) for line in lines if line.strip()]
    for place, line in enumerate(said):
        if "FATAL CONFIG FILE ERROR" in line:
            return ": ".join(reversed([part.removeprefix(">>> ") for part in said[place + 2 :]])) or line
    ours = [line.partition("emqlab: ")[2] for line in said if "> emqlab: " in line]
    if ours:
        # What the module itself said when it refused to be loaded is all there is to know.
        return ours[-1]
    told = [line for line in said if line and not line.startswith(_CHATTER)]
    return "; ".join(told[-3:]) or "it printed nothing"


def _message(line: str) -> str:
    """A line of a log without its process, time and level."""
    head, _, message = line.partition(" # ") if " # " in line else line.partition(" * ")
    return (message or head).strip()


class CannotStart(EmqError, ValueError):
    """A server did not start. One sentence with the server's own words."""


class Ended(CannotStart):
    """A Valkey or Redis ended before it answered; ``crashed`` if a fault of its own ended it.

    The one refusal that other modules, or another clock, may change.
    """

    def __init__(self, text: str, crashed: bool = False) -> None:
        super().__init__(text)
        self.crashed = crashed
