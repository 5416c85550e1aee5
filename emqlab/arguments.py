"""What a caller gives to the methods, checked and as it is sent: types and ranges before anything leaves (SPEC 11)."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from emqlab import ids

I64_MAX = 2**63 - 1
POLICIES = ("fp", "id")

#: What a token may be given as: the number, or its text.
Token = int | bytes


def number(name: str, value: int, least: int) -> bytes:
    """A count or a time in ms as it is sent, from ``least`` to 2^63-1. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not least <= value <= I64_MAX:
        raise ValueError(f"{name} must be from {least} to {I64_MAX}, not {value}")
    return b"%d" % value


def token(value: Token) -> bytes:
    """A token, as it is compared. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, bytes)):
        raise TypeError(f"token must be an int or the bytes of one, not {type(value).__name__}")
    if isinstance(value, int) and not -I64_MAX - 1 <= value <= I64_MAX:
        raise ValueError("token must be a 64-bit integer, as attempts is")
    return value if isinstance(value, bytes) else b"%d" % value


def text(name: str, value: bytes | str) -> bytes:
    """Any bytes, or text as UTF-8. Raises TypeError, ValueError."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{name} must be text that UTF-8 can write, or bytes") from None
    if not isinstance(value, bytes):
        raise TypeError(f"{name} must be bytes or str, not {type(value).__name__}")
    return value


def pairs(value: Any) -> list[tuple[bytes, bytes]]:
    """The (id, token) of many leases, at least one. Raises TypeError, ValueError."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError("pairs must be a sequence of (id, token)")
    checked = []
    for pair in value:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError("pairs must be a sequence of (id, token)")
        checked.append((ids.check(pair[0]), token(pair[1])))
    if not checked:
        raise ValueError("pairs must hold at least one (id, token)")
    return checked


def group(value: bytes | str) -> bytes:
    """The name of a lane, at least one byte. Raises TypeError, ValueError."""
    name = text("group", value)
    if not name:
        raise ValueError("group must not be empty")
    return name


def policy(value: str | None) -> bytes:
    """What a child's death does to its parent; empty for the default. Raises TypeError, ValueError."""
    if value is None:
        return b""
    if not isinstance(value, str):
        raise TypeError(f"policy must be a str, not {type(value).__name__}")
    if value not in POLICIES:
        raise ValueError(f"policy must be 'fp' (the parent fails too) or 'id' (it goes on without), not {value!r}")
    return value.encode()


def children(value: Any, mint: Callable[[], bytes], parent: bytes) -> list[tuple[bytes, bytes]]:
    """The (id, payload) of a flow's children, an id minted where none is given. Raises TypeError, ValueError."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError("children must be a sequence of payloads, or of (id, payload)")
    checked = []
    for child in value:
        if isinstance(child, (tuple, list)):
            if len(child) != 2:
                raise TypeError("children must be a sequence of payloads, or of (id, payload)")
            checked.append((ids.check(child[0]), text("payload", child[1])))
        else:
            checked.append((mint(), text("payload", child)))
    if not checked:
        raise ValueError("children must hold at least one: a flow's parent waits for somebody")
    everybody = [parent, *(job_id for job_id, _ in checked)]
    for job_id in everybody:
        if everybody.count(job_id) > 1:
            raise ValueError(f"the id {job_id.decode()} is there twice; every job of a flow has one of its own")
    return checked


def due(in_ms: int | None, at_ms: int | None) -> tuple[bytes, bytes]:
    """Mode and value of a due time. Raises TypeError, ValueError."""
    if (in_ms is None) == (at_ms is None):
        raise TypeError("give either in_ms or at_ms")
    if in_ms is not None:
        return b"in", number("in_ms", in_ms, 0)
    assert at_ms is not None
    return b"at", number("at_ms", at_ms, 0)
