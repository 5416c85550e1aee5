"""Two workers in words: what each event of a recording came to, and the whole of it in one sentence.

For recordings that were told by who did what (``emqlab.observe.workers``). The live diagram of
``emqlab_widgets/stage.js`` says the same in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from emqlab.observe.walk import OTHER_CLIENT, Frame, Moment, Recording, moments

WORKERS = ("A", "B")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one executor: its row's number and word, who did it, and the server's time (ms since 1970).

    ``token`` was received or presented. ``claimed``: it leased the subject; ``kept``: the lease was there before and
    after it. ``ending`` is what it came to, empty where the word says it all.
    """

    number: int
    word: str
    by: str
    clock: int
    token: str | None
    sent: bool
    claimed: bool
    kept: bool
    ending: str

    @property
    def deed(self) -> str:
        """Its word on the lane of whoever did it: ``claims``."""
        return self.word.removeprefix(f"{self.by} ")


def told(recording: Recording) -> bool:
    """Whether the recording says who did what: only then is there a story."""
    found = {frame.get("by") for executor in recording["executors"] for frame in executor["frames"]}
    return bool(found - {None, OTHER_CLIENT})


def events(recording: Recording, ms: Sequence[Moment]) -> list[Event]:
    """The events of one executor, from its moments."""
    out = []
    for number, (before, m) in enumerate(pairwise(ms), start=1):
        if m.frame is None:
            continue
        frame, word = m.frame, recording["steps"][number - 1]["word"]
        by = frame["by"] if frame.get("by") in WORKERS else "server"
        sent, held, holds = frame["phase"] == "call", _leased(recording, before), _leased(recording, m)
        claimed, refused = sent and holds and not held, "error" in (frame.get("reply") or {})
        kept, token = held and holds and not refused, frame.get("token")
        ending = "" if by == "server" else _ending(word, frame, claimed)
        seal = None if token is None else str(token)
        out.append(Event(number, word, by, m.clock, seal, sent, claimed, kept, ending))
    return out


def _leased(recording: Recording, m: Moment) -> bool:
    active = m.state["sets"].get("active")
    return isinstance(active, Mapping) and recording["subject"] in active


def _ending(word: str, frame: Frame, claimed: bool) -> str:
    if frame["phase"] == "world":
        return "no token" if word.endswith("completes") else ""
    reply = frame.get("reply") or {}
    if "error" in reply:
        return "refused"
    ok = reply.get("ok")
    known = {1: "done", 0: "gone already"}.get(ok) if isinstance(ok, int) else None
    return known or ("" if claimed else "nothing")


def alike(recording: Recording) -> bool:
    """Whether all executors did the same rows and were answered alike in each."""
    columns = [{frame["step"]: frame.get("reply") for frame in ex["frames"]} for ex in recording["executors"]]
    return all(one == columns[0] for one in columns)


def drawn(recording: Recording) -> list[int]:
    """Which executors have a diagram: the native one for all while they are answered alike, else each."""
    natives = [k for k, executor in enumerate(recording["executors"]) if executor["kind"] == "native"]
    main = natives[0] if natives else 0
    every = range(len(recording["executors"]))
    return [main] if alike(recording) else [main, *(k for k in every if k != main)]


def agreement(recording: Recording) -> str:
    """Whether the executors were answered alike, in one sentence; empty for a single one."""
    titles = [executor["title"] for executor in recording["executors"]]
    if len(titles) == 1:
        return ""
    names = _opened(" and ".join(titles))
    if alike(recording):
        return f"{names} give the same answers here; drawn: {titles[drawn(recording)[0]]}."
    return f"{names} part here: each has its own diagram."


def story(recording: Recording, which: int) -> str:
    """Who did what when, in seconds, and what came of it, in one sentence: executor ``which`` of the recording."""
    parts = [
        f"at {round((event.clock - recording['now_ms']) / 1000, 1):g} s {_told(event)}"
        for event in events(recording, moments(recording)[which])
    ]
    return f"{_opened(recording['executors'][which]['title'])}: {'; '.join(parts)}."


def _told(event: Event) -> str:
    if event.word.endswith("claims"):
        return f"{event.word} and gets {f'token {event.token}' if event.claimed else 'nothing'}"
    if event.ending and event.token is None:
        return f"{event.by} has no token to complete with"
    if event.ending:
        return f"{event.word} with token {event.token}: {event.ending}"
    return f"{event.word} comes" if event.word == "the sweep" else event.word


def _opened(text: str) -> str:
    return text[:1].upper() + text[1:]
