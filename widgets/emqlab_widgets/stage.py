"""The stage: the one widget of the course. Python runs a case; stepping through it happens in the browser."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from emqlab.teach.predict import Question, answer
from emqlab_widgets import twin
from emqlab_widgets.picks import Choice, choice_of, code_of, complete, normalised, slug

Recorder = Callable[[Choice], Mapping[str, Any]]
Asked = Sequence[Question | Mapping[str, Any]]
Source = Mapping[str, str]
Sources = Mapping[str, Source | Sequence[Source]]
SAFE = 2**53 - 1
#: How much of an error's sentence is shown, in characters: what is to be done about it stands at its end.
LONGEST = 500


class Stage(anywidget.AnyWidget):
    """One case on one or more executors, side by side, step by step.

    ``picks`` are dicts ``{name, label, kind: "select" | "radio", options}``; an option is a dict ``{value,
    label, about}``, a tuple of those, or a plain text; ``emqlab_widgets.picks`` tells of picks that are texts.
    ``record(choice)`` runs the case for a choice (a text per pick) and returns the recording; it is called now and
    whenever the reader picks another case. Instead of it ``recordings`` may hold finished ones, by the picked values
    joined with ``/``: such a stage needs no kernel. ``predict`` is a list of questions or a callable giving one for a
    choice: the outcome is then held back until they are answered. ``sources`` maps an executor's name to ``{name,
    text}`` of the file that ran, or to a list of them where several did: the file of the step is shown; or it is a
    callable giving that for a choice, once it has run. ``divergences`` maps a number to its sentence. ``choice`` and
    ``step`` say where to open (default: the first options, the last step). ``view`` is ``"stage"``, ``"workers"`` or
    ``"budgets"``, whose recording has ``cap``. With ``every`` the twin in HTML and text has every key too, as the live
    stage always has.

    A failure of ``record`` is raised here, but shown as a sentence in the widget when a reader's pick causes it.
    """

    _esm = pathlib.Path(__file__).with_name("stage.js")
    _css = pathlib.Path(__file__).with_name("stage.css")

    title = traitlets.Unicode().tag(sync=True)
    question = traitlets.Unicode().tag(sync=True)
    view = traitlets.Enum(["stage", "workers", "budgets"], "stage").tag(sync=True)
    picks: traitlets.List[Any] = traitlets.List().tag(sync=True)
    choice = traitlets.Dict().tag(sync=True)
    recordings = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True)
    recording = traitlets.Dict().tag(sync=True)
    step = traitlets.Int(allow_none=True, default_value=None).tag(sync=True)
    #: The executor whose line in "Show what ran" a code asked for, or an empty text.
    ran = traitlets.Unicode().tag(sync=True)
    predict: traitlets.List[Any] = traitlets.List(allow_none=True, default_value=None).tag(sync=True)
    sources = traitlets.Dict().tag(sync=True)
    divergences = traitlets.Dict().tag(sync=True)
    answered: traitlets.List[Any] = traitlets.List().tag(sync=True)
    #: The choice that ``recording`` answers, and the sentence about one that could not be run.
    shown = traitlets.Dict().tag(sync=True)
    trouble = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        *,
        title: str,
        question: str = "",
        picks: Sequence[Mapping[str, Any]] = (),
        record: Recorder | None = None,
        recordings: Mapping[str, Mapping[str, Any]] | None = None,
        predict: Asked | Callable[[Choice], Asked | None] | None = None,
        sources: Sources | Callable[[Choice], Sources] | None = None,
        divergences: Mapping[int, str] | Mapping[str, str] | None = None,
        choice: Mapping[str, str] | None = None,
        step: int | None = None,
        view: str = "stage",
        every: bool = False,
    ) -> None:
        if record is None and recordings is None:
            raise TypeError("a Stage needs record, a callable that runs a choice, or recordings")
        self._record = record
        self._questions = predict
        self._sources = sources
        self._every = every
        self._listeners: list[Callable[[list[dict[str, Any]]], object]] = []
        super().__init__(
            title=title,
            question=question,
            view=view,
            picks=normalised(picks),
            recordings=None if recordings is None else {k: _exact(r) for k, r in recordings.items()},
            divergences={str(number): sentence for number, sentence in (divergences or {}).items()},
        )
        self._run(dict(choice or {}), step)
        self.observe(self._picked, "choice")
        self.observe(self._answered, "answered")

    def reopen(self, code: str) -> Stage:
        """Reopen what "Link to this" copied: ``code@step``, or a code alone for the last step.

        ``code@step:native`` unfolds "Show what ran" at that executor's line. Returns the stage itself, so that a cell
        shows it. Raises ``ValueError`` for a code that is not of this stage, and whatever running the case raises.
        """
        name, step, ran = parted(code)
        self._run(choice_of(name, slug(self.title), self.picks), step, ran, code)
        return self

    def on_answered(self, callback: Callable[[list[dict[str, Any]]], object]) -> None:
        """Call back with the judged answers, ``[{ask, guess, answer, ok}, …]``, each time a reader gives them."""
        self._listeners.append(callback)

    def _run(self, choice: Mapping[str, str], step: int | None, ran: str = "", code: str = "") -> None:
        """Run a choice and put all of it on show in one message."""
        full = complete(choice, self.picks)
        found = self._found(full)
        sources = self._sources(dict(full)) if callable(self._sources) else self._sources or {}
        if ran and ran not in sources:
            has = " or ".join(sources) or "no file to show"
            raise ValueError(f"{code!r} names {ran!r}, of which there is no file here: after the step comes {has}")
        questions = [_asked(found, one) for one in self._asked_for(full)]
        with self.hold_sync():
            self.step, self.ran = step, ran
            self.set_trait("predict", questions or None)
            self.sources = plain(sources)
            self.recording = found
            self.answered = []
            self.trouble = ""
            self.shown = full
            self.choice = full

    def _found(self, choice: Choice) -> dict[str, Any]:
        if self._record is not None:
            recording = dict(_exact(self._record(dict(choice))))
        else:
            recording = dict((self.recordings or {})[code_of(choice, self.picks)])
        if self.picks:
            recording["code"] = f"{slug(self.title)}/{code_of(choice, self.picks)}"
        return recording

    def _asked_for(self, choice: Choice) -> Asked:
        asked = self._questions(dict(choice)) if callable(self._questions) else self._questions
        return asked or ()

    def _picked(self, change: dict[str, Any]) -> None:
        if change["new"] == self.shown:
            return
        self.send({"heard": change["new"]})  # before the run: a kernel is there, and this is what it runs now
        try:
            self._run(change["new"], None)
        except Exception as error:  # whatever went wrong, the reader is told where the reader looks
            why = " ".join(str(error).split())[:LONGEST].rstrip(".")
            with self.hold_sync():
                self.trouble = f"This case could not be run ({type(error).__name__}: {why}). The one before stays."
                self.choice = dict(self.shown)

    def _answered(self, change: dict[str, Any]) -> None:
        if change["new"]:
            for callback in self._listeners:
                callback(list(change["new"]))

    def _shown(self) -> twin.Shown:
        ran = [self.recording.get("case") or {}, *self.recording["executors"]]
        shown = {number for one in ran for number in one.get("differs") or ()}
        differs: Sequence[int] = sorted(self.recording.get("differs", shown))
        return twin.Shown(
            title=self.title,
            question=self.question,
            picks=tuple((pick["label"], _label(pick, self.shown)) for pick in self.picks),
            differs=tuple((n, self.divergences.get(str(n), "")) for n in differs),
            recording=self.recording,
            questions=tuple(Question(q["ask"], q["about"], tuple(q["options"])) for q in self.predict or ()),
            budgets=self.view == "budgets",
            every=self._every,
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle or ({}, {})
        shown = self._shown()
        return {**data, "text/html": twin.html(shown), "text/plain": twin.text(shown)}, metadata


def parted(code: str) -> tuple[str, int | None, str]:
    """A code without its step, the step (None if it has none) and the executor (an empty text if it has none)."""
    found = re.fullmatch(r"(.*)@([0-9]+)(?::([^:@/]+))?", code, re.DOTALL | re.ASCII)
    return (found[1], int(found[2]), found[3] or "") if found else (code, None, "")


def plain(sources: Sources) -> dict[str, Any]:
    """Sources as plain dicts and lists."""
    return {name: dict(one) if isinstance(one, Mapping) else [dict(o) for o in one] for name, one in sources.items()}


def _label(pick: Mapping[str, Any], choice: Mapping[str, str]) -> str:
    value = choice[pick["name"]]
    if pick["kind"] == "moves":
        return value or "none"
    option = next((o for o in pick["options"] if o["value"] == value), {"label": value})
    return f"{option['label']}: {option['about']}" if option.get("about") else str(option["label"])


def _asked(recording: Mapping[str, Any], question: Question | Mapping[str, Any]) -> dict[str, Any]:
    """A question as the browser takes it; one whose right answer is not on offer is the author's mistake."""
    if isinstance(question, Question):
        question = {"ask": question.ask, "about": question.about, "options": question.options}
    right = answer(recording, question["about"])
    options = [str(option) for option in question["options"]]
    if right not in options:
        raise ValueError(f"no option of {question['ask']!r} is what the run says: {right!r}")
    return {"ask": question["ask"], "about": question["about"], "options": options}


def _exact(value: Any) -> Any:
    """The same JSON with integers beyond 2^53 as texts: a browser would round them."""
    if isinstance(value, Mapping):
        return {key: _exact(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    big = isinstance(value, int) and not isinstance(value, bool) and not -SAFE <= value <= SAFE
    return str(value) if big else value
