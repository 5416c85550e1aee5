"""What a server's clock can show, and a clock that stands still until it is moved."""

from emqlab.errors import EmqError

START_MS = 1_795_952_314_485

#: Servers count from 1970: with a time before it a Redis 7.0 soon knows its own commands no more. Not 0, by which the
#: clock of a real server is told to run.
EARLIEST_MS = 1
#: Up to here a deadline is a number that a score holds exactly, and its microseconds fit into 64 bits.
LATEST_MS = 9 * 10**15


class NoSuchTime(EmqError, ValueError):
    """A time that no server's clock can show. One sentence that says which ones it can."""


def shown(at_ms: int) -> int:
    """``at_ms`` since 1970, if a server's clock can show it. Raises NoSuchTime."""
    if not EARLIEST_MS <= at_ms <= LATEST_MS:
        raise NoSuchTime(
            f"a server's clock can't show {at_ms} ms since 1970, only {EARLIEST_MS} to {LATEST_MS}; move it less far"
        )
    return at_ms


class VirtualClock:
    """Server time in whole ms since 1970. It moves only when told."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """The time it shows."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Move it by ``ms``, forwards or (negative) backwards. Raises NoSuchTime."""
        self._now_ms = shown(self._now_ms + ms)

    def time(self) -> float:
        """The same as seconds, in the shape of ``time.time``."""
        return self._now_ms / 1000
