"""Claim: the head of the line is leased and its token minted."""

from typing import Any

import pytest
import redis

from emqlab import errors
from emqlab.outcomes import Claimed
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    BAD_COUNTERS,
    GOOD_COUNTERS,
    I64_MAX,
    NOT_INTEGER,
    SCRIPT_ERROR,
    WRONGTYPE,
    A,
    B,
    Bench,
    C,
    D,
    ids,
    job_key,
)


def claim(bench: Bench, lease_ms: int | str = 30_000) -> Any:
    """One claim, its reply as it is."""
    return bench.ask("claim", lease_ms=lease_ms)


def test_leases_the_head(bench: Bench) -> None:
    """The id moves to active with its deadline, attempts goes up by one, state says active."""
    bench.lab.advance_ms(321)
    bench.waiting(A, attempts=4, payload="tea")
    assert claim(bench, 5_000) == [A, b"tea", 5]
    assert bench.state() == {
        job_key(A): {"state": "active", "attempts": "5", "payload": "tea", **bench.stamp},
        "active": {A.decode(): bench.now + 5_000},
    }


def test_claimed_is_a_value(bench: Bench) -> None:
    """The method answers id, payload and token; the token is a number."""
    bench.waiting(A, payload=bytes(range(256)))
    assert Claimed(A, bytes(range(256)), 1) == bench.executor.claim("q")


def test_keeps_the_other_fields(bench: Bench) -> None:
    """Budgets, error text and strange fields are left as they were."""
    kept = {"stalled": "1", "failures": "2", "last_error": "boom", "colour": "red"}
    bench.waiting(A, **kept)
    claim(bench)
    assert bench.read_row(A) == {"state": "active", "attempts": "1", "payload": "p", **kept, **bench.stamp}


def test_an_old_stamp(bench: Bench) -> None:
    """A native claim writes this process's epoch over an old one; a script leaves the old one (hazard 7)."""
    bench.waiting(A, lease_epoch="0" * 40)
    claim(bench)
    assert bench.read_row(A)["lease_epoch"] == bench.stamp.get("lease_epoch", "0" * 40)


def test_the_stamp_is_new_after_a_restart(native: Bench) -> None:
    """The epoch on the lease is that of the process which wrote it."""
    old = native.lab.run_id
    native.lab.restart()
    native.waiting(A)
    claim(native)
    assert (native.lab.run_id, True) == (native.read_row(A)["lease_epoch"], native.lab.run_id != old)


def test_order_of_service(bench: Bench) -> None:
    """Equal scores are served in byte order, whatever the order they came in."""
    for job in (C, A, D, B):
        bench.waiting(job)
    assert [A, B, C, D] == [claim(bench)[0] for _ in range(4)]
    assert claim(bench) == []


def test_a_smaller_score_is_served_first(bench: Bench) -> None:
    """The line is a sorted set: a foreign score of -1 goes before byte order."""
    for job, score in ((A, 0), (B, -1), (C, 1)):
        bench.row(job, attempts=0)
        bench.member("pending", job, score)
    assert [B, A, C] == [claim(bench)[0] for _ in range(3)]


def test_nothing_to_lease(bench: Bench) -> None:
    """An empty line is answered with an empty list, and None by the method."""
    with bench.nothing_written():
        assert claim(bench) == []
        assert bench.executor.claim("q") is None


@pytest.mark.parametrize("value", ["1", "0", "", "no"])
def test_paused(bench: Bench, value: str) -> None:
    """Any value of ``paused`` pauses, ``0`` and the empty text too."""
    bench.waiting(A)
    bench.put("HSET", "{p}meta", "paused", value)
    with bench.nothing_written():
        assert claim(bench) == []


def test_a_meta_without_paused_does_not_pause(bench: Bench) -> None:
    """Other fields of meta mean nothing to a claim."""
    bench.waiting(A)
    bench.put("HSET", "{p}meta", "colour", "red")
    assert claim(bench) == [A, b"p", 1]


def test_meta_of_a_wrong_type(bench: Bench) -> None:
    """The script's host reads it as paused, natively it is an error; nothing is written by either."""
    bench.waiting(A)
    bench.spoil("meta")
    with bench.nothing_written():
        assert claim(bench) == (WRONGTYPE if bench.native else [])


