"""Lines several columns of steps up: one common supersequence, as short as pairwise matching makes it."""

from collections.abc import Callable, Hashable, Sequence
from functools import reduce
from typing import TypeVar

Row = TypeVar("Row", bound=Hashable)


def supersequence(columns: Sequence[Sequence[Row]], rank: Callable[[Row], int] = lambda row: 0) -> list[Row]:
    """A sequence that holds every column as a subsequence; walking it greedily consumes each column whole.

    Two columns give a shortest one; more are merged from left to right. Where a match can be had in several ways the
    left column's earliest row wins. Between matches the row of the lower ``rank`` comes first, of two equal ones the
    left column's.
    """

    def merged(left: list[Row], right: list[Row]) -> list[Row]:
        out: list[Row] = []
        was_left = was_right = 0
        for at_left, at_right in [*_matches(left, right), (len(left), len(right))]:
            out += _between(left[was_left:at_left], right[was_right:at_right], rank)
            out += left[at_left : at_left + 1]
            was_left, was_right = at_left + 1, at_right + 1
        return out

    return reduce(merged, (list(column) for column in columns), [])


def _between(left: list[Row], right: list[Row], rank: Callable[[Row], int]) -> list[Row]:
    """Two runs of rows without a match, each in its own order."""
    out: list[Row] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if rank(left[i]) <= rank(right[j]):
            out.append(left[i])
            i += 1
        else:
            out.append(right[j])
            j += 1
    return out + left[i:] + right[j:]


def _worth(row: object) -> int:
    """What a match is worth: the number of matches decides, and among equals what is done beats asking the time."""
    return (1 << 20) - (row == "clock" or (isinstance(row, tuple) and row[:1] == ("clock",)))


def _matches(left: list[Row], right: list[Row]) -> list[tuple[int, int]]:
    """The places of one longest common subsequence."""
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            if left[i] == right[j]:
                longest[i][j] = longest[i + 1][j + 1] + _worth(left[i])
            else:
                longest[i][j] = max(longest[i + 1][j], longest[i][j + 1])
    found = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i][j + 1] >= longest[i + 1][j]:
            j += 1
        else:
            i += 1
    return found
