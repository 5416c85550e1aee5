"""What the host looks at before a script is sent, alone and for many at once (SPEC 4.1, 4.4)."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import redis

import emqlab
from emqlab.observe.snapshot import take
from emqlab.replies import ErrorReply
from emqlab.transitions import PLAIN, TRANSITIONS, Call
from tests.scripted.conftest import FlushOnTheWay
from tests.transitions.bench import WRONGTYPE, A, B, Bench, C, D
from tests.transitions.lanes import PARENT, add_flow, lease_all

LOOKS = {
    "claim": "HGET emq:{q}:meta paused",
    "lane_claim": "HGET emq:{q}:meta paused",
    "complete": f"HGET emq:{{q}}:job:{A.decode()} parent",
    "fail": f"HMGET emq:{{q}}:job:{A.decode()} parent parent_policy",
}
VALUES: dict[str, Any] = {
    "id": A,
    "payload": "p",
    "mode": "in",
    "value": 0,
    "lease_ms": 9,
    "token": 2,
    "delay_ms": 0,
    "max_attempts": 1,
    "error": "boom",
    "pairs": [(A, "2")],
    "batch": 1,
    "max_stalled": 1,
    "limit": 1,
    "group": "g",
    "children": [(B, "c")],
    "policy": "",
}


def call(bench: Bench, verb: str, **values: Any) -> Call:
    """A step with good values, and these in place of some."""
    named = {name: VALUES[name] for name in TRANSITIONS[verb].values} if verb in TRANSITIONS else {}
    return bench.call(verb, **{**named, **values})


@pytest.fixture
def bench(lab: emqlab.Lab) -> Bench:
    """The scripts on a queue of the embedded server."""
    return Bench(lab, lab.scripted)


@pytest.mark.parametrize("verb", [verb for verb in TRANSITIONS if TRANSITIONS[verb].script])
def test_four_verbs_have_a_look_of_one_command(bench: Bench, verb: str) -> None:
    """The pause flag of the two claims, the parent of the two reports; the others go straight to their script."""
    told = bench.executor.trace(call(bench, verb)).told
    looks = [b" ".join(entry.command).decode() for entry in told if entry.phase == "host"]
    assert ([LOOKS[verb]] if verb in LOOKS else []) == looks
    assert all(entry.phase != "host" for entry in told[len(looks) :])


@pytest.mark.parametrize(("verb", "told"), [("complete", [PARENT, b"tea"]), ("fail", [b"fp", PARENT])])
def test_keys_and_arguments_of_a_cases_own_are_sent_as_they_are(bench: Bench, verb: str, told: list[bytes]) -> None:
    """To a child's report nothing is added where the case replaces the keys, or the arguments."""
    bench.leased(A, parent=PARENT)
    plain = call(bench, verb)
    sent_keys, sent_args = plain.wire()
    values = {"result": "tea"} if verb == "complete" else {}
    own_keys = bench.executor.trace(call(bench, verb, keys=sent_keys, token=9, **values)).sent
    assert (b"%d" % len(sent_keys), *sent_keys, *sent_args[:1], b"9", *sent_args[2:], *told) == own_keys[2:]
    own_args = bench.executor.trace(call(bench, verb, args=[A, b"9", *sent_args[2:]], **values)).sent
    assert (A, b"9", *sent_args[2:]) == own_args[3 + int(own_args[2]) :]
    assert len(sent_keys) < int(own_args[2])


# ---------------------------------------------------------------- many at once


def both(calls: Sequence[Call], given: Sequence[Sequence[Any]] = ()) -> list[Any]:
    """The replies to ``calls`` sent together, held to those of the same calls sent one by one, and the keys too."""
    with emqlab.open_lab() as together, emqlab.open_lab() as alone:
        for lab in (together, alone):
            bench = Bench(lab, lab.scripted)
            for command in given:
                bench.put(*command)
        replies = together.scripted.perform_many(calls)
        assert [alone.scripted.perform(one) for one in calls] == replies
        assert take(alone.client, b"q") == take(together.client, b"q")
    return replies


def test_a_pause_is_seen_by_the_lane_claim_behind_it(bench: Bench) -> None:
    """And a resume too: each claim looks when all before it is done."""
    calls = [call(bench, "lane_enqueue", id=job) for job in (A, B)]
    for verb in ("pause", "lane_claim", "resume", "lane_claim", "pause", "lane_claim", "claim"):
        calls.append(call(bench, verb))
    assert [1, 1, 1, [], 1, [A, b"p", 1, b"g"], 1, [], []] == both(calls)


