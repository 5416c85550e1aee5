"""``emqlab parity``: the layers, the plants and the mutants, run and told."""

import json
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import redis

from emqlab import errors
from emqlab.observe.case import EXECUTORS, escaped
from emqlab.parity.campaign import Campaign, Finding, Ground, Result, layer_of
from emqlab.parity.command import DID_NOT_HOLD, HELD, LOST, UNUSABLE
from emqlab.parity.invariants import INVARIANTS, known
from emqlab.parity.options import CASES
from emqlab.parity.shrink import shrunk
from emqlab.parity.telling import MutantResult, PlantResult, Report, as_json, mutants_json, plant_json
from emqlab.parity.trials.trial import Trial, case_json
from emqlab.parity.verdict import Verdict, judge, told

#: How many cases are run of a layer without an end, where one in one is run.
DRAWN = {"histories": 10_000, "three-jobs": 50_000}
#: Elsewhere than on a Valkey one case in this many is run, when nothing else is said.
FIFTH = 5
#: How many cases a minute stands for, so that the same minutes are the same cases: fewer than two cores run in one.
A_MINUTE = {"embedded": 30_000, "valkey": 150_000, "remote": 60_000}
#: A history has twenty steps, and a restart for all that run together.
A_MINUTE_OF_HISTORIES = {"embedded": 2_500, "valkey": 12_000}


class Unusable(ValueError):
    """What the user asked for can't be run. One sentence."""


class Teller:
    """Where a run tells: results on ``out``, what goes on and what is wrong on ``err``."""

    def __init__(self, *, as_json: bool, out: TextIO, err: TextIO) -> None:
        self.as_json = as_json
        self.out = out
        self.err = err
        #: Whether everything was as declared so far.
        self.sound = True

    def line(self, told: dict[str, Any]) -> None:
        """One line of JSON, if that is what is asked for."""
        if self.as_json:
            self.out.write(json.dumps(told) + "\n")
            self.out.flush()

    def wrong(self, sentence: str) -> None:
        """Something is not as declared."""
        self.sound = False
        self.err.write(escaped(sentence) + "\n")

    @contextmanager
    def progress(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], Any]]:
        """A bar on a terminal, nothing elsewhere; what is given is called with how many more are done."""
        from tqdm import tqdm

        with tqdm(total=total, desc=what, unit=f" {unit}", file=self.err, leave=False, disable=None) as bar:
            yield bar.update


def parity(
    *,
    layers: Sequence[Sequence[str]] | None = None,
    server: str | None = None,
    seed: int = 0,
    minutes: float | None = None,
    share: int | None = None,
    plant: str | None = None,
    plants: bool = False,
    index: int | None = None,
    page: Path | None = None,
    as_json: bool = False,
    out: TextIO | None = None,
) -> int:
    """``emqlab parity``: the exit status."""
    teller = Teller(as_json=as_json, out=out or sys.stdout, err=sys.stderr)
    named = list(dict.fromkeys(name for part in layers or () for name in part))
    try:
        if plants:
            return list_plants(teller)
        if index is not None:
            return replay(teller, named, server, seed, index, plant)
        if plant is not None:
            return one_plant(teller, plant, server, seed)
        return measured(teller, named or list(CASES), server, seed, minutes, share, page)
    except (ValueError, errors.WrongVersion) as error:
        print(f"emqlab parity: {escaped(str(error))}", file=sys.stderr)
        return UNUSABLE
    except redis.ResponseError as error:
        print(f"emqlab parity: the server refused to be used: {escaped(str(error))}; see to it", file=sys.stderr)
        return LOST
    except errors.ServerLost as error:
        print(f"emqlab parity: the server was lost: {escaped(str(error))}; start it and run again", file=sys.stderr)
        return LOST


# ---------------------------------------------------------------- the layers


