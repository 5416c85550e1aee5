"""What others see of a verb on a real server: events, wake-ups, WATCH, MONITOR, statistics, invalidations."""

import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from emqlab.replies import ask
from tests.servers.effects import BASE, EFFECTS, JOBS, Bed, Effect, bed, every_effect, lines, running
from tests.servers.real import answer, dump_all, wait_until
from tests.transitions.wire import ALL, WIRES, Wire

__all__ = ["bed", "running"]

A = JOBS["A"]
ROW = f"{BASE}job:{A}"
#: All that a verb might touch.
KEYS = [
    BASE + name for name in ("pending", "active", "schedule", "dead", "meta", "metrics:completed", "metrics:failed")
]
#: How long a reply that must come may take, in seconds.
SOON = 10


# -- events


class Ear:
    """Hears every keyspace event of a server."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._pubsub = bed.server.connect(socket_timeout=SOON).pubsub()
        self._pubsub.psubscribe("__keyevent@0__:*")
        self._pubsub.get_message(timeout=SOON)

    def heard(self) -> list[list[str]]:
        """The events since it was last asked: each its name and its key."""
        self._bed.client.publish("__keyevent@0__:end", "")
        found: list[list[str]] = []
        for message in self._pubsub.listen():
            name = message["channel"].decode().partition(":")[2]
            if name == "end":
                return found
            found.append([name, message["data"].decode()])
        return found

    def close(self) -> None:
        """Stop listening."""
        self._pubsub.close()


@pytest.fixture
def ear(bed: Bed) -> Iterator[Ear]:
    """Listens from the start of a test."""
    ear = Ear(bed)
    yield ear
    ear.close()


@every_effect
def test_events_are_those_of_plain_commands(bed: Bed, ear: Ear, effect: Effect) -> None:
    """A verb sends the events of its effects, in order, and leaves the very bytes that plain commands leave."""
    now = bed.prepare(effect)
    ear.heard()
    bed.send(effect.words)
    by_verb, left = ear.heard(), dump_all(bed.client)
    plain = [bed.filled(command, now) for command in lines(effect.plain)]
    bed.prepare(effect, now)
    ear.heard()
    for command in plain:
        bed.send(command)
    assert lines(effect.events) == by_verb
    assert ear.heard() == by_verb
    assert dump_all(bed.client) == left


FIELDS = ["state", "attempts", "payload", "last_error"]


def test_fields_keep_the_time_that_plain_commands_leave_them(bed: Bed) -> None:
    """HINCRBY keeps a field's time to live, HSET ends it: so do the verbs, whose replicas are sent the commands."""
    if not ask(bed.client, "COMMAND", "INFO", "HPEXPIREAT")[0]:
        pytest.skip("the fields of this server have no time to live; Valkey 9 and Redis 7.4 gave them one")
    for effect in EFFECTS.values():
        now = bed.prepare(effect)
        end_later(bed, now)
        bed.send(effect.words)
        by_verb = ask(bed.client, "HPEXPIRETIME", ROW, "FIELDS", len(FIELDS), *FIELDS)
        plain = [bed.filled(command, now) for command in lines(effect.plain)]
        bed.prepare(effect, now)
        end_later(bed, now)
        for command in plain:
            bed.send(command)
        left = ask(bed.client, "HPEXPIRETIME", ROW, "FIELDS", len(FIELDS), *FIELDS)
        assert (effect.name, left) == (effect.name, by_verb)


def end_later(bed: Bed, now: int) -> None:
    """Give every field of the row that is there an hour to live."""
    there = [field for field in FIELDS if ask(bed.client, "HEXISTS", ROW, field)]
    if there:
        ask(bed.client, "HPEXPIREAT", ROW, now + 3_600_000, "FIELDS", len(there), *there)


def changes(bed: Bed) -> int:
    """How many changes the server counts since it was last saved."""
    return int(bed.server.info("persistence")["rdb_changes_since_last_save"])


@every_effect
def test_a_verb_counts_as_a_change(bed: Bed, effect: Effect) -> None:
    """A server that saves after so many changes sees what a verb wrote, and sees nothing in a refusal."""
    bed.prepare(effect)
    before = changes(bed)
    bed.send(effect.words)
    after = changes(bed)
    assert after > before
    answer(bed.client, *WIRES["EMQ.COMPLETE"].words(token="stale"))
    assert after == changes(bed)


@pytest.mark.parametrize("wire", ALL, ids=lambda wire: wire.command)
def test_a_refusal_sends_no_event(bed: Bed, ear: Ear, wire: Wire) -> None:
    """Nothing was written, and nobody is told that it was."""
    bed.client.set("{emq}:version", "echomq:2.0.0")
    ear.heard()
    with pytest.raises(redis.ResponseError, match="EMQFENCE wire version"):
        bed.send(wire.words())
    assert ear.heard() == []


