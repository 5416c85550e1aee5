"""What a parity run has measured: one report, told on a terminal, as a page, and as JSON."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from emqlab.divergences import DIVERGENCES
from emqlab.parity.invariants import INVARIANTS
from emqlab.parity.tally import Result
from emqlab.parity.trials.layers import Exhaustive, Histories
from emqlab.replies import Json
from emqlab.transitions import PLAIN, TRANSITIONS

__all__ = [
    "HISTORY",
    "Equivalent",
    "Headline",
    "MutantResult",
    "MutantRow",
    "PlantResult",
    "Report",
    "Survivor",
    "as_json",
    "counted",
    "listed",
    "mutants_json",
    "percent",
    "plant_json",
]

#: The row of the histories in the matrix: each has twenty steps, and what one shows is not booked to the step.
HISTORY = "a history"
_ORDER = {verb: place for place, verb in enumerate((*TRANSITIONS, *PLAIN, HISTORY))}


@dataclass(frozen=True, slots=True)
class PlantResult:
    """One planted defect and the ``rule`` it breaks. ``after`` is the number of the case that caught it, from 1."""

    plant: str
    executor: str
    rule: str
    caught: bool
    after: int | None


@dataclass(frozen=True, slots=True)
class MutantRow:
    """One executor's mutants: how many were made, how many killed, how many change nothing that could be seen."""

    executor: str
    mutants: int
    killed: int
    equivalent: int

    @property
    def survived(self) -> int:
        """How many changed something and were not killed."""
        return self.mutants - self.killed - self.equivalent

    @property
    def raw(self) -> str:
        """Killed, of all."""
        return percent(self.killed, self.mutants)

    @property
    def adjusted(self) -> str:
        """Killed, of those that are not equivalent."""
        return percent(self.killed, self.mutants - self.equivalent)


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that nothing has killed: its id, and the lines that differ."""

    id: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A mutant that nothing can kill: its id, the lines that differ, and why no run could tell."""

    id: str
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class MutantResult:
    """What became of the mutants, a row an executor."""

    by: tuple[MutantRow, ...]
    equivalent: tuple[Equivalent, ...]
    survivors: tuple[Survivor, ...]

    @property
    def total(self) -> MutantRow:
        """All executors' rows as one."""
        return MutantRow(
            "both",
            sum(row.mutants for row in self.by),
            sum(row.killed for row in self.by),
            sum(row.equivalent for row in self.by),
        )


