"""Conditions of the verbs that present a token: 8 to 14 and their part of 23 (SPEC 6)."""

from emqlab.parity.declared.scene import BAD, HELD, LANE, UNLEASED, Scene, bad_count, beyond, next_count, rounded
from emqlab.parity.declared.stuck import stuck
from emqlab.parity.model.numbers import tonumber


def other_kind(scene: Scene) -> bool:
    """Not a job's id: both say so."""
    return scene.job_id[:3] != b"JOB"


def not_current(scene: Scene) -> bool:
    """No row, one that is no hash, or another token: both say so and write nothing."""
    row = scene.row
    return row is None or type(row) is not dict or row.get(b"attempts") != scene.values["token"]


def bound(scene: Scene) -> bool:
    """A row of a lane or a flow."""
    return b"group" in scene.row or b"parent" in scene.row


def leases_are_bad(scene: Scene) -> bool:
    """``active`` is no sorted set: both stop there first."""
    return scene.no_zset(b"active")


def unleased(scene: Scene) -> bool:
    """The id is not in ``active``."""
    return not scene.inside(b"active", scene.job_id)


# ---------------------------------------------------------------- complete


def line_is_asked_in_vain(scene: Scene) -> bool:
    """Not leased, and ``pending`` is no sorted set: both stop there."""
    return unleased(scene) and scene.no_zset(b"pending")


def in_neither(scene: Scene) -> bool:
    """Not leased, and not waiting either."""
    return unleased(scene) and not scene.inside(b"pending", scene.job_id)


def completions_are_bad(scene: Scene) -> bool:
    """No completion can be counted: the script has deleted the row by then."""
    return bad_count(scene.held(b"metrics:completed"), 1)


# ---------------------------------------------------------------- fail


def graves_are_bad_alike(scene: Scene) -> bool:
    """``dead`` is no sorted set, and the script stops at a bad key too, with nothing changed."""
    return scene.no_zset(b"dead") and stuck(scene)


def graves_are_bad(scene: Scene) -> bool:
    """``dead`` is no sorted set."""
    return scene.no_zset(b"dead")


def in_its_grave(scene: Scene) -> bool:
    """The job is a dead letter already."""
    return scene.inside(b"dead", scene.job_id)


def failures_are_bad(scene: Scene) -> bool:
    """``failures`` is no counter."""
    return next_count(scene.row.get(b"failures")) is None


def spent(scene: Scene) -> bool:
    """The native verdict: this failure reaches the cap."""
    failures = next_count(scene.row.get(b"failures"))
    return failures is not None and failures >= int(scene.values["max_attempts"])


def failure_is_bad(scene: Scene) -> bool:
    """What the native verdict writes to can't be written: the deaths, or the schedule, or a due time."""
    if spent(scene):
        return bad_count(scene.held(b"metrics:failed"), 1)
    return scene.no_zset(b"schedule") or beyond(scene, "delay_ms")


def counted(scene: Scene) -> bool:
    """A failure is written."""
    return True


def failure_stops_short(scene: Scene) -> bool:
    """The script's own verdict can't be made or written, or both schedule and Lua rounds the due time twice."""
    attempts = tonumber(scene.row[b"attempts"])
    if attempts is None:
        return True
    if attempts >= float(int(scene.values["max_attempts"])):
        return bad_count(scene.held(b"metrics:failed"), 1)
    return scene.no_zset(b"schedule") or (not spent(scene) and rounded(scene, "delay_ms"))


# ---------------------------------------------------------------- extends


def heartbeat_refused_alike(scene: Scene) -> bool:
    """A pair that refuses the call, where the script stops too, with nothing changed."""
    return _has(scene, BAD) and stuck(scene)


def heartbeat_is_bad(scene: Scene) -> bool:
    """A pair that refuses the call, or a deadline of more than 64 bits for one that is good."""
    return _has(scene, BAD) or (_has(scene, HELD) and beyond(scene, "lease_ms"))


def some_bound(scene: Scene) -> bool:
    """A pair of a lane or a flow row is listed natively."""
    return _has(scene, LANE)


def some_unleased(scene: Scene) -> bool:
    """A pair that is not in ``active`` is listed natively."""
    return _has(scene, UNLEASED)


def some_unstamped(scene: Scene) -> bool:
    """A good pair whose row doesn't carry this process's stamp already."""
    return any(fate == HELD and row.get(b"lease_epoch") != scene.run_id for fate, row in scene.pairs)


def some_rounded(scene: Scene) -> bool:
    """A good pair whose deadline Lua rounds twice."""
    return _has(scene, HELD) and rounded(scene, "lease_ms")


def _has(scene: Scene, fate: str) -> bool:
    return any(found == fate for found, _ in scene.pairs)
