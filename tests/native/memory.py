"""Many calls of all verbs, as they succeed and as they are refused, and the memory of the server that answers them."""

from dataclasses import dataclass

import redis

from emqlab import keys
from emqlab.replies import ask
from tests.native.fuzzing import SETS, Fuzzer, Words
from tests.native.resp import Failed, Wire
from tests.servers.real import RealServer

_QUEUE = b"q"
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Memory:
    """A server's memory in bytes: what it has given out, and what the system counts as its own."""

    used: int
    rss: int


def memory(client: redis.Redis) -> Memory:
    """The server's memory now."""
    lines = (line.partition(b":") for line in ask(client, "INFO", "memory").splitlines())
    told = {name: value for name, _, value in lines}
    return Memory(int(told[b"used_memory"]), int(told[b"used_memory_rss"]))


class MixedCalls:
    """Lives of jobs, with refusals in between, over one connection; every batch leaves no key behind."""

    def __init__(self, server: RealServer) -> None:
        self._wire = Wire(server.process.socket)
        self._batch = _lives() + _chance()
        self.calls = 0
        self.refused = 0

    def run(self, calls: int) -> None:
        """At least so many calls, then no key but those of before."""
        goal = self.calls + calls
        while self.calls < goal:
            replies = self._wire.ask_all(self._batch)
            self.calls += len(replies)
            self.refused += sum(isinstance(reply, Failed) for reply in replies)
            self._wire.ask(b"FLUSHALL", b"SYNC")

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()


def _chance() -> list[Words]:
    """Random calls, right and wrong, some of them traced."""
    fuzzer = Fuzzer("memory")
    calls = [fuzzer.call(_QUEUE)[1] for _ in range(_BATCH)]
    return [[b"EMQ.TRACE", *words] if fuzzer.chance(0.1) else words for words in calls]


def _lives() -> list[Words]:
    """Jobs that go through every verb and are completed."""
    base = keys.base(_QUEUE)
    pending, active, schedule, dead = (base + name for name in SETS)
    made: list[Words] = []
    for place in range(_BATCH // 13):
        job = b"JOB%011d" % place
        row = keys.row(_QUEUE, job)
        claim = [b"EMQ.CLAIM", b"3", pending, active, base, b"30000"]
        fail = [b"EMQ.FAIL", b"4", active, schedule, dead, row, job]
        sweep = [b"EMQ.STALLED.CHECK", b"3", active, pending, dead, base, b"1", b"100"]
        made += [
            [b"EMQ.ENQUEUE", b"2", row, pending, job, b"p" * 200],
            claim,
            [b"EMQ.EXTEND", b"2", active, row, job, b"1", b"30000"],
            [b"EMQ.EXTENDS", b"1", active, base, b"30000", job, b"1"],
            [b"EMQ.REQUEUE", b"3", active, pending, row, job, b"1"],
            claim,
            [*fail, b"2", b"0", b"1", b"boom", base],
            [b"EMQ.REPROCESS", b"3", row, dead, pending, job],
            claim,
            [b"EMQ.DELAY", b"3", row, active, schedule, job, b"3", b"at", b"0"],
            [b"EMQ.PROMOTE", b"2", schedule, pending, base, b"100"],
            claim,
            sweep,
            [b"EMQ.COMPLETE", b"2", active, row, job, b"1", base],
            [b"EMQ.COMPLETE", b"2", active, row, job, b"4", base],
        ]
    return made
