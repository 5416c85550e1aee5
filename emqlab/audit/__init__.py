"""``emqlab audit``: a read-only look at a queue, for what stops work, loses it, or is odd."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emqlab.audit.findings import Audit, Finding
    from emqlab.audit.look import audit_queue
    from emqlab.audit.reading import CannotLook

__all__ = ["Audit", "CannotLook", "Finding", "audit_queue"]

_ROOMS = {"Audit": "findings", "CannotLook": "reading", "Finding": "findings", "audit_queue": "look"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: the command line reads the options of this room at every start."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'emqlab.audit' has no attribute {name!r}")
    return getattr(import_module(f"emqlab.audit.{_ROOMS[name]}"), name)