# -- blocked clients

WAKES = [
    ("claim/of-two", "active"),
    ("enqueue", "pending"),
    ("requeue", "pending"),
    ("promote", "pending"),
    ("stalled.check/all-verdicts", "pending"),
    ("reprocess/failed", "pending"),
    ("schedule", "schedule"),
    ("delay", "schedule"),
    ("fail/again", "schedule"),
    ("fail/dead", "dead"),
]


@pytest.mark.parametrize(("name", "key"), WAKES, ids=lambda value: str(value))
def test_a_blocked_client_is_woken(bed: Bed, name: str, key: str) -> None:
    """BZPOPMIN on the set that a job enters answers with that job."""
    effect = EFFECTS[name]
    bed.prepare(effect)
    with alone(bed, protocol=2) as waiting:
        waiting.send_command("BZPOPMIN", BASE + key, 0)
        wait_until(lambda: bed.server.info("clients")["blocked_clients"] == "1", "a client is blocked")
        bed.send(effect.words)
        got_key, job, _ = waiting.read_response()
    assert ((BASE + key).encode(), A.encode()) == (got_key, job)


@contextmanager
def alone(bed: Bed, **options: Any) -> Iterator[Any]:
    """One connection, to send and read by hand."""
    pool: Any = bed.server.connect(socket_timeout=SOON, **options).connection_pool
    connection = pool.get_connection()
    try:
        yield connection
    finally:
        connection.disconnect()


# -- WATCH


def watched(bed: Bed, words: list[str], *keys: str) -> object:
    """What EXEC of a client that watches ``keys`` comes to when ``words`` is sent in between."""
    pipe = bed.server.connect().pipeline()
    pipe.watch(*keys)
    answer(bed.client, *words)
    pipe.multi()
    pipe.ping()
    try:
        return pipe.execute()
    except redis.WatchError:
        return "aborted"
    finally:
        pipe.close()


@every_effect
def test_what_a_verb_wrote_aborts_whoever_watches_it(bed: Bed, effect: Effect) -> None:
    """WATCH on any one key that a verb writes makes EXEC fail."""
    assert effect.writes
    for key in effect.writes:
        bed.prepare(effect)
        assert (key, "aborted") == (key, watched(bed, effect.words, key))


@every_effect
def test_what_a_verb_only_read_does_not(bed: Bed, effect: Effect) -> None:
    """WATCH on all the other keys of the queue, and on the version, lets EXEC go on."""
    bed.prepare(effect)
    others = [key for key in [*KEYS, "{emq}:version", ROW] if key not in effect.writes]
    assert [True] == watched(bed, effect.words, *others)


@pytest.mark.parametrize("wire", ALL, ids=lambda wire: wire.command)
def test_a_refusal_aborts_nobody(bed: Bed, wire: Wire) -> None:
    """After a verb that was fenced off, EXEC of a client that watches everything goes on."""
    bed.client.set("{emq}:version", "echomq:2.0.0")
    assert [True] == watched(bed, wire.words(), *KEYS, ROW, "{emq}:version")


TOKEN_VERBS = [wire for wire in ALL if "token" in wire.args and wire.command != "EMQ.EXTENDS"]


@pytest.mark.parametrize("wire", TOKEN_VERBS, ids=lambda wire: wire.command)
def test_a_stale_token_aborts_nobody(bed: Bed, wire: Wire) -> None:
    """A verb that looked at row and set and refused has touched neither."""
    bed.prepare(EFFECTS["requeue"])
    words = wire.words(token="1")
    assert [True] == watched(bed, words, *KEYS, ROW)
    assert "EMQSTALE" == answer(bed.client, *words).code


# -- MONITOR


@every_effect
def test_monitor_shows_a_verb(bed: Bed, effect: Effect) -> None:
    """The verb as it was sent, once, after whatever else belongs to it."""
    bed.prepare(effect)
    seen = monitored(bed, effect.words)
    assert effect.words == seen[-1]
    assert [effect.words] == [words for words in seen if words[0].startswith("EMQ.")]


@every_effect
def test_monitor_shows_the_writes_of_a_traced_verb(bed: Bed, effect: Effect) -> None:
    """EMQ.TRACE runs the writes as commands: they show, in order, among its reads."""
    now = bed.prepare(effect)
    words = ["EMQ.TRACE", *effect.words]
    seen = monitored(bed, words)
    writes = written(bed, effect, now)
    assert [*writes, words] == seen[-len(writes) - 1 :]


def written(bed: Bed, effect: Effect, now: int) -> list[list[str]]:
    """A verb's writes, after it was sent."""
    return [[word.decode() for word in bed.filled(command, now)] for command in lines(effect.plain)]


