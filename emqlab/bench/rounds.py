"""Measures in interleaved rounds: every row and way once a round, so that a slow moment of the machine hits all."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emqlab.bench.line import Account, Line
from emqlab.bench.target import CannotBench, Target
from emqlab.bench.ways import Station, Way, station
from emqlab.bench.workloads import Row

#: How often a measurement is made again when somebody else called the same command meanwhile.
_AGAIN = 5
_PINGS = 2000

#: Told how much is done, of how much.
Progress = Callable[[int, int], None]


class WorkNotDone(Exception):
    """A call did not answer, or did not do, what it must: its time means nothing. One sentence."""


@dataclass(slots=True)
class Figures:
    """One way's microseconds a call, one figure a round, and how many calls were measured in all."""

    rounds: list[float] = field(default_factory=list)
    calls: int = 0

    def add(self, account: Account) -> None:
        """Take in what the server says of one round."""
        self.rounds.append(account.usec / account.calls)
        self.calls += account.calls

    @property
    def best(self) -> float:
        """The round in which the machine disturbed least."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The round in the middle."""
        return statistics.median(self.rounds)


#: Row name -> way -> figures.
Measured = Mapping[str, Mapping[str, Figures]]


def ratio(one: Figures | None, other: Figures | None) -> float | None:
    """How many times longer ``one`` takes than ``other``, by their best rounds; None where one of them is not."""
    return None if one is None or other is None else one.best / other.best


def median_ratio(one: Figures | None, other: Figures | None) -> float | None:
    """The same by their rounds in the middle."""
    return None if one is None or other is None else one.median / other.median


def measure(
    target: Target, rows: Sequence[Row], rounds: int, progress: Progress = lambda done, of: None
) -> tuple[Measured, Figures]:
    """The figures of every row and way, and those of PING, out of ``rounds`` rounds after one to warm up.

    Raises WorkNotDone, CannotBench, redis.ConnectionError.
    """
    with Line(target.pool) as line:
        try:
            stations = [station(row, target, line) for row in rows]
        except PermissionError as error:
            raise CannotBench(str(error)) from None
        measured = {place.row.name: {way.name: Figures() for way in place.ways} for place in stations}
        pings = Figures()
        for number in range(rounds + 1):
            for place in stations:
                # Who goes first finds the caches as the other left them: they take turns.
                for way in place.ways if number % 2 else reversed(place.ways):
                    account = once(line, place, way)
                    if number:
                        measured[place.row.name][way.name].add(account)
            account = _pinged(line)
            if number:
                pings.add(account)
            progress(number + 1, rounds + 1)
    return measured, pings


def once(line: Line, place: Station, way: Way) -> Account:
    """One round of one way: prepare, measure, check, clear. Raises WorkNotDone, CannotBench."""
    for _ in range(_AGAIN):
        line.send(place.clear)
        line.send(place.given)
        before = line.account(way.account)
        replies = line.send(way.packed)
        account = line.account(way.account).since(before)
        _check(place, way, replies, line.send(place.after))
        line.send(place.clear)
        if account.calls == way.packed.count:
            return account
    raise _shared(way.account)


def _check(place: Station, way: Way, replies: list[Any], after: list[Any]) -> None:
    name = f"{place.row.name} ({way.name})"
    for number, (expected, got) in enumerate(zip(place.work.replies, replies, strict=True), 1):
        if expected != got:
            raise WorkNotDone(
                f"{name}: call {number} should have answered {_shown(expected)}, and answered {_shown(got)}"
            )
    for (command, expected), got in zip(place.work.after, after, strict=True):
        if expected != got:
            asked = b" ".join(command[:3]).decode("utf-8", "replace")
            raise WorkNotDone(f"{name}: afterwards {asked} should be {_shown(expected)}, and is {_shown(got)}")


def _pinged(line: Line) -> Account:
    packed = line.pack([(b"PING",)] * _PINGS)
    for _ in range(_AGAIN):
        before = line.account("ping")
        line.send(packed)
        account = line.account("ping").since(before)
        if account.calls == _PINGS:
            return account
    raise _shared("ping")


def _shared(command: str) -> CannotBench:
    return CannotBench(
        f"others call {command.upper()} on this server all the time, and its account is of all; measure when it is "
        "quiet, or use --server valkey"
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
