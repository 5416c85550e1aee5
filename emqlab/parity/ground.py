"""The ground: a lab's bench with its rig, where a layer's trials are run and judged."""

import gc
import hashlib
import os
from collections.abc import Iterator
from functools import cache

from emqlab.lab import Lab, MissingNative, open_lab
from emqlab.parity.defects.sources import Sources, open_defective
from emqlab.parity.rig import BATCH, Rig
from emqlab.parity.tally import Tally
from emqlab.parity.trials.layers import LAYERS, Layer
from emqlab.parity.trials.trial import NOW_MS, Trial
from emqlab.parity.verdict import Verdict, judge
from emqlab.replies import ask
from emqlab.servers.survey import program


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
        if self.server.name == "remote":
            info = ask(self.server.client, "INFO", "server").decode("utf-8", "replace").splitlines()
            return f"{program(dict(line.split(':', 1) for line in info if ':' in line))}, a server of yours"
        return str(getattr(self.server, "version", self.server.name))

    @property
    def moves(self) -> bool:
        """Whether the clock can be moved and the server be restarted, as histories need."""
        return self.server.movable and self.server.restartable

    def close(self) -> None:
        """Let go of the lab."""
        self.lab.close()

    def _takes(self, trial: Trial) -> bool:
        """Whether this server can run it: what is every queue's is its owner's, and a running clock is not exact."""
        return not (self.server.name == "remote" and trial.alone) and (self.server.movable or not trial.exact)

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


def chunk(ground: Ground, layer: Layer, start: int, stop: int) -> tuple[Tally, bytes]:
    """The trials at some places: what they came to, and the SHA-256 of their lines in the log."""
    tally, log = Tally(), hashlib.sha256()
    # What is made here is let go of by its last reader; to look for rings among it takes an eighth of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        for index, verdict in ground.verdicts(layer, start, stop):
            tally.book(index, verdict)
            log.update(verdict.line.encode() + b"\n")
    finally:
        if collecting:
            gc.enable()
    tally.left_out = stop - start - tally.cases
    return tally, log.digest()
