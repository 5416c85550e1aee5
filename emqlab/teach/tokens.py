"""What the claims of a case hand out: asked of a run, for a token is nobody's to make up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from emqlab.observe.recording import CannotRecord
from emqlab.observe.run import Skipped

if TYPE_CHECKING:
    from emqlab.lab import Lab


def handed_out(lab: Lab, executor: Any, case: Mapping[str, Any], what: str) -> list[int | None]:
    """The token that each claim of a run handed out, in order; None where it got nothing.

    ``executor`` is its name, ``what`` the reader's word for the case. Raises CannotRecord where it can't be run.
    """
    run = lab.run(dict(case), executor=executor, traced=False)
    if isinstance(run, Skipped):
        raise CannotRecord(f"{what} can't be run: {run.why}")
    verbs = [step.verb for step in run.case.when if step.verb is not None]
    replies = [reply for verb, reply in zip(verbs, run.replies, strict=True) if verb == "claim"]
    return [int(reply[2]) if isinstance(reply, list | tuple) and reply else None for reply in replies]
