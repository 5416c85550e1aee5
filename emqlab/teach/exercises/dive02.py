"""The exercises of dive 02: the fencing check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emqlab.lab import Lab
from emqlab.observe.moments import command_text, reply_text
from emqlab.teach import plan
from emqlab.teach.answers import kind, no, yes
from emqlab.teach.exercises.broken import broken, unfit
from emqlab.teach.exercises.exercise import Exercise
from emqlab.teach.exercises.two_lines import two_lines
from emqlab.teach.verdict import Verdict

# ---------------------------------------------------------------- 02-1: silent for longer than its lease, and done

#: How long the leases of 02-1 are.
LEASE_MS = 6_000
Frames = Mapping[str, Mapping[str, Any]]


def still_completes(lab: Lab, answer: Any) -> Verdict:
    """A plan in which A outstays its lease, the job is swept, B tries to claim, and A completes all the same."""
    if not isinstance(answer, str):
        return no(f"The answer is a plan, a text such as A-claims@0 A-stalls@1 sweep@8, not {kind(answer)}.")
    try:
        events = plan.parse(answer)
    except plan.BadPlan as error:
        return no(f"This is no plan yet: {error}.", field="plan")
    missing = [event for event in plan.KINDS if event not in {each.kind for each in events}]
    if missing:
        why = f"All six events are to happen, and the plan lacks {', '.join(missing)}."
        return no(why, field="plan", expected="six events", got=str(len(events)))
    told = plan.recorded(lab, events, LEASE_MS)
    columns = {one["name"]: {frame["step"]: frame for frame in one["frames"]} for one in told["executors"]}
    at = {event.kind: event.at_ms for event in events}
    return (
        _refused(told, columns)
        or _out_of_order(events, at)
        or _not_taken_back(told, columns)
        or yes(
            "A was silent for longer than its lease, the job was swept, and B came too early: A completed, on both "
            "executors."
        )
    )


def _refused(told: dict[str, Any], columns: Mapping[str, Frames]) -> Verdict | None:
    """What A's completion came to, unless it was done: refused, gone, or never sent."""
    ends = {name: frames["A-completes"] for name, frames in columns.items()}
    bad = {name: frame for name, frame in ends.items() if frame.get("reply") != {"ok": 1}}
    if not bad:
        return None
    name, frame = next(iter(bad.items()))
    where = "on both executors" if len(bad) == len(ends) else f"on the {name} executor"
    if "command" not in frame:
        why = f"A holds no token by then {where}, so it sends nothing."
        return no(why, field="A-completes", expected="a token", got="none")
    command, got = command_text(frame, told), reply_text(frame["reply"], told)
    why = f"A was refused {where}: complete, with token {frame['token']}, is answered {got}."
    newer = columns[name]["B-claims"].get("token")
    why += f" B's claim had been handed token {newer} before it." if newer else ""
    return no(why, command=command, field="reply", expected="1", got=got)


def _out_of_order(events: plan.Plan, at: Mapping[str, int]) -> Verdict | None:
    """The first thing of the story that is not as it was asked for: A's claim, the silence, the sweep, B's claim."""
    order = [event.kind for event in events]
    end = order.index("A-completes")
    if order.index("B-claims") < order.index("A-claims"):
        return no(
            "A completes, but B claimed before it: A is to claim first, and B to ask while A is silent.",
            field="B-claims",
            expected="after A-claims",
            got=f"B-claims@{at['B-claims'] / 1000:g}",
        )
    if not order.index("A-claims") < order.index("A-stalls") < end:
        return no(
            "A claims, then falls silent, then completes; here it falls silent at another time.",
            field="A-stalls",
            expected="between A-claims and A-completes",
            got=f"A-stalls@{at['A-stalls'] / 1000:g}",
        )
    silent = at["A-completes"] - at["A-stalls"]
    if silent <= LEASE_MS:
        return no(
            f"A completes, but it is silent for {silent / 1000:g} s only, and its lease is {LEASE_MS / 1000:g} s.",
            field="A-completes",
            expected=f"more than {LEASE_MS / 1000:g} s after A-stalls",
            got=f"{silent / 1000:g} s",
        )
    for late, what in (("sweep", "the sweep comes"), ("B-claims", "B claims")):
        if order.index(late) > end:
            return no(
                f"A completes, but {what} only when that is over.",
                field=late,
                expected="before A-completes",
                got=f"{late}@{at[late] / 1000:g}",
            )
    return None


def _not_taken_back(told: dict[str, Any], columns: Mapping[str, Frames]) -> Verdict | None:
    """A sweep that found no lease that had run out."""
    for name, frames in columns.items():
        swept = frames["sweep"]
        if not swept["reply"]["ok"][0]:
            return no(
                f"A completes, but the sweep took nothing back on the {name} executor: no lease had run out.",
                command=command_text(swept, told),
                field="reply",
                expected=reply_text({"ok": [[told["subject"]], []]}, told),
                got=reply_text(swept["reply"], told),
            )
    return None


#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    "02-1": Exercise(
        "late, and done all the same",
        still_completes,
        (
            "Neither the end of a lease nor the sweep makes a token. What does, and when does it get nothing?",
            "A claim takes the head of pending. Until the sweep the job is in active, however long its lease is over.",
            "So let B ask after A's lease has ended, but before the sweep. Then the sweep, then A.",
            "A-claims@0 A-stalls@1 B-claims@<after 6> sweep@<after that> A-completes@<after that> B-completes@<last>",
        ),
    ),
    "02-2": Exercise(
        "the two lines of the script",
        two_lines,
        (
            "Open complete in the Token stage, show what ran, and step to the question whether the token is current.",
            "One line asks the row for its number. Another holds that number against what the worker has shown.",
            "The line between the two asks whether there is a row at all: without it a stale token is refused still.",
            'teach.check("02-2", (<number of the line with HGET … attempts>, <number of the line with EMQSTALE>))',
        ),
    ),
    "02-3": Exercise(
        "break the fence, and be caught",
        broken,
        (
            "The happy path shows current tokens only. Which comparison is true for those, and for others as well?",
            "Bytes are compared. Numbers would be equal more often, and an order more often still.",
            "In Lua tonumber makes a number of a text; of an empty one it makes nil, and nil is not 2.",
            'own_text("complete.lua").replace("attempts ~= token", "tonumber(attempts) ~= tonumber(token)")',
        ),
        code=True,
        file=True,
        unfit=unfit,
    ),
}
