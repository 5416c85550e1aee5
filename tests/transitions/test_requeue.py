"""Requeue: the holder gives the job back at no cost. Native only."""

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply, NotSent
from tests.transitions.bench import STALE_TOKENS, WRONGTYPE, A, Bench, ids, job_key

GONE = ErrorReply("EMQSTALE job gone")
MISMATCH = ErrorReply("EMQSTALE requeue token mismatch")
NOT_ACTIVE = ErrorReply("EMQSTATE not active")


def test_three_writes(native: Bench) -> None:
    """The id moves, the state follows, and no counter, error text or stamp is touched."""
    kept = {"stalled": "1", "failures": "1", "last_error": "old", "lease_epoch": "0" * 40}
    native.leased(A, **kept)
    assert native.ask("requeue", id=A, token="2") == 1
    row = {"state": "pending", "attempts": "2", "payload": "p", **kept}
    assert native.state() == {job_key(A): row, "pending": ids(A)}


def test_answers_nothing(native: Bench) -> None:
    """The method answers None; the job is claimed again with the next token."""
    native.leased(A)
    native.executor.requeue("q", A, 2)
    assert native.ask("claim", lease_ms=1) == [A, b"p", 3]


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_writes_nothing(native: Bench, token: str) -> None:
    """It is no longer the caller's to give back."""
    native.leased(A)
    with native.nothing_written():
        assert MISMATCH == native.ask("requeue", id=A, token=token)


@pytest.mark.parametrize("place", ["pending", "schedule", "dead", None])
def test_not_active(native: Bench, place: str | None) -> None:
    """In any other set, or in none, the job is not active."""
    native.row(A, attempts="2")
    if place:
        native.member(place, A)
    with native.nothing_written():
        assert native.ask("requeue", id=A, token="2") == NOT_ACTIVE


def test_gone(native: Bench) -> None:
    """No row, or none with attempts."""
    native.member("active", A)
    with native.nothing_written():
        assert native.ask("requeue", id=A, token="2") == GONE
    native.row(A, state="active")
    assert native.ask("requeue", id=A, token="") == GONE


def test_errors_are_raised(native: Bench) -> None:
    """Gone, stale, not active, lane and flow rows each have their error."""
    with pytest.raises(errors.JobGone):
        native.executor.requeue("q", A, 2)
    native.row(A, attempts="2")
    with pytest.raises(errors.StaleToken):
        native.executor.requeue("q", A, 1)
    with pytest.raises(errors.NotActive):
        native.executor.requeue("q", A, 2)
    native.row(A, parent="x")
    with pytest.raises(errors.FlowRow):
        native.executor.requeue("q", A, 2)
    native.row(A, group="g")
    with pytest.raises(errors.LaneRow):
        native.executor.requeue("q", A, 2)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"group": "g"}, "EMQLANE lane row"),
        ({"group": "", "parent": ""}, "EMQLANE lane row"),
        ({"parent": ""}, "EMQFLOW flow row"),
    ],
)
def test_lane_and_flow_rows(native: Bench, fields: dict[str, str], text: str) -> None:
    """They are refused, empty names included."""
    native.leased(A, **fields)
    with native.nothing_written():
        assert ErrorReply(text) == native.ask("requeue", id=A, token="2")


@pytest.mark.parametrize("spoiled", ["active", "pending", job_key(A)])
def test_a_wrong_type(native: Bench, spoiled: str) -> None:
    """Each key that is read or written refuses the call."""
    native.leased(A)
    native.put("DEL", "{p}" + spoiled)
    native.spoil(spoiled)
    with native.nothing_written():
        assert native.ask("requeue", id=A, token="2") == WRONGTYPE


def test_not_active_comes_before_pending(native: Bench) -> None:
    """The target is looked at after the verdict."""
    native.row(A, attempts="2")
    native.spoil("pending")
    assert native.ask("requeue", id=A, token="2") == NOT_ACTIVE


def test_another_kind_is_not_asked(native: Bench) -> None:
    """Requeue has no kind check: any id that has a row will do."""
    job = b"TSK0NgWEfAEJfa"
    native.leased(job)
    assert native.ask("requeue", id=job, token="2") == 1


def test_the_scripts_have_none(scripted: Bench) -> None:
    """Nothing is sent, and the method says Unsupported."""
    scripted.leased(A)
    with scripted.nothing_written():
        assert NotSent("requeue") == scripted.ask("requeue", id=A, token="2")
        with pytest.raises(errors.Unsupported) as caught:
            scripted.executor.requeue("q", A, 2)
    assert (caught.value.verb, caught.value.executor) == ("requeue", "scripted")
