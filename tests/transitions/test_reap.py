"""Reap: expired leases go back in line, uncounted. Scripts only."""

import pytest

from emqlab import errors
from emqlab.replies import NotSent
from tests.transitions.bench import WRONGTYPE, A, B, Bench, C, ids, job_key


@pytest.mark.parametrize(("ends", "moved"), [(-60_000, 1), (-1, 1), (0, 1), (1, 0)])
def test_expired_is_at_or_before_now(scripted: Bench, ends: int, moved: int) -> None:
    """A lease has run out in the millisecond of its deadline."""
    scripted.leased(A)
    scripted.ends(A, ends)
    assert scripted.executor.reap("q") == moved


def test_counts_nothing(scripted: Bench) -> None:
    """The id moves, the state follows, and no counter does."""
    scripted.stalled(A, stalled="5", failures="1")
    scripted.leased(B)
    assert scripted.ask("reap") == 1
    row = {"attempts": "2", "payload": "p", "stalled": "5", "failures": "1", "lease_epoch": scripted.lab.run_id}
    assert scripted.state() == {
        job_key(A): {"state": "pending", **row},
        job_key(B): {"state": "active", "attempts": "2", "payload": "p"},
        "pending": ids(A),
        "active": {B.decode(): scripted.now + 9_000},
    }


def test_a_hundred_at_a_time(scripted: Bench) -> None:
    """Of 101 expired leases one waits for the next call."""
    for number in range(101):
        scripted.stalled(b"JOB%011d" % number)
    assert [scripted.executor.reap("q") for _ in range(3)] == [100, 1, 0]


def test_a_ghost_gets_a_row(scripted: Bench) -> None:
    """A row that holds only a state, counted in the reply."""
    scripted.member("active", A, 5)
    assert scripted.ask("reap") == 1
    assert scripted.state() == {job_key(A): {"state": "pending"}, "pending": ids(A)}


def test_a_lane_row_goes_to_its_lane(scripted: Bench) -> None:
    """gactive goes down, the id waits in its lane, and the group is rung."""
    scripted.stalled(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 2)
    assert scripted.ask("reap") == 1
    state = scripted.state()
    assert (state["gactive"], state["g:g:pending"], state["ring"]) == ({"g": "1"}, ids(A), ["g"])
    assert "pending" not in state
    assert scripted.read_row(A)["state"] == "pending"


def test_a_row_that_is_no_hash_is_lost(scripted: Bench) -> None:
    """Those before it have moved, this id is in no set, those after it wait."""
    scripted.stalled(A, ends=-3)
    scripted.spoil(job_key(B))
    scripted.member("active", B, scripted.now - 2)
    scripted.stalled(C, ends=-1)
    assert scripted.ask("reap") == WRONGTYPE
    assert (scripted.state()["pending"], scripted.state()["active"]) == (ids(A), {C.decode(): scripted.now - 1})


@pytest.mark.parametrize(("spoiled", "lost"), [("active", False), ("pending", True)])
def test_a_set_of_a_wrong_type(scripted: Bench, spoiled: str, lost: bool) -> None:
    """A spoiled active stops it at once, a spoiled pending after the id was taken out."""
    if spoiled != "active":
        scripted.stalled(A)
    scripted.spoil(spoiled)
    before = scripted.state()
    assert scripted.ask("reap") == WRONGTYPE
    if lost:
        del before["active"]
    assert before == scripted.state()


def test_there_is_no_native_reaper(native: Bench) -> None:
    """Nothing is sent, the method says Unsupported, and the server knows no such command."""
    native.stalled(A)
    with native.nothing_written():
        assert NotSent("reap") == native.ask("reap")
        with pytest.raises(errors.Unsupported):
            native.executor.reap("q")
