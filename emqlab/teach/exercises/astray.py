"""Exercise 03-2: an id in schedule and in dead, by the scripts, and why the verb will not (SPEC 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Done, Run
from emqlab.observe.state import SETS
from emqlab.replies import ErrorReply
from emqlab.teach.answers import jobs_at_end, members, no, own_case, places_at_end, runs_of, said, sent, verb_steps, yes
from emqlab.teach.verdict import Verdict

if TYPE_CHECKING:
    from emqlab.parity.explain import Explained

NOT_ACTIVE = "EMQSTATE not active"
PAIR = "schedule and dead"


def two_sets(lab: Lab, answer: Any) -> Verdict:
    """A case that leaves an id in schedule and dead by the scripts, is refused natively, and whose differs says why."""
    case = own_case(answer)
    if isinstance(case, Verdict):
        return case
    scripted, native = runs_of(lab, case)
    split = [job for job in sorted(_ids(scripted)) if places_at_end(scripted, job) == PAIR]
    if not split:
        return _elsewhere(scripted)
    refused = [done for done in verb_steps(native) if _text(done) == NOT_ACTIVE]
    if not refused:
        return _not_refused(scripted, native, split[0])
    for job in sorted({*_ids(native), *jobs_at_end(native)}):
        if places_at_end(native, job) not in SETS:
            return no(
                f"Natively the sets are to be whole, but …{job[-4:]} ends in {places_at_end(native, job)}.",
                command=sent(verb_steps(native)[-1], native),
                field="set",
                expected="one set",
                got=places_at_end(native, job),
            )
    step, seen = refused[0], _seen(native)
    return _reason(case, native, step, seen) or yes(
        f"The scripts leave …{split[0][-4:]} in {places_at_end(scripted, split[0])}. The verb of step {step.index + 1},"
        f" {step.step.verb}, asks active first and writes nothing: declared as {_why(case, seen)}."
        + _besides(case, seen)
    )


def _seen(native: Run) -> Explained | None:
    from emqlab.parity.explain import explained_run  # the model is much to load, and only a run needs it

    return explained_run(native)


def _why(case: Case, seen: Explained | None) -> str:
    """The numbers that say why the verb refuses: those that are certain, or else what the case names."""
    numbers = seen.certain if seen and seen.certain else {*case.differs}
    return ", ".join(map(str, sorted(numbers)))


def _besides(case: Case, seen: Explained | None) -> str:
    """What the end shows beside the refusal, whether or not the case names it, and what the case names in vain.

    A case need not name the first, and may name the second where a step of it could show it (SPEC 6).
    """
    from emqlab.parity.explain import MARKS

    if seen is None or not seen.certain:
        return ""
    more = {field.decode(): number for field, number in MARKS.items() if number in seen.left - seen.certain}
    told = " and ".join(f"{field} differs too, which is {number}" for field, number in more.items())
    vain = " and ".join(map(str, sorted({*case.differs} - seen.seen)))
    return (f" At the end {told}: a case may name that beside a refusal, and need not." if told else "") + (
        f" Of {vain} this run shows nothing." if vain else ""
    )


def _ids(run: Run) -> set[str]:
    """Every id that one of the four sets holds at the end."""
    return {job for name in SETS for job in members(run.after, run.case.queue, name)}


def _text(done: Done) -> str:
    return done.reply.text if isinstance(done.reply, ErrorReply) else ""


def _elsewhere(scripted: Run) -> Verdict:
    """By the scripts no id is in both of the sets; a script that refused is told first."""
    ids = _ids(scripted)
    got = places_at_end(scripted, max(ids)) if ids else "no set"
    told = f"By the scripts the id ends in {got}; it is to be in {PAIR} at once."
    shown = verb_steps(scripted)[-1]
    for done in verb_steps(scripted):
        if _text(done):
            told = f"Step {done.index + 1}, {done.step.verb}, was refused by the script: {_text(done)}. {told}"
            shown = done
            break
    return no(told, command=sent(shown, scripted), field="set", expected=PAIR, got=got)


def _not_refused(scripted: Run, native: Run, job: str) -> Verdict:
    """The scripts did it, but no verb objected: the step that was answered in two ways is told."""
    steps = verb_steps(native)
    parted = [place for place in range(len(steps)) if said(scripted, place) != said(native, place)]
    at = parted[-1] if parted else len(steps) - 1
    done, got = steps[at], said(native, at)
    return no(
        f"By the scripts …{job[-4:]} is in {places_at_end(scripted, job)}. But natively step {done.index + 1},"
        f" {done.step.verb}, answers {got}; a refusal is wanted.",
        command=sent(done, native),
        field="reply",
        expected=NOT_ACTIVE,
        got=got,
    )


def _reason(case: Case, native: Run, done: Done, seen: Explained | None) -> Verdict | None:
    """What is wrong with the numbers that are to say why, None if nothing is."""
    if twice := [number for number in case.differs if case.differs.count(number) > 1]:
        return no(
            f"The ids are as they should be. But differs names {twice[0]} more than once: name each number once.",
            command=sent(done, native),
            field="differs",
            expected=f"{twice[0]} once",
            got=", ".join(map(str, case.differs)),
        )
    if seen is None:
        return no("This case can't be followed by its declared divergences; take a simpler one.", field="differs")
    wrong, named = sorted({*case.differs} - seen.possible), {*case.differs}
    if not wrong and named and seen.certain <= named:
        return None
    got = ", ".join(map(str, case.differs)) or "none"
    told = "Now say why the verb refuses: give its number in differs, a list."
    if wrong:
        told = f"But the case does not show {wrong[0]}: {DIVERGENCES[wrong[0]]}"
    elif named:
        told = "But what differs names is not why the verb refuses."
    return no(
        f"The ids are as they should be. {told}",
        command=sent(done, native),
        field="differs",
        expected="the declared divergence that this refusal is",
        got=got,
    )
