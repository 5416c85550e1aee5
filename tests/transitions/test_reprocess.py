"""Reprocess: a dead letter goes back in line."""

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import WRONGTYPE, A, B, Bench, ids, job_key

NOT_DEAD = ErrorReply("EMQSTATE not dead")
REVIVED = {"state": "pending", "attempts": "2", "payload": "p"}


def test_revives(bench: Bench) -> None:
    """The error text goes, the id moves, and no counter is reset (hazard 8)."""
    kept = {"failures": "3", "stalled": "1", "lease_epoch": "0" * 40}
    bench.buried(A, **kept)
    bench.buried(B)
    assert bench.ask("reprocess", id=A) == 1
    assert bench.state() == {
        job_key(A): {**REVIVED, **kept},
        job_key(B): {"state": "dead", "attempts": "2", "payload": "p", "last_error": "boom"},
        "pending": ids(A),
        "dead": ids(B),
    }


def test_answers_nothing(bench: Bench) -> None:
    """The method answers None, and the job is claimed with the next token."""
    bench.buried(A)
    bench.executor.reprocess("q", A)
    assert bench.ask("claim", lease_ms=1) == [A, b"p", 3]


def test_without_an_error_text(bench: Bench) -> None:
    """Nothing to delete is no fault."""
    bench.buried(A)
    bench.put("HDEL", "{p}" + job_key(A), "last_error")
    assert bench.ask("reprocess", id=A) == 1


def test_gone(bench: Bench) -> None:
    """No row is -1, and JobGone by the method; the id stays in dead."""
    bench.member("dead", A)
    with bench.nothing_written():
        assert bench.ask("reprocess", id=A) == -1
        with pytest.raises(errors.JobGone):
            bench.executor.reprocess("q", A)


@pytest.mark.parametrize("place", ["pending", "active", "schedule", None])
def test_not_dead(bench: Bench, place: str | None) -> None:
    """What is not in dead is not dead, whatever its state says."""
    bench.row(A, state="dead", attempts="1", last_error="boom")
    if place:
        bench.member(place, A)
    with bench.nothing_written():
        assert bench.ask("reprocess", id=A) == NOT_DEAD
        with pytest.raises(errors.NotDead) as caught:
            bench.executor.reprocess("q", A)
    assert (caught.value.verb, caught.value.id) == ("reprocess", A)


def test_an_id_in_two_sets(bench: Bench) -> None:
    """Only dead is asked: an id that is leased as well is put in line all the same."""
    bench.buried(A)
    bench.member("active", A, 5)
    assert bench.ask("reprocess", id=A) == 1
    assert (bench.state()["pending"], bench.state()["active"]) == (ids(A), {A.decode(): 5})


@pytest.mark.parametrize("fields", [{"group": "g"}, {"parent": "JOB0NgWEfAEJfz"}])
def test_lanes_and_flows_are_not_known(bench: Bench, fields: dict[str, str]) -> None:
    """A lane row lands in pending (hazard 10), on both."""
    bench.buried(A, **fields)
    assert bench.ask("reprocess", id=A) == 1
    assert bench.state() == {job_key(A): {**REVIVED, **fields}, "pending": ids(A)}


def test_another_kind_is_not_asked(bench: Bench) -> None:
    """Reprocess has no kind check."""
    job = b"TSK0NgWEfAEJfa"
    bench.buried(job)
    assert bench.ask("reprocess", id=job) == 1


def test_dead_of_a_wrong_type(bench: Bench) -> None:
    """Both refuse before anything is written."""
    bench.row(A, attempts="1")
    bench.spoil("dead")
    with bench.nothing_written():
        assert bench.ask("reprocess", id=A) == WRONGTYPE


def test_pending_of_a_wrong_type(bench: Bench) -> None:
    """The script has taken the id out of dead and wiped the error; natively nothing is written."""
    bench.buried(A)
    bench.spoil("pending")
    before = bench.state()
    assert bench.ask("reprocess", id=A) == WRONGTYPE
    assert bench.state() == (before if bench.native else {"pending": "spoiled", job_key(A): REVIVED})


def test_a_row_that_is_no_hash(bench: Bench) -> None:
    """It exists, so it is not gone: the script loses the id, natively nothing is written."""
    bench.spoil(job_key(A))
    bench.member("dead", A)
    before = bench.state()
    assert bench.ask("reprocess", id=A) == WRONGTYPE
    assert bench.state() == (before if bench.native else {job_key(A): "spoiled"})


def test_a_row_that_is_no_hash_and_not_dead(bench: Bench) -> None:
    """The verdict comes before the row's type."""
    bench.spoil(job_key(A))
    with bench.nothing_written():
        assert bench.ask("reprocess", id=A) == NOT_DEAD


def test_not_dead_comes_before_pending(bench: Bench) -> None:
    """A job that is not dead does not look at pending, nor does one that is gone."""
    bench.spoil("pending")
    assert bench.ask("reprocess", id=A) == -1
    bench.row(A, attempts="1")
    assert bench.ask("reprocess", id=A) == NOT_DEAD
