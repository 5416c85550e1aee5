"""Conditions of the sweep and of promote: 15 to 18, 22 and their part of 23 and 24 (SPEC 6)."""

from emqlab.parity.declared.scene import BACK, BAD, DIES, EXEMPT, GHOST, LANE, Scene, bad_count, next_count


def nothing_due(scene: Scene) -> bool:
    """Nobody is looked at; a set of a wrong type stops both."""
    return not scene.due


def some_ghost(scene: Scene) -> bool:
    """An id without a row."""
    return GHOST in scene.fates


def some_exempt(scene: Scene) -> bool:
    """A lease without this process's stamp."""
    return EXEMPT in scene.fates


def first_a_lane_row(scene: Scene) -> bool:
    """The first that the native verb refuses is a row of a lane."""
    return scene.fates[-1] == LANE


def first_a_bad_row(scene: Scene) -> bool:
    """The first that it refuses is no hash, or has no counter in ``stalled``."""
    return scene.fates[-1] == BAD


def targets_are_bad(scene: Scene) -> bool:
    """A set or a counter that the native plan writes to can't be written."""
    fates = scene.fates
    if scene.no_zset(b"pending") and (EXEMPT in fates or BACK in fates):
        return True
    deaths = fates.count(DIES)
    return deaths > 0 and (scene.no_zset(b"dead") or bad_count(scene.held(b"metrics:failed"), deaths))


def stalls_are_rounded(scene: Scene) -> bool:
    """A count of stalls that is on the other side of the cap as a double."""
    most = int(scene.values["max_stalled"])
    for (_, row), fate in zip(scene.due, scene.fates, strict=True):
        if fate in (DIES, BACK):
            stalled = next_count(row.get(b"stalled")) or 0
            if (float(stalled) >= float(most)) != (stalled >= most):
                return True
    return False