class Headline(NamedTuple):
    """A figure, what it is of, and whether it is as it must be."""

    figure: str
    words: str
    sound: bool


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one run of the instrument measured on one server; what was not run is empty."""

    server: str
    seed: int
    results: tuple[Result, ...]
    plants: tuple[PlantResult, ...] = ()
    mutants: MutantResult | None = None
    #: What is not as declared beside the cases: sentences. How to run the same again.
    wrong: tuple[str, ...] = ()
    command: str = ""

    @property
    def cases(self) -> int:
        """The cases of all layers."""
        return sum(result.tally.cases for result in self.results)

    @property
    def undeclared(self) -> int:
        """How many of them are not as declared."""
        return sum(result.tally.undeclared for result in self.results)

    @property
    def small_world(self) -> dict[str, tuple[int, int]]:
        """What the exhaustive layer is made of -> how many worlds, how many transitions; empty if it was not run."""
        if not any(result.layer == Exhaustive.name for result in self.results):
            return {}
        return Exhaustive(self.seed).counts()

    @property
    def headlines(self) -> tuple[Headline, ...]:
        """What there is to know first, one for each thing that was run."""
        told = []
        if self.results:
            words = f"undeclared difference{'' if self.undeclared == 1 else 's'} in {counted(self.cases, 'case')}"
            told.append(Headline(f"{self.undeclared:,}", words, not self.undeclared))
        if self.wrong:
            told.append(Headline(f"{len(self.wrong):,}", "more that is not as declared", False))
        if self.plants:
            caught, planted = sum(plant.caught for plant in self.plants), len(self.plants)
            told.append(_of(caught, planted, "planted defect", "caught"))
        if self.mutants is not None:
            row = self.mutants.total
            told.append(_of(row.killed, row.mutants - row.equivalent, "non-equivalent mutant", "killed"))
        return tuple(told)

    @property
    def tried(self) -> dict[str, int]:
        """Row of the matrix -> how many cases there were: the verbs in their order, then the histories."""
        tried: Counter[str] = Counter()
        for result in self.results:
            if result.layer == Histories.name:
                tried[HISTORY] += result.tally.cases
            else:
                tried.update(result.tally.tried)
        return {row: tried[row] for row in sorted(tried, key=lambda row: _ORDER.get(row, len(_ORDER)))}

    @property
    def seen(self) -> Counter[tuple[str, int]]:
        """(row, number) -> how many cases of that row showed that divergence."""
        seen: Counter[tuple[str, int]] = Counter()
        for result in self.results:
            if result.layer == Histories.name:
                seen.update({(HISTORY, number): cases for number, cases in result.tally.cases_of.items()})
            else:
                seen.update(result.tally.seen)
        return +seen

    @property
    def cases_of(self) -> Counter[int]:
        """Number -> how many cases of all layers showed that divergence."""
        total: Counter[int] = Counter()
        for result in self.results:
            total.update(result.tally.cases_of)
        return +total

    @property
    def freezes(self) -> dict[str, int]:
        """Verb -> how often it was refused natively and left what stands at the head, the most frequent first."""
        total: Counter[str] = Counter()
        for result in self.results:
            total.update(result.tally.freezes)
        return dict(total.most_common())

    def violations(self, executor: str) -> dict[str, dict[str, int]]:
        """Invariant -> verb -> how often this executor broke it; only what was broken."""
        total: Counter[tuple[str, str]] = Counter()
        for result in self.results:
            for (who, code, verb), times in result.tally.violations.items():
                if who == executor:
                    total[code, verb] += times
        broken = {code: {v: n for (c, v), n in total.most_common() if c == code} for code in INVARIANTS}
        return {code: verbs for code, verbs in broken.items() if verbs}

    @property
    def median_after(self) -> str:
        """How many cases it took to catch a planted defect, in the median of those caught; empty if none was."""
        after = [plant.after for plant in self.plants if plant.caught and plant.after is not None]
        if not after:
            return ""
        middle = f"{median(after):,.1f}".removesuffix(".0")
        return f"{middle} case{'' if middle == '1' else 's'}"


def _of(part: int, whole: int, what: str, done: str) -> Headline:
    return Headline(f"{part:,} of {whole:,}", f"{what}{'' if whole == 1 else 's'} {done}", part == whole)


def counted(number: int, what: str) -> str:
    """A number with its noun, in the plural where it is not one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def percent(part: int, whole: int) -> str:
    """A share in percent to one place, rounded down: 100.0 % is said of all and of nothing less. Of none, a dash."""
    if whole <= 0:
        return "-"
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10} %"


def as_json(result: Result) -> dict[str, Json]:
    """One layer's result for ``--json``; every declared number is there, with 0 where no case showed it."""
    tally = result.tally
    return {
        "layer": result.layer,
        "server": result.server,
        "cases": tally.cases,
        "seconds": round(result.seconds, 3),
        "rate": round(result.rate, 1),
        "undeclared": tally.undeclared,
        "divergences": {str(number): tally.cases_of[number] for number in DIVERGENCES},
        "digest": result.digest,
    }


def plant_json(result: PlantResult) -> dict[str, Json]:
    """One planted defect for ``--json``."""
    return {"plant": result.plant, "caught": result.caught, "after": result.after}


def mutants_json(result: MutantResult) -> dict[str, Json]:
    """The mutants of all executors for ``--json``."""
    total = result.total
    return {"mutants": total.mutants, "killed": total.killed, "equivalent": total.equivalent}


def listed(counts: Iterable[tuple[str, int]]) -> str:
    """Names with their counts, in a line."""
    return ", ".join(f"{name} {number:,}" for name, number in counts)
