"""Lua's text as tokens: comments and blanks are none, a string is one (Lua 5.1, https://www.lua.org/manual/5.1/)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WORDS = "and break do else elseif end false for function if in local nil not or repeat return then true until while"
KEYWORDS = frozenset(_WORDS.split())
_TOKEN = re.compile(
    r"""
      (?P<blank>\s+ | --\[(?P<level>=*)\[.*?\](?P=level)\] | --[^\n]*)
    | (?P<string>'(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" | \[(?P<long>=*)\[.*?\](?P=long)\])
    | (?P<number>0[xX][0-9a-fA-F]+ | \d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<sign>\.\.\.|\.\.|==|~=|<=|>=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind (string, number, name, keyword, sign), its text and where it stands in the whole text."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """All tokens of a Lua text, in order."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if match.group("blank") is not None:
            continue
        kind = next(name for name in ("string", "number", "name", "sign") if match.group(name) is not None)
        word = match.group()
        if kind == "name" and word in KEYWORDS:
            kind = "keyword"
        found.append(Token(kind, word, match.start(), match.end()))
    return found


def partners(tokens: Sequence[Token]) -> dict[int, int]:
    """The place of each bracket's other one, both ways."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in _OPENING:
            opened.append(place)
        elif opened and token.text == _OPENING[tokens[opened[-1]].text]:
            first = opened.pop()
            found[first], found[place] = place, first
    return found
