"""Fail: the retry budget is charged, and the job is tried again or buried."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.outcomes import Dead, Scheduled
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    BAD_COUNTERS,
    GOOD_COUNTERS,
    I64_MAX,
    NOT_INTEGER,
    SCRIPT_ERROR,
    STALE_TOKENS,
    WRONGTYPE,
    A,
    B,
    Bench,
    C,
    ids,
    job_key,
)

GONE = ErrorReply("EMQSTALE job gone")
MISMATCH = ErrorReply("EMQSTALE retry token mismatch")
NOT_ACTIVE = ErrorReply("EMQSTATE not active")


def fail(bench: Bench, *, token: str = "2", delay_ms: int | str = 0, cap: int | str = 3, error: str = "boom") -> Any:
    """One failure of A, its reply as it is."""
    return bench.ask("fail", id=A, token=token, delay_ms=delay_ms, max_attempts=cap, error=error)


def charged(bench: Bench, failures: int = 1) -> dict[str, str]:
    """What a failure leaves in the native budget; the scripts keep none."""
    return {"failures": str(failures)} if bench.native else {}


def test_below_the_cap(bench: Bench) -> None:
    """The job is due again after the delay, on the server's clock; token and other budgets stay."""
    bench.lab.advance_ms(99)
    bench.leased(A, stalled="1")
    assert fail(bench, delay_ms=5_000) == b"scheduled"
    row = {"state": "scheduled", "attempts": "2", "payload": "p", "stalled": "1", "last_error": "boom"}
    assert bench.state() == {
        job_key(A): {**row, **charged(bench)},
        "schedule": {A.decode(): bench.now + 5_000},
    }


def test_at_the_cap(bench: Bench) -> None:
    """The job is a dead letter, counted once."""
    bench.leased(A, failures="1")
    assert fail(bench, cap=2, delay_ms=5_000) == b"dead"
    row = {"state": "dead", "attempts": "2", "payload": "p", "last_error": "boom"}
    assert bench.state() == {
        job_key(A): {**row, "failures": "2" if bench.native else "1"},
        "dead": ids(A),
        "metrics:failed": {"count": "1"},
    }


def test_outcomes_are_values(bench: Bench) -> None:
    """The method answers Scheduled or Dead."""
    bench.leased(A)
    bench.leased(B)
    assert bench.executor.fail("q", A, 2, error=b"boom", max_attempts=9) == Scheduled()
    assert bench.executor.fail("q", B, 2, error="boom", max_attempts=1) == Dead()


@pytest.mark.parametrize(
    ("attempts", "failures", "cap", "scripted_says", "native_says"),
    [
        ("2", None, 2, b"dead", b"scheduled"),
        ("1", "1", 2, b"scheduled", b"dead"),
        ("1", None, 1, b"dead", b"dead"),
        ("9", "8", 9, b"dead", b"dead"),
        ("9", "9", 9, b"dead", b"dead"),
        ("10", "9", 9, b"dead", b"dead"),
        ("9", "8", 10, b"scheduled", b"scheduled"),
        ("3", "-1", 1, b"dead", b"scheduled"),
        ("3", "-2", 1, b"dead", b"scheduled"),
        ("3", "0", 1, b"dead", b"dead"),
    ],
)
def test_which_counter_caps(
    bench: Bench, attempts: str, failures: str | None, cap: int, scripted_says: bytes, native_says: bytes
) -> None:
    """The script compares attempts, the verb failures + 1; both as numbers, at or above."""
    bench.leased(A, attempts=attempts, **({} if failures is None else {"failures": failures}))
    assert fail(bench, token=attempts, cap=cap) == (native_says if bench.native else scripted_says)


def test_attempts_never_moves(bench: Bench) -> None:
    """A failure neither raises nor lowers the token."""
    bench.leased(A)
    fail(bench)
    assert bench.read_row(A)["attempts"] == "2"


def test_the_error_text_is_kept_as_it_is(bench: Bench) -> None:
    """Any bytes are an error text, and the later one replaces the earlier."""
    bench.leased(A, last_error="old")
    error = bytes(range(256)).decode("latin-1")
    fail(bench, error=error)
    assert bench.read_row(A)["last_error"] == error


def test_an_empty_error_text(bench: Bench) -> None:
    """An empty text is written too."""
    bench.leased(A)
    fail(bench, error="")
    assert bench.read_row(A)["last_error"] == ""


