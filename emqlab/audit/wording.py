"""How a sentence shows a name, a value, a list of sets."""

from collections.abc import Iterable

from emqlab.observe.case import escaped

_LONGEST = 40


def shown(value: bytes) -> str:
    """Bytes on one line, safe for a terminal."""
    return escaped(value.decode("utf-8", "backslashreplace"))


def quoted(value: bytes) -> str:
    """A value in quotes, cut where it is long."""
    text = shown(value)
    return f"'{text}'" if len(text) <= _LONGEST else f"'{text[:_LONGEST]}…'"


def listed(names: Iterable[bytes]) -> str:
    """Sets by their names: ``active and pending``."""
    return " and ".join(sorted(map(shown, names)))