def test_a_child_that_is_new_is_known_to_the_report_behind_it(bench: Bench) -> None:
    """A flow, its claims and its completions in one pipeline release the parent."""
    calls = [
        call(bench, "flow_add", id=PARENT, children=[(A, "a"), (B, "b")]),
        call(bench, "complete", id=C),
        call(bench, "claim"),
        call(bench, "claim"),
        call(bench, "complete", id=A, token=1, result="tea"),
        call(bench, "complete", id=A, token=1),
        call(bench, "complete", id=B, token=1),
        call(bench, "complete", id=B, token=1),
        call(bench, "claim"),
    ]
    assert [1, 0, [A, b"a", 1], [B, b"b", 1], 1, 0, 1, 0, [PARENT, b"p", 1]] == both(calls)


def test_an_id_that_is_used_again_has_its_new_parent(bench: Bench) -> None:
    """A flat job is completed and its id added again as a child, before its report's look."""
    calls = [
        call(bench, "complete", id=A, token=0),
        call(bench, "flow_add", id=PARENT, children=[(A, "a")], policy="id"),
        call(bench, "fail", id=A, token=0, max_attempts=0),
        call(bench, "claim"),
    ]
    assert [1, 1, b"dead", [PARENT, b"p", 1]] == both(calls, [("HSET", b"emq:{q}:job:" + A, "attempts", "0")])


@pytest.mark.parametrize("seed", range(12))
def test_many_at_once_are_what_they_are_one_by_one(bench: Bench, seed: int) -> None:
    """Random steps of every verb on four jobs and a parent: the same replies, the same keys to the byte."""
    rng = random.Random(seed)
    verbs = [verb for verb in TRANSITIONS if TRANSITIONS[verb].script] + list(PLAIN)
    verbs += ["claim", "lane_claim", "complete", "fail", "flow_add"] * 3
    calls = []
    for _ in range(80):
        jobs = rng.sample([A, B, C, D, PARENT], 5)
        some: dict[str, Any] = {"id": jobs[0], "token": rng.randint(0, 2), "limit": rng.randint(1, 3)}
        some |= {"children": [(job, "c") for job in jobs[1 : rng.randint(2, 4)]], "policy": rng.choice(["", "id"])}
        some |= {"max_attempts": rng.randint(1, 2), "group": rng.choice("gh"), "pairs": [(jobs[1], "1")]}
        verb = rng.choice(verbs)
        wanted = TRANSITIONS[verb].values if verb in TRANSITIONS else ()
        calls.append(call(bench, verb, **{name: value for name, value in some.items() if name in wanted}))
    replies = both(calls)
    assert len(calls) == len(replies)