def measured(
    teller: Teller,
    named: Sequence[str],
    server: str | None,
    seed: int,
    minutes: float | None,
    share: int | None,
    page: Path | None,
) -> int:
    """Run the layers that are named, tell each as it ends, and all together at the end."""
    results: list[Result] = []
    defects = [name for name in named if name not in CASES]
    if defects and "://" in (server or os.environ.get("EMQLAB_SERVER") or ""):
        what = "a defect is planted" if "plants" in defects else "a mutant is hunted"
        raise Unusable(f"{what} in a server of the lab's own: give --server embedded or valkey")
    with Campaign(server) as campaign:
        program = campaign.ground.named
        one_in = share or (1 if program.startswith("valkey") else FIFTH)
        cases = [name for name in named if name in CASES]
        for name in cases:
            if name == "histories" and not campaign.ground.moves:
                teller.err.write("histories: left out, for this server's clock can't be moved, nor it be restarted\n")
            else:
                part = None if minutes is None else minutes / len(cases)
                results.append(_layer(teller, campaign, name, seed, part, one_in))
        if cases:
            _still_differ(teller, campaign.ground)
        found = _plants(teller, server, seed) if "plants" in named else ()
        mutants = _mutants(teller, server, seed, share or 1) if "mutants" in named else None
        report = Report(program, seed, tuple(results), found, mutants)
        if not teller.as_json:
            from emqlab.parity.telling.terminal import tell

            tell(report, teller.out)
        if page is not None:
            _write(page, report)
        for result in results:
            if result.tally.findings:
                _smallest(teller, campaign.ground, result, result.tally.findings[0])
    return HELD if teller.sound else DID_NOT_HOLD


def _write(page: Path, report: Report) -> None:
    """The report as a page. Raises Unusable."""
    from emqlab.parity.telling.page import page as written

    try:
        page.write_text(written(report), encoding="utf-8")
    except OSError as error:
        raise Unusable(f"the page {page} can't be written: {error.strerror}; name another file") from None


