"""Lanes across verbs: rotation, limits that free and ring, the hazards that lanes have (SPEC 4.3, 7). Scripts only."""

from collections.abc import Callable

import pytest

from tests.transitions.bench import A, B, Bench, C, ids
from tests.transitions.lanes import claim, complete, enqueue, fail, job, lane, ring, slots, turns

# ---------------------------------------------------------------- rotation


def test_lanes_are_served_in_strict_rotation(scripted: Bench) -> None:
    """A job a turn, whatever the backlogs: a group leaves the rotation with its last job and not before."""
    for group, backlog in (("a", range(10, 15)), ("b", range(20, 22)), ("c", range(30, 33))):
        enqueue(scripted, group, *map(job, backlog))
    assert turns(scripted, 11) == "abcabcacaa."


def test_a_lane_is_served_in_the_order_of_its_ids(scripted: Bench) -> None:
    """Within a lane byte order rules, as in the flat line; between lanes the ring does."""
    enqueue(scripted, "a", job(9), job(7), job(8))
    enqueue(scripted, "b", job(1))
    assert [job(7), job(1), job(8), job(9)] == [claim(scripted)[0] for _ in range(4)]


def test_who_arrives_between_two_claims_joins_the_rings_end(scripted: Bench) -> None:
    """A new group waits behind all that are there; a group that ran empty and comes again does too."""
    enqueue(scripted, "a", *map(job, range(10, 14)))
    enqueue(scripted, "b", job(20))
    assert turns(scripted, 1) == "a"
    enqueue(scripted, "c", job(30), job(31))
    assert turns(scripted, 1) == "b"
    enqueue(scripted, "b", job(21))
    assert turns(scripted, 6) == "acbaca"


def test_a_long_backlog_starves_nobody(scripted: Bench) -> None:
    """A hundred jobs in front: a newcomer is served with the second claim."""
    enqueue(scripted, "a", *map(job, range(100)))
    enqueue(scripted, "b", job(100))
    assert turns(scripted, 3) == "aba"


def test_the_flat_line_and_the_lanes_know_nothing_of_each_other(scripted: Bench) -> None:
    """Neither claim serves the other's jobs, and a flat completion rings nobody."""
    scripted.waiting(A)
    enqueue(scripted, "g", B)
    assert [[A, b"p", 1], []] == [scripted.ask("claim", lease_ms=9) for _ in range(2)]
    assert [[B, b"p", 1, b"g"], []] == [claim(scripted) for _ in range(2)]
    assert complete(scripted, A) == 1
    assert (["1"], {"g": "1"}) == (scripted.state()["wake"], scripted.state()["gactive"])


# ---------------------------------------------------------------- a slot that is freed


def reap(bench: Bench) -> None:
    """Take A's lease away, uncounted."""
    bench.ends(A, 0)
    assert bench.ask("reap") == 1


def sweep_below(bench: Bench) -> None:
    """Take A's lease away, counted and below the cap."""
    bench.ends(A, 0)
    assert [[A], []] == bench.ask("stalled_check", max_stalled=9, limit=10)


def sweep_at(bench: Bench) -> None:
    """Take A's lease away for the last time."""
    bench.ends(A, 0)
    assert [[], [A]] == bench.ask("stalled_check", max_stalled=1, limit=10)


def done(bench: Bench) -> None:
    """Complete A."""
    assert complete(bench, A) == 1


def failed(bench: Bench) -> None:
    """Fail A; it tries again."""
    assert fail(bench, A) == b"scheduled"


def died(bench: Bench) -> None:
    """Fail A for the last time."""
    assert fail(bench, A, cap=1) == b"dead"


@pytest.fixture
def full(scripted: Bench) -> Bench:
    """A lane at its limit of 1: A is leased, B waits, the group is off the ring."""
    scripted.ask("lane_limit", group="g", limit=1)
    enqueue(scripted, "g", A, B)
    assert turns(scripted, 2) == "g."
    return scripted


@pytest.mark.parametrize("frees", [done, failed, died, reap, sweep_below])
def test_a_lane_at_its_limit_is_rung_again_by_who_frees_a_slot(full: Bench, frees: Callable[[Bench], None]) -> None:
    """A completion, a retry, a last failure, a reap, a sweep below the cap: the group is rung once and served."""
    frees(full)
    state = full.state()
    assert (["g"], ["1", "1"]) == (state["ring"], state["wake"])
    assert "gactive" not in state
    assert turns(full, 2) == "g."
    assert ({"g": 1}, {"g": 1}) == slots(full.state())


@pytest.mark.parametrize("frees", [reap, sweep_below])
def test_a_lease_that_is_taken_away_goes_back_to_its_lane(full: Bench, frees: Callable[[Bench], None]) -> None:
    """In front of B, whose id is later; its old token is current until it is claimed again (hazard 1)."""
    frees(full)
    assert ids(A, B) == full.state()[lane("g")]
    assert complete(full, A) == 1
    assert (ids(B), ["g"]) == (full.state()[lane("g")], ring(full))


