"""Calls: what is tried on a world of one job, the usual ones, the odd ones and those at the edge of a number."""

from collections.abc import Iterator

from emqlab.parity.model import Values, World, Zset
from emqlab.parity.trials.corruptions import FULL, JOB, OTHER, ROW
from emqlab.parity.trials.states import FAILURE, LEASE_MS, PAYLOAD, TOKENS, presenting
from emqlab.parity.trials.trial import EDGES


def usual_calls(found: World) -> Iterator[tuple[str, Values]]:
    """What is tried on a corrupted world: every verb, the token as it is stored, and a usual one."""
    row = found.keys.get(ROW)
    stored = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    yield from presenting(JOB, stored)
    wrong = b"1" if stored != b"1" else b"2"
    yield "complete", {"id": JOB, "token": wrong}
    yield "extend", {"id": JOB, "token": wrong, "lease_ms": b"30000"}
    yield "fail", {"id": JOB, "token": stored, "delay_ms": b"0", "max_attempts": b"1", "error": FAILURE}
    yield "enqueue", {"id": JOB, "payload": PAYLOAD}
    yield "schedule", {"id": JOB, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}
    yield "reprocess", {"id": JOB}
    yield "claim", {"lease_ms": b"30000"}
    yield "promote", {"batch": b"100"}
    yield "promote", {"batch": b"1"}
    yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"100"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"1"}
    yield "reap", {}
    yield "extends", {"lease_ms": b"30000", "pairs": [(JOB, stored), (OTHER, b"1")]}
    yield "pause", {}


#: Bytes of every kind, and more of them than anybody would keep room for.
LONG = bytes(range(256)) * 5
#: Numbers as only Lua reads them, or nobody.
ODD_NUMBERS = (b"", b"0", b"-1", b"-5", b"01", b"+1", b" 5 ", b"1.5", b"1e3", b"0x10", b"inf", b"nan", b"many", FULL)


def odd_calls(found: World) -> Iterator[tuple[str, Values]]:
    """Calls with one value that is odd: a number, a mode, an id's kind, a token."""
    row = found.keys.get(ROW)
    token = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    holder: dict[str, bytes] = {"id": JOB, "token": token}
    job: dict[str, bytes] = {"id": JOB, "payload": PAYLOAD}
    later: dict[str, bytes] = {"mode": b"in", "value": b"30000"}
    sweep: dict[str, bytes] = {"max_stalled": b"2", "limit": b"100"}
    failing: dict[str, bytes] = {**holder, "delay_ms": b"30000", "max_attempts": b"2", "error": FAILURE}
    lease = b"%d" % LEASE_MS
    for odd in (*ODD_NUMBERS, b"1"):
        yield "claim", {"lease_ms": odd}
        yield "extend", {**holder, "lease_ms": odd}
        yield "extends", {"lease_ms": odd, "pairs": [(JOB, token)]}
        yield "promote", {"batch": odd}
        yield "fail", {**failing, "delay_ms": odd}
        yield "fail", {**failing, "max_attempts": odd}
        yield "stalled_check", {**sweep, "max_stalled": odd}
        yield "stalled_check", {**sweep, "limit": odd}
        for mode in (b"in", b"at"):
            yield "schedule", {**job, "mode": mode, "value": odd}
            yield "delay", {**holder, "mode": mode, "value": odd}
    for mode in (b"", b"IN", b"on", b"at"):
        yield "schedule", {**job, **later, "mode": mode}
        yield "delay", {**holder, **later, "mode": mode}
    for strange in (b"TSK" + JOB[3:], b"job" + JOB[3:], b"JOB", b""):
        yield "enqueue", {**job, "id": strange}
        yield "schedule", {**job, **later, "id": strange}
        yield "delay", {**holder, **later, "id": strange}
        yield "complete", {**holder, "id": strange}
        yield "reprocess", {"id": strange}
    for odd_token in (b"", b"0" + token, b"+" + token, token + b" ", token + b".0", b"\xff\x00", *TOKENS):
        yield from presenting(JOB, odd_token)
        yield "extends", {"lease_ms": lease, "pairs": [(JOB, odd_token), (OTHER, odd_token)]}
    yield "extends", {"lease_ms": lease, "pairs": []}
    yield "extends", {"lease_ms": lease, "pairs": [(JOB, token), (JOB, token)]}
    yield "extends", {"lease_ms": lease, "pairs": [(b"", b""), (JOB, b"x"), (b"TSK", token)]}
    yield "enqueue", {**job, "payload": b"\x00\xff {p} @now"}
    yield "fail", {**failing, "error": b""}
    yield "enqueue", {**job, "payload": LONG}
    yield "schedule", {**job, **later, "payload": LONG}
    yield "fail", {**failing, "error": LONG}
    # Two at once: the first one in the order of the arguments is told.
    yield "schedule", {**job, "mode": b"on", "value": b"many"}
    yield "delay", {**holder, "mode": b"on", "value": b"many"}
    yield "fail", {**failing, "delay_ms": b"many", "max_attempts": b"many"}
    yield "stalled_check", {"max_stalled": b"many", "limit": b"many"}


def edge_calls(found: World) -> Iterator[tuple[str, Values]]:
    """Calls whose time is the last one of 64 bits, or one ms beyond: only a clock that stands can hold them."""
    row = found.keys.get(ROW)
    token = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    holder: dict[str, bytes] = {"id": JOB, "token": token}
    for last in EDGES:
        yield "claim", {"lease_ms": last}
        yield "extend", {**holder, "lease_ms": last}
        yield "extends", {"lease_ms": last, "pairs": [(JOB, token)]}
        yield "fail", {**holder, "delay_ms": last, "max_attempts": b"9", "error": FAILURE}
        yield "delay", {**holder, "mode": b"in", "value": last}
        yield "schedule", {"id": JOB, "payload": PAYLOAD, "mode": b"in", "value": last}
