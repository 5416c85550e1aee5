"""The third voice's flat scripts on rows with a group; the scripts of lanes are beside it."""

import pytest

from emqlab.parity.model import Error, Held, World, Zset, scripted
from tests.parity.test_model import ERR, NOT_INTEGER, OVERFLOW, WRONGTYPE, A, C, P, ask, held, leased, row, world


def lane_world(more: dict[bytes, Held], group: bytes = b"g") -> World:
    """A leased job of a group, another one in its lane, and more keys by their names without the base."""
    where = leased(group=group)
    where.keys[P + b"g:" + group + b":pending"] = Zset({C: 0.0})
    where.keys[P + b"gactive"] = {group: b"1"}
    where.keys.update({P + name: content for name, content in more.items()})
    return where


@pytest.mark.parametrize("group", [b"g", b""])
def test_a_finished_lane_job_frees_its_slot_and_rings(group: bytes) -> None:
    """The last slot goes with its field, the group is on the ring and a wake is left; an empty name is a group too."""
    where = lane_world({}, group)
    assert 1 == ask(scripted, where, "complete")
    assert (None, [group], [b"1"]) == tuple(held(where, name) for name in (b"gactive", b"ring", b"wake"))


@pytest.mark.parametrize(
    "more",
    [
        {b"paused": {b"g"}},
        {b"ring": [b"g"]},
        {b"glimit": {b"g": b"0"}},
        {b"glimit": {b"g": b"1"}, b"gactive": {b"g": b"2"}},
    ],
    ids=["paused", "on the ring", "a limit of none", "at its limit"],
)
def test_a_group_that_cannot_be_served_is_not_rung(more: dict[bytes, Held]) -> None:
    """Paused, at its limit or on the ring: nobody is woken."""
    where = lane_world(more)
    assert 1 == ask(scripted, where, "complete")
    assert (more.get(b"ring"), None) == (held(where, b"ring"), held(where, b"wake"))


def test_the_wakes_are_sixty_four_at_most() -> None:
    """The newest wake stands in front, the oldest goes."""
    where = lane_world({b"wake": [b"0"] * 64})
    ask(scripted, where, "complete")
    assert [b"1"] + [b"0"] * 63 == held(where, b"wake")


def test_a_lane_job_that_is_not_leased_leaves_its_lane_and_not_pending() -> None:
    """The ring forgets a group whose lane has run empty, and no slot is freed."""
    where = lane_world({b"ring": [b"g", b"h", b"g"], b"pending": Zset({A: 0.0})})
    del where.keys[P + b"active"]
    where.keys[P + b"g:g:pending"] = Zset({A: 0.0})
    assert b"scheduled" == ask(scripted, where, "fail")
    assert ([b"h"], Zset({A: 0.0})) == (held(where, b"ring"), held(where, b"pending"))
    assert (None, {b"g": b"1"}) == (held(where, b"g:g:pending"), held(where, b"gactive"))


def test_a_sweep_that_kills_a_lane_job_rings_nobody() -> None:
    """The slot is free, the ring untouched; below the cap the job is back in its lane and the group on the ring."""
    for cap, ring, lane in [(b"1", None, {C}), (b"2", [b"g"], {A, C})]:
        where = lane_world({})
        where.keys[P + b"active"] = Zset({A: 1.0})
        ask(scripted, where, "stalled_check", max_stalled=cap)
        assert (None, ring) == (held(where, b"gactive"), held(where, b"ring"))
        assert lane == set(held(where, b"g:g:pending"))


def test_a_delayed_or_revived_lane_job_is_a_flat_one_to_the_script() -> None:
    """A delay keeps the slot; a reprocessed job lands in pending."""
    where = lane_world({})
    assert 1 == ask(scripted, where, "delay")
    assert {b"g": b"1"} == held(where, b"gactive")
    where = world({b"job:" + A: row(b"dead", group=b"g"), b"dead": Zset({A: 0.0})})
    assert 1 == ask(scripted, where, "reprocess")
    assert Zset({A: 0.0}) == held(where, b"pending")


@pytest.mark.parametrize(
    ("key", "content", "error"),
    [
        (b"gactive", {b"g": b"x"}, NOT_INTEGER),
        (b"gactive", {b"g": b"-9223372036854775808"}, OVERFLOW),
        (b"gactive", b"x", WRONGTYPE),
        (b"paused", b"x", WRONGTYPE),
        (b"g:g:pending", b"x", WRONGTYPE),
        (b"glimit", b"x", WRONGTYPE),
        (b"glimit", {b"g": b"x"}, ERR),
        (b"ring", b"x", WRONGTYPE),
        (b"wake", b"x", WRONGTYPE),
    ],
)
def test_a_bad_lane_key_stops_a_script_between_the_lease_and_the_row(key: bytes, content: Held, error: Error) -> None:
    """The lease has ended, the row is still there, and nothing is counted."""
    where = lane_world({key: content})
    assert error == ask(scripted, where, "complete")
    assert (None, None) == (held(where, b"active"), held(where, b"metrics:completed"))
    assert row(group=b"g") == held(where, b"job:" + A)
    assert (key == b"wake") == (held(where, b"ring") == [b"g"])


def test_active_slots_that_are_no_number_stop_a_ring_only_under_a_limit() -> None:
    """An empty text is no number and not an absent one; without a limit nobody reads it."""
    for glimit, reply, ring in [({b"g": b"9"}, ERR, None), ({b"h": b"9"}, 1, [b"g"])]:
        where = lane_world({b"gactive": {b"g": b""}, b"glimit": glimit, b"schedule": Zset({A: 1.0})})
        assert reply == ask(scripted, where, "promote")
        assert (ring, {A, C}) == (held(where, b"ring"), set(held(where, b"g:g:pending")))
