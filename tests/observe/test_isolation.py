"""Whatever a case does to its server or its connection, the next one starts from nothing (SPEC 8)."""

import threading
from typing import Any

import pytest
import redis

import emqlab
from emqlab import replies
from emqlab.observe import snapshot
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from tests.observe.leftovers import LEFTOVERS

ROW = "JOB0NgWEfAEJfs"
CLAIM = {"verb": "claim", "lease_ms": "30000"}
ORDINARY: dict[str, Any] = {
    "name": "ordinary",
    "queue": "q",
    "given": [["HSET", "{p}job:" + ROW, "attempts", "0", "payload", "p"], ["ZADD", "{p}pending", "0", ROW]],
    "when": [CLAIM],
}
#: Raw commands that leave something behind on a connection, in Lua, among users or among clients.
TRACES: list[list[list[str]]] = [
    *LEFTOVERS,
    [["SELECT", "5"]],
    [["EVAL", "redis.call = nil", "0"]],
    [["ACL", "SETUSER", "ann", "on", ">pw"], ["AUTH", "ann", "wrong"]],
    [["AUTH", "x", "y"]],
]


def run(lab: emqlab.Lab, name: str, **parts: Any) -> Run:
    """One case on one executor of the lab's bench."""
    server, executors = lab.bench()
    done = run_case(server, executors, parse_case({**ORDINARY, **parts}), name)
    assert isinstance(done, Run)
    return done


@pytest.mark.parametrize("name", ["scripted", "native"])
@pytest.mark.parametrize("place", ["given", "when"])
@pytest.mark.parametrize("left", TRACES, ids=lambda left: " ".join(left[0][:3]))
def test_nothing_is_left_for_the_next_case(lab: emqlab.Lab, name: str, place: str, left: list[list[str]]) -> None:
    """The case itself runs to its end; the next one answers and ends as on a new lab."""
    expected = run(lab, name)
    steps = [{"command": command} for command in left]
    run(lab, name, **({"given": left} if place == "given" else {"when": [*steps, CLAIM]}))
    again = run(lab, name)
    assert (expected.replies, expected.after) == (again.replies, again.after)


@pytest.mark.parametrize("left", TRACES, ids=lambda left: " ".join(left[0][:3]))
def test_what_it_left_can_be_recorded(lab: emqlab.Lab, left: list[list[str]]) -> None:
    """A recording of it is made, and an ordinary one after it is as before."""
    expected = emqlab.record(lab, ORDINARY)
    emqlab.record(lab, {**ORDINARY, "given": left, "when": [{"command": left[-1]}, {"verb": "pause"}]})
    assert expected == emqlab.record(lab, ORDINARY)


@pytest.mark.parametrize(
    "when",
    [
        [{"command": ["MULTI"]}, {"command": ["HSET", "{p}x", "f", "1"]}, {"command": ["EXEC"]}],
        [{"command": ["SADD", "{p}s", "a", "b", "c"]}, {"command": ["SPOP", "{p}s"]}],
        [
            {"command": ["SET", "foo", "1"]},
            {"command": ["COPY", "foo", "{p}a"]},
            {"command": ["RENAME", "foo", "{p}b"]},
        ],
        [{"command": ["SELECT", "5"]}, {"command": ["HSET", "{p}x", "f", "1"]}],
        [{"command": ["HSET", "{p}job:" + ROW, "lease_epoch", "@run_id"]}, {"restart": True}, CLAIM],
        [{"command": ["SET", "{p}t", "x", "PX", "50"]}, {"advance_ms": 100}, {"verb": "pause"}],
    ],
)
def test_what_others_did_is_told_as_it_was_found(lab: emqlab.Lab, when: list[dict[str, Any]]) -> None:
    """Transactions, chance, other databases, keys from outside, epochs, expiry: pictures end where the run did."""
    assert 2 == len(emqlab.record(lab, {**ORDINARY, "when": when})["executors"])


def test_a_refused_password_is_an_answer_and_no_lost_server(lab: emqlab.Lab) -> None:
    """The case goes on."""
    done = run(lab, "native", when=[{"command": ["AUTH", "x", "y"]}, CLAIM])
    assert "WRONGPASS" in done.trace[0].reply.text or "invalid" in done.trace[0].reply.text
    assert 1 == done.replies[0][2]


