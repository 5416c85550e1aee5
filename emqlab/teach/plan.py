"""A plan of two workers: who does what when. It is a text, and it is run to find out who is refused.

One event a word, at so many seconds after the start::

    A-claims@0 A-stalls@2 sweep@10 B-claims@14 A-completes@16 B-completes@18

A worker that completes presents the token that its own claim was answered with, in a run. A worker that got none has
nothing to present and sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emqlab.observe.case_reader import parse_case
from emqlab.observe.recording import Column, record, standing
from emqlab.observe.workers import Deed, retold, when_of
from emqlab.teach.cases.steps import JOB, QUEUE, WAITING, claim, complete, sweep
from emqlab.teach.tokens import handed_out

if TYPE_CHECKING:
    from emqlab.lab import Lab

#: What may happen -> the words for it, in the order in which a reader is told of them.
KINDS: Mapping[str, str] = {
    "A-claims": "A claims",
    "A-stalls": "A falls silent",
    "sweep": "the sweep",
    "B-claims": "B claims",
    "A-completes": "A completes",
    "B-completes": "B completes",
}
#: How far from the start an event may lie, in ms.
LAST_MS = 120_000
#: When A comes back -> in which third of its lease, counted from the start.
PRESETS: Mapping[str, int] = {"after-claim": 8, "after-sweep": 6, "before-sweep": 4, "in-time": 2}
#: The others, in thirds of a lease. A lease has three of them, so it ends after the third.
_THIRDS: Mapping[str, int] = {"A-claims": 0, "A-stalls": 1, "sweep": 5, "B-claims": 7, "B-completes": 9}
_TIME = re.compile(r"[0-9]{1,3}(\.[0-9])?")

Recorded = dict[str, Any]


class BadPlan(ValueError):
    """A plan that can't be run. ``str`` is one sentence that says what to write instead."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its kind (of ``KINDS``) and when, in ms after the start."""

    kind: str
    at_ms: int

    @property
    def by(self) -> str:
        """Who does it: ``A``, ``B`` or ``server``."""
        return "server" if self.kind == "sweep" else self.kind[0]


Plan = tuple[Event, ...]


def parse(text: str) -> Plan:
    """The events of a plan in order of time; those of one time stay in the order in which they are written.

    Raises BadPlan for a text that is no plan.
    """
    events = [_event(word) for word in text.split()]
    if not events:
        raise BadPlan("a plan needs at least one event, such as A-claims@0")
    kinds = [event.kind for event in events]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise BadPlan(f"{kind} stands there {kinds.count(kind)} times; each event happens once at most")
    return tuple(sorted(events, key=lambda event: event.at_ms))


def _event(word: str) -> Event:
    kind, at, time = word.partition("@")
    if kind not in KINDS:
        raise BadPlan(f"{word[:40]!r} is no event; a plan is made of {', '.join(KINDS)}, each with its @seconds")
    if not at:
        raise BadPlan(f"{kind} has no time: write {kind}@ and the seconds after the start")
    if not _TIME.fullmatch(time) or float(time) * 1000 > LAST_MS:
        seconds = f"from 0 to {LAST_MS // 1000}, whole or with one decimal"
        raise BadPlan(f"{time[:40]!r} is no time for {kind}: seconds go {seconds}")
    return Event(kind, round(float(time) * 1000))


def written(plan: Sequence[Event]) -> str:
    """The plan as a text that ``parse`` reads."""
    return " ".join(f"{event.kind}@{event.at_ms / 1000:g}" for event in plan)


