"""The small world: how many states there are, that no walk leaves their list, and what is sound among them."""

from collections.abc import Callable, Iterator

import pytest

from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.invariants import broken
from emqlab.parity.model import Unsupported, Values, Zset, native, scripted
from emqlab.parity.trials.layers import Exhaustive
from emqlab.parity.trials.states import (
    ABSENT,
    JOBS,
    PAYLOAD,
    State,
    Voice,
    about_queue,
    lapsed,
    native_states,
    presenting,
    restarted,
    scripted_states,
    state_of,
    steps,
    together,
    wild_states,
)
from emqlab.parity.trials.trial import BASE, EPOCHS, NOW_MS, QUEUE

Pair = tuple[State, State]
Listed = Callable[[], tuple[State, ...]]
TWO_NATIVE, TWO_SCRIPTED, WILD = 15_708, 4_096, 2_640
#: Further than so many claims of both jobs together the joint walk does not go.
CLAIMS = 3


def counters(state: State) -> tuple[int, ...]:
    """A state's attempts, failures and stalled."""
    row = dict(state.row or ())
    return tuple(int(row.get(name, b"0")) for name in (b"attempts", b"failures", b"stalled"))


def field(state: State, name: bytes) -> bytes | None:
    """A field of its row."""
    return dict(state.row or ()).get(name)


# ---------------------------------------------------------------- how many


def test_the_states_are_counted() -> None:
    """One job has 152 states by the native verbs, 64 by the scripts, 2,640 by scripts whoever presents what."""
    assert (152, 64, WILD) == (len(native_states()), len(scripted_states()), len(wild_states()))


def test_the_worlds_of_the_exhaustive_layer_are_counted() -> None:
    """15,708 of two jobs by the native verbs, 4,096 by the scripts, 2,640 of one, 1,246 of lanes, 545 of a flow."""
    counts = Exhaustive(0).counts()
    assert [TWO_NATIVE, TWO_SCRIPTED, WILD, 1_246, 545] == [worlds for worlds, _ in counts.values()]
    assert [53, 53, 41, 35, 40] == [transitions / worlds for worlds, transitions in counts.values()]
    assert Exhaustive(0).size == sum(transitions for _, transitions in counts.values())


@pytest.mark.parametrize("states", [native_states, scripted_states, wild_states])
def test_no_state_is_listed_twice_and_the_first_is_no_job(states: Listed) -> None:
    """A list of states is a set in the order of the walk."""
    listed = states()
    assert len(listed) == len(set(listed))
    assert ABSENT == listed[0]


def test_the_bounds_are_reached_and_not_passed() -> None:
    """Attempts, failures and stalled up to 3, but the scripts count no failures; three epochs natively, none else."""
    for states, most in ((native_states(), (3, 3, 3)), (scripted_states(), (3, 0, 3))):
        assert most == tuple(map(max, zip(*map(counters, states), strict=True)))
    epochs = {field(state, b"lease_epoch") for state in native_states()}
    assert {None, EPOCHS[0], OLD_RUN_ID} == epochs
    assert {None} == {field(state, b"lease_epoch") for state in wild_states()}


# ---------------------------------------------------------------- one state as a world


@pytest.mark.parametrize("states", [native_states, scripted_states, wild_states])
def test_a_state_survives_the_way_through_a_world(states: Listed) -> None:
    """Both as the first job and as the last of three, however far back its past lies."""
    listed = states()
    for state in listed:
        assert state == state_of(together([state]), JOBS[0])
        assert state == state_of(together([ABSENT, ABSENT, state], older=1_000), JOBS[2])


def test_a_world_holds_its_jobs_side_by_side() -> None:
    """Three jobs in one set, in the order of their ids; with ``older`` the later id's lease ran out first."""
    leased = next(state for state in native_states() if ("active", -1) in signs(state))
    for older, order in ((0, list(JOBS)), (1_000, list(reversed(JOBS)))):
        active = together([leased] * 3, older=older).keys[BASE + b"active"]
        assert isinstance(active, Zset)
        assert order == [job for _, job in sorted((score, job) for job, score in active.items())]
        assert max(active.values()) < NOW_MS


def signs(state: State) -> set[tuple[str, int]]:
    """Its sets, each with -1 for a time in the past, 1 for one to come, 0 for no time."""
    return {(name.decode(), (offset > 0) - (offset < 0)) for name, offset in state.places}


# ---------------------------------------------------------------- the walk


@pytest.mark.parametrize(("voice", "states"), [(native, native_states), (scripted, wild_states)])
def test_no_call_and_no_waiting_leaves_the_list(voice: Voice, states: Listed) -> None:
    """From each state every call of the small world, every token tried, leads to a listed state or past a bound."""
    listed = states()
    known = set(listed)
    for state in listed:
        assert lapsed(state) in known
        assert restarted(state) in known
        start = together([state])
        for verb, values in steps(JOBS[:1]):
            reached = start.copy()
            reply = voice(reached, QUEUE, verb, values)
            if not isinstance(reply, Unsupported):
                after = state_of(reached, JOBS[0])
                assert after in known or max(counters(after)) > 3, (state, verb, after)


