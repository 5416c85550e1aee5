"""The third voice: both executors in plain containers, written from the specification alone."""

from emqlab.parity.model.native import native
from emqlab.parity.model.scripted import scripted
from emqlab.parity.model.world import Error, Held, Reply, Unsupported, Values, World, Zset

__all__ = ["Error", "Held", "Reply", "Unsupported", "Values", "World", "Zset", "native", "scripted"]
