"""A recording of whole calls, told by who did what and when: a row for each event, the deadlines among them.

In a case the clock is moved between two steps. In the story of two workers nobody moves a clock: time passes. So each
move is told with what follows it, and where it passes the end of a lease, that moment is a row of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emqlab.observe.walk import Frame, Recording, State, merge


@dataclass(frozen=True, slots=True)
class Deed:
    """One event: its row's ``id`` and ``word``, who does it (``A``, ``B``, ``server``) and when, in ms after the start.

    ``step`` is what is sent, as a case has it. None means that nothing is, and ``note`` says so in a sentence.
    """

    id: str
    word: str
    by: str
    at_ms: int
    step: Mapping[str, Any] | None
    note: str = ""


#: Where a row stands: before which deed, a deadline (0) or the deed itself (1), its id and its word.
_Row = tuple[int, int, str, str]


def when_of(deeds: Sequence[Deed]) -> list[dict[str, Any]]:
    """The deeds as a case's ``when``: what is sent, and moves of the clock between. They must be in order of time."""
    when: list[dict[str, Any]] = []
    at_ms = 0
    for deed in deeds:
        if deed.at_ms > at_ms:
            when.append({"advance_ms": deed.at_ms - at_ms})
            at_ms = deed.at_ms
        if deed.step is not None:
            when.append(dict(deed.step))
    return when


def retold(recording: Recording, deeds: Mapping[str, Sequence[Deed]]) -> dict[str, Any]:
    """The recording of ``when_of(deeds)``, in whole calls, with a row for each deed and each lease that ran out.

    ``deeds`` has an entry for each executor's name. Raises ValueError if time alone changed a key: then a move of the
    clock is more than the time between two events.
    """
    told = [list(_told(recording, executor, deeds[executor["name"]])) for executor in recording["executors"]]
    rows = sorted({row for column in told for row, _ in column})
    names = _names(rows)
    return {
        **recording,
        "steps": [{"id": names[row], "word": row[3]} for row in rows],
        "executors": [
            {**executor, "frames": [{"step": names[row], **frame} for row, frame in column]}
            for executor, column in zip(recording["executors"], told, strict=True)
        ],
    }


def _names(rows: Sequence[_Row]) -> dict[_Row, str]:
    """The id of each row: the k-th of one id is ``id#k``."""
    seen: dict[str, int] = {}
    names = {}
    for row in rows:
        seen[row[2]] = seen.get(row[2], 0) + 1
        names[row] = row[2] if seen[row[2]] == 1 else f"{row[2]}#{seen[row[2]]}"
    return names


def _told(recording: Recording, executor: Mapping[str, Any], deeds: Sequence[Deed]) -> Iterator[tuple[_Row, Frame]]:
    state: State = recording["before"]
    subject, clock, at_ms, holder = recording["subject"], recording["now_ms"], 0, ""
    frames: Iterator[Frame] = iter(executor["frames"])
    for place, deed in enumerate(deeds):
        until = clock
        if deed.at_ms > at_ms:
            moved, at_ms = next(frames), deed.at_ms
            if moved.get("patch"):
                raise ValueError(f"time alone changed a key before {deed.word!r}")
            until = moved.get("clock", clock)
        score = _score(state, subject)
        if score is not None and clock < score <= until:
            word = f"{holder}'s lease ends" if holder else "the lease ends"
            yield (place, 0, f"{holder}-lease".strip("-"), word), _deadline(int(score), word)
        sent = next(frames) if deed.step is not None else {"phase": "world", "note": deed.note}
        frame = _own(sent, deed, until if until != clock else None)
        clock = frame.get("clock", clock)
        state = merge(state, frame["patch"]) if frame.get("patch") else state
        if _score(state, subject) is not None and score is None:
            holder = deed.by
        yield (place, 1, deed.id, deed.word), frame


def _score(state: State, subject: str) -> float | None:
    """When the subject's lease ends, ms since 1970; None when nobody has leased it."""
    active = state["sets"].get("active")
    return float(active[subject]) if isinstance(active, Mapping) and subject in active else None


def _deadline(score: int, word: str) -> Frame:
    note = f"{word[:1].upper()}{word[1:]}. Nobody is told, and the job stays where it is."
    return {"phase": "world", "by": "server", "clock": score, "note": note}


def _own(sent: Frame, deed: Deed, clock: int | None) -> Frame:
    """A frame with who sent it, and the clock that time had reached by then."""
    note = sent["note"]
    if deed.step is not None and deed.by != "server":
        note = f"Worker {deed.by} {note[:1].lower()}{note[1:]}"
    frame = {**sent, "by": deed.by, "clock": sent.get("clock", clock), "note": note}
    return {name: value for name, value in frame.items() if name != "step" and value is not None}
