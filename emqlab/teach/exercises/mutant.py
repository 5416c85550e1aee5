"""Exercise 04-3: a changed file that the happy path does not kill, and a case that does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.teach.altered import altered, first_difference, happy_path, hunt, named, opened
from emqlab.teach.answers import kind, no, read_case, run_of, sent, verb_steps, yes
from emqlab.teach.hunting import cases
from emqlab.teach.verdict import Verdict, as_text

#: How many cases the instrument tries at the most, to tell whether there is something to be seen at all.
TRIED = 200


def mutant(lab: Lab, answer: Any) -> Verdict:
    """A changed file that is sound on the happy path, and a case that ends otherwise with it."""
    taken = _parts(answer)
    if isinstance(taken, Verdict):
        return taken
    file, text, case = taken
    copy = altered({file: text})
    if isinstance(copy, Verdict):
        return copy
    with opened(copy) as changed:
        strayed = happy_path(lab, changed, copy)
        if strayed is not None:
            return replace(strayed, sentence=f"The happy path kills it already. {strayed.sentence}")
        killed = first_difference(lab, changed, copy, dict(case.source))
    if killed is not None:
        return yes(f"Survived the happy path, and killed. {killed.sentence} It should be {killed.expected}.")
    found = hunt(copy, flat=TRIED, more=0)
    seen = f"It may be no defect: the instrument sees none either, in {cases(found.tried)}."
    if found.trial is not None:
        seen = f"There is something to see: the instrument did after {cases(found.tried)}, in a {found.trial.verb}."
    run = run_of(lab, case, copy.executor)
    return no(
        f"It survives the happy path, and your case as well: both texts end alike. {seen}",
        command=sent(verb_steps(run)[-1], run),
        field="every key",
        expected="a difference",
        got="none",
    )


def _parts(answer: Any) -> tuple[str, str, Case] | Verdict:
    """File, text and case of an answer, or what is the matter; nothing of the text is run for that."""
    if not isinstance(answer, dict) or set(answer) != {"file", "text", "case"}:
        return no(f"The answer is a dict with file, text and case, not {_keys(answer)}.")
    if not isinstance(answer["file"], str):
        return no(f"The file is a name such as claim.lua, not {kind(answer['file'])}.")
    found = named({answer["file"]: answer["text"]})
    if isinstance(found, Verdict):
        return found
    case = read_case(answer["case"], what="What kills it")
    return case if isinstance(case, Verdict) else (*found, case)


def _keys(answer: Any) -> str:
    return (
        f"one with {', '.join(as_text(name, str) for name in answer) or 'nothing'}"
        if isinstance(answer, dict)
        else kind(answer)
    )


def unfit(answer: Any) -> Verdict | None:
    """What is wrong with an answer before anything of it is run: its parts, its file's name, the shape of its case."""
    found = _parts(answer)
    return found if isinstance(found, Verdict) else None
