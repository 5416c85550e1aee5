"""The files that ran, as a stage shows them."""

from collections.abc import Iterable
from importlib import resources

from emqlab.scripted.scripts import SCRIPTS
from emqlab.transitions import TRANSITIONS

Sources = dict[str, dict[str, str]]


def sources_of(verb: str) -> Sources:
    """For a step verb, each executor's file as ``{executor: {name, text}}``; no entry where there is none.

    Raises KeyError for a verb that is no transition.
    """
    transition = TRANSITIONS[verb]
    found: Sources = {}
    if transition.script is not None:
        text = SCRIPTS[transition.script].text.decode()
        found["scripted"] = {"name": f"{transition.script}.lua", "text": text}
    if transition.command is not None:
        file = resources.files("emqlab.native.verbs") / f"{verb}.py"
        found["native"] = {"name": file.name, "text": file.read_text(encoding="utf-8")}
    return found


def all_sources_of(verbs: Iterable[str]) -> dict[str, list[dict[str, str]]]:
    """For several step verbs, each executor's files in that order: the stage shows the one of its step.

    Raises KeyError for a verb that is no transition.
    """
    found: dict[str, list[dict[str, str]]] = {}
    for verb in verbs:
        for executor, source in sources_of(verb).items():
            found.setdefault(executor, []).append(source)
    return found
