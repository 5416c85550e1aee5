"""Schedule: a row and a due time."""

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import I64_MAX, SCRIPT_ERROR, WRONGTYPE, A, Bench, job_key

ROW = {"state": "scheduled", "attempts": "0", "payload": "tea"}


def test_in_counts_from_the_servers_now(bench: Bench) -> None:
    """``in`` is now plus the value, on the server's clock."""
    bench.lab.advance_ms(1_234)
    assert bench.ask("schedule", id=A, payload="tea", mode="in", value="5000") == 1
    assert bench.state() == {job_key(A): ROW, "schedule": {A.decode(): bench.now + 5_000}}


@pytest.mark.parametrize("value", [0, 1, 1_795_952_399_999])
def test_at_is_the_due_time(bench: Bench, value: int) -> None:
    """``at`` is the due time itself, the past included."""
    assert bench.ask("schedule", id=A, payload="tea", mode="at", value=value) == 1
    assert bench.state() == {job_key(A): ROW, "schedule": {A.decode(): value}}


def test_in_zero_is_due_at_once(bench: Bench) -> None:
    """A value of 0 is due now, and the next promotion moves it."""
    assert bench.executor.schedule("q", b"tea", in_ms=0, id=A) == A
    assert bench.executor.promote("q") == 1


def test_at_ms_of_the_method(bench: Bench) -> None:
    """The method's at_ms is the score."""
    bench.executor.schedule("q", b"tea", at_ms=77, id=A)
    assert bench.state()["schedule"] == {A.decode(): 77}


def test_payload_is_kept_as_it_is(bench: Bench) -> None:
    """All 256 byte values come back from the row as they were sent."""
    payload = bytes(range(256))
    bench.executor.schedule("q", payload, in_ms=1, id=A)
    assert payload == bench.put("HGET", b"emq:{q}:job:" + A, "payload")


def test_duplicate_writes_nothing(bench: Bench) -> None:
    """A row that exists is answered 0 and neither row nor due time moves."""
    bench.due(A, at=500)
    with bench.nothing_written():
        assert bench.ask("schedule", id=A, payload="tea", mode="in", value="1") == 0
    with pytest.raises(errors.Duplicate):
        bench.executor.schedule("q", b"tea", in_ms=1, id=A)


def test_a_duplicate_does_not_look_at_schedule(bench: Bench) -> None:
    """What is not written is not looked at."""
    bench.waiting(A)
    bench.spoil("schedule")
    with bench.nothing_written():
        assert bench.ask("schedule", id=A, payload="tea", mode="in", value="1") == 0


def test_another_kind_is_refused_before_the_duplicate(bench: Bench) -> None:
    """The kind is asked first."""
    bench.spoil("job:TSK0NgWEfAEJfa")
    with bench.nothing_written():
        reply = bench.ask("schedule", id=b"TSK0NgWEfAEJfa", payload="tea", mode="in", value="1")
    assert reply == ErrorReply("EMQKIND job id must be JOB-namespaced")
    with pytest.raises(errors.WrongKind):
        bench.executor.schedule("q", b"tea", in_ms=1, id=b"TSK0NgWEfAEJfa")


def test_schedule_of_a_wrong_type(bench: Bench) -> None:
    """The script has written the row when it finds no schedule; natively nothing is written."""
    bench.spoil("schedule")
    assert bench.ask("schedule", id=A, payload="tea", mode="in", value="1") == WRONGTYPE
    row = {} if bench.native else {job_key(A): ROW}
    assert {"schedule": "spoiled", **row} == bench.state()


def test_the_script_counts_before_it_writes(scripted: Bench) -> None:
    """With ``in`` the sum is made before the row: a value that is no number leaves nothing behind."""
    with scripted.nothing_written():
        assert SCRIPT_ERROR == scripted.ask("schedule", id=A, payload="tea", mode="in", value="soon")


def test_the_script_finds_a_bad_at_only_when_it_is_used(scripted: Bench) -> None:
    """With ``at`` the value is first used by ZADD: the row is there, in no set."""
    assert SCRIPT_ERROR == scripted.ask("schedule", id=A, payload="tea", mode="at", value="soon")
    assert scripted.state() == {job_key(A): ROW}


def test_the_script_takes_any_other_mode_as_at(scripted: Bench) -> None:
    """A mode that is not ``in`` is ``at``."""
    assert scripted.ask("schedule", id=A, payload="tea", mode="on", value="77") == 1
    assert scripted.state()["schedule"] == {A.decode(): 77}


def test_the_largest_due_time_is_exact(native: Bench) -> None:
    """now + value may be 2^63-1, and not one more."""
    room = I64_MAX - native.now
    with native.nothing_written():
        reply = native.ask("schedule", id=A, payload="tea", mode="in", value=room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS value ")
    assert native.ask("schedule", id=A, payload="tea", mode="in", value=room) == 1
    assert native.state()["schedule"] == {A.decode(): float(I64_MAX)}


def test_at_may_be_the_largest_number(native: Bench) -> None:
    """With ``at`` nothing is added, so 2^63-1 is good."""
    assert native.ask("schedule", id=A, payload="tea", mode="at", value=I64_MAX) == 1


def test_the_sum_is_refused_after_everything_else(native: Bench) -> None:
    """A kind, a duplicate and a spoiled schedule all come before a sum that is too large."""
    big = {"payload": "tea", "mode": "in", "value": I64_MAX}
    native.spoil("schedule")
    assert WRONGTYPE == native.ask("schedule", id=A, **big)
    native.waiting(A)
    assert native.ask("schedule", id=A, **big) == 0
    assert ErrorReply("EMQKIND job id must be JOB-namespaced") == native.ask("schedule", id=b"X", **big)
