"""What a verb meets besides the job itself: keys of a wrong type, counters, lanes' slots, the pause, the fence."""

from collections.abc import Iterable
from dataclasses import replace

from emqlab import keys
from emqlab.audit.layout import KNOWN, METRICS, SLOTS, lane, place
from emqlab.audit.reading import Moved, Reader
from emqlab.audit.row import View
from emqlab.audit.voices import other
from emqlab.parity.model import Held


def surrounded(reader: Reader, view: View, groups: Iterable[bytes]) -> View:
    """The view with what is around a job as it is now; ``groups`` are those whose lanes there may be."""
    base = view.base
    names = (*KNOWN, *map(lane, sorted(groups)))
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
    for name in SLOTS:
        if base + name not in around and (fields := dict(reader.fields(base + name))):
            around[base + name] = fields
    version = wire_version(reader)
    if version is not None:
        around[keys.VERSION_KEY] = version[1]
    return replace(view, around=around, paused=isinstance(paused, bytes))


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
