"""The files that ran, as a stage shows them."""

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
