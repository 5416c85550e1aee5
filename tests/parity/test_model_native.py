"""The third voice's verbs: what each looks at, and in which order."""

import pytest

from emqlab.parity.model import Error, Zset, native, scripted
from tests.parity.test_model import (
    KINDS,
    MAX,
    NOT_INTEGER,
    NOW_MS,
    OVERFLOW,
    RUN_ID,
    WRONGTYPE,
    A,
    B,
    C,
    P,
    ask,
    expired,
    held,
    leased,
    refused,
    row,
    waiting,
    world,
)


def test_arguments_come_before_the_fence_and_the_fence_before_the_row() -> None:
    """The first bad argument in ARGV order is told; then a foreign version; then the kind."""
    foreign = world({b"{emq}:version": b"9"})
    bad_delay = refused(foreign, "fail", delay_ms=b"-1", max_attempts=b"0")
    assert Error(b"EMQARGS delay_ms must be a whole number from 0 to " + MAX) == bad_delay
    assert Error(b"EMQARGS max_attempts must be a whole number from 1 to " + MAX) == refused(
        foreign, "fail", max_attempts=b"0"
    )
    assert Error(b"EMQARGS mode must be in or at") == refused(foreign, "schedule", mode=b"on", value=b"x")
    assert Error(b"EMQFENCE wire version 9") == refused(foreign, "schedule", id=b"X")
    assert Error(b"EMQKIND job id must be JOB-namespaced") == refused(world({}), "schedule", id=b"X")


def test_the_fence_passes_its_own_version_and_refuses_another_kind_of_key() -> None:
    """``echomq:3.0.0`` passes; a version that is no string is WRONGTYPE; pause is no verb and asks nothing."""
    assert 1 == ask(native, world({b"{emq}:version": b"echomq:3.0.0"}), "enqueue")
    for content in KINDS[1:]:
        assert WRONGTYPE == refused(world({b"{emq}:version": content}), "enqueue")
    assert 1 == ask(native, world({b"{emq}:version": b"9"}), "pause")


def test_a_call_without_pairs_or_queue_is_refused_by_its_form() -> None:
    """No pair is a wrong count, before anything else; no queue is none of its keys."""
    foreign = world({b"{emq}:version": b"9"})
    count = Error(b"ERR wrong number of arguments for 'emq.extends' command")
    assert count == refused(foreign, "extends", pairs=[], lease_ms=b"0")
    keys = Error(b"EMQARGS keys must be those of one queue, in the order of the verb")
    assert keys == native(foreign, b"", "claim", {"lease_ms": b"0"})
    assert [] == scripted(foreign, b"", "claim", {"lease_ms": b"0"})


@pytest.mark.parametrize("verb", ["complete", "fail", "delay", "requeue", "extend"])
def test_a_token_is_judged_before_group_parent_and_lease(verb: str) -> None:
    """A stale token hides a lane row, that a flow row, and that a lease that is gone."""
    name = b"retry" if verb == "fail" else verb.encode()
    where = world({b"job:" + A: row(group=b"", parent=b"")})
    assert Error(b"EMQSTALE " + name + b" token mismatch") == refused(where, verb, token=b"01")
    assert Error(b"EMQLANE lane row") == refused(where, verb)
    assert Error(b"EMQFLOW flow row") == refused(world({b"job:" + A: row(parent=b"")}), verb)
    assert Error(b"EMQSTATE not active") == refused(world({b"job:" + A: row()}), verb)


def test_a_ghost_at_the_head_is_consumed_whatever_active_is() -> None:
    """The plan for a ghost does not write active, so it is not looked at."""
    where = world({b"pending": Zset({A: 0.0}), b"active": b"x"})
    assert [] == ask(native, where, "claim", lease_ms=MAX)
    assert {P + b"active": b"x"} == where.keys


def test_claim_judges_attempts_then_active_then_the_deadline() -> None:
    """Each refusal hides the next, and the job stays at the head."""
    where = waiting(attempts=b"01")
    where.keys[P + b"active"] = b"x"
    assert NOT_INTEGER == refused(where, "claim", lease_ms=MAX)
    held(where, b"job:" + A)[b"attempts"] = b"0"
    assert WRONGTYPE == refused(where, "claim", lease_ms=MAX)
    del where.keys[P + b"active"]
    beyond = Error(b"EMQARGS lease_ms goes beyond the 64 bits of a time in milliseconds")
    assert beyond == refused(where, "claim", lease_ms=MAX)


def test_fail_charges_failures_and_looks_only_at_what_it_will_write() -> None:
    """A bad metrics key does not stop a retry, a bad schedule does not stop a death."""
    retry, death = leased(), leased()
    retry.keys[P + b"metrics:failed"] = death.keys[P + b"schedule"] = b"x"
    assert b"scheduled" == ask(native, retry, "fail", max_attempts=b"2")
    assert b"dead" == ask(native, death, "fail", max_attempts=b"1", delay_ms=MAX)
    assert row(b"dead", last_error=b"boom", failures=b"1") == held(death, b"job:" + A)
    assert {b"count": b"1"} == held(death, b"metrics:failed")


