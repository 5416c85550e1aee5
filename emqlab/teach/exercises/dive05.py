"""The exercises of dive 05: failures and recovery."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from emqlab import keys
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Done, Run, Skipped
from emqlab.observe.subject import subject_of
from emqlab.replies import ErrorReply
from emqlab.teach.answers import (
    EXECUTORS,
    jobs_at_end,
    judged,
    kind,
    missing,
    newest,
    no,
    own_case,
    runs_of,
    sent,
    verb_steps,
    writes_of,
    yes,
)
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.limits import TooLong, limited
from emqlab.teach.verdict import Verdict

# ---------------------------------------------------------------- 05-1: a history that dies on one executor only

#: The least budget, and how many failures may be reported.
BUDGET, FAILURES = 4, 1


def dies_on_one(lab: Lab, answer: Any) -> Verdict:
    """A history with a budget of four or more and a single failure, after which one executor's job alone is dead."""
    from emqlab.teach.history import BadHistory, compose  # it brings the third voice along

    if not isinstance(answer, dict) or set(answer) != {"moves", "max_attempts"}:
        what = f"a dict with {', '.join(map(repr, answer)) or 'nothing'}" if isinstance(answer, dict) else kind(answer)
        return no(f"The answer is a dict with 'moves', a text, and 'max_attempts', a number, not {what}.")
    moves, most = answer["moves"], answer["max_attempts"]
    if not isinstance(moves, str):
        return no(f"moves is a text such as 'claim fail', not {kind(moves)}.", field="moves")
    if isinstance(most, bool) or not isinstance(most, int):
        return no(f"max_attempts is a whole number, not {kind(most)}.", field="max_attempts")
    failed = moves.split().count("fail")
    if failed != FAILURES:
        return no(
            f"One reported failure is asked for, and this history has {failed or 'none'}.",
            field="moves",
            expected="one fail",
            got=str(failed),
        )
    if most < BUDGET:
        return no(
            f"A budget of {BUDGET} or more is asked for: with {most} it would be no riddle.",
            field="max_attempts",
            expected=f"{BUDGET} or more",
            got=str(most),
        )
    try:
        history = compose(lab, moves.split(), most)
    except BadHistory as error:
        return no(f"This is no history: {error}.", field="moves")
    return _dies_on_one([_done(lab, history.cases[name], name) for name in EXECUTORS], most)


def _dies_on_one(runs: list[Run], most: int) -> Verdict:
    for run in runs:
        (failed,) = (done for done in verb_steps(run) if done.step.verb == "fail")
        if isinstance(failed.reply, ErrorReply):
            return no(
                f"Nobody held the job when the failure was reported: the {run.executor} executor refused it.",
                command=sent(failed, run),
                field="reply",
                expected="scheduled or dead",
                got=failed.reply.text,
            )
    scripted, native = (newest(jobs_at_end(run), "state") for run in runs)
    attempts, failures = newest(jobs_at_end(runs[0]), "attempts"), newest(jobs_at_end(runs[1]), "failures")
    counted = f"the script counts attempts {attempts}, the verb failures {failures}"
    if (scripted == "dead") is not (native == "dead"):
        return yes(
            f"After one failure, with max_attempts {most}, the script's job is {scripted} and the verb's {native}: "
            f"{counted}."
        )
    found = missing(runs[0], "state", "dead on one executor", f"{scripted} on both")
    return replace(found, sentence=f"With max_attempts {most} the job ends as {scripted} on both: {counted}.")


def _done(lab: Lab, case: Mapping[str, Any], executor: Any) -> Run:
    run = lab.run(dict(case), executor=executor)
    assert not isinstance(run, Skipped)  # an exercise's lab can move its clock
    return run


# ---------------------------------------------------------------- 05-2: spare the restarted, count the stalled


def spared_and_counted(lab: Lab, answer: Any) -> Verdict:
    """A case in which one native sweep lists a job that it counts and one that it does not; the script counts both."""
    return judged(lab, answer, _spared_and_counted, strict=True)


def _spared_and_counted(case: Case, runs: list[Run]) -> Verdict:
    scripted, native = runs
    sweeps = [place for place, done in enumerate(verb_steps(native)) if done.step.verb == "stalled_check"]
    if not sweeps:
        return no("The case never sweeps.", field="when", expected="a step stalled_check", got="none")
    for place in sweeps:
        ours, theirs = (_swept(run, verb_steps(run)[place]) for run in (native, scripted))
        spared = [job for job, counted in ours.items() if not counted]
        both = [job for job in ours if theirs.get(job)]
        if len(ours) > len(spared) > 0 and len(both) == len(ours):
            number = verb_steps(native)[place].index + 1
            return yes(
                f"Step {number}, the sweep: the verb lists {_jobs(spared)} uncounted beside one that it counts, "
                "and the script counts both."
            )
    place = max(sweeps, key=lambda place: len(_swept(native, verb_steps(native)[place])))
    done = verb_steps(native)[place]
    ours = _swept(native, done)
    counted = sum(ours.values())
    return no(
        f"Step {done.index + 1}, the sweep, lists {_jobs(ours)} natively: {counted} counted, {len(ours) - counted} "
        "spared. One of each is wanted, in one call.",
        command=sent(done, native),
        field="stalled",
        expected="1 counted, 1 spared",
        got=f"{counted} counted, {len(ours) - counted} spared",
    )


