"""The module through the life of a server: restarts, reloads, unloading, saving; transactions, scripts, databases."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from emqlab.replies import ErrorReply, ask, ask_all, settled
from tests.servers.effects import BASE, EFFECTS, JOBS, Bed, Effect, bed, every_effect, running
from tests.servers.real import RealServer, answer, built_module, dump_all, each_server, real_server, wait_until
from tests.transitions.wire import ALL, WIRES

__all__ = ["bed", "running"]

A = JOBS["A"].encode()
B = JOBS["B"].encode()
ROW = f"{BASE}job:{JOBS['A']}"
OPEN = {"enable-debug-command": "yes", "enable-module-command": "yes"}

ENQUEUE = WIRES["EMQ.ENQUEUE"].words()
CLAIM = WIRES["EMQ.CLAIM"].words()
COMPLETE = WIRES["EMQ.COMPLETE"].words(token="1")
SWEEP = WIRES["EMQ.STALLED.CHECK"].words()


@pytest.fixture
def server(name: str) -> Iterator[RealServer]:
    """A server of a test's own, which it may restart."""
    with real_server(name, config=OPEN) as made:
        yield made


# -- restarts and reloads


def lapsed(client: redis.Redis) -> None:
    """A lease that a claim wrote, by this process, and that has ended."""
    for words in (ENQUEUE, CLAIM):
        ask(client, *words)
    ask(client, "ZADD", BASE + "active", 1, A)


@each_server
def test_a_restart_is_not_a_stall(server: RealServer) -> None:
    """A new process has a new run_id; its sweep lets a lease from before go uncounted, and counts one of its own."""
    lapsed(server.client)
    before = server.info("server")["run_id"]
    server.process.stop()
    server.process.start()
    after = server.info("server")["run_id"]
    assert before != after
    assert before.encode() == ask(server.client, "HGET", ROW, "lease_epoch")
    assert [[A], []] == ask(server.client, *SWEEP)
    assert None is ask(server.client, "HGET", ROW, "stalled")

    ask(server.client, *CLAIM)
    assert after.encode() == ask(server.client, "HGET", ROW, "lease_epoch")
    ask(server.client, "ZADD", BASE + "active", 1, A)
    assert [[], [A]] == ask(server.client, *SWEEP)
    assert b"1" == ask(server.client, "HGET", ROW, "stalled")


def again(server: RealServer) -> None:
    """A new process on the same data, after a crash."""
    server.process.kill()
    server.process.start()


@each_server
def test_a_crash_loses_nothing(server: RealServer) -> None:
    """What a verb has answered is there after SIGKILL, byte for byte, and the token goes on from there."""
    lapsed(server.client)
    before = dump_all(server.client)
    again(server)
    assert before == dump_all(server.client)
    ask(server.client, *SWEEP)
    assert [A, b"tea", 2] == ask(server.client, *CLAIM)


@each_server
@pytest.mark.parametrize("how", ["RELOAD", "LOADAOF"])
def test_a_reload_is_no_restart(server: RealServer, how: str) -> None:
    """DEBUG RELOAD and LOADAOF keep run_id, keys and verbs: a lease from before is counted."""
    lapsed(server.client)
    before, run_id = dump_all(server.client), server.info("server")["run_id"]
    assert b"OK" == ask(server.client, "DEBUG", how)
    assert before == dump_all(server.client)
    assert run_id == server.info("server")["run_id"]
    assert [[], [A]] == ask(server.client, *SWEEP)


# -- unloading


TIMES = 50
#: What that many unloads and loads may leave behind, in bytes: lists that the server grows by itself, and no string.
LEFT = 4096


@each_server
def test_the_module_can_be_unloaded_and_loaded(server: RealServer) -> None:
    """Fifty times: the verbs are gone and come back, the data stays, and memory does not grow."""
    client = server.client
    module = str(built_module())
    ask(client, *ENQUEUE)
    kept = dump_all(client)
    used = []
    for _ in range(TIMES):
        ask(client, "MODULE", "UNLOAD", "emq")
        for words in (CLAIM, ["EMQ.TRACE", *CLAIM]):
            assert answer(client, *words).text.lower().startswith(f"err unknown command '{words[0].lower()}'")
        assert kept == dump_all(client)
        ask(client, "MODULE", "LOAD", module)
        used.append((int(server.info("memory")["used_memory"]), server.process.pid))
        assert 0 == ask(client, *ENQUEUE)
    assert 1 == len({pid for _, pid in used})
    grown = used[-1][0] - used[0][0]
    assert grown < LEFT, f"{grown} bytes more after {TIMES} times"
    assert [A, b"tea", 1] == ask(client, *CLAIM)
    assert server.info("server")["run_id"].encode() == ask(client, "HGET", ROW, "lease_epoch")


