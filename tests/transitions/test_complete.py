"""Complete: prove the token, retire the job."""

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    BAD_COUNTERS,
    GOOD_COUNTERS,
    STALE_TOKENS,
    WRONGTYPE,
    A,
    B,
    Bench,
    C,
    ids,
    job_key,
)

MISMATCH = ErrorReply("EMQSTALE complete token mismatch")
NOT_ACTIVE = ErrorReply("EMQSTATE not active")
ONE_DONE = {"metrics:completed": {"count": "1"}}


def test_retires_a_leased_job(bench: Bench) -> None:
    """Row and lease go, and one completion is counted."""
    bench.leased(A)
    assert bench.ask("complete", id=A, token="2") == 1
    assert ONE_DONE == bench.state()


def test_answers_nothing(bench: Bench) -> None:
    """The method answers None, and takes the token as a number or as its bytes."""
    bench.leased(A)
    bench.leased(B)
    bench.executor.complete("q", A, 2)
    bench.executor.complete("q", B, b"2")
    assert bench.state() == {"metrics:completed": {"count": "2"}}


def test_a_lease_that_ran_out_can_still_complete(bench: Bench) -> None:
    """Nobody has swept it yet: the holder is still current (hazard 1)."""
    bench.leased(A)
    bench.ends(A, -60_000)
    assert bench.ask("complete", id=A, token="2") == 1


def test_a_recovered_job_is_taken_out_of_line(bench: Bench) -> None:
    """Swept but not claimed again: the token is current, and the id leaves pending."""
    bench.waiting(A, attempts="2")
    bench.waiting(B)
    assert bench.ask("complete", id=A, token="2") == 1
    assert bench.state()["pending"] == ids(B)
    assert ONE_DONE["metrics:completed"] == bench.state()["metrics:completed"]


def test_an_id_in_both_sets_leaves_active_only(bench: Bench) -> None:
    """pending is looked at only when active did not hold the id, so a ghost stays in line."""
    bench.leased(A)
    bench.member("pending", A)
    assert bench.ask("complete", id=A, token="2") == 1
    assert bench.state() == {"pending": ids(A), **ONE_DONE}


def test_a_job_never_claimed_has_token_0(bench: Bench) -> None:
    """Whoever presents 0 completes it (hazard 11)."""
    bench.waiting(A)
    assert bench.ask("complete", id=A, token="0") == 1
    assert ONE_DONE == bench.state()


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_writes_nothing(bench: Bench, token: str) -> None:
    """Behind, ahead, or other bytes for the same number: all are stale."""
    bench.leased(A)
    with bench.nothing_written():
        assert MISMATCH == bench.ask("complete", id=A, token=token)


def test_a_stale_token_is_raised(bench: Bench) -> None:
    """StaleToken keeps verb, id and the token presented."""
    bench.leased(A)
    with pytest.raises(errors.StaleToken) as caught:
        bench.executor.complete("q", A, 1)
    assert (caught.value.verb, caught.value.id, caught.value.presented) == ("complete", A, b"1")


@pytest.mark.parametrize("attempts", ["02", "", " 2", "two", "2\x00"])
def test_the_token_is_compared_as_bytes(bench: Bench, attempts: str) -> None:
    """Any text in attempts is the token, if it is the same text."""
    bench.leased(A, attempts=attempts)
    assert bench.ask("complete", id=A, token=attempts) == 1


def test_gone(bench: Bench) -> None:
    """No row is 0, and JobGone by the method; an id left in active is not touched."""
    bench.member("active", A, 5)
    with bench.nothing_written():
        assert bench.ask("complete", id=A, token="2") == 0
        with pytest.raises(errors.JobGone):
            bench.executor.complete("q", A, 2)


def test_a_row_without_attempts_is_gone(bench: Bench) -> None:
    """The token lives in attempts: without it there is no job to complete."""
    bench.row(A, state="pending")
    with bench.nothing_written():
        assert bench.ask("complete", id=A, token="") == 0


@pytest.mark.parametrize("place", ["schedule", "dead", None])
def test_neither_active_nor_pending(bench: Bench, place: str | None) -> None:
    """The script deletes the row and leaves the id where it is; natively the job is not active."""
    bench.row(A, state="x", attempts="2")
    if place:
        bench.member(place, A, 7)
    before = bench.state()
    if bench.native:
        assert NOT_ACTIVE == bench.ask("complete", id=A, token="2")
        assert before == bench.state()
    else:
        assert bench.ask("complete", id=A, token="2") == 1
        del before[job_key(A)]
        assert {**before, **ONE_DONE} == bench.state()


def test_not_active_is_raised(native: Bench) -> None:
    """The method says NotActive and keeps the id."""
    native.buried(A)
    with pytest.raises(errors.NotActive) as caught:
        native.executor.complete("q", A, 2)
    assert caught.value.id == A


@pytest.mark.parametrize(("group", "parent"), [("g", None), ("", None), ("g", "JOB0NgWEfAEJfz"), ("g", "")])
def test_a_lane_row_is_refused_natively(native: Bench, group: str, parent: str | None) -> None:
    """A row with a group, even an empty one, is a lane row, whether or not it has a parent."""
    native.leased(A, group=group, **({} if parent is None else {"parent": parent}))
    with native.nothing_written():
        assert ErrorReply("EMQLANE lane row") == native.ask("complete", id=A, token="2")
        assert MISMATCH == native.ask("complete", id=A, token="1")
    with pytest.raises(errors.LaneRow):
        native.executor.complete("q", A, 2)


