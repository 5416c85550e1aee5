"""Arguments that the native verbs refuse and the scripts take as Lua does: part of 5, 19 and 23 (SPEC 5.1, rule 9)."""

from emqlab.parity.declared.scene import NO_COUNT, Scene
from emqlab.parity.model.numbers import whole_number


def nameless(scene: Scene) -> bool:
    """A queue without a name has no layout."""
    return not scene.queue


def odd_lease(scene: Scene) -> bool:
    """A lease that is no plain number of ms from 1."""
    return nameless(scene) or whole_number(scene.values["lease_ms"], 1) is None


def odd_pairs(scene: Scene) -> bool:
    """A heartbeat for nobody, or with such a lease."""
    return odd_lease(scene) or not scene.values["pairs"]


def odd_due(scene: Scene) -> bool:
    """A mode that is neither ``in`` nor ``at``, or a value that is no plain number from 0."""
    return (
        nameless(scene) or scene.values["mode"] not in (b"in", b"at") or whole_number(scene.values["value"], 0) is None
    )


def odd_budget(scene: Scene) -> bool:
    """A delay that is no plain number from 0, or a cap that is none from 1."""
    return (
        nameless(scene)
        or whole_number(scene.values["delay_ms"], 0) is None
        or whole_number(scene.values["max_attempts"], 1) is None
    )


def odd_caps(scene: Scene) -> bool:
    """A stall cap or a limit that is no plain number from 1."""
    return (
        nameless(scene)
        or whole_number(scene.values["max_stalled"], 1) is None
        or whole_number(scene.values["limit"], 1) is None
    )


def odd_batch(scene: Scene) -> bool:
    """A batch that is no plain number from 1."""
    return nameless(scene) or whole_number(scene.values["batch"], 1) is None


def no_limit(scene: Scene) -> bool:
    """A limit that is as a double beyond what the script may ask for."""
    return float(int(scene.values["limit"])) >= NO_COUNT


def no_batch(scene: Scene) -> bool:
    """A batch that is as a double beyond what the script may ask for."""
    return float(int(scene.values["batch"])) >= NO_COUNT
