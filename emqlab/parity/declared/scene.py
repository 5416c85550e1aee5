"""One call about to be run from one world: what the conditions of the divergences look at, and change nothing of."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, cast

from emqlab import keys as names
from emqlab.parity.model.numbers import LARGEST, stored_integer
from emqlab.parity.model.world import Held, Values, World, Zset

#: From here on a Lua double is no number that ZRANGEBYSCORE takes as a count.
NO_COUNT: Final = 2.0**63

#: What becomes of one id of a sweep, a promotion or a heartbeat.
GHOST, BAD, LANE, EXEMPT, BACK, DIES = "ghost", "bad", "lane", "exempt", "back", "dies"
HELD, STALE, UNLEASED = "held", "stale", "unleased"


class Scene:
    """The world, the call, and what both executors find when they begin. Values are bytes, ``pairs`` apart."""

    def __init__(self, world: World, queue: bytes, verb: str, values: Values) -> None:
        self.keys = world.keys
        self.now_ms = world.now_ms
        self.run_id = world.run_id
        self.queue = queue
        self.base = names.base(queue)
        self.verb = verb
        self.values = cast("dict[str, Any]", values)

    def held(self, name: bytes) -> Held | None:
        """What the queue's key ``name`` holds."""
        return self.keys.get(self.base + name)

    def no_zset(self, name: bytes) -> bool:
        """Whether the queue's key ``name`` holds something that is no sorted set."""
        found = self.keys.get(self.base + name)
        return found is not None and type(found) is not Zset

    def inside(self, name: bytes, job_id: bytes) -> bool:
        """Whether the sorted set ``name`` has the id; False too when it is no sorted set."""
        found = self.keys.get(self.base + name)
        return type(found) is Zset and job_id in found

    def row_of(self, job_id: bytes) -> Held | None:
        """What is at the key of a job's row."""
        return self.keys.get(self.base + b"job:" + job_id)

    @cached_property
    def job_id(self) -> bytes:
        """The job the call is about: the id it names, or the head of the line."""
        return self.line[0] if self.verb == "claim" else cast("bytes", self.values["id"])

    @cached_property
    def row(self) -> Any:
        """What is at that job's row: a dict when it is a hash, None without one."""
        return self.keys.get(self.base + b"job:" + self.job_id)

    @cached_property
    def line(self) -> Sequence[bytes]:
        """The id that a claim would pop, if there is one."""
        found = self.held(b"pending")
        if type(found) is not Zset:
            return ()
        return (min(zip(found.values(), found, strict=True))[1],)

    @cached_property
    def due(self) -> list[tuple[bytes, Any]]:
        """The ids that a sweep or a promotion takes on, in order, each with what is at its row."""
        sweep = self.verb == "stalled_check"
        found = self.held(b"active" if sweep else b"schedule")
        if type(found) is not Zset:
            return []
        ready = sorted((score, member) for member, score in found.items() if score <= self.now_ms)
        most = int(self.values["limit" if sweep else "batch"])
        return [(member, self.row_of(member)) for _, member in ready[:most]]

    @cached_property
    def fates(self) -> list[str]:
        """What becomes natively of each of those ids, up to the first that refuses the whole call."""
        out: list[str] = []
        for _, row in self.due:
            out.append(self._fate(row))
            if out[-1] in (LANE, BAD):
                break
        return out

    def _fate(self, row: Any) -> str:
        if row is None:
            return GHOST
        if type(row) is not dict:
            return BAD
        if b"group" in row:
            return LANE
        if self.verb == "promote":
            return BACK
        if row.get(b"lease_epoch") != self.run_id:
            return EXEMPT
        stalled = next_count(row.get(b"stalled"))
        if stalled is None:
            return BAD
        return DIES if stalled >= int(self.values["max_stalled"]) else BACK

    @cached_property
    def pairs(self) -> list[tuple[str, Any]]:
        """What becomes natively of each pair of a heartbeat, with its row, up to the first that refuses the call."""
        out: list[tuple[str, Any]] = []
        for job_id, token in self.values["pairs"]:
            row = self.row_of(job_id)
            out.append((self._pair(job_id, token, row), row))
            if out[-1][0] == BAD:
                break
        return out

    def _pair(self, job_id: bytes, token: bytes, row: Any) -> str:
        if row is None:
            return STALE
        if type(row) is not dict:
            return BAD
        if row.get(b"attempts") != token:
            return STALE
        if b"group" in row or b"parent" in row:
            return LANE
        if self.no_zset(b"active"):
            return BAD
        return HELD if self.inside(b"active", job_id) else UNLEASED


def bad_count(held: Any, by: int) -> bool:
    """Whether HINCRBY by ``by`` refuses the field ``count`` of what a metrics key holds, or the key itself."""
    if held is None:
        return False
    return type(held) is not dict or next_count(held.get(b"count"), by) is None


def next_count(stored: bytes | None, by: int = 1) -> int | None:
    """What HINCRBY by ``by`` makes of a field; None where it refuses."""
    if stored is None:
        return by
    number = stored_integer(stored)
    return None if number is None or number > LARGEST - by else number + by


def beyond(scene: Scene, value: str) -> bool:
    """Whether that many ms from now is no time of 64 bits."""
    return scene.now_ms + int(scene.values[value]) > LARGEST


def rounded(scene: Scene, value: str) -> bool:
    """Whether a sum of doubles, as Lua makes it, is another score than the exact sum that many ms from now."""
    added = int(scene.values[value])
    return float(scene.now_ms) + float(added) != float(scene.now_ms + added)
