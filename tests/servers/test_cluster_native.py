"""The verbs in a cluster of three: a queue is one slot, and what a verb derives lies where its keys lie."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from emqlab import keys
from emqlab.replies import ErrorReply, ask, ask_all, settled
from tests.servers.effects import EFFECTS, Bed, Effect, every_effect, lines
from tests.servers.real import NAMES, RealServer, answer, dump_all, listening, real_server, wait_until
from tests.transitions.wire import ALL, WIRES, Wire

A = "JOB0NgWEfAEJfa"
SCRIPT = "return redis.call(unpack(ARGV))"
BOUNDS = (0, 5461, 10923, 16384)
FOREIGN = "echomq:2.0.0"
VERSION_SLOT = keys.slot(keys.VERSION_KEY)

each_command = pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.command))


def slot_of(queue: str) -> int:
    """The slot of all of a queue's keys."""
    return keys.slot(base(queue).encode())


def base(queue: str) -> str:
    """The queue's base."""
    return f"emq:{{{queue}}}:"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Three nodes with the module and a third of the slots each, and a replica of the first without it."""

    nodes: tuple[RealServer, ...]
    replica: RealServer

    def place(self, slot: int) -> int:
        """Which node holds a slot."""
        return next(place for place in range(3) if slot < BOUNDS[place + 1])

    def moved(self, queue: str) -> str:
        """How a node points at the one that holds a queue."""
        slot = slot_of(queue)
        return f"MOVED {slot} 127.0.0.1:{self.nodes[self.place(slot)].port}"

    def node_id(self, place: int) -> str:
        """A node's own name."""
        name: bytes = ask(self.nodes[place].client, "CLUSTER", "MYID")
        return name.decode()


def _queue_on(place: int) -> str:
    """A queue whose slot the node holds, and which is not the version's."""
    names = (f"q{number}" for number in range(10_000))
    slots = range(BOUNDS[place], BOUNDS[place + 1])
    return next(name for name in names if slot_of(name) in slots and slot_of(name) != VERSION_SLOT)


def _same_slot(queue: str) -> str:
    """Another queue in the same slot."""
    names = (f"r{number}" for number in range(1_000_000))
    return next(name for name in names if slot_of(name) == slot_of(queue))


QUEUES = [_queue_on(place) for place in range(3)]
#: The node that holds the version's key, and one that does not.
HOME = next(place for place in range(3) if VERSION_SLOT < BOUNDS[place + 1])
AWAY = (HOME + 1) % 3


def words(wire: Wire, queue: str, **values: str) -> list[str]:
    """A command for a queue."""
    return wire.words(base=base(queue), job=A, **values)


def in_queue(command: Sequence[str], queue: str) -> list[str]:
    """An effect's command, in another queue than ``q``."""
    return [word.replace("{q}", f"{{{queue}}}") for word in command]


def real_keys(wire: Wire, sent: list[str]) -> list[str]:
    """Those of a command's keys that are keys to the server."""
    return [key for key, name in zip(sent[2:], wire.keys, strict=False) if name != "base"]


# ---------------------------------------------------------------- the cluster


def _state(node: RealServer) -> dict[str, str]:
    lines = ask(node.client, "CLUSTER", "INFO").decode().splitlines()
    return {name: value for name, _, value in (line.partition(":") for line in lines)}


def _joined(node: RealServer) -> bool:
    state = _state(node)
    return ("ok", "16384", "4") == (state["cluster_state"], state["cluster_slots_ok"], state["cluster_known_nodes"])


