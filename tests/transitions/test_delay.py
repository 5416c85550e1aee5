"""Delay: the holder gives the job back, due later."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    I64_MAX,
    SCRIPT_ERROR,
    STALE_TOKENS,
    WRONGTYPE,
    A,
    Bench,
    ids,
    job_key,
)

GONE = ErrorReply("EMQSTALE job gone")
MISMATCH = ErrorReply("EMQSTALE delay token mismatch")
NOT_ACTIVE = ErrorReply("EMQSTATE not active")
WRONG_KIND = ErrorReply("EMQKIND job id must be JOB-namespaced")
DELAYED = {"state": "scheduled", "attempts": "2", "payload": "p"}


def delay(
    bench: Bench, *, job: bytes = A, token: str = "2", mode: str = "in", value: int | str = 5_000, **more: Any
) -> Any:
    """One delay, its reply as it is."""
    return bench.ask("delay", id=job, token=token, mode=mode, value=value, **more)


def test_in_counts_from_the_servers_now(bench: Bench) -> None:
    """The lease is freed and the job is due ``value`` ms from now; no counter moves."""
    bench.lab.advance_ms(77)
    bench.leased(A, stalled="1", failures="1", last_error="old")
    assert delay(bench) == 1
    assert bench.state() == {
        job_key(A): {**DELAYED, "stalled": "1", "failures": "1", "last_error": "old"},
        "schedule": {A.decode(): bench.now + 5_000},
    }


@pytest.mark.parametrize("value", [0, 12, 1_795_952_399_999])
def test_at_is_the_due_time(bench: Bench, value: int) -> None:
    """``at`` is the due time itself, the past included."""
    bench.leased(A)
    assert delay(bench, mode="at", value=value) == 1
    assert bench.state() == {job_key(A): DELAYED, "schedule": {A.decode(): value}}


def test_answers_nothing(bench: Bench) -> None:
    """The method answers None for either kind of due time."""
    bench.leased(A)
    bench.executor.delay("q", A, 2, in_ms=0)
    assert bench.state()["schedule"] == {A.decode(): bench.now}
    bench.leased(A)
    bench.executor.delay("q", A, b"2", at_ms=9)
    assert bench.state()["schedule"] == {A.decode(): 9}


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_writes_nothing(bench: Bench, token: str) -> None:
    """The lease of the new holder stays as it is."""
    bench.leased(A)
    with bench.nothing_written():
        assert MISMATCH == delay(bench, token=token)


def test_a_stale_token_is_raised(bench: Bench) -> None:
    """StaleToken, on either executor."""
    bench.leased(A)
    with pytest.raises(errors.StaleToken):
        bench.executor.delay("q", A, 1, in_ms=0)


def test_gone(bench: Bench) -> None:
    """No row, or none with attempts: JobGone, on either executor."""
    bench.member("active", A)
    with bench.nothing_written():
        assert delay(bench) == GONE
        with pytest.raises(errors.JobGone):
            bench.executor.delay("q", A, 2, in_ms=0)
    bench.row(A, state="active")
    with bench.nothing_written():
        assert delay(bench, token="") == GONE


def test_another_kind_comes_first(bench: Bench) -> None:
    """The kind is asked before the row."""
    with bench.nothing_written():
        assert WRONG_KIND == delay(bench, job=b"TSK0NgWEfAEJfa")
    with pytest.raises(errors.WrongKind):
        bench.executor.delay("q", b"TSK0NgWEfAEJfa", 2, in_ms=0)


@pytest.mark.parametrize("place", ["pending", "dead", None])
def test_not_active(bench: Bench, place: str | None) -> None:
    """The script goes ahead, and the id can end in two sets; natively the job is not active."""
    bench.row(A, state="x", attempts="2", payload="p")
    if place:
        bench.member(place, A)
    before = bench.state()
    if bench.native:
        assert delay(bench) == NOT_ACTIVE
        assert before == bench.state()
        with pytest.raises(errors.NotActive):
            bench.executor.delay("q", A, 2, in_ms=0)
    else:
        assert delay(bench) == 1
        assert {**before, job_key(A): DELAYED, "schedule": {A.decode(): bench.now + 5_000}} == bench.state()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"group": "g"}, "EMQLANE lane row"),
        ({"group": "", "parent": "x"}, "EMQLANE lane row"),
        ({"parent": ""}, "EMQFLOW flow row"),
    ],
)
def test_lane_and_flow_rows(bench: Bench, fields: dict[str, str], text: str) -> None:
    """The script knows neither and keeps the slot taken (hazard 10); natively they are refused."""
    bench.leased(A, **fields)
    bench.put("HSET", "{p}gactive", "g", 1)
    if bench.native:
        with bench.nothing_written():
            assert ErrorReply(text) == delay(bench)
        return
    assert delay(bench) == 1
    assert bench.state() == {
        job_key(A): {**DELAYED, **fields},
        "schedule": {A.decode(): bench.now + 5_000},
        "gactive": {"g": "1"},
    }


@pytest.mark.parametrize("spoiled", ["active", job_key(A)])
def test_a_wrong_type_on_the_way(bench: Bench, spoiled: str) -> None:
    """Row and active come before the first write, by both."""
    bench.row(A, attempts="2")
    bench.put("DEL", "{p}" + spoiled)
    bench.spoil(spoiled)
    with bench.nothing_written():
        assert delay(bench) == WRONGTYPE


def test_schedule_of_a_wrong_type(bench: Bench) -> None:
    """The script has freed the lease and said scheduled; natively nothing is written."""
    bench.leased(A)
    bench.spoil("schedule")
    before = bench.state()
    assert delay(bench) == WRONGTYPE
    assert bench.state() == (before if bench.native else {"schedule": "spoiled", job_key(A): DELAYED})


@pytest.mark.parametrize("mode", ["in", "at"])
def test_the_script_counts_after_it_freed_the_lease(scripted: Bench, mode: str) -> None:
    """Only then is the score made: a value that is no number leaves the id in no set."""
    scripted.leased(A)
    assert SCRIPT_ERROR == delay(scripted, mode=mode, value="later")
    assert scripted.state() == {job_key(A): DELAYED}


def test_the_script_takes_any_other_mode_as_at(scripted: Bench) -> None:
    """A mode that is not ``in`` is ``at``."""
    scripted.leased(A)
    assert delay(scripted, mode="on", value="9") == 1
    assert scripted.state()["schedule"] == {A.decode(): 9}


def test_the_largest_due_time(native: Bench) -> None:
    """now + value may be 2^63-1 and not one more; with ``at`` nothing is added."""
    room = I64_MAX - native.now
    native.leased(A)
    with native.nothing_written():
        reply = delay(native, value=room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS value ")
    assert delay(native, value=room) == 1
    native.member("active", A)
    assert delay(native, mode="at", value=I64_MAX) == 1
    assert native.state()["schedule"] == {A.decode(): float(I64_MAX)}


def test_the_order_of_the_verdict(native: Bench) -> None:
    """Fault on fault: kind, gone, stale, lane, flow, not active, schedule, the sum."""
    native.spoil("schedule")
    assert WRONG_KIND == delay(native, job=b"TSK", value=I64_MAX)
    native.row(A, group="", parent="")
    assert delay(native, value=I64_MAX) == GONE
    native.row(A, attempts="1")
    assert MISMATCH == delay(native, value=I64_MAX)
    assert ErrorReply("EMQLANE lane row") == delay(native, token="1", value=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "group")
    assert ErrorReply("EMQFLOW flow row") == delay(native, token="1", value=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "parent")
    assert delay(native, token="1", value=I64_MAX) == NOT_ACTIVE
    native.member("active", A)
    assert delay(native, token="1", value=I64_MAX) == WRONGTYPE
    native.put("DEL", "{p}schedule")
    reply = delay(native, token="1", value=I64_MAX)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("EMQARGS value ")


def test_the_delayed_job_is_claimed_with_the_next_token(bench: Bench) -> None:
    """Delay, wait, promote, claim: the token goes up and the old one is stale."""
    bench.leased(A)
    delay(bench, value=100)
    bench.lab.advance_ms(99)
    assert bench.executor.promote("q") == 0
    bench.lab.advance_ms(1)
    assert bench.executor.promote("q") == 1
    assert bench.state()["pending"] == ids(A)
    assert bench.ask("claim", lease_ms=1) == [A, b"p", 3]
    assert MISMATCH == delay(bench)