def preset(name: str, lease_ms: int) -> Plan:
    """The plan in which A comes back as ``name`` (of ``PRESETS``) says, its times in proportion to the lease.

    ``lease_ms`` is a multiple of 3000, so that times are whole seconds. Raises KeyError for another name.
    """
    thirds = {**_THIRDS, "A-completes": PRESETS[name]}
    events = [Event(kind, thirds[kind] * lease_ms // 3) for kind in KINDS]
    return tuple(sorted(events, key=lambda event: event.at_ms))


def recorded(
    lab: Lab,
    plan: Sequence[Event],
    lease_ms: int,
    *,
    max_stalled: int = 2,
    executors: Sequence[str] = ("scripted", "native"),
    titles: Mapping[str, str] | None = None,
) -> Recorded:
    """Run the plan on each executor and answer the recording, a row an event, with ``by`` and ``token`` in its frames.

    It holds the plan too, as ``plan``. Both claims are for ``lease_ms``; ``max_stalled`` is the sweep's. An executor
    that hands out other tokens than the first runs a case of its own. Raises CannotRecord where the server can't run
    it (a clock that can't be moved).
    """
    with standing(lab):
        return _recorded(lab, plan, lease_ms, max_stalled, executors, titles)


def _recorded(
    lab: Lab,
    plan: Sequence[Event],
    lease_ms: int,
    max_stalled: int,
    executors: Sequence[str],
    titles: Mapping[str, str] | None,
) -> Recorded:
    deeds = {name: _deeds(lab, name, plan, lease_ms, max_stalled) for name in executors}
    whens = {name: when_of(found) for name, found in deeds.items()}
    first = whens[executors[0]]
    case = _case(plan, lease_ms, max_stalled, first)
    columns = [
        Column(name, name) if whens[name] == first else Column(name, name, whens[name], _seen(lab, case, whens[name]))
        for name in executors
    ]
    recording = record(
        lab, case, columns=columns, subject=JOB, detail="calls", titles=titles, axis=_axis(plan, lease_ms)
    )
    if shows := _seen(lab, case, first):
        recording["case"] = {**recording["case"], "differs": shows}
    # The plan goes along: on a server whose clock runs by itself it could not be read off the frames.
    return {**retold(recording, deeds), "plan": written(plan)}


def _seen(lab: Lab, case: Mapping[str, Any], when: Sequence[Mapping[str, Any]]) -> list[int]:
    """The divergences that the case shows with these steps, begun now: in a reply, or in a field at the end."""
    from emqlab.parity.explain import explained  # the model is much to load, and only a run needs it

    shown = explained(parse_case({**case, "when": when}), lab.now_ms(), lab.run_id.encode())
    return [] if shown is None else sorted(shown.seen)


def _case(plan: Sequence[Event], lease_ms: int, max_stalled: int, when: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    stall = {1: "the first stall kills it", 2: "the second stall kills it"}.get(
        max_stalled, f"stall {max_stalled} kills it"
    )
    return {
        "name": f"two-workers/{lease_ms}-{max_stalled}/{written(plan)}",
        "queue": QUEUE,
        "about": f"two workers lease one job for {lease_ms / 1000:g} s; {stall}",
        "given": WAITING,
        "when": [dict(step) for step in when],
    }


def _deeds(lab: Lab, executor: str, plan: Sequence[Event], lease_ms: int, max_stalled: int) -> list[Deed]:
    """What each event comes to on one executor.

    What its claims hand out is guessed, and asked of a run: a claim that hands out another token than was guessed
    changes what comes after it. Each run settles one claim more, so that there are at most as many as claims.
    """
    claims = [event.by for event in plan if event.kind.endswith("claims")]
    tokens: list[int | None] = list(range(1, len(claims) + 1))
    for settled in range(1, len(claims) + 1):
        deeds = _presenting(plan, lease_ms, max_stalled, dict(zip(claims, tokens, strict=True)))
        found = handed_out(lab, executor, _case(plan, lease_ms, max_stalled, when_of(deeds)), "this plan")
        if found == tokens:
            break
        tokens = [*found[:settled], *tokens[settled:]]
    return _presenting(plan, lease_ms, max_stalled, dict(zip(claims, tokens, strict=True)))


def _presenting(plan: Sequence[Event], lease_ms: int, max_stalled: int, tokens: Mapping[str, int | None]) -> list[Deed]:
    """What each event comes to when the workers' claims hand out ``tokens``, a worker's: None where nobody got any."""
    deeds: list[Deed] = []
    holds: dict[str, int | None] = {}
    for event in plan:
        verb, token = event.kind.partition("-")[2], holds.get(event.by)
        step, note = None, f"Worker {event.by} holds no token, so it sends nothing."
        if event.kind == "sweep":
            step = sweep(max_stalled)
        elif verb == "claims":
            step = claim(lease_ms)
            holds[event.by] = tokens[event.by]
        elif verb == "completes" and token is not None:
            step = complete(token)
        elif verb == "stalls":
            note = f"Worker {event.by} falls silent: a long pause, or a lost network. Nobody notices."
        deeds.append(Deed(event.kind, KINDS[event.kind], event.by, event.at_ms, step, note))
    return deeds


def _axis(plan: Sequence[Event], lease_ms: int) -> tuple[int, int]:
    """Every event and every lease that may be handed out, a margin before them, and a fifth of the axis after them."""
    last = max(event.at_ms + (lease_ms if event.kind.endswith("claims") else 0) for event in plan)
    low = -max(1_000, last // 20 // 1_000 * 1_000)
    return low, -((low - 5 * max(last, 1_000)) // 4 // 1_000) * 1_000
