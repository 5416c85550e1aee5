"""Divergence 7: the wire version, which only the native verbs look at (SPEC 5.1, rule 1)."""

from emqlab.keys import VERSION, VERSION_KEY
from emqlab.parity.declared.scene import Scene
from emqlab.parity.declared.stuck import stuck


def fenced(scene: Scene) -> bool:
    """Another version, or a version key of a wrong type where the script does not stop at such a key too."""
    version = scene.keys.get(VERSION_KEY)
    if version is None or version == VERSION:
        return False
    return type(version) is bytes or not stuck(scene)


def refused_alike(scene: Scene) -> bool:
    """A version key of a wrong type where the script stops at such a key too: one answer, and nothing is written."""
    version = scene.keys.get(VERSION_KEY)
    return version is not None and type(version) is not bytes
