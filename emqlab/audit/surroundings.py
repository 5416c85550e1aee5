"""What a verb meets besides the job itself: keys of a wrong type, counters, lanes, parents, the pause, the fence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from emqlab import keys
from emqlab.audit.layout import FLOW, KNOWN, METRICS, SETS, flow, lane, place
from emqlab.audit.reading import Command, Moved, Reader
from emqlab.audit.row import Lane, View
from emqlab.audit.voices import other
from emqlab.parity.model import Held, Zset
from emqlab.replies import ErrorReply


def surrounded(reader: Reader, view: View, groups: Iterable[bytes], parents: Iterable[bytes]) -> View:
    """The view with what is around a job as it is now: of lanes those of ``groups``, of flows those of ``parents``."""
    base = view.base
    some = sorted(groups)
    names = (*KNOWN, *map(lane, some))
    kinds = zip(names, reader.ask_all(("TYPE", base + name) for name in names), strict=True)
    around: dict[bytes, Held] = {
        base + name: other(kind) for name, kind in kinds if kind not in (b"none", place(name).type)
    }
    *counts, paused = reader.ask_all(
        [*(("HGET", base + name, "count") for name in METRICS), ("HGET", base + b"meta", "paused")]
    )
    for name, count in zip(METRICS, counts, strict=True):
        if isinstance(count, bytes):
            around[base + name] = {b"count": count}
    version = wire_version(reader)
    if version is not None:
        around[keys.VERSION_KEY] = version[1]
    lanes = dict(zip(some, _lanes(reader, view, some), strict=True))
    return replace(
        view, around=around, lanes=lanes, kin=_kin(reader, view, sorted(parents)), paused=isinstance(paused, bytes)
    )


def _lanes(reader: Reader, view: View, groups: Iterable[bytes]) -> Iterator[Lane]:
    """The groups as they are, each at one moment; what a key of a wrong type does not tell is as if it were absent."""
    for replies in reader.at_once([_of_lane(view, group) for group in groups]):
        jobs, limit, busy, paused, ring = (None if isinstance(reply, ErrorReply) else reply for reply in replies)
        yield Lane(jobs or 0, limit, busy, paused == 1, len(ring or ()))


def _of_lane(view: View, group: bytes) -> list[Command]:
    base = view.base
    return [
        ("ZCARD", base + lane(group)),
        ("HGET", base + b"glimit", group),
        ("HGET", base + b"gactive", group),
        ("SISMEMBER", base + b"paused", group),
        ("LPOS", base + b"ring", group, "COUNT", 2),
    ]


def _kin(reader: Reader, view: View, parents: Sequence[bytes]) -> dict[bytes, dict[bytes, Held]]:
    """The keys of each parent, and its places in the sets, as a verb that ends its child finds them."""
    blocks = [_of_parent(view, parent) for parent in parents]
    return {
        parent: _held(view, parent, replies) for parent, replies in zip(parents, reader.at_once(blocks), strict=True)
    }


def _of_parent(view: View, parent: bytes) -> list[Command]:
    return [
        ("TYPE", view.row(parent)),
        ("HMGET", view.row(parent), "state", "attempts"),
        ("GET", view.base + flow(parent, b"dependencies")),
        *(("TYPE", view.base + flow(parent, part)) for part in FLOW),
        *(("ZSCORE", view.base + name, parent) for name in SETS),
    ]


def _held(view: View, parent: bytes, replies: list[Any]) -> dict[bytes, Held]:
    kind, fields, count, *rest = replies
    held: dict[bytes, Held] = {}
    if kind == b"hash":
        named = zip((b"state", b"attempts"), fields, strict=True)
        held[view.row(parent)] = {b"payload": b"", **{name: value for name, value in named if value is not None}}
    elif kind != b"none":
        held[view.row(parent)] = other(kind)
    for part, found in zip(FLOW, rest[: len(FLOW)], strict=True):
        counts = part == b"dependencies" and isinstance(count, bytes)
        if found != b"none":
            held[view.base + flow(parent, part)] = count if counts else other(found)
    for name, score in zip(SETS, rest[len(FLOW) :], strict=True):
        if isinstance(score, bytes):
            held[view.base + name] = Zset({parent: float(score)})
    return held


def wire_version(reader: Reader) -> tuple[bytes, Held] | None:
    """The wire version, with the type of its key, as every native verb reads it; None where the fence passes.

    Where another node of a cluster holds the key, it does.
    """
    try:
        (replies,) = reader.at_once([[("TYPE", keys.VERSION_KEY), ("GET", keys.VERSION_KEY)]])
    except Moved:
        return None
    kind, version = replies
    if kind == b"none" or version == keys.VERSION:
        return None
    return kind, version if isinstance(version, bytes) else other(kind)
