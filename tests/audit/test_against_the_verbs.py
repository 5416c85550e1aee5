"""An audit against the native verbs themselves: on queues damaged at random they stop where it says, and only there."""

import random
from collections.abc import Iterable
from typing import Any, Literal

import pytest

import emqlab
from emqlab.audit.findings import STOPS
from emqlab.audit.given import audit_given
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from tests.audit.plants import CLAIM, MAX, PROMOTE, SWEEP, A, B, C, Command

SETS = ("pending", "active", "schedule", "dead", "g:blue:pending")
SCORES = ("0", "0", "-1", "@now-1", "@now", "@now+5000", "inf", "-inf", "1.5", "1e300")
NUMBERS = ("0", "1", "-3", "", "01", "x", "1.0", MAX, "9223372036854775808", "999999999999999999999")
#: What stops each verb: what is told of its own selection, and the keys that it comes to.
CAUSES: dict[str, set[tuple[str, str]]] = {
    "claim": {("head-refused", ""), ("wrong-type", "pending"), ("wrong-type", "active"), ("wrong-type", "meta")},
    "stalled_check": {
        ("sweep-refused", ""), ("wrong-type", "active"), ("wrong-type", "pending"), ("wrong-type", "dead"),
        ("wrong-type", "metrics:failed"), ("metric-refused", "metrics:failed"),
    },
    "promote": {("promote-refused", ""), ("wrong-type", "schedule"), ("wrong-type", "pending")},
}  # fmt: skip
#: Those of them that stop it whatever else there is.
ALWAYS = {
    "claim": {("head-refused", ""), ("wrong-type", "pending"), ("wrong-type", "meta")},
    "stalled_check": {("sweep-refused", ""), ("wrong-type", "active")},
    "promote": {("promote-refused", ""), ("wrong-type", "schedule")},
}


EXECUTORS: tuple[Literal["scripted", "native"], ...] = ("scripted", "native")
#: What is told of each of these is what that step does, when only one job is there.
STEPS = {
    "head-refused": CLAIM, "sweep-refused": SWEEP, "exempt": SWEEP, "bad-stalled": SWEEP, "promote-refused": PROMOTE,
}  # fmt: skip


def damaged(draw: random.Random, jobs: Iterable[str] = (A, B, C)) -> list[Command]:
    """Jobs with whatever can be wrong with each, and now and then a key that is wrong."""
    given: list[Command] = []
    for job in jobs:
        given += [
            ["ZADD", f"{{p}}{name}", draw.choice(SCORES), job] for name in draw.sample(SETS, draw.choice((0, 1, 1, 2)))
        ]
        if draw.random() < 0.15:
            given.append([*draw.choice((["SET"], ["RPUSH"], ["SADD"])), f"{{p}}job:{job}", "x"])
        elif draw.random() < 0.8:
            given += _row(draw, job)
    for name in ("pending", "active", "schedule", "dead", "meta", "metrics:failed", "gactive"):
        if draw.random() < 0.04:
            given += [["DEL", f"{{p}}{name}"], ["SET", f"{{p}}{name}", "x"]]
    if draw.random() < 0.1:
        given.append(["HSET", "{p}metrics:failed", "count", draw.choice(NUMBERS)])
    return given


def _row(draw: random.Random, job: str) -> list[Command]:
    row = f"{{p}}job:{job}"
    fields = {
        "state": ("pending", "active", "scheduled", "dead", "awaiting_children", "odd"),
        "attempts": (*("1",) * 8, *NUMBERS),
        "stalled": NUMBERS,
        "failures": NUMBERS,
        "group": ("blue", ""),
        "lease_epoch": ("@run_id", "@run_id", "@old_run_id"),
    }
    often = {"state": 0.9, "attempts": 0.9, "lease_epoch": 0.6}
    made = [
        ["HSET", row, name, draw.choice(values)]
        for name, values in fields.items()
        if draw.random() < often.get(name, 0.2)
    ]
    return made or [["HSET", row, "payload", ""]]


@pytest.mark.parametrize("seed", range(12))
def test_the_native_verbs_stop_where_it_says_and_only_there(lab: emqlab.Lab, seed: int) -> None:
    """Thirty damaged queues a seed: a refused claim, sweep or promotion has its finding, and a finding its refusal."""
    draw = random.Random(seed)
    for _ in range(30):
        given = damaged(draw)
        case: dict[str, Any] = {"name": "damaged", "queue": "q", "about": "", "given": given, "when": []}
        found = audit_given(lab, parse_case(case)).findings
        told = {
            (finding.code, "" if finding.id is not None else finding.name.decode().removeprefix("emq:{q}:"))
            for finding in found
            if finding.severity == STOPS
        }
        for step in (CLAIM, SWEEP, PROMOTE):
            run = lab.run({**case, "when": [step]}, executor="native", traced=False)
            assert isinstance(run, Run)
            refused = isinstance(run.replies[0], ErrorReply)
            if refused:
                assert told & CAUSES[step["verb"]], (step, run.replies, given)
            if told & ALWAYS[step["verb"]]:
                assert refused, (step, told, given)


@pytest.mark.parametrize("seed", range(8))
def test_both_executors_do_what_is_told_of_them(lab: emqlab.Lab, seed: int) -> None:
    """Sixty queues of one job a seed, damaged around it as well: whether each step ends in an error, and in which."""
    draw, compared = random.Random(seed), 0
    for _ in range(60):
        given = damaged(draw, [A])
        case: dict[str, Any] = {"name": "damaged", "queue": "q", "about": "", "given": given, "when": []}
        for finding in audit_given(lab, parse_case(case)).findings:
            step = STEPS.get(finding.code)
            if step is None or finding.native is None or finding.native.startswith("once "):
                continue
            compared += 1
            for executor in EXECUTORS:
                told = getattr(finding, executor)
                run = lab.run({**case, "when": [step]}, executor=executor, traced=False)
                assert isinstance(run, Run)
                (reply,) = run.replies
                error = isinstance(reply, ErrorReply)
                assert error == told.startswith(("refused", "stops with")), (finding, executor, reply, given)
                if isinstance(reply, ErrorReply) and reply.code != "ERR":
                    assert reply.code in told, (finding, executor, reply, given)
                if told.startswith("refused"):
                    assert run.before == run.after, (finding, executor, given)
    assert compared > 5
