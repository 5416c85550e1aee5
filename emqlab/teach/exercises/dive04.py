"""The exercises of dive 04: native parity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.teach.answers import (
    jobs_at_end,
    kind,
    members,
    no,
    read_case,
    runs_of,
    sent,
    untouched,
    verb_steps,
    written,
    yes,
)
from emqlab.teach.cases.parity import RIDDLES
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.exercises.mutant import mutant, unfit
from emqlab.teach.verdict import Verdict, as_text

if TYPE_CHECKING:
    from emqlab.parity.compare import Difference
    from emqlab.parity.explain import Explained


def _explained(run: Run) -> Explained | None:
    from emqlab.parity.explain import explained_run

    return explained_run(run)


def _parted(runs: list[Run]) -> Difference | None:
    from emqlab.parity.compare import difference

    return difference(*runs)


def _named_at(found: Difference, run: Run) -> str:
    """The call at which two runs part: the step whose reply differs, else the last."""
    steps = verb_steps(run)
    if found.field == "reply":
        return sent(steps[int(found.where.split()[1]) - 1], run)
    return sent(steps[-1], run)


def _part(value: Any) -> str:
    """One side of a difference in words."""
    told = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
    return "absent" if told is None else str(told)


def _listed(numbers: frozenset[int]) -> str:
    return " and ".join(map(str, sorted(numbers))) or "none"


# ---------------------------------------------------------------- 04-1: which divergence?


def which(lab: Lab, answer: Any) -> Verdict:
    """For each of three cases the numbers that it shows: ``{"a": 5, "c": [8, 9]}``."""
    if not isinstance(answer, dict):
        return no(f'The answer is a dict, such as {{"a": 2}}, not {kind(answer)}.')
    for name, riddle in RIDDLES.items():
        given = _numbers(answer.get(name))
        if isinstance(given, str):
            return no(f"Case {name}: {given}", field=name, expected="a number, or a list of them")
        wrong = _riddle(lab, name, parse_case(riddle), given)
        if wrong is not None:
            return wrong
    if strange := [as_text(name, str) for name in answer if name not in RIDDLES]:
        return no(f"The cases are {', '.join(RIDDLES)}; there is no {', '.join(strange)}.")
    return yes("Each case shows just what you said, when it is run.")


def _numbers(given: Any) -> frozenset[int] | str:
    """The numbers that were given for a case, or what is the matter with them."""
    if given is None or given is ...:
        return "no number yet."
    numbers = [given] if isinstance(given, int) else given
    if not isinstance(numbers, list | tuple | set | frozenset) or any(type(one) is not int for one in numbers):
        return f"{as_text(given, str)[:40]!r} is no number of a divergence, and no list of them."
    if unknown := [one for one in numbers if one not in DIVERGENCES]:
        return f"there is no divergence {unknown[0]}; they are 1 to {max(DIVERGENCES)}."
    return frozenset(numbers)


def _riddle(lab: Lab, name: str, case: Case, given: frozenset[int]) -> Verdict | None:
    """Why the numbers are not those of the case, told by its runs; None if they are."""
    runs = runs_of(lab, case)
    shown, found = _explained(runs[1]), _parted(runs)
    assert shown is not None
    assert found is not None
    if given == shown.seen:
        return None
    if wrong := sorted(given - shown.seen):
        why = f"Case {name} does not show {wrong[0]} ({DIVERGENCES[wrong[0]].rstrip('.')})"
        told, command = f"The executors part in {found.field}, first of all", _named_at(found, runs[1])
    else:
        why = f"That is not all that case {name} shows: look at every key"
        found = _unnamed(runs, shown.seen - given) or found
        told, command = f"The executors part in {found.field} too", written(runs[1], found.field)
    return no(
        f"{why}. {told}.",
        command=command,
        field=found.field,
        expected=f"the number of this: script {_part(found.left)}, verb {_part(found.right)}",
        got=_listed(given),
    )


def _unnamed(runs: list[Run], numbers: frozenset[int]) -> Difference | None:
    """The first row's field that ends differently and that one of ``numbers`` is about; None without one."""
    from emqlab.parity.compare import Difference
    from emqlab.parity.explain import MARKS

    ours, theirs = (jobs_at_end(run) for run in runs)
    for job, fields in sorted(theirs.items()):
        for name in (mark.decode() for mark, number in MARKS.items() if number in numbers):
            sides = [
                _stamp(held, run)
                for held, run in zip((ours.get(job, {}).get(name), fields.get(name)), runs, strict=True)
            ]
            if sides[0] != sides[1]:
                return Difference(f"row {job}", name, *sides)
    return None


