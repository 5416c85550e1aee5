"""Extend: a heartbeat moves the deadline."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    FOREIGN,
    I64_MAX,
    SCRIPT_ERROR,
    STALE_TOKENS,
    WRONGTYPE,
    A,
    B,
    Bench,
    job_key,
)

MISMATCH = ErrorReply("EMQSTALE extend token mismatch")
NOT_ACTIVE = ErrorReply("EMQSTATE not active")


def extend(bench: Bench, *, token: str = "2", lease_ms: int | str = 30_000) -> Any:
    """One heartbeat of A, its reply as it is."""
    return bench.ask("extend", id=A, token=token, lease_ms=lease_ms)


@pytest.mark.parametrize("ends", [9_000, 900_000, -60_000])
def test_moves_the_deadline(bench: Bench, ends: int) -> None:
    """The new deadline is now plus the length: later, earlier than before, or after it has passed."""
    bench.leased(A)
    bench.ends(A, ends)
    bench.lab.advance_ms(5)
    assert extend(bench) == 1
    assert bench.state() == {
        job_key(A): {"state": "active", "attempts": "2", "payload": "p", **bench.stamp},
        "active": {A.decode(): bench.now + 30_000},
    }


def test_answers_nothing(bench: Bench) -> None:
    """The method answers None."""
    bench.leased(A)
    bench.executor.extend("q", A, 2, lease_ms=1)
    assert bench.state()["active"] == {A.decode(): bench.now + 1}


def test_stamps_again(bench: Bench) -> None:
    """A lease from before a restart carries this process's epoch natively; a script leaves the old one."""
    bench.leased(A, lease_epoch=FOREIGN)
    extend(bench)
    assert bench.read_row(A)["lease_epoch"] == bench.stamp.get("lease_epoch", FOREIGN)


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_writes_nothing(bench: Bench, token: str) -> None:
    """The deadline does not move by a millisecond."""
    bench.leased(A)
    with bench.nothing_written():
        assert MISMATCH == extend(bench, token=token)


def test_gone(bench: Bench) -> None:
    """No row, or none with attempts, is -1, and JobGone by the method."""
    bench.member("active", A)
    with bench.nothing_written():
        assert extend(bench) == -1
        with pytest.raises(errors.JobGone):
            bench.executor.extend("q", A, 2, lease_ms=1)
    bench.row(A, state="active")
    with bench.nothing_written():
        assert extend(bench, token="") == -1


def test_a_stale_token_is_raised(bench: Bench) -> None:
    """StaleToken keeps what was presented."""
    bench.leased(A)
    with pytest.raises(errors.StaleToken) as caught:
        bench.executor.extend("q", A, b"02", lease_ms=1)
    assert caught.value.presented == b"02"


@pytest.mark.parametrize("place", ["pending", "schedule", "dead", None])
def test_not_active(bench: Bench, place: str | None) -> None:
    """The script leases it all the same, and the id can be in two sets; natively it is not active."""
    bench.row(A, state="x", attempts="2")
    if place:
        bench.member(place, A)
    before = bench.state()
    if bench.native:
        assert extend(bench) == NOT_ACTIVE
        assert before == bench.state()
        with pytest.raises(errors.NotActive):
            bench.executor.extend("q", A, 2, lease_ms=1)
    else:
        assert extend(bench) == 1
        assert {**before, "active": {A.decode(): bench.now + 30_000}} == bench.state()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"group": "g"}, "EMQLANE lane row"),
        ({"group": "", "parent": "x"}, "EMQLANE lane row"),
        ({"parent": ""}, "EMQFLOW flow row"),
    ],
)
def test_lane_and_flow_rows(bench: Bench, fields: dict[str, str], text: str) -> None:
    """The script extends them as any other; natively they are refused."""
    bench.leased(A, **fields)
    if bench.native:
        with bench.nothing_written():
            assert ErrorReply(text) == extend(bench)
        return
    assert extend(bench) == 1
    assert bench.state()["active"] == {A.decode(): bench.now + 30_000}


@pytest.mark.parametrize("spoiled", ["active", job_key(A)])
def test_a_wrong_type(bench: Bench, spoiled: str) -> None:
    """Both refuse before anything is written."""
    bench.row(A, attempts="2")
    bench.put("DEL", "{p}" + spoiled)
    bench.spoil(spoiled)
    with bench.nothing_written():
        assert extend(bench) == WRONGTYPE


def test_a_length_that_is_no_number(scripted: Bench) -> None:
    """The script fails on the sum, before its one write."""
    scripted.leased(A)
    with scripted.nothing_written():
        assert SCRIPT_ERROR == extend(scripted, lease_ms="long")


def test_the_longest_lease(native: Bench) -> None:
    """now + lease may be 2^63-1 and not one more."""
    native.leased(A)
    room = I64_MAX - native.now
    with native.nothing_written():
        reply = extend(native, lease_ms=room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS lease_ms ")
    assert extend(native, lease_ms=room) == 1


def test_the_order_of_the_verdict(native: Bench) -> None:
    """Fault on fault: gone, stale, lane, flow, not active, the sum."""
    native.row(A, group="", parent="")
    assert extend(native, lease_ms=I64_MAX) == -1
    native.row(A, attempts="1")
    assert MISMATCH == extend(native, lease_ms=I64_MAX)
    assert ErrorReply("EMQLANE lane row") == extend(native, token="1", lease_ms=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "group")
    assert ErrorReply("EMQFLOW flow row") == extend(native, token="1", lease_ms=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "parent")
    assert extend(native, token="1", lease_ms=I64_MAX) == NOT_ACTIVE
    native.spoil("active")
    assert extend(native, token="1", lease_ms=I64_MAX) == WRONGTYPE
    native.put("DEL", "{p}active")
    native.member("active", A)
    reply = extend(native, token="1", lease_ms=I64_MAX)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("EMQARGS lease_ms ")


def test_other_leases_are_left_alone(bench: Bench) -> None:
    """Only the presented id moves."""
    bench.leased(A)
    bench.leased(B)
    bench.ends(B, -5)
    extend(bench, lease_ms=1)
    assert bench.state()["active"] == {A.decode(): bench.now + 1, B.decode(): bench.now - 5}
