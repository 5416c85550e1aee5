"""The invariants: each is broken by one hand-made step, and by no step of a sound queue."""

from collections.abc import Mapping
from random import Random

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.parity.invariants import HAZARDS, INVARIANTS, KNOWN, broken, known
from emqlab.parity.model import Held, Zset, native
from emqlab.parity.rig import Outcome, Ran
from emqlab.parity.trials.layers import LAYERS, Corrupted, Exhaustive, Histories, ThreeJobs
from emqlab.parity.trials.states import JOBS, PAYLOAD
from emqlab.parity.trials.trial import BASE, EPOCHS, NOW_MS, QUEUE, Do, Restart, Trial, Wait, world
from emqlab.parity.verdict import judge, told

JOB, OTHER = (job.decode() for job in JOBS[:2])
#: What stands in a set, by its name; a row's fields, by its id; a counter, by its name.
Queue = dict[str, Held]


def row(state: str = "pending", attempts: str = "1", payload: str = "tea", **more: str) -> dict[bytes, bytes]:
    """A row's fields."""
    fields = {"state": state, "attempts": attempts, "payload": payload, **more}
    return {name.encode(): value.encode() for name, value in fields.items()}


def among(*jobs: str, score: float = 0.0) -> Zset:
    """A sorted set of these ids."""
    return Zset({job.encode(): score for job in jobs})


def queue(held: Mapping[str, Held]) -> dict[bytes, Held]:
    """Full key names: an id stands for its row."""
    return {
        BASE + (b"job:" + name.encode() if name in (JOB, OTHER) else name.encode()): part for name, part in held.items()
    }


WAITING: Queue = {JOB: row(attempts="0"), "pending": among(JOB)}
LEASED: Queue = {JOB: row("active"), "active": among(JOB, score=NOW_MS + 30_000.0)}
COUNTED: Queue = {"metrics:completed": {b"count": b"4"}}
ONE_MORE: Queue = {"metrics:completed": {b"count": b"5"}}

IN_LANE: Queue = {JOB: row(attempts="0", group="g"), "g:g:pending": among(JOB)}
LANED: Queue = {JOB: row("active", group="g"), "active": among(JOB, score=NOW_MS + 1.0), "gactive": {b"g": b"1"}}
#: A parent that waits for one child.
FLOW: Queue = {JOB: row("awaiting_children", "0"), f"job:{JOB}:dependencies": b"1",
               OTHER: row(attempts="0", parent=JOB), "pending": among(OTHER)}  # fmt: skip
DONE: Queue = {"metrics:completed": {b"count": b"1"}}

