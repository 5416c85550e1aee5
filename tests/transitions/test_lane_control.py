"""lane_pause, lane_resume, lane_limit: who on the ring may be served (SPEC 4.3). Scripts only."""

import pytest

from tests.transitions.bench import SCRIPT_ERROR, WRONGTYPE, A, B, Bench, C, ids
from tests.transitions.lanes import claim, complete, enqueue, fields, job, lane, ring, turns


def test_a_paused_lane_keeps_its_backlog_and_the_others_are_served_on(scripted: Bench) -> None:
    """The group leaves the ring, its jobs stay where they are."""
    enqueue(scripted, "g", job(1), job(2))
    enqueue(scripted, "h", job(3), job(4))
    assert scripted.ask("lane_pause", group="g") == 1
    assert turns(scripted, 3) == "hh."
    state = scripted.state()
    assert ({"g"}, ids(job(1), job(2))) == (state["paused"], state[lane("g")])


def test_a_paused_lane_takes_new_jobs_and_is_not_rung(scripted: Bench) -> None:
    """Neither by an enqueue nor by a completion of a job it has out."""
    enqueue(scripted, "g", A, B)
    claim(scripted)
    scripted.ask("lane_pause", group="g")
    enqueue(scripted, "g", C)
    assert complete(scripted, A) == 1
    assert ([], ids(B, C)) == (ring(scripted), scripted.state()[lane("g")])
    assert claim(scripted) == []


def test_a_resumed_lane_is_rung(scripted: Bench) -> None:
    """Behind those on the ring, with a wake-up of its own, and its backlog in its order."""
    enqueue(scripted, "g", A, B)
    scripted.ask("lane_pause", group="g")
    enqueue(scripted, "h", C)
    assert scripted.ask("lane_resume", group="g") == 1
    state = scripted.state()
    assert (["h", "g"], ["1", "1", "1"]) == (state["ring"], state["wake"])
    assert "paused" not in state
    assert [C, A, B] == [claim(scripted)[0] for _ in range(3)]


def test_pausing_and_resuming_twice(scripted: Bench) -> None:
    """The answer is 1 each time; a second resume rings nobody."""
    enqueue(scripted, "g", A)
    assert [scripted.ask("lane_pause", group="g") for _ in range(2)] == [1, 1]
    assert [scripted.ask("lane_resume", group="g") for _ in range(2)] == [1, 1]
    assert (["g"], ["1", "1"]) == (ring(scripted), scripted.state()["wake"])


def test_pausing_a_lane_that_is_not_there(scripted: Bench) -> None:
    """The pause is remembered for the day that the lane has a job; resuming an empty lane rings nobody."""
    assert scripted.ask("lane_pause", group="g") == 1
    enqueue(scripted, "g", A)
    assert claim(scripted) == []
    assert scripted.ask("lane_pause", group="h") == scripted.ask("lane_resume", group="h") == 1
    assert ({"g"}, []) == (scripted.state()["paused"], ring(scripted))


def test_a_pause_takes_every_mention_off_the_ring(scripted: Bench) -> None:
    """Also those that a foreign hand has put there."""
    scripted.put("RPUSH", "{p}ring", "g", "h", "g")
    scripted.ask("lane_pause", group="g")
    assert ["h"] == ring(scripted)


def test_a_paused_lane_is_not_the_paused_queue(scripted: Bench) -> None:
    """The set ``paused`` is about lanes: the flat line goes on."""
    scripted.waiting(A)
    scripted.ask("lane_pause", group="g")
    assert [A, b"p", 1] == scripted.ask("claim", lease_ms=1)


# ---------------------------------------------------------------- limits


def test_a_lane_at_its_limit_is_skipped(scripted: Bench) -> None:
    """It leaves the ring with its last free slot; the others have its turns."""
    enqueue(scripted, "g", *map(job, range(5)))
    enqueue(scripted, "h", *map(job, range(5, 10)))
    scripted.ask("lane_limit", group="g", limit=2)
    assert turns(scripted, 8) == "ghghhhh."
    state = scripted.state()
    assert ({"g": "2", "h": "5"}, 3) == (state["gactive"], len(fields(state, lane("g"))))


def test_a_raised_limit_rings(scripted: Bench) -> None:
    """A lane that stood at its limit is served up to the new one."""
    enqueue(scripted, "g", *map(job, range(5)))
    assert scripted.ask("lane_limit", group="g", limit=1) == 1
    assert turns(scripted, 2) == "g."
    assert scripted.ask("lane_limit", group="g", limit=3) == 1
    assert turns(scripted, 3) == "gg."
    assert {"g": "3"} == scripted.state()["glimit"]


