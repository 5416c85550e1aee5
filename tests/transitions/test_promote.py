"""Promote: what is due goes back in line."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import I64_MAX, SCRIPT_ERROR, WRONGTYPE, A, B, Bench, C, D, ids, job_key

LANE = ErrorReply("EMQLANE lane row")


def promote(bench: Bench, batch: int | str = 100) -> Any:
    """One promotion, its reply as it is."""
    return bench.ask("promote", batch=batch)


@pytest.mark.parametrize(("at", "moved"), [(-5_000, 1), (-1, 1), (0, 1), (1, 0)])
def test_due_is_at_or_before_now(bench: Bench, at: int, moved: int) -> None:
    """A job is due in the millisecond of its score, and not one before."""
    bench.due(A, at=at)
    assert promote(bench) == moved
    assert bench.state().get("pending", {}) == (ids(A) if moved else {})


def test_moves_and_says_so(bench: Bench) -> None:
    """The id goes to pending at score 0 and state follows; counters, error text and stamp stay."""
    kept = {"attempts": "3", "stalled": "1", "failures": "2", "last_error": "boom", "lease_epoch": "0" * 40}
    bench.due(A)
    bench.row(A, **kept)
    bench.due(B, at=7)
    assert promote(bench) == 1
    assert bench.state() == {
        job_key(A): {"state": "pending", "payload": "p", **kept},
        job_key(B): {"state": "scheduled", "attempts": "1", "payload": "p"},
        "schedule": {B.decode(): bench.now + 7},
        "pending": ids(A),
    }


def test_a_batch_takes_the_earliest(bench: Bench) -> None:
    """Fewer than are due: the smallest scores first, then byte order."""
    for job, at in ((A, -1), (B, -9), (C, -5), (D, -5)):
        bench.due(job, at=at)
    assert promote(bench, 2) == 2
    assert bench.state()["pending"] == ids(B, C)
    assert promote(bench, 1) == 1
    assert bench.state()["schedule"] == {A.decode(): bench.now - 1}
    assert promote(bench, 2) == 1
    assert promote(bench, 2) == 0


def test_the_method_answers_a_number(bench: Bench) -> None:
    """And takes 100 at a time unless told otherwise."""
    for number in range(101):
        bench.due(b"JOB%011d" % number)
    assert [bench.executor.promote("q"), bench.executor.promote("q", batch=1)] == [100, 1]


def test_nothing_is_due(bench: Bench) -> None:
    """No schedule, or none that is due: 0 and nothing written."""
    with bench.nothing_written():
        assert promote(bench) == 0
    bench.due(A, at=1)
    with bench.nothing_written():
        assert promote(bench) == 0


def test_targets_do_not_matter_when_nothing_moves(bench: Bench) -> None:
    """A spoiled pending is not looked at when nothing goes there."""
    bench.spoil("pending")
    with bench.nothing_written():
        assert promote(bench) == 0


def test_the_clock_decides(bench: Bench) -> None:
    """Time passes, and what was not due is."""
    bench.due(A, at=60_000)
    bench.lab.advance_ms(59_999)
    assert promote(bench) == 0
    bench.lab.advance_ms(1)
    assert promote(bench) == 1


def test_a_ghost(bench: Bench) -> None:
    """The script makes a row that holds only a state and counts it; natively it is removed and not counted."""
    bench.member("schedule", A, 1)
    bench.due(B)
    assert promote(bench) == (1 if bench.native else 2)
    state = bench.state()
    assert state.get(job_key(A)) == (None if bench.native else {"state": "pending"})
    assert state["pending"] == (ids(B) if bench.native else ids(A, B))
    assert "schedule" not in state


def test_a_ghost_uses_up_the_batch(native: Bench) -> None:
    """The batch selects members; a ghost among them is not made up for."""
    native.member("schedule", A, 1)
    native.due(B)
    assert promote(native, 1) == 0
    assert sorted(native.state()) == [job_key(B), "schedule"]


def test_ghosts_alone_need_no_pending(native: Bench) -> None:
    """Only ghosts: pending is not written, so it is not looked at."""
    native.member("schedule", A, 1)
    native.spoil("pending")
    assert promote(native) == 0
    assert native.state() == {"pending": "spoiled"}


@pytest.mark.parametrize("group", ["g", ""])
def test_a_lane_row(bench: Bench, group: str) -> None:
    """The script sends it to its lane and rings; natively the whole call is refused."""
    bench.due(A, at=-2)
    bench.due(B, at=-1, group=group)
    if bench.native:
        with bench.nothing_written():
            assert promote(bench) == LANE
        with pytest.raises(errors.LaneRow) as caught:
            bench.executor.promote("q")
        assert caught.value.id is None
        return
    assert promote(bench) == 2
    assert bench.state() == {
        job_key(A): {"state": "pending", "attempts": "1", "payload": "p"},
        job_key(B): {"state": "pending", "attempts": "1", "payload": "p", "group": group},
        "pending": ids(A),
        f"g:{group}:pending": ids(B),
        "ring": [group],
        "wake": ["1"],
    }


@pytest.mark.parametrize(
    ("plant", "rings"),
    [
        (("SADD", "{p}paused", "g"), False),
        (("RPUSH", "{p}ring", "g"), False),
        (("HSET", "{p}glimit", "g", "0"), False),
        (("HSET", "{p}glimit", "g", "1"), True),
        (("HSET", "{p}glimit", "h", "0"), True),
    ],
)
def test_when_the_script_rings(scripted: Bench, plant: tuple[str, ...], rings: bool) -> None:
    """Not a paused group, not one on the ring, not one at its limit."""
    scripted.put(*plant)
    scripted.due(A, group="g")
    assert promote(scripted) == 1
    state = scripted.state()
    assert (state.get("wake") == ["1"], state["g:g:pending"]) == (rings, ids(A))
    assert "gactive" not in state


def test_the_wake_list_is_kept_short(scripted: Bench) -> None:
    """Ringing keeps the last 64 wake-ups."""
    scripted.put("RPUSH", "{p}wake", *(str(number) for number in range(70)))
    scripted.due(A, group="g")
    promote(scripted)
    assert ["1", *(str(number) for number in range(63))] == scripted.state()["wake"]


def test_a_flow_row_is_promoted(bench: Bench) -> None:
    """Only the group is asked: a row with a parent goes in line on both."""
    bench.due(A, parent="JOB0NgWEfAEJfz")
    assert promote(bench) == 1
    assert bench.state()["pending"] == ids(A)


def test_a_row_that_is_no_hash(bench: Bench) -> None:
    """The script has moved those before it and loses this id; natively nothing is written."""
    bench.due(A, at=-3)
    bench.spoil(job_key(B))
    bench.member("schedule", B, bench.now - 2)
    bench.due(C, at=-1)
    before = bench.snapshot()
    assert promote(bench) == WRONGTYPE
    if bench.native:
        assert before == bench.snapshot()
    else:
        assert bench.state()["pending"] == ids(A)
        assert bench.state()["schedule"] == {C.decode(): bench.now - 1}
        assert bench.state()[job_key(B)] == "spoiled"


def test_bad_rows_beyond_the_batch_do_not_matter(native: Bench) -> None:
    """Only what is selected is judged."""
    native.due(A, at=-3)
    native.due(B, at=-2, group="g")
    native.spoil(job_key(C))
    native.member("schedule", C, native.now - 1)
    assert promote(native, 1) == 1


@pytest.mark.parametrize("lane_first", [True, False])
def test_the_first_refusal_is_told(native: Bench, lane_first: bool) -> None:
    """Members are judged in order, and all before pending is looked at."""
    native.due(A, at=-2 if lane_first else -1, group="g")
    native.spoil(job_key(B))
    native.member("schedule", B, native.now - (1 if lane_first else 2))
    native.spoil("pending")
    with native.nothing_written():
        assert promote(native) == (LANE if lane_first else WRONGTYPE)


def test_pending_of_a_wrong_type(bench: Bench) -> None:
    """The script loses the first id it takes out; natively nothing is written."""
    bench.due(A, at=-2)
    bench.due(B, at=-1)
    bench.spoil("pending")
    before = bench.state()
    assert promote(bench) == WRONGTYPE
    if not bench.native:
        before["schedule"] = {B.decode(): bench.now - 1}
    assert before == bench.state()


def test_schedule_of_a_wrong_type(bench: Bench) -> None:
    """Both refuse at once."""
    bench.spoil("schedule")
    with bench.nothing_written():
        assert promote(bench) == WRONGTYPE


def test_the_largest_batch(bench: Bench) -> None:
    """2^63-1 is fine natively; the script refuses it."""
    bench.due(A)
    if bench.native:
        assert promote(bench, I64_MAX) == 1
        return
    with bench.nothing_written():
        assert isinstance(promote(bench, I64_MAX), ErrorReply)


def test_a_batch_that_is_no_number(scripted: Bench) -> None:
    """The script fails where it selects."""
    scripted.due(A)
    with scripted.nothing_written():
        assert SCRIPT_ERROR == promote(scripted, "all")


def test_reads_of_a_promotion(native: Bench) -> None:
    """A ghost is not asked for its group, and no counter is read."""
    native.member("schedule", A, 1)
    assert [] == [command for command in native.commands("promote", batch="5") if "group" in command]
    native.due(B)
    told = native.commands("promote", batch="5")
    assert [] == [command for command in told if "attempts" in command or "stalled" in command]
