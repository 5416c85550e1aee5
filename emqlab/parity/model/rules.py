"""What the native verbs check before they write: arguments, fence, kind, holder, lease, time (SPEC 5.1)."""

from typing import Any

from emqlab import keys as names
from emqlab.parity.model.commands import WRONGTYPE, Keys, Refused, hget, zscore
from emqlab.parity.model.numbers import LARGEST, whole_number
from emqlab.parity.model.world import World

_LEAST = {"lease_ms": 1, "max_attempts": 1, "max_stalled": 1, "limit": 1, "batch": 1, "delay_ms": 0, "value": 0}


def argument(name: str, text: Any) -> int:
    """A number out of the arguments; for a mode, whether the value counts from now. Raises Refused for a bad one."""
    if name == "mode":
        if text not in (b"in", b"at"):
            raise Refused(b"EMQARGS mode must be in or at")
        return int(text == b"in")
    least = _LEAST[name]
    found = whole_number(text, least)
    if found is None:
        raise Refused(b"EMQARGS %b must be a whole number from %d to %d" % (name.encode(), least, LARGEST))
    return found


def check_fence(keys: Keys) -> None:
    """Raises Refused under a wire version that is not ours."""
    version = keys.get(names.VERSION_KEY)
    if version is None or version == names.VERSION:
        return
    raise Refused(b"EMQFENCE wire version " + version if type(version) is bytes else WRONGTYPE)


def check_kind(job_id: bytes) -> None:
    """Raises Refused for an id that is no job's."""
    if job_id[:3] != b"JOB":
        raise Refused(b"EMQKIND job id must be JOB-namespaced")


def holds(keys: Keys, row: bytes, token: bytes, verb: bytes) -> bool:
    """Whether there is a row, the caller's and flat. Raises Refused for another token, a lane row and a flow row."""
    attempts = hget(keys, row, b"attempts")
    if attempts is None:
        return False
    if attempts != token:
        raise Refused(b"EMQSTALE " + verb + b" token mismatch")
    if hget(keys, row, b"group") is not None:
        raise Refused(b"EMQLANE lane row")
    if hget(keys, row, b"parent") is not None:
        raise Refused(b"EMQFLOW flow row")
    return True


def check_active(keys: Keys, base: bytes, job_id: bytes) -> None:
    """Raises Refused for an id without a lease."""
    if zscore(keys, base + b"active", job_id) is None:
        raise Refused(b"EMQSTATE not active")


def later(world: World, name: bytes, by: int) -> float:
    """A time ``by`` ms from now, as a score. Raises Refused beyond 64 bits."""
    if world.now_ms + by > LARGEST:
        raise Refused(b"EMQARGS " + name + b" goes beyond the 64 bits of a time in milliseconds")
    return float(world.now_ms + by)
