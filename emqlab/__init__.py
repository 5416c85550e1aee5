"""emqlab: how a job queue's core works, as scripts and as commands of the server."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emqlab.audit import audit_queue
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
    from emqlab.outcomes import Claimed, Dead, Flow, LaneClaimed, Scheduled, Swept
    from emqlab.parity.defects.planting import catch
    from emqlab.parity.defects.plants import plant_text, planted
    from emqlab.parity.defects.sources import open_defective

__all__ = [
    "BadArgument",
    "Claimed",
    "Dead",
    "Duplicate",
    "EmqError",
    "Flow",
    "FlowRow",
    "Forbidden",
    "JobGone",
    "Lab",
    "LaneClaimed",
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
    "audit_queue",
    "catch",
    "open_defective",
    "open_lab",
    "plant_text",
    "planted",
    "record",
]

_ROOMS = {
    **dict.fromkeys(("Claimed", "Dead", "Flow", "LaneClaimed", "Scheduled", "Swept"), "outcomes"),
    **dict.fromkeys(("Lab", "open_lab"), "lab"),
    "audit_queue": "audit",
    "catch": "parity.defects.planting",
    "open_defective": "parity.defects.sources",
    **dict.fromkeys(("plant_text", "planted"), "parity.defects.plants"),
    "record": "observe.recording",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: ``emqlab doctor`` must start where a package is missing."""
    if name not in __all__:
        raise AttributeError(f"module 'emqlab' has no attribute {name!r}")
    return getattr(import_module(f"emqlab.{_ROOMS.get(name, 'errors')}"), name)