def test_looks_and_scripts_are_two_round_trips(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many reports there are, of children as of flat jobs."""
    add_flow(bench, A, B)
    lease_all(bench)
    bench.leased(C)
    bench.executor.perform(call(bench, "complete", id=D))
    executor: Any = bench.executor
    sent: list[list[bytes]] = []
    send_all = executor._send_all

    def note(commands: Sequence[Sequence[bytes]]) -> Any:
        sent.append([command[0] for command in commands])
        return send_all(commands)

    monkeypatch.setattr(executor, "_send_all", note)
    calls = [call(bench, "complete", id=job, token=token) for job, token in ((A, 1), (B, 1), (C, 2))]
    assert [1, 1, 1] == executor.perform_many(calls)
    assert [[b"HGET"] * 3, [b"EVAL", b"EVALSHA", b"EVALSHA"]] == sent
    assert {PARENT.decode(): 0} == bench.state()["pending"]


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_look_that_fails_is_left_to_its_script_alone(bench: Bench, verb: str) -> None:
    """A row that is no hash: its report says so, the others of the pipeline are served, and the parent is told."""
    add_flow(bench, A)
    lease_all(bench)
    bench.put("SET", b"emq:{q}:job:" + B, "x")
    calls = [call(bench, verb, id=job, token=1) for job in (B, A)]
    first, second = bench.executor.perform_each(calls)
    assert isinstance(first, ErrorReply)
    assert first.text.startswith(WRONGTYPE.text)
    assert second in (1, b"dead")
    assert (("pending" if verb == "complete" else "dead"), bench.read_row(A).get("state")) == (
        bench.read_row(PARENT)["state"],
        None if verb == "complete" else "dead",
    )


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_script_forgotten_on_the_way_is_sent_again_with_the_parents_keys(
    bench: Bench, flush_on_the_way: FlushOnTheWay, verb: str
) -> None:
    """A cache that is emptied before a child's report loses no parent."""
    add_flow(bench, A, policy="id")
    lease_all(bench)
    flush_on_the_way(bench.executor)
    gone = call(bench, verb, id=C, token=1)
    assert bench.executor.perform_each([gone, call(bench, verb, id=A, token=1)])[1] in (1, b"dead")
    assert {PARENT.decode(): 0} == bench.state()["pending"]


def test_a_lane_script_forgotten_on_the_way_is_sent_again(bench: Bench, flush_on_the_way: FlushOnTheWay) -> None:
    """Each step happens once."""
    calls = [call(bench, "lane_enqueue", id=job) for job in (A, B, C)]
    flush_on_the_way(bench.lab.scripted)
    assert [1, 1, 1, [A, b"p", 1, b"g"]] == bench.lab.scripted.perform_many([*calls, call(bench, "lane_claim")])
    assert ["g"] == bench.state()["ring"]


def test_a_script_that_the_server_does_not_know_keeps_its_place(lab: emqlab.Lab) -> None:
    """A heartbeat that is sent before a completion is answered before it, whichever script is new to the server."""
    lab.scripted.enqueue("q", b"tea", id=A)
    claimed = lab.scripted.claim("q")
    assert claimed is not None
    bench = Bench(lab, lab.scripted)
    lab.scripted.complete("q", lab.scripted.enqueue("q", b"x", id=B), 0)
    calls = [call(bench, "extend", token=1), call(bench, "complete", token=1), call(bench, "complete", token=1)]
    assert [1, 1, 0] == lab.scripted.perform_many(calls)


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_look_for_a_parent_that_is_lost_is_a_lost_server(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Nothing was sent yet: a child that were taken for a flat job would leave its parent waiting."""
    bench.leased(A, parent=PARENT)
    before = bench.state()
    real: Any = bench.lab.client.execute_command

    def lose(*command: Any) -> Any:
        if command[0] in (b"HGET", b"HMGET"):
            raise redis.ConnectionError("gone")
        return real(*command)

    monkeypatch.setattr(bench.lab.client, "execute_command", lose)
    for run in (bench.executor.perform, bench.executor.trace):
        with pytest.raises(emqlab.ServerLost):
            run(call(bench, verb))
    assert before == bench.state()


def test_a_look_for_a_pause_that_is_lost_is_no_pause(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim goes on, and its trace tells what became of the look."""
    bench.put("HSET", "{p}meta", "paused", "1")
    real: Any = bench.lab.client.execute_command

    def lose(*command: Any) -> Any:
        if command[:2] == (b"HGET", b"emq:{q}:meta"):
            raise redis.ConnectionError("gone")
        return real(*command)

    monkeypatch.setattr(bench.lab.client, "execute_command", lose)
    for verb in ("claim", "lane_claim"):
        told = bench.executor.trace(call(bench, verb)).told
        assert [("host", ErrorReply("gone"))] == [(entry.phase, entry.reply) for entry in told[:1]]
        assert len(told) > 1


@pytest.mark.parametrize("again", ["enqueue", "schedule", "lane_enqueue"])
def test_a_child_s_id_that_is_added_again_has_no_parent(again: str) -> None:
    """Its look comes after the step that made the new row, also in a pipeline."""
    with emqlab.open_lab() as lab:
        bench = Bench(lab, lab.scripted)
        assert 1 == add_flow(bench, A, B)
        lease_all(bench)
        calls = [call(bench, "complete", token=1), call(bench, again), call(bench, "fail", token=0, max_attempts=0)]
        assert [1, 1, b"dead"] == lab.scripted.perform_many(calls)
        assert b"1" == lab.client.get(f"emq:{{q}}:job:{PARENT.decode()}:dependencies")
        assert 0 == lab.client.exists(f"emq:{{q}}:job:{PARENT.decode()}:failed")
