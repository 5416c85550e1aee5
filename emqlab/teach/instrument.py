"""The instrument, as dive 04 shows it: some measured parity, and defects that are hunted and caught."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from emqlab.lab import Lab
from emqlab.observe.recording import Column, record
from emqlab.teach.answers import no
from emqlab.teach.hunting import Hunt, cases, hunt
from emqlab.teach.verdict import Verdict
from emqlab.transitions import TRANSITIONS

if TYPE_CHECKING:
    from emqlab.parity.defects.sources import Sources
    from emqlab.parity.tally import Tally

#: The planted defects that a lesson offers -> what somebody did, in a reader's words.
DEFECTS: Mapping[str, str] = {
    "claim-skips-the-ghost-check-in-lua": "a claim does not ask whether there is a row",
    "claim-hands-out-the-previous-token-in-python": "a claim hands out the token before it was counted up",
    "claim-forgets-the-epoch": "a claim does not stamp its lease",
    "token-compared-as-a-number-in-lua": "the fence compares numbers, not bytes",
    "complete-leaves-the-id-in-line-in-python": "a completion forgets that the job may be back in line",
    "fail-off-by-one-cap-in-python": "the cap is passed before it kills",
    "sweep-takes-live-leases-in-lua": "a sweep does not look at deadlines",
    "sweep-passes-over-a-bad-row": "a sweep goes on past a row that it can't read",
}
#: The verbs whose cases a lesson measures: quick to lay out, and where most of the divergences are.
VERBS = ("claim", "complete", "fail", "stalled_check")
#: A hunt for a planted defect is given up after so many cases.
PATIENCE = 600


class NotCaught(RuntimeError):
    """A planted defect that a whole hunt did not see: then the instrument is what to look at."""


@dataclass(frozen=True, slots=True)
class Catch:
    """A defect that was caught: ``after`` how many cases, and the smallest case found that shows it, as recorded.

    ``file`` is the one that was changed, ``text`` all of it, ``changed`` the lines before and after the change, with
    the number of the first. The recording's columns are ``changed``, ``scripted`` and ``native``; its ``change`` has
    the same lines, ``was`` and ``is``.
    """

    file: str
    text: str
    changed: tuple[int, str, str]
    after: int
    recording: dict[str, Any]


def catch(name: str, lab: Lab, *, seed: int = 0) -> Catch:
    """Plant a defect on an embedded server of its own, hunt it, make what was found small, and record that.

    ``lab`` is a sound embedded one, whose executors run the same case beside the changed one. Raises ValueError for a
    name that is not in the list of plants, NotCaught.
    """
    from emqlab.parity.defects.plants import PLANTS, planted

    sources, file = planted(name), PLANTS[name].file
    hunting = partial(hunt, seed=seed, flat=PATIENCE, more=0, seconds=inf)
    caught = _caught(sources, file, lab, hunting, PLANTS[name].rule)
    if isinstance(caught, Hunt):
        raise NotCaught(f"{name} was not seen in {cases(caught.tried)}")
    return caught


def catch_text(lab: Lab, answer: Any) -> Catch | Verdict:
    """The same for a reader's own text, ``{"claim.lua": text}``: what was caught, or in a sentence why nothing was."""
    from emqlab.teach.altered import altered, hunt_told

    copy = altered(answer)
    if isinstance(copy, Verdict):
        return copy
    caught = _caught(copy.sources, copy.file, lab, hunt, f"a changed {copy.file}")
    return no(hunt_told(caught)) if isinstance(caught, Hunt) else caught


def _caught(sources: Sources, file: str, lab: Lab, hunting: Callable[..., Hunt], about: str) -> Catch | Hunt:
    """Hunt one changed file; how the hunt ended when nothing was seen."""
    from emqlab.parity.defects.sources import ENDINGS, changed_lines, own_sources, served_by
    from emqlab.parity.ground import Ground
    from emqlab.parity.shrink import shrunk
    from emqlab.parity.trials.trial import case_json

    executor = ENDINGS[file.rpartition(".")[2]]
    changed = changed_lines(own_sources().text(file), sources.text(file))
    ground = Ground("embedded", sources)
    try:
        seen = hunting(ground.rig, served_by(file), native=executor == "native")
        if seen.trial is None:
            return seen
        small, verdict = shrunk(ground.rig, seen.trial)
        made = record(
            lab,
            {**case_json(small, differs=tuple(sorted(verdict.numbers))), "about": about},
            columns=[
                Column("changed", executor, lab=ground.lab),
                Column("scripted", "scripted"),
                Column("native", "native"),
            ],
            titles={"changed": f"{file}, changed", **_titles(small.verb)},
            about=f"{file}, line {changed[0]}, was changed. "
            f"Caught after {cases(seen.tried)}; this is the smallest found that shows it.",
        )
        made["change"] = {"was": changed[1], "is": changed[2]}
        return Catch(file, sources.text(file), changed, seen.tried, made)
    finally:
        ground.close()


def _titles(verb: str) -> dict[str, str]:
    transition = TRANSITIONS[verb]
    script = f"{transition.script}.lua" if transition.script else verb
    return {"scripted": script, "native": transition.command or verb}


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
