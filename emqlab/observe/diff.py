"""What changed between two snapshots, key by key and field by field."""

from dataclasses import dataclass

from emqlab.observe.snapshot import Key, Snapshot


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``field`` is a hash field, a member, or None for the key as a whole; None = absent."""

    key: bytes
    field: bytes | None
    before: bytes | None
    after: bytes | None


def changes(before: Snapshot, after: Snapshot) -> list[Change]:
    """All differences, sorted by key and field; an unchanged key is not mentioned."""
    out: list[Change] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            out.extend(_key_changes(name, old, new))
    return out


def _key_changes(name: bytes, old: Key | None, new: Key | None) -> list[Change]:
    out = []
    if old is not None and new is not None and old.type != new.type:
        out.append(Change(name, None, old.type.encode(), new.type.encode()))
    if old is not None and new is not None and old.ttl_ms != new.ttl_ms:
        out.append(Change(name, b"(ttl)", b"%d" % old.ttl_ms, b"%d" % new.ttl_ms))
    was, now = _parts(old), _parts(new)
    for part in sorted({*was, *now}):
        if was.get(part) != now.get(part):
            out.append(Change(name, part or None, was.get(part), now.get(part)))
    return out


def _parts(key: Key | None) -> dict[bytes, bytes]:
    """A key's value as named parts; a list's items are named by their place."""
    if key is None:
        return {}
    if isinstance(key.value, bytes):
        return {b"": key.value}
    parts = {}
    for place, item in enumerate(key.value):
        if isinstance(item, tuple):
            parts[item[0]] = item[1]
        elif key.type == "list":
            parts[b"%d" % place] = item
        else:
            parts[item] = b"member"
    return parts
