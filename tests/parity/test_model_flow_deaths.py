"""The third voice's flows: what a parent is told of a child that is dead."""

import pytest

from emqlab.parity.model import Zset, scripted
from tests.parity.test_model import A, B, C, P, ask, held, leased, row
from tests.parity.test_model_flows import AWAITING, PARENT, RELEASED, ROW, child_world, dies, flow, state


@pytest.mark.parametrize("policy", [b"", b"fp", b"other"])
def test_a_dead_child_kills_its_parent(policy: bytes) -> None:
    """The parent is a dead letter without an error of its own, only the child is counted, the count of children stays.

    That is the policy ``fp``, and what a row gets that names no policy or one that there is none of.
    """
    where = flow(A, B, policy=policy)
    assert b"dead" == dies(where)
    assert row(b"dead", b"0") == held(where, ROW)
    assert (Zset({A: 0.0, PARENT: 0.0}), {b"count": b"1"}) == (held(where, b"dead"), held(where, b"metrics:failed"))
    assert ({A: b"boom"}, b"2") == (held(where, ROW + b":failed"), held(where, ROW + b":dependencies"))


def test_a_parent_dies_once_however_many_children_do() -> None:
    """The second death adds its error, and the parent is one dead letter."""
    where = flow(A, B)
    assert [b"dead"] * 2 == [dies(where, id=child, error=child) for child in (A, B)]
    assert ({A: A, B: B}, {A, B, PARENT}) == (held(where, ROW + b":failed"), set(held(where, b"dead")))


def test_a_dead_child_under_id_counts_as_one_that_is_over() -> None:
    """The parent is released by the last end, good or bad, and keeps the errors."""
    where = flow(A, B, policy=b"id")
    assert b"dead" == dies(where)
    assert (AWAITING, b"1") == (held(where, ROW), held(where, ROW + b":dependencies"))
    assert 1 == ask(scripted, where, "complete", id=B)
    assert (RELEASED, Zset({PARENT: 0.0})) == (held(where, ROW), held(where, b"pending"))
    assert ({A: b"boom"}, {B: B}) == (held(where, ROW + b":unsuccessful"), held(where, ROW + b":processed"))
    assert (Zset({A: 0.0}), {b"count": b"1"}) == (held(where, b"dead"), held(where, b"metrics:failed"))


@pytest.mark.parametrize("policy", [b"fp", b"id"])
def test_a_child_that_fails_below_its_cap_tells_nobody(policy: bytes) -> None:
    """It is due again, and its parent waits."""
    where = flow(A, policy=policy)
    before = where.copy()
    assert b"scheduled" == ask(scripted, where, "fail")
    told = [P + ROW, P + ROW + b":dependencies", P + ROW + b":failed", P + ROW + b":unsuccessful"]
    assert [before.keys.get(key) for key in told] == [where.keys.get(key) for key in told]


def test_a_dead_child_takes_a_released_parent_out_of_pending() -> None:
    """A child that is not leased tells its parent of its death all the same."""
    where = child_world({b"pending": Zset({A: 0.0, PARENT: 0.0, C: 0.0})})
    del where.keys[P + b"active"]
    assert b"dead" == dies(where)
    assert (Zset({C: 0.0}), Zset({A: 0.0, PARENT: 0.0})) == (held(where, b"pending"), held(where, b"dead"))


def test_a_second_failure_at_the_cap_tells_the_parent_again() -> None:
    """Under ``id`` one child counts twice, and the parent goes while the other is still at work (hazard 13)."""
    where = flow(A, B, policy=b"id")
    assert [b"dead"] * 2 == [dies(where) for _ in range(2)]
    assert (b"0", Zset({PARENT: 0.0})) == (held(where, ROW + b":dependencies"), held(where, b"pending"))
    assert (True, {b"count": b"2"}) == (B in held(where, b"active"), held(where, b"metrics:failed"))


@pytest.mark.parametrize("end", ["complete", "fp", "id"])
def test_a_missing_parent_comes_to_life_with_a_state_alone(end: str) -> None:
    """Its row is whatever the child's end says, and it is in the set of that state (hazard 13)."""
    where = leased(parent=PARENT, parent_policy=end.encode())
    assert (1 if end == "complete" else b"dead") == (ask(scripted, where, end) if end == "complete" else dies(where))
    state = b"dead" if end == "fp" else b"pending"
    assert {b"state": state} == held(where, ROW)
    assert PARENT in held(where, state)
    assert (None if end == "fp" else b"-1") == held(where, ROW + b":dependencies")


@pytest.mark.parametrize("policy", [b"fp", b"id"])
def test_a_sweep_that_kills_a_child_leaves_the_parent_waiting(policy: bytes) -> None:
    """The other child's completion does not release it either (hazard 9)."""
    where = flow(A, B, policy=policy)
    held(where, b"active")[A] = 1.0
    assert [[], [A]] == ask(scripted, where, "stalled_check")
    assert (AWAITING, b"2", Zset({A: 0.0})) == (
        held(where, ROW),
        held(where, ROW + b":dependencies"),
        held(where, b"dead"),
    )
    assert 1 == ask(scripted, where, "complete", id=B)
    assert [AWAITING, b"1", None] == state(where, ROW, ROW + b":dependencies", b"pending")
