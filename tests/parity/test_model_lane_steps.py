"""The third voice's scripts of lanes."""

from random import Random
from typing import Any

import pytest

from emqlab.parity.model import Error, Held, Reply, Unsupported, World, Zset, native, scripted
from tests.parity.test_model import KINDS, NOW_MS, A, B, C, P, ask, held, row, world

LANE_STEPS = ("lane_enqueue", "lane_claim", "lane_pause", "lane_resume", "lane_limit")


def add(where: World, job_id: bytes, group: bytes = b"g") -> Reply:
    """A new job of a group."""
    return ask(scripted, where, "lane_enqueue", id=job_id, group=group)


def claimed(where: World, **values: bytes) -> Any:
    """What a lane claim answers."""
    return ask(scripted, where, "lane_claim", **values)


def lane_waiting(more: dict[bytes, Held]) -> World:
    """A job that waits in the lane of g; the ring has g and h; and more keys by their names without the base."""
    keys: dict[bytes, Held] = {b"job:" + A: row(b"pending", b"0", group=b"g"), b"g:g:pending": Zset({A: 0.0})}
    return world(keys | {b"ring": [b"g", b"h"]} | more)


@pytest.mark.parametrize("verb", LANE_STEPS)
def test_a_lane_step_is_no_verb(verb: str) -> None:
    """Natively nothing is sent, so nothing changes."""
    where = lane_waiting({})
    before = where.copy()
    assert Unsupported(verb) == ask(native, where, verb, group=b"g")
    assert before.keys == where.keys


def test_a_lane_enqueue_fills_a_lane_and_rings_once() -> None:
    """The row names its group, pending is left alone, and the second job wakes nobody."""
    where = world({})
    assert [1, 1] == [add(where, A), add(where, B)]
    assert row(b"pending", b"0", group=b"g") == held(where, b"job:" + A)
    assert (Zset({A: 0.0, B: 0.0}), None) == (held(where, b"g:g:pending"), held(where, b"pending"))
    assert ([b"g"], [b"1"]) == (held(where, b"ring"), held(where, b"wake"))


def test_a_lane_enqueue_refuses_a_foreign_kind_before_it_looks_for_a_row() -> None:
    """Another kind is an error, any row under the id a duplicate; neither writes."""
    for content in KINDS:
        where = world({b"job:" + A: content, b"job:PAR00000000000": content})
        before = where.copy()
        assert Error(b"EMQKIND job id must be JOB-namespaced") == add(where, b"PAR00000000000")
        assert 0 == add(where, A)
        assert before.keys == where.keys


def test_a_lane_claim_leases_and_takes_a_slot() -> None:
    """The reply names the group; the lane has run empty, so the ring forgets it and keeps the others."""
    where = lane_waiting({})
    assert [A, b"p", 1, b"g"] == claimed(where, lease_ms=b"5")
    assert (row(b"active", group=b"g"), Zset({A: NOW_MS + 5.0})) == (held(where, b"job:" + A), held(where, b"active"))
    assert ({b"g": b"1"}, [b"h"]) == (held(where, b"gactive"), held(where, b"ring"))


def test_lanes_are_served_in_strict_rotation() -> None:
    """A long lane has one turn a round, and in each lane the oldest id is served."""
    where = world({})
    order = [(b"1", b"g"), (b"2", b"g"), (b"3", b"g"), (b"4", b"h"), (b"5", b"i"), (b"6", b"h")]
    for number, group in order:
        assert 1 == add(where, b"JOB0000000000" + number, group)
    turns = [claimed(where) for _ in range(7)]
    assert [b"g", b"h", b"i", b"g", b"h", b"g"] == [turn[3] for turn in turns[:6]]
    assert [b"1", b"4", b"5", b"2", b"6", b"3"] == [turn[0][-1:] for turn in turns[:6]]
    assert ([], None) == (turns[6], held(where, b"ring"))


def test_a_paused_lane_keeps_its_backlog() -> None:
    """It is served no more, grows, is rung by nobody, and goes on where it was."""
    where = world({})
    add(where, A)
    assert [1, 1] == [ask(scripted, where, "lane_pause", group=b"g") for _ in range(2)]
    assert (1, []) == (add(where, B), claimed(where))
    assert ({b"g"}, Zset({A: 0.0, B: 0.0})) == (held(where, b"paused"), held(where, b"g:g:pending"))
    assert [1, 1] == [ask(scripted, where, "lane_resume", group=b"g") for _ in range(2)]
    assert (None, [b"g"], A) == (held(where, b"paused"), held(where, b"ring"), claimed(where)[0])


def test_a_lane_at_its_limit_is_skipped_and_rung_again_by_a_completion() -> None:
    """With one slot the second job waits for the first one's end."""
    where = world({})
    assert 1 == ask(scripted, where, "lane_limit", group=b"g", limit=b"1")
    add(where, A)
    add(where, B)
    assert [A, []] == [claimed(where)[0], claimed(where)]
    assert (1, [b"g"]) == (ask(scripted, where, "complete"), held(where, b"ring"))
    assert B == claimed(where)[0]


