"""lane_enqueue: one row and one place in its group's own line (SPEC 4.3). Scripts only."""

import pytest

from tests.transitions.bench import SCRIPT_ERROR, WRONGTYPE, A, B, Bench, ids, job_key
from tests.transitions.lanes import WRONG_KIND, claim, enqueue, fields, lane, ring, row

#: What an enqueue into group g leaves when it stops behind row and lane.
KEPT = {job_key(A): row("g"), lane("g"): ids(A)}


def test_row_lane_ring_and_wake(scripted: Bench) -> None:
    """The first job of a group: its row, its place, the group on the ring, one wake-up; no flat set knows it."""
    enqueue(scripted, "g", A)
    assert {**KEPT, "ring": ["g"], "wake": ["1"]} == scripted.state()


def test_a_group_is_on_the_ring_once(scripted: Bench) -> None:
    """A second job rings nobody: the group is there."""
    enqueue(scripted, "g", B, A)
    state = scripted.state()
    assert ids(A, B) == state[lane("g")]
    assert (state["ring"], state["wake"]) == (["g"], ["1"])


def test_the_ring_is_in_order_of_arrival(scripted: Bench) -> None:
    """Groups, not their names, are in line."""
    for group, one in (("h", A), ("a", B)):
        enqueue(scripted, group, one)
    assert ["h", "a"] == ring(scripted)


@pytest.mark.parametrize("group", ["", "g:pending", "a:b", "{q}", "*", "\xff\x00\r\n", "\u00e9" * 40])
def test_any_bytes_are_a_group(scripted: Bench, group: str) -> None:
    """The script asks nothing of the name, and the claim gives it back byte for byte."""
    enqueue(scripted, group, A)
    assert [A, b"p", 1, group.encode("latin-1")] == claim(scripted)


@pytest.mark.parametrize("payload", ["", "\x00\xff", "{p}"])
def test_the_payload_is_kept_as_it_is(scripted: Bench, payload: str) -> None:
    """Any bytes, none too."""
    assert scripted.ask("lane_enqueue", id=A, payload=payload, group="g") == 1
    assert payload == scripted.read_row(A)["payload"]


@pytest.mark.parametrize("one", ["TSK0NgWEfAEJfa", "job0NgWEfAEJfa", "", "JO"])
def test_another_kind(scripted: Bench, one: str) -> None:
    """The kind is asked first, before the row."""
    scripted.row(one.encode(), state="x")
    with scripted.nothing_written():
        assert WRONG_KIND == scripted.ask("lane_enqueue", id=one, payload="p", group="g")


def test_a_duplicate_writes_nothing(scripted: Bench) -> None:
    """A row of any state and any type is one; neither lane nor ring is touched."""
    scripted.row(A, state="dead")
    scripted.put("RPUSH", "{p}" + job_key(B), "x")
    with scripted.nothing_written():
        for one in (A, B):
            assert scripted.ask("lane_enqueue", id=one, payload="p", group="g") == 0


@pytest.mark.parametrize(
    ("plants", "rings"),
    [
        ([("SADD", "{p}paused", "g")], False),
        ([("SADD", "{p}paused", "h")], True),
        ([("HSET", "{p}glimit", "g", "0")], False),
        ([("HSET", "{p}glimit", "g", "1")], True),
        ([("HSET", "{p}glimit", "g", "2"), ("HSET", "{p}gactive", "g", "2")], False),
        ([("HSET", "{p}glimit", "g", "3"), ("HSET", "{p}gactive", "g", "2")], True),
        ([("HSET", "{p}gactive", "g", "99")], True),
        ([("HSET", "{p}glimit", "h", "0")], True),
        ([("RPUSH", "{p}ring", "g")], False),
        ([("RPUSH", "{p}ring", "gg")], True),
        ([("HSET", "{p}meta", "paused", "1")], True),
    ],
)
def test_who_is_rung(scripted: Bench, plants: list[tuple[str, ...]], rings: bool) -> None:
    """Neither a paused group, nor one at its limit, nor one on the ring; a paused queue rings all the same."""
    for plant in plants:
        scripted.put(*plant)
    before = ring(scripted)
    enqueue(scripted, "g", A)
    assert (["1"] if rings else None) == scripted.state().get("wake")
    assert [*before, *(["g"] if rings else [])] == ring(scripted)


def test_limits_are_compared_as_numbers(scripted: Bench) -> None:
    """10 is above 9, whatever their bytes say."""
    scripted.put("HSET", "{p}glimit", "g", "10")
    scripted.put("HSET", "{p}gactive", "g", "9")
    enqueue(scripted, "g", A)
    assert ["g"] == ring(scripted)


def test_wake_keeps_sixty_four(scripted: Bench) -> None:
    """A hundred groups ring a hundred times; sixty-four wake-ups stay, and every group is on the ring."""
    for number in range(100):
        enqueue(scripted, f"g{number}", b"JOB%011d" % number)
    state = scripted.state()
    assert ["1"] * 64 == state["wake"]
    assert [f"g{number}" for number in range(100)] == state["ring"]


@pytest.mark.parametrize(
    ("spoiled", "left"),
    [
        (lane("g"), {job_key(A): row("g")}),
        ("paused", KEPT),
        ("glimit", KEPT),
        ("ring", KEPT),
        ("wake", {**KEPT, "ring": ["g"]}),
    ],
)
def test_a_wrong_type_stops_it_there(scripted: Bench, spoiled: str, left: dict[str, object]) -> None:
    """What ran before the wrong type stays: row, lane, ring, in this order."""
    scripted.spoil(spoiled)
    assert scripted.ask("lane_enqueue", id=A, payload="p", group="g") == WRONGTYPE
    assert {**left, spoiled: "spoiled"} == scripted.state()


def test_gactive_is_asked_only_against_a_limit(scripted: Bench) -> None:
    """Without a limit a spoiled gactive does not matter; with one it stops the ringing."""
    scripted.spoil("gactive")
    enqueue(scripted, "g", A)
    scripted.put("HSET", "{p}glimit", "h", "5")
    assert scripted.ask("lane_enqueue", id=B, payload="p", group="h") == WRONGTYPE
    assert (["g"], ids(B)) == (ring(scripted), scripted.state()[lane("h")])


@pytest.mark.parametrize(("name", "text"), [("glimit", "many"), ("glimit", ""), ("gactive", "few")])
def test_a_count_that_is_no_number(scripted: Bench, name: str, text: str) -> None:
    """It is compared after row and lane are written."""
    scripted.put("HSET", "{p}glimit", "g", "5")
    scripted.put("HSET", "{p}" + name, "g", text)
    assert SCRIPT_ERROR == scripted.ask("lane_enqueue", id=A, payload="p", group="g")
    state = scripted.state()
    assert KEPT == {key: state[key] for key in KEPT}
    assert "ring" not in state
    assert text == fields(state, name)["g"]
