"""``emqlab parity``: the layers, the plants and the mutants, run and told."""

import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import redis

from emqlab import errors
from emqlab.native.module.build import CannotBuild
from emqlab.observe.case import EXECUTORS, escaped
from emqlab.parity.again import replay, tell_case
from emqlab.parity.campaign import Campaign
from emqlab.parity.command import DID_NOT_HOLD, HELD, LOST, UNUSABLE
from emqlab.parity.defects.command import all_plants, can_mutate, list_plants, mutants, one_plant
from emqlab.parity.ground import Ground, layer_of
from emqlab.parity.invariants import INVARIANTS, known
from emqlab.parity.options import CASES
from emqlab.parity.shrink import shrunk
from emqlab.parity.tally import Finding, Result
from emqlab.parity.teller import Teller, Unusable
from emqlab.parity.telling import Report, as_json
from emqlab.parity.trials.rights import rights_complaints

#: How many cases are run of a layer without an end, where one in one is run.
DRAWN = {"histories": 10_000, "three-jobs": 50_000}
#: Elsewhere than on a Valkey one case in this many is run, when nothing else is said.
FIFTH = 5
#: How many cases a minute stands for, so that the same minutes are the same cases: fewer than two cores run in one.
A_MINUTE = {"embedded": 30_000, "valkey": 150_000, "remote": 60_000}
#: A history has twenty steps, and a restart for all that run together.
A_MINUTE_OF_HISTORIES = {"embedded": 2_500, "valkey": 12_000}


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
        _combined(named, minutes, share, plant, plants, index, page)
        if plants:
            return list_plants(teller)
        if index is not None:
            return replay(teller, named, server, seed, index, plant)
        if plant is not None:
            return one_plant(teller, plant, server, seed)
        return measured(teller, named or list(CASES), server, seed, minutes, share, page)
    except (ValueError, errors.WrongVersion, CannotBuild) as error:
        print(f"emqlab parity: {escaped(str(error))}", file=sys.stderr)
        return UNUSABLE
    except redis.ResponseError as error:
        print(f"emqlab parity: the server refused to be used: {escaped(str(error))}; see to it", file=sys.stderr)
        return LOST
    except errors.ServerLost as error:
        print(f"emqlab parity: the server was lost: {escaped(str(error))}; start it and run again", file=sys.stderr)
        return LOST


def _combined(
    named: Sequence[str],
    minutes: float | None,
    share: int | None,
    plant: str | None,
    plants: bool,
    index: int | None,
    page: Path | None,
) -> None:
    """Refuse options that would be passed over in silence. Raises Unusable."""
    of_layers = {"--minutes": minutes, "--share": share, "--page": page}
    given = [name for name, value in of_layers.items() if value is not None]
    one = "--plants lists" if plants else "--index runs one case" if index is not None else "--plant is one hunt"
    if plants:
        given += [name for name, value in (("--plant", plant), ("--index", index), ("--layer", named or None)) if value]
    elif index is None and plant is not None and named:
        given.append("--layer")
    if minutes is not None and share is not None:
        raise Unusable("--minutes and --share both say how many cases are run; give one of them")
    if minutes is not None and {"plants", "mutants"} & {*named}:
        raise Unusable("--minutes is for layers of cases; leave plants and mutants out, or give --share for mutants")
    if share is not None and named and {*named} <= {"plants"}:
        raise Unusable("--share is for layers of cases and for mutants; every defect is planted")
    if given and (plants or index is not None or plant is not None):
        raise Unusable(f"{one}, and takes no {' and no '.join(given)}; leave that out")


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
    if "mutants" in named:
        can_mutate()
    with Campaign(server) as campaign:
        program = campaign.ground.named
        whole = campaign.ground.server.name == "valkey" and program.startswith("valkey")
        one_in = share or (1 if whole else FIFTH)
        cases = [name for name in named if name in CASES]
        for name in cases:
            if name == "histories" and not campaign.ground.moves:
                teller.err.write("histories: left out, for this server's clock can't be moved, nor it be restarted\n")
            else:
                part = None if minutes is None else minutes / len(cases)
                results.append(_layer(teller, campaign, name, seed, part, one_in))
        if cases:
            _still_differ(teller, campaign.ground)
            _rights(teller, campaign.ground)
        planted = all_plants(teller, server, seed) if "plants" in named else ()
        mutated = mutants(teller, server, seed, share or 1) if "mutants" in named else None
        again = _command(named, server, seed, minutes, share)
        report = Report(program, seed, tuple(results), planted, mutated, tuple(teller.apart), again)
        if not teller.as_json:
            from emqlab.parity.telling.terminal import tell

            tell(report, teller.out)
        if page is not None:
            _write(page, report)
        for result in results:
            if result.tally.findings:
                _smallest(teller, campaign.ground, result, result.tally.findings[0])
    return HELD if teller.sound else DID_NOT_HOLD


def _command(named: Sequence[str], server: str | None, seed: int, minutes: float | None, share: int | None) -> str:
    """The command line that runs the same again; a URL may hold a password, and is left to its owner."""
    own = "URL" if "://" in (server or "") else server
    options = {"layer": ",".join(named), "server": own, "seed": seed, "minutes": minutes, "share": share}
    return "emqlab parity " + " ".join(f"--{name} {value}" for name, value in options.items() if value is not None)


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
            teller.beside(f"{name}: {who} {verb} broke an invariant that it is not known to break: {INVARIANTS[code]}")
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
            teller.beside(f"divergence {number}: {case.name}: {complaint}")


def _rights(teller: Teller, ground: Ground) -> None:
    """Each key that a verb derives is opened as the caller: with one right too few it is refused (divergence 6)."""
    if ground.server.name == "remote":
        return
    server, executors = ground.lab.bench()
    for complaint in rights_complaints(server, executors):
        teller.beside(f"rights: {complaint}")


def _smallest(teller: Teller, ground: Ground, result: Result, finding: Finding) -> None:
    """Print the first finding as the smallest case that shows it, ready to run."""
    trial, verdict = shrunk(ground.rig, layer_of(result.layer, result.seed).trial(finding.index))
    tell_case(teller, trial, verdict)
