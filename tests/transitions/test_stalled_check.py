"""The sweep: expired leases are recovered against the stall budget."""

from typing import Any

import pytest

from emqlab import errors
from emqlab.outcomes import Swept
from emqlab.replies import ErrorReply
from tests.transitions.bench import (
    BAD_COUNTERS,
    FOREIGN,
    I64_MAX,
    NOT_INTEGER,
    OVERFLOW,
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

LANE = ErrorReply("EMQLANE lane row")


def sweep(bench: Bench, *, cap: int | str = 1, limit: int | str = 100) -> Any:
    """One sweep, its reply as it is."""
    return bench.ask("stalled_check", max_stalled=cap, limit=limit)


def row_of(bench: Bench, state: str, **fields: str) -> dict[str, str]:
    """A swept row as it should be."""
    return {"state": state, "attempts": "2", "payload": "p", "lease_epoch": bench.lab.run_id, **fields}


@pytest.mark.parametrize(("ends", "swept"), [(-60_000, True), (-1, True), (0, True), (1, False)])
def test_expired_is_at_or_before_now(bench: Bench, ends: int, swept: bool) -> None:
    """A lease has run out in the millisecond of its deadline."""
    bench.stalled(A, ends=ends)
    assert sweep(bench) == [[], [A] if swept else []]


def test_below_the_cap(bench: Bench) -> None:
    """The stall is counted and the job goes back in line, its token unchanged."""
    bench.stalled(A, failures="1", last_error="boom")
    assert sweep(bench, cap=2) == [[A], []]
    assert bench.state() == {
        job_key(A): row_of(bench, "pending", stalled="1", failures="1", last_error="boom"),
        "pending": ids(A),
    }


def test_at_the_cap(bench: Bench) -> None:
    """The job is a dead letter whose last error is ``stalled``, counted once."""
    bench.stalled(A, last_error="boom")
    assert sweep(bench) == [[], [A]]
    assert bench.state() == {
        job_key(A): row_of(bench, "dead", stalled="1", last_error="stalled"),
        "dead": ids(A),
        "metrics:failed": {"count": "1"},
    }


def test_swept_is_a_value(bench: Bench) -> None:
    """The method answers recovered and dead ids, in the order of their deadlines."""
    bench.stalled(A, ends=-1, stalled="1")
    bench.stalled(B, ends=-4)
    bench.stalled(C, ends=-3, stalled="7")
    bench.stalled(D, ends=-2)
    assert Swept((B, D), (C, A)) == bench.executor.stalled_check("q", max_stalled=2)
    assert bench.state()["metrics:failed"] == {"count": "2"}


@pytest.mark.parametrize(
    ("stored", "cap", "dies"),
    [("1", 3, False), ("2", 3, True), ("3", 3, True), ("9", 10, True), ("-1", 1, False), ("0", 1, True)],
)
def test_the_cap_is_at_or_above(bench: Bench, stored: str, cap: int, dies: bool) -> None:
    """stalled + 1 against max_stalled, as numbers."""
    bench.stalled(A, stalled=stored)
    assert sweep(bench, cap=cap) == ([[], [A]] if dies else [[A], []])
    assert bench.read_row(A)["stalled"] == str(int(stored) + 1)


def test_a_limit_takes_the_oldest(bench: Bench) -> None:
    """Fewer than have expired: the earliest deadlines first, then byte order."""
    for job, ends in ((A, -1), (B, -9), (C, -5), (D, -5)):
        bench.stalled(job, ends=ends)
    assert [sweep(bench, cap=9, limit=2), sweep(bench, cap=9, limit=1)] == [[[B, C], []], [[D], []]]
    assert bench.state()["active"] == {A.decode(): bench.now - 1}


def test_a_hundred_at_a_time(bench: Bench) -> None:
    """The default limit is 100, the default cap 1."""
    for number in range(101):
        bench.stalled(b"JOB%011d" % number)
    assert [len(bench.executor.stalled_check("q").dead) for _ in range(3)] == [100, 1, 0]


def test_nothing_has_expired(bench: Bench) -> None:
    """Two empty lists, nothing written, and no other key is looked at."""
    bench.leased(A)
    bench.spoil("pending")
    bench.spoil("dead")
    bench.spoil("metrics:failed")
    with bench.nothing_written():
        assert sweep(bench) == [[], []]


def test_one_lapse_is_counted_once(bench: Bench) -> None:
    """A second sweep finds nothing."""
    bench.stalled(A)
    assert [sweep(bench, cap=3), sweep(bench, cap=3)] == [[[A], []], [[], []]]
    assert bench.read_row(A)["stalled"] == "1"


@pytest.mark.parametrize("stamp", [None, FOREIGN, "", "x"])
def test_a_lease_of_another_process(bench: Bench, stamp: str | None) -> None:
    """The script counts it; natively a missing or foreign stamp is exempt and listed as recovered."""
    bench.leased(A, **({} if stamp is None else {"lease_epoch": stamp}))
    bench.ends(A, -1)
    stamped = {} if stamp is None else {"lease_epoch": stamp}
    row = {"attempts": "2", "payload": "p", **stamped}
    if bench.native:
        assert sweep(bench) == [[A], []]
        assert bench.state() == {job_key(A): {"state": "pending", **row}, "pending": ids(A)}
    else:
        assert sweep(bench) == [[], [A]]
        assert bench.read_row(A) == {"state": "dead", "stalled": "1", "last_error": "stalled", **row}


def test_a_restart_is_not_a_stall(bench: Bench) -> None:
    """Claimed, restarted, expired: forgiven natively, counted by the script."""
    bench.waiting(A)
    bench.executor.claim("q", lease_ms=1_000)
    bench.lab.restart()
    bench.lab.advance_ms(1_000)
    swept = bench.executor.stalled_check("q")
    assert swept == (Swept((A,), ()) if bench.native else Swept((), (A,)))


def test_a_native_lease_is_charged(native: Bench) -> None:
    """Claimed and expired in one process: counted."""
    native.waiting(A)
    native.executor.claim("q", lease_ms=1_000)
    native.lab.advance_ms(1_000)
    assert native.executor.stalled_check("q") == Swept((), (A,))


def test_an_exempt_row_keeps_its_counter(native: Bench) -> None:
    """stalled is neither counted nor read, however bad it is."""
    native.leased(A, stalled="01")
    native.ends(A, -1)
    assert sweep(native) == [[A], []]
    assert native.read_row(A)["stalled"] == "01"


@pytest.mark.parametrize(("cap", "place"), [(1, "dead"), (2, "pending")])
def test_a_ghost(bench: Bench, cap: int, place: str) -> None:
    """The script makes a row with stalled 1 and lists it; natively it is dropped and listed nowhere."""
    bench.member("active", A, 5)
    if bench.native:
        assert sweep(bench, cap=cap) == [[], []]
        assert bench.state() == {}
        return
    assert sweep(bench, cap=cap) == ([[], [A]] if cap == 1 else [[A], []])
    error = {"last_error": "stalled"} if cap == 1 else {}
    assert bench.read_row(A) == {"state": place, "stalled": "1", **error}
    assert bench.state()[place] == ids(A)


def test_ghosts_alone_need_no_other_key(native: Bench) -> None:
    """Only active is written, so only active is looked at."""
    native.member("active", A, 5)
    for name in ("pending", "dead", "metrics:failed"):
        native.spoil(name)
    assert sweep(native) == [[], []]
    assert sorted(native.state()) == ["dead", "metrics:failed", "pending"]


@pytest.mark.parametrize("group", ["g", ""])
def test_a_lane_row_refuses_the_whole_native_call(native: Bench, group: str) -> None:
    """Even one with a foreign stamp: the group is asked first."""
    native.stalled(A, ends=-9)
    native.leased(B, group=group, lease_epoch=FOREIGN)
    native.ends(B, -5)
    with native.nothing_written():
        assert sweep(native) == LANE
    with pytest.raises(errors.LaneRow):
        native.executor.stalled_check("q")


def test_a_lane_row_returns_to_its_lane_in_the_script(scripted: Bench) -> None:
    """Below the cap: counted, its slot freed, back in its lane, rung."""
    scripted.stalled(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 1)
    assert sweep(scripted, cap=2) == [[A], []]
    assert scripted.state() == {
        job_key(A): row_of(scripted, "pending", stalled="1", group="g"),
        "g:g:pending": ids(A),
        "ring": ["g"],
        "wake": ["1"],
    }


def test_a_lane_row_at_the_cap_rings_nobody(scripted: Bench) -> None:
    """Its slot is freed, it is buried, and the waiting lane is not rung (hazard 12)."""
    scripted.stalled(A, group="g")
    scripted.put("HSET", "{p}gactive", "g", 2)
    scripted.put("ZADD", "{p}g:g:pending", 0, C)
    assert sweep(scripted) == [[], [A]]
    assert scripted.state() == {
        job_key(A): row_of(scripted, "dead", stalled="1", last_error="stalled", group="g"),
        "gactive": {"g": "1"},
        "g:g:pending": ids(C),
        "dead": ids(A),
        "metrics:failed": {"count": "1"},
    }


def test_a_flow_row_is_swept(bench: Bench) -> None:
    """The parent is neither asked nor told (hazard 9)."""
    bench.stalled(A, parent=C)
    bench.row(C, state="awaiting_children", attempts="0")
    assert sweep(bench) == [[], [A]]
    assert bench.read_row(C) == {"state": "awaiting_children", "attempts": "0"}


@pytest.mark.parametrize(("stored", "words"), BAD_COUNTERS)
def test_a_bad_stalled(bench: Bench, stored: str, words: ErrorReply) -> None:
    """The script has moved those before it and loses this id; natively nothing is written."""
    bench.stalled(A, ends=-3)
    bench.stalled(B, ends=-2, stalled=stored)
    bench.stalled(C, ends=-1)
    before = bench.snapshot()
    assert words == sweep(bench, cap=5)
    if bench.native:
        assert before == bench.snapshot()
    else:
        state = bench.state()
        assert (state["pending"], state["active"]) == (ids(A), {C.decode(): bench.now - 1})
        assert bench.read_row(B) == row_of(bench, "active", stalled=stored)


def test_a_row_that_is_no_hash(bench: Bench) -> None:
    """The same for a row of another type."""
    bench.stalled(A, ends=-3)
    bench.spoil(job_key(B))
    bench.member("active", B, bench.now - 2)
    bench.stalled(C, ends=-1)
    before = bench.snapshot()
    assert sweep(bench, cap=5) == WRONGTYPE
    if bench.native:
        assert before == bench.snapshot()
    else:
        assert (bench.state()["pending"], bench.state()["active"]) == (ids(A), {C.decode(): bench.now - 1})


def test_bad_rows_beyond_the_limit_do_not_matter(native: Bench) -> None:
    """Only what is selected is judged."""
    native.stalled(A, ends=-3)
    native.stalled(B, ends=-2, stalled="01")
    assert sweep(native, limit=1) == [[], [A]]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_first_refusal_is_told(native: Bench, place: int) -> None:
    """Members are judged in the order of their deadlines."""
    faults = [(A, LANE), (B, NOT_INTEGER), (C, WRONGTYPE)]
    order = faults[place:] + faults[:place]
    native.stalled(A, group="g")
    native.stalled(B, stalled="x")
    native.spoil(job_key(C))
    for position, (job, _) in enumerate(order):
        native.member("active", job, native.now - 9 + position)
    native.spoil("pending")
    with native.nothing_written():
        assert order[0][1] == sweep(native)


@pytest.mark.parametrize(("spoiled", "cap"), [("pending", 2), ("dead", 1)])
def test_a_target_of_a_wrong_type(bench: Bench, spoiled: str, cap: int) -> None:
    """The script has taken the id out and counted the stall; natively nothing is written."""
    bench.stalled(A)
    bench.spoil(spoiled)
    before = bench.state()
    assert sweep(bench, cap=cap) == WRONGTYPE
    if not bench.native:
        state = {"pending": row_of(bench, "active", stalled="1")}
        state["dead"] = row_of(bench, "dead", stalled="1", last_error="stalled")
        before = {spoiled: "spoiled", job_key(A): state[spoiled]}
    assert before == bench.state()


@pytest.mark.parametrize(("spoiled", "cap"), [("dead", 2), ("metrics:failed", 2), ("pending", 1)])
def test_a_target_that_this_sweep_does_not_write(bench: Bench, spoiled: str, cap: int) -> None:
    """Nobody dies: dead and metrics are not looked at. All die: pending is not."""
    bench.stalled(A)
    bench.spoil(spoiled)
    assert sweep(bench, cap=cap) == ([[A], []] if cap == 2 else [[], [A]])


def test_active_of_a_wrong_type(bench: Bench) -> None:
    """Both refuse at once."""
    bench.spoil("active")
    with bench.nothing_written():
        assert sweep(bench) == WRONGTYPE


@pytest.mark.parametrize(("stored", "words"), [*BAD_COUNTERS, (None, WRONGTYPE)])
def test_metrics_that_cannot_count(bench: Bench, stored: str | None, words: ErrorReply) -> None:
    """The script has buried the job when it cannot count it; natively nothing is written."""
    bench.stalled(A)
    if stored is None:
        bench.spoil("metrics:failed")
    else:
        bench.put("HSET", "{p}metrics:failed", "count", stored)
    before = bench.state()
    assert words == sweep(bench)
    if not bench.native:
        before = {
            "metrics:failed": before["metrics:failed"],
            job_key(A): row_of(bench, "dead", stalled="1", last_error="stalled"),
            "dead": ids(A),
        }
    assert before == bench.state()


def test_a_sweeps_deaths_are_added_up(native: Bench) -> None:
    """Two deaths need room for two; one death of two members needs room for one."""
    native.stalled(A, ends=-2)
    native.stalled(B, ends=-1)
    native.put("HSET", "{p}metrics:failed", "count", I64_MAX - 1)
    with native.nothing_written():
        assert sweep(native) == OVERFLOW
    native.row(B, stalled="-5")
    assert sweep(native) == [[B], [A]]
    assert native.state()["metrics:failed"] == {"count": str(I64_MAX)}


def test_targets_come_before_metrics(native: Bench) -> None:
    """A spoiled dead is told before a count that cannot be raised."""
    native.stalled(A)
    native.put("HSET", "{p}metrics:failed", "count", "01")
    native.spoil("dead")
    assert sweep(native) == WRONGTYPE


def test_a_mixed_sweep(native: Bench) -> None:
    """Ghost, exempt, recovered and dead in one call, each as it should be."""
    native.member("active", A, 1)
    native.leased(B, stalled="4")
    native.ends(B, -3)
    native.stalled(C, ends=-2)
    native.stalled(D, ends=-1, stalled="1")
    assert sweep(native, cap=2) == [[B, C], [D]]
    assert native.state() == {
        job_key(B): {"state": "pending", "attempts": "2", "payload": "p", "stalled": "4"},
        job_key(C): row_of(native, "pending", stalled="1"),
        job_key(D): row_of(native, "dead", stalled="2", last_error="stalled"),
        "pending": ids(B, C),
        "dead": ids(D),
        "metrics:failed": {"count": "1"},
    }


def test_the_largest_numbers(bench: Bench) -> None:
    """2^63-1 is a good cap and limit natively; the script refuses that limit."""
    bench.stalled(A)
    if bench.native:
        assert sweep(bench, cap=I64_MAX, limit=I64_MAX) == [[A], []]
        return
    with bench.nothing_written():
        assert isinstance(sweep(bench, limit=I64_MAX), ErrorReply)


def test_numbers_are_used_late_in_the_script(scripted: Bench) -> None:
    """The limit stops the selection; the cap is compared when the stall is counted and the id is out."""
    scripted.stalled(A)
    with scripted.nothing_written():
        assert SCRIPT_ERROR == sweep(scripted, limit="all")
    assert SCRIPT_ERROR == sweep(scripted, cap="many")
    assert scripted.state() == {job_key(A): row_of(scripted, "active", stalled="1")}


@pytest.mark.parametrize(
    ("plant", "unread"), [("ghost", ("group", "lease_epoch", "stalled")), ("exempt", ("stalled",)), ("none", ("job:",))]
)
def test_reads_that_are_not_needed(native: Bench, plant: str, unread: tuple[str, ...]) -> None:
    """A ghost's fields are never read, an exempt member's stalled is not, and no metric without a death."""
    if plant == "ghost":
        native.member("active", A, 5)
    if plant == "exempt":
        native.leased(A)
        native.ends(A, -1)
    told = native.commands("stalled_check", max_stalled="1", limit="10")
    assert [] == [command for command in told if any(name in command for name in (*unread, "metrics"))]


def test_reads_of_a_death_and_of_a_recovery(native: Bench) -> None:
    """A death does not ask for pending, a recovery not for dead."""
    native.stalled(A)
    told = native.commands("stalled_check", max_stalled="2", limit="10")
    assert [] == [command for command in told if command.endswith((" dead", "count"))]
    native.stalled(A)
    told = native.commands("stalled_check", max_stalled="2", limit="10")
    assert [] == [command for command in told if command.endswith(" pending")]
