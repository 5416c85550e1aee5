"""The cases that the lessons run, in the case format (SPEC 8): data for widgets, exercises and tests.

Every one of them can be given to ``emqlab run`` as it stands, and holds: ``differs`` names what the executors are
declared to do differently, and nothing else may differ. A file a topic, each with its ``every``.
"""

from collections.abc import Iterator

from emqlab.teach.cases import fence, happy, life, parity, states
from emqlab.teach.cases.life import FIRST_CLAIM, LIFE
from emqlab.teach.cases.parity import CLAIM, POISONED, RIDDLES
from emqlab.teach.cases.states import TRANSITION
from emqlab.teach.cases.steps import (
    JOB,
    STEPS,
    CaseJson,
    StepJson,
    advance,
    claim,
    complete,
    delay,
    enqueue,
    fail,
    promote,
    reprocess,
    requeue,
    sweep,
    written,
)

__all__ = [
    "CLAIM",
    "FIRST_CLAIM",
    "JOB",
    "LIFE",
    "POISONED",
    "RIDDLES",
    "STEPS",
    "TRANSITION",
    "CaseJson",
    "StepJson",
    "advance",
    "claim",
    "complete",
    "delay",
    "enqueue",
    "every_case",
    "fail",
    "promote",
    "reprocess",
    "requeue",
    "sweep",
    "written",
]


def every_case() -> Iterator[CaseJson]:
    """All cases of the lessons."""
    for topic in (life, states, happy, fence, parity):
        yield from topic.every()
