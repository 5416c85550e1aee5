"""One trial again: by its number, and as a case file."""

import json
from collections.abc import Sequence
from typing import Any

from emqlab.observe.case import EXECUTORS, escaped
from emqlab.parity.command import DID_NOT_HOLD, HELD
from emqlab.parity.ground import Ground, layer_of
from emqlab.parity.options import CASES
from emqlab.parity.teller import Teller, Unusable
from emqlab.parity.trials.trial import Trial, case_json
from emqlab.parity.verdict import Verdict, judge, told


def tell_case(teller: Teller, trial: Trial, verdict: Verdict) -> None:
    """A trial as a case file, on standard error, with what is seen there."""
    for complaint in verdict.complaints:
        teller.err.write(escaped(f"  {complaint}") + "\n")
    # Its number makes the larger one again.
    case = json.dumps({**_case(trial, verdict), "name": f"{trial.name}, made smaller"}, ensure_ascii=False)
    teller.err.write(f"the smallest case found that shows it, for `emqlab run -`:\n{case}\n")


def _case(trial: Trial, verdict: Verdict) -> dict[str, Any]:
    """The trial as a case file's entry, which expects what the model says."""
    expected = {
        name: (list(voice.replies), voice.keys)
        for name in (("native",) if trial.laid_out else EXECUTORS)
        for voice in (told(trial, name),)
    }
    return case_json(trial, differs=tuple(sorted(verdict.numbers)), expected=expected)


def replay(teller: Teller, named: Sequence[str], server: str | None, seed: int, index: int, plant: str | None) -> int:
    """Run one case of one layer again, and show it."""
    if len(named) != 1 or named[0] not in CASES:
        raise Unusable(f"--index needs one --layer of cases: {', '.join(CASES)}")
    layer = layer_of(named[0], seed)
    try:
        trial = layer.trial(index)
    except IndexError as error:
        raise Unusable(str(error)) from None
    sources = None
    if plant is not None:
        from emqlab.parity.defects.plants import planted

        sources = planted(plant)
    ground = Ground(server, sources)
    try:
        ran = ground.rig.run([trial])[0]
    finally:
        ground.close()
    verdict = judge(ran)
    shown = {
        "case": _case(trial, verdict),
        "scripted": [repr(reply) for reply in ran.scripted.replies],
        "native": [repr(reply) for reply in ran.native.replies],
        "errors": [f"{name}: {text}" for name, outcome in ran.outcomes.items() for text in outcome.raw],
        "divergences": sorted(verdict.numbers),
        "complaints": list(verdict.complaints),
    }
    if teller.as_json:
        teller.line(shown)
    else:
        for name, value in shown.items():
            text = json.dumps(value, ensure_ascii=False) if name == "case" else ", ".join(map(str, value)) or "none"
            teller.out.write(escaped(f"{name:12} {text}") + "\n")
    return DID_NOT_HOLD if verdict.complaints else HELD