# -- saving while verbs run

JOBS_UNDER_LOAD = 3000


@each_server
@pytest.mark.parametrize("how", ["BGSAVE", "BGREWRITEAOF"])
def test_saving_goes_on_beside_the_verbs(server: RealServer, how: str) -> None:
    """A child writes while jobs come and are claimed: it succeeds, none is lost, and the data outlives the process."""
    ids = [f"JOB{number:011d}" for number in range(JOBS_UNDER_LOAD)]
    half = JOBS_UNDER_LOAD // 2
    ask_all(server.client, [WIRES["EMQ.ENQUEUE"].words(job=job) for job in ids[:half]])
    ask(server.client, how)
    ask_all(server.client, [WIRES["EMQ.ENQUEUE"].words(job=job) for job in ids[half:]])
    claims = ask_all(server.client, [CLAIM for _ in ids])
    assert [[job.encode(), b"tea", 1] for job in ids] == claims

    def done() -> bool:
        info = server.info("persistence")
        return info["rdb_bgsave_in_progress"] == "0" and info["aof_rewrite_in_progress"] == "0"

    wait_until(done, f"{how} has ended")
    info = server.info("persistence")
    assert ("ok", "ok") == (info["rdb_last_bgsave_status"], info["aof_last_bgrewrite_status"])
    before = dump_all(server.client)
    again(server)
    assert before == dump_all(server.client)


# -- transactions, scripts, functions


def replies_of(client: redis.Redis, *commands: list[str]) -> list[Any]:
    """Replies to commands sent together on one connection, an error as an ErrorReply."""
    return [settled(reply) for reply in ask_all(client, commands)]


