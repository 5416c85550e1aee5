"""A reader's altered copy of a script or a verb: read, walked along the happy path, and hunted by the instrument."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emqlab.lab import ExecutorName, Lab
from emqlab.observe.run import Run
from emqlab.scripted.scripts import SCRIPTS
from emqlab.teach import hunting
from emqlab.teach.answers import kind, no, run_of, sent, verb_steps
from emqlab.teach.cases.happy import HAPPY
from emqlab.teach.cases.steps import CaseJson
from emqlab.teach.hunting import FLAT, MORE, Hunt, cases
from emqlab.teach.verdict import Verdict

if TYPE_CHECKING:
    from emqlab.parity.defects.sources import Sources
    from emqlab.parity.rig import Ran
    from emqlab.parity.trials.trial import Trial

_BYTES = re.compile(r"""\bb(["'])(.*?)\1""")
_ERROR = re.compile(r"""Error\(text=(?:b)?(["'])(.*?)\1\)""")


@dataclass(frozen=True, slots=True)
class Copy:
    """One file of the lab's as somebody altered it: ``file`` is ``complete.lua`` or ``complete.py``.

    ``verbs`` are the step verbs that it serves, ``sources`` all texts with this one among them.
    """

    executor: ExecutorName
    file: str
    text: str
    verbs: tuple[str, ...]
    sources: Sources


def own_text(file: str) -> str:
    """The lab's own text of a file: ``complete.lua`` of a script, ``complete.py`` of a verb.

    Raises ValueError for a file that is not there.
    """
    from emqlab.native.module.sources import verb_texts

    known = {f"{name}.lua": script.text.decode() for name, script in SCRIPTS.items()}
    known |= {f"{name}.py": text for name, text in verb_texts().items()}
    if file not in known:
        raise ValueError(f"there is no file {file!r}; there are {', '.join(known)}")
    return known[file]


def named(answer: Any) -> tuple[str, str] | Verdict:
    """File and text of ``{"complete.lua": text}``, or what to write instead. Nothing of the text is run.

    It must be one of the lab's files, and not be the lab's own text as it stands.
    """
    if not isinstance(answer, dict) or len(answer) != 1:
        got = f"{len(answer)} files" if isinstance(answer, dict) else kind(answer)
        return no(f'The answer is one file and its text, {{"complete.lua": text}}, not {got}.')
    ((file, text),) = answer.items()
    if not isinstance(file, str):
        return no(f"The file is a name such as complete.lua, not {kind(file)}.")
    if not isinstance(text, str):
        return no(f"The text of {file} is a str, not {kind(text)}.")
    try:
        if text == own_text(file):
            return no(f"This is {file} as it is: alter something in it.", field=file)
    except ValueError as error:
        return no(f"The copy can't be run: {error}.")
    return file, text


def altered(answer: Any) -> Copy | Verdict:
    """The copy that ``{"complete.lua": text}`` brings, read by its language, or what to write instead."""
    found = named(answer)
    if isinstance(found, Verdict):
        return found
    try:
        return copy_of(*found)
    except ValueError as error:
        return no(f"The copy can't be run: {str(error).rstrip('.')}.", field=found[0])


def copy_of(file: str, text: str) -> Copy:
    """A copy with ``text`` for ``file``. Raises ValueError for a file that is not there, or that can't be read."""
    from emqlab.parity.defects.plants import plant_text
    from emqlab.parity.defects.sources import ENDINGS, served_by

    own_text(file)
    executor = ENDINGS[file.rpartition(".")[2]]
    verbs = served_by(file)
    if not verbs:
        raise ValueError(f"{file} is kept for a lesson, and no verb runs it; alter another file")
    return Copy(executor, file, text, verbs, plant_text(executor, file, text))


def opened(copy: Copy) -> Lab:
    """An embedded lab whose executor runs the copy; close it. Its cases are run untraced."""
    from emqlab.parity.defects.sources import open_defective

    return open_defective(copy.sources)


def happy_path(lab: Lab, changed: Lab, copy: Copy) -> Verdict | None:
    """Where the copy, run in ``changed``, parts from the lab's own text on the happy path; None where it does not.

    ``lab`` is a sound one on the embedded server.
    """
    for each in HAPPY[copy.executor]:
        parted = first_difference(lab, changed, copy, each)
        if parted is not None:
            return parted
    return None


def first_difference(lab: Lab, changed: Lab, copy: Copy, case: CaseJson) -> Verdict | None:
    """The first reply, else the first key, in which the copy's run of a case is not the lab's own; None if none is."""
    from emqlab.parity.compare import difference, plain_reply

    own, its = run_of(lab, case, copy.executor), run_of(changed, case, copy.executor)
    found = difference(own, its)
    if found is None:
        return None
    steps = [done for done in own.trace if done.step.verb is not None]
    for done, was, now in zip(steps, own.replies, its.replies, strict=True):
        if plain_reply(was) != plain_reply(now):
            told, got = reply_told(was), reply_told(now)
            why = f"With your {copy.file}, step {done.index + 1} of {own.case.name}, {done.step.verb}, answers {got}."
            return no(why, command=sent(done, own), field="reply", expected=told, got=got)
    told, got = ("absent" if one is None else str(one) for one in (found.left, found.right))
    why = f"With your {copy.file}, the replies of {own.case.name} are right, and {found.where} is not."
    return no(why, command=sent(steps[-1], own), field=found.field, expected=told, got=got)


def reply_told(reply: Any) -> str:
    """A reply in words: an error by its text, without what a server adds."""
    from emqlab.parity.compare import plain_reply

    told = plain_reply(reply)
    value = next(iter(told.values())) if isinstance(told, dict) else told
    return "nil" if value is None else str(value)


def told_of(lab: Lab, run: Run, why: str, expected: str) -> Verdict:
    """A verdict on the one call of a copy's run, by what it answered; the lab's own text is sent the same."""
    own = run_of(lab, run.case, run.executor)  # type: ignore[arg-type]
    command = sent(verb_steps(own)[0], own)
    return no(why, command=command, field="reply", expected=expected, got=reply_told(run.replies[0]))


def hunt(copy: Copy, *, flat: int = FLAT, more: int = MORE, counts: Callable[[Ran], bool] | None = None) -> Hunt:
    """Let the instrument look for the copy, in cases aimed at its file's verbs (see ``hunting.hunt``)."""
    from emqlab.parity.ground import Ground

    ground = Ground("embedded", copy.sources)
    try:
        native = copy.executor == "native"
        return hunting.hunt(ground.rig, copy.verbs, native=native, flat=flat, more=more, counts=counts)
    finally:
        ground.close()


def hunt_told(found: Hunt) -> str:
    """How a hunt ended: in the how-manyeth case, which that was, what was seen there, and how to have it again."""
    if found.trial is None:
        return f"The instrument did not see it in {cases(found.tried)}."
    seen = _BYTES.sub(r"\2", _ERROR.sub(r"\2", found.complaints[0]))
    which = f"{found.trial.name}, {found.trial.verb}"
    return f"The instrument saw it in case {found.tried} ({which}): {seen}. {_again(found.trial)}"


def _again(trial: Trial) -> str:
    """What a case's name says, and what makes the case again: a layer that is aimed at one file is not among those."""
    from emqlab.parity.options import CASES

    parts = "The name is layer, seed and number"
    if trial.layer not in CASES:
        return f"{parts}, in a layer that is aimed at this file's verbs."
    again = f"--layer {trial.layer} --seed {trial.seed} --index {trial.index}"
    return f"{parts}: `emqlab parity {again}` makes the case again."
