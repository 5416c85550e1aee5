"""An audit of a server that others use: it writes nothing, needs few rights, takes small pieces, and is not misled."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from emqlab import errors, ids, keys
from emqlab.audit import CannotLook, audit_queue
from emqlab.audit.findings import CODES, TO_KNOW
from emqlab.audit.reading import PIECE, RIGHTS, Reader
from emqlab.audit.row import second_look
from emqlab.audit.sites import Site
from emqlab.native.executor import NativeExecutor
from emqlab.observe.case import World, substitute
from emqlab.replies import ErrorReply, ask, ask_all
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.transitions import Call
from tests.audit.lane_plants import EVERY_PLANT
from tests.audit.plants import HEALTHY, Command, held, row
from tests.servers import loopback
from tests.servers.real import RealServer, dump_all, real_server

QUEUE = b"q"
#: All but those that concern every queue of the server.
PLANTED = [one for one in EVERY_PLANT if ("fence", "{emq}:version") not in one.codes]


def now_and_epoch(server: RealServer) -> tuple[int, bytes]:
    """The server's time in ms, and its run_id."""
    seconds, micros = ask(server.client, "TIME")
    return int(seconds) * 1000 + int(micros) // 1000, server.info("server")["run_id"].encode()


def plant(server: RealServer, given: list[Command], queue: bytes = QUEUE) -> None:
    """Send raw commands as a case does."""
    world = World(*now_and_epoch(server))
    ask_all(server.client, [tuple(substitute(word, queue, world) for word in command) for command in given])


def plant_all(server: RealServer) -> None:
    """A queue each for a healthy one and for everything that can be found."""
    plant(server, HEALTHY, b"healthy")
    for number, one in enumerate(PLANTED):
        plant(server, [*HEALTHY, *one.given], b"planted-%03d" % number)


def url(server: RealServer, login: str = "") -> str:
    """The server's URL."""
    return f"unix://{login}{server.process.socket}"


def everything(server: RealServer, login: str = "") -> dict[bytes, list[str]]:
    """The codes of each queue there."""
    site = Site(url(server, login))
    try:
        return {audit.queue: [finding.code for finding in audit.findings] for audit in site.audits([])}
    finally:
        site.close()


def test_everything_is_found_and_nothing_is_written(server: RealServer) -> None:
    """All keys keep their bytes and their lives, and no command is sent that could write."""
    plant_all(server)
    before = (dump_all(server.client), _lives(server))
    ask(server.client, "CONFIG", "RESETSTAT")
    found = everything(server)
    used = {name.partition("|")[0] for name in _commands(server)}
    flags = dict(zip(used, ask_all(server.client, [("COMMAND", "INFO", name) for name in used]), strict=True))
    assert [] == [name for name, told in flags.items() if b"write" in map(bytes, told[0][2])]
    assert set() == used & {"keys", "eval", "evalsha", "set", "hgetall", "smembers"}
    assert before[0] == dump_all(server.client)
    assert before[1] == _lives(server)
    assert [] == found.pop(b"healthy")
    assert set(CODES) - {"fence", "queue-name"} <= {code for codes in found.values() for code in codes}
    expected = [sorted(code for code, _ in one.codes) for one in PLANTED]
    assert expected == [sorted(codes) for _, codes in sorted(found.items())]


def _commands(server: RealServer) -> list[str]:
    """What was called since the account was begun anew."""
    names = [name.removeprefix("cmdstat_") for name in server.info("commandstats") if name.startswith("cmdstat_")]
    return [name for name in names if name != "config|resetstat"]


def _lives(server: RealServer) -> list[bool]:
    names = sorted(ask(server.client, "KEYS", "*"))
    return [ttl_ms == -1 for ttl_ms in ask_all(server.client, [("PTTL", name) for name in names])]


def test_the_rights_that_are_named_suffice(server: RealServer) -> None:
    """A user who may only read finds the same; without any one of the rights the sentence names them."""
    plant_all(server)
    rules = [word.rstrip(",") for word in RIGHTS.split() if word[0] in "+%" and "cluster" not in word]
    ask(server.client, "ACL", "SETUSER", "reader", "reset", "on", ">pw", *rules)
    assert everything(server) == everything(server, "reader:pw@")
    for rule in rules:
        ask(server.client, "ACL", "SETUSER", "reader", "reset", "on", ">pw", *(one for one in rules if one != rule))
        with pytest.raises(
            CannotLook, match=r"this user may not look at the queue \(NOPERM .*\); an audit needs \+multi"
        ):
            everything(server, "reader:pw@")


