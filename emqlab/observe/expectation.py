"""What a case expects, checked before anything is run (SPEC 8, 9)."""

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emqlab.observe.case_reader import Reader

#: How deep a reply may be nested.
DEEPEST_REPLY = 64
#: A score as servers print and take it, or a time.
_SCORE = re.compile(
    r"@now(?:[+-]\d{1,19})?|[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?|[+-]?(?i:inf|infinity)", re.ASCII
)
_EXECUTORS = ("scripted", "native")
_OUTCOMES = ("ok", "error", "unsupported")


def checked_expectation(expected: Any, reader: "Reader") -> dict[str, Any]:
    """A case's ``expect``, as it is. Raises BadCase for what no run could be compared with."""
    if not isinstance(expected, dict):
        raise reader.wrong("expect", "an object", expected)
    for executor, parts in expected.items():
        at = f"expect.{executor}"
        if executor not in _EXECUTORS:
            raise reader.bad(at, "the executors are scripted and native")
        if not isinstance(parts, dict) or set(parts) - {"replies", "keys"}:
            raise reader.bad(at, "must be an object with replies, keys or both")
        _replies(f"{at}.replies", parts.get("replies", []), reader)
        _keys(f"{at}.keys", parts.get("keys", {}), reader)
    return expected


# ---------------------------------------------------------------- replies


def _replies(at: str, replies: Any, reader: "Reader") -> None:
    if not isinstance(replies, list):
        raise reader.wrong(at, "a list of replies", replies)
    for i, reply in enumerate(replies):
        if not isinstance(reply, dict) or len(reply) != 1 or set(reply) - set(_OUTCOMES):
            raise reader.bad(f"{at}[{i}]", f"must be one of {', '.join(_OUTCOMES)}")
        ((outcome, value),) = reply.items()
        if outcome == "ok":
            _value(f"{at}[{i}].ok", value, reader, 1)
        elif not isinstance(value, str):
            raise reader.wrong(f"{at}[{i}].{outcome}", "a text", value)


def _value(at: str, value: Any, reader: "Reader", depth: int) -> None:
    """A value inside ``{"ok": …}``: a number, null, a string, a list of these; an error may stand in a list."""
    if isinstance(value, list):
        if depth > DEEPEST_REPLY:
            raise reader.bad(at, f"nested deeper than {DEEPEST_REPLY}")
        for item in value:
            _value(at, item, reader, depth + 1)
    elif isinstance(value, dict) and set(value) == {"error"} and depth > 1:
        if not isinstance(value["error"], str):
            raise reader.wrong(at, "an error's text", value["error"])
    elif isinstance(value, (str, dict)):
        reader.text(at, value)
    elif value is not None and not _is_number(value):
        raise reader.wrong(at, "a number, null, a string or a list of these", value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or math.isfinite(value)


# ---------------------------------------------------------------- keys


def _keys(at: str, keys: Any, reader: "Reader") -> None:
    if not isinstance(keys, dict):
        raise reader.wrong(at, "an object of keys", keys)
    for name, held in keys.items():
        _key(f"{at}.{name}", held, reader)


def _key(at: str, held: Any, reader: "Reader") -> None:
    if not isinstance(held, dict) or not {"type", "value"} <= set(held):
        raise reader.bad(at, "must have type and value")
    unknown = sorted(set(held) - {"type", "ttl_ms", "value"})
    if unknown:
        raise reader.bad(f"{at}.{unknown[0]}", "no such field of a key; it has type, ttl_ms and value")
    kept = held["type"]
    if not isinstance(kept, str) or kept not in _VALUES:
        raise reader.bad(f"{at}.type", f"must be one of {', '.join(_VALUES)}")
    ttl_ms = held.get("ttl_ms", -1)
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int):
        raise reader.wrong(f"{at}.ttl_ms", "a whole number of milliseconds, -1 for none", ttl_ms)
    _VALUES[kept](f"{at}.value", held["value"], reader)


def _string(at: str, value: Any, reader: "Reader") -> None:
    reader.text(at, value)


def _texts(at: str, value: Any, reader: "Reader") -> None:
    reader.texts(at, value)


def _hash(at: str, value: Any, reader: "Reader") -> None:
    for i, pair in enumerate(_pairs(at, value, reader)):
        reader.text(f"{at}[{i}][1]", pair[1])


def _zset(at: str, value: Any, reader: "Reader") -> None:
    for i, (_, score) in enumerate(_pairs(at, value, reader)):
        place = f"{at}[{i}][1]"
        if isinstance(score, str):
            if not _SCORE.fullmatch(score):
                raise reader.bad(place, f"{score!r} is no score; give a number or @now, @now+n, @now-n")
        elif not _is_number(score):
            raise reader.wrong(place, "a score: a number or a text of one", score)
        elif abs(score) >= 1e308:
            raise reader.bad(place, "is too large for a score")


def _pairs(at: str, value: Any, reader: "Reader") -> list[Any]:
    """Pairs whose first parts, fields or members, are strings that differ."""
    if not isinstance(value, list):
        raise reader.wrong(at, "a list of pairs", value)
    seen: set[bytes] = set()
    for i, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            raise reader.bad(f"{at}[{i}]", "must be a pair: a list of two")
        name = reader.raw(f"{at}[{i}][0]", pair[0])
        if name in seen:
            raise reader.bad(f"{at}[{i}][0]", f"{pair[0]!r} is there twice")
        seen.add(name)
    return value


#: What a key may hold -> the check of its value. A stream's is not looked at and told as an empty list.
_VALUES: dict[str, Callable[[str, Any, "Reader"], None]] = {
    "string": _string,
    "hash": _hash,
    "zset": _zset,
    "set": _texts,
    "list": _texts,
    "stream": _texts,
}
