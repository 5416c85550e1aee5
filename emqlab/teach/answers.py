"""A reader's case: whether it is one that an exercise takes, its runs, and what they ended with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from emqlab import keys
from emqlab.executor import Told
from emqlab.lab import ExecutorName, Lab
from emqlab.observe.case import BadCase, Case
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Done, Run, Skipped
from emqlab.observe.snapshot import Snapshot
from emqlab.observe.state import SETS
from emqlab.replies import ErrorReply, NotSent, reply_json
from emqlab.teach.empty_claims import came_to_nothing
from emqlab.teach.no_case import YOURS, plainly
from emqlab.teach.verdict import NotRun, Verdict
from emqlab.transitions import LANES_AND_FLOWS

#: How many commands and steps a case may have: an answer runs in the lesson's own process.
MOST = 300
EXECUTORS: tuple[ExecutorName, ...] = ("scripted", "native")


def no(sentence: str, *, command: str = "", field: str = "", expected: str = "", got: str = "") -> Verdict:
    """A verdict on what is not right yet."""
    return Verdict(False, command, field, expected, got, sentence)


def yes(sentence: str) -> Verdict:
    """A verdict on a solution."""
    return Verdict(True, "", "", "", "", sentence)


def read_case(answer: Any, *, what: str = "The answer", parts: str = "name, queue, given and when") -> Case | Verdict:
    """A reader's case with steps in it, or why it is none yet. ``what`` is to be one, a dict with these ``parts``."""
    if not isinstance(answer, dict):
        return no(f"{what} is a case, a dict with {parts}, not {kind(answer)}.")
    try:
        case = parse_case(answer, YOURS)
    except BadCase as error:
        return no(f"This is no case yet: {plainly(str(error), answer)}.")
    if not case.verbs:
        return no("The case has no step yet: when is where the verbs go.", field="when", expected="steps", got="none")
    many = len(case.given) + len(case.when)
    if many > MOST:
        return no(f"No answer needs so many steps: {MOST} at most.", expected=f"up to {MOST}", got=str(many))
    for command in (*case.given, *(step.command for step in case.when if step.command is not None)):
        if str(command[0]).upper().startswith(("EVAL", "FCALL", "FUNCTION", "SCRIPT")):
            return no("A script of your own is no part of a case here: use commands.", command=str(command[0]))
    return case


def untouched(case: Case | Verdict) -> Case | Verdict:
    """The case for any server, if its verbs are sent as they are; a verdict stays.

    Keys and arguments of one's own are raw commands in disguise, and what only other servers run can't be judged.
    """
    if isinstance(case, Verdict):
        return case
    for place, step in enumerate(case.when, 1):
        for name, own in (("keys", step.keys), ("args", step.args)):
            if own is not None:
                told = f"Step {place} brings {name} of its own; leave them to the verb."
                return no(told, command=step.verb or "", field=name, expected=f"no {name}", got=" ".join(map(str, own)))
    return replace(case, servers=None)


def own_case(answer: Any) -> Case | Verdict:
    """The reader's case, or why it can't be one: it starts on an empty queue, and only verbs and the clock act."""
    case = read_case(answer, parts="name, queue and when")
    return case if isinstance(case, Verdict) else _by_hand(case) or untouched(case)


def _by_hand(case: Case) -> Verdict | None:
    """What of a case is not left to the verbs of flat jobs and the clock; None when all is."""
    if case.given:
        first, many = " ".join(map(str, case.given[0])), len(case.given)
        return no(
            "Begin on an empty queue: let the verbs bring the job there, not given.",
            command=first,
            field="given",
            expected="no command",
            got=f"{many} command" + ("s" if many > 1 else ""),
        )
    for place, step in enumerate(case.when):
        if step.command is not None:
            sent = " ".join(map(str, step.command))
            return no(
                f"Step {place + 1} writes by hand; only verbs and the clock may act.",
                command=sent,
                field="when",
                expected="a verb, advance_ms or restart",
                got="command",
            )
        if step.verb in LANES_AND_FLOWS:
            return no(
                f"Step {place + 1}, {step.verb}, is unsupported: lanes and flows are no part of this exercise.",
                command=step.verb,
                field="when",
                expected="a step of a flat job",
                got=step.verb,
            )
    return None


