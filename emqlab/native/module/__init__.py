"""The loadable module: the verbs, compiled to C, built for this machine (ARCHITECTURE.md)."""

from collections.abc import Sequence
from pathlib import Path

from emqlab import keys
from emqlab.native import texts
from emqlab.native.module.build import CannotBuild, NoCompiler, Tell, at_hand, shared_object
from emqlab.native.module.catalogue import catalogue
from emqlab.native.module.compiler import c_text, compile_verbs
from emqlab.native.module.sources import NotInSubset, read, verb_texts

_HERE = Path(__file__).parent


def module_files() -> dict[str, str]:
    """Every C file of the module, file name -> text; ``module.c`` is the one to compile."""
    python = verb_texts()
    sources = {source.name: source for source in read(python)}
    hand = {file.name: file.read_text(encoding="utf-8") for file in sorted(_HERE.glob("*.[ch]"))}
    return {**hand, "texts.h": _texts(), "verbs.h": compile_verbs(python) + "\n" + catalogue(sources)}


def _texts() -> str:
    """What the hand-written files say and ask for, from the one place of each."""
    said = {name: getattr(texts, name) for name in ("WRONGTYPE", "NOPERM", "FENCE", "HOST")}
    said |= {"VERSION_KEY": keys.VERSION_KEY, "VERSION": keys.VERSION}
    return "".join(f"static const char {name}[] = {c_text(text)};\n" for name, text in said.items())


def module_path(tell: Tell | None = None, *, flags: Sequence[str] = ()) -> Path:
    """The module as a file that a server can load; built once, ``tell`` hears of it. Raises CannotBuild."""
    return shared_object("emq", module_files(), main="module.c", flags=flags, tell=tell)


def module_at_hand() -> bool:
    """Whether the module need not be built first. Raises CannotBuild where it must be and can't."""
    return at_hand("emq", module_files())


__all__ = ["CannotBuild", "NoCompiler", "NotInSubset", "module_at_hand", "module_files", "module_path"]
