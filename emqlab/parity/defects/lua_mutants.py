"""Mutants of the Lua scripts: one small change each, made on tokens, so that comments and strings stay what they are.

There is a published mutation tool for Python and none for Lua 5.1 in Python; the operators are those of the textbooks
(comparisons, arithmetic, constants, conditions, statements), and the mistakes that scripts are prone to: the wrong key,
the wrong order of arguments, a forgotten call.
"""

import functools
from collections.abc import Iterator, Sequence

from emqlab.parity.defects.lua_tokens import KEYWORDS, Token, partners, tokens_of
from emqlab.parity.defects.sources import Mutant, mutants_of, own_sources

#: Kept for a lesson; no executor runs it.
LEFT_OUT = ("claim_v1",)

_COMPARISONS = {
    "==": ["~="],
    "~=": ["=="],
    "<=": ["<", ">"],
    ">=": [">", "<"],
    "<": ["<=", ">="],
    ">": [">=", "<="],
}
_ARITHMETIC = {"+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"]}
#: A command -> one that takes the same arguments and does something near it. Other commands would only be errors.
_NEAR_COMMANDS = {
    "HGET": "HEXISTS",
    "HINCRBY": "HSET",
    "HSET": "HSETNX",
    "LPUSH": "RPUSH",
    "RPUSH": "LPUSH",
    "ZPOPMIN": "ZPOPMAX",
    "ZRANGEBYSCORE": "ZREVRANGEBYSCORE",
    "ZREM": "ZSCORE",
}
#: After one of these words a call is part of an expression, or the head of a function.
_NOT_BEFORE_A_STATEMENT = KEYWORDS - {"then", "else", "do", "end", "repeat", "false", "true", "nil", "break"}

#: An operator's name and the changed text.
Changed = tuple[str, str]


@functools.cache
def lua_mutants() -> tuple[Mutant, ...]:
    """Every mutant of every script, file by file, from top to bottom; the same ones each time."""
    scripts = own_sources().scripts
    return tuple(
        mutant
        for name in sorted(scripts)
        if name not in LEFT_OUT
        for mutant in mutants_of(f"{name}.lua", scripts[name], changes(scripts[name]))
    )


def changes(text: str) -> list[Changed]:
    """Every change of one Lua text: the operator and the changed text, from top to bottom."""
    found = sorted(_Script(text).all(), key=lambda change: change[0])
    alike = {_meaning(text)}
    kept = []
    for _, name, changed in found:
        meaning = _meaning(changed)
        if meaning not in alike:
            alike.add(meaning)
            kept.append((name, changed))
    return kept


def _meaning(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens_of(text))


