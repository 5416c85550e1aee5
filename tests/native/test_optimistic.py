"""The optimistic host on a real server: conflicts, retries, what is left behind, what it refuses (SPEC 10)."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from emqlab import errors, keys
from emqlab.native import texts
from emqlab.native.host import Refusal
from emqlab.native.optimistic import OptimisticExecutor, OptimisticHost
from emqlab.native.verbs import VERBS
from emqlab.replies import ErrorReply
from emqlab.servers.process import ServerProcess
from emqlab.transitions import Call
from tests.servers import loopback

A, B = b"JOB0NgWEfAEJfa", b"JOB0NgWEfAEJfb"
CLAIM = Call("claim", b"q", {"lease_ms": b"9000"})
WATCHING = "+watch +multi +exec +time +info"
INNER = "+get +hget +zrange +type +zpopmin +hincrby +hset +zadd"
USERS = (
    f"able on >pw ~emq:{{q}}:* ~{{emq}}:* {INNER} {WATCHING}",
    f"unfenced on >pw ~emq:{{q}}:* {INNER} {WATCHING}",
    f"nowhere on >pw ~{{emq}}:* {INNER} {WATCHING}",
    f"nomulti on >pw ~* {INNER} {WATCHING} -multi",
    f"noexec on >pw ~* {INNER} {WATCHING} -exec",
    f"nowatch on >pw ~* {INNER} {WATCHING} -watch",
    f"nopop on >pw ~* {INNER} {WATCHING} -zpopmin",
    f"notime on >pw ~* {INNER} {WATCHING} -time",
    f"noinfo on >pw ~* {INNER} {WATCHING} -info",
    f"readonly on >pw %R~emq:{{q}}:* ~{{emq}}:* {INNER} {WATCHING}",
)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One server for this file."""
    with loopback.server({"user": USERS}) as process:
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[redis.Redis]:
    """The default user on an empty server that holds the lab's version."""
    client = connect(server)
    client.flushall()
    client.set(keys.VERSION_KEY, keys.VERSION)
    yield client
    client.connection_pool.disconnect()


def connect(server: ServerProcess, **options: Any) -> redis.Redis:
    """A client as the lab makes them."""
    return redis.Redis(unix_socket_path=server.socket, protocol=2, retry=Retry(NoBackoff(), 0), **options)


def executor(client: redis.Redis, **options: Any) -> OptimisticExecutor:
    """An executor over a client, with ids of its own."""
    return OptimisticExecutor(client, lambda: A, **options)


def waiting(client: redis.Redis, *jobs: bytes) -> None:
    """Put jobs in line."""
    for job in jobs:
        client.hset("emq:{q}:job:" + job.decode(), mapping={"state": "pending", "attempts": "1", "payload": "p"})
        client.zadd("emq:{q}:pending", {job: 0})


def interfere(monkeypatch: pytest.MonkeyPatch, what: Callable[[int], object]) -> None:
    """Do something between the last read of each try and its EXEC; it is given the try's number, from 1."""
    finish = OptimisticHost.finish
    tries = []

    def late(host: OptimisticHost) -> None:
        tries.append(host)
        what(len(tries))
        finish(host)

    monkeypatch.setattr(OptimisticHost, "finish", late)


def watched(client: redis.Redis) -> list[str]:
    """The connections of this server that still watch a key or are in a transaction."""
    return [one["id"] for one in client.client_list() if int(one.get("watch", 0)) or "x" in one["flags"]]


# ---------------------------------------------------------------- conflicts


