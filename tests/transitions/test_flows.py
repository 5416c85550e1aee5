"""Children that are completed, and the parent they release; what else befalls a flow (SPEC 4.4, 7). Scripts only."""

from collections.abc import Callable

import pytest

from emqlab.replies import ErrorReply
from tests.transitions.bench import WRONGTYPE, A, B, Bench, C, ids, job_key
from tests.transitions.lanes import (
    DEPENDENCIES,
    PARENT,
    PROCESSED,
    RELEASED,
    WAITS,
    add_flow,
    complete,
    fail,
    lane,
    lease_all,
    slots,
)


@pytest.fixture
def leased(scripted: Bench) -> Bench:
    """A flow of two children, both leased."""
    add_flow(scripted, A, B)
    assert [A, B] == lease_all(scripted)
    return scripted


# ---------------------------------------------------------------- release


def test_a_parent_is_released_by_the_last_child(leased: Bench) -> None:
    """The first completion counts, the second puts the parent in line, with token 0 and its own payload."""
    assert complete(leased, B) == 1
    state = leased.state()
    assert ("1", WAITS) == (state[DEPENDENCIES], state[job_key(PARENT)])
    assert "pending" not in state
    assert complete(leased, A) == 1
    assert leased.state() == {
        job_key(PARENT): RELEASED,
        DEPENDENCIES: "0",
        PROCESSED: {A.decode(): A.decode(), B.decode(): B.decode()},
        "pending": ids(PARENT),
        "metrics:completed": {"count": "2"},
    }
    assert [PARENT, b"p", 1] == leased.ask("claim", lease_ms=9)


def test_a_repeated_completion_decrements_nothing(leased: Bench) -> None:
    """The row is gone: 0, by the old token or another, before the release and after it."""
    complete(leased, A)
    with leased.nothing_written():
        assert [0, 0] == [complete(leased, A, token) for token in (1, 2)]
    complete(leased, B)
    with leased.nothing_written():
        assert [0, 0] == [complete(leased, one) for one in (A, B)]


def test_a_parent_is_never_released_twice(leased: Bench) -> None:
    """Nor is it put back in line once it is leased, or done, by whatever its children's workers send again."""
    for one in (A, B):
        complete(leased, one)
    lease_all(leased)
    with leased.nothing_written():
        assert [0, 0] == [complete(leased, one) for one in (A, B)]
    assert complete(leased, PARENT) == 1
    with leased.nothing_written():
        assert [0, 0] == [complete(leased, one) for one in (A, B)]
    assert lease_all(leased) == []


def test_a_stale_child_decrements_nothing(leased: Bench) -> None:
    """A worker whose job was claimed again is refused; only the new holder counts."""
    leased.ends(A, 0)
    leased.ask("reap")
    assert [A] == lease_all(leased)
    with leased.nothing_written():
        assert ErrorReply("EMQSTALE complete token mismatch") == complete(leased, A)
    assert complete(leased, A, 2) == 1
    assert leased.state()[DEPENDENCIES] == "1"


def test_a_failed_child_that_tries_again_tells_nothing(leased: Bench) -> None:
    """Below the cap the parent hears nothing; the later completion counts once."""
    with_parent = {name: held for name, held in leased.state().items() if name.startswith(job_key(PARENT))}
    assert fail(leased, A) == b"scheduled"
    assert with_parent.items() <= leased.state().items()
    leased.ask("promote", batch=9)
    lease_all(leased)
    assert complete(leased, A, 2) == 1
    assert leased.state()[DEPENDENCIES] == "1"


@pytest.mark.parametrize("cap", [2, 1], ids=["recovered", "dead"])
def test_a_child_completed_while_not_active_tells_nothing(leased: Bench, cap: int) -> None:
    """Its lease was swept: the row goes and is counted as completed, and the parent waits for ever."""
    leased.ends(A, 0)
    leased.ask("stalled_check", max_stalled=cap, limit=1)
    assert complete(leased, A) == 1
    assert complete(leased, B) == 1
    state = leased.state()
    assert ("1", WAITS, {B.decode(): B.decode()}) == (state[DEPENDENCIES], state[job_key(PARENT)], state[PROCESSED])
    assert {"pending", job_key(A), job_key(B)}.isdisjoint(state)
    assert {"count": "2"} == state["metrics:completed"]


def test_a_child_completed_by_token_0_tells_nothing(scripted: Bench) -> None:
    """Hazard 11 in a flow: never claimed is not active."""
    add_flow(scripted, A)
    assert complete(scripted, A, 0) == 1
    assert scripted.state() == {job_key(PARENT): WAITS, DEPENDENCIES: "1", "metrics:completed": {"count": "1"}}