def test_stamp_stays(bench: Bench) -> None:
    """A failure does not touch lease_epoch."""
    bench.leased(A, lease_epoch="0" * 40)
    fail(bench)
    assert bench.read_row(A)["lease_epoch"] == "0" * 40


@pytest.mark.parametrize("token", STALE_TOKENS)
def test_a_stale_token_writes_nothing(bench: Bench, token: str) -> None:
    """Not even the error text of a stale holder is recorded."""
    bench.leased(A)
    with bench.nothing_written():
        assert MISMATCH == fail(bench, token=token)


def test_a_stale_token_is_raised(bench: Bench) -> None:
    """StaleToken keeps verb, id and the token presented."""
    bench.leased(A)
    with pytest.raises(errors.StaleToken) as caught:
        bench.executor.fail("q", A, 7, error=b"boom")
    assert (caught.value.verb, caught.value.id, caught.value.presented) == ("fail", A, b"7")


def test_gone(bench: Bench) -> None:
    """No row: natively JobGone, while the scripts' host reads both texts as a stale token."""
    bench.member("active", A)
    with bench.nothing_written():
        assert fail(bench) == GONE
        with pytest.raises(errors.JobGone if bench.native else errors.StaleToken):
            bench.executor.fail("q", A, 2, error=b"boom")


def test_a_row_without_attempts_is_gone(bench: Bench) -> None:
    """The token lives in attempts."""
    bench.leased(A)
    bench.put("HDEL", "{p}" + job_key(A), "attempts")
    with bench.nothing_written():
        assert fail(bench, token="") == GONE


def test_a_recovered_job(bench: Bench) -> None:
    """In pending with a token that still matches: the script fails it, natively it is not active."""
    bench.waiting(A, attempts="2")
    if bench.native:
        with bench.nothing_written():
            assert fail(bench) == NOT_ACTIVE
        return
    assert fail(bench, delay_ms=10) == b"scheduled"
    assert bench.state() == {
        job_key(A): {"state": "scheduled", "attempts": "2", "payload": "p", "last_error": "boom"},
        "schedule": {A.decode(): bench.now + 10},
    }


def test_not_active_is_raised(native: Bench) -> None:
    """The method says NotActive."""
    native.waiting(A, attempts="2")
    with pytest.raises(errors.NotActive):
        native.executor.fail("q", A, 2, error=b"boom")


@pytest.mark.parametrize("leased_too", [False, True])
def test_a_dead_job(bench: Bench, leased_too: bool) -> None:
    """The script buries and counts it again; natively it answers dead and writes nothing, leased or not."""
    bench.buried(A)
    bench.put("HSET", "{p}metrics:failed", "count", "1")
    if leased_too:
        bench.member("active", A, 5)
    before = bench.state()
    assert fail(bench, cap=1, error="again") == b"dead"
    if not bench.native:
        before.pop("active", None)
        before[job_key(A)] = {"state": "dead", "attempts": "2", "payload": "p", "last_error": "again"}
        before["metrics:failed"] = {"count": "2"}
    assert before == bench.state()


def test_a_dead_job_with_a_stale_token(bench: Bench) -> None:
    """The token is asked before the grave."""
    bench.buried(A)
    with bench.nothing_written():
        assert MISMATCH == fail(bench, token="1")


@pytest.mark.parametrize(("stored", "failures"), GOOD_COUNTERS)
def test_failures_is_counted_up(native: Bench, stored: str, failures: int) -> None:
    """Any canonical number is one failure more."""
    native.leased(A, failures=stored)
    assert fail(native, cap=100) == b"scheduled"
    assert native.read_row(A)["failures"] == str(failures)


@pytest.mark.parametrize(("stored", "words"), BAD_COUNTERS)
def test_a_bad_failures(bench: Bench, stored: str, words: ErrorReply) -> None:
    """Natively it is refused in HINCRBY's words; the script does not look and leaves it as it is."""
    bench.leased(A, failures=stored)
    if bench.native:
        with bench.nothing_written():
            assert words == fail(bench)
        return
    assert fail(bench) == b"scheduled"
    assert bench.read_row(A)["failures"] == stored