class _Script:
    """One text and its tokens. Each operator yields the place it changes, its name and the changed text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.partner = partners(self.tokens)
        self.keys = self._key_names()

    def all(self) -> Iterator[tuple[int, str, str]]:
        for place, token in enumerate(self.tokens):
            yield from self._signs(place, token)
            yield from self._words(place, token)
            yield from self._strings(place, token)
            yield from self._concatenations(place, token)
            yield from self._arguments(place, token)
            yield from self._statements(place, token)
            yield from self._conditions(place, token)

    # -- operators

    def _signs(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        if token.kind == "number":
            for by in (1, -1):
                yield self._put("NumberReplacement", place, place, str(int(token.text) + by))
        if token.kind == "sign" and self._ends_a_value(place - 1):
            for other in _COMPARISONS.get(token.text, ()):
                yield self._put("ComparisonReplacement", place, place, other)
            for other in _ARITHMETIC.get(token.text, ()):
                yield self._put("ArithmeticReplacement", place, place, other)

    def _words(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        if token.text in ("and", "or"):
            yield self._put("AndOrReplacement", place, place, "or" if token.text == "and" else "and")
        elif token.text == "not":
            yield self._put("NotDeletion", place, place, "")
        elif token.text == "tonumber" or (token.text == "floor" and self._at(place - 2) == "math"):
            first = place if token.text == "tonumber" else place - 2
            yield self._put("ConversionDeletion", first, place, "")
        elif token.text in self.keys and self._at(place - 1) == "," and self._is_command(place - 2):
            others = [name for name in self.keys if name != token.text]
            for other in others:
                yield self._put("KeyReplacement", place, place, other)

    def _strings(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        if token.kind != "string":
            return
        word = token.text[1:-1]
        if not self._is_command(place):
            yield self._put("StringReplacement", place, place, f"'{word}x'")
        elif word in _NEAR_COMMANDS:
            yield self._put("CommandReplacement", place, place, f"'{_NEAR_COMMANDS[word]}'")

    def _concatenations(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        if token.text != "..":
            return
        if self._is_whole_operand(place - 1):
            yield self._put("OperandDeletion", place - 1, place, "")
        if self._is_whole_operand(place + 1):
            yield self._put("OperandDeletion", place, place + 1, "")

    def _arguments(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        """Two names side by side in a call or a list change places."""
        alone = token.text == "," and all(self._is_listed_name(place + side, side) for side in (-1, 1))
        if alone and self._opener(place) is not None:
            swapped = f"{self._at(place + 1)}, {self._at(place - 1)}"
            yield self._put("ArgumentSwap", place - 1, place + 1, swapped)

    def _statements(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        end = self._call_statement(place)
        if end is not None:
            yield self._put("StatementDeletion", place, end, "")
        if token.text == "return":
            end = place
            while end + 1 < len(self.tokens) and self._at(end + 1) not in ("end", "else", "elseif"):
                end = self.partner.get(end + 1, end + 1)
            yield self._put("ReturnDeletion", place, end, "")

    def _conditions(self, place: int, token: Token) -> Iterator[tuple[int, str, str]]:
        if token.text in ("if", "elseif"):
            then = next(at for at in range(place, len(self.tokens)) if self._at(at) == "then")
            for value in ("true", "false"):
                yield self._put("ConditionReplacement", place + 1, then - 1, value)

    # -- what stands where

    def _put(self, name: str, first: int, last: int, new: str) -> tuple[int, str, str]:
        """The text with the tokens ``first`` to ``last`` replaced."""
        start, end = self.tokens[first].start, self.tokens[last].end
        return start, name, self.text[:start] + new + self.text[end:]

    def _at(self, place: int) -> str:
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def _kind(self, place: int) -> str:
        return self.tokens[place].kind if 0 <= place < len(self.tokens) else ""

    def _ends_a_value(self, place: int) -> bool:
        """Whether an operator after this token has two sides."""
        return self._kind(place) in ("name", "number", "string") or self._at(place) in (")", "]", "}")

    def _is_command(self, place: int) -> bool:
        """Whether this token names a server's command, first in ``redis.call``."""
        return self._at(place - 1) == "(" and self._at(place - 2) == "call"

    def _is_whole_operand(self, place: int) -> bool:
        """Whether this string or name is all of an operand: no call, no index, no field."""
        whole = self._kind(place) in ("name", "string")
        return whole and self._at(place - 1) != "." and self._at(place + 1) not in ("(", "[", ".")

    def _is_listed_name(self, place: int, side: int) -> bool:
        return self._kind(place) == "name" and self._at(place + side) in (",", "(", "{", ")", "}")

    def _opener(self, place: int) -> int | None:
        """The bracket of the call or list around a comma; None in a function's head and in ``local a, b``."""
        openers = [at for at, end in self.partner.items() if at < place < end]
        if not openers:
            return None
        inner = max(openers)
        return None if "function" in (self._at(inner - 1), self._at(inner - 2)) else inner

    def _call_statement(self, place: int) -> int | None:
        """The last token of the call that is a statement and begins here."""
        if self._kind(place) != "name":
            return None
        before = self._at(place - 1)
        starts = self._ends_a_value(place - 1) or before == "" or self._kind(place - 1) == "keyword"
        if not starts or before in _NOT_BEFORE_A_STATEMENT:
            return None
        at = place
        while self._at(at + 1) == "." and self._kind(at + 2) == "name":
            at += 2
        return self.partner.get(at + 1) if self._at(at + 1) == "(" else None

    def _key_names(self) -> Sequence[str]:
        """The names of the keys, as ``local a, b = KEYS[1], KEYS[2]`` gives them."""
        for place, token in enumerate(self.tokens):
            if token.text == "local":
                equals = next((at for at in range(place, len(self.tokens)) if self._at(at) == "="), place)
                if self._at(equals + 1) == "KEYS":
                    return [one.text for one in self.tokens[place + 1 : equals] if one.kind == "name"]
        return []