def test_fail_on_a_dead_row_answers_dead_before_it_looks_for_a_lease() -> None:
    """Nothing is written, and neither active nor failures are read."""
    where = world({b"job:" + A: row(b"dead", failures=b"x"), b"dead": Zset({A: 0.0}), b"active": b"x"})
    assert b"dead" == refused(where, "fail")


def test_fail_judges_failures_before_its_targets_and_those_before_the_due_time() -> None:
    """Failures, then schedule, then the sum."""
    where = leased(failures=MAX)
    where.keys[P + b"schedule"] = b"x"
    assert OVERFLOW == refused(where, "fail", delay_ms=MAX)
    del held(where, b"job:" + A)[b"failures"]
    assert WRONGTYPE == refused(where, "fail", delay_ms=MAX)
    del where.keys[P + b"schedule"]
    beyond = Error(b"EMQARGS delay_ms goes beyond the 64 bits of a time in milliseconds")
    assert beyond == refused(where, "fail", delay_ms=MAX)


def test_complete_looks_at_pending_only_without_a_lease() -> None:
    """A leased job is completed past a bad pending; a recovered one is completed out of pending."""
    where = leased()
    where.keys[P + b"pending"] = b"x"
    assert 1 == ask(native, where, "complete")
    assert {P + b"pending": b"x", P + b"metrics:completed": {b"count": b"1"}} == where.keys
    assert 1 == ask(native, waiting(), "complete")
    full = leased()
    full.keys[P + b"metrics:completed"] = {b"count": MAX}
    assert OVERFLOW == refused(full, "complete")


def test_extends_makes_a_deadline_only_for_an_id_that_gets_it() -> None:
    """With no good pair the lease is never added to now; one good pair has the call refused."""
    assert [B] == refused(leased(), "extends", lease_ms=MAX, pairs=[(B, b"1")])
    beyond = Error(b"EMQARGS lease_ms goes beyond the 64 bits of a time in milliseconds")
    assert beyond == refused(leased(), "extends", lease_ms=MAX, pairs=[(A, b"1")])


def test_extends_is_refused_by_a_row_that_is_no_hash_and_lists_all_else() -> None:
    """Stale, lane, flow, gone and not leased are listed in order; a string as a row ends the call."""
    where = leased()
    where.keys |= {P + b"job:" + B: row(group=b"g"), P + b"job:" + C: row()}
    pairs = [(C, b"1"), (A, b"1"), (B, b"1"), (b"none", b"1"), (A, b"2")]
    assert [C, B, b"none", A] == ask(native, where, "extends", pairs=pairs)
    assert (NOW_MS + 30000.0, RUN_ID) == (held(where, b"active")[A], held(where, b"job:" + A)[b"lease_epoch"])
    where.keys[P + b"job:" + C] = b"x"
    assert WRONGTYPE == refused(where, "extends", pairs=[(A, b"1"), (C, b"1")])


def test_a_sweep_counts_only_leases_of_this_epoch() -> None:
    """A missing and a foreign stamp are exempt, and their stalled is not read; a ghost is only removed."""
    where = expired(A, B, C, stalled=b"x")
    del held(where, b"job:" + A)[b"lease_epoch"]
    held(where, b"job:" + B)[b"lease_epoch"] = b"0" * 40
    del where.keys[P + b"job:" + C]
    assert [[A, B], []] == ask(native, where, "stalled_check")
    assert (None, Zset({A: 0.0, B: 0.0})) == (held(where, b"active"), held(where, b"pending"))
    assert [b"x", b"x"] == [held(where, b"job:" + job_id)[b"stalled"] for job_id in (A, B)]


def test_a_sweeps_deaths_are_added_up_before_its_first_write() -> None:
    """Two deaths do not fit a count that has room for one."""
    where = expired(A, B)
    where.keys[P + b"metrics:failed"] = {b"count": b"9223372036854775806"}
    assert OVERFLOW == refused(where, "stalled_check")
    assert [[], [A]] == ask(native, where, "stalled_check", limit=b"1")


def test_a_sweep_judges_member_by_member_and_refuses_with_the_first() -> None:
    """The first bad member in order ends the call, before any target is looked at."""
    where = expired(A, B, C)
    where.keys[P + b"dead"] = b"x"
    held(where, b"job:" + B)[b"stalled"] = b"x"
    held(where, b"job:" + C)[b"group"] = b"g"
    assert NOT_INTEGER == refused(where, "stalled_check")
    held(where, b"job:" + A)[b"group"] = b"g"
    assert Error(b"EMQLANE lane row") == refused(where, "stalled_check")


def test_promote_moves_the_live_and_drops_the_ghosts() -> None:
    """A ghost is not counted, and with ghosts alone pending is not looked at."""
    where = world({b"schedule": Zset({A: 1.0, B: 2.0}), b"job:" + B: row(b"scheduled")})
    assert 1 == ask(native, where, "promote")
    assert {P + b"job:" + B: row(b"pending"), P + b"pending": Zset({B: 0.0})} == where.keys
    ghosts = world({b"schedule": Zset({A: 1.0}), b"pending": b"x"})
    assert 0 == ask(native, ghosts, "promote")
    assert {P + b"pending": b"x"} == ghosts.keys
