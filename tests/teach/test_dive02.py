"""Dive 02's exercises: each way to a solution passes, and what tempts is told where it goes wrong."""

from functools import partial
from typing import Any

import pytest

import emqlab
from emqlab.teach import check, progress, sandbox
from emqlab.teach.altered import hunt, own_text
from emqlab.teach.cases import JOB
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.exercises.two_lines import FILE
from emqlab.teach.hunting import Hunt
from emqlab.teach.verdict import Verdict

LINES = own_text(FILE).splitlines()
TEST = "attempts ~= token"
READ, GONE, COMPARED = (
    next(number for number, line in enumerate(LINES, 1) if part in line)
    for part in ("'HGET', row, 'attempts'", "if not attempts", TEST)
)
STALE = "EMQSTALE complete token mismatch"
REFUSED = f"return redis.error_reply('{STALE}')"
COMPLETE = f"EVALSHA complete.lua 2 active job:{JOB} {JOB}"


def copy(file: str, old: str, new: str) -> dict[str, str]:
    """An answer to 02-3: the lab's file with one text in the place of another that is there once."""
    text = own_text(file)
    assert text.count(old) == 1
    return {file: text.replace(old, new)}


SOLUTIONS = [
    ("02-1", "A-claims@0 A-stalls@1 B-claims@7 sweep@8 A-completes@9 B-completes@10"),
    ("02-1", "A-claims@5 B-claims@6 A-stalls@6.5 sweep@11 A-completes@12.6 B-completes@7"),
    ("02-2", (READ, COMPARED)),
    ("02-2", [COMPARED, READ]),
    ("02-2", {LINES[READ - 1], LINES[COMPARED - 1].strip()}),
    ("02-2", (str(READ), f" {COMPARED} ")),
    ("02-2", ("redis.call('HGET', row, 'attempts')", TEST)),
    ("02-3", copy(FILE, TEST, "false")),
    ("02-3", copy(FILE, TEST, "tonumber(attempts) ~= tonumber(token)")),
    ("02-3", copy("retry.lua", TEST, "attempts < token")),
    ("02-3", copy("extend_locks.lua", "'attempts') == token", "'attempts')")),
    ("02-3", copy(FILE, TEST, f"{TEST} and token ~= attempts .. '.0'")),
    ("02-3", copy("requeue.py", "attempts != token", "attempts < token")),
    ("02-3", copy("extends.py", "attempts is None or attempts != token", "attempts is None")),
]


