"""The layers: numbered trials that a seed shuffles, and that the same number makes again."""

import json
import re
from collections import Counter
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import pytest

from emqlab.observe.case_reader import parse_case
from emqlab.parity.model import World
from emqlab.parity.rig import BATCH
from emqlab.parity.trials import corruptions
from emqlab.parity.trials.calls import edge_calls, odd_calls, usual_calls
from emqlab.parity.trials.corrupted import AIMED
from emqlab.parity.trials.histories import LENGTH
from emqlab.parity.trials.layers import LAYERS, Corrupted, Exhaustive, Histories, Layer, shuffled
from emqlab.parity.trials.states import JOBS, native_states, scripted_states, together
from emqlab.parity.trials.trial import EDGES, EPOCHS, Do, Restart, Step, Trial, Wait, case_json
from emqlab.transitions import LANES_AND_FLOWS, PLAIN, TRANSITIONS

#: How many are drawn by chance.
SOME = 400

each_layer = pytest.mark.parametrize("name", LAYERS)


def some(layer: Layer, count: int = SOME) -> list[Trial]:
    """The trials that are run first."""
    return [layer.trial(layer.index_at(place)) for place in range(count)]


def made(trial: Trial) -> tuple[Any, ...]:
    """What a trial is, to be compared: a world has no equal but itself."""
    start = trial.start
    return trial.name, start.keys, start.now_ms, start.run_id, trial.steps


# ---------------------------------------------------------------- the order


@pytest.mark.parametrize("size", [*range(1, 18), 63, 64, 65, 255, 256, 257, 1_000, 4_097])
def test_shuffling_is_a_permutation(size: int) -> None:
    """Every number once, whatever the seed, also at the edges of the powers of four."""
    for seed in (0, 1, 2**63 - 1):
        assert list(range(size)) == sorted(shuffled(place, size, seed) for place in range(size))


def test_the_seed_makes_the_order() -> None:
    """The same again by the same seed, another by another; none leaves the numbers as they were."""
    orders = [[shuffled(place, 1_000, seed) for place in range(1_000)] for seed in (0, 0, 1, 2)]
    assert orders[0] == orders[1]
    assert 3 == len({tuple(order) for order in orders})
    assert list(range(1_000)) not in orders


