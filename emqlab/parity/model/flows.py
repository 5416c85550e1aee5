"""A parent and its children: the script that makes them, and what a child's end tells the parent (SPEC 4.4)."""

from emqlab.parity.model.commands import Keys, Refused, decr, hget, hset, zadd, zrem
from emqlab.parity.model.script_rules import check_kind
from emqlab.parity.model.world import Given, Reply, World


def flow_add(world: World, base: bytes, given: Given) -> Reply:
    """A parent that waits and its children in pending, or 0 when one of the ids has a row."""
    keys, parent, children = world.keys, given["id"], given["children"]
    ids = [parent, *(child for child, _ in children)]
    for job_id in ids:
        check_kind(job_id)
    if any(base + b"job:" + job_id in keys for job_id in ids):
        return 0
    row = base + b"job:" + parent
    hset(keys, row, {b"state": b"awaiting_children", b"attempts": b"0", b"payload": given["payload"]})
    keys[row + b":dependencies"] = b"%d" % len(children)
    link = {b"parent": parent} | ({b"parent_policy": given["policy"]} if given["policy"] else {})
    for child, payload in children:
        fields = {b"state": b"pending", b"attempts": b"0", b"payload": payload}
        hset(keys, base + b"job:" + child, fields | link)
        zadd(keys, base + b"pending", 0.0, child)
    return 1


def read_parent(keys: Keys, row: bytes) -> tuple[bytes | None, bytes | None]:
    """What the host reads in a row before it sends a step: its parent, None without one, and the policy.

    An empty parent is none, and an error of this read is left to the script.
    """
    try:
        return hget(keys, row, b"parent") or None, hget(keys, row, b"parent_policy")
    except Refused:
        return None, None


def tell_done(keys: Keys, base: bytes, parent: bytes, child: bytes, result: bytes) -> None:
    """Counts a finished child and keeps its result; the last one frees the parent. Raises Refused on the way."""
    row = base + b"job:" + parent
    left = decr(keys, row + b":dependencies")
    hset(keys, row + b":processed", {child: result})
    _release(keys, base, parent, left)


def tell_dead(keys: Keys, base: bytes, parent: bytes, policy: bytes | None, child: bytes, error: bytes) -> None:
    """A dead child kills its parent, or under ``id`` counts as an unsuccessful one. Raises Refused on the way."""
    row = base + b"job:" + parent
    if policy == b"id":
        hset(keys, row + b":unsuccessful", {child: error})
        _release(keys, base, parent, decr(keys, row + b":dependencies"))
        return
    hset(keys, row + b":failed", {child: error})
    hset(keys, row, {b"state": b"dead"})
    zadd(keys, base + b"dead", 0.0, parent)
    zrem(keys, base + b"pending", parent)


def _release(keys: Keys, base: bytes, parent: bytes, left: int) -> None:
    """Sends a parent that waits for nobody to pending, whatever has become of it. Raises Refused on the way."""
    if left <= 0:
        zadd(keys, base + b"pending", 0.0, parent)
        hset(keys, base + b"job:" + parent, {b"state": b"pending"})
