"""The pause flag: one plain command, the same on both executors."""

from emqlab.parity.model.commands import hdel, hget, hset
from emqlab.parity.model.world import Given, Reply, World


def pause(world: World, base: bytes, given: Given) -> Reply:
    """HSET: claims answer empty from now on; 1 the first time. Raises Refused when meta is no hash."""
    fresh = hget(world.keys, base + b"meta", b"paused") is None
    hset(world.keys, base + b"meta", {b"paused": b"1"})
    return int(fresh)


def resume(world: World, base: bytes, given: Given) -> Reply:
    """HDEL: claims go on; 1 if they were paused. Raises Refused when meta is no hash."""
    return int(hdel(world.keys, base + b"meta", b"paused"))
