"""lane_claim: the next group on the ring, and the head of its lane (SPEC 4.3). Scripts only."""

from typing import Any

import pytest
import redis

from emqlab.replies import ErrorReply
from tests.transitions.bench import BAD_COUNTERS, SCRIPT_ERROR, WRONGTYPE, A, B, Bench, C, ids, job_key
from tests.transitions.lanes import claim, enqueue, lane, ring, row, turns

LEASED = {job_key(A): row("g", "active", 1)}


def test_leases_the_head_of_the_lane(scripted: Bench) -> None:
    """The id moves from its lane to active, token and slot are counted, and the group goes to the ring's end."""
    enqueue(scripted, "g", B, A)
    enqueue(scripted, "h", C)
    assert [A, b"p", 1, b"g"] == claim(scripted, 5_000)
    assert scripted.state() == {
        **LEASED,
        job_key(B): row("g"),
        job_key(C): row("h"),
        "active": {A.decode(): scripted.now + 5_000},
        "gactive": {"g": "1"},
        lane("g"): ids(B),
        lane("h"): ids(C),
        "ring": ["h", "g"],
        "wake": ["1", "1"],
    }


def test_an_emptied_lane_leaves_the_ring(scripted: Bench) -> None:
    """The last job is given away: the group waits off the ring until somebody rings it."""
    enqueue(scripted, "g", A)
    assert [A, b"p", 1, b"g"] == claim(scripted)
    assert {**LEASED, "active": {A.decode(): scripted.now + 30_000}, "gactive": {"g": "1"}, "wake": ["1"]} == (
        scripted.state()
    )


def test_an_empty_ring(scripted: Bench) -> None:
    """Nothing to serve is an empty list; a lane that nobody rang and the flat line are not looked at."""
    scripted.waiting(A)
    scripted.row(B, group="g")
    scripted.member(lane("g"), B)
    with scripted.nothing_written():
        assert claim(scripted) == []


def test_a_group_with_an_empty_lane_leaves_the_ring(scripted: Bench) -> None:
    """Its turn is spent, every mention of it goes, and the next claim serves the next group."""
    scripted.put("RPUSH", "{p}ring", "g", "h", "g")
    scripted.row(A, attempts=0, payload="p", group="h")
    scripted.member(lane("h"), A)
    assert claim(scripted) == []
    assert ["h"] == ring(scripted)
    assert [A, b"p", 1, b"h"] == claim(scripted)


def test_every_mention_of_an_emptied_lane_leaves_the_ring(scripted: Bench) -> None:
    """Also those that a foreign hand has put there, with its last job as with its last free slot."""
    scripted.put("RPUSH", "{p}ring", "g", "h", "g")
    enqueue(scripted, "g", A)
    claim(scripted)
    assert ["h"] == ring(scripted)
    scripted.put("RPUSH", "{p}ring", "h")
    enqueue(scripted, "h", B, C)
    scripted.ask("lane_limit", group="h", limit=1)
    claim(scripted)
    assert [] == ring(scripted)


def test_a_ghost_spends_a_turn(scripted: Bench) -> None:
    """An id without a row is popped and gets neither row, lease nor slot; its group keeps its place on the ring."""
    scripted.member(lane("g"), A)
    enqueue(scripted, "g", B)
    enqueue(scripted, "h", C)
    assert claim(scripted) == []
    state = scripted.state()
    assert (["h", "g"], ids(B)) == (state["ring"], state[lane("g")])
    assert {"active", "gactive", job_key(A)}.isdisjoint(state)
    assert turns(scripted, 3) == "hg."


def test_a_ghost_alone_in_its_lane(scripted: Bench) -> None:
    """The group stays on the ring, and its next turn takes it off."""
    scripted.member(lane("g"), A)
    scripted.put("RPUSH", "{p}ring", "g")
    assert (claim(scripted), ring(scripted)) == ([], ["g"])
    assert (claim(scripted), scripted.state()) == ([], {})


@pytest.mark.parametrize("value", ["1", "0", "", "no"])
def test_a_paused_queue_gives_no_lane(scripted: Bench, value: str) -> None:
    """Any value of ``paused`` pauses the lanes with the flat line; the ring does not turn."""
    enqueue(scripted, "g", A)
    enqueue(scripted, "h", B)
    scripted.put("HSET", "{p}meta", "paused", value)
    with scripted.nothing_written():
        assert claim(scripted) == []
    scripted.ask("resume")
    assert turns(scripted, 2) == "gh"


def test_a_meta_of_a_wrong_type_pauses(scripted: Bench) -> None:
    """The host reads an error reply as paused; a meta with other fields is none."""
    enqueue(scripted, "g", A)
    scripted.spoil("meta")
    with scripted.nothing_written():
        assert claim(scripted) == []
    scripted.put("DEL", "{p}meta")
    scripted.put("HSET", "{p}meta", "colour", "red")
    assert [A, b"p", 1, b"g"] == claim(scripted)


