"""Enqueue: a row and a place in line."""

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import WRONGTYPE, A, B, Bench, ids, job_key

WRONG_KIND = ErrorReply("EMQKIND job id must be JOB-namespaced")


def test_writes_row_and_place(bench: Bench) -> None:
    """The row holds state, attempts and payload and nothing else, and the id waits at score 0."""
    assert 1 == bench.ask("enqueue", id=A, payload="tea")
    assert {
        job_key(A): {"state": "pending", "attempts": "0", "payload": "tea"},
        "pending": ids(A),
    } == bench.state()


def test_answers_the_id_given(bench: Bench) -> None:
    """The method answers the id it was given."""
    assert bench.executor.enqueue("q", b"tea", id=A) == A


def test_minted_ids_are_served_in_order(bench: Bench) -> None:
    """Ids minted in one millisecond are claimed in the order they were minted."""
    minted = [bench.executor.enqueue("q", b"%d" % place) for place in range(20)]
    claimed = [bench.executor.claim("q") for _ in minted]
    assert minted == [claim.id for claim in claimed if claim]


def test_payload_is_kept_as_it_is(bench: Bench) -> None:
    """All 256 byte values come back from the row as they were sent."""
    payload = bytes(range(256)) * 3
    bench.executor.enqueue("q", payload, id=A)
    assert payload == bench.put("HGET", b"emq:{q}:job:" + A, "payload")


def test_empty_payload_is_a_payload(bench: Bench) -> None:
    """An empty payload is stored, not left out."""
    bench.executor.enqueue("q", b"", id=A)
    assert bench.read_row(A) == {"state": "pending", "attempts": "0", "payload": ""}


def test_duplicate_writes_nothing(bench: Bench) -> None:
    """A second job of the same id is answered 0 and the first stays as it was, wherever it is."""
    bench.leased(A, payload="first")
    with bench.nothing_written():
        assert bench.ask("enqueue", id=A, payload="second") == 0


def test_duplicate_is_raised(bench: Bench) -> None:
    """The method says Duplicate and keeps the id."""
    bench.waiting(A)
    with pytest.raises(errors.Duplicate) as caught:
        bench.executor.enqueue("q", b"second", id=A)
    assert caught.value.id == A


def test_a_row_of_any_type_is_a_duplicate(bench: Bench) -> None:
    """Only the row's existence is asked, so a string in its place is a duplicate too."""
    bench.spoil(job_key(A))
    with bench.nothing_written():
        assert bench.ask("enqueue", id=A, payload="tea") == 0


def test_an_id_in_line_without_a_row_is_no_duplicate(bench: Bench) -> None:
    """A ghost in pending becomes a job when its id is enqueued."""
    bench.member("pending", A, 5)
    assert bench.ask("enqueue", id=A, payload="tea") == 1
    assert bench.state()["pending"] == ids(A)


@pytest.mark.parametrize("other", [b"TSK0NgWEfAEJfa", b"job0NgWEfAEJfa", b"JO", b"", b"JBO0NgWEfAEJfa"])
def test_another_kind_is_refused(bench: Bench, other: bytes) -> None:
    """An id that does not begin with JOB is refused and nothing is written."""
    with bench.nothing_written():
        assert bench.ask("enqueue", id=other, payload="tea") == WRONG_KIND


def test_kind_comes_before_the_duplicate(bench: Bench) -> None:
    """Of the two verdicts the kind is the first."""
    bench.spoil("job:TSK0NgWEfAEJfa")
    assert WRONG_KIND == bench.ask("enqueue", id=b"TSK0NgWEfAEJfa", payload="tea")


def test_another_kind_is_raised(bench: Bench) -> None:
    """The method says WrongKind and keeps the id."""
    with pytest.raises(errors.WrongKind) as caught:
        bench.executor.enqueue("q", b"tea", id=b"TSK0NgWEfAEJfa")
    assert caught.value.id == b"TSK0NgWEfAEJfa"


def test_pending_of_a_wrong_type(bench: Bench) -> None:
    """The script has written the row when it finds no line to stand in; natively nothing is written."""
    bench.spoil("pending")
    before = bench.state()
    assert bench.ask("enqueue", id=A, payload="tea") == WRONGTYPE
    row = {} if bench.native else {job_key(A): {"state": "pending", "attempts": "0", "payload": "tea"}}
    assert {**before, **row} == bench.state()


def test_a_duplicate_does_not_look_at_pending(bench: Bench) -> None:
    """What is not written is not looked at: a spoiled pending does not matter to a duplicate."""
    bench.waiting(A)
    bench.put("DEL", "{p}pending")
    bench.spoil("pending")
    with bench.nothing_written():
        assert bench.ask("enqueue", id=A, payload="tea") == 0


def test_two_queues_do_not_meet(bench: Bench) -> None:
    """A job of one queue is not claimed from another."""
    bench.executor.enqueue("other", b"tea", id=B)
    assert bench.executor.claim("q") is None
    assert bench.state() == {}
