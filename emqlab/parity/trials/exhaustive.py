"""The exhaustive layer: every state of one and two jobs, of lanes and of a flow, and every transition from there."""

from collections.abc import Sequence
from functools import cache, cached_property
from random import Random

from emqlab.parity.model import Values
from emqlab.parity.trials import bound_trials
from emqlab.parity.trials.layer import Layer
from emqlab.parity.trials.states import (
    FAILURE,
    JOBS,
    PAYLOAD,
    TOKENS,
    State,
    about_queue,
    native_states,
    presenting,
    scripted_states,
    together,
    wild_states,
)
from emqlab.parity.trials.trial import Do, Trial

#: How many claims two jobs of the native world have behind them together, at most.
MOST_CLAIMS = 5


def calls_of(states: Sequence[State]) -> list[tuple[str, Values]]:
    """What is tried on a world of several jobs: as many calls, in the same order, whatever the states.

    The first job is presented every token, the others the right one and a wrong one.
    """
    return _calls(tuple(state.attempts for state in states))


@cache
def _calls(attempts: tuple[int, ...]) -> list[tuple[str, Values]]:
    calls: list[tuple[str, Values]] = []
    right = [b"%d" % count for count in attempts]
    for place, (job, token) in enumerate(zip(JOBS, right, strict=False)):
        for presented in TOKENS if place == 0 else (token, _other(token)):
            calls.extend(presenting(job, presented))
        calls.append(("enqueue", {"id": job, "payload": PAYLOAD}))
        calls.append(("reprocess", {"id": job}))
    calls.extend(about_queue())
    first, pairs = JOBS[0], list(zip(JOBS, right, strict=False))
    failing: Values = {"id": first, "token": right[0], "delay_ms": b"0", "error": FAILURE}
    calls += [
        ("schedule", {"id": first, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}),
        ("schedule", {"id": JOBS[len(right) - 1], "payload": PAYLOAD, "mode": b"at", "value": b"1"}),
        ("fail", {**failing, "max_attempts": b"1"}),
        ("fail", {**failing, "max_attempts": b"3"}),
        ("promote", {"batch": b"1"}),
        ("stalled_check", {"max_stalled": b"1", "limit": b"100"}),
        ("stalled_check", {"max_stalled": b"2", "limit": b"1"}),
        ("extends", {"lease_ms": b"60000", "pairs": pairs}),
        ("extends", {"lease_ms": b"60000", "pairs": [(first, _other(right[0])), *pairs[1:]]}),
        ("pause", {}),
    ]
    return calls


def _other(token: bytes) -> bytes:
    return b"%d" % ((int(token) + 1) % len(TOKENS))


class Exhaustive(Layer):
    """Every state that one and two jobs come to, by the native verbs and by the scripts, and every transition.

    Then two jobs in lanes, and a flow of two children, as far as the scripts' workers bring them.
    """

    name = "exhaustive"

    @cached_property
    def _twos(self) -> list[tuple[State, State]]:
        """Two of the native executor's jobs, then two of the scripts'; a job that is not there is one of the states."""
        native = [(a, b) for a in native_states() for b in native_states() if a.attempts + b.attempts <= MOST_CLAIMS]
        return native + [(a, b) for a in scripted_states() for b in scripted_states()]

    @cached_property
    def _calls(self) -> tuple[int, int]:
        """How many calls there are on a world of one job, and on one of two."""
        return len(calls_of(native_states()[:1])), len(calls_of(native_states()[:2]))

    @property
    def size(self) -> int:
        """Each world with every call."""
        return self.bound.stop

    @cached_property
    def bound(self) -> range:
        """The trials of lanes and flows, the last ones."""
        return range(self._flat, self._flat + sum(worlds * calls for worlds, calls in bound_trials.sizes()))

    @cached_property
    def _flat(self) -> int:
        """How many trials are of flat jobs."""
        one, two = self._calls
        return len(self._twos) * two + len(wild_states()) * one

    def counts(self) -> dict[str, tuple[int, int]]:
        """What is run -> how many worlds there are of it, and how many transitions."""
        one, two = self._calls
        scripted, wild = len(scripted_states()) ** 2, len(wild_states())
        native = len(self._twos) - scripted
        return {
            "two jobs by the native verbs": (native, native * two),
            "two jobs by the scripts": (scripted, scripted * two),
            "one job by the scripts, whoever presents what": (wild, wild * one),
            **{
                kind.name: (worlds, worlds * calls)
                for kind, (worlds, calls) in zip(bound_trials.KINDS, bound_trials.sizes(), strict=True)
            },
        }

    def drawn(self, random: Random, verb: str) -> int:
        """A trial of one verb on two jobs, by chance; half of them by the scripts."""
        scripted = len(scripted_states()) ** 2
        native = len(self._twos) - scripted
        at = random.randrange(native) if random.random() < 0.5 else native + random.randrange(scripted)
        calls = [place for place, call in enumerate(calls_of(self._twos[at])) if call[0] == verb]
        return at * self._calls[1] + random.choice(calls)

    def trial(self, index: int) -> Trial:
        """The jobs' states, and the call."""
        one, two = self._calls
        at, call = divmod(index, two)
        states: tuple[State, ...]
        if 0 <= at < len(self._twos):
            states = self._twos[at]
        else:
            # These are walked to last, for that takes longest, and few single trials are among them.
            if index >= self._flat:
                return self._made(index, *bound_trials.sound(self._checked(index) - self._flat))
            at, call = divmod(self._checked(index) - len(self._twos) * two, one)
            states = (wild_states()[at],)
        # Both orders of two leases that ran out: by their ids, and the later id first.
        start = together(states, older=1_000 if at % 2 else 0)
        return self._made(index, start, Do(*calls_of(states)[call]))
