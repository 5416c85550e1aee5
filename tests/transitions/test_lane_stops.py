"""Where a flat transition stops that meets a wrong type on its way through a lane (SPEC 4.3). Scripts only."""

from collections.abc import Callable

import pytest

from tests.transitions.bench import WRONGTYPE, A, B, Bench, ids, job_key
from tests.transitions.lanes import complete, fail, fields, lane, row


def leave(bench: Bench, *, active: bool) -> None:
    """A lane job with token 2 that is leased, or waits in its lane; one slot is taken, B waits too if A is leased."""
    bench.row(A, attempts="2", group="g")
    bench.put("HSET", "{p}gactive", "g", 2)
    bench.member("active" if active else lane("g"), A)
    if active:
        bench.member(lane("g"), B)


@pytest.mark.parametrize("report", [complete, fail])
@pytest.mark.parametrize(
    ("spoiled", "slot"),
    [("gactive", None), ("paused", "1"), (lane("g"), "1"), ("glimit", "1"), ("ring", "1"), ("wake", "1")],
)
def test_a_wrong_type_stops_the_report_of_a_leased_job(
    scripted: Bench, report: Callable[..., object], spoiled: str, slot: str | None
) -> None:
    """The lease is gone, the slot too unless gactive is spoiled; the row is as it was, nothing is counted."""
    leave(scripted, active=True)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert report(scripted, A, token=2) == WRONGTYPE
    state = scripted.state()
    assert {"attempts": "2", "group": "g"} == state[job_key(A)]
    assert {"active", "metrics:completed", "schedule"}.isdisjoint(state)
    assert ("spoiled" if slot is None else {"g": slot}) == state["gactive"]
    assert {"wake": ["g"], "ring": "spoiled"}.get(spoiled) == state.get("ring")


@pytest.mark.parametrize("report", [complete, fail])
def test_a_wrong_type_stops_the_report_of_a_waiting_job(scripted: Bench, report: Callable[..., object]) -> None:
    """A spoiled lane stops it before anything is written, a spoiled ring after the id has left the lane."""
    scripted.row(A, attempts="2", group="g")
    scripted.spoil(lane("g"))
    with scripted.nothing_written():
        assert report(scripted, A, token=2) == WRONGTYPE
    scripted.put("DEL", "{p}" + lane("g"))
    leave(scripted, active=False)
    scripted.spoil("ring")
    assert report(scripted, A, token=2) == WRONGTYPE
    assert {job_key(A): {"attempts": "2", "group": "g"}, "gactive": {"g": "2"}, "ring": "spoiled"} == scripted.state()


@pytest.mark.parametrize("report", [complete, fail])
def test_a_ring_does_not_matter_while_the_lane_holds_more(scripted: Bench, report: Callable[..., object]) -> None:
    """Only an emptied lane is taken off the ring, so only then is the ring touched; pending never is."""
    leave(scripted, active=False)
    scripted.member(lane("g"), B)
    scripted.spoil("ring")
    scripted.spoil("pending")
    assert report(scripted, A, token=2) in (1, b"scheduled")
    assert ids(B) == scripted.state()[lane("g")]


@pytest.mark.parametrize("cap", [1, 9])
def test_a_sweep_counts_the_stall_before_it_frees_the_slot(scripted: Bench, cap: int) -> None:
    """With a spoiled gactive the stall is counted, and the job is in no set."""
    scripted.stalled(A, group="g")
    scripted.spoil("gactive")
    assert scripted.ask("stalled_check", max_stalled=cap, limit=1) == WRONGTYPE
    state = scripted.state()
    assert ("1", "active") == (fields(state, job_key(A))["stalled"], fields(state, job_key(A))["state"])
    assert {job_key(A), "gactive"} == set(state)


@pytest.mark.parametrize(
    ("spoiled", "slot", "waits"),
    [("gactive", None, False), (lane("g"), "1", False), ("paused", "1", True), ("ring", "1", True)],
)
def test_a_wrong_type_stops_a_reap(scripted: Bench, spoiled: str, slot: str | None, waits: bool) -> None:
    """Slot, lane, ring, then the state, which is never reached."""
    scripted.stalled(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 2)
    scripted.put("DEL", "{p}" + spoiled)
    scripted.spoil(spoiled)
    assert scripted.ask("reap") == WRONGTYPE
    state = scripted.state()
    assert "active" not in state
    assert ("spoiled" if slot is None else {"g": slot}) == state["gactive"]
    assert waits == (state.get(lane("g")) == ids(A))
    assert fields(state, job_key(A))["state"] == "active"


def test_a_wrong_type_stops_a_promotion(scripted: Bench) -> None:
    """The id has left the schedule and stands in its lane; its state is as it was, gactive is not looked at."""
    scripted.due(A, group="g")
    scripted.spoil("ring")
    scripted.spoil("gactive")
    assert scripted.ask("promote", batch=1) == WRONGTYPE
    left = row("g", "scheduled", 1)
    assert {job_key(A): left, lane("g"): ids(A), "ring": "spoiled", "gactive": "spoiled"} == scripted.state()
