"""The glossary as a notebook of text alone, which opens rendered wherever notebooks do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from emqlab.divergences import DIVERGENCES
from emqlab.teach import reference
from emqlab.teach.dives import DIVES
from emqlab.teach.glossary import TERMS, Term
from emqlab.teach.measured import Verb
from notebooks.pages.cheat_sheet import moves

FILES = {dive.number: dive.file for dive in DIVES}


def cells(verbs: Sequence[Verb]) -> list[str]:
    """The cells' texts: a letter each, and after them the tables."""
    letters = [(letter, list(terms)) for letter, terms in groupby(TERMS, key=lambda term: term.name[0])]
    index = " · ".join(f"[{letter}](#{terms[0].anchor})" for letter, terms in letters)
    tables = "[verbs](#Table-of-verbs) · [refusals](#Table-of-refusals) · [divergences](#Table-of-divergences)"
    first = (
        "# Glossary\n\nThe words of the course, each with the dive that explains it. Back to "
        f"[the start](00_start_here.ipynb). (When a link opens this page for the first time, JupyterLab stops here; "
        f"from then on it goes to the word.)\n\n{index}\n\nTables, made from the code's own data: {tables}"
    )
    return [
        first,
        *("\n\n".join(_entry(term) for term in terms) for _, terms in letters),
        _verbs(verbs),
        _refusals(),
        _divergences(),
    ]


def _entry(term: Term) -> str:
    return f"### {term.name}\n\n{term.about} *In [{_of(term.dive)}]({FILES[term.dive]}).*"


def _of(number: str) -> str:
    return "the start" if number == "00" else f"dive {number}"


def _verbs(verbs: Sequence[Verb]) -> str:
    rows = [
        (
            f"`{one.name}`",
            f"`{one.script}.lua`" if one.script else "–",
            f"`{one.command}`" if one.command else "–",
            moves(one),
            "needed" if one.token else "",
        )
        for one in verbs
    ]
    about = "Where each takes the job was measured, by running it. What each does to the counters is on the "
    head = ("verb", "script", "command", "moves the job", "token")
    return f"## Table of verbs\n\n{about}[cheat sheet](cheat_sheet.html).\n\n{table(head, rows)}"


def _refusals() -> str:
    rows = [
        (f"`{one.name}`", ", ".join(f"`{said}`" for said in one.replies) or "–", one.about)
        for one in reference.error_rows()
    ]
    return f"## Table of refusals\n\n{table(('in Python', 'the reply begins', 'means'), rows)}"


def _divergences() -> str:
    rows = [(str(number), sentence) for number, sentence in DIVERGENCES.items()]
    head = ("", "as a script; natively …")
    return f"## Table of divergences\n\nThe executors may differ here, and nowhere else.\n\n{table(head, rows)}"


def table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown. A bar in a cell would end the cell, so it is escaped."""
    names = list(head)
    lines = [names, ["---"] * len(names), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
