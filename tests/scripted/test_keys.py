"""Every key that a script touches is declared, or begins with a base that is (SPEC 4)."""

from collections.abc import Iterator

import pytest

import emqlab
from emqlab.executor import Traced
from emqlab.scripted.scripts import SCRIPTS
from tests.transitions.bench import A, B, Bench, C, D
from tests.transitions.lanes import PARENT, add_flow, lane

BASE = b"emq:{q}:"
#: Commands without a key, and with two; of all others the first argument is the key.
KEYLESS, TWO_KEYS = {b"TIME"}, {b"LMOVE"}
#: What has no base in KEYS or ARGV derives no key at all.
WITHOUT_BASE = {"enqueue", "schedule", "delay", "extend_lock", "reprocess"}
REPORT = {"delay_ms": 0, "error": "boom"}


def fresh(bench: Bench) -> None:
    """An empty queue."""
    bench.lab.client.flushall()


def lane_job(bench: Bench, job: bytes, **fields: str) -> None:
    """A leased job of lane g, and another that waits there."""
    bench.leased(job, group="g", **fields)
    bench.put("HSET", "{p}gactive", "g", 1)
    bench.row(D, group="g")
    bench.member(lane("g"), D)


def flat(bench: Bench) -> Iterator[tuple[str, dict[str, object]]]:
    """The verbs of the flat path, on flat rows."""
    yield "enqueue", {"id": A, "payload": "p"}
    yield "schedule", {"id": B, "payload": "p", "mode": "in", "value": 0}
    yield "promote", {"batch": 10}
    yield "claim", {"lease_ms": 9}
    yield "extend", {"id": A, "token": 1, "lease_ms": 0}
    yield "extends", {"lease_ms": 0, "pairs": [(A, "1"), (B, "1")]}
    yield "reap", {}
    yield "complete", {"id": A, "token": 1}
    yield "claim", {"lease_ms": 9}
    for mode in ("at", "in"):
        yield "delay", {"id": B, "token": 1, "mode": mode, "value": 0}
    yield "fail", {"id": B, "token": 1, "max_attempts": 9, **REPORT}
    yield "fail", {"id": B, "token": 1, "max_attempts": 1, **REPORT}
    yield "reprocess", {"id": B}
    for cap in (9, 1):
        bench.stalled(C)
        yield "stalled_check", {"max_stalled": cap, "limit": 9}


def lanes(bench: Bench) -> Iterator[tuple[str, dict[str, object]]]:
    """The verbs of lanes, and the flat ones on a lane's rows."""
    bench.put("HSET", "{p}glimit", "g", 9)
    for job in (A, B, C):
        yield "lane_enqueue", {"id": job, "payload": "p", "group": "g"}
    yield "lane_pause", {"group": "g"}
    yield "lane_resume", {"group": "g"}
    bench.put("DEL", "{p}ring")
    yield "lane_limit", {"group": "g", "limit": 1}
    yield "lane_claim", {"lease_ms": 9}
    bench.put("DEL", "{p}" + lane("g"))
    bench.put("RPUSH", "{p}ring", "g")
    yield "lane_claim", {"lease_ms": 9}
    reports: list[tuple[str, dict[str, object]]] = [
        ("complete", {"id": A, "token": 2}),
        ("fail", {"id": A, "token": 2, "max_attempts": 9, **REPORT}),
    ]
    for verb, values in reports:
        for active in (True, False):
            fresh(bench)
            lane_job(bench, A)
            bench.put("HSET", "{p}glimit", "g", 1)
            if not active:
                bench.put("DEL", "{p}active", "{p}" + lane("g"))
            yield verb, values
    sweeps: list[tuple[str, dict[str, object]]] = [
        ("reap", {}),
        ("stalled_check", {"max_stalled": 9, "limit": 9}),
        ("promote", {"batch": 9}),
    ]
    for verb, values in sweeps:
        fresh(bench)
        lane_job(bench, A)
        bench.ends(A, 0)
        bench.put("HSET", "{p}glimit", "g", 9)
        bench.member("schedule", A)
        yield verb, values


