"""One frame of a recording (stage/FRAMES.md, "Frame")."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from emqlab.observe.state import State


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, its fields as FRAMES.md names them; ``clock`` in ms since 1970, ``epoch`` a restart's new run_id.

    ``word``, ``at`` (which entry of ``when``) and ``member`` (the job, in a sweep or the like) say which row it is;
    they line frames up and are not part of the recording.
    """

    step: str
    phase: str
    note: str
    word: str
    at: int
    member: str = ""
    command: tuple[str, ...] | None = None
    reply: Mapping[str, Any] | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    patch: State | None = None
    by: str | None = None
    clock: int | None = None
    epoch: str | None = None
    token: str | None = None
    line: int | None = None

    def json(self, step: str | None = None) -> dict[str, Any]:
        """As a recording holds it; ``step`` is its id there. What is absent is left out."""
        fields: dict[str, Any] = {
            "step": step or self.step,
            "phase": self.phase,
            "command": None if self.command is None else list(self.command),
            "reply": None if self.reply is None else dict(self.reply),
            "reads": list(self.reads) or None,
            "writes": list(self.writes) or None,
            "patch": self.patch or None,
            "by": self.by,
            "clock": self.clock,
            "epoch": self.epoch,
            "token": self.token,
            "line": self.line,
            "note": self.note,
        }
        return {name: value for name, value in fields.items() if value is not None}
