"""A report on a terminal: plain text, aligned, of 100 columns, and nothing about what was not run."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

from emqlab.divergences import DIVERGENCES
from emqlab.observe.case import EXECUTORS, escaped
from emqlab.parity.declared import DECLARED
from emqlab.parity.invariants import INVARIANTS
from emqlab.parity.tally import Result
from emqlab.parity.telling import HISTORY, Report, counted, listed

_GAP = "  "
_DIGEST = 12
#: No number, by verb and by number.
_NONE = "·"


def tell(report: Report, out: TextIO, width: int = 100) -> None:
    """Write the report to ``out``, in lines of at most ``width`` columns. What is wrong is told last, and in full."""
    lines = [f"Parity on {escaped(report.server)}, seed {report.seed}"]
    lines += [f"{headline.figure} {headline.words}" for headline in report.headlines]
    for section in (
        _layers,
        _matrix,
        _numbers,
        _hidden,
        _invariants,
        _plants,
        _mutants,
        _survivors,
        _wrong,
        _findings,
        _command,
    ):
        body = list(section(report, width))
        if body:
            lines += ["", *body]
    out.write("\n".join(lines) + "\n")


def _layers(report: Report, width: int) -> Iterator[str]:
    if not report.results:
        return
    rows = [_layer(result) for result in report.results]
    if len(rows) > 1:
        seconds = sum(result.seconds for result in report.results)
        rate = f"{report.cases / seconds:,.0f}" if seconds else "-"
        rows.append(["all", f"{report.cases:,}", "", f"{seconds:,.1f}", rate, f"{report.undeclared:,}", ""])
    yield from _table(["Layers", "cases", "of", "seconds", "cases/s", "undeclared", "digest".ljust(_DIGEST)], rows)
    if report.small_world:
        yield ""
        made = [[what, f"{worlds:,}", f"{steps:,}"] for what, (worlds, steps) in report.small_world.items()]
        yield from _table(["The exhaustive layer has", "worlds", "transitions"], made)


def _layer(result: Result) -> list[str]:
    tally = result.tally
    return [
        result.layer,
        f"{tally.cases:,}",
        "no end" if result.of is None else f"{result.of:,}",
        f"{result.seconds:,.1f}",
        f"{result.rate:,.0f}",
        f"{tally.undeclared:,}",
        result.digest[:_DIGEST],
    ]


def _matrix(report: Report, width: int) -> Iterator[str]:
    """The divergences that were seen, in as many blocks as the width asks for; a block has the rows that show any."""
    seen, tried = report.seen, report.tried
    if not seen:
        return
    yield "Divergences: how many cases of a verb showed each number"
    total = report.cases_of
    label = max(map(len, tried)) + len(_GAP) + max(len(f"{cases:,}") for cases in (*tried.values(), report.cases))
    sizes = {number: len(_GAP) + max(len(f"{total[number]:,}"), len(str(number))) for number in sorted(total)}
    for numbers in _blocks(sizes, width - label):
        rows = [
            [row, f"{cases:,}", *(f"{seen[row, number]:,}" if seen[row, number] else _NONE for number in numbers)]
            for row, cases in tried.items()
            if any(seen[row, number] for number in numbers)
        ]
        rows.append(["all", f"{report.cases:,}", *(f"{total[number]:,}" for number in numbers)])
        yield ""
        yield from _table(["", "cases", *map(str, numbers)], rows)
    if HISTORY in tried:
        yield ""
        yield "a history has twenty steps, and counts once for each number that it showed"
    agreed = {row: cases for row, cases in tried.items() if not any(seen[row, number] for number in total)}
    if agreed:
        yield from _wrapped(f"in every case alike: {listed(agreed.items())}", width)


def _blocks(sizes: Mapping[int, int], room: int) -> list[list[int]]:
    """The numbers in their order: in as few blocks as have room for them beside one another, and those alike wide."""
    fewest = _packed(sizes, room)
    for narrower in range(sum(sizes.values()) // len(fewest), room):
        evenly = _packed(sizes, narrower)
        if len(evenly) == len(fewest):
            return evenly
    return fewest


def _packed(sizes: Mapping[int, int], room: int) -> list[list[int]]:
    blocks: list[list[int]] = []
    taken = room
    for number, size in sizes.items():
        if taken + size > room:
            blocks.append([])
            taken = 0
        blocks[-1].append(number)
        taken += size
    return blocks


def _numbers(report: Report, width: int) -> Iterator[str]:
    if report.cases_of:
        yield "What the numbers say: the scripts, then the verbs"
    for number in sorted(report.cases_of):
        yield from _wrapped(DIVERGENCES[number], width, f"{number:>4}  ")


def _hidden(report: Report, width: int) -> Iterator[str]:
    """The numbers that are not in the matrix, and why."""
    if not report.results:
        return
    yield "No single transition shows"
    for number, declared in DECLARED.items():
        if declared.unseen is not None:
            yield from _wrapped(declared.unseen, width, f"{number:>4}  ")
    missed = [str(number) for number, declared in DECLARED.items() if declared.unseen is None]
    missed = [number for number in missed if int(number) not in report.cases_of]
    if missed:
        yield from _wrapped(f"Declared, and not met in these cases: {', '.join(missed)}", width)


def _invariants(report: Report, width: int) -> Iterator[str]:
    if not report.results:
        return
    yield "Invariants"
    for executor in EXECUTORS:
        broken = report.violations(executor)
        if not broken:
            yield f"  {executor} breaks none"
            continue
        taught = ", and it is what the course teaches" if executor == "scripted" else ""
        yield f"  {executor} breaks these{taught}:"
        for code, verbs in broken.items():
            yield from _wrapped(f"{INVARIANTS[code]}: {listed(verbs.items())}", width, "    ")
    freezes = listed(report.freezes.items()) or "none"
    yield from _wrapped(f"native freezes, refused with the bad row still at the head: {freezes}", width, "  ")


def _plants(report: Report, width: int) -> Iterator[str]:
    if not report.plants:
        return
    rows = [
        [escaped(plant.plant), plant.executor, _after(plant.after) if plant.caught else "NOT CAUGHT"]
        for plant in report.plants
    ]
    yield from _table(["Planted defects", "executor", "caught after"], rows, words=2)
    if report.median_after:
        yield f"in the median after {report.median_after}"


def _after(cases: int | None) -> str:
    return "-" if cases is None else f"{cases:,}"


def _mutants(report: Report, width: int) -> Iterator[str]:
    if report.mutants is None:
        return
    by = report.mutants.by
    rows = [
        [
            row.executor,
            *(f"{n:,}" for n in (row.mutants, row.killed, row.equivalent, row.survived)),
            row.raw,
            row.adjusted,
        ]
        for row in (*by, report.mutants.total)[: None if len(by) > 1 else 1]
    ]
    yield from _table(["Mutants", "made", "detected", "equivalent", "survived", "raw", "adjusted"], rows)
    if report.mutants.equivalent:
        yield "raw: of all; adjusted: of those not equivalent, whose reasons are on the page"


def _survivors(report: Report, width: int) -> Iterator[str]:
    if report.mutants is None or not report.mutants.survivors:
        return
    yield "Survived"
    for mutant in report.mutants.survivors:
        yield from _exact(f"  {mutant.id}", width)
        yield from _exact(f"    - {mutant.before}", width)
        yield from _exact(f"    + {mutant.after}", width)


def _wrong(report: Report, width: int) -> Iterator[str]:
    if report.wrong:
        yield "Not as declared"
    for sentence in report.wrong:
        yield from _wrapped(sentence, width, "  ")


def _command(report: Report, width: int) -> Iterator[str]:
    if report.command:
        yield f"the same again: {report.command}"


def _findings(report: Report, width: int) -> Iterator[str]:
    if not report.undeclared:
        return
    yield f"Not as declared: {counted(report.undeclared, 'case')}"
    for result in report.results:
        kept = result.tally.findings
        for finding in kept:
            yield from _exact(f"  {finding.name}", width)
            for complaint in finding.complaints:
                yield from _exact(f"    {complaint}", width)
        if result.tally.undeclared > len(kept):
            yield f"  … and {result.tally.undeclared - len(kept):,} more of {result.layer}"


# ---------------------------------------------------------------- lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    """Aligned columns: the first ``words`` to the left, as names are, the rest to the right, as numbers are."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    for row in (head, *rows):
        cells = (
            cell.ljust(size) if place < words else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        yield _GAP.join(cells).rstrip()


def _wrapped(text: str, width: int, lead: str = "") -> list[str]:
    """Prose behind ``lead``, its further lines under its first."""
    return textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False)


def _exact(text: str, width: int) -> list[str]:
    """What holds values: nothing of it is lost where a line is broken."""
    told = escaped(text)
    indent = " " * (len(told) - len(told.lstrip()) + 2)
    lines, rest = [told[:width]], told[width:]
    while rest:
        lines.append(indent + rest[: width - len(indent)])
        rest = rest[width - len(indent) :]
    return lines
