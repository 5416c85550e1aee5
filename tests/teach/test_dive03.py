"""Dive 03's exercises: a solution passes, a tempting mistake fails with the command and the field that showed it."""

from typing import Any

import pytest

import emqlab
from emqlab.observe.run import Run
from emqlab.teach import cases, check, progress
from emqlab.teach.arithmetic import moved
from emqlab.teach.cases import JOB, advance, claim, complete, delay, enqueue, fail, sweep

ROW = f"job:{JOB}"
EXTEND = {"verb": "extend", "id": JOB, "token": "1", "lease_ms": "9000"}


def case(*when: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reader's case."""
    return {"name": "mine", "queue": "q", "when": list(when), **more}


def lost(max_stalled: int, *then: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A lease that ran out and was swept, and what comes then."""
    return case(enqueue(), claim(1_000), advance(1_000), sweep(max_stalled), *then, **more)


def twice(*then: dict[str, Any]) -> dict[str, Any]:
    """The same id completed, added and claimed again, and what comes then."""
    return case(enqueue(), claim(), complete(1), enqueue(), claim(), *then)


RIGHT: dict[str, tuple[str | None, str | None, str | None]] = {
    "complete": ("active", None, "completed"),
    "fail": ("active", "schedule", None),
    "requeue": ("active", "pending", None),
    "sweep": ("active", "dead", "failed"),
    "reap": ("active", "pending", None),
    "late complete": ("pending", None, "completed"),
    "late fail": (None, None, None),
}
STALLED_FIRST = [
    *(enqueue(), claim(1_000), advance(1_000), sweep(2), claim(), complete(2)),
    *(enqueue(), claim(), complete(1), complete(1)),
]
SOLUTIONS = [
    ("03-1", RIGHT),
    ("03-1", {name: list(parts) for name, parts in RIGHT.items()}),
    ("03-2", lost(1, delay(1), differs=[12])),
    ("03-2", case(enqueue(), claim(), fail(1, max_attempts=1), delay(1), differs=[12])),
    ("03-2", case(enqueue(), claim(), fail(1, max_attempts=3), fail(1, max_attempts=1), differs=[12])),
    # A ghost in schedule, and the id added again, to die in its second life.
    (
        "03-2",
        case(enqueue(), claim(), delay(1), complete(1), enqueue(), claim(), fail(1, max_attempts=1), differs=[13]),
    ),
    ("03-3", twice(complete(1), complete(1))),
    ("03-3", case(*STALLED_FIRST)),
]


@pytest.mark.parametrize(("exercise", "answer"), SOLUTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_solution_of_dive_03_passes_and_is_noted(exercise: str, answer: Any) -> None:
    """Every exercise can be solved, in more ways than one where there are more."""
    verdict = check(exercise, answer)
    assert verdict.ok, verdict
    assert progress.read().solved == (exercise,)


def guess(name: str, left: str | None, entered: str | None, metric: str | None) -> dict[str, Any]:
    """All right but for one call."""
    return {**RIGHT, name: (left, entered, metric)}


DELAY = f"3 {ROW} active schedule {JOB} 1 in 5000"
COMPLETE = f"EVALSHA complete.lua 2 active {ROW} {JOB}"
WHY = "the declared divergence that this refusal is"
WRONG = [
    # The script's cap; the default cap; a token that was made stale by nothing; a set that is not left but entered.
    (
        "03-1",
        guess("fail", "active", "dead", "failed"),
        "ZADD schedule now+5000 …EJfs",
        "fail: set entered",
        "schedule",
    ),
    ("03-1", guess("sweep", "active", "pending", None), "ZADD dead 0 …EJfs", "sweep: set entered", "dead"),
    (
        "03-1",
        guess("reap", "active", "pending", "failed"),
        "EVALSHA reap.lua 2 active pending base",
        "reap: metric",
        "none",
    ),
    ("03-1", guess("late complete", None, None, None), "ZREM pending …EJfs", "late complete: set left", "pending"),
    (
        "03-1",
        guess("late fail", "pending", "schedule", None),
        "EMQ.FAIL 4 active schedule dead row …EJfs 3 5000 3 timeout base",
        "late fail: set left",
        "none",
    ),
    (
        "03-1",
        guess("complete", "active", None, None),
        "HINCRBY metrics:completed count 1",
        "complete: metric",
        "completed",
    ),
    ("03-1", {**RIGHT, "sweep": "dead"}, "", "sweep", "three parts"),
    ("03-1", {"complete": RIGHT["complete"]}, "", "fail", "a prediction"),
    # Another pair; one that leaves pending too; one that the verb answers; raw commands, keys of one's own; a lane.
    ("03-2", lost(2, delay(1), differs=[12]), f"EVALSHA delay.lua {DELAY}", "set", "schedule and dead"),
    (
        "03-2",
        lost(1, EXTEND, differs=[12]),
        f"EVALSHA extend_lock.lua 2 active {ROW} {JOB} 1 9000",
        "set",
        "schedule and dead",
    ),
    (
        "03-2",
        lost(2, fail(1, max_attempts=3), differs=[12]),
        f"EVALSHA retry.lua 4 active schedule dead {ROW} {JOB} 1 5000 3 timeout base",
        "set",
        "schedule and dead",
    ),
    ("03-2", lost(2, complete(1)), f"{COMPLETE} 1 base", "set", "schedule and dead"),
    ("03-2", lost(2, claim(), delay(1)), f"EVALSHA delay.lua {DELAY}", "set", "schedule and dead"),
    (
        "03-2",
        lost(1, fail(1, max_attempts=3), differs=[11]),
        f"EMQ.FAIL 4 active schedule dead {ROW} {JOB} 1 5000 3 timeout base",
        "reply",
        "EMQSTATE not active",
    ),
    (
        "03-2",
        case(enqueue(), {"command": ["ZADD", "{p}dead", "0", JOB]}),
        f"ZADD {{p}}dead 0 {JOB}",
        "when",
        "a verb, advance_ms or restart",
    ),
    ("03-2", case({"verb": "lane_claim", "lease_ms": "1"}), "lane_claim", "when", "a step of a flat job"),
    ("03-2", lost(2, {**delay(1), "keys": ["{p}x", "{p}active", "{p}dead"]}), "delay", "keys", "no keys"),
    # The right case without its reason, or with another one.
    ("03-2", lost(1, delay(1)), f"EMQ.DELAY {DELAY}", "differs", WHY),
    ("03-2", lost(1, delay(1), differs=[13]), f"EMQ.DELAY {DELAY}", "differs", WHY),
    ("03-2", lost(1, delay(1), differs=[8]), f"EMQ.DELAY {DELAY}", "differs", WHY),
    ("03-2", lost(1, delay(1), differs=[12, 12]), f"EMQ.DELAY {DELAY}", "differs", "12 once"),
    # One life; an id that is there still; nobody at work; nobody who comes late; the current holder alone.
    (
        "03-3",
        case(enqueue(), claim(), complete(1), complete(1)),
        f"{COMPLETE} 1 base",
        "when",
        "the same id added again",
    ),
    (
        "03-3",
        lost(2, enqueue(), claim(), complete(2), complete(2)),
        f"EVALSHA enqueue.lua 2 {ROW} pending {JOB} tea",
        "reply",
        "1",
    ),
    (
        "03-3",
        case(enqueue(), claim(), complete(1), enqueue(), complete(0)),
        f"{COMPLETE} 0 base",
        "attempts",
        "a token",
    ),
    ("03-3", twice(complete(2)), f"{COMPLETE} 2 base", "token", "token 1"),
    ("03-3", twice(advance(30_000), sweep(2), complete(1), complete(1)), f"{COMPLETE} 1 base", "active", "in active"),
    (
        "03-3",
        case(enqueue(), complete(0), enqueue(), claim(), complete(1), complete(1)),
        f"{COMPLETE} 1 base",
        "token",
        "a token of both lives",
    ),
    ("03-3", twice(complete(1)), f"{COMPLETE} 1 base", "reply", "a complete answered 0"),
    ("03-3", case(claim()), "", "when", "a step enqueue"),
]


@pytest.mark.parametrize(("exercise", "answer", "command", "field", "expected"), WRONG)
def test_a_mistake_of_dive_03_names_command_field_and_what_was_expected(
    exercise: str, answer: Any, command: str, field: str, expected: str
) -> None:
    """The reader learns what the run did, not only that the answer is wrong; and nothing is noted."""
    verdict = check(exercise, answer)
    assert (verdict.ok, verdict.command, verdict.field, verdict.expected) == (False, command, field, expected)
    assert verdict.got not in ("", verdict.expected)
    assert verdict.sentence.endswith(".")
    assert progress.read().solved == ()


@pytest.mark.parametrize(
    ("exercise", "answer", "part"),
    [
        ("03-1", ..., "not nothing yet"),
        ("03-1", {**RIGHT, "vanish": (None, None, None)}, "There is no call 'vanish'; the calls are complete, fail, "),
        # What is no name where a name belongs: nothing at all, a number, a list, texts that say nothing.
        ("03-1", RIGHT | {None: (None, None, None)}, "There is no call None; the calls are complete, fail, "),
        ("03-1", RIGHT | {3: (None, None, None)}, "There is no call 3; the calls are complete, fail, "),
        ("03-1", {**RIGHT, "fail": None}, "What is said of 'fail' has three parts: set left, set entered, metric."),
        ("03-1", {**RIGHT, "fail": ("active", 3, None)}, "fail: the set entered is a name or None, not 3."),
        ("03-1", {**RIGHT, "fail": (["active"], None, None)}, "fail: the set left is a name or None, not ['active']."),
        ("03-1", {**RIGHT, "fail": ("active", "schedule", "")}, "fail: the metric is a name or None, not ''."),
        ("03-2", ..., "a dict with name, queue and when, not nothing yet"),
        (
            "03-2",
            lost(2, claim(), delay(1)),
            "Step 6, delay, was refused by the script: EMQSTALE delay token mismatch.",
        ),
        ("03-2", lost(1, delay(1), differs=[13]), "does not show 13: A job in neither active nor pending is completed"),
        (
            "03-1",
            guess("fail", "active", "scheduled", None),
            "fail: scheduled is the state; the set is called schedule.",
        ),
        (
            "03-1",
            guess("complete", "active", "gone", "completed"),
            "complete: no set is called gone; there are pending, active, schedule and dead, and None for none.",
        ),
        (
            "03-1",
            guess("complete", "active", None, "done"),
            "complete: no metric is called done; there are completed and failed, and None for none.",
        ),
        ("03-2", lost(1, delay(1), differs=[8]), "what differs names is not why the verb refuses"),
        ("03-3", twice(complete(2)), "Step 6, complete, was refused: EMQSTALE complete token mismatch."),
    ],
)
def test_what_went_wrong_in_dive_03_is_told_in_a_sentence(exercise: str, answer: Any, part: str) -> None:
    """Never a traceback, whatever is given; a refused step by its number in when."""
    verdict = check(exercise, answer)
    assert not verdict.ok
    assert part in verdict.sentence


@pytest.mark.parametrize(
    ("differs", "vain"), [([12], ""), ([8, 12], ""), ([12, 15], " Of 15 this run shows nothing.")], ids=str
)
def test_what_the_run_shows_beside_the_refusal_is_told_to_everyone(differs: list[int], vain: str) -> None:
    """The claim's stamp is there whether or not the case names it; what is only possible is told apart from it."""
    verdict = check("03-2", lost(1, delay(1), differs=differs))
    said = "declared as 12. At the end lease_epoch differs too, which is 8: a case may name that beside a refusal"
    assert verdict.ok
    assert f"{said}, and need not.{vain}" in verdict.sentence


def test_the_reason_is_asked_for_and_not_given_away() -> None:
    """Whoever has the case but not its number reads no number."""
    verdict = check("03-2", lost(1, delay(1)))
    assert "12" not in repr(verdict).replace(JOB, "")


EXITS = {
    "complete": ("active", "–", "deleted", "metrics:completed +1"),
    "fail-scheduled": ("active", "schedule", "rewritten", "failures +1"),
    "fail-dead": ("active", "dead", "rewritten", "metrics:failed +1, failures +1"),
    "delay": ("active", "schedule", "rewritten", "–"),
    "requeue": ("active", "pending", "rewritten", "–"),
    "sweep-pending": ("active", "pending", "rewritten", "stalled +1"),
    "sweep-dead": ("active", "dead", "rewritten", "metrics:failed +1, stalled +1"),
    "reap": ("active", "pending", "rewritten", "–"),
}


def test_each_exit_is_measured_as_the_specification_has_it(lab: emqlab.Lab) -> None:
    """Out of active, the row rewritten or deleted, into the set of the new state: eight rows of one table."""
    told = {}
    for name, one in cases.EXIT.items():
        run = lab.run(one, executor="scripted" if name == "reap" else "native")
        assert isinstance(run, Run)
        told[name] = moved(run).told()
    assert told == EXITS


def test_what_is_refused_moves_nothing(lab: emqlab.Lab) -> None:
    """No set is left or entered, and the row is untouched."""
    run = lab.run(cases.WITH_A_PAST["late fail"], executor="native")
    assert isinstance(run, Run)
    assert moved(run).told() == ("–", "–", "untouched", "–")