def test_several_verbs_in_one_transaction(bed: Bed) -> None:
    """EXEC answers each verb's reply; a refusal among them stops none of the others; all have TIME's clock."""
    stale = WIRES["EMQ.COMPLETE"].words(token="7")
    extend = WIRES["EMQ.EXTEND"].words(token="1", lease_ms="1000")
    moment = [["TIME"], CLAIM, ["ZSCORE", BASE + "active", A.decode()], extend]
    queued = [ENQUEUE, *moment, stale, ["ZSCORE", BASE + "active", A.decode()], COMPLETE, CLAIM]
    replies = replies_of(bed.client, ["MULTI"], *queued, ["EXEC"])
    (seconds, micros), claimed, first, extended, refused, second, completed, empty = replies[-1][1:]
    assert ([A, b"tea", 1], 1, 1, []) == (claimed, extended, completed, empty)
    assert ErrorReply("EMQSTALE complete token mismatch") == refused
    deadlines = [int(seconds) * 1000 + int(micros) // 1000 + 1000, int(first), int(second)]
    if bed.server.version()[0] == "redis" and bed.server.version() < ("redis", 7, 2):
        # The clock of this server goes on inside a transaction.
        assert sorted(deadlines) == deadlines
    else:
        assert 1 == len(set(deadlines))


@pytest.mark.parametrize("wire", ALL, ids=lambda wire: wire.command)
def test_a_wrong_count_aborts_a_transaction(bed: Bed, wire: Any) -> None:
    """It is refused when it is queued, and EXEC does nothing of the rest."""
    short = wire.words()[: -2 if wire.command == "EMQ.EXTENDS" else -1]
    replies = replies_of(bed.client, ["MULTI"], ENQUEUE, short, ["EXEC"])
    assert wire.arity == replies[2]
    assert "EXECABORT" == replies[3].code
    assert 0 == ask(bed.client, "DBSIZE")


LIFE = """
local claimed = redis.call('EMQ.CLAIM', 3, KEYS[1], KEYS[2], KEYS[3], 1000)
local refused = redis.pcall('EMQ.COMPLETE', 2, KEYS[2], KEYS[4], claimed[1], 7, KEYS[3])
local done = redis.call('EMQ.COMPLETE', 2, KEYS[2], KEYS[4], claimed[1], claimed[3], KEYS[3])
local empty = redis.call('EMQ.CLAIM', 3, KEYS[1], KEYS[2], KEYS[3], 1000)
return {claimed, refused.err, done, empty}
"""
LIFE_KEYS = [BASE + "pending", BASE + "active", BASE, ROW]


@pytest.mark.parametrize("how", ["script", "function"])
def test_verbs_inside_scripts_and_functions(bed: Bed, how: str) -> None:
    """redis.call and redis.pcall run verbs; a refusal is an error table with the verb's own text."""
    ask(bed.client, *ENQUEUE)
    if how == "script":
        reply = ask(bed.client, "EVAL", LIFE, 4, *LIFE_KEYS)
    else:
        body = f"#!lua name=lab\nredis.register_function('life', function(KEYS, ARGV) {LIFE} end)"
        ask(bed.client, "FUNCTION", "LOAD", "REPLACE", body)
        reply = ask(bed.client, "FCALL", "life", 4, *LIFE_KEYS)
    assert [[A, b"tea", 1], b"EMQSTALE complete token mismatch", 1, []] == reply
    assert b"1" == ask(bed.client, "HGET", BASE + "metrics:completed", "count")


def test_a_script_that_may_not_write_runs_no_verb(bed: Bed) -> None:
    """EVAL_RO refuses it before it begins."""
    ask(bed.client, *ENQUEUE)
    before = dump_all(bed.client)
    reply = answer(bed.client, "EVAL_RO", LIFE, 4, *LIFE_KEYS)
    assert isinstance(reply, ErrorReply)
    assert "Write commands are not allowed" in reply.text
    assert before == dump_all(bed.client)


# -- RESP3


def normal(bed: Bed, words: list[str], effect: Effect, protocol: int) -> object:
    """The reply on a connection of that protocol, its clock and deadlines told as ``n``."""
    now = bed.prepare(effect)
    reply = answer(bed.server.connect(protocol=protocol, socket_timeout=10), *words)

    def plain(value: object) -> object:
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        # Trace entries hold scores and the clock: the same digits but for the time that has gone by.
        digits = isinstance(value, bytes) and value.isdigit() and len(value) >= 13
        return "n" if digits or (isinstance(value, int) and value >= now) else value

    return plain(reply)


@every_effect
def test_replies_in_resp3_are_those_of_resp2(bed: Bed, effect: Effect) -> None:
    """Every verb answers the same numbers, texts, lists and nils on either protocol."""
    assert normal(bed, effect.words, effect, 2) == normal(bed, effect.words, effect, 3)


def test_a_missing_payload_is_nil_on_both_protocols(bed: Bed) -> None:
    """A row without payload is answered with nil, and the connection goes on."""
    for protocol in (2, 3):
        ask_all(bed.client, [["FLUSHALL"], ["HSET", ROW, "attempts", 4], ["ZADD", BASE + "pending", 0, A]])
        client = bed.server.connect(protocol=protocol, socket_timeout=10)
        assert [[A, None, 5], b"PONG"] == ask_all(client, [CLAIM, ["PING"]])


@every_effect
def test_traces_in_resp3_tell_what_they_tell_in_resp2(bed: Bed, effect: Effect) -> None:
    """Nested lists, nils, numbers and scores come through alike."""
    two = normal(bed, ["EMQ.TRACE", *effect.words], effect, 2)
    three = normal(bed, ["EMQ.TRACE", *effect.words], effect, 3)
    assert two == three


# -- databases and expiry


def test_verbs_act_on_the_selected_database(bed: Bed) -> None:
    """After SELECT 1 the keys are written there, and database 0 stays empty."""
    other = bed.server.connect(db=1)
    assert [1, [A, b"tea", 1], 1] == ask_all(other, [ENQUEUE, CLAIM, COMPLETE])
    assert [0, 1] == [ask(bed.client, "DBSIZE"), ask(other, "DBSIZE")]
    ask(other, "SET", "{emq}:version", "echomq:2.0.0")
    assert "EMQFENCE" == answer(other, *CLAIM).code
    assert [] == answer(bed.client, *CLAIM)


@pytest.fixture
def lazy(bed: Bed) -> Iterator[Bed]:
    """A server that removes an expired key only when it is looked at."""
    ask(bed.client, "DEBUG", "SET-ACTIVE-EXPIRE", 0)
    yield bed
    ask(bed.client, "DEBUG", "SET-ACTIVE-EXPIRE", 1)


def expire(bed: Bed, key: str) -> None:
    """Let a key's time end; it is still held in memory."""
    end = ask_all(bed.client, [["PEXPIRE", key, 1], ["PEXPIRETIME", key]])[1]
    wait_until(lambda: bed.now() > end, f"{key} has expired")
    assert "expires=1" in bed.server.info("keyspace")["db0"]


def test_an_expired_row_is_a_ghost(lazy: Bed) -> None:
    """Its id is consumed by a claim, and no row is made up."""
    ask(lazy.client, *ENQUEUE)
    expire(lazy, ROW)
    assert [] == ask(lazy.client, *CLAIM)
    assert {} == dump_all(lazy.client)


def test_an_expired_row_is_no_duplicate(lazy: Bed) -> None:
    """Its id can be enqueued again; the new row has no time to live."""
    ask_all(lazy.client, [["HSET", ROW, "attempts", 4]])
    expire(lazy, ROW)
    assert 1 == ask(lazy.client, *ENQUEUE)
    assert -1 == ask(lazy.client, "PTTL", ROW)
    assert [A, b"tea", 1] == ask(lazy.client, *CLAIM)


def test_an_expired_row_is_gone_to_its_holder(lazy: Bed) -> None:
    """Complete answers 0, fail that the job is gone, the sweep removes it and lists it nowhere."""
    lapsed(lazy.client)
    expire(lazy, ROW)
    assert 0 == ask(lazy.client, *COMPLETE)
    assert ErrorReply("EMQSTALE job gone") == answer(lazy.client, *WIRES["EMQ.FAIL"].words(token="1"))
    assert [[], []] == ask(lazy.client, *SWEEP)
    assert {} == dump_all(lazy.client)


def test_an_expired_meta_pauses_nothing(lazy: Bed) -> None:
    """The pause ends with its time."""
    ask_all(lazy.client, [ENQUEUE, ["HSET", BASE + "meta", "paused", 1]])
    assert [] == ask(lazy.client, *CLAIM)
    expire(lazy, BASE + "meta")
    assert [A, b"tea", 1] == ask(lazy.client, *CLAIM)


EXPIRED_TARGETS = [
    ("enqueue", "pending"),
    ("claim/of-two", "active"),
    ("requeue", "pending"),
    ("fail/again", "schedule"),
    ("fail/dead", "dead"),
    ("reprocess/failed", "pending"),
]


@pytest.mark.parametrize(("name", "key"), EXPIRED_TARGETS, ids=str)
def test_an_expired_set_is_empty(lazy: Bed, name: str, key: str) -> None:
    """What a verb adds to it is alone there, and lives on."""
    effect = EFFECTS[name]
    lazy.prepare(effect)
    ask(lazy.client, "ZADD", BASE + key, 0, B)
    expire(lazy, BASE + key)
    ask(lazy.client, *effect.words)
    assert [[A], -1] == ask_all(lazy.client, [["ZRANGE", BASE + key, 0, -1], ["PTTL", BASE + key]])


def test_an_expired_counter_begins_again(lazy: Bed) -> None:
    """The first job after it counts one, and the counter lives on."""
    metrics = BASE + "metrics:completed"
    ask_all(lazy.client, [ENQUEUE, CLAIM, ["HSET", metrics, "count", 41]])
    expire(lazy, metrics)
    assert 1 == ask(lazy.client, *COMPLETE)
    assert [b"1", -1] == ask_all(lazy.client, [["HGET", metrics, "count"], ["PTTL", metrics]])


def test_a_row_keeps_its_time_to_live(bed: Bed) -> None:
    """No verb that moves a job changes when its row will expire."""
    for name in ("claim/of-two", "fail/again", "delay", "requeue", "extend", "promote", "reprocess/failed"):
        bed.prepare(EFFECTS[name])
        end = ask_all(bed.client, [["PEXPIRE", ROW, 60_000], ["PEXPIRETIME", ROW]])[1]
        ask(bed.client, *EFFECTS[name].words)
        assert (name, end) == (name, ask(bed.client, "PEXPIRETIME", ROW))