@pytest.mark.parametrize(("group", "parent"), [("g", None), ("", None), ("g", "JOB0NgWEfAEJfz")])
def test_a_lane_row_is_refused_natively(native: Bench, group: str, parent: str | None) -> None:
    """A row with a group is a lane row, dead or not."""
    native.leased(A, group=group, **({} if parent is None else {"parent": parent}))
    native.member("dead", A)
    with native.nothing_written():
        assert ErrorReply("EMQLANE lane row") == fail(native)
    with pytest.raises(errors.LaneRow):
        native.executor.fail("q", A, 2, error=b"boom")


@pytest.mark.parametrize("parent", ["JOB0NgWEfAEJfz", ""])
def test_a_flow_row_is_refused_natively(native: Bench, parent: str) -> None:
    """A row with a parent is a flow row, dead or not."""
    native.leased(A, parent=parent)
    native.member("dead", A)
    with native.nothing_written():
        assert ErrorReply("EMQFLOW flow row") == fail(native)


def test_a_lane_row_frees_its_slot_in_the_script(scripted: Bench) -> None:
    """It was active: gactive goes down, the waiting lane is rung, and the job goes on as a flat one."""
    scripted.leased(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 2)
    scripted.put("ZADD", "{p}g:g:pending", 0, C)
    assert fail(scripted) == b"scheduled"
    state = scripted.state()
    assert {"g": "1"} == state["gactive"]
    assert (state["ring"], state["wake"], state["schedule"]) == (["g"], ["1"], {A.decode(): scripted.now})


def test_a_lane_row_that_waits_leaves_its_lane_in_the_script(scripted: Bench) -> None:
    """It was not active: the id leaves its lane and an empty lane leaves the ring; gactive stays."""
    scripted.row(A, attempts="2", group="g")
    scripted.put("ZADD", "{p}g:g:pending", 0, A)
    scripted.put("RPUSH", "{p}ring", "g")
    scripted.put("HSET", "{p}gactive", "g", 1)
    assert fail(scripted, cap=1) == b"dead"
    assert sorted(scripted.state()) == ["dead", "gactive", job_key(A), "metrics:failed"]


@pytest.mark.parametrize("spoiled", ["active", job_key(A)])
def test_a_wrong_type_on_the_way(bench: Bench, spoiled: str) -> None:
    """Row and active come before the first write, by both."""
    bench.row(A, attempts="2")
    bench.put("DEL", "{p}" + spoiled)
    bench.spoil(spoiled)
    with bench.nothing_written():
        assert fail(bench) == WRONGTYPE


def test_schedule_of_a_wrong_type_below_the_cap(bench: Bench) -> None:
    """The script has freed the lease and said scheduled; natively nothing is written."""
    bench.leased(A)
    bench.spoil("schedule")
    before = bench.state()
    assert fail(bench) == WRONGTYPE
    if not bench.native:
        row = {"state": "scheduled", "attempts": "2", "payload": "p", "last_error": "boom"}
        before = {"schedule": "spoiled", job_key(A): row}
    assert before == bench.state()


def test_schedule_of_a_wrong_type_at_the_cap(bench: Bench) -> None:
    """A burial does not look at schedule."""
    bench.leased(A)
    bench.spoil("schedule")
    assert fail(bench, cap=1) == b"dead"


def test_dead_of_a_wrong_type(bench: Bench) -> None:
    """At the cap the script stops half-way; natively the verdict reads dead first, also below the cap."""
    bench.leased(A)
    bench.spoil("dead")
    before = bench.state()
    assert fail(bench, cap=1) == WRONGTYPE
    if not bench.native:
        row = {"state": "dead", "attempts": "2", "payload": "p", "last_error": "boom"}
        before = {"dead": "spoiled", job_key(A): row}
    assert before == bench.state()


def test_dead_of_a_wrong_type_below_the_cap(bench: Bench) -> None:
    """The script never opens dead on this path; natively it is part of the verdict."""
    bench.leased(A)
    bench.spoil("dead")
    assert fail(bench) == (WRONGTYPE if bench.native else b"scheduled")


@pytest.mark.parametrize(("stored", "words"), [*BAD_COUNTERS, (None, WRONGTYPE)])
def test_metrics_that_cannot_count_at_the_cap(bench: Bench, stored: str | None, words: ErrorReply) -> None:
    """The script has buried the job when it cannot count it; natively nothing is written."""
    bench.leased(A)
    if stored is None:
        bench.spoil("metrics:failed")
    else:
        bench.put("HSET", "{p}metrics:failed", "count", stored)
    before = bench.state()
    assert words == fail(bench, cap=1)
    if not bench.native:
        row = {"state": "dead", "attempts": "2", "payload": "p", "last_error": "boom"}
        before = {"metrics:failed": before["metrics:failed"], job_key(A): row, "dead": ids(A)}
    assert before == bench.state()