@pytest.mark.parametrize("limit", ["0", "1"])
def test_a_limit_that_leaves_no_slot_rings_nobody(scripted: Bench, limit: str) -> None:
    """One job is out: neither 1 nor 0 is above that."""
    enqueue(scripted, "g", A, B)
    scripted.ask("lane_limit", group="g", limit=1)
    claim(scripted)
    assert scripted.ask("lane_limit", group="g", limit=limit) == 1
    assert [] == ring(scripted)


def test_a_lowered_limit_is_noticed_after_the_lanes_next_turn(scripted: Bench) -> None:
    """The limit is asked behind the slot: a lane on the ring has one turn more, even at a limit of none."""
    enqueue(scripted, "g", A, B)
    scripted.ask("lane_limit", group="g", limit=0)
    assert ["g"] == ring(scripted)
    assert turns(scripted, 2) == "g."


def test_the_slots_above_a_lowered_limit_are_worked_off(scripted: Bench) -> None:
    """Completions ring the lane only when fewer jobs are out than the new limit."""
    enqueue(scripted, "g", *map(job, range(5)))
    assert turns(scripted, 3) == "ggg"
    scripted.put("DEL", "{p}ring")
    scripted.ask("lane_limit", group="g", limit=2)
    rung = []
    for number in range(3):
        complete(scripted, job(number))
        rung.append(ring(scripted) == ["g"])
    assert [False, True, True] == rung


def test_a_limit_of_a_paused_lane(scripted: Bench) -> None:
    """Raising it does not resume the lane."""
    enqueue(scripted, "g", A)
    scripted.ask("lane_pause", group="g")
    scripted.ask("lane_limit", group="g", limit=9)
    assert (claim(scripted), ring(scripted)) == ([], [])


# ---------------------------------------------------------------- where they stop


@pytest.mark.parametrize(
    ("spoiled", "left"), [("paused", {"ring": ["g"]}), ("ring", {"paused": {"g"}})], ids=["paused", "ring"]
)
def test_a_pause_that_meets_a_wrong_type(scripted: Bench, spoiled: str, left: dict[str, object]) -> None:
    """The set first, then the ring."""
    scripted.put("RPUSH", "{p}ring", "g")
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert scripted.ask("lane_pause", group="g") == WRONGTYPE
    assert {**left, spoiled: "spoiled"} == scripted.state()


@pytest.mark.parametrize("spoiled", ["paused", lane("g"), "glimit", "ring", "wake"])
def test_a_resume_that_meets_a_wrong_type(scripted: Bench, spoiled: str) -> None:
    """The pause is lifted before the lane is looked at; the ring is pushed before the wake-up."""
    scripted.put("SADD", "{p}paused", "g")
    scripted.member(lane("g"), A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert scripted.ask("lane_resume", group="g") == WRONGTYPE
    left = {lane("g"): ids(A), spoiled: "spoiled"}
    assert (left if spoiled != "wake" else {**left, "ring": ["g"]}) == scripted.state()


@pytest.mark.parametrize("spoiled", ["glimit", "paused", lane("g"), "gactive", "ring", "wake"])
def test_a_limit_that_meets_a_wrong_type(scripted: Bench, spoiled: str) -> None:
    """The limit is kept by everything but a glimit that cannot hold it."""
    scripted.member(lane("g"), A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert scripted.ask("lane_limit", group="g", limit=5) == WRONGTYPE
    left = {lane("g"): ids(A), "glimit": {"g": "5"}, spoiled: "spoiled"}
    assert (left if spoiled != "wake" else {**left, "ring": ["g"]}) == scripted.state()


@pytest.mark.parametrize("limit", ["many", "", "1 2"])
def test_a_limit_that_is_no_number(scripted: Bench, limit: str) -> None:
    """It is kept as it is, and stops the script where it is first compared: not before the lane holds a job."""
    assert scripted.ask("lane_limit", group="g", limit=limit) == 1
    scripted.member(lane("g"), A)
    assert SCRIPT_ERROR == scripted.ask("lane_limit", group="g", limit=limit)
    assert {"glimit": {"g": limit}, lane("g"): ids(A)} == scripted.state()


@pytest.mark.parametrize(
    ("limit", "slots"), [("2", 2), (" 2 ", 2), ("0x2", 2), ("2e0", 2), ("1.5", 2), ("-1", 0), ("nan", 0)]
)
def test_what_lua_takes_for_a_number(scripted: Bench, limit: str, slots: int) -> None:
    """As everywhere in the scripts: so many jobs are given out, and the lane is off the ring."""
    assert scripted.ask("lane_limit", group="g", limit=limit) == 1
    enqueue(scripted, "g", *map(job, range(4)))
    assert "g" * slots + "." == turns(scripted, slots + 1)
