"""What the scripts check, and how they take their numbers: each at the place where it is used (SPEC 4)."""

from emqlab.parity.model.commands import Keys, Refused, hget
from emqlab.parity.model.numbers import limit, tonumber
from emqlab.parity.model.world import World

SCRIPT_ERROR = b"ERR"


def number(text: bytes) -> float:
    """A number at the place where it is used. Raises Refused where Lua would use a nil."""
    found = tonumber(text)
    if found is None:
        raise Refused(SCRIPT_ERROR)
    return found


def count(text: bytes) -> int:
    """A limit as ZRANGEBYSCORE reads it. Raises Refused for a nil, and for what is no integer to the server."""
    found = limit(number(text))
    if found is None:
        raise Refused(b"ERR value is not an integer or out of range")
    return found


def score(world: World, mode: bytes, value: bytes) -> float:
    """When a delayed job is due. Raises Refused where Lua would use a nil."""
    return world.now_ms + number(value) if mode == b"in" else number(value)


def check_kind(job_id: bytes) -> None:
    """Raises Refused for an id that is no job's."""
    if job_id[:3] != b"JOB":
        raise Refused(b"EMQKIND job id must be JOB-namespaced")


def check_token(keys: Keys, row: bytes, token: bytes, verb: bytes) -> bytes | None:
    """The row's ``attempts``, None without it. Raises Refused for another token and for a row that is no hash."""
    attempts = hget(keys, row, b"attempts")
    if attempts is not None and attempts != token:
        raise Refused(b"EMQSTALE " + verb + b" token mismatch")
    return attempts


def reads_paused(keys: Keys, base: bytes) -> bool:
    """What the host makes of the pause flag before it sends a claim: an error reply is a pause too."""
    try:
        return hget(keys, base + b"meta", b"paused") is not None
    except Refused:
        return True
