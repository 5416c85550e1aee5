"""Exercise 05-3: a poison job that no restart kills, and a cap for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from emqlab import keys
from emqlab.lab import Lab, open_lab
from emqlab.observe.run import Run
from emqlab.observe.subject import subject_of
from emqlab.teach.answers import jobs_at_end, kind, missing, no, own_case, run_of, sent, verb_steps, yes
from emqlab.teach.exercises.spared import swept
from emqlab.teach.limits import TooLong, limited
from emqlab.teach.verdict import Verdict, as_text

#: How often (a) loses its job to a restart.
LOST = 3
#: How often a poison job may crash the server, and how many claims of a healthy one may come to nothing.
CRASHES, HARMLESS = 10, 4
#: The budgets of (b).
MANY = 10


def poison(lab: Lab, answer: Any) -> Verdict:
    """A case of a job that no restart kills, and a function of its row that says when a worker gives it up."""
    found = unfit(answer)
    return found if found is not None else _given_up(lab, answer["give_up"])


def unfit(answer: Any) -> Verdict | None:
    """What is wrong with an answer before its function is called: its case is no code, and is run at once.

    Raises NotRun for a case that can't be run.
    """
    if not isinstance(answer, dict) or set(answer) != {"case", "give_up"}:
        what = (
            f"a dict with {', '.join(map(as_text, answer)) or 'nothing'}" if isinstance(answer, dict) else kind(answer)
        )
        return no(f"The answer is a dict with 'case' and 'give_up', not {what}.")
    if not callable(answer["give_up"]):
        return no(f"give_up is a function of the job's row, not {kind(answer['give_up'])}.", field="give_up")
    case = own_case(answer["case"])
    if isinstance(case, Verdict):
        return case
    with open_lab("embedded") as lab:
        return _undying(run_of(lab, case, "native"))


def _undying(native: Run) -> Verdict | None:
    """What the run lacks; None when its job outlives ``LOST`` claims that were lost to a restart."""
    for done in verb_steps(native):
        most = done.step.values.get("max_stalled", b"1")
        if most != b"1":
            return no(
                f"Step {done.index + 1}: with max_stalled 1 the first counted stall kills, and that is the point.",
                command=sent(done, native),
                field="max_stalled",
                expected="1",
                got=sent(done, native).split()[-2],
            )
    job = subject_of(native.case, [native])
    row = jobs_at_end(native).get(job.decode("utf-8", "replace"))
    if row is None or row.get("state") == "dead":
        return missing(native, "state", "alive", row["state"] if row else "no row")
    sweeps = [done for done in verb_steps(native) if done.step.verb == "stalled_check"]
    spared = [done for done in sweeps if swept(native, done).get(job) is False]
    if len(spared) < LOST:
        return no(
            f"The native sweeps take the job back uncounted {_times(len(spared))}; {LOST} lost claims are wanted.",
            command=sent((sweeps or verb_steps(native))[-1], native),
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
    _Life("fails five times, stalls five times in between and completes", (*("fail", "lapse") * 5, "complete"), False),
)


def _given_up(lab: Lab, give_up: Callable[[dict[str, str]], Any]) -> Verdict:
    # Once in order, and once in another that nobody knows: it is to look at the row, not to count its calls.
    for number, life in enumerate((*LIVES, *Random().sample(LIVES, len(LIVES)))):
        verdict = _live(lab, f"life-{number}", life, give_up)
        if verdict is not None:
            return verdict
    return yes(
        f"Natively your case's job outlives every restart. With give_up, both poison jobs were dead before crash "
        f"{CRASHES}, and {sum(not life.poison for life in LIVES)} healthy ones lived to complete."
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
            f"give_up raised {type(error).__name__} for {counters}: {as_text(error, str)}. A counter that "
            "nothing has written yet is absent.",
            field="give_up",
            expected="True or False",
            got=type(error).__name__,
        )
    if not isinstance(got, bool):
        return no(
            f"give_up said {kind(got)} for {counters}; it says True or False.",
            field="give_up",
            expected="True or False",
            got=as_text(got)[:60],
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
    return ", ".join(f"{field} {row.get(field, 'absent')}" for field in ("attempts", "failures", "stalled"))
