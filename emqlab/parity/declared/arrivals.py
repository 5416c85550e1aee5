"""Conditions of enqueue, schedule, claim and reprocess: 2, 3, 8, 24 and their part of 5 and 23 (SPEC 6)."""

from emqlab.parity.declared.scene import Scene, beyond, next_count, rounded


def nothing_new(scene: Scene) -> bool:
    """Another kind of id, or a row that is there: both executors say so."""
    return scene.job_id[:3] != b"JOB" or scene.row is not None


def line_is_bad(scene: Scene) -> bool:
    """The id has no line to go to: the script has made the row by then."""
    return scene.no_zset(b"pending")


def due_is_bad(scene: Scene) -> bool:
    """A due time of more than 64 bits, or no sorted set to put it in."""
    return scene.no_zset(b"schedule") or (scene.values["mode"] == b"in" and beyond(scene, "value"))


def due_is_rounded(scene: Scene) -> bool:
    """A sum that Lua rounds twice."""
    return scene.values["mode"] == b"in" and rounded(scene, "value")


def paused(scene: Scene) -> bool:
    """A pause that both read."""
    meta = scene.held(b"meta")
    return type(meta) is dict and b"paused" in meta


def meta_is_bad(scene: Scene) -> bool:
    """The script's host takes an error for a pause."""
    meta = scene.held(b"meta")
    return meta is not None and type(meta) is not dict


def nothing_to_lease(scene: Scene) -> bool:
    """No line, a line of a wrong type, or a ghost at its head, which both spend."""
    return not scene.line or scene.row is None


def head_is_bad(scene: Scene) -> bool:
    """The row is no hash, its attempts no counter, or ``active`` no sorted set."""
    return type(scene.row) is not dict or next_count(scene.row.get(b"attempts")) is None or scene.no_zset(b"active")


def lease_is_beyond(scene: Scene) -> bool:
    """A deadline of more than 64 bits."""
    return beyond(scene, "lease_ms")


def lease_is_rounded(scene: Scene) -> bool:
    """A deadline that Lua rounds twice."""
    return rounded(scene, "lease_ms")


def unstamped(scene: Scene) -> bool:
    """The row doesn't carry this process's stamp already."""
    return bool(scene.row.get(b"lease_epoch") != scene.run_id)


def token_is_rounded(scene: Scene) -> bool:
    """A new token that no double holds."""
    token = next_count(scene.row.get(b"attempts"))
    return token is not None and int(float(token)) != token


def not_dead(scene: Scene) -> bool:
    """No row, a bad ``dead``, or an id that is not in it: both say so and write nothing."""
    return scene.row is None or not scene.inside(b"dead", scene.job_id)


def revival_is_bad(scene: Scene) -> bool:
    """The row is no hash, or there is no line to go to: the script has taken the id out by then."""
    return type(scene.row) is not dict or scene.no_zset(b"pending")