def test_a_change_between_the_reads_and_exec_runs_the_verb_again(
    client: redis.Redis, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is taken after the peek: nothing of the first try is written, the second takes the next."""
    waiting(client, A, B)
    other = connect(server)
    interfere(monkeypatch, lambda tried: other.zpopmin("emq:{q}:pending") if tried == 1 else None)
    native = executor(client)
    assert [B, b"p", 2] == native.perform(CLAIM)
    assert (1, 1) == (native.cost.calls, native.cost.retries)
    assert b"1" == client.hget(b"emq:{q}:job:" + A, "attempts")
    assert [B] == client.zrange("emq:{q}:active", 0, -1)
    assert [] == watched(other)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("version", ("SET", "{emq}:version", keys.VERSION)),
        ("meta", ("HSET", "emq:{q}:meta", "paused", "1")),
        ("row", ("HSET", "emq:{q}:job:JOB0NgWEfAEJfa", "payload", "new")),
        ("active", ("ZADD", "emq:{q}:active", "1", "x")),
    ],
)
def test_every_key_that_was_read_is_watched(
    client: redis.Redis, server: ServerProcess, monkeypatch: pytest.MonkeyPatch, name: str, command: tuple[str, ...]
) -> None:
    """Whichever of them changes, the verdict is made anew from what is there."""
    waiting(client, A)
    other = connect(server)
    interfere(monkeypatch, lambda tried: other.execute_command(*command) if tried == 1 else None)
    native = executor(client)
    reply = native.perform(CLAIM)
    assert 1 == native.cost.retries
    assert {"meta": [], "row": [A, b"new", 2]}.get(name, [A, b"p", 2]) == reply


def test_a_verdict_without_writes_is_held_to_one_moment_too(
    client: redis.Redis, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty line that fills while the verb looks is not reported empty; a refusal is looked at again as well."""
    other = connect(server)
    interfere(monkeypatch, lambda tried: waiting(other, A) if tried == 1 else None)
    native = executor(client)
    assert [A, b"p", 2] == native.perform(CLAIM)
    complete = Call("complete", b"q", {"id": A, "token": b"1"})
    monkeypatch.undo()
    interfere(monkeypatch, lambda tried: other.delete(b"emq:{q}:job:" + A) if tried == 1 else None)
    assert 0 == native.perform(complete)
    assert 2 == native.cost.retries


def test_retries_end(client: redis.Redis, server: ServerProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many tries a refusal that says why; nothing was written, nothing is watched."""
    waiting(client, A)
    other = connect(server)
    interfere(monkeypatch, lambda tried: other.hset("emq:{q}:meta", "x", str(tried)))
    native = executor(client, tries=5)
    reply = native.perform(CLAIM)
    assert isinstance(reply, ErrorReply)
    assert reply.text.startswith("EMQBUSY other clients changed what the verb had read, 5 times running")
    assert (1, 4) == (native.cost.calls, native.cost.retries)
    assert [A] == client.zrange("emq:{q}:pending", 0, -1)
    assert [] == watched(other)
    with pytest.raises(errors.ServerRefused, match="EMQBUSY"):
        native.claim("q")


def test_a_connection_goes_back_clean(client: redis.Redis, server: ServerProcess) -> None:
    """After writes, after an empty line, after every kind of refusal: no WATCH, no MULTI, no reply unread."""
    native = executor(client)
    waiting(client, A)
    other = connect(server)
    calls = [
        CLAIM,
        CLAIM,
        Call("complete", b"q", {"id": B, "token": b"1"}),
        Call("complete", b"q", {"id": A, "token": b"9"}),
        Call("claim", b"q", {"lease_ms": b"x"}),
        Call("reprocess", b"q", {"id": A}),
    ]
    for call in calls:
        native.perform(call)
        assert [] == watched(other)
    client.set("emq:{q}:dead", "spoiled")
    assert isinstance(native.perform(calls[-1]), ErrorReply)
    assert [] == watched(other)
    assert b"active" == client.hget(b"emq:{q}:job:" + A, "state")


# ---------------------------------------------------------------- exactly once


def test_eight_threads_claim_each_job_once(server: ServerProcess, client: redis.Redis) -> None:
    """1,000 jobs, eight threads, one executor: each job once, complete and counted; the retries are counted too."""
    native = executor(client)
    pipe = client.pipeline(transaction=False)
    jobs = [b"JOB0NgWEfA%04d" % number for number in range(1_000)]
    for job in jobs:
        pipe.hset("emq:{q}:job:" + job.decode(), mapping={"state": "pending", "attempts": "0", "payload": job})
        pipe.zadd("emq:{q}:pending", {job: 0})
    pipe.execute()
    taken: list[bytes] = []
    stopped: list[BaseException] = []

    def work() -> None:
        try:
            while reply := native.perform(CLAIM):
                if isinstance(reply, ErrorReply):
                    assert "EMQBUSY" == reply.code
                    continue
                taken.append(reply[0])
                done = native.perform(Call("complete", b"q", {"id": reply[0], "token": b"%d" % reply[2]}))
                while isinstance(done, ErrorReply):
                    assert "EMQBUSY" == done.code
                    done = native.perform(Call("complete", b"q", {"id": reply[0], "token": b"%d" % reply[2]}))
                assert 1 == done
        except BaseException as error:
            stopped.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == stopped
    assert Counter(jobs) == Counter(taken)
    assert b"1000" == client.hget("emq:{q}:metrics:completed", "count")
    assert {keys.VERSION_KEY, b"emq:{q}:metrics:completed"} == set(client.keys())
    assert native.cost.retries > 0
    assert native.cost.calls >= 2_000
    print(f"\neight threads, 1,000 jobs: {native.cost}")


# ---------------------------------------------------------------- rights, memory, epochs


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("able", None),
        ("unfenced", "NOPERM"),
        ("nowhere", "NOPERM"),
        ("nomulti", "NOPERM"),
        ("noexec", "NOPERM"),
        ("nowatch", "NOPERM"),
        ("nopop", "NOPERM"),
        ("notime", "NOPERM"),
        ("noinfo", "NOPERM"),
        ("readonly", "NOPERM"),
    ],
)
def test_what_a_user_needs(client: redis.Redis, server: ServerProcess, user: str, words: str | None) -> None:
    """The inner commands and those of the transaction; without one of them nothing is written."""
    waiting(client, A)
    before = loopback.dumps(server)
    limited = connect(server, username=user, password="pw")
    native = executor(limited)
    reply = native.perform(CLAIM)
    if words is None:
        assert [A, b"p", 2] == reply
    else:
        assert isinstance(reply, ErrorReply)
        assert words == reply.code
        assert before == loopback.dumps(server)
        with pytest.raises(errors.Forbidden):
            native.claim("q")
    assert [] == watched(client)
    limited.connection_pool.disconnect()


def test_short_memory_refuses_every_verb_that_grows(client: redis.Redis) -> None:
    """Here the server checks each inner write, so a claim is refused too, whole; the module's is not (SPEC 5.1)."""
    waiting(client, A)
    client.config_set("maxmemory", 1)
    try:
        reply = executor(client).perform(CLAIM)
    finally:
        client.config_set("maxmemory", 0)
    assert isinstance(reply, ErrorReply)
    assert "OOM" == reply.code
    assert [A] == client.zrange("emq:{q}:pending", 0, -1)
    assert b"1" == client.hget(b"emq:{q}:job:" + A, "attempts")


def test_a_restart_is_noticed_by_the_connection() -> None:
    """The epoch is asked for once a connection, and again when it was made anew."""
    with loopback.server() as process:
        client = connect(process)
        native = executor(client)
        stamps = []
        for job in (A, B):
            waiting(client, job)
            assert [job, b"p", 2] == native.perform(CLAIM)
            stamps.append(client.hget(b"emq:{q}:job:" + job, "lease_epoch"))
            assert client.info("server")["run_id"].encode() == stamps[-1]
            process.stop()
            process.start()
        assert 2 == len(set(stamps))
        client.connection_pool.disconnect()


def test_a_lost_server_is_said(client: redis.Redis) -> None:
    """ServerLost, as from every executor."""
    with loopback.server() as process:
        gone = connect(process)
        native = executor(gone)
        assert [] == native.perform(CLAIM)
        process.kill()
        with pytest.raises(errors.ServerLost):
            native.perform(CLAIM)
        gone.connection_pool.disconnect()


# ---------------------------------------------------------------- the host's rules, the cost, the trace


class _Line:
    """A connection that answers what it was told to."""

    def __init__(self, *replies: list[Any]) -> None:
        self._replies = list(replies)

    def ask(self, *commands: tuple[bytes, ...]) -> list[Any]:
        """The next packet's replies."""
        del commands
        return self._replies.pop(0)


def host_after_a_write(done: list[Any]) -> OptimisticHost:
    """A host that has read one key and made one write, whose EXEC will answer ``done``."""
    host = OptimisticHost(_Line([b"OK", None], [b"OK", b"QUEUED", done]))  # type: ignore[arg-type]
    host.read(b"GET", b"k")
    host.begin_writes()
    host.expect(1, host.write(b"ZREM", b"k", b"m"))
    return host


def test_a_write_that_answers_something_else_breaks_the_promise() -> None:
    """Found when EXEC has answered: EMQHOST."""
    host_after_a_write([1]).finish()
    with pytest.raises(Refusal) as caught:
        host_after_a_write([0]).finish()
    assert texts.HOST == caught.value.text


def test_a_refusal_is_one_line(client: redis.Redis) -> None:
    """Also when a foreign wire version is not; as over the wire."""
    client.set(keys.VERSION_KEY, b"a\r\nb\0c")
    assert ErrorReply("EMQFENCE wire version a  b c") == executor(client).perform(CLAIM)


def test_an_error_inside_exec_is_the_refusal() -> None:
    """Its own text."""
    with pytest.raises(Refusal, match="WRONGTYPE told"):
        host_after_a_write([ErrorReply("WRONGTYPE told")]).finish()


def test_nothing_is_read_after_the_guard_nor_written_before_it() -> None:
    """The two rules of every host."""
    host = OptimisticHost(_Line())  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        host.write(b"SET", b"k", b"v")
    host.begin_writes()
    with pytest.raises(AssertionError):
        host.read(b"GET", b"k")


def test_a_refused_argument_costs_no_round_trip(client: redis.Redis) -> None:
    """Shape, layout and values are judged before anything is sent."""
    native = executor(client)
    native.perform(Call("claim", b"q", {"lease_ms": b"0"}))
    assert (1, 0) == (native.cost.calls, native.cost.round_trips)


def test_round_trips_are_counted(client: redis.Redis) -> None:
    """A claim's: the fence, six reads, the clock, EXEC."""
    waiting(client, A, B)
    native = executor(client)
    native.perform(CLAIM)
    first = native.cost.round_trips
    native.perform(CLAIM)
    # The second finds the rights and the epoch of its connection known.
    assert 2 == first - (native.cost.round_trips - first)
    assert 9 == native.cost.round_trips - first


def test_a_trace_tells_commands_phases_replies_and_lines(client: redis.Redis) -> None:
    """Of the try that counted; each line is in the verb's file and does what is told of it."""
    waiting(client, A)
    traced = executor(client).trace(CLAIM)
    assert (b"EMQ.CLAIM", b"3", b"emq:{q}:pending") == traced.sent[:3]
    assert [A, b"p", 2] == traced.reply
    short = [(told.phase, told.command[:1]) for told in traced.told]
    assert [
        ("read", (b"GET",)),
        ("read", (b"HGET",)),
        ("read", (b"ZRANGE",)),
        ("read", (b"TYPE",)),
        ("read", (b"HGET",)),
        ("read", (b"TYPE",)),
        ("read", (b"(clock)",)),
        ("read", (b"HGET",)),
        ("guard", ()),
        ("write", (b"ZPOPMIN",)),
        ("write", (b"HINCRBY",)),
        ("write", (b"HSET",)),
        ("write", (b"ZADD",)),
    ] == short
    source = Path(VERBS["EMQ.CLAIM"].__code__.co_filename).read_text().splitlines()
    for told in traced.told:
        assert told.line is not None
        line = source[told.line - 1]
        if told.phase == "write":
            assert told.command[0].decode() in line
    assert "begin_writes" in source[(traced.told[8].line or 0) - 1]
    assert "now_ms" in source[(traced.told[6].line or 0) - 1]
    assert [A, b"0"] == traced.told[9].reply


def test_a_trace_is_of_the_last_try(
    client: redis.Redis, server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an abandoned try read is not told."""
    other = connect(server)
    interfere(monkeypatch, lambda tried: waiting(other, A) if tried == 1 else None)
    traced = executor(client).trace(CLAIM)
    assert [A, b"p", 2] == traced.reply
    assert [A] == traced.told[2].reply


def test_verbs_that_are_no_commands_are_not_sent(client: redis.Redis) -> None:
    """As on every native executor."""
    with pytest.raises(errors.Unsupported):
        executor(client).reap("q")
    assert () == executor(client).trace(Call("reap", b"q", {})).told
