"""What trials came to: counted, and the first findings kept."""

from collections import Counter
from dataclasses import dataclass, field

from emqlab.parity.verdict import Verdict

#: How many findings are kept whole, for telling them; all are counted.
KEPT = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """A trial that is not as declared: its number in its layer, its name, and what is wrong."""

    index: int
    name: str
    complaints: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """What a number of trials came to. ``after`` is the place of the first finding among them, from 1.

    ``left_out`` are those that this server can't run.
    """

    cases: int = 0
    left_out: int = 0
    undeclared: int = 0
    seen: Counter[tuple[str, int]] = field(default_factory=Counter)
    tried: Counter[str] = field(default_factory=Counter)
    cases_of: Counter[int] = field(default_factory=Counter)
    violations: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    freezes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    after: int | None = None

    def book(self, index: int, verdict: Verdict) -> None:
        """One trial."""
        self.cases += 1
        verb = verdict.trial.verb
        self.tried[verb] += 1
        for number in verdict.numbers:
            self.seen[verb, number] += 1
            self.cases_of[number] += 1
        self.violations.update(verdict.violations)
        self.freezes.update(verdict.freezes)
        if verdict.complaints:
            self.undeclared += 1
            self.after = self.after or self.cases
            if len(self.findings) < KEPT:
                self.findings.append(Finding(index, verdict.trial.name, verdict.complaints))

    def add(self, other: "Tally") -> None:
        """Another tally, of the trials that follow."""
        if self.after is None and other.after is not None:
            self.after = self.cases + other.after
        self.cases += other.cases
        self.left_out += other.left_out
        self.undeclared += other.undeclared
        for mine, more in (
            (self.seen, other.seen),
            (self.tried, other.tried),
            (self.cases_of, other.cases_of),
            (self.violations, other.violations),
            (self.freezes, other.freezes),
        ):
            mine.update(more)  # type: ignore[arg-type]
        self.findings += other.findings[: KEPT - len(self.findings)]


@dataclass(frozen=True, slots=True)
class Result:
    """One layer on one server. ``digest`` is the SHA-256 of the verdict log, ``of`` how many trials the layer has.

    ``server`` is its name in a lab: embedded, valkey, remote.
    """

    layer: str
    server: str
    seed: int
    tally: Tally
    seconds: float
    digest: str
    of: int | None

    @property
    def rate(self) -> float:
        """Trials a second, each run by both executors."""
        return self.tally.cases / self.seconds if self.seconds else 0.0
