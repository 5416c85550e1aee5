"""The lock by which a case keeps others out of its queue on a user's server: the commands, for the server to send."""

import secrets

from emqlab.servers.bounds import lock_key

Command = tuple[bytes | str | int, ...]

#: Longer than any case takes; whoever was killed keeps the queue no longer than this.
BUSY_MS = 120_000
_LET_GO = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class QueueLock:
    """One case's lock of ``queue``: its key, and a value that nobody else's lock has."""

    def __init__(self, queue: bytes) -> None:
        self.queue = queue
        self.key = lock_key(queue)
        self._value = secrets.token_hex(16).encode()

    def rehearsal(self) -> list[Command]:
        """What letting go takes, on a lock that nobody has."""
        nobody_s = lock_key(self._value)
        return [("EVAL", _LET_GO, 1, nobody_s, self._value), ("DEL", nobody_s)]

    def take(self) -> Command:
        """Answers OK when it was free, and nil when it was not."""
        return ("SET", self.key, self._value, "NX", "PX", BUSY_MS)

    def let_go(self) -> Command:
        """Removes it if it is still this one's."""
        return ("EVAL", _LET_GO, 1, self.key, self._value)
