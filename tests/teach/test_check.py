"""The exercises: a solution passes, a tempting mistake fails with the command and the field that showed it."""

import itertools
import sys
from typing import Any

import pytest

from emqlab.teach import check, progress
from emqlab.teach.cases import JOB, advance, claim, complete, delay, enqueue, fail, promote, reprocess, requeue, sweep
from emqlab.teach.cases.exits import WITH_A_PAST
from emqlab.teach.exercises.dive01 import DRAWN, LOST
from emqlab.teach.limits import TooLong, limited
from tests.teach.mute import Leaver, Mute, mutely

ROW = f"job:{JOB}"


def case(*when: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reader's case."""
    return {"name": "mine", "queue": "q", "when": list(when), **more}


def tries(*budgets: int) -> list[dict[str, Any]]:
    """Claim and fail, once a budget, with a promotion between."""
    out = [enqueue()]
    for token, budget in enumerate(budgets, 1):
        out += [advance(5_000), promote()] if token > 1 else []
        out += [claim(), fail(token, max_attempts=budget)]
    return out


OTHER = {"verb": "enqueue", "id": "JOB0NgWEfAFbYw", "payload": "milk"}
TABLE = {k: k + 1 for k in LOST}


def stalled_once(*then: dict[str, Any]) -> dict[str, Any]:
    """Two claims, no failure, and what comes then."""
    return case(enqueue(), claim(1_000), advance(1_000), sweep(2), claim(), *then)


def forever(k: int) -> int:
    """A function that a reader would have to interrupt."""
    while True:
        k += 1


SOLUTIONS = [
    ("00-1", case(enqueue(), claim(), fail(1, max_attempts=1), reprocess())),
    ("00-1", case(enqueue(), claim(1_000), advance(1_000), sweep(1), reprocess())),
    ("01-1", lambda k: k + 1),
    ("01-2", case(*tries(9, 9, 9))),
    ("01-2", case(*tries(3, 3), advance(5_000), promote(), claim(), delay(3))),
    ("01-3", case(enqueue(), claim(1_000), advance(1_000), sweep(2), claim(), fail(2, max_attempts=2))),
    ("01-3", case(enqueue(), claim(), delay(1), advance(5_000), promote(), claim(), fail(2, max_attempts=2))),
]


@pytest.mark.parametrize(("exercise", "answer"), SOLUTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_solution_passes_and_is_noted(exercise: str, answer: Any) -> None:
    """Every exercise can be solved, in more ways than one where there are more."""
    verdict = check(exercise, answer)
    assert verdict.ok, verdict
    assert progress.read().solved == (exercise,)


FAIL = f"4 active schedule dead {ROW} {JOB}"
WRONG = [
    # Dead, and left there; failed, and not dead; only put there by hand.
    ("00-1", case(enqueue(), claim(), fail(1, max_attempts=1)), f"HSET {ROW} state dead", "state", "pending", "dead"),
    (
        "00-1",
        case(enqueue(), claim(), fail(1, max_attempts=3)),
        f"HSET {ROW} state scheduled",
        "state",
        "dead",
        "scheduled",
    ),
    # A second job beside it; one that died and was completed afterwards.
    (
        "00-1",
        case(enqueue(), claim(), fail(1, max_attempts=1), reprocess(), OTHER, claim()),
        "",
        "when",
        "one job",
        "2 jobs",
    ),
    (
        "00-1",
        case(enqueue(), claim(), fail(1, max_attempts=1), reprocess(), claim(), complete(2)),
        f"DEL {ROW}",
        "state",
        "pending",
        "no row",
    ),
    ("00-1", case(enqueue()), f"HSET {ROW} state pending attempts 0 payload tea", "state", "dead", "pending"),
    # Each sweep makes the next token; the first claim's is 1; a function of something else.
    ("01-1", lambda k: k, "claim.lua", "attempts", "1", "0"),
    ("01-1", lambda k: 2, "claim.lua", "attempts", "1", "2"),
    ("01-1", lambda k: 2**k, "claim.lua", "attempts", "3", "4"),
    ("01-1", lambda k: TABLE.get(k, 3), "claim.lua", "attempts", str(DRAWN[0] + 1), "3"),
    ("01-1", lambda k: None, "claim.lua", "attempts", "a whole number", "None"),
    ("01-1", lambda k: True, "claim.lua", "attempts", "a whole number", "True"),
    # The usual budget is one too small for a third try; one claim is one attempt; a row written by hand.
    ("01-2", case(*tries(3, 3, 3)), f"HSET {ROW} state dead", "state", "scheduled", "dead"),
    ("01-2", case(*tries(9)), f"HINCRBY {ROW} attempts 1", "attempts", "3", "1"),
    (
        "01-2",
        case(enqueue(), given=[["HSET", "{p}job:x", "state", "scheduled", "attempts", "3"]]),
        "HSET {p}job:x state scheduled attempts 3",
        "given",
        "no command",
        "1 command",
    ),
    (
        "01-2",
        case(enqueue(), {"command": ["HSET", "x", "attempts", "3"]}),
        "HSET x attempts 3",
        "when",
        "a verb, advance_ms or restart",
        "command",
    ),
    # The same fail again, after the one that parted them; nothing may be refused, before or after.
    (
        "01-3",
        stalled_once(fail(2, max_attempts=2), fail(2, max_attempts=2)),
        f"EMQ.FAIL {FAIL} 2 5000 2 timeout base",
        "reply",
        "an answer",
        "EMQSTATE not active",
    ),
    # Dead on both; alive on both; a verb that one of them lacks; a token that is not the current one.
    ("01-3", case(*tries(3, 3, 3)), f"EMQ.FAIL {FAIL} 3 5000 3 timeout base", "reply", "scheduled", "dead"),
    ("01-3", case(*tries(9, 9, 9)), f"EVALSHA retry.lua {FAIL} 3 5000 9 timeout base", "reply", "dead", "scheduled"),
    (
        "01-3",
        case(enqueue(), claim(), requeue(1), claim(), fail(2, max_attempts=2)),
        "requeue",
        "reply",
        "an answer",
        "unsupported",
    ),
    (
        "01-3",
        case(enqueue(), claim(), fail(2, max_attempts=2)),
        f"EVALSHA retry.lua {FAIL} 2 5000 2 timeout base",
        "reply",
        "an answer",
        "EMQSTALE retry token mismatch",
    ),
    ("01-3", case(enqueue(), claim()), "", "when", "a step fail", "none"),
    ("01-3", case(), "", "when", "steps", "none"),
]


@pytest.mark.parametrize(("exercise", "answer", "command", "field", "expected", "got"), WRONG)
def test_a_mistake_names_command_field_expected_and_got(
    exercise: str, answer: Any, command: str, field: str, expected: str, got: str
) -> None:
    """The reader learns what the run did, not only that the answer is wrong; and nothing is noted."""
    verdict = check(exercise, answer)
    assert (verdict.ok, verdict.command, verdict.field) == (False, command, field)
    assert (verdict.expected, verdict.got) == (expected, got)
    assert verdict.sentence.endswith(".")
    assert progress.read().solved == ()


@pytest.mark.parametrize(
    ("exercise", "answer", "part"),
    [
        ("01-1", 3, "a function of k, not an int"),
        ("01-1", None, "a function of k, not None"),
        ("01-1", lambda k: 1 // k, "raised ZeroDivisionError for k = 0"),
        ("01-1", forever, "it was stopped"),
        ("01-2", "a case", "a dict with name, queue and when, not a str"),
        ("01-2", ..., "not nothing yet"),
        ("01-2", {"queue": "q"}, "every case needs a name"),
        ("01-2", {"name": "mine"}, "queue is missing"),
        ("01-2", case({"verb": "steal"}), "no verb 'steal'"),
        ("01-3", case(enqueue(), {"verb": "claim"}), "yet: step 2, lease_ms is missing"),
        ("01-3", case(enqueue(), {"advance_ms": "1"}), "yet: step 2, advance_ms must"),
        ("01-3", {**case(), "when": [enqueue(), 7]}, "yet: step 2 must"),
        ("01-3", case(enqueue(), {"verb": "lane_claim", "lease_ms": "1"}), "Step 2, lane_claim, is unsupported"),
        ("00-1", case(*[enqueue()] * 301), "No answer needs so many steps: 300 at most."),
        ("04-2", {**case(enqueue()), "given": [["EVAL", "while true do end", "0"]]}, "A script of your own is no part"),
        ("02-2", itertools.repeat(1), "Two lines are asked for, and this is 1 line."),
        ("01-9", 1, "There is no exercise '01-9'"),
        (7, 1, "There is no exercise 7"),
    ],
)
def test_what_is_no_answer_gets_a_sentence(exercise: Any, answer: Any, part: str) -> None:
    """Never a traceback, whatever is given."""
    verdict = check(exercise, answer)
    assert not verdict.ok
    assert part in verdict.sentence


@pytest.mark.parametrize(
    ("exercise", "answer", "part"),
    [
        (Leaver(), 1, "There is no exercise <Leaver that can't be shown>; they are 00-1, "),
        (Mute(), 1, "There is no exercise <Mute that can't be shown>; they are 00-1, "),
        ("00-1", Mute(), "not a Mute."),
        ("00-1", case(enqueue(), Mute()), "yet: step 2 must be a step"),  # type: ignore[arg-type]
        ("00-1", {**case(enqueue()), "name": Mute()}, "every case needs a name"),
        ("00-1", case(enqueue()) | {Mute(): 1}, "the name of a field must be a text"),
        ("01-1", lambda k: Mute(), "your function gave a Mute; a token is a whole number."),
        ("01-1", mutely, "Your function raised MuteError for k = 0: <MuteError that can't be shown>"),
        ("02-1", Mute(), "not a Mute."),
        ("02-2", (Mute(), 3), "not a Mute."),
        ("02-3", {"complete.lua": Mute()}, "The text of complete.lua is a str, not a Mute."),
        ("02-3", {Mute(): "return 1"}, "The file is a name such as complete.lua, not a Mute."),
        ("03-1", dict.fromkeys(WITH_A_PAST, (Mute(), None, None)), "not <Mute that can't be shown>."),
        (
            "03-1",
            dict.fromkeys((*WITH_A_PAST, Mute()), (None, None, None)),
            "There is no call <Mute that can't be shown>",
        ),
        ("04-1", dict.fromkeys("abc", Mute()), "can't be shown>\" is no number of a divergence"),
        ("04-2", Mute(), "not a Mute."),
        ("04-3", {Mute(): 1}, "not one with <Mute that can't be shown>."),
        ("04-3", {"file": Mute(), "text": "", "case": case()}, "The file is a name such as claim.lua, not a Mute."),
        ("05-1", {Mute(): 1}, "not a dict with <Mute that can't be shown>."),
        ("05-1", {"moves": "claim fail", "max_attempts": Mute()}, "max_attempts is a whole number, not a Mute."),
        ("05-2", Mute(), "not a Mute."),
        ("05-3", {Mute(): 1}, "not a dict with <Mute that can't be shown>."),
    ],
)
def test_what_can_not_be_shown_gets_a_sentence_too(exercise: Any, answer: Any, part: str) -> None:
    """An object whose own texts raise is told by its type, wherever in an answer it stands."""
    verdict = check(exercise, answer)
    assert not verdict.ok
    assert part in verdict.sentence
    assert repr(verdict).startswith("not yet: ")


LATE = fail(2, max_attempts=9)
STALE = "was refused: EMQSTALE retry token mismatch."
AGAIN = "Step 2, enqueue, added nothing, for its id was there already."


@pytest.mark.parametrize(
    ("exercise", "answer", "ok", "first"),
    [
        (
            "00-1",
            case(enqueue(), claim(), advance(1), LATE),
            False,
            f"Step 4, fail, {STALE} On both executors no",
        ),
        (
            "00-1",
            case(enqueue(), claim(), LATE, fail(1, max_attempts=1), reprocess()),
            True,
            f"Step 3, fail, {STALE} The",
        ),
        ("01-2", case(enqueue(), claim(), LATE), False, f"Step 3, fail, {STALE} On both executors state"),
        (
            "01-2",
            case(enqueue(), claim(), advance(1), requeue(1)),
            False,
            "Step 4, requeue, is unsupported on the scripted executor: nothing was sent. On",
        ),
        (
            "01-2",
            case(*tries(9, 9, 9), LATE),
            True,
            f"Step 12, fail, {STALE} state",
        ),
        (
            "01-3",
            stalled_once(fail(2, max_attempts=2), fail(2, max_attempts=2)),
            False,
            "Step 7, fail, was refused on the native executor: EMQSTATE not active.",
        ),
        ("01-3", case(*tries(9), delay(7)), False, "Step 4, delay, was refused: EMQSTALE delay token mismatch."),
    ],
)
def test_a_refused_step_is_told_first(exercise: str, answer: Any, ok: bool, first: str) -> None:
    """By its number in the reader's when, clock moves included, and by its executor if the other one took it."""
    verdict = check(exercise, answer)
    assert verdict.ok is ok
    assert verdict.sentence.startswith(first)


@pytest.mark.parametrize(
    ("exercise", "when", "first"),
    [
        # Not due; due, and nobody promoted it; paused; before there was a job; nothing was refused, and yet.
        (
            "01-2",
            (*tries(9), claim(), LATE),
            f"4 found no job: it was in schedule, due 5 s later. Step 5, fail, {STALE}",
        ),
        (
            "01-2",
            (*tries(9), advance(5_000), claim(), LATE),
            f"5 found no job: it was in schedule, due, and not promoted yet. Step 6, fail, {STALE}",
        ),
        (
            "01-2",
            (enqueue(), {"verb": "pause"}, claim(), LATE),
            f"3 found no job: the queue was paused. Step 4, fail, {STALE}",
        ),
        (
            "01-2",
            (claim(), *tries(9)),
            "1 found no job: there was none in the queue. On both executors attempts",
        ),
        ("01-2", (enqueue(), claim(), delay(1), claim()), "4 found no job: it was in schedule, due 5 s later. On both"),
        # Held by the claim before; not swept; swept, and dead; two of them.
        (
            "01-3",
            (enqueue(), claim(2_500), claim(), LATE),
            "3 found no job: it was in active, still leased for 2.5 s. Step 4",
        ),
        (
            "01-3",
            (enqueue(), claim(1_000), advance(1_000), claim(), LATE),
            "4 found no job: it was in active, its lease over, and not swept. Step 5, fail, was refused",
        ),
        (
            "01-3",
            (enqueue(), claim(1_000), advance(1_000), sweep(1), claim(), LATE),
            "5 found no job: it was in dead. Step 6",
        ),
        (
            "01-3",
            (enqueue(), OTHER, claim(1_000), claim(), advance(1_000), claim(), LATE),
            "6 found no job: …EJfs was in active, its lease over, and not swept; …FbYw was in active, still leased for",
        ),
        # Dead in the script, scheduled natively: there alone the next claim finds nobody.
        (
            "01-2",
            (
                *stalled_once(fail(2, max_attempts=2), advance(5_000), promote(), claim(), fail(3, max_attempts=9))[
                    "when"
                ],
            ),
            "9 found no job on the scripted executor: it was in dead. Step 10, fail, was refused on the",
        ),
    ],
)
def test_a_claim_that_found_nobody_is_told_before_what_came_of_it(
    exercise: str, when: tuple[dict[str, Any], ...], first: str
) -> None:
    """By its number, and with where the job was instead: the step that was refused is only what came of it."""
    verdict = check(exercise, case(*when))
    assert not verdict.ok
    assert verdict.sentence.startswith(f"The claim in step {first}")


@pytest.mark.parametrize(
    ("exercise", "when", "first"),
    [
        (
            "05-2",
            (enqueue(), enqueue(), claim(1_000), claim(1_000), sweep(1)),
            f"{AGAIN} The claim in step 4 found no job: it was in active, still leased for 1 s.",
        ),
        (
            "05-2",
            (enqueue(), enqueue(), claim(1_000), advance(1_000), sweep(2)),
            f"{AGAIN} Step 5, the sweep, lists …EJfs natively",
        ),
        # Its own sentence says it.
        ("03-3", (enqueue(), enqueue()), "On both executors step 2, enqueue, starts no second life."),
    ],
)
def test_an_id_that_was_added_again_is_told(exercise: str, when: tuple[dict[str, Any], ...], first: str) -> None:
    """Nothing came of that, and nothing was refused: a reader who meant two jobs has one."""
    verdict = check(exercise, case(*when))
    assert not verdict.ok
    assert verdict.sentence.startswith(first)


def test_what_was_refused_before_a_claim_found_nobody_is_told_without_it() -> None:
    """The first thing that went wrong comes first: a requeue that no script does leaves the job held."""
    verdict = check("01-3", case(enqueue(), claim(), requeue(1), claim(), fail(2, max_attempts=2)))
    assert verdict.sentence == "Step 3, requeue, is unsupported on the scripted executor: nothing was sent."


def test_a_claim_that_found_nobody_takes_nothing_from_a_solution() -> None:
    """It is no mistake by itself."""
    assert check("01-2", case(claim(), *tries(9, 9, 9))).sentence == (
        "state says scheduled and attempts says 3, on both executors."
    )


def test_an_id_in_two_sets_is_no_job_in_line() -> None:
    """A script that goes ahead where the verb refuses can leave the row right and the id astray."""
    dead = [enqueue(), claim(), fail(1, max_attempts=1), reprocess()]
    verdict = check("00-1", case(*dead, delay(1, in_ms=99_000), claim(), advance(30_000), sweep(2)))
    assert not verdict.ok
    assert verdict.sentence.startswith("Step 5, delay, was refused on the native executor: EMQSTATE not active. ")
    assert (verdict.field, verdict.expected, verdict.got) == ("set", "pending", "pending and schedule")


def test_the_step_that_parts_the_executors_is_counted_in_when() -> None:
    """The clock's move is a step too."""
    assert check("01-3", stalled_once(fail(2, max_attempts=2))).sentence.startswith("Step 6, fail: ")


def test_the_counts_that_were_drawn_are_told_to_nobody() -> None:
    """Not to somebody who solved it, and not to a table of the ones that are told."""
    assert set(DRAWN).isdisjoint(LOST)
    assert len(set(DRAWN)) == 4
    assert not check("01-1", lambda k: TABLE.get(k, 0)).ok
    told = check("01-1", lambda k: k + 1)
    assert told.sentence.startswith("The runs with 0, 1, 2, 5 lost leases, and 4 more that were drawn, ")


def test_a_function_is_stopped_and_tracing_is_as_it_was() -> None:
    """A debugger's or a coverage tool's trace function is put back."""
    before = sys.gettrace()
    with pytest.raises(TooLong):
        limited(lambda: forever(0), steps=1_000)
    assert sys.gettrace() is before
    assert limited(lambda: sum(range(1_000)), steps=1_000) == 499_500


def test_a_verdict_shows_itself_as_text_and_as_html() -> None:
    """In a notebook both are stored; what a reader typed is escaped."""
    verdict = check("01-1", lambda k: "<b>")
    assert repr(verdict).startswith("not yet: For k = 0 your function gave a str")
    assert "expected: a whole number\n  got: '<b>'" in repr(verdict)
    assert "&lt;b&gt;" in verdict._repr_html_()
    assert "<b>'" not in verdict._repr_html_()
    assert repr(check("01-1", lambda k: k + 1)).startswith("solved: ")
