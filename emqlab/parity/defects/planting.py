"""Plants, one or all: each on a server of its own whose executors run it, until the instrument sees it."""

import os
from collections.abc import Callable
from typing import Any

from emqlab.parity.defects.hunt import PATIENCE, Caught, Mixed, hunted
from emqlab.parity.defects.plants import PLANTS, planted
from emqlab.parity.defects.sources import Sources
from emqlab.parity.ground import Ground
from emqlab.parity.telling import PlantResult
from emqlab.parity.workers import end, pool


def catch(defect: str | Sources, *, server: str | None = None, seed: int = 0, limit: int = PATIENCE) -> Caught:
    """Plant a defect, by its name or as ``plant_text`` makes one, and run cases until it shows; at most ``limit``.

    ``server`` is embedded, valkey or auto; $EMQLAB_SERVER, else embedded, when not told.
    Raises ValueError for a name that is not in the list and for a server that is not the lab's own.
    """
    ground = Ground(server, planted(defect) if isinstance(defect, str) else defect)
    try:
        return hunted(ground.rig, Mixed(seed), limit)
    finally:
        ground.close()


def run_plants(
    *, server: str | None, seed: int, workers: int | None = None, tell: Callable[[int], Any] = lambda done: None
) -> tuple[PlantResult, ...]:
    """Plant every defect in turn, and say after how many cases each was caught; ``tell`` is given how many are done."""
    wanted = workers or os.cpu_count() or 1
    results: list[PlantResult] = []
    if wanted == 1:
        for name in PLANTS:
            results.append(_one(server, seed, name))
            tell(1)
        return tuple(results)
    opened = pool(wanted)
    try:
        for result in opened.map(_one, *zip(*((server, seed, name) for name in PLANTS), strict=True)):
            results.append(result)
            tell(1)
    finally:
        end(opened)
    return tuple(results)


def _one(server: str | None, seed: int, name: str) -> PlantResult:
    plant = PLANTS[name]
    caught = catch(name, server=server, seed=seed)
    return PlantResult(name, plant.executor, plant.rule, caught.after is not None, caught.after)
