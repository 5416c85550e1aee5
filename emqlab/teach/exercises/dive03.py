"""The exercises of dive 03: completion and recovery."""

from collections.abc import Mapping
from typing import Any

from emqlab.lab import ExecutorName, Lab
from emqlab.observe.run import Run
from emqlab.observe.state import SETS
from emqlab.teach.answers import kind, no, run_of, yes
from emqlab.teach.arithmetic import Moved, made_by, moved
from emqlab.teach.cases.exits import WITH_A_PAST
from emqlab.teach.exercises.astray import two_sets
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.exercises.lives import destroyed
from emqlab.teach.verdict import Verdict, as_text

# ---------------------------------------------------------------- 03-1: the set arithmetic of a job with a past

#: What is predicted of a call, in order; the write that shows it.
PARTS = ("set left", "set entered", "metric")
METRICS = ("completed", "failed")


def arithmetic(lab: Lab, answer: Any) -> Verdict:
    """A dict: call -> (set left, set entered, metric), each a name or None; judged against a run of each call."""
    if not isinstance(answer, Mapping):
        return no(f"The answer is a dict, from each call to (set left, set entered, metric), not {kind(answer)}.")
    if missing := [name for name in WITH_A_PAST if name not in answer]:
        return no(f"Nothing is said of {missing[0]!r} yet.", field=missing[0], expected="a prediction", got="none")
    if more := [name for name in answer if name not in WITH_A_PAST]:
        return no(f"There is no call {as_text(more[0])}; the calls are {', '.join(WITH_A_PAST)}.")
    for name in WITH_A_PAST:
        guess = answer[name]
        if not isinstance(guess, tuple | list) or len(guess) != len(PARTS):
            return no(
                f"What is said of {name!r} has three parts: set left, set entered, metric. None stands for no such.",
                field=name,
                expected="three parts",
                got=as_text(guess)[:60],
            )
        for part, one in zip(PARTS, guess, strict=True):
            if one is not None and (not isinstance(one, str) or not one.strip()):
                return no(
                    f"{name}: the {part} is a name or None, not {as_text(one)[:60]}.",
                    field=f"{name}: {part}",
                    expected="a name or None",
                    got=as_text(one)[:60],
                )
        if (found := _parted(lab, name, guess)) is not None:
            return found
    return yes(f"All {len(WITH_A_PAST)} runs say the same: six by the verbs, and the reaper, which is a script.")


def _parted(lab: Lab, name: str, guess: Any) -> Verdict | None:
    """Where a prediction and the run of its call part, None where they do not."""
    by: ExecutorName = "scripted" if name == "reap" else "native"
    run = run_of(lab, WITH_A_PAST[name], by)
    for part, one, (right, command) in zip(PARTS, guess, _measured(run, moved(run)), strict=True):
        guessed = "none" if one is None else str(one).removeprefix("metrics:")
        if guessed != right:
            said = f"for the {part} you say {guessed}; the run says {right}."
            return no(
                f"{name}: {_no_name(part, guessed) or said}",
                command=command,
                field=f"{name}: {part}",
                expected=right,
                got=guessed,
            )
    return None


def _no_name(part: str, guessed: str) -> str:
    """What there is to be named, for a guess that is no name of it; an empty text for one that is."""
    kind, names = ("metric", METRICS) if part == "metric" else ("set", SETS)
    if guessed in (*names, "none"):
        return ""
    if kind == "set" and guessed == "scheduled":
        return "scheduled is the state; the set is called schedule."
    there = f"{', '.join(names[:-1])} and {names[-1]}, and None for none"
    return f"no {kind} is called {as_text(guessed, str)[:60]}; there are {there}."


def _measured(run: Run, told: Moved) -> list[tuple[str, str]]:
    """For each part what the run says, and the command that made it so."""
    left, entered, metric = (" and ".join(names) or "none" for names in (told.left, told.entered, told.metrics))
    return [
        (left, made_by(run, b"ZREM", left)),
        (entered, made_by(run, b"ZADD", entered)),
        (metric, made_by(run, b"HINCRBY", f"metrics:{metric}")),
    ]


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "03-1": Exercise(
        "the set arithmetic of a job with a past",
        arithmetic,
        (
            "For each call ask three things: which ZREM succeeds, which ZADD follows, and is a metric raised?",
            "Natively fail adds one to failures and a sweep one to stalled. Each then compares it with its own cap.",
            "The two late ones find the job in pending. The verb complete takes it out of there; fail wants active.",
            "fail: 2 failures, of 3. sweep: 2 stalls, of 2. reap: no metric. late fail: (None, None, None).",
        ),
    ),
    "03-2": Exercise(
        "an id in two sets",
        two_sets,
        (
            "The script takes the id out of active and does not ask whether it was there. Let it be in dead by then.",
            "The token of a dead job is current as ever. Which call puts an id into schedule without a look at dead?",
            "The script fail would do it, but its verb answers dead. The verb delay asks active alone: which number?",
            "enqueue, claim(1_000), advance(1_000), sweep(1), delay(1); and differs is a list of one number.",
        ),
    ),
    "03-3": Exercise(
        "the second life",
        destroyed,
        (
            "A row that is deleted takes its attempts along. What is attempts when the same id is added again?",
            "Each life hands out its tokens from 1, so a token of the first can be the current one of the second.",
            "The helpers all use one id: complete the job, enqueue it again, and let somebody claim it.",
            "enqueue, claim, complete(1), enqueue, claim; then complete(1), by the first worker, and once more.",
        ),
    ),
}