def test_a_failure_frees_the_slot_of_a_lane_too() -> None:
    """Its own job is due later; the next one in the lane is served."""
    where = world({b"glimit": {b"g": b"1"}})
    add(where, A)
    add(where, B)
    claimed(where)
    assert (b"scheduled", None) == (ask(scripted, where, "fail"), held(where, b"gactive"))
    assert B == claimed(where)[0]


def test_a_raised_limit_rings_and_a_lowered_one_takes_nobody_off_the_ring() -> None:
    """Nobody looks at the limit before a job is taken: a group on the ring gets one more after its limit fell to 0."""
    where = lane_waiting({b"ring": [b"h"], b"glimit": {b"g": b"0"}})
    assert 1 == ask(scripted, where, "lane_limit", group=b"g", limit=b"1")
    assert [b"h", b"g"] == held(where, b"ring")
    assert 1 == ask(scripted, where, "lane_limit", group=b"g", limit=b"0")
    assert [[], A] == [claimed(where), claimed(where)[0]]
    assert ({b"g": b"1"}, None) == (held(where, b"gactive"), held(where, b"ring"))


@pytest.mark.parametrize("meta", [{b"paused": b""}, b"x"], ids=["a flag", "an error"])
def test_a_paused_queue_turns_no_ring(meta: Held) -> None:
    """The host reads the same flag as for a flat claim, an error of the read included."""
    where = lane_waiting({b"meta": meta})
    before = where.copy()
    assert [] == claimed(where)
    assert before.keys == where.keys


def test_a_lane_without_jobs_leaves_the_ring() -> None:
    """The claim answers nothing, though another lane waits."""
    where = lane_waiting({b"ring": [b"i", b"g", b"i"]})
    assert ([], [b"g"]) == (claimed(where), held(where, b"ring"))


def test_a_ghost_of_a_lane_stays_consumed_and_its_group_on_the_ring() -> None:
    """No slot is taken; the next turn finds the lane empty."""
    where = world({b"ring": [b"g"], b"g:g:pending": Zset({A: 0.0})})
    assert ([], {P + b"ring": [b"g"]}) == (claimed(where), where.keys)
    assert ([], {}) == (claimed(where), where.keys)


def test_a_delayed_lane_job_comes_back_to_take_a_second_slot() -> None:
    """Its slot is never given back: under a limit of two the lane has one place from then on (hazard 10)."""
    where = world({b"glimit": {b"g": b"2"}})
    add(where, A)
    claimed(where)
    ask(scripted, where, "delay", value=b"0")
    assert 1 == ask(scripted, where, "promote")
    assert (A, {b"g": b"2"}) == (claimed(where)[0], held(where, b"gactive"))
    assert (1, {b"g": b"1"}) == (ask(scripted, where, "complete", token=b"2"), held(where, b"gactive"))


def test_a_lane_waits_after_a_sweep_until_somebody_rings() -> None:
    """The death frees the slot and no claim is served; an enqueue, a resume or a limit ends the wait (hazard 12)."""
    for verb in ("lane_enqueue", "lane_resume", "lane_limit"):
        where = world({b"glimit": {b"g": b"1"}})
        add(where, A)
        add(where, B)
        claimed(where, lease_ms=b"-1")
        assert [[], [A]] == ask(scripted, where, "stalled_check")
        assert (None, []) == (held(where, b"gactive"), claimed(where))
        assert 1 == ask(scripted, where, verb, id=C, group=b"g", limit=b"1")
        assert B == claimed(where)[0]


def test_the_active_slots_are_the_leased_rows_after_every_step() -> None:
    """Where nobody delays a job, a count of leases by group is what gactive holds, and the ring has no group twice."""
    most = 0
    for seed in range(20):
        random, where, made = Random(seed), world({}), 0
        for _ in range(60):
            verb = random.choice(["lane_enqueue", *LANE_STEPS, "complete", "fail", "promote", "reap", "stalled_check"])
            leases = sorted(held(where, b"active") or ())
            if verb in ("complete", "fail") and not leases:
                continue
            made += verb == "lane_enqueue"
            job_id = random.choice(leases) if verb in ("complete", "fail") else b"JOB%011d" % made
            token = held(where, b"job:" + job_id)[b"attempts"] if leases and job_id in leases else b""
            values = {"id": job_id, "token": token, "group": random.choice([b"g", b"h"]), "limit": b"2"}
            numbers = {"lease_ms": random.choice([b"-1", b"9"]), "delay_ms": b"0", "max_stalled": b"2"}
            reply = ask(scripted, where, verb, **values, **numbers)
            assert not isinstance(reply, Error)
            slots: dict[bytes, int] = {}
            for leased_id in held(where, b"active") or ():
                group = held(where, b"job:" + leased_id)[b"group"]
                slots[group] = slots.get(group, 0) + 1
            assert slots == {group: int(taken) for group, taken in (held(where, b"gactive") or {}).items()}
            ring = held(where, b"ring") or []
            assert len(ring) == len(set(ring))
            most = max([most, *slots.values()])
    assert most > 1
