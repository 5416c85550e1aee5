"""A snapshot as the recording's state: rows, sets, metrics and the rest, all as text (stage/FRAMES.md, section 1)."""

import json
from typing import Any

from emqlab import keys
from emqlab.observe.snapshot import Key, Snapshot
from emqlab.observe.words import shown
from emqlab.replies import ErrorReply, NotSent

SETS = ("pending", "active", "schedule", "dead")

#: ``rows``, ``sets``, ``metrics``, ``other``: plain dicts of texts.
State = dict[str, dict[str, Any]]


def state_of(snapshot: Snapshot, queue: bytes) -> State:
    """The whole state. The four sets are always there; lanes, metrics and other keys when they exist."""
    state = empty()
    for name in sorted({*snapshot, *(keys.base(queue) + one.encode() for one in SETS)}):
        for group, held in part_of(name, snapshot.get(name), queue).items():
            state[group] |= held
    state["sets"] = {name: state["sets"][name] for name in [*SETS, *sorted(state["sets"].keys() - {*SETS})]}
    return state


def empty() -> State:
    """A state without a key."""
    return {"rows": {}, "sets": {}, "metrics": {}, "other": {}}


def part_of(name: bytes, key: Key | None, queue: bytes) -> State:
    """One key's part of the state; an absent one of the four sets is an empty set there."""
    base = keys.base(queue)
    short = name[len(base) :] if name.startswith(base) else b""
    label = shown(short or name)
    if short.startswith(b"job:") and not short.endswith(keys.FLOW_ENDS):
        return {"rows": {} if key is None else {shown(short[4:]): _fields(key)}}
    if label in SETS or (short.startswith(b"g:") and short.endswith(b":pending")):
        if key is None:
            return {"sets": {label: {}} if label in SETS else {}}
        return {"sets": {label: _texts(key.value) if key.type == "zset" else key.type}}
    if key is None:
        return {}
    if short.startswith(b"metrics:"):
        return _metric(label, key)
    return {"other": _other(label, key)}


def _fields(key: Key) -> Any:
    return _texts(key.value) if key.type == "hash" else key.type


def _texts(pairs: Any) -> dict[str, str]:
    return {shown(field): shown(value) for field, value in pairs}


def _metric(label: str, key: Key) -> State:
    """``count`` is the metric; any other field is an other key's. A key of another type is named by its type."""
    name = label.removeprefix("metrics:")
    if key.type != "hash":
        return {"metrics": {name: key.type}}
    fields = _texts(key.value)
    count = fields.pop("count", None)
    part: State = {"metrics": {} if count is None else {name: count}}
    if fields:
        part["other"] = {f"{label} {field}": value for field, value in fields.items()}
    return part


def _other(label: str, key: Key) -> dict[str, str]:
    if isinstance(key.value, bytes):
        return {label: shown(key.value)}
    if key.type in ("hash", "zset"):
        return {f"{label} {field}": value for field, value in _texts(key.value).items()}
    if key.type in ("list", "set"):
        return {label: json.dumps([shown(one) for one in key.value if isinstance(one, bytes)], ensure_ascii=False)}
    return {label: key.type}


# -- patches


def state_patch(before: State, after: State) -> State:
    """The JSON merge patch (RFC 7396) from one state, or part of one, to another; empty when nothing changed."""
    patches = {group: patch_of(before.get(group, {}), after.get(group, {})) for group in empty()}
    return {group: patch for group, patch in patches.items() if patch}


def patch_of(before: Any, after: Any) -> Any:
    """The merge patch from one value to another, texts and objects alike."""
    if not isinstance(after, dict):
        return after
    old = before if isinstance(before, dict) else {}
    patch: dict[str, Any] = {name: None for name in old if name not in after}
    for name, value in after.items():
        if name not in old:
            patch[name] = value
        elif old[name] != value:
            patch[name] = patch_of(old[name], value)
    return patch


# -- replies


def reply_of(reply: Any) -> dict[str, Any]:
    """A reply as a recording writes it: ``{"ok": …}``, ``{"error": …}``, ``{"unsupported": …}``; bytes as text."""
    if isinstance(reply, ErrorReply):
        return {"error": reply.text}
    if isinstance(reply, NotSent):
        return {"unsupported": reply.verb}
    return {"ok": _plain(reply)}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return shown(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, ErrorReply):
        return value.text
    return value if value is None or isinstance(value, int) else str(value)
