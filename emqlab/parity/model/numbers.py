"""How three readers take a number's text: HINCRBY, Lua's ``tonumber`` and the native verbs' arguments."""

import re
from decimal import Decimal

LARGEST = 2**63 - 1
SMALLEST = -(2**63)

_CANONICAL = re.compile(rb"0|-?[1-9][0-9]{0,18}")
_DIGITS = re.compile(rb"0|[1-9][0-9]{0,18}")
_LUA = re.compile(
    rb"[ \t\n\v\f\r]*(?:"
    rb"(?P<hex>[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    rb"|(?P<decimal>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)"
    rb"|(?P<word>[+-]?(?:inf(?:inity)?|nan))(?:(?<=n)\([0-9a-z_]*\))?"
    rb")[ \t\n\v\f\r]*",
    re.IGNORECASE,
)


def stored_integer(text: bytes) -> int | None:
    """What HINCRBY reads in a field: a canonical signed 64-bit decimal, else None.

    Source: https://valkey.io/commands/hincrby/
    """
    if not _CANONICAL.fullmatch(text):
        return None
    number = int(text)
    return number if SMALLEST <= number <= LARGEST else None


def whole_number(text: bytes, least: int) -> int | None:
    """A native verb's argument: ASCII digits from ``least`` to 2^63-1 without a leading zero, else None (SPEC 5.1)."""
    if not _DIGITS.fullmatch(text):
        return None
    number = int(text)
    return number if least <= number <= LARGEST else None


def tonumber(text: bytes) -> float | None:
    """Lua 5.1's ``tonumber``: what C's strtod takes, hex included, blanks around it, as far as the first zero byte.

    Source: https://www.lua.org/manual/5.1/manual.html#pdf-tonumber
    """
    found = _LUA.fullmatch(text.partition(b"\0")[0])
    if found is None:
        return None
    if found["hex"] is None:
        return float(found["decimal"] or found["word"])
    try:
        return float.fromhex(found["hex"].decode())
    except OverflowError:
        return float("-inf" if found["hex"].startswith(b"-") else "inf")


def limit(number: float) -> int | None:
    """The count that ZRANGEBYSCORE reads in a Lua number that a script passes on, None when it is no integer to it.

    As Valkey prints the number: in its shortest digits, without an exponent. Redis 7.0 prints ``%.17g``, and so takes
    neither -0.0 nor a count from 1e17 on.
    """
    if not number.is_integer():
        return None
    count = int(number) if abs(number) <= 2**62 else int(Decimal(repr(number)))
    return count if SMALLEST <= count <= LARGEST else None


def integer_reply(number: float) -> int:
    """The integer that a server replies for a Lua number; from 2^63 on what an x86 cast makes of it, -2^63."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else SMALLEST
