"""Exercise 02-2: which two lines of a script are its fence, tried by putting each out of action."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from emqlab.lab import Lab
from emqlab.teach.altered import copy_of, opened, own_text, reply_told, told_of
from emqlab.teach.answers import kind, no, run_of, yes
from emqlab.teach.cases.fence import CURRENT, fence
from emqlab.teach.verdict import Verdict

#: The script, and a token that is stale where ``attempts`` is 2.
FILE, STALE = "complete.lua", "1"
_NUMBER = re.compile(r"[0-9]{1,9}")
_LOCAL = re.compile(r"(\s*local \w+ = ).*")


def two_lines(lab: Lab, answer: Any) -> Verdict:
    """Two lines of ``complete.lua``, by number or text: with either out of action a stale token gets through.

    A text is a whole line, or a part that only one line has.
    """
    lines = own_text(FILE).splitlines()
    found = _numbers(answer, lines)
    if isinstance(found, Verdict):
        return found
    for number in found:
        why = _needless(lab, lines, number)
        if why is not None:
            return why
    first, second = (lines[number - 1].strip() for number in sorted(found))
    return yes(
        f"{first} fetches what the row says, and {second} compares. Blind either, and a stale token gets through."
    )


def _numbers(answer: Any, lines: list[str]) -> list[int] | Verdict:
    """Which two lines an answer names, counted from 1."""
    if isinstance(answer, str | bytes | dict) or not isinstance(answer, Iterable):
        return no(f"The answer is two lines of {FILE}, by their numbers or as texts, not {kind(answer)}.")
    given = list(islice(answer, len(lines) + 1))  # an endless one is no answer either
    found: list[int] = []
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int | str):
            return no(f"A line is a number or its text, not {kind(each)}.", field=FILE)
        at = _places(each, lines) if isinstance(each, str) else [each]
        if len(at) != 1:
            many = "no line like" if not at else f"{len(at)} lines like"
            return no(f"{FILE} has {many} {str(each).strip()[:60]!r}; give the line's number.", field=FILE)
        if not 1 <= at[0] <= len(lines):
            return no(f"{FILE} has the lines 1 to {len(lines)}, and no line {at[0]}.", field=FILE)
        found += at
    if len(set(found)) != 2 or len(found) != 2:
        got = f"{len(set(found))} line{'s' if len(set(found)) != 1 else ''}"
        return no(f"Two lines are asked for, and this is {got}.", field=FILE, expected="2 lines", got=got)
    return found


def _places(told: str, lines: list[str]) -> list[int]:
    """The numbers of the lines that a text may stand for: a whole line, a number as a text, or a part of lines."""
    told = told.strip()
    whole = [number for number, line in enumerate(lines, 1) if line.strip() == told]
    if whole:
        return whole
    if _NUMBER.fullmatch(told):
        return [int(told)]
    return [number for number, line in enumerate(lines, 1) if told in line]


def _blinded(lines: list[str], number: int) -> Iterator[tuple[str, str]]:
    """The script with one line put out of action: left out; a local's set to what the worker has sent."""
    before, line, after = lines[: number - 1], lines[number - 1], lines[number:]
    yield f"Without line {number}", "\n".join([*before, *after])
    local = _LOCAL.fullmatch(line)
    if local:
        yield f"With line {number} made {local[1].strip()} token", "\n".join([*before, f"{local[1]}token", *after])


def _needless(lab: Lab, lines: list[str], number: int) -> Verdict | None:
    """Why a line is none of the two: without it a stale token is still refused, or the current one is refused too."""
    said: Verdict | None = None
    for how, text in _blinded(lines, number):
        try:
            copy = copy_of(FILE, text)
        except ValueError as error:
            said = said or no(f"{how} it is no script any more: {error}.", field=f"line {number}")
            continue
        with opened(copy) as changed:
            current, stale = (run_of(changed, fence("complete", token), "scripted") for token in (CURRENT, STALE))
        if reply_told(current.replies[0]) != "1":
            said = said or told_of(lab, current, f"{how} not even the current token completes.", "1")
        elif reply_told(stale.replies[0]) != "1":
            why = f"{how} a stale token is refused as before: it is not this line that keeps it out."
            said = told_of(lab, stale, why, "1")
        else:
            return None
    return said
