"""The small world: every state that one job can come to, found by walking, and worlds of several such jobs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Held, Reply, Unsupported, Values, World, Zset, native, scripted
from emqlab.parity.trials.trial import BASE, NOW_MS, QUEUE, world

JOBS = (b"JOB0NgWEfAEJfa", b"JOB0NgWEfAEJfb", b"JOB0NgWEfAEJfc")
SETS = (b"pending", b"active", b"schedule", b"dead")
PAYLOAD = b"tea"
FAILURE = b"boom"
LEASE_MS = 30_000
#: The bounds of the small world.
MOST_ATTEMPTS = 3
MAX_ATTEMPTS = 2
MAX_STALLED = 2
TOKENS = (b"0", b"1", b"2", b"3", b"4")
_PAST, _FUTURE = -1_000, LEASE_MS

Voice = Callable[[World, bytes, str, Values], Reply]
VOICES: dict[str, Voice] = {"scripted": scripted, "native": native}


@dataclass(frozen=True, slots=True)
class State:
    """What one job is: its row's fields (None without a row), and the sets its id is in, each with when: ms from now.

    A score that is no time is 0.
    """

    row: tuple[tuple[bytes, bytes], ...] | None
    places: tuple[tuple[bytes, int], ...]

    @property
    def attempts(self) -> int:
        """Its row's attempts, 0 without a row."""
        return int(dict(self.row or ()).get(b"attempts", b"0"))


#: A job that was never there.
ABSENT = State(None, ())


def together(states: Sequence[State], *, older: int = 0) -> World:
    """One world of several jobs, in the order of their ids; each next one's past lies ``older`` ms further back."""
    held: dict[bytes, Held] = {}
    for place, (job, state) in enumerate(zip(JOBS, states, strict=False)):
        if state.row is not None:
            held[b"job:" + job] = dict(state.row)
        for name, offset in state.places:
            members = held.setdefault(name, Zset())
            assert isinstance(members, Zset)
            members[job] = float(NOW_MS + offset - (older * place if offset < 0 else 0)) if offset else 0.0
    return world(held)


def state_of(found: World, job: bytes) -> State:
    """One job of a world, its times brought to the bounds: past or to come."""
    row = found.keys.get(BASE + b"job:" + job)
    places = []
    for name in SETS:
        members = found.keys.get(BASE + name)
        if isinstance(members, Zset) and job in members:
            score = members[job]
            places.append((name, 0 if not score else _PAST if score <= found.now_ms else _FUTURE))
    fields = row if isinstance(row, dict) and not isinstance(row, Zset) else None
    return State(None if fields is None else tuple(sorted(fields.items())), tuple(places))


def reachable(voice: Voice, *, rightly: bool = False) -> tuple[State, ...]:
    """Every state that one job comes to by this executor's verbs, by leases that run out and by restarts.

    ``rightly``: by workers that present the token of a job only while they hold it. In the order in which a walk in
    breadth meets them; ABSENT is the first.
    """
    met = {ABSENT: None}
    line = [ABSENT]
    for state in line:
        for after in _neighbours(voice, state, rightly):
            if after not in met and _within(after):
                met[after] = None
                line.append(after)
    return tuple(met)


def _neighbours(voice: Voice, state: State, rightly: bool) -> Iterable[State]:
    held = any(name == b"active" for name, _ in state.places)
    start = together([state])
    # A wrong token leads nowhere: it is refused, and nothing is written.
    for verb, values in steps(JOBS[:1], [b"%d" % state.attempts]):
        if rightly and "token" in values and not held:
            continue
        reached = start.copy()
        reply = voice(reached, QUEUE, verb, values)
        if not isinstance(reply, Unsupported) and reached.keys != start.keys:
            yield state_of(reached, JOBS[0])
    yield lapsed(state)
    yield restarted(state)


def lapsed(state: State) -> State:
    """The same job when all its times have come."""
    return State(state.row, tuple((name, _PAST if offset else 0) for name, offset in state.places))


def restarted(state: State) -> State:
    """The same job after a restart of the server."""
    if state.row is None:
        return state
    row = dict(state.row)
    if b"lease_epoch" in row:
        # No rule tells two earlier epochs apart.
        row[b"lease_epoch"] = OLD_RUN_ID
    return State(tuple(sorted(row.items())), state.places)


def _within(state: State) -> bool:
    row = dict(state.row or ())
    return all(int(row.get(name, 0)) <= MOST_ATTEMPTS for name in (b"attempts", b"failures", b"stalled"))


def steps(jobs: Sequence[bytes], tokens: Sequence[bytes] = TOKENS) -> Iterable[tuple[str, Values]]:
    """Every transition of the small world about ``jobs`` (a verb and its values), each token tried."""
    for job in jobs:
        yield "enqueue", {"id": job, "payload": PAYLOAD}
        yield "schedule", {"id": job, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}
        for token in tokens:
            yield from presenting(job, token)
        yield "reprocess", {"id": job}
    yield from about_queue()


def presenting(job: bytes, token: bytes) -> Iterable[tuple[str, Values]]:
    """The verbs that read the token."""
    holder: dict[str, bytes] = {"id": job, "token": token}
    yield "complete", holder
    yield (
        "fail",
        {**holder, "delay_ms": b"30000", "max_attempts": b"%d" % MAX_ATTEMPTS, "error": FAILURE},
    )
    yield "delay", {**holder, "mode": b"in", "value": b"30000"}
    yield "requeue", holder
    yield "extend", {**holder, "lease_ms": b"%d" % LEASE_MS}


def about_queue() -> Iterable[tuple[str, Values]]:
    """The transitions that name no job."""
    yield "claim", {"lease_ms": b"%d" % LEASE_MS}
    yield "promote", {"batch": b"100"}
    yield "stalled_check", {"max_stalled": b"%d" % MAX_STALLED, "limit": b"100"}
    yield "reap", {}


@cache
def native_states() -> tuple[State, ...]:
    """The native executor's one-job states."""
    return reachable(native)


@cache
def scripted_states() -> tuple[State, ...]:
    """The scripts' one-job states, as far as workers go who keep to their leases."""
    return reachable(scripted, rightly=True)


@cache
def wild_states() -> tuple[State, ...]:
    """The scripts' one-job states, whoever presents what: ids in several sets, ghosts, rows that nobody enqueued."""
    return reachable(scripted)
