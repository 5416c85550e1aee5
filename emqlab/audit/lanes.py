"""What is wrong with a queue's lanes and flows (SPEC 4.3, 4.4; hazards 9, 10, 12)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from emqlab.audit.counters import countable
from emqlab.audit.findings import Finding
from emqlab.audit.layout import lane
from emqlab.audit.reading import Command, Reader, pieces
from emqlab.audit.row import View
from emqlab.audit.voices import would
from emqlab.audit.wording import named, quoted
from emqlab.parity.model import Zset
from emqlab.replies import ErrorReply

#: How often a count is tried anew that changes while it is taken.
_TRIES = 3


def waiting_lanes(reader: Reader, view: View, groups: Iterable[bytes]) -> Iterator[Finding]:
    """Lanes that hold jobs and could be served, and stand on no ring."""
    asked = sorted(groups)
    for group, replies in zip(asked, reader.at_once([_of_lane(view, group) for group in asked]), strict=True):
        if any(isinstance(reply, ErrorReply) for reply in replies):
            continue
        first, limit, busy, paused, ring = replies
        if not first or paused or ring is not None or not _below(limit, busy):
            continue
        sentence = f"the lane of {quoted(group)} holds jobs, has room, and is on no ring: nobody is served from it"
        key = view.base + lane(group)
        outcome = would(view, "lane_claim", {key: Zset({first[0]: 0.0}), view.row(first[0]): {b"attempts": b"0"}})
        yield Finding("lane-waits", sentence, key=key, scripted=outcome.scripted, native=outcome.native)


def _of_lane(view: View, group: bytes) -> list[Command]:
    base = view.base
    return [
        ("ZRANGE", base + lane(group), 0, 0),
        ("HGET", base + b"glimit", group),
        ("HGET", base + b"gactive", group),
        ("SISMEMBER", base + b"paused", group),
        ("LPOS", base + b"ring", group),
    ]


def _below(limit: bytes | None, busy: bytes | None) -> bool:
    """Whether the group has a slot left, as the scripts reckon; numbers that they can't read are told elsewhere."""
    if limit is None:
        return True
    try:
        return float(limit) > float(busy or 0)
    except ValueError:
        return False


def slots_adrift(reader: Reader, view: View, seen: Mapping[bytes, int]) -> Iterator[Finding]:
    """Groups whose ``gactive`` is not how many of their jobs are active; ``seen`` is what the first look counted.

    Counted again under WATCH; nothing is told of a queue where that never holds still.
    """
    key = view.base + b"gactive"
    kept = dict(reader.fields(key))
    if not _adrift(kept, seen):
        return
    for _ in range(_TRIES):
        reader.ask("WATCH", key, view.base + b"active")
        kept, counted = dict(reader.fields(key)), _counted(reader, view)
        if reader.unchanged(("TYPE", key)) is not None:
            break
    else:
        return
    for group in _adrift(kept, counted):
        value = kept.get(group)
        says = f"gactive is {quoted(value)}" if value is not None else "gactive knows nothing"
        sentence = f"{says} of the group {quoted(group)}, of which {counted.get(group, 0)} are active"
        yield Finding("gactive-drift", sentence, key=key)


def _counted(reader: Reader, view: View) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    for piece in pieces(dict(reader.members(view.base + b"active")), 500):
        groups = reader.ask_all(("HGET", view.row(job), "group") for job in piece)
        found.update(group for group in groups if isinstance(group, bytes))
    return found


def _adrift(kept: Mapping[bytes, bytes], counted: Mapping[bytes, int]) -> list[bytes]:
    groups = sorted({*kept, *counted})
    return [group for group in groups if not _equal(kept.get(group), counted.get(group, 0))]


def _equal(kept: bytes | None, counted: int) -> bool:
    return countable(kept) and int(kept or 0) == counted


def waiting_parents(
    reader: Reader, view: View, died: Mapping[bytes, bytes], uncounted: Iterable[bytes]
) -> Iterator[Finding]:
    """Parents whom nobody will release.

    They wait for a child that a sweep has killed (``died`` is dead child -> parent, as first seen), or no key counts
    the children that they wait for (``uncounted``, as first seen).
    """
    told = set()
    for finding in chain(_uncounted(reader, view, uncounted), _deserted(reader, view, died)):
        if finding.id not in told:
            told.add(finding.id)
            yield finding


def _uncounted(reader: Reader, view: View, parents: Iterable[bytes]) -> Iterator[Finding]:
    asked = sorted(parents)
    blocks: list[list[Command]] = [
        [("HGET", view.row(parent), "state"), ("TYPE", view.row(parent) + b":dependencies")] for parent in asked
    ]
    for parent, (state, kind) in zip(asked, reader.at_once(blocks), strict=True):
        if state == b"awaiting_children" and kind == b"none":
            sentence = "awaits its children, but has no :dependencies that counts them: nobody will release it"
            yield Finding("parent-waits", sentence, id=parent)


def _deserted(reader: Reader, view: View, died: Mapping[bytes, bytes]) -> Iterator[Finding]:
    children = sorted(died)
    blocks = [_of_child(view, child, died[child]) for child in children]
    for child, replies in zip(children, reader.at_once(blocks), strict=True):
        parent = died[child]
        state, kin, dead, given_up = replies
        if state != b"awaiting_children" or kin != parent or not isinstance(dead, bytes) or given_up:
            continue
        sentence = f"awaits its children, of which {named(child)} is dead and has told it nothing"
        yield Finding("parent-waits", sentence, id=parent)


def _of_child(view: View, child: bytes, parent: bytes) -> list[Command]:
    return [
        ("HGET", view.row(parent), "state"),
        ("HGET", view.row(child), "parent"),
        ("ZSCORE", view.base + b"dead", child),
        ("HEXISTS", view.row(parent) + b":unsuccessful", child),
    ]
