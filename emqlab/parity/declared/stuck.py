"""Where a script stops at a key of the wrong type with nothing changed: a native WRONGTYPE is then the same answer."""

from collections.abc import Callable

from emqlab.parity.declared.arguments import no_batch, no_limit
from emqlab.parity.declared.scene import Scene
from emqlab.parity.model.numbers import tonumber
from emqlab.parity.model.world import Zset


def stuck(scene: Scene) -> bool:
    """Whether the script of this call, its arguments being sound, answers WRONGTYPE and leaves all as it was."""
    return _STUCK[scene.verb](scene)


def never(scene: Scene) -> bool:
    """Its first write succeeds, and no read stands before it."""
    return False


def at_the_line(scene: Scene) -> bool:
    """claim: no pause is read, and there is no line to pop from."""
    meta = scene.held(b"meta")
    open_ = meta is None or (type(meta) is dict and b"paused" not in meta)
    return open_ and scene.no_zset(b"pending")


def at_completion(scene: Scene) -> bool:
    """complete: at the row, or where it takes the id out; the row itself goes without a question."""
    return _no_hash(scene) or (_current(scene) and letting_go(scene) is None)


def at_failure(scene: Scene) -> bool:
    """fail: there too, and further on if all that it writes is there already."""
    if _no_hash(scene):
        return True
    if not _current(scene):
        return False
    untouched = letting_go(scene)
    if untouched is None:
        return True
    row, values = scene.row, scene.values
    attempts = tonumber(row[b"attempts"])
    if not untouched or row.get(b"last_error") != values["error"] or attempts is None:
        return False
    if not attempts >= float(int(values["max_attempts"])):
        return row.get(b"state") == b"scheduled" and scene.no_zset(b"schedule")
    if row.get(b"state") != b"dead":
        return False
    dead, metrics = scene.held(b"dead"), scene.held(b"metrics:failed")
    if dead is not None and type(dead) is not Zset:
        return True
    listed = dead is not None and dead.get(scene.job_id) == 0
    return listed and metrics is not None and type(metrics) is not dict


def letting_go(scene: Scene) -> bool | None:
    """How complete and fail take the id out of its set: True if that changes nothing, None if they stop there."""
    job_id, group = scene.job_id, scene.row.get(b"group")
    if scene.no_zset(b"active"):
        return None
    if scene.inside(b"active", job_id):
        return False
    lane = b"pending" if group is None else b"g:" + group + b":pending"
    if scene.no_zset(lane):
        return None
    if scene.inside(lane, job_id):
        return False
    if group is None or scene.held(lane) is not None:
        return True
    ring = scene.held(b"ring")
    if ring is not None and type(ring) is not list:
        return None
    return ring is None or group not in ring


def at_delay(scene: Scene) -> bool:
    """delay: at the row, at ``active``, or at ``schedule`` when the job is said to be there and is not leased."""
    if scene.job_id[:3] != b"JOB":
        return False
    if _no_hash(scene):
        return True
    if not _current(scene):
        return False
    if scene.no_zset(b"active"):
        return True
    away = not scene.inside(b"active", scene.job_id) and scene.row.get(b"state") == b"scheduled"
    return away and scene.no_zset(b"schedule")


def at_extend(scene: Scene) -> bool:
    """extend: at the row, or at ``active``."""
    return _no_hash(scene) or (_current(scene) and scene.no_zset(b"active"))


def at_a_pair(scene: Scene) -> bool:
    """extends: at a row or at ``active``, every lease before it being that long already."""
    active = scene.held(b"active")
    deadline = float(scene.now_ms) + float(int(scene.values["lease_ms"]))
    for job_id, token in scene.values["pairs"]:
        row = scene.row_of(job_id)
        if row is None:
            continue
        if type(row) is not dict:
            return True
        if row.get(b"attempts") != token:
            continue
        if active is not None and type(active) is not Zset:
            return True
        if active is None or active.get(job_id) != deadline:
            return False
    return False


def at_reprocess(scene: Scene) -> bool:
    """reprocess: at ``dead``."""
    return scene.row is not None and scene.no_zset(b"dead")


def at_the_schedule(scene: Scene) -> bool:
    """promote: at ``schedule``; an id of it is taken out before anything else is looked at."""
    return not no_batch(scene) and scene.no_zset(b"schedule")


def at_the_leases(scene: Scene) -> bool:
    """The sweep: at ``active``, likewise."""
    return not no_limit(scene) and scene.no_zset(b"active")


def _no_hash(scene: Scene) -> bool:
    return scene.row is not None and type(scene.row) is not dict


def _current(scene: Scene) -> bool:
    return scene.row is not None and bool(scene.row.get(b"attempts") == scene.values["token"])


_STUCK: dict[str, Callable[[Scene], bool]] = {
    "enqueue": never,
    "schedule": never,
    "claim": at_the_line,
    "complete": at_completion,
    "fail": at_failure,
    "delay": at_delay,
    "extend": at_extend,
    "extends": at_a_pair,
    "promote": at_the_schedule,
    "stalled_check": at_the_leases,
    "reprocess": at_reprocess,
}
