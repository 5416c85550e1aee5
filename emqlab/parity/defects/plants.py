"""Planted defects: one known mistake in one executor each, to see that the instrument finds it (``planted.toml``)."""

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources

from emqlab.lab import ExecutorName
from emqlab.parity.defects.loading import CannotLoad
from emqlab.parity.defects.sources import ENDINGS, Sources, lua_complaint, own_sources, verbs_of


@dataclass(frozen=True, slots=True)
class Plant:
    """One defect: the ``rule`` that it breaks, and the text ``new`` in the place of ``old``, which is there once."""

    name: str
    rule: str
    file: str
    old: str
    new: str

    @property
    def executor(self) -> ExecutorName:
        """Whose file it is."""
        return ENDINGS[self.file.rpartition(".")[2]]

    @property
    def sources(self) -> Sources:
        """All texts, with the defect in one. Raises ValueError when the file no longer holds ``old`` exactly once."""
        own = own_sources()
        sound = own.text(self.file)
        if sound.count(self.old) != 1:
            raise ValueError(f"{self.name} no longer fits {self.file}; say in planted.toml what it replaces there")
        return own.replaced(self.file, sound.replace(self.old, self.new))


def _load() -> dict[str, Plant]:
    listed = tomllib.loads((resources.files("emqlab.parity.defects") / "planted.toml").read_text(encoding="utf-8"))
    return {entry["name"]: Plant(**entry) for entry in listed["plant"]}


#: Name -> planted defect, in the order of the list.
PLANTS: dict[str, Plant] = _load()


def planted(name: str) -> Sources:
    """All texts, with the defect of that name in one. Raises ValueError for a name that is not in the list."""
    plant = PLANTS.get(name)
    if plant is None:
        near = get_close_matches(str(name), PLANTS, n=4, cutoff=0.4) or list(PLANTS)[:4]
        raise ValueError(f"there is no planted defect {name!r}; there are {len(PLANTS)}, such as {', '.join(near)}")
    return plant.sources


def plant_text(executor: str, file: str, text: str) -> Sources:
    """All texts, with a reader's own for one file: ``("native", "claim", text)``; an ending may be given, or not.

    Raises ValueError for a file that is not there, CannotLoad (a ValueError) for a text that can't be run.
    """
    own = own_sources()
    known = {"scripted": own.scripts, "native": own.verbs}.get(executor)
    if known is None:
        raise ValueError(f"executor must be 'scripted' or 'native', not {executor!r}")
    ending = next(ending for ending, whose in ENDINGS.items() if whose == executor)
    name = str(file).removesuffix(f".{ending}")
    if name not in known:
        raise ValueError(f"the {executor} executor has no file {file!r}; it has {', '.join(sorted(known))}")
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, not {type(text).__name__}")
    sources = own.replaced(f"{name}.{ending}", text)
    if executor == "native":
        verbs_of(sources)
    elif complaint := lua_complaint(text):
        raise CannotLoad(f"{name}.lua:{complaint}")
    return sources
