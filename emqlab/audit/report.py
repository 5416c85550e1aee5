"""An audit for a terminal of 100 columns."""

import textwrap
from collections.abc import Iterator
from itertools import groupby

from emqlab.audit.findings import SEVERITIES, Audit, Finding
from emqlab.audit.wording import named, plural, shown

_COLUMNS = 100
_CODE = 17
#: How many findings of one code are written out.
_SHOWN = 10


def table(audit: Audit, title: str = "") -> str:
    """The queue (with ``title`` behind its name) and its counts, then its findings, the worst first."""
    lines = [_head(audit, title)]
    for severity in SEVERITIES:
        some = [finding for finding in audit.findings if finding.severity == severity]
        if some:
            lines += ["", severity, *_group(some)]
    return "\n".join([*lines, "", _sum(audit)])


def _head(audit: Audit, title: str) -> str:
    count = audit.counts
    rows = plural(count["rows"], "row")
    held = (
        f"{count['pending']:,} pending, {count['active']:,} active ({count['expired']:,} expired),"
        f" {count['schedule']:,} scheduled ({count['due']:,} due), {count['dead']:,} dead; {rows}"
    )
    where = f" {title}" if title else ""
    return f"{shown(audit.queue)}{where}\n{held}"


def _sum(audit: Audit) -> str:
    if not audit.findings:
        return "nothing found" + ("" if any(audit.counts.values()) else "; the queue is empty")
    counted = ((severity, sum(f.severity == severity for f in audit.findings)) for severity in SEVERITIES)
    number = len(audit.findings)
    parts = ", ".join(f"{many:,} {severity}" for severity, many in counted if many)
    return f"{plural(number, 'finding')}: {parts}"


def _group(findings: list[Finding]) -> Iterator[str]:
    for code, alike in groupby(findings, key=lambda finding: finding.code):
        some = list(alike)
        for finding in some[:_SHOWN]:
            yield from _lines(finding)
        if len(some) > _SHOWN:
            yield f"  {code:<{_CODE}}… and {len(some) - _SHOWN:,} more; --json lists them all"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"  {finding.code:<{_CODE}}{named(finding.name)}"
    yield from _wrapped(finding.sentence, "")
    for label, told in (("scripted", finding.scripted), ("native", finding.native)):
        if told is not None:
            yield from _wrapped(told, label)


def _wrapped(text: str, label: str) -> list[str]:
    """The text in its column, a label of ten columns before its first line if there is one."""
    indent = " " * (2 + _CODE)
    first, rest = (f"{indent}{label:<10}", indent + " " * 10) if label else (indent, indent)
    return textwrap.wrap(text, _COLUMNS, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