def _swept(run: Run, done: Done) -> dict[bytes, bool]:
    """Every job that one sweep has listed, recovered or dead, and whether it wrote ``stalled`` on its row."""
    if isinstance(done.reply, ErrorReply) or done.traced is None:
        return {}
    wrote = {
        told.command[1]
        for told in done.traced.told
        if told.phase == "write" and b"stalled" in told.command[2:] and told.command[0] in (b"HSET", b"HINCRBY")
    }
    listed: Iterable[bytes] = (job for jobs in done.reply for job in jobs)
    return {job: keys.row(run.case.queue, job) in wrote for job in listed}


def _jobs(listed: Iterable[bytes]) -> str:
    names = [f"…{job.decode('utf-8', 'replace')[-4:]}" for job in sorted(listed)]
    return " and ".join(names) or "nobody"


# ---------------------------------------------------------------- 05-3: a poison job, and a cap for it

#: How often (a) loses its job to a restart.
LOST = 3
#: How often a poison job may crash the server, and how many claims of a healthy one may come to nothing.
CRASHES, HARMLESS = 10, 4
#: The budgets of (b).
MANY = 10


def poison(lab: Lab, answer: Any) -> Verdict:
    """A case of a job that no restart kills, and a function of its row that says when a worker gives it up."""
    if not isinstance(answer, dict) or set(answer) != {"case", "give_up"}:
        what = f"a dict with {', '.join(map(repr, answer)) or 'nothing'}" if isinstance(answer, dict) else kind(answer)
        return no(f"The answer is a dict with 'case' and 'give_up', not {what}.")
    case, give_up = own_case(answer["case"]), answer["give_up"]
    if isinstance(case, Verdict):
        return case
    if not callable(give_up):
        return no(f"give_up is a function of the job's row, not {kind(give_up)}.", field="give_up")
    found = _undying(case, runs_of(lab, case))
    return found if found is not None else _given_up(lab, give_up)


def _undying(case: Case, runs: list[Run]) -> Verdict | None:
    """What the case lacks; None when natively its job outlives ``LOST`` claims that were lost to a restart."""
    scripted, native = runs
    for done in verb_steps(native):
        most = done.step.values.get("max_stalled")
        if most not in (None, b"1"):
            return no(
                f"Step {done.index + 1}: with max_stalled 1 the first counted stall kills, and that is the point.",
                command=sent(done, native),
                field="max_stalled",
                expected="1",
                got=most.decode("utf-8", "replace"),
            )
    job = subject_of(case, runs)
    jobs = jobs_at_end(native)
    row = jobs.get(job.decode("utf-8", "replace"))
    if row is None or row.get("state") == "dead":
        return missing(native, "state", "alive", row["state"] if row else "no row")
    sweeps = [done for done in verb_steps(native) if done.step.verb == "stalled_check"]
    spared = [done for done in sweeps if _swept(native, done).get(job) is False]
    if len(spared) < LOST or "stalled" in row:
        last = sweeps[-1] if sweeps else verb_steps(native)[-1]
        return no(
            f"The native sweeps take the job back uncounted {_times(len(spared))}; {LOST} lost claims are wanted.",
            command=sent(last, native),
            field="stalled",
            expected=f"uncounted {LOST} times",
            got=f"uncounted {_times(len(spared))}",
        )
    return None


