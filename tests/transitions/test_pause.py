"""Pause and resume: one field of meta, the same plain write on both executors."""

import pytest

from emqlab import errors
from tests.transitions.bench import WRONGTYPE, A, Bench, ids


def test_the_servers_own_numbers(bench: Bench) -> None:
    """1 the first time, 0 again; the same for resume."""
    assert [bench.ask("pause"), bench.ask("pause")] == [1, 0]
    assert bench.state() == {"meta": {"paused": "1"}}
    assert [bench.ask("resume"), bench.ask("resume")] == [1, 0]
    assert bench.state() == {}


def test_a_paused_queue_hands_out_nothing(bench: Bench) -> None:
    """The job waits until the queue is resumed."""
    bench.waiting(A)
    bench.executor.pause("q")
    assert bench.executor.claim("q") is None
    assert bench.state()["pending"] == ids(A)
    bench.executor.resume("q")
    claimed = bench.executor.claim("q")
    assert claimed
    assert claimed.id == A


def test_a_pause_stops_claims_only(bench: Bench) -> None:
    """Jobs can be added, finished and recovered while the queue is paused."""
    bench.executor.pause("q")
    bench.stalled(A)
    bench.executor.enqueue("q", b"tea")
    assert bench.ask("stalled_check", max_stalled="2", limit="1") == [[A], []]
    assert bench.ask("complete", id=A, token="2") == 1


def test_other_fields_stay(bench: Bench) -> None:
    """Resume deletes ``paused`` and nothing else."""
    bench.put("HSET", "{p}meta", "paused", "0", "colour", "red")
    assert [bench.ask("pause"), bench.ask("resume")] == [0, 1]
    assert bench.state() == {"meta": {"colour": "red"}}


def test_another_queue_goes_on(bench: Bench) -> None:
    """A pause is one queue's own."""
    bench.executor.pause("other")
    bench.waiting(A)
    assert bench.executor.claim("q")


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_meta_of_a_wrong_type(bench: Bench, verb: str) -> None:
    """The server's refusal is told, by reply and by error."""
    bench.spoil("meta")
    with bench.nothing_written():
        assert bench.ask(verb) == WRONGTYPE
        with pytest.raises(errors.ServerRefused):
            getattr(bench.executor, verb)("q")
