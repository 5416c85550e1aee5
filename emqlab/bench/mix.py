"""The life of many jobs, natively: all twelve verbs and a refusal, every reply checked, nothing left at the end."""

import time
from collections.abc import Iterator
from typing import Any

from emqlab.bench.jobs import PAYLOAD, Jobs
from emqlab.bench.line import Line, Packed
from emqlab.bench.rounds import WorkNotDone
from emqlab.bench.target import Target
from emqlab.replies import ErrorReply
from emqlab.transitions import TRANSITIONS, Call, Values

_SWEEP_S = 30.0
_LEASE = {"lease_ms": b"30000"}
_AT_ONCE = {"mode": b"in", "value": b"0"}
_STALE = ErrorReply("EMQSTALE complete token mismatch")

#: What is sent, and the reply that each of it must get.
Step = tuple[Packed, list[Any]]


class Mix:
    """``jobs`` jobs (a multiple of a hundred) on ``line``, from enqueue to complete, again and again."""

    def __init__(self, target: Target, line: Line, jobs: int = 1000) -> None:
        self._line = line
        self._jobs = Jobs(target.queue, target.run_id, jobs)
        self._batches = jobs // 100
        (self._sweep,) = self._commands("stalled_check", {"max_stalled": b"1000000", "limit": b"100"}, 1)
        self._before, self._after = list(self._to_the_sweep()), list(self._from_the_sweep())
        self._clear = line.pack([self._jobs.clear()])

    def run(self) -> int:
        """One pass: how many calls it took. Raises WorkNotDone."""
        calls = sum(self._step(step) for step in self._before)
        calls += self._swept()
        calls += sum(self._step(step) for step in self._after)
        self._line.send(self._clear)
        return calls

    def _to_the_sweep(self) -> Iterator[Step]:
        yield self._each("enqueue", {"payload": PAYLOAD}, 1)
        yield self._claimed(1)
        yield self._each("extend", {"token": b"1", **_LEASE}, 1)
        pairs = [(job_id, b"1") for job_id in self._jobs.ids]
        yield self._some("extends", {**_LEASE, "pairs": pairs}, 1, [])
        yield self._each("complete", {"token": b"9"}, _STALE)
        yield self._failed(1, b"3", b"scheduled")
        yield self._promoted()
        yield self._claimed(2)
        yield self._each("delay", {"token": b"2", **_AT_ONCE}, 1)
        yield self._promoted()
        yield self._claimed(3)
        yield self._each("requeue", {"token": b"3"}, 1)
        # Leases of a millisecond, for the sweep.
        yield self._claimed(4, b"1")

    def _from_the_sweep(self) -> Iterator[Step]:
        yield self._claimed(5)
        yield self._failed(5, b"1", b"dead")
        yield self._each("reprocess", {}, 1)
        yield self._claimed(6)
        yield self._each("complete", {"token": b"6"}, 1)
        yield self._each("schedule", {"payload": PAYLOAD, **_AT_ONCE}, 1)
        yield self._promoted()
        yield self._claimed(1)
        yield self._each("complete", {"token": b"1"}, 1)

    def _each(self, verb: str, values: Values, reply: Any) -> Step:
        """One call a job."""
        sent = [command for job_id in self._jobs.ids for command in self._commands(verb, {"id": job_id, **values}, 1)]
        return self._line.pack(sent), [reply] * len(sent)

    def _some(self, verb: str, values: Values, count: int, reply: Any) -> Step:
        return self._line.pack(self._commands(verb, values, count)), [reply] * count

    def _claimed(self, token: int, lease_ms: bytes = b"30000") -> Step:
        sent, _ = self._some("claim", {"lease_ms": lease_ms}, len(self._jobs), None)
        return sent, [[job_id, PAYLOAD, token] for job_id in self._jobs.ids]

    def _failed(self, token: int, max_attempts: bytes, outcome: bytes) -> Step:
        values = {"token": b"%d" % token, "delay_ms": b"0", "max_attempts": max_attempts, "error": b"boom"}
        return self._each("fail", values, outcome)

    def _promoted(self) -> Step:
        return self._some("promote", {"batch": b"100"}, self._batches, 100)

    def _commands(self, verb: str, values: Values, count: int) -> list[tuple[bytes, ...]]:
        sent_keys, args = Call(verb, self._jobs.queue, values).wire()
        command = TRANSITIONS[verb].command
        assert command
        return [(command.encode(), b"%d" % len(sent_keys), *sent_keys, *args)] * count

    def _step(self, step: Step) -> int:
        sent, expected = step
        replies = self._line.send(sent)
        for want, got in zip(expected, replies, strict=True):
            if want != got:
                raise WorkNotDone(f"a call of the mix should have answered {want!r}, and answered {got!r}")
        return len(replies)

    def _swept(self) -> int:
        """Sweep until every lease has run out and was taken back."""
        found = calls = 0
        deadline = time.monotonic() + _SWEEP_S
        while found < len(self._jobs):
            recovered, _ = self._line.ask(*self._sweep)
            found += len(recovered)
            calls += 1
            if time.monotonic() > deadline:
                raise WorkNotDone(f"{found} of {len(self._jobs)} expired leases were swept in {_SWEEP_S:.0f} s")
        return calls