def test_metrics_do_not_matter_below_the_cap(bench: Bench) -> None:
    """Nothing is counted below the cap, so nothing is looked at."""
    bench.leased(A)
    bench.spoil("metrics:failed")
    assert fail(bench) == b"scheduled"


@pytest.mark.parametrize(("stored", "count"), GOOD_COUNTERS)
def test_dead_letters_are_counted_up(bench: Bench, stored: str, count: int) -> None:
    """The count takes any canonical number."""
    bench.leased(A)
    bench.put("HSET", "{p}metrics:failed", "count", stored)
    fail(bench, cap=1)
    assert bench.state()["metrics:failed"] == {"count": str(count)}


def test_numbers_are_used_late_in_the_script(scripted: Bench) -> None:
    """The cap is compared after the lease is freed and the error written, the delay added after state is set."""
    scripted.leased(A)
    assert SCRIPT_ERROR == fail(scripted, cap="many")
    row = {"state": "active", "attempts": "2", "payload": "p", "last_error": "boom"}
    assert scripted.state() == {job_key(A): row}
    assert SCRIPT_ERROR == fail(scripted, delay_ms="later")
    assert scripted.state() == {job_key(A): {**row, "state": "scheduled"}}


def test_the_script_at_the_cap_uses_no_delay(scripted: Bench) -> None:
    """A delay that is no number does not stop a burial."""
    scripted.leased(A)
    assert fail(scripted, cap=2, delay_ms="later") == b"dead"


def test_the_longest_delay(native: Bench) -> None:
    """now + delay may be 2^63-1 and not one more; at the cap no sum is made."""
    room = I64_MAX - native.now
    native.leased(A)
    with native.nothing_written():
        reply = fail(native, delay_ms=room + 1)
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("EMQARGS delay_ms ")
    assert fail(native, delay_ms=room) == b"scheduled"
    native.member("active", A)
    assert fail(native, delay_ms=I64_MAX, cap=1) == b"dead"


def test_the_order_of_the_verdict(native: Bench) -> None:
    """Fault on fault: stale, lane, flow, dead, not active, failures, schedule, the sum."""
    native.row(A, attempts="1", group="", parent="", failures="01")
    native.spoil("schedule")
    native.member("dead", A)
    assert MISMATCH == fail(native, delay_ms=I64_MAX)
    assert ErrorReply("EMQLANE lane row") == fail(native, token="1", delay_ms=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "group")
    assert ErrorReply("EMQFLOW flow row") == fail(native, token="1", delay_ms=I64_MAX)
    native.put("HDEL", "{p}" + job_key(A), "parent")
    assert fail(native, token="1", delay_ms=I64_MAX) == b"dead"
    native.put("DEL", "{p}dead")
    assert fail(native, token="1", delay_ms=I64_MAX) == NOT_ACTIVE
    native.member("active", A)
    assert fail(native, token="1", delay_ms=I64_MAX) == NOT_INTEGER
    native.put("HDEL", "{p}" + job_key(A), "failures")
    assert fail(native, token="1", delay_ms=I64_MAX) == WRONGTYPE
    native.put("DEL", "{p}schedule")
    reply = fail(native, token="1", delay_ms=I64_MAX)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("EMQARGS delay_ms ")


def test_below_the_cap_no_metric_is_read(native: Bench) -> None:
    """What this plan does not write is not read."""
    native.leased(A)
    told = native.commands("fail", id=A, token="2", delay_ms="0", max_attempts="3", error="e")
    assert [] == [command for command in told if "metrics:failed" in command]


def test_above_the_cap_no_schedule_is_read(native: Bench) -> None:
    """Neither the schedule nor, without a sum, the clock."""
    native.leased(A)
    told = native.commands("fail", id=A, token="2", delay_ms="0", max_attempts="1", error="e")
    assert [] == [command for command in told if "schedule" in command]


def test_a_dead_job_reads_no_further(native: Bench) -> None:
    """``dead`` ends the reads: neither active nor failures is asked."""
    native.buried(A)
    told = native.commands("fail", id=A, token="2", delay_ms="0", max_attempts="1", error="e")
    assert [] == [command for command in told if "active" in command or "failures" in command]