def monitored(bed: Bed, words: list[str]) -> list[list[str]]:
    """What MONITOR shows while a command is sent; but TIME, which a server without a frozen clock is asked for."""
    with alone(bed) as monitor:
        monitor.send_command("MONITOR")
        assert b"OK" == monitor.read_response()
        bed.send(words)
        return [words for words in until_end(bed, monitor) if words != ["TIME"]]


def until_end(bed: Bed, monitor: Any) -> Iterator[list[str]]:
    """The commands that MONITOR has shown up to now."""
    bed.send(["ECHO", "end"])
    while True:
        # 1795970447.57 [0 unix:/tmp/s] "ECHO" "end"
        words = shlex.split(monitor.read_response().decode().partition("] ")[2])
        if words == ["ECHO", "end"]:
            return
        yield words


# -- statistics


@pytest.mark.parametrize("wire", ALL, ids=lambda wire: wire.command)
def test_slow_log_and_statistics_list_a_verb(bed: Bed, wire: Wire) -> None:
    """SLOWLOG holds the verb with its arguments; INFO commandstats and LATENCY count one call of it."""
    name = wire.command.lower()
    bed.client.config_set("slowlog-log-slower-than", 0)
    answer(bed.client, *wire.words())
    bed.client.config_set("slowlog-log-slower-than", -1)
    logged = [entry[3] for entry in ask(bed.client, "SLOWLOG", "GET", 100)]
    assert [word.encode() for word in wire.words()] in logged
    stats = dict(pair.split("=") for pair in bed.server.info("commandstats")[f"cmdstat_{name}"].split(","))
    assert ("1", "0") == (stats["calls"], stats["rejected_calls"])
    assert name.encode() in ask(bed.client, "LATENCY", "HISTOGRAM", name)


def test_refusals_are_counted_by_their_code(bed: Bed) -> None:
    """INFO errorstats counts each code word, and commandstats each failed call."""
    bed.prepare(EFFECTS["requeue"])
    for token in ("1", "3", "x"):
        answer(bed.client, *WIRES["EMQ.COMPLETE"].words(token=token))
    answer(bed.client, *WIRES["EMQ.REPROCESS"].words())
    answer(bed.client, *WIRES["EMQ.CLAIM"].words(lease_ms="0"))
    errors = bed.server.info("errorstats")
    counted = {name.removeprefix("errorstat_"): told for name, told in errors.items() if "EMQ" in name}
    assert {"EMQSTALE": "count=3", "EMQSTATE": "count=1", "EMQARGS": "count=1"} == counted
    stats = bed.server.info("commandstats")["cmdstat_emq.complete"]
    assert "calls=3" in stats.split(",")
    assert "failed_calls=3" in stats.split(",")


# -- client-side caches


class Cache:
    """A RESP3 client that has been told what it reads will be tracked; no library between it and the bytes."""

    def __init__(self, bed: Bed) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(SOON)
        self._socket.connect(bed.server.process.socket)
        self.ask("HELLO 3")
        self.ask("CLIENT TRACKING ON")

    def ask(self, *commands: str) -> bytes:
        """Send commands; every byte that comes up to the last one's reply."""
        self._socket.sendall("".join(f"{command}\r\n" for command in (*commands, "ECHO end-of-this")).encode())
        got = b""
        while not got.endswith(b"$11\r\nend-of-this\r\n"):
            more = self._socket.recv(65536)
            assert more, "the server hung up"
            got += more
        return got

    def dropped(self) -> set[str]:
        """The keys that the server has told to be stale since it was last asked."""
        pushes: list[bytes] = re.findall(rb">2\r\n\$10\r\ninvalidate\r\n\*1\r\n\$\d+\r\n([^\r]*)\r\n", self.ask())
        return {key.decode() for key in pushes}

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


@every_effect
def test_caches_are_told_what_a_verb_wrote(bed: Bed, effect: Effect) -> None:
    """A client that tracks the queue hears of every key that the verb wrote, and of no other."""
    bed.prepare(effect)
    cache = Cache(bed)
    cache.ask(*(f"EXISTS {key}" for key in [*KEYS, *(f"{BASE}job:{job}" for job in JOBS.values()), "{emq}:version"]))
    bed.send(effect.words)
    assert set(effect.writes) == cache.dropped()
    cache.close()


def test_caches_are_told_nothing_of_a_refusal(bed: Bed) -> None:
    """A stale token leaves every cached key as good as it was."""
    bed.prepare(EFFECTS["requeue"])
    cache = Cache(bed)
    cache.ask(*(f"EXISTS {key}" for key in [*KEYS, ROW]))
    answer(bed.client, *WIRES["EMQ.COMPLETE"].words(token="1"))
    assert set() == cache.dropped()
    cache.close()
