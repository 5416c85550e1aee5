"""Eight clients of both executors on one queue of a real server: each job is leased once, and retired once."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from emqlab.executor import Executor
from emqlab.native.executor import NativeExecutor
from emqlab.outcomes import Claimed
from emqlab.replies import ask, ask_all
from emqlab.scripted.executor import ScriptedExecutor
from tests.servers.real import NAMES, RealServer, real_server

JOBS = 10_000
#: Four of each, in turn.
CLIENTS = ["scripted", "native"] * 4
BASE = "emq:{q}:"
#: How long all of it may take, in seconds; it takes a few.
LONGEST = 240


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """A server of each test's own."""
    with real_server(request.param) as made:
        yield made


@dataclass
class Worker:
    """One client in a thread of its own: what it claimed, and what it raised."""

    number: int
    executor: Executor
    claims: list[Claimed] = field(default_factory=list)
    raised: list[BaseException] = field(default_factory=list)

    def run(self, gate: threading.Barrier, then: Callable[[Executor, Claimed], object]) -> None:
        """Claim until there is nothing left, doing ``then`` to each job."""
        try:
            gate.wait(LONGEST)
            while claim := self.executor.claim("q", lease_ms=3_600_000):
                self.claims.append(claim)
                then(self.executor, claim)
        except BaseException as error:
            self.raised.append(error)


def fill(server: RealServer) -> set[bytes]:
    """Put the jobs in line with the native verb, one pipeline a thousand; their ids."""
    ids = [b"JOB%011d" % number for number in range(JOBS)]
    for start in range(0, JOBS, 1000):
        part = ids[start : start + 1000]
        replies = ask_all(
            server.client, [["EMQ.ENQUEUE", 2, b"emq:{q}:job:" + job, BASE + "pending", job, job] for job in part]
        )
        assert [1] * len(part) == replies
    return set(ids)


def work(server: RealServer, then: Callable[[Executor, Claimed], object]) -> list[Worker]:
    """Let eight clients, each on a connection of its own, empty the queue."""
    run_id = server.info("server")["run_id"].encode()
    workers = []
    for number, kind in enumerate(CLIENTS):
        client = server.connect()
        executor: Executor = (
            ScriptedExecutor(client, bytes) if kind == "scripted" else NativeExecutor(client, bytes, lambda: run_id)
        )
        workers.append(Worker(number, executor))
    gate = threading.Barrier(len(workers))
    threads = [threading.Thread(target=worker.run, args=(gate, then), daemon=True) for worker in workers]
    deadline = time.monotonic() + LONGEST
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), f"not done within {LONGEST} s"
    assert [] == [error for worker in workers for error in worker.raised]
    split = ", ".join(f"{worker.executor.name} {len(worker.claims)}" for worker in workers)
    print(f"{server.name}: {split}; {LONGEST - (deadline - time.monotonic()):.1f} s")
    return workers


def assert_each_once(workers: list[Worker], ids: set[bytes]) -> None:
    """Every job was handed out once, to one client, with its own payload and the first token."""
    claims = [claim for worker in workers for claim in worker.claims]
    counted = Counter(claim.id for claim in claims)
    assert {} == {job: times for job, times in counted.items() if times != 1}
    assert ids == set(counted)
    assert {(job, job, 1) for job in ids} == {(claim.id, claim.payload, claim.token) for claim in claims}


def test_each_job_is_claimed_once(server: RealServer) -> None:
    """10,000 jobs: each id once, attempts 1 in every row, all in active, and a stamp only where a verb claimed."""
    ids = fill(server)
    workers = work(server, lambda executor, claim: None)
    assert_each_once(workers, ids)
    order = sorted(ids)
    attempts = ask_all(server.client, [["HGET", b"emq:{q}:job:" + job, "attempts"] for job in order])
    assert {b"1": JOBS} == Counter(attempts)
    stamps = ask_all(server.client, [["HGET", b"emq:{q}:job:" + job, "lease_epoch"] for job in order])
    native = {claim.id for worker in workers if worker.executor.name == "native" for claim in worker.claims}
    assert native == {job for job, stamp in zip(order, stamps, strict=True) if stamp is not None}
    assert [0, JOBS] == ask_all(server.client, [["ZCARD", BASE + "pending"], ["ZCARD", BASE + "active"]])


def test_each_job_is_completed_once(server: RealServer) -> None:
    """10,000 jobs claimed and completed: counted 10,000 times, and nothing left but the count."""
    ids = fill(server)
    workers = work(server, lambda executor, claim: executor.complete("q", claim.id, claim.token))
    assert_each_once(workers, ids)
    assert str(JOBS).encode() == ask(server.client, "HGET", BASE + "metrics:completed", "count")
    assert [(BASE + "metrics:completed").encode()] == ask(server.client, "KEYS", "*")
