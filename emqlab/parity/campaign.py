"""A campaign: a layer's trials in chunks, by one worker or several, each on a server of its own; counted and logged."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from emqlab import errors
from emqlab.parity.ground import Ground, chunk, layer_of
from emqlab.parity.rig import BATCH
from emqlab.parity.tally import Result, Tally
from emqlab.parity.trials.layers import Layer
from emqlab.parity.workers import at_end, end, pool

#: Below this many trials one process is done before another has begun.
_FOR_ONE = 2_000


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
            end(self._pool)
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
