"""The third voice's flows: a parent, its children, and what it is told of their ends."""

from typing import Any

import pytest

from emqlab.parity.model import Error, Held, Reply, Unsupported, World, Zset, native, scripted
from tests.parity.test_model import (
    KINDS,
    NOT_INTEGER,
    WRONGTYPE,
    A,
    B,
    P,
    ask,
    held,
    leased,
    row,
    waiting,
    world,
)

PARENT = b"JOB0000000000P"
ROW = b"job:" + PARENT
KIND = Error(b"EMQKIND job id must be JOB-namespaced")
AWAITING = row(b"awaiting_children", b"0")
RELEASED = row(b"pending", b"0")


def added(where: World, *children: bytes, policy: bytes = b"", parent: bytes = PARENT) -> Reply:
    """A flow of a parent and children whose payloads are their last letters."""
    pairs = [(child, child[-1:]) for child in children]
    return ask(scripted, where, "flow_add", id=parent, children=pairs, policy=policy)


def flow(*children: bytes, policy: bytes = b"") -> World:
    """A flow, with a lease for every child."""
    where = world({})
    assert 1 == added(where, *children, policy=policy)
    for child in children:
        assert child == ask(scripted, where, "claim")[0]  # type: ignore[index]
    return where


def child_world(more: dict[bytes, Held], **fields: bytes) -> World:
    """The last leased child of a parent that waits for it alone, and more keys by their names without the base."""
    where = leased(parent=PARENT, **fields)
    where.keys |= {P + ROW: dict(AWAITING), P + ROW + b":dependencies": b"1"}
    where.keys.update({P + name: content for name, content in more.items()})
    return where


def dies(where: World, **values: bytes) -> Reply:
    """The child fails at its cap."""
    return ask(scripted, where, "fail", max_attempts=b"1", **values)


def state(where: World, *names: bytes) -> list[Any]:
    """What keys hold, in order."""
    return [held(where, name) for name in names]


# ---------------------------------------------------------------- the flow


def test_a_flow_is_no_verb() -> None:
    """Natively nothing is sent, so nothing is written."""
    where = world({})
    assert Unsupported("flow_add") == ask(native, where, "flow_add", children=[(B, b"b")], policy=b"")
    assert {} == where.keys


def test_a_flow_is_a_parent_in_no_set_and_children_that_wait() -> None:
    """The children know their parent, and a policy only if one was given."""
    where = world({})
    assert 1 == added(where, A, B)
    assert {
        P + ROW: AWAITING,
        P + ROW + b":dependencies": b"2",
        P + b"job:" + A: row(b"pending", b"0", parent=PARENT) | {b"payload": b"A"},
        P + b"job:" + B: row(b"pending", b"0", parent=PARENT) | {b"payload": b"B"},
        P + b"pending": Zset({A: 0.0, B: 0.0}),
    } == where.keys
    for policy in (b"fp", b"id"):
        where = world({})
        assert 1 == added(where, A, policy=policy)
        assert policy == held(where, b"job:" + A)[b"parent_policy"]


@pytest.mark.parametrize("content", KINDS, ids=lambda content: type(content).__name__)
@pytest.mark.parametrize("name", [ROW, b"job:" + A, b"job:" + B])
def test_one_row_of_any_kind_makes_a_flow_a_duplicate(name: bytes, content: Held) -> None:
    """Nothing is written, wherever in the flow the id stands."""
    where = world({name: content})
    assert (0, {P + name: content}) == (added(where, A, B), where.keys)


def test_every_id_of_a_flow_must_be_a_jobs() -> None:
    """The kinds are checked before any row is looked for."""
    where = world({ROW: AWAITING})
    before = where.copy()
    assert [KIND] * 2 == [added(where, A, b"PAR00000000000"), added(where, A, parent=b"PAR00000000000")]
    assert before.keys == where.keys


def test_a_flow_overwrites_what_an_older_one_left_of_its_count() -> None:
    """SET asks for no type."""
    for content in KINDS:
        where = world({ROW + b":dependencies": content})
        assert (1, b"1") == (added(where, A), held(where, ROW + b":dependencies"))


def test_a_flow_that_meets_a_bad_pending_stops_at_its_first_child() -> None:
    """The parent, its count and the first child's row stay; the second child was never made."""
    where = world({b"pending": b"x"})
    assert WRONGTYPE == added(where, A, B)
    assert (AWAITING, b"2") == (held(where, ROW), held(where, ROW + b":dependencies"))
    assert (True, None) == (held(where, b"job:" + A) is not None, held(where, b"job:" + B))


