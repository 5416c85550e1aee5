"""Plants and mutants by `emqlab parity`: one, all, and the list of those there are."""

from emqlab.parity.again import tell_case
from emqlab.parity.command import DID_NOT_HOLD, HELD
from emqlab.parity.ground import Ground
from emqlab.parity.shrink import shrunk
from emqlab.parity.teller import Teller, Unusable
from emqlab.parity.telling import MutantResult, PlantResult, mutants_json, plant_json


def can_mutate() -> None:
    """Raise Unusable where the mutants can't be made, before anything is run."""
    from emqlab.parity.defects.verb_mutants import NoMutationTool, mutations

    try:
        next(mutations("a = 1\n"), None)
    except NoMutationTool as error:
        raise Unusable(f"{error} (or 'emqlab[mutants]')") from None


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


def all_plants(teller: Teller, server: str | None, seed: int) -> tuple[PlantResult, ...]:
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


def mutants(teller: Teller, server: str | None, seed: int, share: int) -> MutantResult:
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
