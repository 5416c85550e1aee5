"""How a sentence shows a name, a value, a list of sets."""

from collections.abc import Iterable

from emqlab.observe.case import escaped

_LONGEST = 40
#: From how many seconds on a length is told in which unit of how many, and in which smaller one.
_UNITS = ((172_800, 86_400, "days", 3600, "h"), (3600, 3600, "h", 60, "min"), (60, 60, "min", 1, "s"))


def shown(value: bytes) -> str:
    """Bytes on one line, safe for a terminal."""
    return escaped(value.decode("utf-8", "backslashreplace"))


def quoted(value: bytes) -> str:
    """A value in quotes, cut where it is long."""
    text = shown(value)
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[:_LONGEST]}…'"


def named(value: bytes) -> str:
    """An id or a key's name, in quotes where nothing or blanks would be seen of it."""
    text = shown(value)
    return text if text.strip() == text != "" else f"'{text}'"


def lasting(ms: int) -> str:
    """A length of time in its two largest units: ``27 h 46 min``."""
    if ms < 1000:
        return f"{ms} ms"
    seconds = ms // 1000
    for least, size, unit, part, smaller in _UNITS:
        if seconds >= least:
            rest = seconds % size // part
            return f"{seconds // size:,} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{seconds} s"


def plural(number: int, noun: str, more: str = "") -> str:
    """How many of what: ``1 row``, ``2 rows``; ``more`` where the plural is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else more or noun + 's'}"


def listed(names: Iterable[bytes]) -> str:
    """Sets by their names: ``active and pending``."""
    return " and ".join(sorted(map(shown, names)))
