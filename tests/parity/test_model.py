"""The third voice's worlds, and the rules that both its sides keep; the files beside this one have each side's own."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.parity.model import Error, Held, Reply, Unsupported, World, Zset, native, scripted

NOW_MS = 1_000_000
RUN_ID = b"1" * 40
P = b"emq:{q}:"
A, B, C = b"JOB0000000000A", b"JOB0000000000B", b"JOB0000000000C"
ERR = Error(b"ERR")
WRONGTYPE = Error(b"WRONGTYPE Operation against a key holding the wrong kind of value")
NOT_INTEGER = Error(b"ERR hash value is not an integer")
OVERFLOW = Error(b"ERR increment or decrement would overflow")
MAX = b"9223372036854775807"
KINDS: list[Held] = [b"x", [b"x"], {b"x"}, {b"x": b"x"}, Zset({b"x": 0.0})]
Voice = Callable[[World, bytes, str, Any], Reply]
BOTH = pytest.mark.parametrize("voice", [native, scripted])


def row(state: bytes = b"active", attempts: bytes = b"1", **fields: bytes) -> dict[bytes, bytes]:
    """A row with state, attempts and payload, and more fields."""
    return {b"state": state, b"attempts": attempts, b"payload": b"p"} | {n.encode(): v for n, v in fields.items()}


def world(keys: dict[bytes, Held]) -> World:
    """A world whose keys of queue q are named without their base."""
    return World({name if name.startswith(b"{") else P + name: held for name, held in keys.items()}, NOW_MS, RUN_ID)


def leased(**fields: bytes) -> World:
    """One job that holds a lease."""
    return world({b"job:" + A: row(**fields), b"active": Zset({A: NOW_MS + 9000.0})})


def waiting(**fields: bytes) -> World:
    """One job that waits."""
    return world({b"job:" + A: row(b"pending", **fields), b"pending": Zset({A: 0.0})})


def expired(*ids: bytes, **fields: bytes) -> World:
    """Jobs whose leases ran out, the first one first."""
    keys: dict[bytes, Held] = {b"job:" + job_id: row(lease_epoch=RUN_ID, **fields) for job_id in ids}
    return world(keys | {b"active": Zset({job_id: NOW_MS - 100.0 + i for i, job_id in enumerate(ids)})})


def ask(voice: Voice, where: World, verb: str, **values: Any) -> Reply:
    """One step of queue q; the usual id, token and numbers unless told otherwise."""
    usual = {"id": A, "token": b"1", "payload": b"p", "mode": b"in", "value": b"5", "lease_ms": b"30000"}
    usual |= {"delay_ms": b"5", "max_attempts": b"3", "error": b"boom", "max_stalled": b"1", "limit": b"9"}
    return voice(where, b"q", verb, usual | {"batch": b"9"} | values)


def held(where: World, name: bytes) -> Any:
    """A key of queue q, None without it."""
    return where.keys.get(P + name)


def refused(where: World, verb: str, **values: Any) -> Reply:
    """A native step that must write nothing: its reply."""
    before = where.copy()
    reply = ask(native, where, verb, **values)
    assert before.keys == where.keys
    return reply


# ---------------------------------------------------------------- the world


def test_a_copy_shares_no_container() -> None:
    """What is done to a copy is not done to the world."""
    one = world({b"h": {b"f": b"v"}, b"z": Zset({A: 1.0}), b"l": [b"x"], b"s": {b"x"}, b"t": b"x"})
    other = one.copy()
    assert one.keys == other.keys
    assert [type(held) for held in one.keys.values()] == [type(held) for held in other.keys.values()]
    assert [True] == [one.keys[key] is other.keys[key] for key in one.keys if key == P + b"t"]
    assert not any(one.keys[key] is other.keys[key] for key in one.keys if key != P + b"t")


def test_what_an_executor_lacks_is_unsupported() -> None:
    """Requeue is no script, reap no verb, nor are the lane and flow steps."""
    assert Unsupported("requeue") == ask(scripted, leased(), "requeue")
    assert Unsupported("reap") == ask(native, leased(), "reap")
    for verb in ("lane_enqueue", "lane_claim", "lane_pause", "lane_resume", "lane_limit", "flow_add"):
        assert Unsupported(verb) == ask(native, leased(), verb)


# ---------------------------------------------------------------- both sides


@BOTH
def test_any_value_of_paused_pauses(voice: Voice) -> None:
    """An empty value and ``0`` pause; resume answers 1 once."""
    for flag in (b"", b"0", b"1"):
        where = waiting()
        where.keys[P + b"meta"] = {b"paused": flag}
        assert [] == ask(voice, where, "claim")
        assert [1, 0] == [ask(voice, where, "resume") for _ in range(2)]
        assert [1, 0] == [ask(voice, where, "pause") for _ in range(2)]
        assert {b"paused": b"1"} == held(where, b"meta")


def test_a_meta_of_a_wrong_type_is_a_pause_to_the_script_alone() -> None:
    """The host reads the error as paused; natively it is the answer."""
    where = waiting()
    where.keys[P + b"meta"] = b"x"
    assert [] == ask(scripted, where, "claim")
    assert WRONGTYPE == refused(where, "claim")


@BOTH
def test_reprocess_refuses_a_live_job_and_resets_no_counter(voice: Voice) -> None:
    """Only last_error goes."""
    assert Error(b"EMQSTATE not dead") == ask(voice, leased(), "reprocess")
    where = world({b"job:" + A: row(b"dead", last_error=b"boom", failures=b"3"), b"dead": Zset({A: 0.0})})
    assert 1 == ask(voice, where, "reprocess")
    assert {P + b"job:" + A: row(b"pending", failures=b"3"), P + b"pending": Zset({A: 0.0})} == where.keys


@BOTH
@pytest.mark.parametrize("content", KINDS, ids=lambda content: type(content).__name__)
def test_an_existing_row_of_any_kind_is_a_duplicate(voice: Voice, content: Held) -> None:
    """EXISTS asks for no type."""
    where = world({b"job:" + A: content})
    assert [0, 0] == [ask(voice, where, verb) for verb in ("enqueue", "schedule")]
    assert {P + b"job:" + A: content} == where.keys


@BOTH
def test_a_claim_without_a_payload_answers_none_for_it(voice: Voice) -> None:
    """The second item of the reply is nil."""
    where = waiting()
    del held(where, b"job:" + A)[b"payload"]
    assert [A, None, 2] == ask(voice, where, "claim")


def test_a_script_does_not_look_at_the_wire_version() -> None:
    """A foreign version stops a verb and no script."""
    foreign = world({b"{emq}:version": b"echomq:9"})
    assert 1 == ask(scripted, foreign, "enqueue")
    foreign = world({b"{emq}:version": b"echomq:9"})
    assert Error(b"EMQFENCE wire version echomq:9") == refused(foreign, "enqueue")


@BOTH
def test_a_row_that_is_gone_is_told_in_each_verbs_own_way(voice: Voice) -> None:
    """Complete says 0, extend and reprocess -1, fail and delay refuse, extends lists the id."""
    where = world({})
    assert [0, -1, -1] == [ask(voice, where, verb) for verb in ("complete", "extend", "reprocess")]
    assert [Error(b"EMQSTALE job gone")] * 2 == [ask(voice, where, verb) for verb in ("fail", "delay")]
    assert [A, B] == ask(voice, where, "extends", pairs=[(A, b"1"), (B, b"1")])
    assert {} == where.keys
