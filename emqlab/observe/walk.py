"""A recording walked step by step: the state and the touches after each step, per executor.

A recording (the JSON of one case run on one or more executors) stores only commands, replies and
patches. Recordings are read here, never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Json = Any
Recording = Mapping[str, Any]
Frame = Mapping[str, Any]
State = Mapping[str, Any]

SETS = ("pending", "active", "schedule", "dead")
#: A frame's ``by`` for what another client sends while a transition is on its way: a part of that transition's story.
OTHER_CLIENT = "another client"


@dataclass(frozen=True, slots=True)
class Moment:
    """One executor after one step: the state, what was touched so far, and whether it has answered.

    ``frame`` is what it did at this step (None: nothing), ``last`` what it did most recently, ``said`` the
    reply a reader may know by now: a verb's at its end, a whole call's at its own step. ``wrote``: whether the
    transition now running, or last answered, has changed anything. ``clock`` is in ms. ``since`` is the state
    that a reader compares with: the one before the run, in a recording of whole calls the one before this
    step; ``reads`` and ``writes`` are the slots touched since then. ``epoch`` is the run_id in force.
    """

    state: State
    since: State
    frame: Frame | None
    last: Frame | None
    said: Mapping[str, Any] | None
    reads: frozenset[str]
    writes: frozenset[str]
    read_count: int
    write_count: int
    wrote: bool
    clock: int
    started: bool
    ended: bool
    epoch: str

    @property
    def settled(self) -> bool:
        """Whether no transition is half-way: the executor answered, or its frames are whole verbs."""
        return self.ended or (self.last is not None and self.last["phase"] in ("call", "world"))


def merge(state: Json, patch: Json) -> Json:
    """Apply a JSON merge patch (RFC 7396) to a state and return the new one; neither is changed."""
    if not isinstance(patch, Mapping):
        return patch
    out = dict(state) if isinstance(state, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def of_calls(recording: Recording) -> bool:
    """Whether the frames of a recording are whole calls, so that each step has a before and after of its own."""
    frames = [f for executor in recording["executors"] for f in executor["frames"]]
    return any(f["phase"] == "call" or (f["phase"] == "world" and f.get("by") != OTHER_CLIENT) for f in frames)


def moments(recording: Recording, *, whole: bool = False) -> list[list[Moment]]:
    """For each executor its moments: one before anything was sent, then one after each step.

    With ``whole`` they compare with the state before the run in a recording of whole calls too.
    """
    each = of_calls(recording) and not whole
    return [_walk(recording, executor, each=each) for executor in recording["executors"]]


def _walk(recording: Recording, executor: Mapping[str, Any], *, each: bool) -> list[Moment]:
    frames: Sequence[Frame] = executor["frames"]
    none: frozenset[str] = frozenset()
    start, now = recording["before"], recording["now_ms"]
    m = Moment(start, start, None, None, None, none, none, 0, 0, False, now, False, False, recording["run_id"])
    out, taken = [m], 0
    for step in recording["steps"]:
        frame = frames[taken] if taken < len(frames) and frames[taken]["step"] == step["id"] else None
        taken += frame is not None
        if each:
            m = replace(m, since=m.state, reads=none, writes=none)
        m = _after(m, frame, ended=taken == len(frames), reply=executor.get("reply"))
        out.append(m)
    return out


#: The phases after which another transition begins.
_ENDS = ("reply", "call", "world")


def _after(m: Moment, frame: Frame | None, *, ended: bool, reply: Mapping[str, Any] | None) -> Moment:
    f: Frame = frame or {"phase": ""}
    last = frame or m.last
    said = last.get("reply") if last and (ended or f["phase"] == "call") else None
    went_through = f["phase"] == "write" and "error" not in (f.get("reply") or {})
    goes_on = frame is None or (m.last is not None and m.last["phase"] not in _ENDS)
    return Moment(
        state=merge(m.state, f["patch"]) if f.get("patch") else m.state,
        since=m.since,
        frame=frame,
        last=last,
        said=reply if last is None and ended else said,
        reads=m.reads.union(f.get("reads") or ()),
        writes=m.writes.union(f.get("writes") or ()),
        read_count=m.read_count + (f["phase"] in ("read", "host")),
        write_count=m.write_count + went_through,
        wrote=(goes_on and m.wrote) or bool(f.get("writes")),
        clock=f["clock"] if f.get("clock") is not None else m.clock,
        started=m.started or frame is not None,
        ended=ended,
        epoch=f.get("epoch") or m.epoch,
    )


def place(state: State, job_id: str) -> str:
    """The sets that hold the id, joined with `` + ``; else ``no set`` if it has a row; else ``gone``."""
    held = [name for name, members in state["sets"].items() if isinstance(members, Mapping) and job_id in members]
    return " + ".join(held) if held else "no set" if job_id in state["rows"] else "gone"


def astray(recording: Recording, m: Moment, job_id: str) -> str:
    """``held`` for an id a running transition has in hand, ``lost`` for one it left in no set, else empty.

    An id that was in no set to begin with is not astray, nor a flow's parent that waits for its children.
    """
    row = m.state["rows"].get(job_id)
    waits = isinstance(row, Mapping) and row.get("state") == "awaiting_children"
    if place(m.state, job_id) != "no set" or place(recording["before"], job_id) == "no set" or waits:
        return ""
    return "lost" if m.settled else "held"


def rails(columns: Sequence[Sequence[Moment]]) -> list[str]:
    """The names of the rails, top to bottom: the four sets, the lanes that were seen, ``no set``."""
    seen = dict.fromkeys(name for ms in columns for m in ms for name in m.state["sets"])
    return [*SETS, *(name for name in seen if name not in SETS), "no set"]


def members(state: State, rail: str) -> list[str]:
    """The ids on one rail, in byte order."""
    if rail == "no set":
        return ordered(job_id for job_id in state["rows"] if place(state, job_id) == rail)
    held = state["sets"].get(rail)
    return ordered(held) if isinstance(held, Mapping) else []


def ordered(texts: Iterable[str]) -> list[str]:
    """Texts in the order in which a browser sorts them (UTF-16 code units)."""
    return sorted(texts, key=lambda text: text.encode("utf-16-be", "surrogatepass"))
