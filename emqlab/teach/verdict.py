"""What a check answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

#: How much of a text a verdict holds, in characters.
LONGEST = 1_000


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """An answer, judged by a run: which ``command`` and ``field`` decided, what was ``expected``, what it ``got``.

    ``sentence`` says the same for a reader. Empty texts stand for what does not apply.
    """

    ok: bool
    command: str
    field: str
    expected: str
    got: str
    sentence: str

    def __post_init__(self) -> None:
        for name in ("command", "field", "expected", "got", "sentence"):
            object.__setattr__(self, name, _shown(getattr(self, name)))

    def __repr__(self) -> str:
        lines = [f"{'solved' if self.ok else 'not yet'}: {self.sentence}"]
        return "\n".join(lines + [f"  {name}: {value}" for name, value in self._parts()])

    def _repr_html_(self) -> str:
        parts = "".join(
            f'<tr><th scope="row" style="text-align:left">{name}</th>'
            f'<td style="text-align:left"><code>{escape(value)}</code></td></tr>'
            for name, value in self._parts()
        )
        table = f"<table><tbody>{parts}</tbody></table>" if parts else ""
        mark = "✓ Solved." if self.ok else "○ Not yet."
        return f"<p><b>{mark}</b> {escape(self.sentence)}</p>{table}"

    def _parts(self) -> list[tuple[str, str]]:
        if self.ok:
            return []
        parts = [("command", self.command), ("field", self.field), ("expected", self.expected), ("got", self.got)]
        return [(name, value) for name, value in parts if value]


class NotRun(ValueError):
    """An answer that can't be run where it is judged; ``str`` is a sentence for its reader."""


def as_text(value: object, tell: Callable[[object], str] = repr) -> str:
    """A reader's object as a text; where it can't tell itself, of which type it is."""
    try:
        return str.__str__(tell(value))
    except (Exception, SystemExit):
        return f"<{type(value).__name__} that can't be shown>"


def _shown(text: object) -> str:
    """A text that every page can show: half characters escaped, and cut where nobody reads on."""
    whole = str(text).encode("utf-8", "backslashreplace").decode()
    return whole if len(whole) <= LONGEST else f"{whole[:LONGEST]} …"


def could_not(error: Exception) -> Verdict:
    """A verdict on an answer that broke while it was run, or that could not be."""
    if isinstance(error, NotRun):
        return Verdict(False, "", "", "", "", str(error))
    why = " ".join(as_text(error, str).split())[:200].rstrip(".")
    return Verdict(False, "", "", "", "", f"This could not be run ({type(error).__name__}: {why}).")
