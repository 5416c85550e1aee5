"""A campaign: a layer's trials in chunks, by one worker or several, each on a server of its own; counted and logged."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from emqlab import errors
from emqlab.lab import Lab, MissingNative, open_lab
from emqlab.parity.defects.sources import Sources, open_defective
from emqlab.parity.rig import BATCH, Rig
from emqlab.parity.trials.layers import LAYERS, Layer
from emqlab.parity.trials.trial import NOW_MS, Trial
from emqlab.parity.verdict import Verdict, judge
from emqlab.parity.workers import at_end, pool
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.scripted.scripts import Script

#: How many findings are kept whole, for telling them; all are counted.
KEPT = 5
#: Below this many trials one process is done before another has begun.
_FOR_ONE = 2_000


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


# ---------------------------------------------------------------- one process


class Ground:
    """Where trials are run: a lab's bench and its rig."""

    def __init__(self, server: str | None, sources: Sources | None = None) -> None:
        """``sources`` are changed scripts and verbs. Raises what opening a lab raises, ValueError without verbs."""
        self.lab: Lab = open_lab(server) if sources is None else _changed(sources, server)
        try:
            if isinstance(self.lab.native, MissingNative):
                raise ValueError(self.lab.native.why)
            if getattr(self.lab.server, "nodes", None) is not None:
                raise ValueError("parity is measured on one server, not on a cluster; give a server's URL, or valkey")
            bench, executors = self.lab.bench()
            if bench.name == "valkey" and bench.movable:
                # A clock that stands makes every deadline exact; where it can't, times may be a little late.
                bench.stand_still(NOW_MS)  # type: ignore[attr-defined]
            self.server = bench
            self.rig = Rig(bench, executors)
        except BaseException:
            self.lab.close()
            raise

    @property
    def named(self) -> str:
        """The server in a report: ``embedded``, ``valkey 9.1.2``, ``redis 7.0.15``."""
        return str(getattr(self.server, "version", self.server.name))

    @property
    def moves(self) -> bool:
        """Whether the clock can be moved and the server be restarted, as histories need."""
        return self.server.movable and self.server.restartable

    def close(self) -> None:
        """Let go of the lab."""
        self.lab.close()

    def changed(self, scripts: Mapping[str, Script]) -> Rig:
        """A rig on the same server whose scripts are others."""
        _, executors = self.lab.bench()
        own = executors["scripted"]
        return Rig(self.server, {**executors, "scripted": ScriptedExecutor(self.server.client, own._mint, scripts)})

    def _takes(self, trial: Trial) -> bool:
        """Whether this server can run it: what is every queue's is its owner's on a server that is not the lab's."""
        return not (trial.alone and self.server.name == "remote")

    def verdicts(self, layer: Layer, start: int, stop: int) -> Iterator[tuple[int, Verdict]]:
        """The verdicts on the trials at the places from ``start`` up to ``stop``, each with its index."""
        for first in range(start, stop, BATCH):
            indices = [layer.index_at(place) for place in range(first, min(stop, first + BATCH))]
            trials = [layer.trial(index) for index in indices]
            trials = [trial for trial in trials if self._takes(trial)]
            for trial, ran in zip(trials, self.rig.run(trials), strict=True):
                yield trial.index, judge(ran)


def _changed(sources: Sources, server: str | None) -> Lab:
    name = server or os.environ.get("EMQLAB_SERVER") or "embedded"
    if name == "auto":
        with open_lab(name) as lab:
            name = lab.server.name
    if name not in ("embedded", "valkey"):
        raise ValueError(f"a defect is planted in a server of the lab's own: embedded or valkey, not {name!r}")
    return open_defective(sources, "embedded" if name == "embedded" else "valkey")


@cache
def layer_of(name: str, seed: int) -> Layer:
    """The layer; built once a process."""
    return LAYERS[name].make(seed)


_ground: Ground | None = None


