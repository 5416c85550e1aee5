"""A snapshot that is looked up inside the embedded server is the one that commands read."""

import random
from collections.abc import Callable
from contextlib import suppress

import pytest
import redis

import emqlab
from emqlab.observe.keyspace import Keyspace
from emqlab.observe.recording import record
from emqlab.observe.run import Run
from emqlab.observe.snapshot import snapshot_of, take

A = "JOB0NgWefUEJfs"
NAMES = [b"emq:{q}:a", b"emq:{q}:b", b"emq:{q}:a:c", b"{emq}:x", b"{emq}:version", b"emq:{other}:a", b"stray"]
WORDS = [b"", b"1", b"-0", b"tea", b"\xff\x00", b"inf"]
SCORES = [b"0", b"-0", b"1795952314485", b"0.1", b"-inf", b"inf", b"1e300", b"9007199254740993", b"3.5"]

Making = Callable[[random.Random, bytes], tuple[bytes | int, ...]]
COMMANDS: dict[str, Making] = {
    "SET": lambda any_, key: (b"SET", key, any_.choice(WORDS)),
    "SET PX": lambda any_, key: (b"SET", key, any_.choice(WORDS), b"PX", any_.randint(1, 3_000)),
    "HSET": lambda any_, key: (b"HSET", key, any_.choice(WORDS), any_.choice(WORDS)),
    "HPEXPIRE": lambda any_, key: (b"HPEXPIRE", key, any_.randint(0, 3_000), b"FIELDS", 1, any_.choice(WORDS)),
    "HDEL": lambda any_, key: (b"HDEL", key, any_.choice(WORDS)),
    "ZADD": lambda any_, key: (b"ZADD", key, any_.choice(SCORES), any_.choice(WORDS)),
    "GEOADD": lambda any_, key: (b"GEOADD", b"emq:{q}:places", b"13.361389", b"38.115556", any_.choice(WORDS)),
    "ZREM": lambda any_, key: (b"ZREM", key, any_.choice(WORDS)),
    "SADD": lambda any_, key: (b"SADD", key, any_.choice(WORDS), any_.choice(WORDS)),
    "RPUSH": lambda any_, key: (b"RPUSH", key, any_.choice(WORDS)),
    "LPOP": lambda any_, key: (b"LPOP", key),
    "XADD": lambda any_, key: (b"XADD", key, b"*", b"f", b"v"),
    "PEXPIRE": lambda any_, key: (b"PEXPIRE", key, any_.randint(-1, 3_000)),
    "PERSIST": lambda any_, key: (b"PERSIST", key),
    "DEL": lambda any_, key: (b"DEL", key),
    "DEL again": lambda any_, key: (b"DEL", key),
}


def test_a_look_inside_finds_what_commands_find(lab: emqlab.Lab) -> None:
    """Every type, odd bytes and scores, keys and fields that expire, whatever came before."""
    any_ = random.Random(0)
    server = lab.server
    seen: set[tuple[str, bool]] = set()
    for _ in range(1_200):
        with suppress(redis.ResponseError):  # the key is of another type
            server.client.execute_command(*COMMANDS[any_.choice(list(COMMANDS))](any_, any_.choice(NAMES)))
        if any_.random() < 0.3:
            server.advance(any_.choice([1, 10, 1_000]))
        found = snapshot_of(server, b"q")
        assert list(take(server.observer, b"q").items()) == list(found.items())
        seen.update((key.type, key.ttl_ms >= 0) for key in found.values())
    assert {"hash", "zset", "set", "list", "string", "stream"} == {kind for kind, _ in seen}
    assert {True, False} == {expires for _, expires in seen}


def test_a_hash_of_which_every_field_has_expired_is_no_key(lab: emqlab.Lab) -> None:
    """A claim that finds such a row is told as one that finds none."""
    case = {
        "name": "faded",
        "queue": "q",
        "given": [
            ["ZADD", "{p}pending", "0", A],
            ["HSET", "{p}job:" + A, "state", "pending"],
            ["HPEXPIRE", "{p}job:" + A, "0", "FIELDS", "1", "state"],
        ],
        "when": [{"advance_ms": 5}, {"verb": "claim", "lease_ms": "1000"}],
    }
    run = lab.run(case, executor="native")
    assert isinstance(run, Run)
    assert b"emq:{q}:job:" + A.encode() not in run.before
    assert [{"ok": []}] * 2 == [executor["frames"][-1]["reply"] for executor in record(lab, case)["executors"]]


@pytest.mark.parametrize("seed", range(4))
def test_a_copy_holds_what_it_was_given(lab: emqlab.Lab, seed: int) -> None:
    """Key by key as the snapshot has it, read back."""
    any_ = random.Random(seed)
    for name in NAMES[:4]:
        for command in any_.choices(["HSET", "ZADD", "SADD", "RPUSH", "SET"], k=4):
            with suppress(redis.ResponseError):  # the key is of another type
                lab.client.execute_command(*COMMANDS[command](any_, name))
    lab.client.pexpire(NAMES[0], 5_000)
    before = snapshot_of(lab.server, b"q")
    copy = Keyspace()
    copy.fill(before, b"q", lab.now_ms())
    assert before == {name: copy.key(name) for name in before}
    assert copy.key(b"emq:{q}:none") is None
