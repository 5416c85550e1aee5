"""What is wrong with a queue's lanes: who waits unrung, what the ring holds, slots (SPEC 4.3; hazards 10, 12)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from emqlab.audit.counters import countable
from emqlab.audit.findings import Finding
from emqlab.audit.layout import lane
from emqlab.audit.reading import Reader, pieces
from emqlab.audit.row import Lane, View
from emqlab.audit.voices import OTHERS, PROBE, Outcome, would
from emqlab.audit.wording import plural, quoted
from emqlab.parity.model import Held, Zset
from emqlab.parity.model.numbers import tonumber

#: How often a count is tried anew that changes while it is taken.
TRIES = 3
_KEYS = (b"ring", b"paused", b"glimit", b"gactive")


def lane_findings(view: View, groups: Iterable[bytes]) -> Iterator[Finding]:
    """What is to be said of these groups, each as ``view.lanes`` has it."""
    for group in sorted(groups):
        if not any(view.base + name in view.around for name in (*_KEYS, lane(group))):
            yield from judge_lane(group, view.lanes[group], view)


def judge_lane(group: bytes, one: Lane, view: View) -> Iterator[Finding]:
    """Everything that is to be said of one group, as it was at one moment, but of its slots."""
    if one.limit is not None and tonumber(one.limit) is None:
        yield _no_number(group, one.limit, view)
        yield from _ringed(group, one, view)
        return
    yield from _ringed(group, one, view)
    if not one.jobs or one.rung:
        return
    says = f"the lane of {quoted(group)} holds {plural(one.jobs, 'job')}"
    if one.paused:
        sentence = f"{says} and is paused: nobody is served from it until lane_resume"
        yield _of_lane("lane-held", sentence, group, view)
    elif one.limit is not None and float(tonumber(one.limit) or 0) <= 0:
        sentence = f"{says}, and its limit of {quoted(one.limit)} lets nobody be served until lane_limit raises it"
        yield _of_lane("lane-held", sentence, group, view)
    elif has_room(one):
        sentence = (
            f"{says}, has room, and is on no ring (a sweep that kills a lane's job rings nobody): nobody is served from"
            " it until the next lane_enqueue, promotion, completion or failure of one of its jobs rings it; send"
            " lane_resume"
        )
        yield _of_lane("lane-waits", sentence, group, view, resumed(group, view))


def has_room(one: Lane) -> bool:
    """Whether the group has a slot left, as the scripts reckon; numbers that they can't read are told elsewhere."""
    limit, busy = (None if value is None else tonumber(value) for value in (one.limit, one.busy))
    if one.limit is None:
        return True
    return limit is not None and not (one.busy is not None and busy is None) and limit > (busy or 0)


def resumed(group: bytes, view: View) -> Outcome:
    """What lane_resume does for a group."""
    held = {view.base + lane(group): Zset({OTHERS: 0.0})}
    return would(view, "lane_resume", held, values={"group": group})


def _of_lane(code: str, sentence: str, group: bytes, view: View, outcome: Outcome | None = None) -> Finding:
    scripted, native = (outcome.scripted, outcome.native) if outcome else (None, None)
    return Finding(code, sentence, key=view.base + lane(group), scripted=scripted, native=native)


def _ringed(group: bytes, one: Lane, view: View) -> Iterator[Finding]:
    """What is odd about the group's places on the ring."""
    key, name = view.base + b"ring", quoted(group)
    if one.rung > 1:
        sentence = f"the group {name} is on it more than once: it has more turns than the others; lane_pause takes all"
        yield Finding("ring-twice", f"{sentence} of them off, lane_resume puts one back", key=key)
    if one.rung and not one.jobs:
        outcome = would(view, "lane_claim", {key: [group]}, once="its turn comes")
        sentence = f"the group {name} is on it, and its lane holds no job: the next lane_claim that comes to it answers"
        told = f"{sentence} empty and takes it off, so nothing is to be done"
        yield Finding("ring-empty", told, key=key, scripted=outcome.scripted, native=outcome.native)
    if one.rung and one.paused and one.jobs:
        sentence = (
            f"the group {name} is on it and paused, and lane_claim does not look at the pause: it is served; send"
        )
        yield Finding("ring-paused", f"{sentence} lane_pause again", key=key)