def _chunk_here(server: str | None, name: str, seed: int, start: int, stop: int) -> tuple[Tally, bytes]:
    """A chunk in a worker, which opens its server with the first. Raises ValueError, whatever there is to say."""
    global _ground
    if _ground is None:
        try:
            _ground = Ground(server)
        except errors.ServerLost as error:
            raise errors.ServerLost(str(error)) from None
        except (errors.EmqError, OSError, ValueError) as error:
            # The errors of servers don't all travel between processes; their sentences do.
            raise ValueError(str(error)) from None
        at_end(_ground.close)
    return chunk(_ground, layer_of(name, seed), start, stop)


def chunk(ground: Ground, layer: Layer, start: int, stop: int) -> tuple[Tally, bytes]:
    """The trials at some places: what they came to, and the SHA-256 of their lines in the log."""
    tally, log = Tally(), hashlib.sha256()
    for index, verdict in ground.verdicts(layer, start, stop):
        tally.book(index, verdict)
        log.update(verdict.line.encode() + b"\n")
    tally.left_out = stop - start - tally.cases
    return tally, log.digest()


# ---------------------------------------------------------------- several


class Campaign:
    """Runs layers on one server, in this process or in some. A context manager."""

    def __init__(self, server: str | None = None, *, workers: int | None = None) -> None:
        """``workers`` is how many processes run trials, each on a server of its own; as many as there are cores."""
        self._name = server
        own = server is None or "://" not in server
        self._workers = (workers or os.cpu_count() or 1) if own else 1
        self.ground = Ground(server)
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Campaign":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and their servers."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self.ground.close()

    def run(
        self,
        layer: Layer,
        count: int,
        *,
        seconds: float | None = None,
        tell: Callable[[int], Any] = lambda cases: None,
    ) -> Result:
        """The first ``count`` trials of a layer, or as many as ``seconds`` allow; ``tell`` is given each chunk's size.

        Raises ServerLost, also when a worker has ended; ValueError when one can't open its server.
        """
        tally, log = Tally(), hashlib.sha256()
        begun = time.monotonic()
        for part, digest in self._parts(layer, count, None if seconds is None else begun + seconds):
            tally.add(part)
            log.update(digest)
            tell(part.cases)
        took = time.monotonic() - begun
        return Result(layer.name, self.ground.server.name, layer.seed, tally, took, log.hexdigest(), layer.size)

    def _parts(self, layer: Layer, count: int, until: float | None) -> Iterator[tuple[Tally, bytes]]:
        """The chunks' tallies and digests, in order, whoever ran them."""
        spans = ((start, min(count, start + BATCH)) for start in range(0, count, BATCH))
        if self._workers == 1 or count <= _FOR_ONE:
            for start, stop in spans:
                if until is not None and time.monotonic() > until:
                    return
                yield chunk(self.ground, layer, start, stop)
            return
        yield from self._shared(layer, spans, until)

    def _shared(
        self, layer: Layer, spans: Iterator[tuple[int, int]], until: float | None
    ) -> Iterator[tuple[Tally, bytes]]:
        opened = self._opened_pool()
        running: dict[Future[tuple[Tally, bytes]], int] = {}
        done: dict[int, tuple[Tally, bytes]] = {}
        sent = told = 0
        spent = False
        while True:
            while not spent and len(running) < 3 * self._workers:
                span = None if until is not None and time.monotonic() > until else next(spans, None)
                if span is None:
                    spent = True
                    break
                running[opened.submit(_chunk_here, self._name, layer.name, layer.seed, *span)] = sent
                sent += 1
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                try:
                    done[running.pop(future)] = future.result()
                except BrokenProcessPool:
                    raise errors.ServerLost("a worker process has ended, and its server with it") from None
            while told in done:
                yield done.pop(told)
                told += 1

    def _opened_pool(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = pool(self._workers)
        return self._pool


def seen_of(results: Mapping[str, Result]) -> Counter[int]:
    """Number -> how many cases of all these layers have shown it."""
    total: Counter[int] = Counter()
    for result in results.values():
        total.update(result.tally.cases_of)
    return total
