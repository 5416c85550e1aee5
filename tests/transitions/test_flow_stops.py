"""Where a child's report stops that meets a wrong type, or a right that is missing (SPEC 4.4). Scripts only."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.replies import ErrorReply
from emqlab.scripted.executor import ScriptedExecutor
from tests.transitions.bench import WRONGTYPE, A, B, Bench, C, ids, job_key
from tests.transitions.lanes import (
    DEPENDENCIES,
    FAILED,
    KILLED,
    PARENT,
    PROCESSED,
    RELEASED,
    UNSUCCESSFUL,
    WAITS,
    complete,
    die,
    fail,
    fields,
    flow,
    parents,
)

TOLD, ROW = {A.decode(): "boom"}, job_key(PARENT)
NO_NUMBER = ErrorReply("ERR value is not an integer or out of range")


@pytest.fixture
def leased(scripted: Bench) -> Bench:
    """A flow of two children, both leased."""
    flow(scripted, "", A, B)
    return scripted


@pytest.mark.parametrize("count", ["many", "", "1.0", " 1", str(2**63)])
def test_a_count_that_is_no_number(leased: Bench, count: str) -> None:
    """DECR refuses it: the lease is gone, the row is there, no result is kept and nothing is counted."""
    leased.put("SET", "{p}" + DEPENDENCIES, count)
    before = leased.state()
    assert NO_NUMBER == complete(leased, A)
    assert {**before, "active": {B.decode(): leased.now + 30_000}} == leased.state()


KEPT = {A.decode(): A.decode()}
CHILD = {job_key(A): {"state": "active", "attempts": "1", "payload": "c", "parent": PARENT.decode()}}


@pytest.mark.parametrize(
    ("spoiled", "left"),
    [
        (DEPENDENCIES, {**CHILD, ROW: WAITS}),
        (PROCESSED, {**CHILD, ROW: WAITS, DEPENDENCIES: "0"}),
        ("pending", {**CHILD, ROW: WAITS, DEPENDENCIES: "0", PROCESSED: KEPT}),
        (ROW, {**CHILD, DEPENDENCIES: "0", PROCESSED: KEPT, "pending": ids(PARENT)}),
        ("metrics:completed", {ROW: RELEASED, DEPENDENCIES: "0", PROCESSED: KEPT, "pending": ids(PARENT)}),
    ],
    ids=["dependencies", "processed", "pending", "row", "metrics"],
)
def test_a_wrong_type_stops_a_completion_there(scripted: Bench, spoiled: str, left: dict[str, Any]) -> None:
    """The lease, the count, the result, the line, the parent's state, the child's row, the metric: in this order."""
    flow(scripted, "", A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.put("RPUSH", "{p}" + spoiled, "spoiled")
    assert complete(scripted, A) == WRONGTYPE
    assert {**left, spoiled: ["spoiled"]} == scripted.state()


def test_the_lane_comes_before_the_parent(scripted: Bench) -> None:
    """With a spoiled gactive the parent's count is as it was."""
    scripted.leased(A, group="g", parent=PARENT)
    scripted.put("SET", "{p}" + DEPENDENCIES, 5)
    scripted.spoil("gactive")
    assert complete(scripted, A, 2) == WRONGTYPE
    state = scripted.state()
    assert (state[DEPENDENCIES], "active" in state) == ("5", False)
    assert fields(state, job_key(A))["parent"] == PARENT.decode()


def is_buried(bench: Bench) -> None:
    """The child is a dead letter, whatever stopped the telling."""
    row = bench.read_row(A)
    assert ("dead", "boom") == (row["state"], row["last_error"])
    assert {"count": "1"} == bench.state()["metrics:failed"]
    assert "active" not in bench.state()