def _no_number(group: bytes, limit: bytes, view: View) -> Finding:
    sentence = (
        f"the limit of {quoted(group)} is {quoted(limit)}, which is no number: while jobs wait in its lane,"
        " lane_enqueue, lane_resume, promote, reap and stalled_check stop half-way, complete and fail lose the job,"
        " and lane_claim leases one of which nobody is told; set it with lane_limit"
    )
    return _met(view, group, b"glimit", sentence)


def _met(view: View, group: bytes, name: bytes, sentence: str) -> Finding:
    """A finding about one of the hashes by group, with what a completion of the group's meets there."""
    held: dict[bytes, Held] = {
        view.row(PROBE): {b"attempts": b"1", b"payload": b"", b"state": b"active", b"group": group},
        view.base + b"active": Zset({PROBE: 0.0}),
        view.base + lane(group): Zset({OTHERS: 0.0}),
    }
    outcome = would(view, "complete", held, once="" if view.working else "a job is active", values={"token": b"1"})
    return Finding("lane-number", sentence, key=view.base + name, scripted=outcome.scripted, native=outcome.native)


def slots_adrift(reader: Reader, view: View, seen: Mapping[bytes, int]) -> Iterator[Finding]:
    """Groups whose ``gactive`` is not how many of their jobs are active; ``seen`` is what the first look counted.

    Counted again under WATCH; nothing is told of a queue where that never holds still.
    """
    key = view.base + b"gactive"
    kept = dict(reader.fields(key))
    if not adrift(kept, seen):
        return
    for _ in range(TRIES):
        reader.ask("WATCH", key, view.base + b"active")
        kept, counted = dict(reader.fields(key)), _counted(reader, view)
        if reader.unchanged(("TYPE", key)) is not None:
            break
    else:
        return
    if key in view.around:
        return
    for group in adrift(kept, counted):
        yield _drift(view, group, kept.get(group), counted.get(group, 0))


def _drift(view: View, group: bytes, value: bytes | None, counted: int) -> Finding:
    says = f"gactive is {quoted(value)}" if value is not None else "gactive knows nothing"
    of = f"{says} of the group {quoted(group)}, of which {counted} {'is' if counted == 1 else 'are'} active"
    if value is not None and not countable(value):
        sentence = (
            f"{of}: HINCRBY refuses it, so complete, fail, reap and stalled_check lose the group's job, and lane_claim"
            f" leases one of which nobody is told; HSET it to {counted}"
        )
        return _met(view, group, b"gactive", sentence)
    spare, one = int(value or 0) - counted, view.lanes.get(group, Lane())
    if spare <= 0:
        sentence = f"{of}: its limit, if it has one, lets more of them run; HINCRBY it by {-spare}"
        return Finding("gactive-drift", sentence, key=view.base + b"gactive")
    lost = f"{of}: nobody gives {plural(spare, 'slot')} back (a delayed job keeps its own)"
    cure = f"HINCRBY it by -{spare}, then lane_resume"
    limit = None if one.limit is None else tonumber(one.limit)
    if one.jobs and not one.rung and not one.paused and limit is not None and 0 < limit <= spare:
        told = f"{lost}, so its limit of {quoted(one.limit or b'')} is reached for ever and"
        told = f"{told} {plural(one.jobs, 'job')} will never be served; {cure}"
        return _of_lane("lane-full", told, group, view, resumed(group, view))
    return Finding("gactive-drift", f"{lost}; {cure}", key=view.base + b"gactive")


def _counted(reader: Reader, view: View) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for piece in pieces(dict(reader.members(view.base + b"active")), 500):
        groups = reader.ask_all(("HGET", view.row(job), "group") for job in piece)
        found.update(group for group in groups if isinstance(group, bytes))
    return found


def adrift(kept: Mapping[bytes, bytes], counted: Mapping[bytes, int]) -> list[bytes]:
    """The groups whose count of slots is not that of their active jobs."""
    groups = sorted({*kept, *counted})
    return [group for group in groups if not _equal(kept.get(group), counted.get(group, 0))]


def _equal(kept: bytes | None, counted: int) -> bool:
    return countable(kept) and int(kept or 0) == counted