def _stamp(text: str | None, run: Run) -> str | None:
    return "this epoch" if text == run.run_id else text


# ---------------------------------------------------------------- 04-2: a case of divergence 3


WANTED = 3


def shows_three(lab: Lab, answer: Any) -> Verdict:
    """A case that shows divergence 3 and no other."""
    case = untouched(read_case(answer))
    if isinstance(case, Verdict):
        return case
    runs = runs_of(lab, case)
    found, shown = _parted(runs), _explained(runs[1])
    last = sent(verb_steps(runs[1])[-1], runs[1])
    if found is None:
        told = _part(_reply(runs[1]))
        why = f"Both executors end alike: the last step answers {told} on both, and every key is the same."
        return no(why, command=last, field="every key", expected="a difference", got="none")
    if shown is None:
        why = "They part, but one of the commands in given or when can't be followed. Take a plainer one."
        return no(why, command=last, field=found.field, expected=str(WANTED), got="not known")
    if shown.possible == {WANTED}:
        return yes(f"It shows 3 and nothing else: {_lost(runs)}.")
    told = ", and ".join(f"{number} ({DIVERGENCES[number].rstrip('.')})" for number in sorted(shown.possible))
    return no(
        f"This case shows {told}. It is to show {WANTED} alone.",
        command=_named_at(found, runs[1]),
        field=found.field,
        expected=str(WANTED),
        got=_listed(shown.possible),
    )


def _reply(run: Run) -> Any:
    from emqlab.parity.compare import plain_reply

    return plain_reply(run.replies[-1])


def _lost(runs: list[Run]) -> str:
    """What became of the line on either side."""
    left = [len(members(run.after, run.case.queue, "pending")) for run in runs]
    return f"the script leaves {_ids(left[0])} in pending, the verb {_ids(left[1])}"


def _ids(many: int) -> str:
    return "no id" if many == 0 else "1 id" if many == 1 else f"{many} ids"


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "04-1": Exercise(
        "which divergence?",
        which,
        (
            "Run each case on both executors, and let difference() tell you where they part first.",
            "Then look for the sentence in divergence_table() that says that. The verb of the step narrows it down.",
            "One of the three shows two numbers: one is about the claim in it, one about the failure.",
            'teach.check("04-1", {"a": <about the lease>, "b": <about not being leased>, "c": [<stamp>, <failures>]})',
        ),
    ),
    "04-2": Exercise(
        "a case that shows 3, alone",
        shows_three,
        (
            "An ordinary claim shows 8, for the verb stamps the lease. For 3 alone the verb must not lease anything.",
            "Something about the head of the line must be such that the verb refuses it, and the script has popped it.",
            "A row that is no hash, an attempts that can't be counted up, or an active that is no sorted set.",
            "given: HSET {p}job:<id> … attempts <no number>, ZADD {p}pending 0 <id>. when: [cases.claim()]",
        ),
    ),
    "04-3": Exercise(
        "a mutant, and what kills it",
        mutant,
        (
            "On the happy path every row is in order and every token is right. Which check is never needed there?",
            "A claim on the happy path meets no ghost and no pause; a completion finds its job in active.",
            "Leave one such check out of the text. The case then puts just that in the way: an id without a row, say.",
            'text = own_text("claim.lua") without the line with EXISTS; given: ZADD {p}pending 0 <id>; when: a claim',
        ),
        code=True,
        file=True,
        unfit=unfit,
    ),
}