def test_a_sweep_that_kills_a_child_leaves_the_parent_waiting(leased: Bench) -> None:
    """Hazard 9: the child is a dead letter, its sibling is done, and nobody ever tells the parent."""
    complete(leased, B)
    leased.ends(A, 0)
    assert [[], [A]] == leased.ask("stalled_check", max_stalled=1, limit=9)
    state = leased.state()
    assert (WAITS, "1", ids(A)) == (state[job_key(PARENT)], state[DEPENDENCIES], state["dead"])
    assert f"{job_key(PARENT)}:failed" not in state


def test_a_child_that_is_reprocessed_releases_after_all(leased: Bench) -> None:
    """What ends hazard 9: the dead letter is revived, claimed and completed."""
    complete(leased, B)
    leased.ends(A, 0)
    leased.ask("stalled_check", max_stalled=1, limit=9)
    leased.ask("reprocess", id=A)
    lease_all(leased)
    assert complete(leased, A, 2) == 1
    assert ids(PARENT) == leased.state()["pending"]


# ---------------------------------------------------------------- results


@pytest.mark.parametrize("result", ["tea", "", "\x00\xff", "{p}"])
def test_a_result_is_kept(leased: Bench, result: str) -> None:
    """Any bytes, the empty text too; a sibling that gives none is kept with its id."""
    complete(leased, A, result=result)
    complete(leased, B)
    assert {A.decode(): result, B.decode(): B.decode()} == leased.state()[PROCESSED]


def test_a_result_of_a_flat_job_is_kept_nowhere(scripted: Bench) -> None:
    """Nobody waits for it."""
    scripted.leased(A)
    assert complete(scripted, A, 2, result="tea") == 1
    assert scripted.state() == {"metrics:completed": {"count": "1"}}


def test_a_released_parent_keeps_its_results_when_it_is_done(scripted: Bench) -> None:
    """Its own completion deletes its row alone: count and results stay behind."""
    add_flow(scripted, A)
    lease_all(scripted)
    complete(scripted, A, result="tea")
    lease_all(scripted)
    assert complete(scripted, PARENT) == 1
    assert scripted.state() == {
        DEPENDENCIES: "0",
        PROCESSED: {A.decode(): "tea"},
        "metrics:completed": {"count": "2"},
    }


# ---------------------------------------------------------------- odd rows


def test_a_child_that_has_a_group_too(scripted: Bench) -> None:
    """Its slot is freed, its lane is rung, and its parent is told."""
    add_flow(scripted, A)
    lease_all(scripted)
    scripted.put("HSET", "{p}" + job_key(A), "group", "g")
    scripted.put("HSET", "{p}gactive", "g", "1")
    scripted.row(C, group="g")
    scripted.member(lane("g"), C)
    assert ({"g": 1}, {"g": 1}) == slots(scripted.state())
    assert complete(scripted, A) == 1
    state = scripted.state()
    assert (["g"], ids(PARENT), {A.decode(): A.decode()}) == (state["ring"], state["pending"], state[PROCESSED])
    assert "gactive" not in state


def test_a_child_with_a_group_that_waits_in_its_lane(scripted: Bench) -> None:
    """Not active: it leaves its lane, and the parent hears nothing."""
    add_flow(scripted, A)
    scripted.put("DEL", "{p}pending")
    scripted.put("HSET", "{p}" + job_key(A), "group", "g")
    scripted.member(lane("g"), A)
    assert complete(scripted, A, 0) == 1
    assert scripted.state() == {job_key(PARENT): WAITS, DEPENDENCIES: "1", "metrics:completed": {"count": "1"}}


def test_an_empty_parent_is_none(scripted: Bench) -> None:
    """The script completes such a row as a flat one and touches no key of the job with the empty id."""
    scripted.leased(A, parent="")
    assert complete(scripted, A, 2) == 1
    assert scripted.state() == {"metrics:completed": {"count": "1"}}


def test_a_parent_that_is_gone_comes_to_life(scripted: Bench) -> None:
    """The last completion writes its state: a row that holds nothing else, in line."""
    scripted.leased(A, parent=PARENT)
    assert complete(scripted, A, 2) == 1
    state = scripted.state()
    assert ({"state": "pending"}, "-1", ids(PARENT)) == (state[job_key(PARENT)], state[DEPENDENCIES], state["pending"])


@pytest.mark.parametrize("report", [complete, fail])
def test_a_row_that_is_no_hash(scripted: Bench, report: Callable[..., object]) -> None:
    """The host's look meets a wrong type, leaves it to the script, and that says the same; nothing is written."""
    scripted.spoil(job_key(A))
    scripted.member("active", A)
    with scripted.nothing_written():
        assert report(scripted, A) == WRONGTYPE
