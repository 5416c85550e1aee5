"""Extends: one heartbeat for many leases."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import FOREIGN, I64_MAX, STALE_TOKENS, WRONGTYPE, A, B, Bench, C, D, job_key

Pairs = list[tuple[bytes, str]]


def extends(bench: Bench, *pairs: tuple[bytes, str], lease_ms: int | str = 30_000) -> Any:
    """One heartbeat, its reply as it is."""
    return bench.ask("extends", lease_ms=lease_ms, pairs=list(pairs))


def test_moves_every_deadline(bench: Bench) -> None:
    """All good pairs get the same deadline and none is listed."""
    bench.leased(A)
    bench.ends(A, 1)
    bench.leased(B, lease_epoch=FOREIGN)
    bench.ends(B, 900_000)
    bench.leased(C)
    assert extends(bench, (A, "2"), (B, "2")) == []
    row = {"state": "active", "attempts": "2", "payload": "p"}
    old = {} if bench.native else {"lease_epoch": FOREIGN}
    assert bench.state() == {
        job_key(A): {**row, **bench.stamp},
        job_key(B): {**row, **old, **bench.stamp},
        job_key(C): row,
        "active": {A.decode(): bench.now + 30_000, B.decode(): bench.now + 30_000, C.decode(): bench.now + 9_000},
    }


def test_lists_the_rest_in_the_order_given(bench: Bench) -> None:
    """Stale and gone ids come back in the order they were sent, good ones are extended."""
    for job in (A, B, C):
        bench.leased(job)
    assert extends(bench, (D, "2"), (C, "2"), (B, "1"), (A, "3")) == [D, B, A]
    assert bench.state()["active"] == {
        A.decode(): bench.now + 9_000,
        B.decode(): bench.now + 9_000,
        C.decode(): bench.now + 30_000,
    }


def test_the_method_answers_a_tuple(bench: Bench) -> None:
    """The ids not extended, as a tuple; tokens are numbers or their bytes."""
    bench.leased(A)
    bench.leased(B)
    assert bench.executor.extends("q", [(A, 2), (B, b"2"), (C, 1)], lease_ms=1) == (C,)


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_is_listed(bench: Bench, token: str) -> None:
    """Tokens are compared as bytes here too."""
    bench.leased(A)
    with bench.nothing_written():
        assert extends(bench, (A, token)) == [A]


def test_a_row_without_attempts_is_listed(bench: Bench) -> None:
    """No attempts, no token."""
    bench.row(A, state="active")
    bench.member("active", A)
    with bench.nothing_written():
        assert extends(bench, (A, "")) == [A]


def test_the_same_id_twice(bench: Bench) -> None:
    """Each pair is judged alone."""
    bench.leased(A)
    assert extends(bench, (A, "2"), (A, "1"), (A, "2"), (A, "3")) == [A, A]
    assert bench.state()["active"] == {A.decode(): bench.now + 30_000}


@pytest.mark.parametrize("place", ["pending", "dead", None])
def test_not_active(bench: Bench, place: str | None) -> None:
    """The script leases it all the same; natively it is listed and nothing is written."""
    bench.row(A, attempts="2")
    if place:
        bench.member(place, A)
    before = bench.state()
    if bench.native:
        assert extends(bench, (A, "2")) == [A]
    else:
        assert extends(bench, (A, "2")) == []
        before["active"] = {A.decode(): bench.now + 30_000}
    assert before == bench.state()


@pytest.mark.parametrize("fields", [{"group": "g"}, {"group": ""}, {"parent": "x"}, {"parent": ""}])
def test_lane_and_flow_rows(bench: Bench, fields: dict[str, str]) -> None:
    """The script extends them; natively they are listed and the rest goes on."""
    bench.leased(A, **fields)
    bench.leased(B)
    assert extends(bench, (A, "2"), (B, "2")) == ([A] if bench.native else [])
    moved = bench.now + (9_000 if bench.native else 30_000)
    assert bench.state()["active"] == {A.decode(): moved, B.decode(): bench.now + 30_000}


def test_a_row_that_is_no_hash(bench: Bench) -> None:
    """The script has extended the pairs before it; natively the call is refused with nothing written."""
    bench.leased(A)
    bench.spoil(job_key(B))
    bench.leased(C)
    assert extends(bench, (A, "2"), (B, "2"), (C, "2")) == WRONGTYPE
    moved = bench.now + (9_000 if bench.native else 30_000)
    assert bench.state()["active"] == {A.decode(): moved, C.decode(): bench.now + 9_000}


def test_active_of_a_wrong_type(bench: Bench) -> None:
    """A good pair finds the spoiled set, a stale one never gets there."""
    bench.row(A, attempts="2")
    bench.spoil("active")
    with bench.nothing_written():
        assert extends(bench, (A, "2")) == WRONGTYPE
        assert extends(bench, (A, "1"), (B, "1")) == [A, B]


def test_many_pairs(bench: Bench) -> None:
    """Three hundred leases in one call."""
    jobs = [b"JOB%011d" % number for number in range(300)]
    for job in jobs:
        bench.put("HSET", b"emq:{q}:job:" + job, "attempts", "2")
        bench.member("active", job)
    pairs = [(job, "2" if place % 2 else "1") for place, job in enumerate(jobs)]
    assert extends(bench, *pairs) == jobs[::2]


def test_the_longest_lease(native: Bench) -> None:
    """now + lease may be 2^63-1 and not one more, and then no pair is extended."""
    native.leased(A)
    native.leased(B)
    room = I64_MAX - native.now
    with native.nothing_written():
        reply = extends(native, (A, "2"), (B, "1"), lease_ms=room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS lease_ms ")
    assert extends(native, (A, "2"), (B, "1"), lease_ms=room) == [B]


def test_a_bad_row_comes_before_the_sum(native: Bench) -> None:
    """The verdicts of all pairs come before now + lease."""
    native.leased(A)
    native.spoil(job_key(B))
    assert extends(native, (A, "2"), (B, "2"), lease_ms=I64_MAX) == WRONGTYPE


def test_a_stale_pair_reads_no_group(native: Bench) -> None:
    """The first answer that ends a pair is its last."""
    native.leased(A)
    told = native.commands("extends", lease_ms="1", pairs=[(A, "1")])
    assert [] == [command for command in told if "group" in command or "ZSCORE" in command]


def test_no_pair_at_all(bench: Bench) -> None:
    """The method refuses an empty list before anything is sent."""
    with pytest.raises(ValueError, match="pairs"):
        bench.executor.extends("q", [], lease_ms=1)


def test_a_lane_row_is_no_error_here(native: Bench) -> None:
    """What extend raises, extends lists."""
    native.leased(A, group="g")
    assert native.executor.extends("q", [(A, 2)], lease_ms=1) == (A,)
    with pytest.raises(errors.LaneRow):
        native.executor.extend("q", A, 2, lease_ms=1)
