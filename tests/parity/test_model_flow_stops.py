"""The third voice's flows: what a script has told a parent when it stops."""

from typing import Any

import pytest

from emqlab.parity.model import Error, Held, Zset, scripted
from tests.parity.test_model import ERR, MAX, NOT_INTEGER, OVERFLOW, WRONGTYPE, A, ask, held, row
from tests.parity.test_model_flows import AWAITING, PARENT, RELEASED, ROW, child_world, dies, state

NO_NUMBER = Error(b"ERR value is not an integer or out of range")
DEPENDENCIES = [
    ([b"1"], WRONGTYPE),
    ({b"x": b"1"}, WRONGTYPE),
    (b"", NO_NUMBER),
    (b"01", NO_NUMBER),
    (b" 1", NO_NUMBER),
    (b"1.0", NO_NUMBER),
    (b"9223372036854775808", NO_NUMBER),
    (b"-9223372036854775808", OVERFLOW),
]


@pytest.mark.parametrize(("content", "error"), DEPENDENCIES)
def test_a_bad_count_of_children_stops_both_ends(content: Held, error: Error) -> None:
    """A completion stops before the result is kept, with its row there; a death under ``id`` after the error is."""
    where = child_world({ROW + b":dependencies": content})
    assert error == ask(scripted, where, "complete")
    assert (None, row(parent=PARENT)) == (held(where, b"active"), held(where, b"job:" + A))
    assert (None, AWAITING, None) == (held(where, ROW + b":processed"), held(where, ROW), held(where, b"pending"))
    where = child_world({ROW + b":dependencies": content}, parent_policy=b"id")
    assert error == dies(where)
    assert ({A: b"boom"}, AWAITING) == (held(where, ROW + b":unsuccessful"), held(where, ROW))
    assert (Zset({A: 0.0}), {b"count": b"1"}) == (held(where, b"dead"), held(where, b"metrics:failed"))
    assert content == held(where, ROW + b":dependencies")


@pytest.mark.parametrize(
    ("stored", "left"), [(MAX, b"9223372036854775806"), (b"2", b"1"), (b"1", b"0"), (b"-3", b"-4")]
)
def test_a_parent_is_released_at_nothing_or_below(stored: bytes, left: bytes) -> None:
    """A count that has fallen too far releases as well."""
    where = child_world({ROW + b":dependencies": stored})
    assert (1, left) == (ask(scripted, where, "complete"), held(where, ROW + b":dependencies"))
    assert (int(left) <= 0) == (held(where, b"pending") == Zset({PARENT: 0.0}))


@pytest.mark.parametrize(
    ("bad", "left"),
    [
        (ROW + b":processed", [b"0", b"x", None, AWAITING]),
        (b"pending", [b"0", {A: A}, b"x", AWAITING]),
        (ROW, [b"0", {A: A}, Zset({PARENT: 0.0}), b"x"]),
    ],
)
def test_a_completion_that_stops_at_the_parent_has_done_what_stands_before(bad: bytes, left: list[Any]) -> None:
    """Count, result, set, state; the child's row is never deleted and nothing is counted."""
    where = child_world({bad: b"x"})
    assert WRONGTYPE == ask(scripted, where, "complete")
    assert left == state(where, ROW + b":dependencies", ROW + b":processed", b"pending", ROW)
    assert [None, row(parent=PARENT), None] == state(where, b"active", b"job:" + A, b"metrics:completed")


@pytest.mark.parametrize(
    ("policy", "bad", "left"),
    [
        (b"fp", ROW + b":failed", [b"x", None, b"1", None, AWAITING, {A}]),
        (b"fp", ROW, [{A: b"boom"}, None, b"1", None, b"x", {A}]),
        (b"fp", b"pending", [{A: b"boom"}, None, b"1", b"x", row(b"dead", b"0"), {A, PARENT}]),
        (b"id", ROW + b":unsuccessful", [None, b"x", b"1", None, AWAITING, {A}]),
        (b"id", b"pending", [None, {A: b"boom"}, b"0", b"x", AWAITING, {A}]),
        (b"id", ROW, [None, {A: b"boom"}, b"0", Zset({PARENT: 0.0}), b"x", {A}]),
    ],
)
def test_a_death_that_stops_at_the_parent_has_done_what_stands_before(
    policy: bytes, bad: bytes, left: list[Any]
) -> None:
    """The child is dead and counted first; then its error, the parent's state or count, and the sets."""
    where = child_world({bad: b"x"}, parent_policy=policy)
    assert WRONGTYPE == dies(where)
    names = [ROW + b":failed", ROW + b":unsuccessful", ROW + b":dependencies", b"pending", ROW]
    assert left == [*state(where, *names), set(held(where, b"dead"))]
    assert (b"dead", {b"count": b"1"}) == (held(where, b"job:" + A)[b"state"], held(where, b"metrics:failed"))


def test_a_childs_own_dead_letter_comes_before_its_parents() -> None:
    """A bad set of dead letters, a bad counter and a bad cap stop the script before the parent hears a word."""
    for more, values, error in [
        ({b"dead": b"x"}, {}, WRONGTYPE),
        ({b"metrics:failed": {b"count": b"x"}}, {}, NOT_INTEGER),
        ({}, {"max_attempts": b"x"}, ERR),
    ]:
        where = child_world(more)  # type: ignore[arg-type]
        assert error == ask(scripted, where, "fail", **{"max_attempts": b"1"} | values)
        assert [AWAITING, None] == state(where, ROW, ROW + b":failed")


def test_a_counter_that_stops_a_completion_leaves_the_parent_told() -> None:
    """The row is deleted and the parent free when metrics:completed ends the script."""
    where = child_world({b"metrics:completed": b"x"})
    assert (WRONGTYPE, None) == (ask(scripted, where, "complete"), held(where, b"job:" + A))
    assert [RELEASED, b"0"] == state(where, ROW, ROW + b":dependencies")
