"""Children that die at the cap, and what their parent hears of it: fp and id (SPEC 4.4, 7). Scripts only."""

import pytest

from tests.transitions.bench import A, B, Bench, C, ids, job_key
from tests.transitions.lanes import (
    DEPENDENCIES,
    FAILED,
    KILLED,
    PARENT,
    RELEASED,
    UNSUCCESSFUL,
    WAITS,
    complete,
    die,
    fail,
    flow,
    lane,
    lease_all,
    parents,
)

# ---------------------------------------------------------------- fp: the parent fails too


@pytest.mark.parametrize("policy", ["fp", ""])
def test_a_child_that_dies_kills_its_parent(scripted: Bench, policy: str) -> None:
    """fp, and no policy is fp: the child's error is kept, the parent is a dead letter without one of its own."""
    flow(scripted, policy, A, B)
    die(scripted, A)
    assert {job_key(PARENT): KILLED, DEPENDENCIES: "2", FAILED: {A.decode(): "boom"}} == parents(scripted)
    state = scripted.state()
    assert (ids(A, PARENT), {"count": "1"}) == (state["dead"], state["metrics:failed"])
    row = scripted.read_row(A)
    assert ("dead", "boom") == (row["state"], row["last_error"])


def test_two_children_that_die_kill_the_parent_once(scripted: Bench) -> None:
    """It stands once among the dead, the metric counts the children only, and both errors are kept."""
    flow(scripted, "fp", A, B)
    for one in (A, B):
        die(scripted, one)
    state = scripted.state()
    assert (ids(A, B, PARENT), {"count": "2"}) == (state["dead"], state["metrics:failed"])
    assert (KILLED, {A.decode(): "boom", B.decode(): "boom"}) == (state[job_key(PARENT)], state[FAILED])


def test_a_killed_parent_is_not_released_by_the_others(scripted: Bench) -> None:
    """The dead child is still counted as missing, so the count does not come down to 0."""
    flow(scripted, "fp", A, B, C)
    die(scripted, A)
    for one in (B, C):
        complete(scripted, one)
    state = scripted.state()
    assert (KILLED, "1", ids(A, PARENT)) == (state[job_key(PARENT)], state[DEPENDENCIES], state["dead"])
    assert "pending" not in state


def test_a_parent_that_waits_in_line_is_taken_out_of_it(scripted: Bench) -> None:
    """Released by mistake or by hand: its place in pending goes when a child dies."""
    flow(scripted, "fp", A)
    scripted.member("pending", PARENT)
    scripted.member("pending", C)
    die(scripted, A)
    assert ids(C) == scripted.state()["pending"]


def test_a_child_dies_though_it_is_not_active(scripted: Bench) -> None:
    """Recovered by a sweep and failed by its old holder: the parent is told all the same."""
    flow(scripted, "fp", A)
    scripted.ends(A, 0)
    scripted.ask("reap")
    die(scripted, A)
    state = scripted.state()
    assert (ids(A, PARENT), {A.decode(): "boom"}) == (state["dead"], state[FAILED])
    assert "pending" not in state


@pytest.mark.parametrize("stored", ["", "fail", "ID", "id "])
def test_a_stored_policy_that_is_none(scripted: Bench, stored: str) -> None:
    """Whatever is not ``id`` reads as fp."""
    flow(scripted, "", A)
    scripted.put("HSET", "{p}" + job_key(A), "parent_policy", stored)
    die(scripted, A)
    assert ids(A, PARENT) == scripted.state()["dead"]


# ---------------------------------------------------------------- id: the parent goes on without


def test_a_child_that_dies_counts_as_done(scripted: Bench) -> None:
    """id: the error is kept, the count goes down, the parent waits for the rest."""
    flow(scripted, "id", A, B)
    die(scripted, A)
    assert {job_key(PARENT): WAITS, DEPENDENCIES: "1", UNSUCCESSFUL: {A.decode(): "boom"}} == parents(scripted)
    assert (ids(A), {"count": "1"}) == (scripted.state()["dead"], scripted.state()["metrics:failed"])
    complete(scripted, B)
    assert (ids(PARENT), RELEASED) == (scripted.state()["pending"], scripted.read_row(PARENT))


def test_the_last_child_that_dies_releases_the_parent(scripted: Bench) -> None:
    """The release does not ask how the children ended."""
    flow(scripted, "id", A, B)
    complete(scripted, A)
    die(scripted, B)
    state = scripted.state()
    assert (ids(PARENT), ids(B), RELEASED, "0") == (
        state["pending"],
        state["dead"],
        state[job_key(PARENT)],
        state[DEPENDENCIES],
    )


@pytest.mark.parametrize("policy", ["fp", "id"])
def test_below_the_cap_the_parent_hears_nothing(scripted: Bench, policy: str) -> None:
    """A retry is none of its business."""
    flow(scripted, policy, A)
    before = parents(scripted)
    assert fail(scripted, A) == b"scheduled"
    assert before == parents(scripted)


