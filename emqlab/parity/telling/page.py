"""A report as one HTML page that needs nothing beside it: the matrix of verbs and divergences is its centre."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from emqlab.divergences import DIVERGENCES
from emqlab.observe.case import EXECUTORS, escaped
from emqlab.parity.declared import DECLARED
from emqlab.parity.invariants import INVARIANTS
from emqlab.parity.telling import HISTORY, PlantResult, Report, counted
from emqlab.parity.trials.layers import LAYERS

#: Shades of a cell: one for each power of ten, the last for all beyond.
SHADES = 6
#: Where each executor's line is in the picture of the planted defects, and how far dots stand above one another, in
#: percent of its height.
RAILS = dict(zip(EXECUTORS, (32, 76), strict=True))
_STEP, _HIGHEST = 6, 5


@dataclass(frozen=True, slots=True)
class Cell:
    """How many cases of a row showed a number; ``shade`` is the length of that figure, 0 for none."""

    number: int
    cases: int
    shade: int
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """One verb of the matrix."""

    name: str
    cases: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One declared divergence in the legend; ``unseen`` says why no case showed it, empty where some did."""

    number: int
    sentence: str
    cases: int
    unseen: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A caught defect on the scale of cases: ``x`` and ``y`` in percent of the picture."""

    plant: PlantResult
    x: float
    y: float


def page(report: Report) -> str:
    """The whole report as an HTML document, its styles inside."""
    # Not at the top: most runs make no page.
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(plain=escaped, number=lambda number: f"{number:,}", counted=counted)
    return environment.from_string(_text("page.html")).render(
        report=report,
        css=Markup(_text("page.css")),  # ours, and no reader's
        abouts={name: kind.about for name, kind in LAYERS.items()},
        history=HISTORY,
        rows=_rows(report),
        shades=[10**power for power in range(SHADES)],
        legend=list(_legend(report)),
        invariants=INVARIANTS,
        broken={executor: report.violations(executor) for executor in EXECUTORS},
        missed=[plant for plant in report.plants if not plant.caught],
        rails=RAILS,
        dots=list(_dots(report)),
        ticks=_ticks(report),
    )


def _text(name: str) -> str:
    return (resources.files("emqlab.parity.telling") / name).read_text(encoding="utf-8")


def _rows(report: Report) -> list[Row]:
    seen, numbers = report.seen, sorted(report.cases_of)
    return [
        Row(name, cases, tuple(_cell(name, cases, number, seen[name, number]) for number in numbers))
        for name, cases in report.tried.items()
        if any(seen[name, number] for number in numbers)
    ]


def _cell(row: str, of: int, number: int, cases: int) -> Cell:
    title = f"{row}, divergence {number}: {cases:,} of {counted(of, 'case')}. {DIVERGENCES[number]}"
    return Cell(number, cases, min(SHADES, len(str(cases))) if cases else 0, title)


def _legend(report: Report) -> Iterator[Entry]:
    cases_of = report.cases_of
    for number, declared in DECLARED.items():
        unseen = (
            "Not met in these cases."
            if declared.unseen is None
            else f"No single transition shows it: {declared.unseen}."
        )
        yield Entry(number, declared.sentence, cases_of[number], "" if cases_of[number] else unseen)


def _decades(report: Report) -> int:
    """How many powers of ten the scale of cases has."""
    most = max((plant.after or 1 for plant in report.plants), default=1)
    return max(1, math.ceil(math.log10(most)))


def _ticks(report: Report) -> list[tuple[int, float]]:
    """Cases, and where they are on the scale, in percent."""
    decades = _decades(report)
    return [(10**power, 100 * power / decades) for power in range(decades + 1)]


def _dots(report: Report) -> Iterator[Dot]:
    """The caught defects, a line an executor; those that are close stand above one another."""
    decades = _decades(report)
    for executor, rail in RAILS.items():
        column: dict[int, int] = {}
        for plant in sorted(report.plants, key=lambda plant: plant.after or 0):
            if plant.executor == executor and plant.caught and plant.after is not None:
                x = 100 * math.log10(plant.after) / decades
                height = column[round(x)] = column.get(round(x), -1) + 1
                yield Dot(plant, round(x, 2), rail - _STEP * (height % _HIGHEST))