#: What is wrong -> the invariants that it breaks, the verb, its reply, the queue before and after.
BREAKS: dict[str, tuple[set[str], str, object, Queue, Queue]] = {
    "the id stays in pending": ({"one-set"}, "claim", [JOB, "tea", 1], WAITING, {**LEASED, "pending": among(JOB)}),
    "the id goes nowhere": ({"one-set"}, "requeue", 1, LEASED, {JOB: row()}),
    "a row in no set": ({"one-set"}, "enqueue", 1, {}, {JOB: row(attempts="0")}),
    "the second job's": (
        {"one-set"}, "promote", 1,
        {**WAITING, OTHER: row("scheduled"), "schedule": among(OTHER, score=1.0)},
        {**WAITING, OTHER: row(), "schedule": among(OTHER, score=1.0), "pending": among(JOB, OTHER)},
    ),
    "the row goes, the id stays": ({"no-ghost"}, "complete", 1, {**LEASED, **COUNTED},
                                   {"active": LEASED["active"], **ONE_MORE}),
    "an id out of nothing": ({"no-ghost"}, "promote", 1, {}, {"pending": among(JOB)}),
    "attempts is reset": ({"attempts"}, "fail", b"scheduled", LEASED,
                          {JOB: row("scheduled", attempts="0"), "schedule": among(JOB, score=1.0)}),
    "attempts is lost": ({"attempts"}, "extend", 1, LEASED, {**LEASED, JOB: {b"state": b"active", b"payload": b"tea"}}),
    "attempts is no number": ({"attempts"}, "extend", 1, LEASED, {**LEASED, JOB: row("active", attempts="one")}),
    "another payload": ({"payload"}, "requeue", 1, LEASED, {JOB: row(payload="Tea"), "pending": among(JOB)}),
    "no payload": ({"payload"}, "extend", 1, LEASED, {**LEASED, JOB: {b"state": b"active", b"attempts": b"1"}}),
    "an empty payload is none": ({"payload"}, "extend", 1, {**LEASED, JOB: row("active", payload="")},
                                 {**LEASED, JOB: {b"state": b"active", b"attempts": b"1"}}),
    "enqueue says 1 and adds none": ({"balance"}, "enqueue", 1, WAITING, {**WAITING, JOB: row(attempts="0", a="b")}),
    "enqueue says 0 and adds one": ({"balance"}, "enqueue", 0, {}, WAITING),
    "a sweep adds a job": ({"balance"}, "stalled_check", [[], []], {}, WAITING),
    "a job is gone": ({"balance"}, "fail", b"dead", LEASED, {}),
    "complete says 0 and removes one": ({"balance"}, "complete", 0, {**LEASED, **COUNTED}, {**COUNTED}),
    "complete counts none": ({"balance"}, "complete", 1, {**LEASED, **COUNTED}, {**COUNTED}),
    "complete counts two": ({"balance"}, "complete", 1, {**LEASED, **COUNTED}, {"metrics:completed": {b"count": b"6"}}),
    "complete begins to count at two": ({"balance"}, "complete", 1, LEASED, {"metrics:completed": {b"count": b"2"}}),
    "complete counts and says 0": ({"balance"}, "complete", 0, {**LEASED, **COUNTED}, {**LEASED, **ONE_MORE}),
    "somebody else counts": ({"balance"}, "claim", [], {**LEASED, **COUNTED}, {**LEASED, **ONE_MORE}),
    "the counter is lost": ({"balance"}, "claim", [], {**LEASED, **COUNTED}, LEASED),
    "a job in pending and in its lane": ({"one-set"}, "reap", 1, IN_LANE, {**IN_LANE, "pending": among(JOB)}),
    "a parent that waits stands in line": ({"one-set"}, "flow_add", 1, {}, {**FLOW, "pending": among(JOB, OTHER)}),
    "a flow that says 0": ({"balance"}, "flow_add", 0, {}, FLOW),
    "a lane's claim that takes no slot": ({"slots"}, "lane_claim", [JOB, "tea", 1, "g"], IN_LANE,
                                          {JOB: LANED[JOB], "active": LANED["active"]}),
    "a slot that is kept": ({"slots"}, "reap", 1, LANED,
                            {**IN_LANE, JOB: row(group="g"), "gactive": {b"g": b"1"}}),
    "a slot of nobody": ({"slots"}, "lane_claim", [], {}, {"gactive": {b"h": b"1"}}),
    "a child too many": ({"children"}, "flow_add", 1, {}, {**FLOW, f"job:{JOB}:dependencies": b"2"}),
    "a child's death that nobody is told": ({"children"}, "stalled_check", [[], [OTHER]], FLOW,
                                            {**FLOW, OTHER: row("dead", parent=JOB), "pending": among(),
                                             "dead": among(OTHER)}),
    "two at once": ({"attempts", "payload"}, "extend", 1, LEASED, {**LEASED, JOB: row("active", "0", "Tea")}),
}  # fmt: skip

#: What is sound -> the verb, its reply, the queue before and after.
SOUND: dict[str, tuple[str, object, Queue, Queue]] = {
    "enqueue": ("enqueue", 1, {}, WAITING),
    "schedule": ("schedule", 1, {}, {JOB: row("scheduled", "0"), "schedule": among(JOB, score=NOW_MS + 1.0)}),
    "a duplicate": ("enqueue", 0, WAITING, WAITING),
    "claim": ("claim", [JOB, "tea", 1], WAITING, LEASED),
    "the first complete": ("complete", 1, LEASED, {"metrics:completed": {b"count": b"1"}}),
    "a later complete": ("complete", 1, {**LEASED, **COUNTED}, ONE_MORE),
    "a dead letter": ("fail", b"dead", LEASED, {JOB: row("dead"), "dead": among(JOB),
                                                "metrics:failed": {b"count": b"1"}}),
    "a ghost that was there is cleared": ("stalled_check", [[], []], {"active": among(JOB)}, {}),
    "a ghost that was there moves": ("promote", 0, {"schedule": among(JOB)}, {"pending": among(JOB)}),
    "a row in two sets already": ("extend", 1, {**LEASED, "dead": among(JOB)}, {**LEASED, "dead": among(JOB),
                                                                               "active": among(JOB, score=1.0)}),
    "a counter that held no number": ("complete", 1, {**LEASED, "metrics:completed": {b"count": b"many"}},
                                      {"metrics:completed": {b"count": b"many"}}),
    "a job of a lane": ("lane_enqueue", 1, {}, {JOB: row(group="g"), "g:g:pending": among(JOB)}),
    "a flow": ("flow_add", 1, {}, FLOW),
    "a child's end": ("complete", 1, FLOW, {JOB: row(attempts="0"), "pending": among(JOB), **DONE,
                                            f"job:{JOB}:dependencies": b"0"}),
    "a lane's claim": ("lane_claim", [JOB, "tea", 1, "g"], IN_LANE, LANED),
    "slots that were wrong": ("lane_claim", [JOB, "tea", 1, "g"], {**IN_LANE, "gactive": {b"g": b"4"}},
                              {**LANED, "gactive": {b"g": b"5"}}),
}  # fmt: skip