def test_the_beginning_of_a_shuffled_layer_is_a_sample_of_it() -> None:
    """Among the first thousand of a million, each tenth of the numbers has about its share."""
    tenths = Counter(shuffled(place, 1_000_000, 0) // 100_000 for place in range(1_000))
    assert (10, True) == (len(tenths), min(tenths.values()) > 60)


@each_layer
def test_another_seed_runs_other_trials_first(name: str) -> None:
    """Where the trials are the same ones, in another order; where they are drawn, others."""
    one, other = ([made(trial)[1:] for trial in some(LAYERS[name].make(seed), 50)] for seed in (0, 1))
    assert one != other


# ---------------------------------------------------------------- numbers


@each_layer
def test_a_number_and_a_seed_make_the_trial_again(name: str) -> None:
    """Also in a layer that has made no other before, and with the last first."""
    first = [made(trial) for trial in some(LAYERS[name].make(7), 60)]
    again = LAYERS[name].make(7)
    last_first = [made(again.trial(again.index_at(place))) for place in reversed(range(60))]
    assert first == last_first[::-1]


@each_layer
def test_a_trial_is_named_for_what_makes_it_again(name: str) -> None:
    """Layer, seed and number, of which it is one."""
    layer = LAYERS[name].make(7)
    index = layer.index_at(11)
    assert f"{name}/7/{index}" == layer.trial(index).name
    assert (name, 7, index) == (layer.trial(index).layer, layer.trial(index).seed, layer.trial(index).index)


@pytest.mark.parametrize("name", ["exhaustive", "corruption"])
def test_a_number_out_of_range_is_an_index_error(name: str) -> None:
    """The last is the size less one; the sentence says so."""
    layer = LAYERS[name].make(0)
    assert layer.size is not None
    layer.trial(0)
    layer.trial(layer.size - 1)
    for index in (-1, layer.size, 2**62):
        with pytest.raises(IndexError, match=re.escape(f"{name} has the trials 0 to {layer.size - 1}, not {index}")):
            layer.trial(index)


@pytest.mark.parametrize("name", ["histories", "three-jobs"])
def test_a_layer_without_an_end_has_no_last_trial(name: str) -> None:
    """Any number from 0 on makes one; a negative one is an IndexError that names no last."""
    layer = LAYERS[name].make(0)
    assert layer.size is None
    layer.trial(2**62)
    with pytest.raises(IndexError) as told:
        layer.trial(-1)
    assert "to -1" not in str(told.value)


# ---------------------------------------------------------------- what is tried


@each_layer
def test_every_trial_is_a_case(name: str) -> None:
    """As JSON it is what a case file may hold."""
    for trial in some(LAYERS[name].make(3), 150):
        case = parse_case(json.loads(json.dumps(case_json(trial))))
        assert (trial.name, len(trial.steps)) == (case.name, len(case.when))


@each_layer
def test_every_verb_is_tried_by_every_layer(name: str) -> None:
    """All transitions and the pause; resume may be left to the histories, lanes and flows by three flat jobs."""
    layer = LAYERS[name].make(0)
    last = [layer.trial(index) for index in layer.bound[::97]] if isinstance(layer, Exhaustive | Corrupted) else []
    tried = {step.verb for trial in (*some(layer, 1_500), *last) for step in trial.steps if isinstance(step, Do)}
    left_out = {"resume", *(LANES_AND_FLOWS if name == "three-jobs" else ())}
    assert {*TRANSITIONS, *PLAIN} - tried <= (set() if name == "histories" else left_out)
    assert tried <= {*TRANSITIONS, *PLAIN}


def test_every_call_is_tried_on_every_world_of_the_small_one() -> None:
    """A world's trials stand side by side, begin alike, and are different calls; right and wrong tokens among them."""
    layer = Exhaustive(0)
    (_, _), (scripted, transitions), *_ = layer.counts().values()
    two = transitions // scripted
    for at in (0, 1, 7_000, 15_708, 19_000):
        trials = [layer.trial(at * two + call) for call in range(two)]
        assert 1 == len({repr(sorted(trial.start.keys.items())) for trial in trials})
        calls = [step for trial in trials for step in trial.steps]
        assert two == len({repr(call) for call in calls})
        tokens = {call.values["token"] for call in calls if isinstance(call, Do) and call.values.get("id") == JOBS[0]
                  and "token" in call.values}  # fmt: skip
        assert {b"0", b"1", b"2", b"3", b"4"} == tokens


def test_the_worlds_of_the_exhaustive_layer_are_all_different() -> None:
    """No world of two jobs is listed twice for either executor."""
    layer = Exhaustive(0)
    worlds = 0
    for what, (count, transitions) in layer.counts().items():
        calls = transitions // count
        first = 0 if what.endswith("native verbs") else worlds * calls
        if what.startswith("two jobs by"):
            starts = {repr(sorted(layer.trial(first + at * calls).start.keys.items())) for at in range(count)}
            # A pair's times are told apart by their sign, and of two in the past by which is older.
            assert count == len(starts), what
        worlds += count


# ---------------------------------------------------------------- histories


def test_the_histories_of_a_batch_share_their_world_steps() -> None:
    """The same waits and restarts at the same places, so that they can be run together; their calls are their own."""
    layer = Histories(0)
    plans: list[tuple[Step | None, ...]] = []
    for batch in range(6):
        indices = (batch * BATCH, batch * BATCH + 1, batch * BATCH + 77, (batch + 1) * BATCH - 1)
        trials = [layer.trial(index) for index in indices]
        plan = {tuple(None if isinstance(step, Do) else step for step in trial.steps) for trial in trials}
        assert (1, len(trials)) == (len(plan), len({repr(trial.steps) for trial in trials}))
        plans += plan
    assert len(set(plans)) > 1


def test_a_history_has_twenty_steps_and_as_many_epochs_as_there_are() -> None:
    """From an empty queue, but for a quarter; waits and restarts occur in some batches."""
    seen: Counter[type] = Counter()
    for batch in range(12):
        trial = Histories(5).trial(batch * BATCH)
        assert (LENGTH, {}) == (len(trial.steps), trial.start.keys)
        kinds = Counter(type(step) for step in trial.steps)
        assert kinds[Restart] < len(EPOCHS)
        seen.update(kinds)
    assert min(seen[Do], seen[Wait], seen[Restart]) > 0


# ---------------------------------------------------------------- corruptions


def test_there_are_more_than_forty_corruptions_each_by_its_name() -> None:
    """Of rows, sets, counters, lanes and the fence."""
    names = [corruption.name for corruption in corruptions.CORRUPTIONS]
    assert len(names) == len(set(names))
    assert len(names) > 40
    assert len({corruption.family for corruption in corruptions.CORRUPTIONS}) > 20


@cache
def sound_worlds() -> list[tuple[World, World]]:
    """The worlds of one job, and a copy of each."""
    worlds = [together([state]) for state in dict.fromkeys((*native_states(), *scripted_states()))]
    return [(sound, sound.copy()) for sound in worlds]


@pytest.mark.parametrize("corruption", corruptions.CORRUPTIONS, ids=lambda corruption: str(corruption.name))
def test_a_corruption_changes_something_wherever_it_can_be(corruption: corruptions.Corruption) -> None:
    """In a copy: the sound world stays what it was. Each can be in some state, and only ``nothing`` changes nothing."""
    applied = 0
    for sound, before in sound_worlds():
        found = corruptions.applied(corruption, sound)
        assert before.keys == sound.keys
        if found is not None:
            applied += 1
            assert (corruption.name == "nothing") == (found.keys == sound.keys), before.keys
            assert not [name for name, held in found.keys.items() if held in ({}, [], set())]
    assert applied > 0


def test_every_state_is_corrupted_and_every_corruption_is_run() -> None:
    """A corrupted world has each usual call once; then come odd calls on sound worlds, and what is wrong together."""
    layer = Corrupted(0)
    first, *in_the_call = layer.parts
    usual = len(list(usual_calls(together([native_states()[1]]))))
    assert layer.together.start == first + sum(in_the_call)
    assert layer.bound.start == layer.together.stop + AIMED
    assert layer.size == layer.bound.stop
    assert 0 == first % usual
    calls = [layer.trial(17 * usual + call) for call in range(usual)]
    assert 1 == len({repr(sorted(trial.start.keys.items())) for trial in calls})
    assert usual == len({repr(trial.steps) for trial in calls})
    applicable = sum(
        corruptions.applied(corruption, sound) is not None
        for sound, _ in sound_worlds()
        for corruption in corruptions.CORRUPTIONS
    )
    assert applicable == first // usual


def test_what_is_wrong_together_is_listed_and_then_aimed() -> None:
    """All under the layer's own name and number; the aimed ones are of each verb in turn, and the seed's own."""
    layer, other = Corrupted(0), Corrupted(1)
    listed = [layer.trial(index) for index in layer.together[::50]]
    assert {"corruption"} == {trial.layer for trial in listed}
    assert [made(trial)[1:] for trial in listed] == [made(other.trial(trial.index))[1:] for trial in listed]
    last = layer.together.stop
    aimed = [layer.trial(index) for index in range(last, last + 10 * len(TRANSITIONS))]
    assert list(TRANSITIONS) * 10 == [trial.verb for trial in aimed]
    assert [f"corruption/0/{last + place}" for place in range(len(aimed))] == [trial.name for trial in aimed]
    assert [made(trial)[1:] for trial in aimed] != [made(other.trial(trial.index))[1:] for trial in aimed]
    layer.trial(layer.size - 1)


def test_a_last_time_is_run_alone() -> None:
    """Only where the clock stands at the canonical moment has it room; any other time is not exact."""
    for verb, values in edge_calls(together([native_states()[1]])):
        sooner = {name: b"%d" % (int(EDGES[0]) - 1) if value in EDGES else value for name, value in values.items()}
        for given, exact in ((values, True), (sooner, False)):
            trial = Trial("by hand", 0, 0, together([]), (Do(verb, given),))
            assert (exact, exact) == (trial.exact, trial.alone), (verb, given)


def test_a_drawn_corruption_is_a_trial_of_a_corrupted_world() -> None:
    """By chance, of any kind, and again the same by the same seed."""
    layer = Corrupted(0)
    drawn = [[layer.drawn(random) for _ in range(SOME)] for random in (Random("a"), Random("a"), Random("b"))]
    assert drawn[0] == drawn[1] != drawn[2]
    assert max(map(max, drawn)) < layer.parts[0]
    assert len(set(drawn[0])) > SOME // 2


def test_odd_calls_are_different_calls() -> None:
    """None is tried twice on a world, but for tokens that are odd by being another's."""
    calls = [repr(call) for call in odd_calls(together([native_states()[1]]))]
    twice = [call for call, times in Counter(calls).items() if times > 1]
    assert len(twice) <= 5, list(islice(twice, 6))


# ---------------------------------------------------------------- lanes and flows


def test_half_of_the_histories_have_lanes_and_flows() -> None:
    """Of each four one begins with some; flat ones have no step of theirs."""
    layer = Histories(3)
    trials = [layer.trial(index) for index in range(80)]
    bound = [{step.verb for step in trial.steps if isinstance(step, Do)} & {*LANES_AND_FLOWS} for trial in trials]
    assert (set(), set()) == (set().union(*bound[0::4]), set().union(*bound[1::4]))
    assert [{*LANES_AND_FLOWS}] * 2 == [set().union(*bound[2::4]), set().union(*bound[3::4])]
    assert {False} == {bool(trial.start.keys) for trial in (*trials[0::4], *trials[1::4], *trials[2::4])}
    begun = [name for trial in trials[3::4] for name in trial.start.keys]
    assert {True} == {any(name.endswith(end) for name in begun) for end in (b":dependencies", b"ring", b"gactive")}


def test_lanes_and_flows_are_the_last_trials_of_two_layers() -> None:
    """Every world with every call, then everything that can be wrong; all of them end where the layer ends."""
    small, corrupted = Exhaustive(0), Corrupted(0)
    for layer in (small, corrupted):
        assert layer.size == layer.bound.stop
        trials = [layer.trial(index) for index in layer.bound[::29]]
        bound = [trial for trial in trials if _is_bound(trial)]
        assert len(bound) > 0.9 * len(trials)
    first = small.bound.start + 35
    assert 1 == len({repr(sorted(small.trial(index).start.keys.items())) for index in range(first, first + 35)})


def _is_bound(trial: Trial) -> bool:
    """Whether something of a lane or a flow is in its world or its step."""
    rows = [held for held in trial.start.keys.values() if isinstance(held, dict)]
    keys = any(name.rsplit(b":", 1)[-1] in (b"glimit", b"paused", b"gactive", b"wake") for name in trial.start.keys)
    return keys or trial.verb in LANES_AND_FLOWS or any(b"group" in row or b"parent" in row for row in rows)