# ---------------------------------------------------------------- a child is done


def test_the_last_child_releases_its_parent() -> None:
    """The parent waits while a child is left; then it is in pending, with what each child made."""
    where = flow(A, B)
    assert 1 == ask(scripted, where, "complete", id=A, result=b"tea")
    assert [AWAITING, b"1", None] == state(where, ROW, ROW + b":dependencies", b"pending")
    assert 1 == ask(scripted, where, "complete", id=B)
    assert (RELEASED, Zset({PARENT: 0.0})) == (held(where, ROW), held(where, b"pending"))
    assert {A: b"tea", B: B} == held(where, ROW + b":processed")
    assert [PARENT, b"p", 1] == ask(scripted, where, "claim")


def test_a_result_may_be_empty_and_a_job_without_a_parent_has_none_to_give_it_to() -> None:
    """Only an absent result becomes the child's id."""
    where = child_world({})
    assert (1, 1) == (ask(scripted, where, "complete", result=b""), ask(scripted, leased(), "complete", result=b"r"))
    assert {A: b""} == held(where, ROW + b":processed")


def test_a_repeated_complete_decrements_nothing() -> None:
    """The row is gone, so the second one is told 0 and the parent nothing; a stale token tells it nothing either."""
    where = flow(A, B)
    assert Error(b"EMQSTALE complete token mismatch") == ask(scripted, where, "complete", id=A, token=b"9")
    assert b"2" == held(where, ROW + b":dependencies")
    assert [1, 0] == [ask(scripted, where, "complete", id=A) for _ in range(2)]
    assert (b"1", None) == (held(where, ROW + b":dependencies"), held(where, b"pending"))


def test_a_child_that_is_not_leased_completes_without_a_word_to_its_parent() -> None:
    """Its row goes, and the parent waits for ever: whoever was swept and completes all the same releases nobody."""
    where = child_world({})
    where.keys[P + b"active"] = Zset({A: 1.0})
    ask(scripted, where, "stalled_check", max_stalled=b"2")
    assert (1, None) == (ask(scripted, where, "complete"), held(where, b"job:" + A))
    assert [AWAITING, b"1", None] == state(where, ROW, ROW + b":dependencies", b"pending")


def test_a_child_of_a_lane_frees_its_slot_before_its_parent_hears() -> None:
    """A bad number of active slots stops the script with the count of children as it was."""
    where = child_world({b"gactive": {b"g": b"1"}}, group=b"g")
    assert (1, None, RELEASED) == (ask(scripted, where, "complete"), held(where, b"gactive"), held(where, ROW))
    where = child_world({b"gactive": {b"g": b"x"}}, group=b"g")
    assert (NOT_INTEGER, b"1") == (ask(scripted, where, "complete"), held(where, ROW + b":dependencies"))


def test_an_empty_parent_is_none_to_a_script_and_one_natively() -> None:
    """The script writes nothing outside the row's own keys; the verb refuses a flow row."""
    assert 1 == ask(scripted, leased(parent=b""), "complete")
    assert Error(b"EMQFLOW flow row") == ask(native, leased(parent=b""), "complete")
    where = leased(parent=b"")
    assert (b"dead", None) == (dies(where), held(where, b"job:"))


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_read_that_fails_is_left_to_the_script(verb: str) -> None:
    """A row that is no hash answers as it does for a flat job."""
    where = world({b"job:" + A: [b"x"]})
    assert (WRONGTYPE, {P + b"job:" + A: [b"x"]}) == (ask(scripted, where, verb), where.keys)


# ---------------------------------------------------------------- odd parents


def test_a_parent_that_nobody_claimed_is_completed_by_token_0() -> None:
    """The children's keys stay, and the last child brings it back with a state alone (hazards 11 and 13)."""
    where = flow(A)
    assert (1, None, b"1") == (
        ask(scripted, where, "complete", id=PARENT, token=b"0"),
        held(where, ROW),
        held(where, ROW + b":dependencies"),
    )
    assert (1, {b"state": b"pending"}) == (ask(scripted, where, "complete"), held(where, ROW))


def test_a_parent_of_its_own_is_told_and_then_deleted() -> None:
    """A row that names itself leaves a ghost in pending."""
    where = waiting(parent=A)
    ask(scripted, where, "claim")
    assert 1 == ask(scripted, where, "complete", token=b"2")
    assert [None, Zset({A: 0.0})] == state(where, b"job:" + A, b"pending")