def judged(lab: Lab, answer: Any, look: Callable[[Case, list[Run]], Verdict], *, strict: bool = False) -> Verdict:
    """What ``look`` says of the reader's case after its runs; a step that was refused is told first.

    With ``strict`` such a step decides: nothing of the case may be refused, nor be unsupported. Of a case that is no
    solution an earlier claim that found nobody, and an id added again, are told before all that: what came after was
    not what was meant.
    """
    case = own_case(answer)
    if isinstance(case, Verdict):
        return case
    runs = runs_of(lab, case)
    verdict, refused = look(case, runs), _refusal(runs)
    if refused is None or (strict and not verdict.ok and verdict.field == "when"):
        why = came_to_nothing(lab, runs, len(case.when), verdict.sentence)
        return verdict if verdict.ok else _after(why, verdict)
    if verdict.ok and not strict:
        return replace(verdict, sentence=f"{refused[1].sentence} {verdict.sentence}")
    told = refused[1] if strict else _after(refused[1].sentence, verdict)
    return _after(came_to_nothing(lab, runs, refused[0], told.sentence), told)


def _after(why: str, verdict: Verdict) -> Verdict:
    """The verdict, with a sentence before its own if there is one."""
    return replace(verdict, sentence=f"{why} {verdict.sentence}") if why else verdict


def _refusal(runs: Sequence[Run]) -> tuple[int, Verdict] | None:
    """The first step that was refused, or that an executor does not have, and its place in ``when``; None if none."""
    found = [(done.index, place, done, run) for place, run in enumerate(runs) for done in run.trace if _refused(done)]
    if not found:
        return None
    index, _, done, run = min(found, key=lambda one: one[:2])
    alike = [one for one in found if one[0] == index and one[2].reply == done.reply]
    where = "" if len(alike) == len(runs) else f" on the {run.executor} executor"
    step = f"Step {index + 1}, {done.step.verb},"
    if isinstance(done.reply, ErrorReply):
        told, got = f"{step} was refused{where}: {done.reply.text}.", done.reply.text
    else:
        told, got = f"{step} is unsupported{where}: nothing was sent.", "unsupported"
    return index, no(told, command=sent(done, run), field="reply", expected="an answer", got=got)


def _refused(done: Done) -> bool:
    return done.step.verb is not None and isinstance(done.reply, ErrorReply | NotSent)


def runs_of(lab: Lab, case: Case) -> list[Run]:
    """The case on each executor, in the order of ``EXECUTORS``. Raises NotRun when this server can't run it."""
    return [run_of(lab, case, name) for name in EXECUTORS]


def run_of(lab: Lab, case: Case | Mapping[str, Any], executor: ExecutorName) -> Run:
    """The case on one executor. Raises NotRun when this server can't run it."""
    run = lab.run(case if isinstance(case, Case) else dict(case), executor=executor)
    if isinstance(run, Skipped):
        raise NotRun(f"This case can't be run here: {run.why}.")
    return run


def verb_steps(run: Run) -> list[Done]:
    """The steps of a run that named a verb, in order: as many as its replies."""
    return [done for done in run.trace if done.step.verb is not None]


def writes_of(run: Run) -> list[Told]:
    """Every write inside a run's transitions, in order."""
    return [one for done in run.trace if done.traced for one in done.traced.told if one.phase == "write"]


def jobs_at_end(run: Run) -> dict[str, dict[str, str]]:
    """Every row at the end: id -> fields."""
    prefix = keys.row(run.case.queue, b"")
    rows = {name[len(prefix) :]: key for name, key in run.after.items() if name.startswith(prefix)}
    return {
        job.decode("utf-8", "replace"): {
            field.decode("utf-8", "replace"): value.decode("utf-8", "replace") for field, value in key.pairs().items()
        }
        for job, key in rows.items()
    }