def test_a_big_queue_is_read_in_bounded_pieces(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 rows, one in a hundred a ghost: no round trip is long, no reply is, and progress is told."""
    jobs = [b"JOB%011d" % number for number in range(20_000)]
    for start in range(0, len(jobs), 2000):
        some = jobs[start : start + 2000]
        rows: list[tuple[bytes | str, ...]] = [
            ("HSET", keys.row(QUEUE, job), "state", "pending", "attempts", "0", "payload", "x" * 300)
            for job in some
            if int(job[3:]) % 100
        ]
        flat = [part for job in some for part in (b"0", job)]
        ask_all(server.client, [("ZADD", keys.base(QUEUE) + b"pending", *flat), *rows])
    longest: list[tuple[int, int]] = []
    original = Reader._round_trip

    def measured(self: Reader, commands: Any) -> Any:
        replies = original(self, commands)
        longest.append((len(commands), max(len(str(reply)) for reply in replies)))
        return replies

    monkeypatch.setattr(Reader, "_round_trip", measured)
    told: list[tuple[int, int]] = []
    now_ms, run_id = now_and_epoch(server)
    audit = audit_queue(
        server.client, QUEUE, now_ms=now_ms, run_id=run_id, tell=lambda done, of: told.append((done, of))
    )
    assert ["ghost"] * 200 == [finding.code for finding in audit.findings]
    assert 19_800 == audit.counts["rows"]
    assert (20_000, 20_000) == told[-1]
    assert sum(commands for commands, _ in longest) == audit.asked
    assert 2 * PIECE >= max(commands for commands, _ in longest)
    assert 100_000 > max(size for _, size in longest), "a reply is longer than a piece of ZSCAN"


def _while_working(done: list[Any], rounds: int) -> Iterator[None]:
    """That many rounds during each of which something was done; the others, on a busy machine, don't count."""
    for _ in range(50 * rounds):
        before = len(done)
        yield
        rounds -= len(done) > before
        if not rounds:
            return
    pytest.fail("nobody worked meanwhile")


def test_a_live_queue_has_no_false_findings(server: RealServer) -> None:
    """While workers claim, complete, fail, requeue and promote, nothing is told but the one ghost that is there."""
    ended = threading.Event()
    done: list[int] = []
    workers = [threading.Thread(target=_work, args=(server, ended, done, number)) for number in range(2)]
    native = _native(server, 9)
    for _ in range(1500):
        native.enqueue("q", b"x")
    plant(server, [held("JOB0NgWEfAEJfa", "dead")])
    for worker in workers:
        worker.start()
    try:
        for _ in _while_working(done, 12):
            now_ms, run_id = now_and_epoch(server)
            audit = audit_queue(server.client, QUEUE, now_ms=now_ms, run_id=run_id)
            told = [(finding.code, finding.id) for finding in audit.findings]
            assert [("ghost", b"JOB0NgWEfAEJfa")] == told
    finally:
        ended.set()
        for worker in workers:
            worker.join()


def test_live_lanes_and_flows_have_no_false_findings(server: RealServer) -> None:
    """While scripts fill lanes and flows, serve them, pause them and turn the ring, at most what is good to know."""
    ended = threading.Event()
    done: list[str] = []
    errors_met: list[Any] = []
    workers = [
        threading.Thread(target=_serve_lanes, args=(server, ended, done, errors_met, number)) for number in range(2)
    ]
    for worker in workers:
        worker.start()
    try:
        for _ in _while_working(done, 40):
            now_ms, run_id = now_and_epoch(server)
            found = audit_queue(server.client, QUEUE, now_ms=now_ms, run_id=run_id).findings
            assert [] == [finding for finding in found if finding.severity != TO_KNOW]
    finally:
        ended.set()
        for worker in workers:
            worker.join()
    assert [] == errors_met
    assert {"lane", "flat"} <= set(done)


def _serve_lanes(
    server: RealServer, ended: threading.Event, done: list[str], errors_met: list[Any], number: int
) -> None:
    """Add jobs of every kind and end those that are claimed, flows' parents too, until told to end."""
    scripted, draw = ScriptedExecutor(server.connect(), lambda: b""), random.Random(number)
    made = 0

    def send(verb: str, **values: Any) -> Any:
        reply = scripted.perform(Call(verb, QUEUE, values))
        if isinstance(reply, ErrorReply):
            errors_met.append((verb, values, reply))
        return reply

    while not ended.is_set():
        made += 1
        job, group = b"JOB%d%010d" % (number, 9 * made), draw.choice((b"blue", b"red"))
        kin = [(b"JOB%d%010d" % (number, 9 * made + one), b"x") for one in (1, 2)]
        send("lane_enqueue", id=job, payload=b"x", group=group)
        send("flow_add", id=b"JOB%d%010d" % (number, 9 * made + 3), payload=b"x", children=kin, policy=b"")
        send(draw.choice(("lane_pause", "lane_resume", "lane_resume")), group=group)
        send("lane_limit", group=group, limit=draw.choice((b"1", b"2")))
        for _ in range(4):
            for verb in ("claim", "lane_claim"):
                if lease := send(verb, lease_ms=b"600000"):
                    send("complete", id=lease[0], token=b"%d" % lease[2])
                    done.append("lane" if verb == "lane_claim" else "flat")


def _native(server: RealServer, node: int) -> NativeExecutor:
    """The native executor on a connection of its own."""
    mint = ids.Mint(lambda: now_and_epoch(server)[0], node)
    return NativeExecutor(server.connect(), mint.next, lambda: now_and_epoch(server)[1])


def _work(server: RealServer, ended: threading.Event, done: list[int], number: int) -> None:
    """Move jobs about until told to end; each is enqueued again for one that was completed."""
    native = _native(server, number)
    while not ended.is_set():
        claim = native.claim("q", lease_ms=60_000)
        if claim is None:
            native.promote("q")
            continue
        match len(done) % 4:
            case 0:
                native.complete("q", claim.id, claim.token)
                native.enqueue("q", b"x")
            case 1:
                native.fail("q", claim.id, claim.token, error=b"boom", max_attempts=100)
            case 2:
                native.requeue("q", claim.id, claim.token)
            case _:
                native.delay("q", claim.id, claim.token, in_ms=1)
                native.promote("q")
        done.append(number)


def test_a_slot_count_that_never_holds_still_is_not_told(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reading of the active jobs is overtaken by a write: three are tried."""
    plant(server, [*HEALTHY, ["HINCRBY", "{p}gactive", "blue", "1"]])
    counted: list[int] = []

    def overtaken(*_: Any) -> Any:
        counted.append(1)
        ask(server.client, "HINCRBY", "emq:{q}:gactive", "green", "1")
        return {}

    monkeypatch.setattr("emqlab.audit.lanes._counted", overtaken)
    now_ms, run_id = now_and_epoch(server)
    assert () == audit_queue(server.client, QUEUE, now_ms=now_ms, run_id=run_id).findings
    assert 3 == len(counted)


def test_what_is_no_longer_so_is_not_told(server: RealServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suspicion of the first look that has passed by the second, and one that has become another."""
    plant(server, [row("JOB0NgWEfAEJfa", "pending"), row("JOB0NgWEfAEJfb", "pending")])

    def later(*arguments: Any) -> Any:
        plant(server, [held("JOB0NgWEfAEJfa", "pending"), held("JOB0NgWEfAEJfb", "dead")])
        return second_look(*arguments)

    monkeypatch.setattr("emqlab.audit.look.second_look", later)
    now_ms, run_id = now_and_epoch(server)
    found = audit_queue(server.client, QUEUE, now_ms=now_ms, run_id=run_id).findings
    assert [("wrong-state", b"JOB0NgWEfAEJfb")] == [(finding.code, finding.id) for finding in found]


def test_a_lost_server_is_an_error_of_its_own() -> None:
    """And the connection does not go back with replies unread."""
    with real_server("valkey", module=False) as server:
        server.client.ping()
        server.process.kill()
        with pytest.raises(errors.ServerLost):
            audit_queue(server.client, QUEUE, now_ms=1, run_id=b"")


def test_a_replica_is_refused() -> None:
    """Its epoch is not the one that leases are stamped with."""
    with real_server("valkey", module=False) as replica:
        ask(replica.client, "REPLICAOF", "127.0.0.1", 1)
        site = Site(url(replica))
        with pytest.raises(CannotLook, match="is a replica"):
            list(site.audits([QUEUE]))
        site.close()


def test_in_a_cluster_every_queue_is_found_where_it_is() -> None:
    """By SCAN of every primary, or by name through any node; nothing but the planted ghosts is told."""
    with loopback.cluster() as nodes:
        spread = redis.RedisCluster(host="127.0.0.1", port=int(str(nodes[0].config["port"])))
        queues = [b"orders", b"a", b"b", b"c", b"d"]
        for queue in queues:
            spread.zadd(keys.base(queue) + b"pending", {b"JOB00000000001": 0})
        spread.close()
        site = Site(loopback.url(nodes[0]))
        assert 1 < len({node for queue in queues for node in [loopback.node_of(nodes, keys.slot(keys.base(queue)))]})
        for asked in ([], queues):
            found = {audit.queue: [finding.code for finding in audit.findings] for audit in site.audits(asked)}
            assert {queue: ["ghost"] for queue in queues} == found
        site.close()
