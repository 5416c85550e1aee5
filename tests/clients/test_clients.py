"""Real clients drive the native verbs on real servers: each gets the same values, in the types of its language."""

import itertools
import subprocess
from collections.abc import Iterator

import pytest

from emqlab import keys
from emqlab.lab import claim_version
from emqlab.replies import ErrorReply
from emqlab.transitions import TRANSITIONS, Call
from tests.clients.drivers import CLIENTS, Driver, RedisCli, open_driver
from tests.servers.real import NAMES, RealServer, real_server

JOB, OTHER = b"JOB0NgWEfAEJfs", b"JOB0NgWEfAEJft"

_queues = itertools.count(1)


@pytest.fixture(scope="module", params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """A server with the verbs, for all clients."""
    with real_server(request.param) as made:
        claim_version(made.client)
        yield made


@pytest.fixture(scope="module", params=CLIENTS, ids=[f"{client}-RESP{protocol}" for client, protocol in CLIENTS])
def driver(request: pytest.FixtureRequest, server: RealServer) -> Iterator[Driver]:
    """One client on that server."""
    client, protocol = request.param
    made = open_driver(client, protocol, server.process.socket)
    yield made
    made.close()


class Queue:
    """An empty queue, its verbs as commands."""

    def __init__(self) -> None:
        self.name = b"q%d" % next(_queues)
        self.base = keys.base(self.name)

    def row(self, job_id: bytes) -> bytes:
        """The key of a job's row."""
        return keys.row(self.name, job_id)

    def command(self, verb: str, **values: bytes) -> list[bytes]:
        """The words of a native command."""
        sent_keys, args = Call(verb, self.name, values).wire()
        return [(TRANSITIONS[verb].command or "").encode(), b"%d" % len(sent_keys), *sent_keys, *args]

    def enqueue(self, job_id: bytes = JOB, payload: bytes = b"tea") -> list[bytes]:
        """``EMQ.ENQUEUE``."""
        return self.command("enqueue", id=job_id, payload=payload)

    def claim(self) -> list[bytes]:
        """``EMQ.CLAIM``."""
        return self.command("claim", lease_ms=b"30000")

    def complete(self, token: bytes) -> list[bytes]:
        """``EMQ.COMPLETE``."""
        return self.command("complete", id=JOB, token=token)


@pytest.fixture
def queue() -> Queue:
    """A queue nobody else has."""
    return Queue()


def test_a_job_lives(driver: Driver, queue: Queue) -> None:
    """Enqueued once, claimed with its token as a number, completed once; the second time nothing is there."""
    assert 1 == driver.ask(*queue.enqueue())
    assert 0 == driver.ask(*queue.enqueue())
    claimed = driver.ask(*queue.claim())
    assert [JOB, b"tea", 1] == claimed
    assert int is type(claimed[2])
    assert 1 == driver.ask(*queue.complete(b"1"))
    assert 0 == driver.ask(*queue.complete(b"1"))


@pytest.mark.parametrize("payload", ["Grüße ☕".encode(), b"\x00\xff\r\n\"'\\", b""], ids=["UTF-8", "bytes", "empty"])
def test_a_payload_comes_back_as_it_was(driver: Driver, queue: Queue, payload: bytes) -> None:
    """Text, bytes that are no text, and nothing at all are each returned verbatim."""
    driver.ask(*queue.enqueue(payload=payload))
    assert [JOB, payload, 1] == driver.ask(*queue.claim())


def test_a_row_without_a_payload_is_claimed_with_nil(driver: Driver, queue: Queue) -> None:
    """A payload that is not there is not an empty one, in either protocol."""
    driver.ask(b"HSET", queue.row(JOB), b"state", b"pending", b"attempts", b"0")
    driver.ask(b"ZADD", queue.base + b"pending", b"0", JOB)
    assert [JOB, None, 1] == driver.ask(*queue.claim())


def test_a_claim_on_an_empty_queue_is_an_empty_list(driver: Driver, queue: Queue) -> None:
    """Not nil: a client gets a list either way."""
    assert [] == driver.ask(*queue.claim())


def test_a_stale_token_is_refused_in_the_contracts_words(driver: Driver, queue: Queue) -> None:
    """The client's error is the server's text, and the connection goes on."""
    driver.ask(*queue.enqueue())
    driver.ask(*queue.claim())
    assert ErrorReply("EMQSTALE complete token mismatch") == driver.ask(*queue.complete(b"7"))
    assert 1 == driver.ask(*queue.complete(b"1"))


def test_a_sweep_answers_two_lists(driver: Driver, queue: Queue) -> None:
    """A list of lists of ids: the recovered and the dead, either of which may be empty."""
    sweep = queue.command("stalled_check", max_stalled=b"2", limit=b"100")
    assert [[], []] == driver.ask(*sweep)
    for job_id in (JOB, OTHER):
        driver.ask(*queue.enqueue(job_id))
        driver.ask(*queue.claim())
        driver.ask(b"ZADD", queue.base + b"active", b"0", job_id)
    driver.ask(b"HSET", queue.row(OTHER), b"stalled", b"1")
    assert [[JOB], [OTHER]] == driver.ask(*sweep)


@pytest.mark.parametrize("how", ["pipeline", "multi"])
def test_an_error_among_others_stops_nobody(driver: Driver, queue: Queue, how: str) -> None:
    """In a pipeline and in a transaction the refused verb answers its error, those around it what they answer."""
    commands = [queue.enqueue(), queue.complete(b"7"), queue.claim(), queue.complete(b"1")]
    replies = driver.send(commands, "multi" if how == "multi" else "pipeline")
    assert [1, ErrorReply("EMQSTALE complete token mismatch"), [JOB, b"tea", 1], 1] == replies


def test_a_trace_holds_the_reply_and_every_command(driver: Driver, queue: Queue) -> None:
    """EMQ.TRACE answers the verb's reply and, in order, what was run inside, each with its phase and its reply."""
    driver.ask(*queue.enqueue())
    reply, steps = driver.ask(b"EMQ.TRACE", *queue.claim())
    assert [JOB, b"tea", 1] == reply
    row = queue.row(JOB)
    assert [b"write", b"HINCRBY", row, b"attempts", b"1", 1] in steps
    assert [b"GET", b"HGET", b"ZRANGE", b"TYPE", b"HGET"] == [step[1] for step in steps if step[0] == b"read"][:5]
    assert 0 == driver.ask(*queue.enqueue())


def test_a_traced_refusal_is_an_error_within_the_reply(driver: Driver, queue: Queue) -> None:
    """The trace comes also when the verb refuses, and the refusal stands where the reply would."""
    driver.ask(*queue.enqueue())
    reply, steps = driver.ask(b"EMQ.TRACE", *queue.complete(b"7"))
    assert ErrorReply("EMQSTALE complete token mismatch") == reply
    assert [b"read", b"HGET", queue.row(JOB), b"attempts", b"0"] in steps


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_person_at_redis_cli_reads_it(server: RealServer, queue: Queue, protocol: int) -> None:
    """What a terminal shows of a claim and of a refusal, and what a shell learns of it."""
    cli = RedisCli(server.process.socket, protocol)

    def shown(command: list[bytes]) -> tuple[int, str]:
        line = [*cli.program, "--no-raw", "-e", *map(bytes.decode, command)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    assert (0, "(integer) 1\n") == shown(queue.enqueue(payload=b"\xc3\xbc"))
    assert (0, f'1) "{JOB.decode()}"\n2) "\\xc3\\xbc"\n3) (integer) 1\n') == shown(queue.claim())
    assert (1, "EMQSTALE complete token mismatch\n") == shown(queue.complete(b"7"))
