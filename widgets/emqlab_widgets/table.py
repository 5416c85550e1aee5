"""A small table that stands in a notebook without a kernel: HTML and plain text, the same for the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from emqlab_widgets.picture import printable

CELL = 'style="text-align:left;vertical-align:top;padding:2px 12px 2px 0"'

#: From so many characters on a cell is a sentence, which wraps.
LONG = 40


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """A caption, a heading a column, and rows of texts; the first cell of a row is its heading."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<p><b>{_safe(self.caption)}</b></p>"
        head = "".join(
            f'<th scope="col" {CELL[:-1]}{width}">{_safe(one)}</th>'
            for one, width in zip(self.head, self._widths(), strict=True)
        )
        body = "".join(
            f'<tr><th scope="row" {CELL}>{_safe(first)}</th>'
            + "".join(f"<td {CELL}>{_safe(one)}</td>" for one in rest)
            + "</tr>"
            for first, *rest in self.rows
        )
        thead = f"<thead><tr>{head}</tr></thead>" if any(self.head) else ""
        caption = f'<caption style="text-align:left;white-space:nowrap"><b>{_safe(self.caption)}</b></caption>'
        return f'<table style="margin:8px 0">{caption}{thead}<tbody>{body}</tbody></table>'

    def _widths(self) -> list[str]:
        """For each column a style: columns of sentences share the width, else the longest takes it from the others."""
        long = [max(len(row[place]) for row in self.rows) > LONG for place in range(len(self.head))]
        return [f";width:{84 // sum(long)}%" if one and sum(long) > 1 else "" for one in long]

    def __repr__(self) -> str:
        lines = [[printable(cell) for cell in row] for row in ([self.head] if any(self.head) else []) + [*self.rows]]
        widths = [max(len(row[place]) for row in lines) for place in range(len(lines[0]))] if lines else []
        told = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in lines]
        return "\n".join([self.caption, *(f"  {line}".rstrip() for line in told)])


def _safe(text: str) -> str:
    return escape(printable(text))
