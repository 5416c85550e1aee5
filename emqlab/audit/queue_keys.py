"""What is wrong with a queue's keys other than rows: types, lives, counters, the pause, the fence, strangers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from emqlab import keys
from emqlab.audit.counters import countable
from emqlab.audit.findings import Finding
from emqlab.audit.layout import CORE, Place, lane, place
from emqlab.audit.reading import Command, Reader
from emqlab.audit.row import View
from emqlab.audit.surroundings import wire_version
from emqlab.audit.voices import OTHERS, PROBE, Outcome, other, would
from emqlab.audit.wording import lasting, quoted, shown
from emqlab.parity.model import Held, Zset
from emqlab.replies import ErrorReply

#: What is read of a key besides its type and its life.
_FIELD = {b"meta": b"paused", b"metrics:completed": b"count", b"metrics:failed": b"count"}


def key_findings(reader: Reader, view: View, names: Iterable[bytes]) -> Iterator[Finding]:
    """All of them; ``names`` are those of the keys that SCAN has met, without the base and without the rows.

    Each key is looked at in one transaction, and what is told is what that one saw.
    """
    places = [place(name) for name in dict.fromkeys((*CORE, *sorted(names)))]
    blocks = [_reads(view, one) for one in places]
    for one, replies in zip(places, reader.at_once(blocks), strict=True):
        yield from _about(view, one, replies)
    yield from _fence(reader, view)


def _reads(view: View, one: Place) -> list[Command]:
    key = view.base + one.name
    field = _FIELD.get(one.name)
    return [("TYPE", key), ("PTTL", key), *([("HGET", key, field)] if field else [])]


def _about(view: View, one: Place, replies: Sequence[Any]) -> Iterator[Finding]:
    kind, ttl_ms, *more = replies
    if kind == b"none":
        return
    key = view.base + one.name
    value: Any = more[0] if more else None
    if ttl_ms >= 0:
        sentence = f"the server deletes this key in {lasting(ttl_ms)}, and all that it holds"
        yield Finding("ttl", sentence, key=key, ttl_ms=ttl_ms)
    if one.type is None:
        yield Finding("unknown-key", f"of type {kind.decode()}: no key of a queue has this name", key=key)
    elif kind != one.type:
        sentence = f"of type {kind.decode()}, where every verb that comes to it expects a {one.type.decode()}"
        if one.name == b"ring":
            sentence += ": no lane_claim gets by it, so no lane is served"
        yield _told("wrong-type", sentence, key, _met(view, one, {one.name: other(kind)}))
    elif one.name == b"meta" and value is not None:
        outcome = _met(view, one, {b"meta": {b"paused": value}})
        yield _told("paused", f"paused is {quoted(value)}: whatever its value, no flat claim is served", key, outcome)
    elif more and not isinstance(value, ErrorReply) and not countable(value):
        found = _met(view, one, {one.name: {b"count": value}})
        yield _told("metric-refused", f"count is {quoted(value)}, which HINCRBY refuses", key, found)


def _told(code: str, sentence: str, key: bytes, outcome: Outcome) -> Finding:
    return Finding(code, sentence, key=key, scripted=outcome.scripted, native=outcome.native)


def _met(view: View, one: Place, held: dict[bytes, Held]) -> Outcome:
    """A verb that comes to this key, for a job that has nothing wrong with it, or for none where that shows it too."""
    row: dict[bytes, bytes] = {b"attempts": b"1", b"payload": b"", b"state": b"active"}
    verb, sets, values, job = *_VERBS.get(one.name, _COMPLETE), "job"
    if one.parent is not None:
        part = one.name.rpartition(b":")[2]
        verb, sets, values = _PARTS[part]
        row |= {b"parent": one.parent, b"parent_policy": b"id" if part == b"unsuccessful" else b"fp"}
        held = {b"job:" + one.parent: {b"state": b"awaiting_children", b"attempts": b"0"}, **held}
        job = "child"
    elif one.name not in _VERBS:
        group = one.group if one.group is not None else b"lane"
        row[b"group"] = group
        held = {lane(group): Zset({OTHERS: 0.0}), **held}
    world = {view.base + name: value for name, value in held.items()}
    there = view.waiting if sets == b"pending" else view.working
    if not there and one.name in (b"pending", b"meta"):
        return would(view, verb, world, values=values)
    once = "" if there else f"a {job} is {sets.decode()}"
    world = {view.row(PROBE): row, view.base + sets: Zset({PROBE: 0.0}), **world}
    return would(view, verb, world, once=once, values=values)


_RETRY = {"token": b"1", "max_attempts": b"2"}
_CAP = {"token": b"1", "max_attempts": b"1"}
#: The flat keys: a verb that comes to each, the set that its job stands in, and its values.
_VERBS: dict[bytes, tuple[str, bytes, dict[str, bytes]]] = {
    b"pending": ("claim", b"pending", {}),
    b"active": ("claim", b"pending", {}),
    b"schedule": ("fail", b"active", _RETRY),
    b"dead": ("fail", b"active", _CAP),
    b"meta": ("claim", b"pending", {}),
    b"metrics:completed": ("complete", b"active", {"token": b"1"}),
    b"metrics:failed": ("fail", b"active", _CAP),
}
#: The keys of lanes, and those of a flow.
_COMPLETE: tuple[str, bytes, dict[str, bytes]] = ("complete", b"active", {"token": b"1"})
_PARTS = {
    b"dependencies": _COMPLETE,
    b"processed": _COMPLETE,
    b"failed": ("fail", b"active", _CAP),
    b"unsuccessful": ("fail", b"active", _CAP),
}


def name_findings(view: View) -> Iterator[Finding]:
    """A queue that can't be asked for by its name."""
    try:
        keys.check_queue(view.queue.decode("utf-8", "backslashreplace"))
    except ValueError:
        sentence = (
            f"{quoted(view.queue)} is a name that the lab does not take (1-128 characters out of A-Z a-z 0-9 . _ -, and"
            " not emq): it can't be given on the command line, and only an audit without names looks at this queue"
        )
        yield Finding("queue-name", sentence, key=view.base)


def _fence(reader: Reader, view: View) -> Iterator[Finding]:
    """A wire version under which the native verbs do nothing."""
    found = wire_version(reader)
    if found is None:
        return
    kind, version = found
    said = quoted(version) if isinstance(version, bytes) and kind == b"string" else f"of type {kind.decode()}"
    sentence = f"the wire version is {said}, not {shown(keys.VERSION)}"
    held: dict[bytes, Held] = {keys.VERSION_KEY: version}
    if view.waiting:
        held |= {view.row(PROBE): {b"attempts": b"0", b"payload": b""}, view.base + b"pending": Zset({PROBE: 0.0})}
    yield _told("fence", sentence, keys.VERSION_KEY, would(view, "claim", held))