@pytest.mark.parametrize(("policy", "told"), [("fp", {FAILED}), ("id", {UNSUCCESSFUL, "pending"})])
def test_a_child_with_a_group_frees_its_slot_and_tells_its_parent(scripted: Bench, policy: str, told: set[str]) -> None:
    """Both bookkeepings, the lane's first."""
    flow(scripted, policy, A)
    scripted.put("HSET", "{p}" + job_key(A), "group", "g")
    scripted.put("HSET", "{p}gactive", "g", "1")
    scripted.row(C, group="g")
    scripted.member(lane("g"), C)
    die(scripted, A)
    state = scripted.state()
    assert told <= set(state)
    assert (["g"], ["1"]) == (state["ring"], state["wake"])
    assert "gactive" not in state


@pytest.mark.parametrize("policy", ["fp", "id"])
def test_an_empty_parent_is_none(scripted: Bench, policy: str) -> None:
    """The child dies as a flat job does."""
    scripted.leased(A, parent="", parent_policy=policy)
    die(scripted, A, 2)
    assert {job_key(A), "dead", "metrics:failed"} == set(scripted.state())
    assert ids(A) == scripted.state()["dead"]


# ---------------------------------------------------------------- hazard 13


def test_a_second_fail_at_the_cap_tells_again(scripted: Bench) -> None:
    """Hazard 13, id: one dead child is counted twice, and its parent starts while another child still works."""
    flow(scripted, "id", A, B)
    die(scripted, A)
    die(scripted, A)
    state = scripted.state()
    assert ("0", ids(PARENT), {"count": "2"}) == (state[DEPENDENCIES], state["pending"], state["metrics:failed"])
    assert [B.decode()] == list(state["active"])


def test_a_second_fail_at_the_cap_puts_a_parent_that_is_done_in_line(scripted: Bench) -> None:
    """Hazard 13, id: the parent is long gone, and comes to life as a row that holds only a state."""
    flow(scripted, "id", A)
    die(scripted, A)
    lease_all(scripted)
    assert complete(scripted, PARENT) == 1
    die(scripted, A)
    state = scripted.state()
    assert ({"state": "pending"}, ids(PARENT), "-1") == (state[job_key(PARENT)], state["pending"], state[DEPENDENCIES])


def test_a_second_fail_at_the_cap_kills_a_parent_that_was_revived(scripted: Bench) -> None:
    """Hazard 13, fp: the parent was put back in line by hand, and is taken out again."""
    flow(scripted, "fp", A)
    die(scripted, A)
    assert scripted.ask("reprocess", id=PARENT) == 1
    die(scripted, A)
    state = scripted.state()
    assert (KILLED, ids(A, PARENT)) == (state[job_key(PARENT)], state["dead"])
    assert "pending" not in state


def test_a_missing_parent_comes_to_life_dead(scripted: Bench) -> None:
    """Hazard 13, fp: a row that holds only ``state``, among the dead; reprocess finds it there."""
    scripted.leased(A, parent=PARENT)
    die(scripted, A, 2)
    assert {job_key(PARENT): {"state": "dead"}, FAILED: {A.decode(): "boom"}} == parents(scripted)
    assert ids(A, PARENT) == scripted.state()["dead"]
    assert scripted.ask("reprocess", id=PARENT) == 1


def test_a_dead_child_that_is_revived_and_done_releases_a_dead_parent(scripted: Bench) -> None:
    """The count was never told of the death: the parent stands among the dead and in line at once."""
    flow(scripted, "fp", A)
    die(scripted, A)
    scripted.ask("reprocess", id=A)
    lease_all(scripted)
    assert complete(scripted, A, 2) == 1
    state = scripted.state()
    assert (ids(PARENT), ids(PARENT), RELEASED) == (state["dead"], state["pending"], state[job_key(PARENT)])


def test_a_dead_parent_is_released_by_the_last_death_of_an_ignored_child(scripted: Bench) -> None:
    """Under id nobody looks what has become of the parent: it stands in line, and among the dead as well."""
    flow(scripted, "id", A)
    scripted.member("dead", PARENT)
    scripted.put("HSET", f"{{p}}{job_key(PARENT)}", "state", "dead")
    die(scripted, A)
    state = scripted.state()
    assert (RELEASED, "0") == (state[job_key(PARENT)], state[DEPENDENCIES])
    assert (ids(PARENT), ids(A, PARENT)) == (state["pending"], state["dead"])


@pytest.mark.parametrize("way", ["complete", "die"])
def test_a_parent_that_is_released_goes_to_its_place_in_line(scripted: Bench, way: str) -> None:
    """Its score is 0 then, also if it stood there with another."""
    flow(scripted, "id", A)
    scripted.member("pending", PARENT, 5)
    (complete if way == "complete" else die)(scripted, A)
    assert ids(PARENT) == scripted.state()["pending"]
