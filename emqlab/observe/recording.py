"""A case, run on each executor and told as one recording: the JSON that widgets draw (stage/FRAMES.md)."""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_case
from emqlab.observe.merge import supersequence
from emqlab.observe.run import Run, Skipped, run_case
from emqlab.observe.state import State, reply_of, state_of
from emqlab.observe.subject import subject_of
from emqlab.observe.trace import Detail, Frame, frames
from emqlab.observe.walk import merge
from emqlab.observe.words import ANSWER, rank_of, short, shown
from emqlab.transitions import PLAIN, TRANSITIONS

if TYPE_CHECKING:
    from emqlab.lab import Lab

VERSION = 1
#: What a chip covers of the time axis, as a part of its length: a margin on either side.
_MARGIN = 0.25
#: The least that the axis shows before and after ``now_ms``, in ms.
_LEAST = (-5_000, 5_000)
#: Scores further away than this (ms) are no times that a rail could show.
_FAR = 366 * 86_400_000

_EPOCH = re.compile(r"[0-9a-f]{40}")

JobRow = tuple[str, str, str]


class CannotRecord(ValueError):
    """This server can't run the case; ``str`` says why."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, the executor that runs it, and its own ``when`` (the case's, unless given).

    ``differs`` are the divergences that a case with this ``when`` shows, where they are not those of the case.
    ``lab`` is where it runs, if not where the others do: one with changed scripts or verbs, its clock and epoch the
    same. ``left_out`` says, in a sentence, why it is not run at all: then nothing is sent, and the column says so.
    """

    name: str
    executor: str
    when: Sequence[Mapping[str, Any]] | None = None
    differs: Sequence[int] | None = None
    lab: "Lab | None" = None
    left_out: str = ""


def record(
    lab: "Lab",
    case: Case | Mapping[str, Any],
    *,
    executors: Sequence[str] = ("scripted", "native"),
    columns: Sequence[Column] | None = None,
    subject: str | bytes | None = None,
    code: str | None = None,
    detail: Detail = "commands",
    axis: tuple[int, int] | None = None,
    titles: Mapping[str, str] | None = None,
    meanwhile: Sequence[Sequence[str]] = (),
    differs: Sequence[int] | None = None,
    about: str = "",
) -> dict[str, Any]:
    """Run ``case`` once a column and answer the recording: plain dicts, lists, texts and numbers.

    ``executors`` names the columns where ``columns`` does not. ``subject`` is the id it is about, else found in the
    case; ``code`` its link (the case's name unless given); ``axis`` the ms around ``now_ms`` that the rails show, else
    wide enough for every score and clock; ``titles`` replaces columns' titles. ``detail="calls"`` tells one frame a
    transition. ``meanwhile`` is what a second client sends while the last transition is on its way (``run_case``); a
    case file can't say that, so ``differs`` may name the divergences that this run shows and the case alone does not,
    and ``about`` may be a sentence of its own. ``run_id`` is the epoch at the beginning; where a server restarts anew
    for each column, a later column's epochs go by the names that the first one's have, so that the same epoch of a
    case is the same text. Raises BadCase, CannotRecord, ValueError (no column, or two of one name), ServerLost.
    """
    case = _checked(case, executors, detail, axis)
    source = dict(case.source)
    chosen = list(columns) if columns is not None else [Column(name, name) for name in executors]
    _check(chosen)
    with standing(lab):
        runs = [None if column.left_out else _run(lab, source, column, meanwhile) for column in chosen]
    made = [run for run in runs if run is not None]
    first = made[0]
    job = _subject(subject, first.case, made)
    told = [
        _left_out(column) if run is None else frames(run, subject=job, detail=detail, changed=column.lab is not None)
        for column, run in zip(chosen, runs, strict=True)
    ]
    ran = [one for one, run in zip(told, runs, strict=True) if run is not None]
    steps, ids = _steps(told)
    more = {**({} if differs is None else {"differs": list(differs)}), **({"about": about} if about else {})}
    return {
        "v": VERSION,
        "code": code if code is not None else first.case.name,
        "case": {name: value for name, value in source.items() if name not in ("expect", "servers")},
        "queue": shown(first.case.queue),
        "now_ms": first.now_ms,
        "run_id": first.epochs[0],
        "subject": shown(job),
        "axis": list(axis) if axis is not None else _axis(made, ran),
        "before": state_of(first.before, first.case.queue),
        "steps": steps,
        "executors": [
            _renamed(
                _executor(column, run, [frame.json(step) for frame, step in zip(mine, names, strict=True)], titles),
                dict(zip(run.epochs if run else (), first.epochs, strict=False)),
            )
            for column, run, mine, names in zip(chosen, runs, told, ids, strict=True)
        ],
        **more,
    }


