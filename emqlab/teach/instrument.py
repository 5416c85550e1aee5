"""The instrument, as dive 04 shows it: some measured parity, and planted defects that are hunted and caught."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emqlab.lab import Lab
from emqlab.observe.recording import Column, record
from emqlab.transitions import TRANSITIONS

if TYPE_CHECKING:
    from emqlab.parity.defects.plants import Plant
    from emqlab.parity.tally import Tally

#: The planted defects that a lesson offers -> what somebody did, in a reader's words.
DEFECTS: Mapping[str, str] = {
    "claim-hands-out-the-previous-token-in-python": "a claim hands out the token before it was counted up",
    "claim-skips-the-ghost-check-in-lua": "a claim does not ask whether there is a row",
    "claim-forgets-the-epoch": "a claim does not stamp its lease",
    "token-compared-as-a-number-in-lua": "the fence compares numbers, not bytes",
    "complete-leaves-the-id-in-line-in-python": "a completion forgets that the job may be back in line",
    "fail-off-by-one-cap-in-python": "the cap is passed before it kills",
    "sweep-takes-live-leases-in-lua": "a sweep does not look at deadlines",
    "sweep-passes-over-a-bad-row": "a sweep goes on past a row that it can't read",
}
#: The verbs whose cases a lesson measures: quick to lay out, and where most of the divergences are.
VERBS = ("claim", "complete", "fail", "stalled_check")
#: A hunt is given up after so many cases.
PATIENCE = 2_000


class NotCaught(RuntimeError):
    """A defect that a whole hunt did not see: then the instrument, not the defect, is what to look at."""


@dataclass(frozen=True, slots=True)
class Catch:
    """A defect that was caught: ``after`` how many cases, and the smallest case found that shows it, as recorded.

    ``changed`` are the lines before and after, with the number of the first; ``text`` is the whole changed file.
    """

    plant: Plant
    after: int
    changed: tuple[int, str, str]
    text: str
    recording: dict[str, Any]

    @property
    def told(self) -> str:
        """What was changed, and after how many cases it was seen."""
        line, before, after = self.changed
        change = f"{before} → {after}" if after else f"{before} is gone"
        return (
            f"{self.plant.file}, line {line}: {change}. "
            f"Caught after {cases(self.after)}; this is the smallest found that shows it."
        )


def cases(many: int) -> str:
    """How many cases, in words."""
    return "1 case" if many == 1 else f"{many} cases"


def catch(name: str, lab: Lab, *, seed: int = 0) -> Catch:
    """Plant a defect on an embedded server of its own, hunt it, make what was found small, and record that.

    ``lab`` is a sound embedded one, whose executors run the same case beside the changed one. Raises ValueError for a
    name that is not in the list of plants, NotCaught.
    """
    from emqlab.parity.defects.hunt import hunted
    from emqlab.parity.defects.plants import PLANTS, planted
    from emqlab.parity.defects.sources import changed_lines, own_sources, served_by
    from emqlab.parity.ground import Ground
    from emqlab.parity.shrink import shrunk
    from emqlab.parity.trials.aimed import Flat
    from emqlab.parity.trials.trial import case_json

    sources = planted(name)
    plant = PLANTS[name]
    ground = Ground("embedded", sources)
    try:
        caught = hunted(ground.rig, Flat(seed, served_by(plant.file)), PATIENCE)
        if caught.after is None or caught.trial is None:
            raise NotCaught(f"{name} was not seen in {cases(PATIENCE)}")
        small, verdict = shrunk(ground.rig, caught.trial)
        text = sources.text(plant.file)
        case = {**case_json(small, differs=tuple(sorted(verdict.numbers))), "about": plant.rule}
        found = Catch(plant, caught.after, changed_lines(own_sources().text(plant.file), text), text, {})
        made = record(
            lab,
            case,
            columns=[
                Column("changed", plant.executor, lab=ground.lab),
                Column("scripted", "scripted"),
                Column("native", "native"),
            ],
            titles={"changed": f"{plant.file}, changed", **_titles(small.verb)},
            about=found.told,
        )
        return Catch(plant, found.after, found.changed, text, made)
    finally:
        ground.close()


def _titles(verb: str) -> dict[str, str]:
    transition = TRANSITIONS[verb]
    return {"scripted": f"{transition.script}.lua", "native": transition.command or verb}


def measured(lab: Lab | None = None, *, many: int = 200, seed: int = 0) -> Tally:
    """Run ``many`` generated cases of four verbs on both executors, and hold them to each other and to the model.

    They run on a server of their own like ``lab``'s; on an embedded one where there is none, or it is a user's. The
    tally says how many ``cases`` there were, in how many each divergence was seen (``cases_of``), and how many were
    not as declared (``undeclared``).
    """
    from emqlab.parity.ground import Ground, chunk
    from emqlab.parity.trials.aimed import Flat

    name = "embedded" if lab is None or lab.server.name not in ("embedded", "valkey") else lab.server.name
    ground = Ground(name)
    try:
        tally, _ = chunk(ground, Flat(seed, VERBS), 0, many)
        return tally
    finally:
        ground.close()
