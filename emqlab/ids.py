"""Job ids: a kind and a 63-bit snowflake in base62, so that byte order is mint order (SPEC 2)."""

import re
import threading
from collections.abc import Callable

from emqlab.errors import EmqError

EPOCH_MS = 1_704_067_200_000
KIND = b"JOB"
NODES = 1 << 10
SEQUENCES = 1 << 12
#: Up to this time, in the year 2093, an id has room for it.
LATEST_MS = EPOCH_MS + (1 << 41) - 1

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WIDTH = 11
_LARGEST = (1 << 63) - 1
_SHAPE = re.compile(rb"[A-Z]{3}[0-9A-Za-z]{11}")


def encode(number: int) -> bytes:
    """Eleven base62 characters for a snowflake of 0 to 2^63-1.

    Raises ValueError outside that range.
    """
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"a snowflake is 0 to {_LARGEST}, not {number}")
    out = bytearray()
    for _ in range(_WIDTH):
        number, digit = divmod(number, 62)
        out.append(_DIGITS[digit])
    out.reverse()
    return bytes(out)


def decode(text: bytes) -> int:
    """The snowflake behind eleven base62 characters.

    Raises ValueError when the length, a character or the size is wrong.
    """
    if len(text) != _WIDTH:
        raise ValueError(f"an id's number has {_WIDTH} characters, not {len(text)}")
    number = 0
    for char in text:
        digit = _DIGITS.find(char)
        if digit < 0:
            raise ValueError(f"{chr(char)!r} is no base62 character")
        number = number * 62 + digit
    if number > _LARGEST:
        raise ValueError(f"{text.decode()} is beyond 63 bits; the largest id number is AzL8n0Y58m7")
    return number


def check(job_id: str | bytes) -> bytes:
    """A job id as bytes: three capitals and eleven base62 characters, 14 bytes in all.

    Raises TypeError when it is neither str nor bytes, ValueError when it has another shape.
    """
    if not isinstance(job_id, (str, bytes)):
        raise TypeError(f"id must be a str or bytes, not {type(job_id).__name__}")
    raw = job_id.encode("utf-8", "surrogatepass") if isinstance(job_id, str) else job_id
    if not _SHAPE.fullmatch(raw):
        raise ValueError(f"id must be three of A-Z and eleven of 0-9 A-Z a-z, not {job_id!r}")
    try:
        decode(raw[3:])
    except ValueError as error:
        raise ValueError(f"id {job_id!r} is not one: {error}") from None
    return raw


class NoIdLeft(EmqError, ValueError):
    """The clock is past the last time that an id can hold. One sentence that says what to do."""


class Mint:
    """Hands out ids that never fall and never repeat, also when the clock stands still or steps back.

    ``now_ms`` gives the time in ms since 1970; ``node`` is 0-1023.
    """

    def __init__(self, now_ms: Callable[[], int], node: int = 0) -> None:
        if not 0 <= node < NODES:
            raise ValueError(f"node must be 0 to {NODES - 1}, not {node}")
        self._now_ms = now_ms
        self._node = node
        self._last = (0, -1)
        self._lock = threading.Lock()

    def next(self) -> bytes:
        """The next ``JOB…`` id. Safe to call from several threads. Raises NoIdLeft, and is as it was then."""
        with self._lock:
            now, (last, sequence) = self._now_ms() - EPOCH_MS, self._last
            if now > last:
                last, sequence = now, 0
            elif sequence + 1 < SEQUENCES:
                sequence += 1
            else:
                # All numbers of this millisecond are spent: borrow the next one rather than wait for it.
                last, sequence = last + 1, 0
            if last > LATEST_MS - EPOCH_MS:
                raise NoIdLeft(
                    f"the clock shows {EPOCH_MS + last} ms since 1970, and ids have room up to {LATEST_MS}, in the year"
                    " 2093; move it back, or give the job an id of your own"
                )
            self._last = (last, sequence)
        return KIND + encode(last << 22 | self._node << 12 | sequence)