@pytest.mark.parametrize(("exercise", "answer"), SOLUTIONS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_solution_passes(lab: emqlab.Lab, exercise: str, answer: Any) -> None:
    """By each way that there is: other times, numbers or texts, either executor's file."""
    verdict = EXERCISES[exercise].judge(lab, answer)
    assert verdict.ok, verdict


def test_no_line_but_the_two_keeps_a_stale_token_out(lab: emqlab.Lab) -> None:
    """Whatever is named beside one of them is told from it by a run, each line of the script."""
    others = [number for number in range(1, len(LINES) + 1) if number not in (READ, COMPARED)]
    passed = [number for number in others if EXERCISES["02-2"].judge(lab, (COMPARED, number)).ok]
    assert passed == []


def test_a_broken_fence_says_what_got_past_it_and_where_it_was_seen() -> None:
    """Judged in a process of its own, within its time: the token, the case that showed it, and what was seen there."""
    verdict = check("02-3", copy(FILE, TEST, "tonumber(attempts) ~= tonumber(token)"))
    assert verdict.ok, verdict
    assert verdict.sentence.startswith(f"Token 02 gets past your {FILE}, on a row whose attempts is 2. The instrument ")
    assert f"complete): scripted: reply 1 is 1, and {STALE} by the model." in verdict.sentence
    assert progress.read().solved == ("02-3",)


ALL = "A-claims@0 A-stalls@1 B-claims@{} sweep@{} A-completes@{} B-completes@20"
WRONG = [
    # B has claimed; the sweep finds nothing; too soon; B or the sweep too late; A has no token; A never went silent.
    ("02-1", ALL.format(9, 8, 10), "EVALSHA complete.lua 2 active row …EJfs 1 base", "reply", "1", STALE),
    (
        "02-1",
        ALL.format(2, 3, 9),
        "EVALSHA sweep_stalled.lua 3 active pending dead base 2 100",
        "reply",
        "[[…EJfs], []]",
        "[[], []]",
    ),
    ("02-1", ALL.format(3, 6, 7), "", "A-completes", "more than 6 s after A-stalls", "6 s"),
    ("02-1", ALL.format(9, 7, 8), "", "B-claims", "before A-completes", "B-claims@9"),
    ("02-1", ALL.format(7, 9, 8), "", "sweep", "before A-completes", "sweep@9"),
    (
        "02-1",
        "B-claims@0 A-claims@1 A-stalls@2 sweep@9 A-completes@10 B-completes@3",
        "",
        "A-completes",
        "a token",
        "none",
    ),
    (
        "02-1",
        "A-claims@0 B-claims@7 sweep@8 A-completes@9 B-completes@10 A-stalls@9.5",
        "",
        "A-stalls",
        "between A-claims and A-completes",
        "A-stalls@9.5",
    ),
    # B had it first, and was swept: then A's claim hands out token 2, and nobody asks after it.
    (
        "02-1",
        "B-claims@0 sweep@7 A-claims@8 A-stalls@9 A-completes@16 B-completes@20",
        "",
        "B-claims",
        "after A-claims",
        "B-claims@0",
    ),
    ("02-1", "A-claims@0 A-stalls@1 A-completes@9", "", "plan", "six events", "3"),
    # The line between the two; a line that breaks the script; one that the current token needs; one line, or three.
    ("02-2", (READ, GONE), f"{COMPLETE} 1 base", "reply", "1", STALE),
    ("02-2", (COMPARED, len(LINES)), f"{COMPLETE} 2 base", "reply", "1", "nil"),
    ("02-2", (COMPARED,), "", FILE, "2 lines", "1 line"),
    ("02-2", (READ, GONE, COMPARED), "", FILE, "2 lines", "3 lines"),
    # Turned round; the fence whole; only its text altered.
    ("02-3", copy(FILE, TEST, "attempts == token"), f"{COMPLETE} 1 base", "reply", "1", STALE),
    ("02-3", copy(FILE, TEST, "token ~= attempts"), f"{COMPLETE} 1 base", "reply", "a token taken", STALE),
    ("02-3", copy(FILE, STALE, "EMQSTALE go away"), f"{COMPLETE} 1 base", "reply", "a token taken", "EMQSTALE go away"),
    # Refused in another form: it is answered, and nothing is done.
    ("02-3", copy(FILE, REFUSED, "return 0"), f"{COMPLETE} 1 base", "reply", "a token taken", "0"),
]


@pytest.mark.parametrize(("exercise", "answer", "command", "field", "expected", "got"), WRONG)
def test_a_mistake_names_command_field_expected_and_got(
    lab: emqlab.Lab,
    monkeypatch: pytest.MonkeyPatch,
    exercise: str,
    answer: Any,
    command: str,
    field: str,
    expected: str,
    got: str,
) -> None:
    """What the run did, and in which command."""
    monkeypatch.setattr("emqlab.teach.exercises.broken.hunt", partial(hunt, flat=50, more=0))
    verdict = EXERCISES[exercise].judge(lab, answer)
    assert (verdict.ok, verdict.command, verdict.field) == (False, command, field)
    assert (verdict.expected, verdict.got) == (expected, got)
    assert verdict.sentence.endswith(".")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (FILE, TEST, f"{TEST} and not (attempts == '3' and token == '3.0')"),
        ("extend_locks.lua", "'attempts') == token", "'attempts') == token or token == '3.0'"),
    ],
)
def test_a_token_that_only_the_instrument_meets_is_let_in_as_well(
    lab: emqlab.Lab, file: str, old: str, new: str
) -> None:
    """What an exercise's own rows do not show, a case of the instrument does: that token and that row are told."""
    verdict = EXERCISES["02-3"].judge(lab, copy(file, old, new))
    assert verdict.ok, verdict
    assert verdict.sentence.startswith(f"Token 3.0 gets past your {file}, on a row whose attempts is 3. The instr")


@pytest.mark.parametrize(
    ("token", "let_in"),
    [
        ("0x2", "'0x' .. attempts"),
        ("2.0", "attempts .. '.0'"),
        ("+2", "'+' .. attempts"),
        ('" 2"', "' ' .. attempts"),
        ("7", "tostring(tonumber(attempts) + 5)"),
        ("102", "tostring(tonumber(attempts) + 100)"),
    ],
)
def test_one_token_alone_is_found_out(
    lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch, token: str, let_in: str
) -> None:
    """How few can be let in is what the exercise asks: of none of these may it be said that nothing gets past."""
    monkeypatch.setattr("emqlab.teach.exercises.broken.hunt", lambda copy, counts: Hunt(7))
    verdict = EXERCISES["02-3"].judge(lab, copy(FILE, TEST, f"{TEST} and token ~= {let_in}"))
    assert verdict.sentence.startswith(f"Token {token} gets past your {FILE}, on a row whose attempts is 2. ")