def test_a_limited_default_user_is_refused_and_still_looked_at(lab: emqlab.Lab) -> None:
    """The verbs act as the caller; the snapshot is the lab's own."""
    when = [{"command": ["ACL", "SETUSER", "default", "-@all"]}, CLAIM]
    done = run(lab, "native", when=when)
    assert "NOPERM" == done.replies[0].code
    assert b"emq:{q}:pending" in done.after


def test_cases_of_many_threads_do_not_meet(lab: emqlab.Lab) -> None:
    """One server runs one case at a time."""
    seen: list[Any] = []

    def work(name: Any) -> None:
        for _ in range(20):
            done = lab.run(ORDINARY, executor=name)
            seen.append(list(done.replies))  # type: ignore[union-attr]

    threads = [threading.Thread(target=work, args=(name,)) for name in ("scripted", "native") * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[[ROW.encode(), b"p", 1]]] * 80 == seen


def test_recordings_of_many_threads_do_not_meet() -> None:
    """The copy on which the writes are made again tells one run at a time, whichever lab it came from."""
    seen: list[Any] = []

    def work() -> None:
        with emqlab.open_lab() as own:
            seen.extend(emqlab.record(own, ORDINARY) for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 40 == len(seen)
    assert all(recording == seen[0] for recording in seen)


def test_a_version_with_a_time_to_live_is_shown(lab: emqlab.Lab) -> None:
    """The lab's own value has none."""
    done = run(lab, "native", when=[{"command": ["PEXPIRE", "{emq}:version", "5000"]}])
    assert 5000 == done.after[b"{emq}:version"].ttl_ms


CHANGES: list[tuple[list[tuple[str, ...]], dict[bytes, tuple[str, Any]]]] = [
    ([("DEL", "emq:{q}:hash", "emq:{q}:string")], {b"emq:{q}:list": ("list", [b"a"])}),
    (
        [("DEL", "emq:{q}:hash"), ("SET", "emq:{q}:hash", ""), ("DEL", "emq:{q}:string", "emq:{q}:list")],
        {b"emq:{q}:hash": ("string", b"")},
    ),
    (
        [("DEL", "emq:{q}:string", "emq:{q}:list", "emq:{q}:hash"), ("SADD", "emq:{q}:string", "m")],
        {b"emq:{q}:string": ("set", [b"m"])},
    ),
]


@pytest.mark.parametrize(("meanwhile", "expected"), CHANGES, ids=["gone", "a string now", "a set now"])
def test_a_key_that_changes_while_it_is_read(
    lab: emqlab.Lab,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: list[tuple[str, ...]],
    expected: dict[bytes, tuple[str, Any]],
) -> None:
    """Between its type and its value: one that went is not there, one of another type is read as that."""
    client = lab.client
    client.hset("emq:{q}:hash", "f", "v")
    client.set("emq:{q}:string", "v")
    client.rpush("emq:{q}:list", "a")
    ask_all, asked = replies.ask_all, 0

    def change(*arguments: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked == 2:
            for command in meanwhile:
                client.execute_command(*command)
        return ask_all(*arguments)

    monkeypatch.setattr(snapshot, "ask_all", change)
    names = [b"emq:{q}:hash", b"emq:{q}:list", b"emq:{q}:string"]
    found = snapshot.read(client, names)
    assert expected == {name: (key.type, key.value) for name, key in found.items()}


def test_a_key_that_never_keeps_its_type(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said so, in the end."""
    client, ask_all = lab.client, replies.ask_all

    def change(*arguments: Any) -> Any:
        kind = client.type("emq:{q}:k")
        client.delete("emq:{q}:k")
        client.sadd("emq:{q}:k", "m") if kind == b"string" else client.set("emq:{q}:k", "v")
        return ask_all(*arguments)

    monkeypatch.setattr(snapshot, "ask_all", change)
    with pytest.raises(redis.ResponseError, match=r"emq:\{q\}:k changes its type faster"):
        snapshot.read(client, [b"emq:{q}:k"])