def places_at_end(run: Run, job: str) -> str:
    """The sets that hold a job at the end, in words."""
    return " and ".join(name for name in SETS if job in members(run.after, run.case.queue, name)) or "no set"


def members(snapshot: Snapshot, queue: bytes, name: str) -> set[str]:
    """The ids that a set of a queue holds; none where the key is missing, or of another type."""
    key = snapshot.get(keys.base(queue) + name.encode())
    return {job.decode("utf-8", "replace") for job in key.pairs()} if key is not None and key.type == "zset" else set()


def newest(jobs: Mapping[str, Mapping[str, str]], field: str) -> str:
    """That field of the newest job; ``no row`` when there is none."""
    return jobs[max(jobs)].get(field, "absent") if jobs else "no row"


def missing(run: Run, field: str, expected: str, got: str, why: str = "") -> Verdict:
    """What an executor's run ended with, and the command that made it so: the last one to write the field."""
    sentence = f"{on(run)} {why or f'{field} ends as {got}, and {expected} is wanted'}."
    return no(sentence, command=written(run, field), field=field, expected=expected, got=got)


def on(run: Run) -> str:
    """The beginning of a sentence about one executor's run; ``wrong_on`` changes it where it is true of both."""
    return f"On the {run.executor} executor"


def wrong_on(runs: Sequence[Run], look: Callable[[Run], Verdict | None]) -> Verdict | None:
    """What ``look`` says of the first run that it has something to say of; None when all are as they should be.

    Where it says the same of every run, the sentence begins so.
    """
    told = [look(run) for run in runs]
    found = [
        replace(one, command="", sentence=one.sentence.removeprefix(on(run))) if one else None
        for one, run in zip(told, runs, strict=True)
    ]
    first = next((one for one in told if one is not None), None)
    if first is None or found != found[:1] * len(runs):
        return first
    return replace(first, sentence=first.sentence.replace(on(runs[0]), "On both executors", 1))


def written(run: Run, field: str) -> str:
    """The last command of a run that wrote a field of a row, or deleted one; else its last call."""
    writers = [one.command for one in writes_of(run) if _writes(one.command, field)]
    return _plain(writers[-1], run) if writers else sent(verb_steps(run)[-1], run)


def _writes(command: tuple[bytes, ...], field: str) -> bool:
    row = len(command) > 1 and b"}:job:" in command[1]
    return row and (command[0] == b"DEL" or field.encode() in command[2:])


def _plain(command: Iterable[bytes], run: Run) -> str:
    """A command as text; keys lose their base, an epoch is named."""
    words = [part.decode("utf-8", "replace") for part in command]
    base = keys.base(run.case.queue).decode("utf-8", "replace")
    named = {run.run_id: "this-epoch", base: "base", "": '""'}
    return " ".join(named.get(word) or word.replace(base, "", 1) for word in words)


def sent(done: Done, run: Run) -> str:
    """A whole call as it was sent; the verb's name when nothing was. A script goes by its file, not its hash."""
    traced = done.traced
    if traced is None or not traced.sent:
        return done.step.verb or ""
    return _plain(traced.sent, run)


def kind(value: Any) -> str:
    """What an answer is, for a sentence: ``an int``, ``nothing yet`` for three dots."""
    if value is ... or value is None:
        return "nothing yet" if value is ... else "None"
    article = "an" if type(value).__name__[0] in "aeiou" else "a"
    return f"{article} {type(value).__name__}"


def elsewhere(run: Run, expected: str, got: str) -> Verdict:
    """The row says one thing and the sets another: possible where a script goes ahead."""
    why = f"{on(run)} the row is right, but the id is in {got}; {expected} is wanted."
    return no(why, command=sent(verb_steps(run)[-1], run), field="set", expected=expected, got=got)


def said(run: Run, place: int) -> str:
    """What a verb step answered, counted among the verb steps from 0; an error by its text."""
    told = reply_json(run.replies[place])
    return str(told.get("ok", told.get("error", "unsupported")))
