"""What is printed: the tables, and the JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emqlab.bench.pipelined import Pipelined
from emqlab.bench.rounds import Figures, Measured, median_ratio, ratio
from emqlab.bench.ways import LIMIT, SAME_STEPS

#: The heads of the table; README.md here says what each means.
COLUMNS = ("verb", "scripted µs", "native µs", "ratio", "ratio of medians", "calls")
PEER_COLUMNS = ("peer", "µs", "ratio")
READ_THIS = (
    "Read the ratios (scripted / native: above 1 the native verb is quicker); microseconds are this machine's. "
    "emqlab/bench/README.md says more."
)
_UNCLAIMED = "claim was not measured"


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that one run of the bench found. A str in the place of a figure says why there is none."""

    server: str
    rounds: int
    measured: Measured
    ping: Figures
    limit_missing: str | None
    pipelined: Pipelined | str

    def peer(self, way: str) -> Figures | None:
        """What was measured beside a claim, or None."""
        return self.measured.get("claim", {}).get(way)

    def json(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "server": self.server,
            "rounds": self.rounds,
            "verbs": {name: _verb_json(ways) for name, ways in self.measured.items()},
            "limit": self._limit_json(),
            "peers": {"ping_us": _rounded(self.ping.best), SAME_STEPS: self._peer_json(SAME_STEPS)},
            "pipelined": self._pipelined_json(),
        }

    def text(self) -> str:
        """The result as tables."""
        return "\n".join(
            [
                f"{self.server}: time inside the server a call, the best of {self.rounds} rounds",
                "",
                *_table(COLUMNS, [_verb_cells(name, ways) for name, ways in self.measured.items()]),
                "",
                *_table(PEER_COLUMNS, list(self._peer_cells())),
                "",
                *self._asides(),
                READ_THIS,
            ]
        )

    def _limit_json(self) -> dict[str, Any]:
        found = self.peer(LIMIT)
        if found is None:
            return {"missing": self.limit_missing or _UNCLAIMED}
        return {
            "limit_us": _rounded(found.best),
            "scripted_us": _rounded_best(self.peer("scripted")),
            "native_us": _rounded_best(self.peer("native")),
            "ratio": _rounded(ratio(self.peer("scripted"), found)),
        }

    def _peer_json(self, way: str) -> dict[str, Any]:
        found = self.peer(way)
        if found is None:
            return {"missing": _UNCLAIMED if "claim" not in self.measured else "its fence can't be read in a cluster"}
        return {"us": _rounded(found.best), "ratio": _rounded(ratio(self.peer("scripted"), found))}

    def _pipelined_json(self) -> dict[str, Any]:
        found = self.pipelined
        if isinstance(found, str):
            return {"missing": found}
        return {
            "program": found.program,
            "scripted_per_s": round(found.scripted),
            "native_per_s": round(found.native),
            "ratio": _rounded(found.ratio),
        }

    def _peer_cells(self) -> Iterator[list[str]]:
        scripted = self.peer("scripted")
        named = [
            ("PING", self.ping),
            ("hand-written C", self.peer(LIMIT)),
            ("native", self.peer("native")),
            ("scripted", scripted),
            ("native's steps as a script", self.peer(SAME_STEPS)),
        ]
        for name, found in named:
            if found is not None:
                compared = "" if name == "PING" else _times(ratio(scripted, found))
                yield [name, f"{found.best:.2f}", compared]

    def _asides(self) -> Iterator[str]:
        if "claim" not in self.measured:
            return
        if self.limit_missing:
            yield f"No speed limit: {self.limit_missing}."
        found = self.pipelined
        if isinstance(found, str):
            yield f"No claims a second: {found}."
        else:
            yield (
                f"{found.program} -P 16 -c 8, claims a second: scripted {found.scripted:,.0f}, native"
                f" {found.native:,.0f}, {_times(found.ratio)}."
            )


def _verb_json(ways: Mapping[str, Figures]) -> dict[str, Any]:
    scripted, native = ways.get("scripted"), ways["native"]
    return {
        "scripted_us": _rounded_best(scripted),
        "native_us": _rounded_best(native),
        "ratio": _rounded(ratio(scripted, native)),
        "scripted_median_us": None if scripted is None else _rounded(scripted.median),
        "native_median_us": _rounded(native.median),
        "ratio_of_medians": _rounded(median_ratio(scripted, native)),
        "calls": native.calls,
    }


def _verb_cells(name: str, ways: Mapping[str, Figures]) -> list[str]:
    scripted, native = ways.get("scripted"), ways["native"]
    return [
        name,
        "no script" if scripted is None else f"{scripted.best:,.2f}",
        f"{native.best:,.2f}",
        _times(ratio(scripted, native)),
        _times(median_ratio(scripted, native)),
        f"{native.calls:,}",
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    return ["  ".join(_justified(row, widths)).rstrip() for row in (head, *rows)]


def _justified(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if place else cell.ljust(width)


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}×"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _rounded_best(found: Figures | None) -> float | None:
    return None if found is None else round(found.best, 3)
