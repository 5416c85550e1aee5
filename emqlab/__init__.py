"""emqlab: how a job queue's core works, as scripts and as commands of the server."""

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
