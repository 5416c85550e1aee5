"""The cheat sheet: one printed page, made of the code's own tables and of measured runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from emqlab.divergences import DIVERGENCES
from emqlab.observe.counters import READ, READ_AND_WRITTEN, UNTOUCHED, WRITTEN
from emqlab.teach import reference
from emqlab.teach.measured import COLUMNS, DELETED, Side, Verb, writers

#: How a counter was touched -> its mark, as on the stage: a circle is a read, a square is a write.
MARKS = {
    UNTOUCHED: "·",
    READ: "○",
    WRITTEN: "■",
    READ_AND_WRITTEN: "○■",
    DELETED: "×",
    f"{READ}, {DELETED}": "○×",
}
CSS = Path(__file__).with_suffix(".css")


def page(verbs: Sequence[Verb]) -> str:
    """The whole page as HTML that needs nothing beside it."""
    style = CSS.read_text(encoding="utf-8").strip()
    body = "\n".join(
        [
            "<header><h1>emqlab: the cheat sheet</h1><p>One job, four sets, one integer that fences.</p></header>",
            _verbs(verbs),
            '<div class="two even">',
            _fields(verbs),
            _keys(),
            "</div>",
            _errors(),
            _divergences(),
        ]
    )
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    title = '<title>emqlab: the cheat sheet</title><link rel="icon" href="data:,">'
    return f'<!doctype html>\n<html lang="en">\n{head}\n{title}\n<style>\n{style}\n</style>\n{body}\n</html>\n'


def _verbs(verbs: Sequence[Verb]) -> str:
    names = "".join(f'<th scope="colgroup" colspan="2" class="mark first"><code>{one}</code></th>' for one in COLUMNS)
    sides = '<th scope="col" class="mark first">S</th><th scope="col" class="mark">N</th>' * len(COLUMNS)
    first = "".join(
        f'<th scope="col" rowspan="2">{one}</th>' for one in ("verb", "script", "command", "moves the job", "token")
    )
    head = f'<tr>{first}{names}<th scope="col" rowspan="2" class="mark first">metric</th></tr><tr>{sides}</tr>'
    rows = "".join(_verb(one) for one in verbs)
    legend = " &ensp; ".join(f"<b>{MARKS[word]}</b> {word}" for word in (UNTOUCHED, READ, WRITTEN, DELETED))
    about = (
        f"S as a script, N natively, – no such verb. {legend}, with the row. Measured: each verb was run and traced."
    )
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f'<section><h2>Verbs</h2><div class="wide">{table}</div><p class="key">{about}</p></section>'


def _verb(one: Verb) -> str:
    marks = "".join(
        f'<td class="mark first">{_mark(one.scripted, name)}</td><td class="mark">{_mark(one.native, name)}</td>'
        for name in COLUMNS
    )
    metric = ", ".join(dict.fromkeys([*_metrics(one.scripted), *_metrics(one.native)]))
    token = "needed" if one.token else ""
    ways = (f"{one.script}.lua" if one.script else "–", one.command or "–")
    return (
        f'<tr><th scope="row"><code>{one.name}</code></th>{"".join(f"<td><code>{way}</code></td>" for way in ways)}'
        f'<td class="nowrap">{escape(moves(one))}</td><td>{token}</td>'
        f'{marks}<td class="mark first">{metric}</td></tr>'
    )


def _mark(side: Side | None, name: str) -> str:
    return "–" if side is None else MARKS[side.counters[name]]


def _metrics(side: Side | None) -> list[str]:
    return [] if side is None else side.metrics


def moves(one: Verb) -> str:
    """Where a verb takes the job: ``active → schedule or dead``; of each executor, where they part."""
    told = dict.fromkeys(_moves(side) for side in (one.scripted, one.native) if side is not None)
    return "; natively ".join(told)


def _moves(side: Side) -> str:
    starts = dict.fromkeys(start for start, _ in side.moves)
    return "; ".join(_from(start, [end for begin, end in side.moves if begin == start]) for start in starts)


def _from(start: str, ends: Sequence[str]) -> str:
    return f"stays in {start}" if [start] == list(ends) else f"{start} → {' or '.join(ends)}"


def _fields(verbs: Sequence[Verb]) -> str:
    rows = []
    for name, about in reference.FIELDS.items():
        by = writers(verbs, name)
        rows.append((f"<code>{name}</code>", text(about), _writers(by["scripted"], by["native"], len(verbs))))
    return _section("The row", ("field", "says", "written by"), rows)


def _writers(scripted: Sequence[str], native: Sequence[str], many: int) -> str:
    every = {*scripted, *native}
    if len(every) > many // 2:
        return "whatever moves the job"
    both = [one for one in scripted if one in native]
    alone = [f"{one} (S)" for one in scripted if one not in native] + [
        f"{one} (N)" for one in native if one not in both
    ]
    return ", ".join([*both, *alone])


def _keys() -> str:
    rows = [(f"<code>{escape(one.name)}</code>", one.type, text(one.about)) for one in reference.KEYS]
    version = reference.VERSION
    rows.append((f"<code>{version.name}</code>", version.type, text(version.about)))
    lanes = ", ".join(f"<code>{escape(one)}</code>" for one in reference.OF_LANES)
    flows = ", ".join(f"<code>{escape(one)}</code>" for one in reference.OF_FLOWS)
    about = f"All but the last begin with <code>emq:{{queue}}:</code>. Scripts only: {lanes} (lanes); {flows} (flows)."
    return _section("Keys", ("key", "type", "holds"), rows, about)


def _errors() -> str:
    rows = [
        (f"<code>{one.name}</code>", ", ".join(f"<code>{escape(said)}</code>" for said in one.replies), text(one.about))
        for one in reference.error_rows()
    ]
    return _section("Refusals", ("in Python", "the reply begins", "means"), rows)


def _divergences() -> str:
    items = "".join(f"<li>{text(sentence)}</li>" for sentence in DIVERGENCES.values())
    return f"<section><h2>Where the executors may differ: scripts; natively …</h2><ol>{items}</ol></section>"


def _section(title: str, head: Iterable[str], rows: Iterable[Sequence[str]], about: str = "") -> str:
    columns = "".join(f'<th scope="col">{one}</th>' for one in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{one}</td>" for one in rest)}</tr>' for first, *rest in rows
    )
    table = f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"
    return f"<section><h2>{title}</h2>{table}{f'<p>{about}</p>' if about else ''}</section>"


def text(sentence: str) -> str:
    """A sentence as HTML: what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence, quote=False))
