"""The rules that the verbs share: integers, arguments, layout, types. In the same subset as the verbs.

Sources: SPEC 3 (HINCRBY's integer rule), SPEC 5.1; https://valkey.io/commands/hincrby/
"""

from collections.abc import Sequence

from emqlab.native import texts
from emqlab.native.host import READ, WRITE, Host, Refusal

I64_MAX = 9223372036854775807
JOB = b"job:"


def integer(raw: bytes) -> int | None:
    """A canonical signed 64-bit decimal as a number, or None: no sign but ``-``, no blank, no leading zero."""
    digits = raw
    if raw[:1] == b"-":
        digits = raw[1:]
    if len(digits) > 19 or not digits.isdigit():
        return None
    if digits[:1] == b"0":
        if raw == b"0":
            return 0
        return None
    number = int(raw)
    if number > I64_MAX or number < -I64_MAX - 1:
        return None
    return number


def counted(stored: bytes | None, by: int) -> int:
    """What ``HINCRBY key field by`` will answer for a field that holds ``stored``; ``by`` is at least 1.

    Refuses with the server's own text where the increment would.
    """
    if stored is None:
        return by
    number = integer(stored)
    if number is None:
        raise Refusal(texts.NOT_INTEGER)
    if number > I64_MAX - by:
        raise Refusal(texts.OVERFLOW)
    return number + by


def arity(verb: bytes) -> bytes:
    """The server's text for a wrong number of arguments; ``verb`` in lower case, as ``emq.claim``."""
    return texts.ARITY_HEAD + verb + texts.ARITY_TAIL


def shape(args: Sequence[bytes], verb: bytes, keys: bytes, count: int) -> None:
    """Refuse unless ``args`` is ``keys`` (the numkeys, as text) and exactly ``count`` keys and arguments."""
    if len(args) != count + 1 or args[0] != keys:
        raise Refusal(arity(verb))


def number(raw: bytes, name: bytes, least: int) -> int:
    """An argument as a number from ``least`` (0 or 1) to 2^63-1: ASCII digits, no sign, no leading zero."""
    value = integer(raw)
    if value is None or value < least:
        if least == 0:
            raise Refusal(texts.ARGS + name + texts.WHY_NATURAL)
        raise Refusal(texts.ARGS + name + texts.WHY_POSITIVE)
    return value


def mode_of(raw: bytes) -> bytes:
    """``in`` or ``at``; anything else is refused."""
    if raw != b"in" and raw != b"at":
        raise Refusal(texts.ARGS_MODE)
    return raw


def sound_base(base: bytes) -> bytes:
    """A queue's base ``emq:{q}:`` with a queue name in it; anything else is refused."""
    if len(base) < 8 or base[:5] != b"emq:{" or base[len(base) - 2 :] != b"}:":
        raise Refusal(texts.ARGS_KEYS)
    return base


def base_before(key: bytes, name: bytes) -> bytes:
    """The base in front of a set's name: ``emq:{q}:`` of ``emq:{q}:pending``."""
    cut = len(key) - len(name)
    if cut < 0 or key[cut:] != name:
        raise Refusal(texts.ARGS_KEYS)
    return sound_base(key[:cut])


def same(key: bytes, expected: bytes) -> None:
    """Refuse a key that is not where the layout puts it."""
    if key != expected:
        raise Refusal(texts.ARGS_KEYS)


def sorted_set(host: Host, key: bytes) -> None:
    """Refuse unless ``key`` can take a ZADD: a sorted set, or nothing yet."""
    kind = host.read(b"TYPE", key)
    if kind != b"zset" and kind != b"none":
        raise Refusal(texts.WRONGTYPE)


def metric(host: Host, key: bytes, by: int) -> int:
    """What counting ``by`` more under ``count`` will answer; the key is opened as the caller, to read and write."""
    host.open(key, READ)
    count = counted(host.read(b"HGET", key, b"count"), by)
    host.open(key, WRITE)
    return count


def after(now: int, value: int, name: bytes) -> int:
    """``now + value`` in ms; refused beyond 64 bits."""
    at = now + value
    if at > I64_MAX:
        raise Refusal(texts.ARGS + name + texts.WHY_BEYOND)
    return at


def flat(host: Host, row: bytes) -> None:
    """Refuse a row that belongs to a lane or a flow."""
    if host.read(b"HGET", row, b"group") is not None:
        raise Refusal(texts.LANE)
    if host.read(b"HGET", row, b"parent") is not None:
        raise Refusal(texts.FLOW)


def leased(host: Host, active: bytes, job_id: bytes) -> None:
    """Refuse a job that is not in ``active``."""
    if host.read(b"ZSCORE", active, job_id) is None:
        raise Refusal(texts.NOT_ACTIVE)


def foreign_kind(job_id: bytes) -> bool:
    """Whether an id is not in the ``JOB`` namespace."""
    return job_id[:3] != b"JOB"