def flows(bench: Bench) -> Iterator[tuple[str, dict[str, object]]]:
    """A flow, its last child's completion, its children's deaths, with a group and without."""
    reports: list[tuple[str, dict[str, object]]] = [
        ("complete", {"id": A, "token": 2, "result": "tea"}),
        ("fail", {"id": A, "token": 2, "max_attempts": 1, **REPORT}),
    ]
    for policy in ("fp", "id"):
        yield "flow_add", {"id": PARENT, "payload": "p", "policy": policy, "children": [(A, "c")]}
        for verb, values in reports:
            fresh(bench)
            add_flow(bench, A, policy=policy)
            lane_job(bench, A)
            yield verb, values
        fresh(bench)


def trace_all(lab: emqlab.Lab) -> list[tuple[str, Traced]]:
    """Every transition of the three, by its script's name."""
    bench = Bench(lab, lab.scripted)
    found = []
    for scenario in (flat, lanes, flows):
        fresh(bench)
        for verb, values in scenario(bench):
            traced = bench.executor.trace(bench.call(verb, **values))
            found.append((traced.sent[1].decode().removesuffix(".lua"), traced))
    return found


@pytest.fixture
def traces(lab: emqlab.Lab) -> list[tuple[str, Traced]]:
    """What the scripts did."""
    return trace_all(lab)


def declared(traced: Traced) -> tuple[list[bytes], list[bytes]]:
    """KEYS and ARGV of a script that was traced."""
    number = int(traced.sent[2])
    return list(traced.sent[3 : 3 + number]), list(traced.sent[3 + number :])


def touched(traced: Traced) -> list[bytes]:
    """The keys that a script's commands name."""
    commands = [told.command for told in traced.told if told.phase != "host" and told.command[0] not in KEYLESS]
    return [key for command in commands for key in command[1 : 3 if command[0] in TWO_KEYS else 2]]


def test_every_command_of_every_script_is_run_here(traces: list[tuple[str, Traced]]) -> None:
    """So that what the other tests say holds for all of them; the older claim is the newer one's without a check."""
    for script in SCRIPTS.values():
        lines = {at for at, line in enumerate(script.text.decode().splitlines(), 1) if "redis.call(" in line}
        run = {told.line for name, traced in traces if name == script.name for told in traced.told}
        assert script.name == "claim_v1" or lines <= run, (script.name, lines - run)


def test_every_key_is_declared_or_begins_with_a_base_that_is(traces: list[tuple[str, Traced]]) -> None:
    """A script that is given no base touches the keys it is given and no others."""
    for name, traced in traces:
        sent_keys, args = declared(traced)
        assert (name in WITHOUT_BASE) == (BASE not in sent_keys + args), name
        for key in touched(traced):
            assert key in sent_keys or (name not in WITHOUT_BASE and key.startswith(BASE)), (name, key)


def test_the_rows_of_a_report_are_declared(traces: list[tuple[str, Traced]]) -> None:
    """complete and retry derive sets from their base, never a row: the child's and all of its parent's are in KEYS."""
    for name, traced in traces:
        if name in ("complete", "retry"):
            sent_keys, _ = declared(traced)
            rows = {key for key in touched(traced) if key.startswith(BASE + b"job:")}
            assert rows <= set(sent_keys), (name, rows)


@pytest.mark.parametrize(
    ("verb", "values", "more"),
    [
        ("complete", {}, [b":dependencies", b":processed", b""]),
        (
            "fail",
            {"delay_ms": b"0", "max_attempts": b"1", "error": b"x"},
            [b":failed", b":unsuccessful", b":dependencies", b""],
        ),
    ],
)
def test_a_childs_report_declares_its_parents_keys(
    lab: emqlab.Lab, verb: str, values: dict[str, bytes], more: list[bytes]
) -> None:
    """Behind a flat job's, in SPEC's order: parent and result of a completion, policy and parent of a failure."""
    bench = Bench(lab, lab.scripted)
    flat_keys, flat_args = bench.call(verb, id=A, token=2, **values).wire()
    bench.leased(A, parent=PARENT, parent_policy="id")
    sent_keys, args = declared(bench.executor.trace(bench.call(verb, id=A, token=2, **values)))
    row = BASE + b"job:" + PARENT
    assert [*flat_keys, *(row + name for name in more)] == sent_keys
    assert [*flat_args, *([PARENT, A] if verb == "complete" else [b"id", PARENT])] == args
