"""The cases that the lessons run, in the case format (SPEC 8): data for widgets, exercises and tests.

Every one of them can be given to ``emqlab run`` as it stands, and holds: ``differs`` names what the executors are
declared to do differently, and nothing else may differ. A file a topic, each with its ``every``.
"""

from collections.abc import Iterator

from emqlab.teach.cases import exits, fence, happy, life, parity, recovery, states
from emqlab.teach.cases.exits import EXIT, REAP, WITH_A_PAST, after_hours
from emqlab.teach.cases.life import FIRST_CLAIM, LIFE
from emqlab.teach.cases.parity import CLAIM, POISONED, RIDDLES
from emqlab.teach.cases.states import TRANSITION
from emqlab.teach.cases.steps import (
    JOB,
    OTHER,
    QUEUE,
    STEPS,
    WAITING,
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
    "EXIT",
    "FIRST_CLAIM",
    "JOB",
    "LIFE",
    "OTHER",
    "POISONED",
    "QUEUE",
    "REAP",
    "RIDDLES",
    "STEPS",
    "TRANSITION",
    "WAITING",
    "WITH_A_PAST",
    "CaseJson",
    "StepJson",
    "advance",
    "after_hours",
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
    for topic in (life, states, happy, fence, exits, parity, recovery):
        yield from topic.every()