def test_a_fence_that_holds_is_told_with_what_was_tried(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some tokens and some cases were shown to it, not all that there are; a list of ids and an id alone alike.

    A case that shows something else is none that shows a token getting past.
    """
    monkeypatch.setattr("emqlab.teach.exercises.broken.hunt", partial(hunt, flat=50, more=0))
    for file, old, new in (
        (FILE, TEST, "token ~= attempts"),
        (FILE, STALE, "EMQSTALE go away"),
        (FILE, REFUSED, "return 0"),
        (FILE, REFUSED, "return {}"),
        ("extend_locks.lua", "'attempts') == token", "'attempts') == token and true"),
    ):
        assert EXERCISES["02-3"].judge(lab, copy(file, old, new)).sentence == (
            "The happy path holds, and so does the fence, as far as it was tried: of 19 tokens that are not the "
            'current one (1, 3, 02, "2 ", "", 0x2, 2.0, 2e0, +2, -2, 0, 4, 7, 12, 22, 102, 1000002, 9007199254740994, '
            f'" 2") none gets past your {file} on a row whose attempts is 2, and the instrument saw none get past it '
            "in 50 cases."
        )


def test_who_was_refused_is_told_with_the_claim_that_made_it_so(lab: emqlab.Lab) -> None:
    """A wrong plan's run says whose call was refused, with which token, and who holds the newer one."""
    assert EXERCISES["02-1"].judge(lab, ALL.format(9, 8, 10)).sentence == (
        f"A was refused on both executors: complete, with token 1, is answered {STALE}. "
        "B's claim had been handed token 2 before it."
    )


@pytest.mark.parametrize(
    ("exercise", "answer", "part"),
    [
        ("02-1", ..., "The answer is a plan, a text such as A-claims@0 A-stalls@1 sweep@8, not nothing yet."),
        ("02-1", "A-claims@soon", "This is no plan yet: 'soon' is no time for A-claims"),
        ("02-2", ..., "two lines of complete.lua, by their numbers or as texts, not nothing yet"),
        ("02-2", COMPARED, "not an int"),
        ("02-2", (COMPARED, 999), f"complete.lua has the lines 1 to {len(LINES)}, and no line 999."),
        ("02-2", (COMPARED, "no such line"), "complete.lua has no line like 'no such line'; give the line's number."),
        ("02-2", (COMPARED, "end"), "lines like 'end'; give the line's number."),
        ("02-2", (COMPARED, "attempts"), f"{FILE} has 3 lines like 'attempts'; give the line's number."),
        ("02-2", (COMPARED, ""), f"{FILE} has {LINES.count('')} lines like ''; give the line's number."),
        ("02-2", (COMPARED, "999"), f"{FILE} has the lines 1 to {len(LINES)}, and no line 999."),
        ("02-2", (COMPARED, True), "A line is a number or its text, not a bool."),
        ("02-3", copy("claim.lua", "'ZPOPMIN'", "'ZPOPMAX'"), "claim.lua reads no token, so there is no fence in it"),
    ],
)
def test_what_is_no_answer_gets_a_sentence(lab: emqlab.Lab, exercise: str, answer: Any, part: str) -> None:
    """That says what to hand in instead."""
    verdict = EXERCISES[exercise].judge(lab, answer)
    assert not verdict.ok
    assert part in verdict.sentence


@pytest.mark.parametrize("answer", [..., {FILE: own_text(FILE)}, {FILE: 7}, {"nowhere.lua": "return 1"}])
def test_what_need_not_be_run_is_told_at_once(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started for an answer that has no altered text in it."""
    monkeypatch.setattr(sandbox, "judged", lambda *_: Verdict(True, "", "", "", "", "It was run."))
    assert not check("02-3", answer).ok


def test_a_break_that_the_instrument_does_not_meet_is_not_solved(
    lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the reader learns that it escaped, which is worth knowing, and is asked for another."""
    monkeypatch.setattr("emqlab.teach.exercises.broken.hunt", lambda copy, counts: Hunt(7))
    verdict = EXERCISES["02-3"].judge(lab, copy(FILE, TEST, "false"))
    assert (verdict.ok, verdict.field) == (False, "instrument")
    assert (
        "Token 1 gets past your complete.lua, on a row whose attempts is 2. The instrument did not see it in 7 cases."
        in (verdict.sentence)
    )


def test_a_token_taken_is_what_the_instrument_is_asked_for(lab: emqlab.Lab) -> None:
    """A copy that also breaks off where a number is none is told by the case in which a token got past it."""
    verdict = EXERCISES["02-3"].judge(lab, copy("complete.py", "attempts != token", "int(attempts) != int(token)"))
    assert verdict.ok, verdict
    assert verdict.sentence.startswith("Token 02 gets past your complete.py, on a row whose attempts is 2. ")
    assert f"complete): native: reply 1 is 1, and {STALE} by the model." in verdict.sentence
    assert "There it was token " in verdict.sentence


def test_to_break_off_is_not_to_be_caught(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the instrument saw nothing else of a copy, that is said, and the exercise is not solved by it."""
    monkeypatch.setattr("emqlab.teach.exercises.broken.hunt", partial(hunt, flat=22, more=0))
    verdict = EXERCISES["02-3"].judge(lab, copy("complete.py", "attempts != token", "int(attempts) != int(token)"))
    assert (verdict.ok, verdict.field) == (False, "instrument")
    assert "In 22 cases the instrument saw no token taken, only that your copy breaks off" in verdict.sentence
    assert "The instrument saw it in case 2 (" in verdict.sentence
