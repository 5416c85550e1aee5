"""An audit of queues that the scripts have made: of one that is used rightly nothing is told, and nothing untrue."""

import contextlib
import random
from collections.abc import Callable

import pytest

import emqlab
from emqlab import keys
from emqlab.audit import Audit, audit_queue
from emqlab.audit.findings import TO_KNOW
from emqlab.replies import ask, ask_all
from tests.audit.claims import CLAIMS
from tests.audit.walking import QUEUE, Walk


def looked_at(walk: Walk) -> Audit:
    """The queue as it is."""
    return audit_queue(walk.lab.client, QUEUE, now_ms=walk.lab.now_ms(), run_id=walk.lab.run_id)


@pytest.mark.parametrize("seed", range(6))
def test_of_lanes_and_flows_that_are_used_rightly_nothing_is_told(lab: emqlab.Lab, seed: int) -> None:
    """Four hundred steps a seed, looked at after every tenth: at most what is good to know."""
    walk = Walk(lab, seed)
    known: set[str] = set()
    for number in range(400):
        walk.step()
        if number % 10 == 9:
            found = looked_at(walk).findings
            assert [] == [finding for finding in found if finding.severity != TO_KNOW], number
            known |= {finding.code for finding in found}
    assert {act.__name__ for act in walk.right} == set(walk.done)
    assert {"exempt", "flow-child", "flow-left", "lane-held"} == known


@pytest.mark.parametrize("seed", range(8))
def test_of_lanes_and_flows_that_are_not_what_is_told_is_what_happens(lab: emqlab.Lab, seed: int) -> None:
    """Every claim of a finding is tried on a copy of the queue, by the verbs themselves."""
    draw, tried = random.Random(seed), set()
    for _ in range(10):
        ask_all(lab.client, [("DEL", name) for name in ask(lab.client, "KEYS", keys.base(QUEUE) + b"*")])
        walk, often = Walk(lab, draw.randrange(10**6)), draw.choice((0.1, 0.3))
        for _ in range(draw.randrange(10, 100)):
            (walk.hazard if draw.random() < often else _quietly(walk.step))()
        for finding in looked_at(walk).findings:
            if finding.code in CLAIMS:
                CLAIMS[finding.code](lab, finding)
                tried.add(finding.code)
    assert len(tried) > 5, tried


def _quietly(step: Callable[[], None]) -> Callable[[], None]:
    """A step of which an error is no mistake any more, in a queue where hazards are."""

    def act() -> None:
        with contextlib.suppress(AssertionError):
            step()

    return act