def _times(many: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(many, f"{many} times")


@dataclass(frozen=True, slots=True)
class _Life:
    """A job of the crash loop: what befalls its claims, one after the other, and whether it is poison."""

    told: str
    fates: tuple[str, ...]
    poison: bool


LIVES = (
    _Life("crashes the server at every claim", ("crash",) * CRASHES, True),
    _Life("fails twice and then crashes the server at every claim", ("fail", "fail", *("crash",) * CRASHES), True),
    _Life("fails nine times and completes", (*("fail",) * 9, "complete"), False),
    _Life("stalls nine times and completes", (*("lapse",) * 9, "complete"), False),
    _Life("is delayed four times and completes", (*("delay",) * HARMLESS, "complete"), False),
    _Life(
        "is lost to two restarts, delayed twice, fails four times and completes",
        ("crash", "delay", "fail", "fail", "crash", "fail", "delay", "fail", "complete"),
        False,
    ),
)


def _given_up(lab: Lab, give_up: Callable[[dict[str, str]], Any]) -> Verdict:
    for number, life in enumerate(LIVES):
        verdict = _live(lab, f"life-{number}", life, give_up)
        if verdict is not None:
            return verdict
    return yes(
        f"Natively your case's job outlives every restart. With give_up, both poison jobs were dead before crash "
        f"{CRASHES}, and four healthy ones lived to complete."
    )


def _live(lab: Lab, queue: str, life: _Life, give_up: Callable[[dict[str, str]], Any]) -> Verdict | None:
    """Let one job live through its claims; what was wrong with ``give_up``, or None."""
    verbs = lab.native
    job = verbs.enqueue(queue, b"tea")
    for fate in life.fates:
        claimed = verbs.claim(queue, lease_ms=1_000)
        assert claimed is not None
        assert claimed.id == job
        row = _row(lab, queue, job)
        got = _asked(give_up, row)
        if isinstance(got, Verdict):
            return got
        if got:
            verbs.fail(queue, job, claimed.token, error="given up", max_attempts=1)
            return None if life.poison else _too_early(life, row)
        _befall(lab, queue, job, claimed.token, fate)
    return _never(life, _row(lab, queue, job)) if life.poison else None


def _befall(lab: Lab, queue: str, job: bytes, token: int, fate: str) -> None:
    """What comes of one claim, until the job is in line again or done."""
    verbs = lab.native
    if fate == "complete":
        verbs.complete(queue, job, token)
    elif fate == "fail":
        verbs.fail(queue, job, token, error="timeout", max_attempts=MANY)
        verbs.promote(queue)
    elif fate == "delay":
        verbs.delay(queue, job, token, in_ms=0)
        verbs.promote(queue)
    else:
        if fate == "crash":
            lab.restart()
        lab.advance_ms(1_000)
        verbs.stalled_check(queue, max_stalled=1 if fate == "crash" else MANY)


def _row(lab: Lab, queue: str, job: bytes) -> dict[str, str]:
    """The job's row as texts."""
    found: dict[bytes, bytes] = lab.client.hgetall(keys.row(queue.encode(), job))  # type: ignore[assignment]
    return {field.decode(): value.decode() for field, value in found.items()}


def _asked(give_up: Callable[[dict[str, str]], Any], row: dict[str, str]) -> bool | Verdict:
    """What the reader's function says of a row."""
    counters = _counters(row)
    try:
        got = limited(partial(give_up, dict(row)))
    except TooLong:
        return no(f"give_up was still running after a long while, for {counters}: it was stopped.", field="give_up")
    except Exception as error:  # the reader's own code: whatever it raises is an answer to be talked about
        return no(
            f"give_up raised {type(error).__name__} for {counters}: {error}. A counter that nothing has written yet "
            "is absent.",
            field="give_up",
            expected="True or False",
            got=type(error).__name__,
        )
    if not isinstance(got, bool):
        return no(
            f"give_up said {kind(got)} for {counters}; it says True or False.",
            field="give_up",
            expected="True or False",
            got=repr(got)[:60],
        )
    return got


def _too_early(life: _Life, row: dict[str, str]) -> Verdict:
    return no(
        f"A healthy job was given up: one that {life.told}. Its row said {_counters(row)}.",
        command="EMQ.FAIL",
        field="give_up",
        expected="False",
        got="True",
    )


def _never(life: _Life, row: dict[str, str]) -> Verdict:
    return no(
        f"A poison job lives on after {CRASHES} crashes: one that {life.told}. Its row says {_counters(row)}.",
        command="EMQ.CLAIM",
        field="give_up",
        expected=f"True before crash {CRASHES}",
        got="False",
    )


def _counters(row: Mapping[str, str]) -> str:
    def told() -> Iterator[str]:
        for field in ("attempts", "failures", "stalled"):
            yield f"{field} {row.get(field, 'absent')}"

    return ", ".join(told())


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "05-1": Exercise(
        "one failure, and dead on one executor",
        dies_on_one,
        (
            "Which of the two caps can be reached with a single failure? See what each FAIL compares.",
            "The scripts compare attempts, and every claim raises it. Let claims come to nothing before the failure.",
            "A lapse and a delay both end a claim without a failure. With max_attempts 4 it takes three of them.",
            "moves: four times claim; a lapse or a delay after each but the last, and there the fail. max_attempts is 4.",
        ),
    ),
    "05-2": Exercise(
        "spare the restarted, count the stalled",
        spared_and_counted,
        (
            "The verb spares a lease whose stamp is not the current epoch. So one job is claimed before a restart.",
            "The other is claimed after it, and both leases have to run out before the one sweep.",
            "A second job needs an id of its own: {**cases.enqueue(), 'id': cases.OTHER}. A restart is a step too.",
            "when: both enqueued, claim, {'restart': True}, claim, advance past both leases, sweep(2).",
        ),
    ),
    "05-3": Exercise(
        "a poison job, and a cap for it",
        poison,
        (
            "For the case: claim, restart, advance past the lease, sweep(1), three times over.",
            "For give_up: a token alone will not do, a job that fails nine times has a high one, too.",
            "Some claims are accounted for: each failure has a counter, and so has each stall. Which claims are left?",
            "Left are attempts - 1 - failures - stalled, absent counting as 0. Give up when it is more than four.",
        ),
        code=True,
    ),
}
