"""Whole histories: the executors agree step by step outside the declared divergences, and natively nothing breaks."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings

from emqlab.lab import open_lab
from emqlab.replies import ErrorReply
from tests.parity.histories import GHOSTS, JOBS, SETS, WORLD, Step, divergence, histories, row_of
from tests.transitions.bench import Bench, Held, job_key, readable

#: The same examples in every run.
steadily = settings(
    derandomize=True, database=None, deadline=None, max_examples=70, suppress_health_check=list(HealthCheck)
)
#: What the histories must come by, or they prove little: verb and reply.
REACHED = {
    *(("enqueue", reply) for reply in ("1", "0", "EMQKIND")),
    *(("schedule", reply) for reply in ("1", "0", "EMQKIND")),
    *(("claim", reply) for reply in ("list", "empty")),
    *(("complete", reply) for reply in ("1", "0", "EMQSTALE")),
    *(("fail", reply) for reply in ("scheduled", "dead", "EMQSTALE")),
    *(("delay", reply) for reply in ("1", "EMQSTALE", "EMQKIND")),
    *(("extend", reply) for reply in ("1", "-1", "EMQSTALE")),
    *(("extends", reply) for reply in ("list", "empty")),
    *(("promote", reply) for reply in ("0", "1")),
    *(("stalled_check", reply) for reply in ("list",)),
    *(("reprocess", reply) for reply in ("1", "-1", "EMQSTATE")),
}
REFUSED_NATIVELY = {"EMQARGS", "EMQFENCE", "EMQKIND", "EMQLANE", "EMQFLOW", "EMQSTALE", "EMQSTATE", "ERR", "WRONGTYPE"}


def word(reply: object) -> str:
    """A reply in one word, for counting."""
    if isinstance(reply, ErrorReply):
        return reply.code
    if isinstance(reply, list):
        return "list" if reply else "empty"
    return reply.decode() if isinstance(reply, bytes) else str(reply)


def masked(state: Mapping[str, Held]) -> dict[str, Held]:
    """A state without what only natively is written (divergences 8 and 9)."""
    rows = {name: row_of(state, name.removeprefix("job:").encode()) for name in state if name.startswith("job:")}
    for row in rows.values():
        row.pop("lease_epoch", None)
        row.pop("failures", None)
    return {**state, **rows}


def test_the_executors_agree() -> None:
    """Step by step: the same reply and the same keys, but for stamp and failures, and every outcome is come by."""
    reached: Counter[tuple[str, str]] = Counter()

    @steadily
    @given(histories(odd=False))
    def history(taken: list[Step]) -> None:
        with open_lab() as one, open_lab() as other:
            scripted, native = Bench(one, one.scripted), Bench(other, other.native)
            state = native.state()
            for step in taken:
                if step.verb in WORLD:
                    step.happen(scripted, state)
                    step.happen(native, state)
                elif divergence(native, step, state) is None:
                    call = step.call(native, state)
                    reply = native.executor.perform(call)
                    assert scripted.executor.perform(call) == reply, call
                    reached[step.verb, word(reply)] += 1
                state = native.state()
                assert masked(scripted.state()) == masked(state), step

    history()
    assert REACHED - set(reached) == set()


def check_places(state: Mapping[str, Held]) -> None:
    """Each row in the one set that its state names; no id without a row, but for planted ghosts."""
    for job in JOBS:
        sets = [name for name in SETS if job.decode() in state.get(name, {})]
        row = row_of(state, job)
        assert [SETS[name] for name in sets] == ([row["state"]] if row else []), (job, state)
    known = {job.decode() for job in JOBS + GHOSTS}
    assert {member for name in SETS for member in state.get(name, {})} <= known
    assert [] == [ghost for ghost in GHOSTS if job_key(ghost) in state]


class Ledger:
    """What went in and out of one queue, by the replies."""

    def __init__(self) -> None:
        self.entered = self.completed = 0
        self.payloads: dict[bytes, str] = {}
        self.attempts: dict[bytes, int] = {}

    def book(self, step: Step, job: bytes, reply: object) -> None:
        """One reply."""
        if step.verb in ("enqueue", "schedule") and reply == 1:
            self.entered += 1
            self.payloads[job] = step.values["payload"]
            self.attempts[job] = 0
        if step.verb == "complete" and reply == 1:
            self.completed += 1
            del self.payloads[job], self.attempts[job]

    def check(self, state: Mapping[str, Held]) -> None:
        """entered = live + dead + completed; payloads as sent; attempts never falls."""
        rows = {job: row_of(state, job) for job in JOBS if job_key(job) in state}
        assert self.entered - self.completed == len(rows)
        assert self.payloads == {job: row["payload"] for job, row in rows.items()}
        now = {job: int(row["attempts"]) for job, row in rows.items()}
        assert all(now[job] >= self.attempts[job] for job in now)
        self.attempts = now


def test_natively_nothing_breaks() -> None:
    """Anything goes: odd values, planted harm, restarts. The invariants hold and a refusal writes nothing."""
    refusals: Counter[str] = Counter()

    @steadily
    @given(histories(odd=True))
    def history(taken: list[Step]) -> None:
        with open_lab() as lab:
            bench, ledger = Bench(lab, lab.native), Ledger()
            for step in taken:
                before = bench.snapshot()
                state = readable(before)
                if step.verb in WORLD:
                    step.happen(bench, state)
                    continue
                reply = bench.executor.perform(step.call(bench, state))
                after = bench.snapshot()
                if isinstance(reply, ErrorReply):
                    refusals[reply.code] += 1
                    assert before == after, (step, reply)
                ledger.book(step, step.job(state), reply)
                check_places(readable(after))
                ledger.check(readable(after))
                assert {key.ttl_ms for key in after.values()} <= {-1}

    history()
    assert REFUSED_NATIVELY - set(refusals) == set()


@pytest.mark.parametrize("verb", ["fail", "delay", "extend"])
def test_the_history_is_compared(verb: str) -> None:
    """The comparison sees what it must: a step inside divergence 12 is foreseen, and parts the executors."""
    step = Step(verb, 0, "zero", {"delay_ms": "0", "max_attempts": "9", "error": "e", "mode": "in", "value": "1"})
    with open_lab() as one, open_lab() as other:
        scripted, native = Bench(one, one.scripted), Bench(other, other.native)
        for bench in (scripted, native):
            bench.waiting(JOBS[0])
        state = native.state()
        assert divergence(native, step, state) == 12
        call = Step(verb, 0, "zero", {**step.values, "lease_ms": "9"}).call(native, state)
        assert scripted.executor.perform(call) != native.executor.perform(call)
        assert masked(scripted.state()) != masked(native.state())