def test_a_pause_read_that_is_lost(scripted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken connection reads as not paused, as it does for the flat claim."""
    enqueue(scripted, "g", A)
    scripted.put("HSET", "{p}meta", "paused", "1")
    send: Any = scripted.lab.client.execute_command

    def lossy(*command: Any, **options: Any) -> Any:
        if command[0] in (b"HGET", "HGET"):
            raise redis.ConnectionError("gone")
        return send(*command, **options)

    monkeypatch.setattr(scripted.lab.client, "execute_command", lossy)
    assert [A, b"p", 1, b"g"] == claim(scripted)


def test_a_row_without_payload(scripted: Bench) -> None:
    """A missing payload is nil in the middle of the reply; the group still comes behind the token."""
    scripted.row(A, attempts=4)
    scripted.member(lane("g"), A)
    scripted.put("RPUSH", "{p}ring", "g")
    assert [A, None, 5, b"g"] == claim(scripted)


def test_the_rings_group_counts_and_not_the_rows(scripted: Bench) -> None:
    """The slot is taken from the lane that was served; the row's own field is not read."""
    scripted.row(A, attempts=0, payload="p", group="h")
    scripted.member(lane("g"), A)
    scripted.put("RPUSH", "{p}ring", "g")
    assert [A, b"p", 1, b"g"] == claim(scripted)
    assert {"g": "1"} == scripted.state()["gactive"]


@pytest.mark.parametrize(
    ("spoiled", "left"),
    [
        (job_key(A), {"ring": ["g"], lane("g"): ids(B)}),
        ("active", {**LEASED, "ring": ["g"], lane("g"): ids(B)}),
        ("gactive", {**LEASED, "ring": ["g"], lane("g"): ids(B), "active": {A.decode(): 30_000}}),
        ("glimit", {**LEASED, "ring": ["g"], lane("g"): ids(B), "active": {A.decode(): 30_000}, "gactive": {"g": "1"}}),
    ],
)
def test_a_wrong_type_stops_it_there(scripted: Bench, spoiled: str, left: dict[str, Any]) -> None:
    """What ran before stays: the turn, the pop, token and state, the lease, the slot."""
    enqueue(scripted, "g", A, B)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert claim(scripted) == WRONGTYPE
    if "active" in left:
        left = {**left, "active": {A.decode(): scripted.now + 30_000}}
    assert {job_key(B): row("g"), "wake": ["1"], **left, spoiled: "spoiled"} == scripted.state()


def test_glimit_does_not_matter_to_a_lane_that_is_empty(scripted: Bench) -> None:
    """The lane is asked first, and empty is reason enough to leave the ring."""
    enqueue(scripted, "g", A)
    scripted.spoil("glimit")
    assert [A, b"p", 1, b"g"] == claim(scripted)
    assert [] == ring(scripted)


@pytest.mark.parametrize("spoiled", ["ring", lane("g")])
def test_a_ring_or_lane_of_a_wrong_type(scripted: Bench, spoiled: str) -> None:
    """Both stop it before anything is lost."""
    scripted.row(A, group="g")
    scripted.put("RPUSH", "{p}ring", "g")
    scripted.member(lane("g"), A)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    with scripted.nothing_written():
        assert claim(scripted) == WRONGTYPE


@pytest.mark.parametrize(("stored", "words"), BAD_COUNTERS)
def test_a_bad_attempts_loses_the_job(scripted: Bench, stored: str, words: ErrorReply) -> None:
    """The id is popped by then, and no slot is taken."""
    scripted.row(A, attempts=stored, group="g")
    scripted.member(lane("g"), A)
    scripted.put("RPUSH", "{p}ring", "g")
    assert words == claim(scripted)
    assert {job_key(A): {"attempts": stored, "group": "g"}, "ring": ["g"]} == scripted.state()


def test_a_lease_that_is_no_number_loses_the_job(scripted: Bench) -> None:
    """The lease is first used in the deadline: the id is popped, counted and marked; its slot is not taken."""
    enqueue(scripted, "g", A)
    assert SCRIPT_ERROR == claim(scripted, "soon")
    assert {**LEASED, "ring": ["g"], "wake": ["1"]} == scripted.state()


def test_a_limit_that_is_no_number(scripted: Bench) -> None:
    """It is compared when lease and slot are there already, and only while the lane holds more."""
    enqueue(scripted, "g", A, B)
    scripted.put("HSET", "{p}glimit", "g", "many")
    assert SCRIPT_ERROR == claim(scripted)
    state = scripted.state()
    assert ({A.decode(): scripted.now + 30_000}, {"g": "1"}, ["g"]) == (
        state["active"],
        state["gactive"],
        state["ring"],
    )
    assert [B, b"p", 1, b"g"] == claim(scripted)


def test_attempts_below_zero_are_counted_on(scripted: Bench) -> None:
    """The token is what HINCRBY makes of them."""
    enqueue(scripted, "g", A)
    scripted.put("HSET", f"{{p}}{job_key(A)}", "attempts", -7)
    assert [A, b"p", -6, b"g"] == claim(scripted)