@pytest.mark.parametrize("parent", ["JOB0NgWEfAEJfz", ""])
def test_a_flow_row_is_refused_natively(native: Bench, parent: str) -> None:
    """A row with a parent, even an empty one, is a flow row."""
    native.leased(A, parent=parent)
    with native.nothing_written():
        assert ErrorReply("EMQFLOW flow row") == native.ask("complete", id=A, token="2")
    with pytest.raises(errors.FlowRow):
        native.executor.complete("q", A, 2)


def test_a_lane_row_frees_its_slot_in_the_script(scripted: Bench) -> None:
    """It was active: gactive goes down, at 0 the field goes, and the waiting lane is rung."""
    scripted.leased(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 1)
    scripted.put("ZADD", "{p}g:g:pending", 0, C)
    assert scripted.ask("complete", id=A, token="2") == 1
    assert scripted.state() == {"g:g:pending": ids(C), "ring": ["g"], "wake": ["1"], **ONE_DONE}


def test_a_lane_row_that_waits_leaves_its_lane_in_the_script(scripted: Bench) -> None:
    """It was not active: the id leaves the lane, not pending, and an empty lane leaves the ring."""
    scripted.row(A, attempts="2", group="g")
    scripted.member("pending", A)
    scripted.put("ZADD", "{p}g:g:pending", 0, A)
    scripted.put("RPUSH", "{p}ring", "g", "h")
    assert scripted.ask("complete", id=A, token="2") == 1
    assert scripted.state() == {"pending": ids(A), "ring": ["h"], **ONE_DONE}


@pytest.mark.parametrize(("stored", "count"), GOOD_COUNTERS)
def test_completions_are_counted_up(bench: Bench, stored: str, count: int) -> None:
    """The count takes any canonical number."""
    bench.leased(A)
    bench.put("HSET", "{p}metrics:completed", "count", stored, "colour", "red")
    assert bench.ask("complete", id=A, token="2") == 1
    assert bench.state() == {"metrics:completed": {"count": str(count), "colour": "red"}}


@pytest.mark.parametrize(("stored", "words"), BAD_COUNTERS)
def test_a_bad_count(bench: Bench, stored: str, words: ErrorReply) -> None:
    """The script has retired the job when it cannot count it; natively nothing is written."""
    bench.leased(A)
    bench.put("HSET", "{p}metrics:completed", "count", stored)
    before = bench.state()
    assert words == bench.ask("complete", id=A, token="2")
    if not bench.native:
        before = {"metrics:completed": {"count": stored}}
    assert before == bench.state()


def test_metrics_of_a_wrong_type(bench: Bench) -> None:
    """The same for a key that is no hash."""
    bench.leased(A)
    bench.spoil("metrics:completed")
    before = bench.state()
    assert bench.ask("complete", id=A, token="2") == WRONGTYPE
    assert bench.state() == (before if bench.native else {"metrics:completed": "spoiled"})


@pytest.mark.parametrize("spoiled", ["active", job_key(A)])
def test_a_wrong_type_on_the_way(bench: Bench, spoiled: str) -> None:
    """Row and active are read before anything is written, by both."""
    bench.row(A, attempts="2")
    bench.put("DEL", "{p}" + spoiled)
    bench.spoil(spoiled)
    with bench.nothing_written():
        assert bench.ask("complete", id=A, token="2") == WRONGTYPE


def test_pending_of_a_wrong_type(bench: Bench) -> None:
    """pending matters only to a job that is not in active."""
    bench.spoil("pending")
    bench.leased(A)
    assert bench.ask("complete", id=A, token="2") == 1
    bench.row(B, attempts="2")
    with bench.nothing_written():
        assert bench.ask("complete", id=B, token="2") == WRONGTYPE


def test_the_order_of_the_verdict(native: Bench) -> None:
    """Fault on fault: gone, stale, lane, flow, not active, then the metrics."""
    native.spoil("metrics:completed")
    native.row(A, parent="", group="")
    assert native.ask("complete", id=A, token="2") == 0
    native.row(A, attempts="1")
    assert MISMATCH == native.ask("complete", id=A, token="2")
    assert ErrorReply("EMQLANE lane row") == native.ask("complete", id=A, token="1")
    native.put("HDEL", "{p}" + job_key(A), "group")
    assert ErrorReply("EMQFLOW flow row") == native.ask("complete", id=A, token="1")
    native.put("HDEL", "{p}" + job_key(A), "parent")
    assert NOT_ACTIVE == native.ask("complete", id=A, token="1")
    native.member("active", A)
    assert native.ask("complete", id=A, token="1") == WRONGTYPE


def test_reads_stop_at_the_verdict(native: Bench) -> None:
    """A stale token reads no group; an active job's completion reads no pending."""
    native.leased(A)
    assert native.commands("complete", id=A, token="1")[-1] == f"HGET {job_key(A)} attempts"
    told = native.commands("complete", id=A, token="2")
    assert [] == [command for command in told if " pending" in command]