@pytest.mark.parametrize("frees", [done, failed, died])
def test_a_recovered_job_leaves_its_lane_and_frees_no_second_slot(
    scripted: Bench, frees: Callable[[Bench], None]
) -> None:
    """A is back in its lane, B has a lease: what A's old holder reports takes nothing from B's slot."""
    enqueue(scripted, "g", A, B)
    assert turns(scripted, 2) == "gg"
    reap(scripted)
    frees(scripted)
    state = scripted.state()
    assert ({"g": 1}, {"g": 1}) == slots(state)
    assert {lane("g"), "ring"}.isdisjoint(state)


@pytest.mark.parametrize("frees", [done, failed])
def test_an_emptied_lane_takes_every_mention_off_the_ring(scripted: Bench, frees: Callable[[Bench], None]) -> None:
    """A waiting job that is reported was the last of its lane; the other groups keep their places."""
    scripted.row(A, attempts="1", group="g")
    scripted.member(lane("g"), A)
    scripted.put("RPUSH", "{p}ring", "g", "h", "g")
    frees(scripted)
    assert ["h"] == ring(scripted)


def test_a_sweep_that_kills_frees_the_slot_and_rings_nobody(full: Bench) -> None:
    """Hazard 12: B waits, a slot is free, and no claim finds it."""
    sweep_at(full)
    state = full.state()
    assert {"gactive", "ring"}.isdisjoint(state)
    assert ids(B) == state[lane("g")]
    assert claim(full) == []


@pytest.mark.parametrize(
    ("verb", "values"),
    [
        ("lane_enqueue", {"id": C, "payload": "p", "group": "g"}),
        ("lane_resume", {"group": "g"}),
        ("lane_limit", {"group": "g", "limit": 1}),
    ],
)
def test_the_next_enqueue_resume_or_limit_finds_a_lane_that_nobody_rang(
    full: Bench, verb: str, values: dict[str, str | bytes | int]
) -> None:
    """What ends hazard 12."""
    sweep_at(full)
    assert full.ask(verb, **values) == 1
    assert [B, b"p", 1, b"g"] == claim(full)


def test_a_promoted_job_goes_to_its_lane_without_a_slot(full: Bench) -> None:
    """A failed lane job freed its slot when it failed: what comes due waits in the lane and counts for nothing."""
    fail(full, A, delay_ms=5)
    assert turns(full, 1) == "g"
    full.lab.advance_ms(5)
    assert full.ask("promote", batch=10) == 1
    state = full.state()
    assert ({"g": 1}, {"g": 1}) == slots(state)
    assert ids(A) == state[lane("g")]
    assert "ring" not in state


def test_a_slot_is_not_freed_twice(full: Bench) -> None:
    """A repeated completion and a stale token leave the new holder's slot alone."""
    done(full)
    claim(full)
    assert complete(full, A) == 0
    assert "EMQSTALE complete token mismatch" == complete(full, B, 7).text
    assert ({"g": 1}, {"g": 1}) == slots(full.state())


@pytest.mark.parametrize(("stored", "left"), [("3", "2"), ("2", "1"), ("1", None), ("0", None), ("-4", None)])
def test_gactive_goes_down_to_no_field(scripted: Bench, stored: str, left: str | None) -> None:
    """At 0 or below the field is gone, for a completion as for a sweep."""
    for frees in (done, sweep_at):
        scripted.put("HSET", "{p}gactive", "g", stored, "h", "9")
        scripted.leased(A, group="g", attempts="1")
        frees(scripted)
        assert {"h": "9", **({"g": left} if left else {})} == scripted.state()["gactive"]


# ---------------------------------------------------------------- hazard 10


def test_a_delayed_lane_row_keeps_its_slot(full: Bench) -> None:
    """Hazard 10: nobody holds a lease, the slot is taken, and the lane stands still, also when the job comes due."""
    assert full.ask("delay", id=A, token=1, mode="in", value=5) == 1
    assert ({"g": 1}, {}) == slots(full.state())
    full.lab.advance_ms(5)
    assert full.ask("promote", batch=10) == 1
    assert (ids(A, B), []) == (full.state()[lane("g")], ring(full))
    assert claim(full) == []


def test_a_reprocessed_lane_row_leaves_its_lane(scripted: Bench) -> None:
    """Hazard 10: it stands in the flat line, its flat claim takes no slot, and its completion frees another's."""
    enqueue(scripted, "g", A, B)
    claim(scripted)
    died(scripted)
    assert scripted.ask("reprocess", id=A) == 1
    assert (ids(A), ids(B)) == (scripted.state()["pending"], scripted.state()[lane("g")])
    assert [A, b"p", 2] == scripted.ask("claim", lease_ms=9_000)
    claim(scripted)
    assert ({"g": 1}, {"g": 2}) == slots(scripted.state())
    assert complete(scripted, A, 2) == 1
    assert ({}, {"g": 1}) == slots(scripted.state())