@pytest.mark.parametrize(
    ("spoiled", "left", "dead"),
    [
        (FAILED, {ROW: WAITS}, [A]),
        (ROW, {FAILED: TOLD}, [A]),
        ("pending", {FAILED: TOLD, ROW: KILLED}, [A, PARENT]),
    ],
    ids=["failed", "row", "pending"],
)
def test_a_wrong_type_stops_the_killing_there(
    scripted: Bench, spoiled: str, left: dict[str, Any], dead: list[bytes]
) -> None:
    """fp: the error, the parent's state, the dead, the line, in this order."""
    flow(scripted, "fp", A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert fail(scripted, A, cap=1) == WRONGTYPE
    state = scripted.state()
    assert "spoiled" == state.pop(spoiled)
    is_buried(scripted)
    rest = {job_key(A): scripted.state()[job_key(A)], "metrics:failed": {"count": "1"}, "dead": ids(*dead)}
    assert {DEPENDENCIES: "1", **left, **rest} == state


@pytest.mark.parametrize(
    ("spoiled", "left"),
    [
        (UNSUCCESSFUL, {ROW: WAITS, DEPENDENCIES: "1"}),
        (DEPENDENCIES, {ROW: WAITS, UNSUCCESSFUL: TOLD}),
        ("pending", {ROW: WAITS, UNSUCCESSFUL: TOLD, DEPENDENCIES: "0"}),
        (ROW, {UNSUCCESSFUL: TOLD, DEPENDENCIES: "0", "pending": ids(PARENT)}),
    ],
    ids=["unsuccessful", "dependencies", "pending", "row"],
)
def test_a_wrong_type_stops_the_counting_there(scripted: Bench, spoiled: str, left: dict[str, Any]) -> None:
    """id: the error, the count, the line, the parent's state, in this order."""
    flow(scripted, "id", A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.put("RPUSH", "{p}" + spoiled, "spoiled")
    assert fail(scripted, A, cap=1) == WRONGTYPE
    state = scripted.state()
    assert ["spoiled"] == state.pop(spoiled)
    is_buried(scripted)
    rest = {job_key(A): scripted.state()[job_key(A)], "metrics:failed": {"count": "1"}, "dead": ids(A)}
    assert {**left, **rest} == state


@pytest.mark.parametrize("policy", ["fp", "id"])
@pytest.mark.parametrize("spoiled", ["dead", "metrics:failed"])
def test_what_stops_the_childs_death_leaves_the_parent_alone(scripted: Bench, policy: str, spoiled: str) -> None:
    """The child's own dead-lettering comes first."""
    flow(scripted, policy, A)
    before = parents(scripted)
    scripted.spoil(spoiled)
    assert fail(scripted, A, cap=1) == WRONGTYPE
    assert before == parents(scripted)


# ---------------------------------------------------------------- a look that is refused

real = pytest.mark.parametrize("lab", ["valkey", "redis"], indirect=True)


def without(bench: Bench, command: str) -> Bench:
    """The same queue for a user who may do everything but one command."""
    bench.put("ACL", "SETUSER", "ann", "reset", "on", ">pw", "+@all", "~*", command)
    client = bench.lab.connect(username="ann", password="pw")
    return Bench(bench.lab, ScriptedExecutor(client, lambda: C))


@real
def test_a_look_that_is_refused_is_left_to_the_script(scripted: Bench) -> None:
    """No right to HMGET, which no script uses: the child dies as a flat job, and its parent is not told."""
    flow(scripted, "fp", A, B)
    before = parents(scripted)
    die(without(scripted, "-hmget"), A)
    assert (before, ids(A)) == (parents(scripted), scripted.state()["dead"])
    die(scripted, B)
    assert ids(A, B, PARENT) == scripted.state()["dead"]


@real
@pytest.mark.parametrize("report", [complete, fail])
def test_a_read_that_the_script_may_not_do_either(scripted: Bench, report: Callable[..., Any]) -> None:
    """No right to HGET: the script's first read is refused, and nothing is written."""
    flow(scripted, "fp", A)
    limited = without(scripted, "-hget")
    with scripted.nothing_written():
        reply = report(limited, A)
    assert isinstance(reply, ErrorReply)
    assert reply.code == "ERR"
