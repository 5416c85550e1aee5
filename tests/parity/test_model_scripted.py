"""The third voice's scripts: what each has done when it stops."""

import pytest

from emqlab.parity.model import Error, Zset, native, scripted
from tests.parity.test_model import (
    ERR,
    NOT_INTEGER,
    NOW_MS,
    WRONGTYPE,
    A,
    B,
    C,
    P,
    ask,
    expired,
    held,
    leased,
    row,
    waiting,
    world,
)


@pytest.mark.parametrize("lease", [b"x", b"", b"1e"])
def test_a_script_that_stops_at_its_lease_has_minted_the_token(lease: bytes) -> None:
    """The id is popped and attempts counted when the sum of now and nil ends the script."""
    where = waiting()
    assert ERR == ask(scripted, where, "claim", lease_ms=lease)
    assert {P + b"job:" + A: row(attempts=b"2")} == where.keys


def test_a_script_takes_any_lease_that_lua_takes() -> None:
    """Hex, a fraction, a negative number and an infinity make a deadline; a nan makes the server refuse the score."""
    for lease, score in [(b"0x10", 16.0), (b"1.5", 1.5), (b"-5", -5.0), (b"inf", float("inf"))]:
        where = waiting()
        assert [A, b"p", 2] == ask(scripted, where, "claim", lease_ms=lease)
        assert Zset({A: NOW_MS + score}) == held(where, b"active")
    assert Error(b"ERR value is not a valid float") == ask(scripted, waiting(), "claim", lease_ms=b"nan")


def test_a_scripted_token_above_2_to_the_53rd_is_a_double() -> None:
    """The reply is rounded, the stored number is not; natively both are exact."""
    for voice, token in [(scripted, 2**53), (native, 2**53 + 1)]:
        where = waiting(attempts=b"9007199254740992")
        assert [A, b"p", token] == ask(voice, where, "claim")
        assert b"9007199254740993" == held(where, b"job:" + A)[b"attempts"]


def test_an_enqueue_script_writes_the_row_before_it_meets_a_bad_set() -> None:
    """The row stays, in no set."""
    where = world({b"pending": b"x"})
    assert WRONGTYPE == ask(scripted, where, "enqueue")
    assert row(b"pending", b"0") == held(where, b"job:" + A)


def test_a_schedule_script_adds_before_it_writes_and_uses_a_bare_value_after() -> None:
    """With a value that is no number, ``in`` leaves nothing and ``at`` leaves a row."""
    one, other = world({}), world({})
    assert [ERR, ERR] == [ask(scripted, w, "schedule", mode=m, value=b"x") for w, m in [(one, b"in"), (other, b"at")]]
    assert [None, row(b"scheduled", b"0")] == [held(one, b"job:" + A), held(other, b"job:" + A)]


def test_a_delay_script_moves_the_job_before_it_looks_at_the_value() -> None:
    """The lease is gone and the row says scheduled when the value ends the script."""
    where = leased()
    assert ERR == ask(scripted, where, "delay", value=b"x")
    assert {P + b"job:" + A: row(b"scheduled")} == where.keys


def test_a_retry_script_that_stops_at_its_cap_has_kept_the_error() -> None:
    """A cap that is no number, or attempts that are none, stop it after last_error."""
    for where, values in [(leased(), {"max_attempts": b"x"}), (leased(attempts=b"a"), {"token": b"a"})]:
        assert ERR == ask(scripted, where, "fail", **values)
        assert b"boom" == held(where, b"job:" + A)[b"last_error"]
        assert held(where, b"active") is None


def test_a_sweep_script_that_stops_has_moved_the_members_before() -> None:
    """A bad stalled loses its id; the member before it is in pending, the one after it is still leased."""
    where = expired(A, B, C)
    held(where, b"job:" + B)[b"stalled"] = b"01"
    assert NOT_INTEGER == ask(scripted, where, "stalled_check", max_stalled=b"2")
    assert (Zset({A: 0.0}), {C}) == (held(where, b"pending"), set(held(where, b"active")))
    assert b"active" == held(where, b"job:" + B)[b"state"]


def test_a_sweep_script_counts_before_it_uses_max_stalled() -> None:
    """max_stalled as nil stops it after the count; a limit as nil or a fraction stops it before anything."""
    where = expired(A)
    assert ERR == ask(scripted, where, "stalled_check", max_stalled=b"x")
    assert (b"1", None) == (held(where, b"job:" + A)[b"stalled"], held(where, b"active"))
    for limit, error in [(b"x", ERR), (b"1.5", Error(b"ERR value is not an integer or out of range"))]:
        where = expired(A)
        assert error == ask(scripted, where, "stalled_check", limit=limit)
        assert expired(A).keys == where.keys


@pytest.mark.parametrize(("limit", "swept"), [(b"-1", 3), (b"0", 0), (b"-0", 0), (b"2", 2), (b"0x2", 2), (b"1e1", 3)])
def test_a_negative_limit_is_no_limit(limit: bytes, swept: int) -> None:
    """A script's limit is Lua's number and then the server's: negative takes all, zero none."""
    recovered, dead = ask(scripted, expired(A, B, C), "stalled_check", limit=limit)  # type: ignore[misc]
    assert ([], [A, B, C][:swept]) == (recovered, dead)


def test_members_are_swept_in_the_order_of_score_then_bytes() -> None:
    """Equal deadlines are swept in byte order."""
    for voice in (native, scripted):
        where = expired(A, B, C)
        where.keys[P + b"active"] = Zset({C: 5.0, B: 7.0, A: 5.0})
        assert [[], [A, C, B]] == ask(voice, where, "stalled_check")


def test_a_script_makes_rows_for_ghosts() -> None:
    """Promote and reap mint a row of state alone, the sweep one with stalled."""
    for verb, name in [("promote", b"schedule"), ("reap", b"active")]:
        where = world({name: Zset({A: 1.0})})
        assert 1 == ask(scripted, where, verb)
        assert {b"state": b"pending"} == held(where, b"job:" + A)
    where = world({b"active": Zset({A: 1.0})})
    assert [[], [A]] == ask(scripted, where, "stalled_check")
    assert {b"stalled": b"1", b"state": b"dead", b"last_error": b"stalled"} == held(where, b"job:" + A)


@pytest.mark.parametrize("verb", ["promote", "reap", "stalled_check"])
def test_a_row_that_is_no_hash_loses_its_id_in_a_script(verb: str) -> None:
    """The id has left its set when the group is read."""
    name = b"schedule" if verb == "promote" else b"active"
    where = world({name: Zset({A: 1.0}), b"job:" + A: [b"x"]})
    assert WRONGTYPE == ask(scripted, where, verb)
    assert {P + b"job:" + A: [b"x"]} == where.keys
