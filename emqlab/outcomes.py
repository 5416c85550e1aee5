"""What a verb answers, as values (SPEC 11)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease on one job. ``payload`` is None when the row has none; ``token`` fences the later verbs."""

    id: bytes
    payload: bytes | None
    token: int


@dataclass(frozen=True, slots=True)
class LaneClaimed(Claimed):
    """A lease on one job of a lane; ``group`` is the lane's name."""

    group: bytes


@dataclass(frozen=True, slots=True)
class Flow:
    """A parent's id and those of the children that it waits for."""

    id: bytes
    children: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A failed job that waits for its next try."""


@dataclass(frozen=True, slots=True)
class Dead:
    """A failed job whose budget is spent: it is a dead letter now."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep did with the expired leases it selected: ids, in the order of their deadlines."""

    recovered: tuple[bytes, ...]
    dead: tuple[bytes, ...]
