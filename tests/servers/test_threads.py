"""Many threads on one queue: the server lets one transition in at a time."""

import threading
from collections.abc import Callable

import pytest

from emqlab.executor import Executor
from emqlab.lab import ExecutorName, Lab, open_lab
from emqlab.outcomes import Claimed

THREADS = 8
CLAIMS = 500
JOBS = THREADS * CLAIMS


def in_threads(work: Callable[[int], None]) -> list[BaseException]:
    """Run ``work`` in eight threads at once; what they raised."""
    raised: list[BaseException] = []
    gate = threading.Barrier(THREADS)

    def run(number: int) -> None:
        gate.wait()
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


def fill(lab: Lab, jobs: int) -> set[bytes]:
    """Put jobs in line with raw commands; their ids."""
    ids = [b"JOB%011d" % number for number in range(jobs)]
    pipe = lab.client.pipeline(transaction=False)
    for job in ids:
        pipe.hset(b"emq:{q}:job:" + job, mapping={"state": "pending", "attempts": "0", "payload": job})
    pipe.zadd("emq:{q}:pending", dict.fromkeys(ids, 0))
    pipe.execute()
    return set(ids)


@pytest.mark.parametrize("name", ["scripted", "native"])
def test_no_job_is_leased_twice(name: ExecutorName) -> None:
    """8 threads, 500 claims each, 4,000 jobs: 4,000 different ids with token 1 and their own payload, no error."""
    with open_lab() as lab:
        ids = fill(lab, JOBS)
        claims: list[list[Claimed | None]] = [[] for _ in range(THREADS)]

        def work(number: int) -> None:
            executor: Executor = lab.executor(name)
            for _ in range(CLAIMS):
                claims[number].append(executor.claim("q"))

        assert [] == in_threads(work)
        claimed = [claim for found in claims for claim in found]
        assert {(job, job, 1) for job in ids} == {(claim.id, claim.payload, claim.token) for claim in claimed if claim}
        assert (len(claimed), lab.client.zcard("emq:{q}:active")) == (JOBS, JOBS)
        assert lab.executor(name).claim("q") is None


@pytest.mark.parametrize("name", ["scripted", "native"])
def test_one_of_many_holders_completes(name: ExecutorName) -> None:
    """Eight threads complete the same fifty jobs: each is completed once, and counted once."""
    with open_lab() as lab:
        ids = sorted(fill(lab, 50))
        executor = lab.executor(name)
        done: list[bytes] = []

        def work(number: int) -> None:
            for job in ids:
                try:
                    executor.complete("q", job, 0)
                    done.append(job)
                except LookupError:  # JobGone: another thread was first
                    continue

        assert [] == in_threads(work)
        assert ids == sorted(done)
        assert lab.client.hget("emq:{q}:metrics:completed", "count") == b"50"


def test_minted_ids_are_different() -> None:
    """Ids minted by eight threads in one frozen millisecond never repeat."""
    with open_lab() as lab:
        minted: list[list[bytes]] = [[] for _ in range(THREADS)]

        def work(number: int) -> None:
            for _ in range(100):
                minted[number].append(lab.native.enqueue("q", b"tea"))

        assert [] == in_threads(work)
        assert len({job for jobs in minted for job in jobs}) == THREADS * 100
        assert all(jobs == sorted(jobs) for jobs in minted)