def test_two_jobs_together_reach_no_pair_outside_the_layer() -> None:
    """A walk of two jobs side by side meets just the listed pairs with so many claims behind them."""
    listed = {pair for pair in listed_pairs() if sum(state.attempts for state in pair) <= CLAIMS}
    met: dict[Pair, None] = {(ABSENT, ABSENT): None}
    line = list(met)
    for pair in line:
        for after in neighbours(pair):
            if after not in met and within(after):
                met[after] = None
                line.append(after)
    assert [] == [pair for pair in met if pair not in listed]
    assert len(listed) == len(met)


def within(pair: Pair) -> bool:
    """Whether a pair is within the bounds of the walk."""
    return sum(state.attempts for state in pair) <= CLAIMS and all(max(counters(state)) <= 3 for state in pair)


def listed_pairs() -> Iterator[Pair]:
    """The pairs of the layer's native worlds, as its trials begin."""
    layer = Exhaustive(0)
    worlds, transitions = layer.counts()["two jobs by the native verbs"]
    for at in range(worlds):
        start = layer.trial(at * (transitions // worlds)).start
        yield state_of(start, JOBS[0]), state_of(start, JOBS[1])


def neighbours(pair: Pair) -> Iterator[Pair]:
    """Where one call about either job, or about both, and the passing of time lead."""
    first, second = pair
    yield lapsed(first), second
    yield first, lapsed(second)
    yield restarted(first), restarted(second)
    for older in (0, 1_000):
        start = together(pair, older=older)
        for verb, values in joint_calls(pair):
            reached = start.copy()
            reply = native(reached, QUEUE, verb, values)
            if not isinstance(reply, Unsupported) and reached.keys != start.keys:
                yield state_of(reached, JOBS[0]), state_of(reached, JOBS[1])


def joint_calls(pair: Pair) -> Iterator[tuple[str, Values]]:
    """Each job's own token, for a wrong one is refused; the calls about the queue for one job and for all."""
    tokens = [b"%d" % state.attempts for state in pair]
    for job, token in zip(JOBS, tokens, strict=False):
        yield "enqueue", {"id": job, "payload": PAYLOAD}
        yield "schedule", {"id": job, "payload": PAYLOAD, "mode": b"in", "value": b"30000"}
        yield "reprocess", {"id": job}
        yield from presenting(job, token)
    yield from about_queue()
    yield "promote", {"batch": b"1"}
    yield "stalled_check", {"max_stalled": b"2", "limit": b"1"}
    yield "extends", {"lease_ms": b"30000", "pairs": list(zip(JOBS, tokens, strict=False))}


# ---------------------------------------------------------------- sound or not


def unsound(state: State) -> str:
    """Why one state is not sound; empty when it is."""
    if state.row is None:
        return "ghost" if state.places else ""
    if len(state.places) != 1:
        return "in several sets" if state.places else "in no set"
    held = {"pending": b"pending", "active": b"active", "schedule": b"scheduled", "dead": b"dead"}
    if held[state.places[0][0].decode()] != field(state, b"state"):
        return "state is not its set"
    return "" if field(state, b"payload") == PAYLOAD else "payload"


def test_native_states_are_sound() -> None:
    """Each has its row in just the set that its state names, and the payload that it came with."""
    assert [] == [(state, why) for state in native_states() if (why := unsound(state))]


def test_states_of_scripts_that_are_used_rightly_are_sound() -> None:
    """Workers who keep to their leases break nothing."""
    assert [] == [(state, why) for state in scripted_states() if (why := unsound(state))]


def test_wild_scripted_states_are_broken_in_every_way() -> None:
    """Ghosts, rows in several sets and in none, rows that nobody enqueued."""
    assert {"", "ghost", "in several sets", "in no set", "payload", "state is not its set"} >= {
        unsound(state) for state in wild_states()
    }
    for why in ("ghost", "in several sets"):
        assert [state for state in wild_states() if unsound(state) == why], why
    assert [state for state in wild_states() if state.row is not None and field(state, b"payload") is None]


def test_no_native_call_breaks_an_invariant() -> None:
    """On every state of one job, whatever token is presented."""
    assert set() == set(broken_by(native, native_states()))


def test_scripted_calls_break_what_the_course_says_they_do() -> None:
    """From the states of sound use two sets and ghosts, and from those that come of them rows out of nothing."""
    assert {"no-ghost", "one-set"} == {code for code, _ in broken_by(scripted, scripted_states())}
    assert {"balance", "no-ghost", "one-set"} <= {code for code, _ in broken_by(scripted, wild_states()[:400])}


def broken_by(voice: Voice, states: tuple[State, ...]) -> Iterator[tuple[str, str]]:
    """The invariants that one call breaks from these states, each with its verb."""
    for state in states:
        start = together([state])
        for verb, values in steps(JOBS[:1]):
            after = start.copy()
            reply = voice(after, QUEUE, verb, values)
            for code in broken(verb, reply, start.keys, after.keys):
                yield code, verb
