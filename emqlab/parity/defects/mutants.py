"""All mutants, hunted: how many the instrument kills, and which change nothing that is seen (equivalents.toml)."""

import itertools
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from emqlab.observe.case import EXECUTORS
from emqlab.parity.defects.hunters import PATIENCE, ScriptHunter, Seen, VerbHunter
from emqlab.parity.defects.lua_mutants import lua_mutants
from emqlab.parity.defects.sources import Mutant, own_sources
from emqlab.parity.defects.verb_mutants import verb_mutants
from emqlab.parity.telling import Equivalent, MutantResult, MutantRow, Survivor
from emqlab.parity.workers import at_end, end, pool

#: How many trials the files are given as they are: if one of them is not as declared, no mutant can be judged.
_SOUND = 400
#: How many mutants a worker is given at once: those of one file lie side by side, and share their trials.
_AT_ONCE = 8


#: File, operator, the lines before and after, and which of those that are alike in all of these.
Key = tuple[str, str, str, str, int]


@dataclass(frozen=True, slots=True)
class Listed:
    """A mutant that is said to change nothing. It is known by what it changes, so that lines above it may move.

    ``place`` is which of those it is that change the same text in the same way, from 1. ``seen`` is empty, or says on
    which servers it can be seen after all: on others it is left out.
    """

    file: str
    operator: str
    before: str
    after: str
    reason: str
    place: int = 1
    seen: str = ""

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.file, self.operator, self.before, self.after, self.place


@dataclass(frozen=True, slots=True)
class Hunted(MutantResult):
    """What became of the mutants. ``mistaken`` are listed as equivalent, and were killed: strike them off the list."""

    mistaken: tuple[Equivalent, ...] = ()


class NotSound(ValueError):
    """A file that nobody has changed is not as declared, so nothing is learnt of its mutants: one sentence."""


@cache
def listed() -> dict[Key, Listed]:
    """What equivalents.toml lists, in its order."""
    text = (resources.files("emqlab.parity.defects") / "equivalents.toml").read_text(encoding="utf-8")
    found = [
        Listed(reason=group["reason"], seen=group.get("seen", ""), **entry)
        for group in tomllib.loads(text)["equivalent"]
        for entry in group["in"]
    ]
    return {each.key: each for each in found}


@cache
def keys() -> dict[str, Key]:
    """Every mutant's key, by its id. Raises NoMutationTool."""
    alike: Counter[tuple[str, str, str, str]] = Counter()
    found: dict[str, Key] = {}
    for mutant in all_mutants():
        same = (mutant.file, mutant.operator, mutant.before, mutant.after)
        alike[same] += 1
        found[mutant.id] = (*same, alike[same])
    return found


def all_mutants(share: int = 1) -> tuple[Mutant, ...]:
    """Every ``share``-th mutant, the scripts' first. Raises NoMutationTool."""
    return (*_of_scripts(share), *_of_verbs(share))


def _of_scripts(share: int) -> tuple[Mutant, ...]:
    return lua_mutants()[::share]


def _of_verbs(share: int) -> tuple[Mutant, ...]:
    # As if both were one list.
    return verb_mutants()[-len(lua_mutants()) % share :: share]


def run_mutants(
    *,
    server: str | None,
    seed: int,
    share: int = 1,
    workers: int | None = None,
    tell: Callable[[int], Any] = lambda done: None,
) -> Hunted:
    """Hunt every ``share``-th mutant; ``tell`` is given 1 for each that is done.

    Scripts are run on ``server``, embedded or valkey, verbs on an embedded one. Raises ValueError for another server,
    NotSound, NoMutationTool, and what opening a lab raises.
    """
    if server is not None and "://" in server:
        raise ValueError(f"mutants are hunted on a server of the lab's own: embedded or valkey, not {server!r}")
    told: list[tuple[Mutant, Seen]] = []
    opened = pool(workers, _open_here, server, seed)
    try:
        fine = opened.submit(_fine_here)
        # The scripts' are under way while the verbs', which take seconds, are made.
        hunts = [_hunts(opened, _of_scripts(share)), _hunts(opened, _of_verbs(share))]
        apart = set[str]()
        if not fine.result():
            apart = {name for name, key in keys().items() if key in listed() and listed()[key].seen}
        for mutant, seen in itertools.chain(*hunts):
            if mutant.id not in apart:
                told.append((mutant, seen))
            tell(1)
    finally:
        # Whatever ended it early, nobody waits for what has not begun.
        end(opened)
    return _result(told)


def _hunts(opened: ProcessPoolExecutor, mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Seen]]:
    """The mutants with what was seen of each, all begun at once. Raises NotSound while it is gone through."""
    own = own_sources()
    files = sorted({mutant.file for mutant in mutants})
    unchanged = [Mutant(file, file, 0, "Nothing", "", "", own.text(file)) for file in files]
    sound = opened.map(_sound_here, unchanged)
    hunted = opened.map(_hunt_here, mutants, chunksize=_AT_ONCE)

    def ended() -> Iterator[tuple[Mutant, Seen]]:
        for file, seen in zip(files, sound, strict=True):
            if seen is not None:
                raise NotSound(f"{file} is not as declared, and nobody has changed it: {seen[1]}")
        yield from zip(mutants, hunted, strict=True)

    return ended()


def _result(told: Iterable[tuple[Mutant, Seen]]) -> Hunted:
    rows = {name: [0, 0, 0] for name in EXECUTORS}
    equivalent: list[Equivalent] = []
    survivors: list[Survivor] = []
    mistaken: list[Equivalent] = []
    for mutant, seen in told:
        entry = listed().get(keys()[mutant.id])
        row = rows[mutant.executor]
        row[0] += 1
        row[1] += seen is not None
        if seen is None and (entry is None or entry.seen):
            survivors.append(Survivor(mutant.id, mutant.before, mutant.after))
        elif entry is not None and not entry.seen:
            found = Equivalent(mutant.id, mutant.before, mutant.after, entry.reason)
            row[2] += seen is None
            (equivalent if seen is None else mistaken).append(found)
    by = tuple(MutantRow(name, *counts) for name, counts in rows.items())
    return Hunted(by, tuple(equivalent), tuple(survivors), tuple(mistaken))


# ---------------------------------------------------------------- a worker


_hunters: tuple[ScriptHunter, VerbHunter] | None = None


def _open_here(server: str | None, seed: int) -> None:
    """What a worker begins with."""
    global _hunters
    _hunters = ScriptHunter(server, seed), VerbHunter(seed)
    for hunter in _hunters:
        at_end(hunter.close)


def _hunt_here(mutant: Mutant, patience: int = PATIENCE) -> Seen:
    assert _hunters is not None
    scripts, verbs = _hunters
    return (verbs if mutant.executor == "native" else scripts).hunt(mutant, patience)


def _sound_here(unchanged: Mutant) -> Seen:
    return _hunt_here(unchanged, _SOUND)


def _fine_here() -> bool:
    assert _hunters is not None
    return _hunters[0].fine
