"""A clock that stands still until it is moved."""

START_MS = 1_795_952_314_485


class VirtualClock:
    """Server time in whole ms since 1970. It moves only when told."""

    def __init__(self, start_ms: int = START_MS) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """The time it shows."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Move it by ``ms``, forwards or (negative) backwards."""
        self._now_ms += ms

    def time(self) -> float:
        """The same as seconds, in the shape of ``time.time``."""
        return self._now_ms / 1000