def _checked(case: Any, executors: Any, detail: Any, axis: Any) -> Case:
    """The case, and the options in order. Raises BadCase, TypeError, ValueError."""
    if isinstance(executors, str):
        raise TypeError(f"executors must be a sequence of names, such as ({executors!r},)")
    if detail not in ("commands", "calls"):
        raise ValueError(f"detail must be 'commands' or 'calls', not {detail!r}")
    if axis is not None and (len(axis) != 2 or axis[0] >= axis[1]):
        raise ValueError(f"axis must be (from, to) in ms around now, not {axis!r}")
    if isinstance(case, Case):
        return case
    return parse_case(dict(case) if isinstance(case, Mapping) else case)


def _check(columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    if not names:
        raise ValueError("a recording needs at least one column")
    if len(set(names)) != len(names):
        raise ValueError(f"two columns of one name: {', '.join(names)}")
    if all(column.left_out for column in columns):
        raise ValueError("a recording needs at least one column that is run")


def _run(lab: "Lab", source: Mapping[str, Any], column: Column, meanwhile: Sequence[Sequence[str]]) -> Run:
    lab = column.lab or lab
    mine = dict(source) if column.when is None else {**source, "when": [dict(step) for step in column.when]}
    lab.executor(column.executor)  # type: ignore[arg-type]
    server, executors = lab.bench()
    run = run_case(server, executors, parse_case(mine), column.executor, traced=True, meanwhile=meanwhile)
    if isinstance(run, Skipped):
        raise CannotRecord(f"{run.case.name}: {run.why}")
    return run


def standing(lab: "Lab") -> AbstractContextManager[None]:
    """While this lasts, the clock of a real server of the lab's own stands in its cases but for what they move it.

    What is run to know what to record belongs inside too: it must find the time that the recording will find.
    """
    server, _ = lab.bench()
    stands: Callable[[], AbstractContextManager[None]] = getattr(server, "standing", nullcontext)
    return stands()


def _left_out(column: Column) -> list[Frame]:
    """The only frame of a column that is not run."""
    return [
        Frame("reply", "reply", column.left_out, ANSWER, at=0, reply={"unsupported": "on this server"}),
    ]


def _subject(given: str | bytes | None, case: Case, runs: Iterable[Run]) -> bytes:
    if given is None:
        return subject_of(case, runs)
    return given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given


# -- the rows


def _steps(told: Sequence[Sequence[Frame]]) -> tuple[list[dict[str, str]], list[list[str]]]:
    """The common rows, and for each column the row ids of its frames.

    Entry by entry of ``when``: what two columns do for different entries is never one row.
    """
    rows: list[tuple[int, JobRow]] = []
    for at in sorted({frame.at for column in told for frame in column}):
        columns = [[_row(frame) for frame in column if frame.at == at] for column in told]
        rows += [(at, row) for row in supersequence(columns, lambda row: rank_of(row[0], row[1]))]
    names = _unique([row[0] for _, row in rows])
    several = {at: len({row[2] for when, row in rows if when == at and row[2]}) > 1 for at, _ in rows}
    steps = [
        {"id": name, "word": f"{short(row[2].encode())}: {row[1]}" if several[at] and row[2] else row[1]}
        for name, (at, row) in zip(names, rows, strict=True)
    ]
    return steps, [_walked(column, rows, names) for column in told]


def _row(frame: Frame) -> JobRow:
    return frame.step, frame.word, frame.member


def _unique(names: Iterable[str]) -> list[str]:
    """Each name once: the k-th of a name is ``name#k``."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return out


def _walked(column: Sequence[Frame], rows: Sequence[tuple[int, JobRow]], names: Sequence[str]) -> list[str]:
    """The id of each frame: the next row that is its own."""
    out: list[str] = []
    for name, (at, row) in zip(names, rows, strict=True):
        frame = column[len(out)] if len(out) < len(column) else None
        if frame is not None and (frame.at, _row(frame)) == (at, row):
            out.append(name)
    return out


# -- a column


def _renamed(told: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A column with its epochs by other names."""
    if all(name == other for name, other in names.items()):
        return told
    text = _EPOCH.sub(lambda found: names.get(found[0], found[0]), json.dumps(told))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _executor(
    column: Column, run: Run | None, told: list[dict[str, Any]], titles: Mapping[str, str] | None
) -> dict[str, Any]:
    native = column.executor == "native"
    if run is None:
        kind, title = "native" if native else "script", (titles or {}).get(column.name) or column.name
        answer = told[-1]["reply"]
        return {"name": column.name, "kind": kind, "title": title, "call": [], "frames": told, "reply": answer}
    verbs = [done for done in run.trace if done.step.verb is not None]
    sent = verbs[0].traced.sent if len(verbs) == 1 and verbs[0].traced else ()
    out: dict[str, Any] = {
        "name": column.name,
        "kind": "native" if native else "script",
        "title": (titles or {}).get(column.name) or _title([done.step.verb or "" for done in verbs], native),
        "call": [shown(part) for part in sent],
    }
    if column.when is not None:
        out["when"] = [dict(step) for step in column.when]
        if column.differs is not None:
            out["differs"] = list(column.differs)
    return {**out, "frames": told, "reply": reply_of(verbs[-1].reply) if verbs else None}


def _title(verbs: Iterable[str], native: bool) -> str:
    """The files that ran, each once: ``claim``, ``EMQ.CLAIM``; several with a comma between."""
    names = dict.fromkeys(_file(verb, native) for verb in verbs)
    return ", ".join(names) or ("native" if native else "scripted")


def _file(verb: str, native: bool) -> str:
    if verb in PLAIN:
        return verb
    transition = TRANSITIONS[verb]
    return (transition.command if native else transition.script) or verb


# -- the time axis


def _axis(runs: Sequence[Run], told: Sequence[Sequence[Frame]]) -> list[int]:
    """From and to in ms after ``now_ms``, whole seconds: every lease, due time and clock, and room for the chips."""
    moments = [float(bound) for bound in _LEAST]
    for run, column in zip(runs, told, strict=True):
        moments += _moments(run, column)
    low, high = min(moments), max(moments)
    room = (high - low) * _MARGIN
    return [math.floor((low - room) / 1000) * 1000, math.ceil((high + room) / 1000) * 1000]


def _moments(run: Run, column: Sequence[Frame]) -> Iterable[float]:
    state: State = state_of(run.before, run.case.queue)
    states = [state]
    for frame in column:
        if frame.patch:
            state = merge(state, frame.patch)
            states.append(state)
        if frame.clock is not None:
            yield float(frame.clock - run.now_ms)
    for one in states:
        for name in ("active", "schedule"):
            held = one["sets"][name]
            for score in held.values() if isinstance(held, dict) else ():
                away = float(score) - run.now_ms
                if abs(away) < _FAR:
                    yield away
