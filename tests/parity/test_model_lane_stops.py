"""The third voice's scripts of lanes: what each has done when it stops."""

from typing import Any

import pytest

from emqlab.parity.model import Error, Held, Zset, scripted
from tests.parity.test_model import ERR, NOT_INTEGER, NOW_MS, WRONGTYPE, A, B, ask, held, row, world
from tests.parity.test_model_lane_steps import add, claimed, lane_waiting


@pytest.mark.parametrize(
    ("key", "lane", "ring"),
    [
        (b"g:g:pending", b"x", None),
        (b"paused", Zset({A: 0.0}), None),
        (b"glimit", Zset({A: 0.0}), None),
        (b"ring", Zset({A: 0.0}), b"x"),
        (b"wake", Zset({A: 0.0}), [b"g"]),
    ],
)
def test_a_lane_enqueue_that_stops_has_made_the_row(key: bytes, lane: Held, ring: Held | None) -> None:
    """The row is there, and all that stands before the bad key."""
    where = world({key: b"x"})
    assert WRONGTYPE == add(where, A)
    assert row(b"pending", b"0", group=b"g") == held(where, b"job:" + A)
    assert (lane, ring) == (held(where, b"g:g:pending"), held(where, b"ring"))


def test_a_limit_is_kept_as_it_was_given_and_read_when_it_is_needed() -> None:
    """A text that is no number stands in glimit before it ends the ring, and a lane without jobs never reads it."""
    where = lane_waiting({b"ring": [b"h"]})
    assert ERR == ask(scripted, where, "lane_limit", group=b"g", limit=b"x")
    assert 1 == ask(scripted, where, "lane_limit", group=b"empty", limit=b" 0x1 ")
    assert {b"g": b"x", b"empty": b" 0x1 "} == held(where, b"glimit")
    assert [b"h"] == held(where, b"ring")


@pytest.mark.parametrize(
    ("more", "values", "error", "left"),
    [
        ({b"ring": b"x"}, {}, WRONGTYPE, "lane"),
        ({b"g:g:pending": b"x"}, {}, WRONGTYPE, "turned"),
        ({b"job:" + A: [b"x"]}, {}, WRONGTYPE, "turned"),
        ({b"job:" + A: row(b"pending", b"01")}, {}, NOT_INTEGER, "turned"),
        ({}, {"lease_ms": b"x"}, ERR, "turned counted"),
        ({b"active": b"x"}, {}, WRONGTYPE, "turned counted"),
        ({b"gactive": b"x"}, {}, WRONGTYPE, "turned counted leased"),
        ({b"gactive": {b"g": b"x"}}, {}, NOT_INTEGER, "turned counted leased"),
        ({b"g:g:pending": Zset({A: 0.0, B: 0.0}), b"glimit": b"x"}, {}, WRONGTYPE, "turned counted leased slot lane"),
        ({b"g:g:pending": Zset({A: 0.0, B: 0.0}), b"glimit": {b"g": b""}}, {}, ERR, "turned counted leased slot lane"),
    ],
)
def test_a_lane_claim_that_stops_has_done_what_stands_before(
    more: dict[bytes, Held], values: dict[str, bytes], error: Error, left: str
) -> None:
    """The turn is over, then the id is popped, the token minted, the lease written and the slot taken."""
    where = lane_waiting(more)
    assert error == claimed(where, **values)
    counted: Any = held(where, b"job:" + A)
    done = {
        "turned": held(where, b"ring") == [b"h", b"g"],
        "counted": isinstance(counted, dict) and (counted[b"attempts"], counted[b"state"]) == (b"1", b"active"),
        "leased": held(where, b"active") == Zset({A: NOW_MS + 30_000.0}),
        "slot": held(where, b"gactive") == {b"g": b"1"},
        "lane": isinstance(held(where, b"g:g:pending"), Zset),
    }
    assert left.split() == [name for name, holds in done.items() if holds]


def test_a_claim_that_empties_its_lane_does_not_look_at_the_limit() -> None:
    """A bad limit stops only a claim that leaves somebody waiting."""
    for glimit in (b"x", {b"g": b"x"}):
        assert A == claimed(lane_waiting({b"glimit": glimit}))[0]


def test_pausing_a_lane_marks_it_before_it_leaves_the_ring() -> None:
    """A ring of a wrong type stops it in between; a wrong set of paused groups stops it at once."""
    where = lane_waiting({b"ring": b"x"})
    assert (WRONGTYPE, {b"g"}) == (ask(scripted, where, "lane_pause", group=b"g"), held(where, b"paused"))
    for verb in ("lane_pause", "lane_resume"):
        where = lane_waiting({b"paused": b"x"})
        assert (WRONGTYPE, [b"g", b"h"]) == (ask(scripted, where, verb, group=b"g"), held(where, b"ring"))
