"""emqlab: how a job queue's core works, as scripts and as commands of the server."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emqlab.errors import (
        BadArgument,
        Duplicate,
        EmqError,
        FlowRow,
        Forbidden,
        JobGone,
        LaneRow,
        NotActive,
        NotDead,
        ServerLost,
        ServerRefused,
        StaleToken,
        Unsupported,
        WrongKind,
        WrongVersion,
    )
    from emqlab.lab import Lab, open_lab
    from emqlab.observe.recording import record
    from emqlab.outcomes import Claimed, Dead, Scheduled, Swept

__all__ = [
    "BadArgument",
    "Claimed",
    "Dead",
    "Duplicate",
    "EmqError",
    "FlowRow",
    "Forbidden",
    "JobGone",
    "Lab",
    "LaneRow",
    "NotActive",
    "NotDead",
    "Scheduled",
    "ServerLost",
    "ServerRefused",
    "StaleToken",
    "Swept",
    "Unsupported",
    "WrongKind",
    "WrongVersion",
    "open_lab",
    "record",
]

_ROOMS = {
    **dict.fromkeys(("Claimed", "Dead", "Scheduled", "Swept"), "outcomes"),
    **dict.fromkeys(("Lab", "open_lab"), "lab"),
    "record": "observe.recording",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: ``emqlab doctor`` must start where a package is missing."""
    if name not in __all__:
        raise AttributeError(f"module 'emqlab' has no attribute {name!r}")
    return getattr(import_module(f"emqlab.{_ROOMS.get(name, 'errors')}"), name)