@pytest.fixture(scope="module", params=NAMES)
def running(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """One cluster for all tests of this file."""
    with ExitStack() as stack:

        def start(*, module: bool) -> RealServer:
            settings = listening(**{"cluster-enabled": "yes", "repl-diskless-sync-delay": "0"})
            return stack.enter_context(real_server(request.param, module=module, config=settings))

        nodes = tuple(start(module=True) for _ in range(3))
        cluster = Cluster(nodes, start(module=False))
        for place, node in enumerate(nodes):
            ask(node.client, "CLUSTER", "ADDSLOTSRANGE", BOUNDS[place], BOUNDS[place + 1] - 1)
            ask(node.client, "CLUSTER", "SET-CONFIG-EPOCH", place + 1)
        for node in (*nodes[1:], cluster.replica):
            ask(nodes[0].client, "CLUSTER", "MEET", "127.0.0.1", node.port)
        for node in (*nodes, cluster.replica):
            wait_until(lambda: _joined(node), "the node has joined the cluster")  # noqa: B023
        ask(cluster.replica.client, "CLUSTER", "REPLICATE", cluster.node_id(0))
        wait_until(lambda: _link(cluster) == "up", "the replica is linked")
        yield cluster


def _link(cluster: Cluster) -> str:
    return cluster.replica.info("replication").get("master_link_status", "none")


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    """The same, empty, the version not claimed."""
    for node in running.nodes:
        ask(node.client, "FLUSHALL")
    return running


@contextmanager
def nothing_written(cluster: Cluster) -> Iterator[None]:
    """Hold every node's keyspace, byte for byte, to what it was."""
    before = [dump_all(node.client) for node in cluster.nodes]
    yield
    assert before == [dump_all(node.client) for node in cluster.nodes]


def _seed(cluster: Cluster, queue: str) -> RealServer:
    """Put A into every set of a queue, where the queue lives; answers that node."""
    node = cluster.nodes[cluster.place(slot_of(queue))]
    ask(node.client, "HSET", f"{base(queue)}job:{A}", "attempts", "2", "payload", "p")
    for name in ("pending", "active", "schedule", "dead"):
        ask(node.client, "ZADD", base(queue) + name, "1", A)
    return node


# ---------------------------------------------------------------- where a verb runs


@pytest.mark.parametrize("place", range(3))
@every_effect
def test_on_the_node_that_holds_the_queue(cluster: Cluster, effect: Effect, place: int) -> None:
    """Each effect is what its plain commands make, and every key that it left lies in the queue's slot."""
    queue, node = QUEUES[place], cluster.nodes[place]
    bed = Bed(node)
    now = bed.now()
    given = [bed.filled(in_queue(command, queue), now) for command in lines(effect.given)]
    ask_all(node.client, given)
    assert not isinstance(answer(node.client, *in_queue(effect.words, queue)), ErrorReply)
    done = dump_all(node.client)
    slot = slot_of(queue)
    assert sorted(done) == sorted(ask(node.client, "CLUSTER", "GETKEYSINSLOT", slot, 100))
    plain = [bed.filled(in_queue(command, queue), now) for command in lines(effect.plain)]
    ask_all(node.client, [["FLUSHALL"], *given, *plain])
    assert dump_all(node.client) == done


@each_command
@pytest.mark.parametrize("way", [[], ["EMQ.TRACE"]], ids=["plain", "trace"])
def test_on_another_node(cluster: Cluster, wire: Wire, way: list[str]) -> None:
    """MOVED, to the node that holds the queue."""
    _seed(cluster, QUEUES[0])
    with nothing_written(cluster):
        for place in (1, 2):
            reply = answer(cluster.nodes[place].client, *way, *words(wire, QUEUES[0]))
            assert ErrorReply(cluster.moved(QUEUES[0])) == reply


@each_command
def test_keys_of_two_queues(cluster: Cluster, wire: Wire) -> None:
    """CROSSSLOT from the server, before the verb is asked, also for a base among the keys; MOVED for an only key."""
    node = _seed(cluster, QUEUES[0])
    _seed(cluster, QUEUES[1])
    good, other = words(wire, QUEUES[0]), words(wire, QUEUES[1])
    expected = "CROSSSLOT" if len(wire.keys) > 1 else "MOVED"
    with nothing_written(cluster):
        for place in range(2, wire.first_arg):
            reply = answer(node.client, *good[:place], other[place], *good[place + 1 :])
            assert isinstance(reply, ErrorReply)
            assert expected == reply.code


@pytest.mark.parametrize("wire", [wire for wire in ALL if "base" in wire.args], ids=lambda wire: str(wire.command))
def test_a_base_of_another_queue(cluster: Cluster, wire: Wire) -> None:
    """Among the arguments it is no key to the server; the verb refuses it: EMQARGS."""
    node = _seed(cluster, QUEUES[0])
    sent = words(wire, QUEUES[0])
    place = wire.first_arg + wire.args.index("base")
    with nothing_written(cluster):
        reply = answer(node.client, *sent[:place], base(QUEUES[1]), *sent[place + 1 :])
        assert isinstance(reply, ErrorReply)
        assert "EMQARGS" == reply.code


@each_command
def test_keys_of_two_queues_in_one_slot(cluster: Cluster, wire: Wire) -> None:
    """The server has nothing against them; the verb has: EMQARGS."""
    twin = _same_slot(QUEUES[0])
    node = _seed(cluster, QUEUES[0])
    _seed(cluster, twin)
    good, other = words(wire, QUEUES[0]), words(wire, twin)
    with nothing_written(cluster):
        for place in range(2, 2 + len(wire.keys)):
            reply = answer(node.client, *good[:place], other[place], *good[place + 1 :])
            assert isinstance(reply, ErrorReply)
            assert "EMQARGS" == reply.code


def test_effects_reach_a_replica_without_the_module(cluster: Cluster) -> None:
    """After every effect on the first node its replica holds the same DUMP of each key."""
    node = cluster.nodes[0]
    ask(cluster.replica.client, "READONLY")
    bed = Bed(node)
    for effect in EFFECTS.values():
        now = bed.now()
        ask(node.client, "FLUSHALL")
        ask_all(node.client, [bed.filled(in_queue(command, QUEUES[0]), now) for command in lines(effect.given)])
        assert not isinstance(answer(node.client, *in_queue(effect.words, QUEUES[0])), ErrorReply), effect.name
        sent = int(node.info("replication")["master_repl_offset"])
        wait_until(lambda: _applied(cluster.replica) >= sent, "the replica has what its node sent")  # noqa: B023
        kept = dump_all(node.client)
        assert kept
        assert kept == dump_all(cluster.replica.client)


def _applied(replica: RealServer) -> int:
    return int(replica.info("replication")["slave_repl_offset"])


# ---------------------------------------------------------------- the fence


@contextmanager
def _version(cluster: Cluster, *put: str) -> Iterator[None]:
    ask(cluster.nodes[HOME].client, *put)
    yield
    ask(cluster.nodes[HOME].client, "DEL", "{emq}:version")


_WAYS = ["plain", "trace", "script", "transaction"]


def _ask_as(way: str, node: RealServer, wire: Wire, sent: list[str]) -> object:
    """The verb's reply, however it is asked."""
    if way == "trace":
        return answer(node.client, "EMQ.TRACE", *sent)[0]
    if way == "script":
        declared = real_keys(wire, sent)
        return answer(node.client, "EVAL", SCRIPT, len(declared), *declared, *sent)
    if way == "transaction":
        return settled(ask_all(node.client, [("MULTI",), tuple(sent), ("EXEC",)])[-1])[0]
    return answer(node.client, *sent)


@each_command
@pytest.mark.parametrize("way", _WAYS)
def test_a_foreign_version_where_it_is_kept(cluster: Cluster, wire: Wire, way: str) -> None:
    """The node that holds the version's key refuses for a queue of another slot of its own, however it is asked."""
    node = _seed(cluster, QUEUES[HOME])
    with _version(cluster, "SET", "{emq}:version", FOREIGN), nothing_written(cluster):
        reply = _ask_as(way, node, wire, words(wire, QUEUES[HOME]))
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith(f"EMQFENCE wire version {FOREIGN}")
    with _version(cluster, "HSET", "{emq}:version", "a", "b"), nothing_written(cluster):
        reply = _ask_as(way, node, wire, words(wire, QUEUES[HOME]))
        assert isinstance(reply, ErrorReply)
        assert reply.text.startswith("WRONGTYPE ")


@each_command
@pytest.mark.parametrize("way", _WAYS)
def test_a_foreign_version_kept_elsewhere(cluster: Cluster, wire: Wire, way: str) -> None:
    """A node that does not hold the version's key can't read it, and passes: the lab checked when it opened."""
    with _version(cluster, "SET", "{emq}:version", FOREIGN):
        node = _seed(cluster, QUEUES[AWAY])
        reply = _ask_as(way, node, wire, words(wire, QUEUES[AWAY]))
        assert not (isinstance(reply, ErrorReply) and reply.code in ("EMQFENCE", "ERR", "MOVED", "CROSSSLOT")), reply


@each_command
@pytest.mark.parametrize("way", _WAYS)
def test_our_own_version(cluster: Cluster, wire: Wire, way: str) -> None:
    """It passes where it is kept."""
    with _version(cluster, "SET", "{emq}:version", keys.VERSION.decode()):
        node = _seed(cluster, QUEUES[HOME])
        reply = _ask_as(way, node, wire, words(wire, QUEUES[HOME]))
        assert not (isinstance(reply, ErrorReply) and reply.code in ("EMQFENCE", "ERR", "MOVED", "CROSSSLOT")), reply


# ---------------------------------------------------------------- scripts


def test_a_claim_from_a_script(cluster: Cluster) -> None:
    """A script that declares the queue's keys claims on their node, and is pointed there by the others."""
    wire = WIRES["EMQ.CLAIM"]
    node = _seed(cluster, QUEUES[0])
    sent = words(wire, QUEUES[0])
    declared = real_keys(wire, sent)
    script = ["EVAL", SCRIPT, str(len(declared)), *declared, *sent]
    with nothing_written(cluster):
        for other in cluster.nodes[1:]:
            assert ErrorReply(cluster.moved(QUEUES[0])) == answer(other.client, *script)
            undeclared = answer(other.client, "EVAL", SCRIPT, 0, *sent)
            assert isinstance(undeclared, ErrorReply)
    assert [A.encode(), b"p", 3] == answer(node.client, *script)


# ---------------------------------------------------------------- a slot on its way


@contextmanager
def _migrating(cluster: Cluster, queue: str, *, to: int) -> Iterator[None]:
    """The queue's slot is on its way to another node, key by key."""
    slot = slot_of(queue)
    place = cluster.place(slot)
    ask(cluster.nodes[to].client, "CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.node_id(place))
    ask(cluster.nodes[place].client, "CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.node_id(to))
    try:
        yield
    finally:
        for node in (place, to):
            ask(cluster.nodes[node].client, "CLUSTER", "SETSLOT", slot, "STABLE")


@each_command
def test_a_queue_that_has_left(cluster: Cluster, wire: Wire) -> None:
    """ASK from the node that held it; the node it goes to wants to be told ASKING, and then runs the verb."""
    slot = slot_of(QUEUES[0])
    sent = words(wire, QUEUES[0])
    with _migrating(cluster, QUEUES[0], to=1), nothing_written(cluster):
        assert ErrorReply(f"ASK {slot} 127.0.0.1:{cluster.nodes[1].port}") == answer(cluster.nodes[0].client, *sent)
        assert ErrorReply(cluster.moved(QUEUES[0])) == answer(cluster.nodes[1].client, *sent)


def test_a_job_that_arrives_meanwhile(cluster: Cluster) -> None:
    """A row that is missing on the node that the queue goes to may still be on the other: nothing is known of it."""
    queue = QUEUES[0]
    with _migrating(cluster, queue, to=1):
        client = cluster.nodes[1].client
        sent = ["EMQ.EXTENDS", "1", f"{base(queue)}active", base(queue), "1000", A, "2"]
        *_, reply = ask_all(client, [("ASKING",), sent])
        assert "TRYAGAIN" == settled(reply).code


_LEFT = [
    ("EMQ.CLAIM", "row"),
    ("EMQ.CLAIM", "meta"),
    ("EMQ.PROMOTE", "row"),
    ("EMQ.STALLED.CHECK", "row"),
    ("EMQ.STALLED.CHECK", "metrics:failed"),
    ("EMQ.EXTENDS", "row"),
    ("EMQ.COMPLETE", "metrics:completed"),
    ("EMQ.FAIL", "metrics:failed"),
]


@pytest.mark.parametrize(("command", "left"), _LEFT)
def test_a_derived_key_that_has_left(cluster: Cluster, command: str, left: str) -> None:
    """The declared keys are still here, a key that the verb derives is not: refused, and nothing is written.

    It is no ghost, no running queue and no first count: the key is on the other node. Of CLAIM, PROMOTE and the sweep
    the server itself says so, for it looks for the base as for a key.
    """
    queue = QUEUES[0]
    node = _seed(cluster, queue)
    ask(node.client, "ZREM", f"{base(queue)}dead", A)
    ask(node.client, "ZADD", f"{base(queue)}dead", 0, "JOB0NgWEfAEJfz")
    ask(node.client, "HSET", f"{base(queue)}meta", "paused" if left == "meta" else "other", "1")
    ask(node.client, "HSET", f"{base(queue)}job:{A}", "lease_epoch", node.info("server")["run_id"])
    for metrics in ("completed", "failed"):
        ask(node.client, "HSET", f"{base(queue)}metrics:{metrics}", "count", "7")
    gone = f"{base(queue)}job:{A}" if left == "row" else base(queue) + left
    with _migrating(cluster, queue, to=1):
        moved = ask(node.client, "MIGRATE", "127.0.0.1", cluster.nodes[1].port, gone, 0, 10_000)
        assert b"OK" == moved
        before = dump_all(node.client)
        reply = answer(node.client, *words(WIRES[command], queue, max_attempts="1"))
        assert before == dump_all(node.client)
        assert isinstance(reply, ErrorReply)


def test_a_queue_whose_keys_share_no_slot(cluster: Cluster) -> None:
    """A name that begins with } leaves the hashtag empty, so each key goes its own way: refused, nothing written."""
    active = f"{base('}x')}active"
    client = cluster.nodes[cluster.place(keys.slot(active.encode()))].client
    before = dump_all(client)
    refused = ErrorReply("EMQARGS keys of a queue whose name begins with } share no slot of a cluster")
    assert refused == answer(client, "EMQ.EXTENDS", "1", active, base("}x"), "1000", A, "2")
    assert before == dump_all(client)
