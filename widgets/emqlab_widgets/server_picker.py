"""The reader's choice of a server, with what this machine has for it."""

from __future__ import annotations

import pathlib
from typing import Any

import anywidget
import traitlets

from emqlab import choice
from emqlab.lab import Lab
from emqlab_widgets.table import Table

LEGEND = 'What open_lab("auto") takes'
OPTIONS = (
    (choice.AUTO, "auto", "Valkey where one can be started, else embedded."),
    (
        choice.EMBEDDED,
        "embedded",
        "An emulation inside the notebook's own process. Its clock stands still until you move it.",
    ),
    (choice.VALKEY, "valkey", "A real server, private to this notebook, gone when you close it. Its clock runs."),
)


class ServerPicker(anywidget.AnyWidget):
    """Radio buttons for what ``open_lab("auto")`` takes; a pick is kept at once.

    What the machine has is looked for when a browser shows the widget, so nothing of it is in a recording. ``choice``
    is one of ``emqlab.choice.NAMES``, ``found`` a sentence for each of them, ``status`` what is in force.
    """

    _esm = pathlib.Path(__file__).with_name("server_picker.js")
    _css = pathlib.Path(__file__).with_name("server_picker.css")

    legend = traitlets.Unicode(LEGEND).tag(sync=True)
    options: traitlets.List[Any] = traitlets.List().tag(sync=True)
    choice = traitlets.Enum(list(choice.NAMES), choice.AUTO).tag(sync=True)
    found = traitlets.Dict().tag(sync=True)
    status = traitlets.Unicode().tag(sync=True)

    def __init__(self, lab: Lab | None = None) -> None:
        super().__init__(
            options=[{"value": value, "label": label, "about": about} for value, label, about in OPTIONS],
            choice=choice.chosen(),
            status=_in_force(lab),
        )
        self.observe(self._picked, "choice")
        self.on_msg(self._heard)

    def _heard(self, _: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("look"):
            self.look()

    def look(self) -> None:
        """Look for a real server and the module, and say what was found."""
        self.found = found_texts(choice.look())

    def _picked(self, change: dict[str, Any]) -> None:
        kept = choice.choose(change["new"])
        self.status = _taken(change["new"], kept)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        plain = Table(LEGEND, (), [(label, about) for _, label, about in OPTIONS])
        return {**data, "text/html": plain._repr_html_(), "text/plain": repr(plain)}, metadata


def server_picker(lab: Lab | None = None) -> ServerPicker:
    """The picker; with ``lab`` it also says which server that one runs on."""
    return ServerPicker(lab)


def found_texts(told: choice.Found) -> dict[str, str]:
    """What there is for each choice on this machine, a sentence each."""
    if told.missing:
        here = f"Not on this machine: {told.missing}."
        auto = "Here that opens nothing: $EMQLAB_SERVER_BINARY asks for a server." if told.named else "Here: embedded."
        return {choice.AUTO: auto, choice.EMBEDDED: "", choice.VALKEY: here}
    here = f"On this machine: {told.server}; the native verbs' module is {told.module}."
    return {choice.AUTO: "Here: valkey.", choice.EMBEDDED: "", choice.VALKEY: here}


def _in_force(lab: Lab | None) -> str:
    now = "" if lab is None else f"This notebook's lab runs on {lab.server.name}. "
    return now + (_overridden() or "A choice takes effect in the next lab that is opened.")


def _taken(name: str, kept: bool) -> str:
    if _overridden():
        return f"Noted: {name}. {_overridden()}"
    until = "" if kept else " It could not be kept in its file, so it holds for this notebook, until its kernel ends."
    again = "run the first cell of this notebook again, or open another."
    return f"Chosen: {name}. It takes effect in the next lab that is opened: {again}{until}"


def _overridden() -> str:
    name = choice.overridden()
    return f"$EMQLAB_SERVER is {name}, and wins over what is chosen here until it is unset." if name else ""