def _layer(teller: Teller, campaign: Campaign, name: str, seed: int, minutes: float | None, one_in: int) -> Result:
    layer = layer_of(name, seed)
    server = campaign.ground.server.name
    if minutes is None:
        count = -(-(DRAWN[name] if layer.size is None else layer.size) // one_in)
    else:
        count = max(1, int(minutes * (A_MINUTE_OF_HISTORIES if name == "histories" else A_MINUTE)[server]))
        count = count if layer.size is None else min(count, layer.size)
    with teller.progress(name, count, "cases") as tell:
        result = campaign.run(layer, count, seconds=None if minutes is None else minutes * 60, tell=tell)
    teller.line(as_json(result))
    if result.tally.left_out:
        why = "they need a server of the lab's own, whose clock stands still"
        teller.err.write(f"{name}: {result.tally.left_out:,} cases were left out: {why}\n")
    if result.tally.cases + result.tally.left_out < count:
        teller.err.write(f"{name}: the time was up after {result.tally.cases:,} of {count:,} cases\n")
    for finding in result.tally.findings:
        teller.wrong(f"{finding.name}: {finding.complaints[0]}")
    if result.tally.undeclared > len(result.tally.findings):
        teller.wrong(f"{name}: {result.tally.undeclared} cases in all are not as declared")
    for who, code, verb in sorted(result.tally.violations):
        if not known(who, code, verb):
            teller.wrong(f"{name}: {who} {verb} broke an invariant that it is not known to break: {INVARIANTS[code]}")
    return result


def _still_differ(teller: Teller, ground: Ground) -> None:
    """Each divergence that a case can show is shown by one still."""
    from emqlab.observe.case_reader import parse_case
    from emqlab.observe.run import Run, run_case
    from emqlab.parity.command import judge as held
    from emqlab.parity.declared import DECLARED, shown_case

    server, executors = ground.lab.bench()
    for number in DECLARED:
        smallest = shown_case(number)
        if smallest is None:
            continue
        # On a user's server it has a queue to itself, like every other trial.
        case = parse_case(
            {**smallest, **({"queue": f"parity-{secrets.token_hex(6)}"} if server.name == "remote" else {})}
        )
        runs = [run_case(server, executors, case, name, traced=False, before=False) for name in EXECUTORS]
        done = [run for run in runs if isinstance(run, Run)]
        for complaint in held(case, done, both=True):
            teller.wrong(f"divergence {number}: {case.name}: {complaint}")


def _smallest(teller: Teller, ground: Ground, result: Result, finding: Finding) -> None:
    """Print the first finding as the smallest case that shows it, ready to run."""
    trial, verdict = shrunk(ground.rig, layer_of(result.layer, result.seed).trial(finding.index))
    tell_case(teller, trial, verdict)


def tell_case(teller: Teller, trial: Trial, verdict: Verdict) -> None:
    """A trial as a case file, on standard error, with what is seen there."""
    for complaint in verdict.complaints:
        teller.err.write(escaped(f"  {complaint}") + "\n")
    case = json.dumps(_case(trial, verdict), ensure_ascii=False)
    teller.err.write(f"the smallest case found that shows it, for `emqlab run -`:\n{case}\n")


def _case(trial: Trial, verdict: Verdict) -> dict[str, Any]:
    """The trial as a case file's entry, which expects what the model says."""
    expected = {
        name: (list(voice.replies), voice.keys)
        for name in (("native",) if trial.laid_out else EXECUTORS)
        for voice in (told(trial, name),)
    }
    return case_json(trial, differs=tuple(sorted(verdict.numbers)), expected=expected)


# ---------------------------------------------------------------- one case again


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


# ---------------------------------------------------------------- defects


def list_plants(teller: Teller) -> int:
    """The defects that can be planted, a line each."""
    from emqlab.parity.defects.plants import PLANTS

    for name, plant in PLANTS.items():
        if teller.as_json:
            teller.line({"plant": name, "executor": plant.executor, "file": plant.file, "rule": plant.rule})
        else:
            teller.out.write(f"{name:46} {plant.executor:9} {plant.rule}\n")
    return HELD


def one_plant(teller: Teller, name: str, server: str | None, seed: int) -> int:
    """Plant one defect, and tell after how many cases it was caught, and in which."""
    from emqlab.parity.defects.hunt import Mixed, hunted
    from emqlab.parity.defects.plants import PLANTS, planted

    sources = planted(name)
    plant = PLANTS[name]
    ground = Ground(server, sources)
    try:
        caught = hunted(ground.rig, Mixed(seed))
        result = PlantResult(name, plant.executor, plant.rule, caught.after is not None, caught.after)
        if teller.as_json:
            teller.line(plant_json(result))
        else:
            teller.out.write(f"{name}, planted in {plant.file}: {plant.rule}\n")
            for text, sign in ((plant.old, "-"), (plant.new, "+")):
                for line in text.strip("\n").splitlines():
                    teller.out.write(f"  {sign} {line.strip()}\n")
            ending = f"caught after {caught.after:,} cases" if result.caught else "not caught"
            teller.out.write(f"{ending} on {ground.named}\n")
        teller.out.flush()
        if caught.trial is not None and not teller.as_json:
            tell_case(teller, *shrunk(ground.rig, caught.trial))
    finally:
        ground.close()
    return HELD if result.caught else DID_NOT_HOLD


def _plants(teller: Teller, server: str | None, seed: int) -> tuple[PlantResult, ...]:
    """Plant every defect in turn."""
    from emqlab.parity.defects.planting import run_plants
    from emqlab.parity.defects.plants import PLANTS

    with teller.progress("plants", len(PLANTS), "defects") as tell:
        results = run_plants(server=server, seed=seed, tell=tell)
    for result in results:
        teller.line(plant_json(result))
        if not result.caught:
            teller.wrong(f"plant {result.plant} was not caught: {result.rule}")
    return results


def _mutants(teller: Teller, server: str | None, seed: int, share: int) -> MutantResult:
    """Hunt every mutant."""
    from emqlab.parity.defects.mutants import run_mutants
    from emqlab.parity.defects.verb_mutants import NoMutationTool

    with teller.progress("mutants", None, "mutants") as tell:
        try:
            result = run_mutants(server=server, seed=seed, share=share, tell=tell)
        except NoMutationTool as error:
            raise Unusable(str(error)) from None
    teller.line(mutants_json(result))
    for found in result.mistaken:
        teller.wrong(f"mutant {found.id} is listed as equivalent and was killed: strike it off equivalents.toml")
    for survivor in result.survivors:
        teller.wrong(f"mutant {survivor.id} survived: {survivor.before} → {survivor.after}")
    return result