def test_every_invariant_is_named_in_words() -> None:
    """Eight of them, a short phrase each; each but the last is broken below, that by a verdict."""
    assert 8 == len(INVARIANTS)
    assert set(INVARIANTS) == {code for codes, *_ in BREAKS.values() for code in codes} | {"no-ttl"}
    for words in INVARIANTS.values():
        assert " " in words
        assert not words.endswith(".")


@pytest.mark.parametrize("what", BREAKS)
def test_a_step_breaks_just_this(what: str) -> None:
    """Told by its code, and nothing else with it."""
    codes, verb, reply, before, after = BREAKS[what]
    assert codes == set(broken(verb, reply, queue(before), queue(after)))


@pytest.mark.parametrize("what", SOUND)
def test_a_sound_step_breaks_nothing(what: str) -> None:
    """Nor does one that leaves something as broken as it was."""
    verb, reply, before, after = SOUND[what]
    assert [] == list(broken(verb, reply, queue(before), queue(after)))


def test_a_time_to_live_is_the_last() -> None:
    """Any key that would expire, on either executor, breaks no-ttl, and is a complaint."""
    values: dict[str, bytes] = {"id": JOBS[0], "payload": PAYLOAD}
    trial = Trial("hand-made", 0, 0, world({}), (Do("enqueue", values),))
    for which in ("scripted", "native"):
        outcomes = {
            name: Outcome((1,), told(trial, name).keys, frozenset({BASE + b"pending"} if name == which else ()))
            for name in ("scripted", "native")
        }
        verdict = judge(Ran(trial, outcomes, 0))
        assert ((which, "no-ttl", "enqueue"),) == verdict.violations
        assert 1 == len(verdict.complaints)
        assert verdict.complaints[0].startswith(f"{which}: ")


def test_nothing_that_the_verbs_do_to_sound_queues_breaks_any() -> None:
    """Two and three jobs side by side, and whole histories with restarts, from an empty queue."""
    small, histories, three = Exhaustive(1), Histories(1), ThreeJobs(1)
    native_worlds = small.counts()["two jobs by the native verbs"][1]
    drawn = Random("invariants")
    trials = [small.trial(drawn.randrange(native_worlds)) for _ in range(1_500)]
    trials += [three.trial(index) for index in range(500)] + [histories.trial(index) for index in range(1, 400, 4)]
    steps = 0
    for trial in trials:
        now, epoch = trial.start.copy(), 0
        for step in trial.steps:
            if isinstance(step, Wait):
                now.now_ms += step.ms
            elif isinstance(step, Restart):
                epoch += 1
                now.run_id = EPOCHS[epoch]
            else:
                before = now.copy().keys
                reply = native(now, QUEUE, step.verb, step.values)
                assert [] == list(broken(step.verb, reply, before, now.keys)), trial.name
                steps += 1
    assert steps > len(trials)


def test_what_the_scripts_break_is_known_and_all_that_is_known_is_broken() -> None:
    """By the model, over trials of all layers: no more than is listed, and all of it but for the rarest."""
    seen: set[tuple[str, str]] = set()
    for name, count in (("exhaustive", 6_000), ("corruption", 12_000), ("histories", 300), ("three-jobs", 1_000)):
        layer = LAYERS[name].make(0)
        indices = [layer.index_at(place) for place in range(count)]
        indices += layer.bound[::11] if isinstance(layer, Exhaustive | Corrupted) else []
        for trial in map(layer.trial, indices):
            if trial.laid_out:
                continue
            says = told(trial, "scripted")
            done = [step.verb for step in trial.steps if isinstance(step, Do)]
            for verb, reply, before, after in zip(done, says.replies, says.before, says.after, strict=True):
                seen.update((code, verb) for code in broken(verb, reply, before, after))
    assert set() == seen - set(KNOWN) - set(HAZARDS)
    rare = {(code, verb) for code in ("one-set", "balance") for verb in ("enqueue", "schedule", "reprocess")}
    assert set(KNOWN) - rare <= seen


def test_a_native_verb_is_known_to_break_what_a_hazard_says_and_no_more() -> None:
    """And each of the scripts' is known by a declared divergence."""
    assert set(KNOWN.values()) <= set(DIVERGENCES)
    assert {"slots", "children"} == {code for code, _ in HAZARDS}
    for code, verb in HAZARDS:
        assert (True, True) == (known("scripted", code, verb), known("native", code, verb))
    for code, verb in KNOWN:
        assert (True, False) == (known("scripted", code, verb), known("native", code, verb))
    assert not known("scripted", "payload", "claim")