def test_a_pause_read_that_is_lost(scripted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script's host reads a broken connection as not paused, and goes on to the script."""
    scripted.waiting(A)
    scripted.put("HSET", "{p}meta", "paused", "1")
    send: Any = scripted.lab.client.execute_command

    def lossy(*command: Any, **options: Any) -> Any:
        if command[0] in (b"HGET", "HGET"):
            raise redis.ConnectionError("gone")
        return send(*command, **options)

    monkeypatch.setattr(scripted.lab.client, "execute_command", lossy)
    assert claim(scripted) == [A, b"p", 1]


def test_a_wrong_type_is_raised(native: Bench) -> None:
    """The method keeps code word and text of what it has no name for."""
    native.spoil("meta")
    with pytest.raises(errors.ServerRefused) as caught:
        native.executor.claim("q")
    assert (caught.value.code, caught.value.text) == ("WRONGTYPE", WRONGTYPE.text)


def test_a_ghost_is_consumed(bench: Bench) -> None:
    """An id without a row is popped, answered empty, and gets no row; the next claim finds the next job."""
    bench.member("pending", A)
    bench.waiting(B)
    assert claim(bench) == []
    assert bench.state()["pending"] == ids(B)
    assert job_key(A) not in bench.state()
    assert claim(bench) == [B, b"p", 1]


def test_a_ghost_needs_no_active_set(bench: Bench) -> None:
    """A ghost is not leased, so a spoiled active does not matter to it."""
    bench.member("pending", A)
    bench.spoil("active")
    assert claim(bench) == []
    assert bench.state() == {"active": "spoiled"}


def test_a_row_without_payload(bench: Bench) -> None:
    """A missing payload is nil in the middle of the reply, and None in the value."""
    bench.row(A, state="pending")
    bench.member("pending", A)
    assert claim(bench) == [A, None, 1]
    bench.row(B, attempts=1)
    bench.member("pending", B)
    assert Claimed(B, None, 2) == bench.executor.claim("q")


@pytest.mark.parametrize(("stored", "token"), GOOD_COUNTERS)
def test_attempts_is_counted_up(bench: Bench, stored: str, token: int) -> None:
    """Any canonical number is one attempt more, a negative one too."""
    bench.waiting(A, attempts=stored)
    assert claim(bench) == [A, b"p", token]
    assert bench.read_row(A)["attempts"] == str(token)


@pytest.mark.parametrize(("stored", "words"), BAD_COUNTERS)
def test_a_bad_attempts(bench: Bench, stored: str, words: ErrorReply) -> None:
    """Both say HINCRBY's words; the script has lost the id by then, natively it stays at the head."""
    bench.waiting(A, attempts=stored)
    before = bench.state()
    assert words == claim(bench)
    if not bench.native:
        del before["pending"]
    assert before == bench.state()


@pytest.mark.parametrize(("stored", "token"), [(str(I64_MAX - 1), I64_MAX), (str(-(2**63)), -(2**63) + 1)])
def test_the_edges_of_attempts_are_exact(native: Bench, stored: str, token: int) -> None:
    """The largest token is 2^63-1, and the smallest counter can be counted up."""
    native.waiting(A, attempts=stored)
    assert claim(native) == [A, b"p", token]
    assert native.read_row(A)["attempts"] == str(token)


def test_attempts_below_the_smallest_number(native: Bench) -> None:
    """-2^63-1 is no 64-bit number."""
    native.waiting(A, attempts=str(-(2**63) - 1))
    with native.nothing_written():
        assert claim(native) == NOT_INTEGER


@pytest.mark.parametrize(
    "planted", [("SET", "x"), ("RPUSH", "x"), ("SADD", "x"), ("ZADD", "1", "x")], ids=lambda planted: str(planted[0])
)
def test_a_row_that_is_no_hash(bench: Bench, planted: tuple[str, ...]) -> None:
    """The script has popped the id when it learns that; natively nothing is written."""
    command, *rest = planted
    bench.put(command, "{p}" + job_key(A), *rest)
    bench.member("pending", A)
    before = bench.state()
    assert claim(bench) == WRONGTYPE
    if not bench.native:
        del before["pending"]
    assert before == bench.state()


def test_active_of_a_wrong_type(bench: Bench) -> None:
    """The script has popped, counted and marked the job; natively nothing is written."""
    bench.waiting(A)
    bench.spoil("active")
    before = bench.state()
    assert claim(bench) == WRONGTYPE
    if not bench.native:
        before = {"active": "spoiled", job_key(A): {"state": "active", "attempts": "1", "payload": "p"}}
    assert before == bench.state()


def test_pending_of_a_wrong_type(bench: Bench) -> None:
    """Both refuse at once."""
    bench.spoil("pending")
    with bench.nothing_written():
        assert claim(bench) == WRONGTYPE


def test_a_lease_that_is_no_number_loses_the_job_in_the_script(scripted: Bench) -> None:
    """The lease is first used in the deadline: by then the id is popped, counted and marked."""
    scripted.waiting(A)
    assert SCRIPT_ERROR == claim(scripted, "soon")
    assert scripted.state() == {job_key(A): {"state": "active", "attempts": "1", "payload": "p"}}


def test_a_lane_row_in_pending_is_claimed(bench: Bench) -> None:
    """The claim asks neither group nor parent: such a row in the flat line is leased as any other."""
    bench.waiting(A, group="g", parent="JOB0NgWEfAEJfz")
    assert claim(bench) == [A, b"p", 1]


def test_other_leases_are_left_alone(bench: Bench) -> None:
    """A claim does not look at leases that have run out."""
    bench.stalled(B, ends=-5_000)
    bench.waiting(A)
    claim(bench, 1)
    assert bench.state()["active"] == {B.decode(): bench.now - 5_000, A.decode(): bench.now + 1}


def test_the_longest_lease(native: Bench) -> None:
    """now + lease may be 2^63-1 and not one more; nothing is written for one more."""
    native.waiting(A)
    room = I64_MAX - native.now
    with native.nothing_written():
        reply = claim(native, room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS lease_ms ")
    assert claim(native, room) == [A, b"p", 1]
    assert native.state()["active"] == {A.decode(): float(I64_MAX)}


def test_the_order_of_the_verdict(native: Bench) -> None:
    """Fault on fault, the first in SPEC's order is told: meta, pending, row, attempts, active, deadline."""
    native.waiting(A, attempts="01")
    native.spoil("active")
    assert claim(native, I64_MAX) == NOT_INTEGER
    native.row(A, attempts="1")
    assert claim(native, I64_MAX) == WRONGTYPE
    native.put("DEL", "{p}active")
    reply = claim(native, I64_MAX)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("EMQARGS lease_ms ")
    native.put("HSET", "{p}meta", "paused", "0")
    assert claim(native, I64_MAX) == []


def test_too_long_a_lease_of_a_ghost(native: Bench) -> None:
    """A ghost is consumed before a deadline is needed, and an empty line needs none either."""
    native.member("pending", A)
    assert claim(native, I64_MAX) == []
    assert native.state() == {}
    assert claim(native, I64_MAX) == []


def test_reads_of_a_claim(native: Bench) -> None:
    """What is read and in which order; the payload comes before the guard."""
    native.waiting(A)
    told = native.commands("claim", lease_ms="1")
    asked = [command for command in told if command.startswith(("HGET", "ZRANGE"))]
    assert asked == [
        "HGET meta paused",
        "ZRANGE pending 0 0",
        f"HGET {job_key(A)} attempts",
        f"HGET {job_key(A)} payload",
    ]


def test_a_paused_claim_reads_no_line(native: Bench) -> None:
    """The pause flag is the last thing a paused claim reads."""
    native.put("HSET", "{p}meta", "paused", "1")
    assert native.commands("claim", lease_ms="1")[-1] == "HGET meta paused"


def test_a_claim_of_a_ghost_reads_no_counter(native: Bench) -> None:
    """A ghost ends the reads with TYPE."""
    native.member("pending", A)
    assert native.commands("claim", lease_ms="1")[-1] == f"TYPE {job_key(A)}"
