"""Shrinking: what is left of a finding shows it, and nothing smaller does."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from emqlab.parity.defects.hunt import Mixed, hunted
from emqlab.parity.defects.plants import planted
from emqlab.parity.ground import Ground, layer_of
from emqlab.parity.model import Held, World, Zset
from emqlab.parity.rig import Rig
from emqlab.parity.shrink import shrunk
from emqlab.parity.trials.states import JOBS, PAYLOAD
from emqlab.parity.trials.trial import EPOCHS, NOW_MS, Do, Restart, Step, Trial, Wait, world
from emqlab.parity.verdict import Verdict, judge

JOB, OTHER, THIRD = JOBS
SWEEP = Do("stalled_check", {"max_stalled": b"2", "limit": b"100"})
CLAIM = Do("claim", {"lease_ms": b"30000"})


def smaller(trial: Trial) -> Iterator[Trial]:
    """Every trial with one step, key, field, member or item less; at least one transition stays."""
    for place in range(len(trial.steps)):
        left = trial.steps[:place] + trial.steps[place + 1 :]
        if any(isinstance(step, Do) for step in left):
            yield replace(trial, steps=left)
    held = trial.start.keys
    for name, value in held.items():
        for part in less(value):
            yield beginning(trial, {**held, name: part})
        yield beginning(trial, {other: part for other, part in held.items() if other != name})


def less(value: Held) -> Iterator[Held]:
    """The same with one thing less, as long as anything is left; a string is one thing."""
    if isinstance(value, bytes) or len(value) == 1:
        return
    if isinstance(value, list):
        yield from (value[:place] + value[place + 1 :] for place in range(len(value)))
    elif isinstance(value, set):
        yield from (value - {item} for item in value)
    elif isinstance(value, Zset):
        yield from (Zset({member: score for member, score in value.items() if member != gone}) for gone in value)
    else:
        yield from ({name: text for name, text in value.items() if name != gone} for gone in value)


def beginning(trial: Trial, held: dict[bytes, Held]) -> Trial:
    """The same trial from other keys."""
    return replace(trial, start=World(held, trial.start.now_ms, trial.start.run_id))


def assert_smallest(rig: Rig, trial: Trial, verdict: Verdict) -> None:
    """It is not as declared, and every trial with one thing less is, or shows a divergence that this one does not."""
    assert verdict.complaints
    assert judge(rig.run([trial])[0]).complaints == verdict.complaints
    for one in smaller(trial):
        found = judge(rig.run([one])[0])
        assert () == found.complaints or not found.numbers <= verdict.numbers, (one.start.keys, one.steps)


@pytest.mark.parametrize(
    "name",
    [
        "complete-keeps-the-row",
        "promote-leaves-the-schedule-entry-in-lua",
        "sweep-off-by-one-cap-in-python",
        "fail-loses-the-last-error-in-python",
    ],
)
def test_a_planted_defect_s_finding_becomes_smallest(name: str) -> None:
    """Found by a hunt; what is left of it still shows the defect, and every smaller trial shows nothing."""
    ground = Ground("embedded", planted(name))
    try:
        found = hunted(ground.rig, Mixed(3))
        assert found.trial is not None
        trial, verdict = shrunk(ground.rig, found.trial)
        assert_smallest(ground.rig, trial, verdict)
        assert sum(map(len, trial.start.keys.values())) <= sum(map(len, found.trial.start.keys.values()))
        assert verdict.trial is trial
    finally:
        ground.close()


@pytest.fixture
def sweeping() -> Iterator[Rig]:
    """A rig whose native sweep kills a job one stall too late."""
    ground = Ground("embedded", planted("sweep-off-by-one-cap-in-python"))
    yield ground.rig
    ground.close()


def cluttered(*steps: Step) -> Trial:
    """A lease of a job that has stalled before, and what is beside the point: another, a dead letter, a lane."""
    leased = {b"state": b"active", b"attempts": b"2", b"payload": PAYLOAD, b"lease_epoch": EPOCHS[0]}
    held: dict[bytes, Held] = {
        b"job:" + JOB: {**leased, b"stalled": b"1", b"last_error": b"boom"},
        b"job:" + OTHER: dict(leased),
        b"job:" + THIRD: {b"state": b"dead", b"attempts": b"1", b"payload": PAYLOAD},
        b"active": Zset({JOB: NOW_MS + 9_000.0, OTHER: NOW_MS + 90_000.0}),
        b"dead": Zset({THIRD: 0.0}),
        b"metrics:completed": {b"count": b"4"},
        b"ring": [b"g", b"h"],
        b"paused": {b"g", b"h"},
        b"wake": [b"1"],
    }
    return Trial("hand-made", 0, 0, world(held), steps)


def test_steps_keys_fields_members_and_items_go(sweeping: Rig) -> None:
    """What is left is the wait, the sweep, and the one row and lease that the defect is about."""
    trial, verdict = shrunk(sweeping, cluttered(CLAIM, Wait(10_000), Do("promote", {"batch": b"9"}), SWEEP, CLAIM))
    assert (Wait(10_000), SWEEP) == trial.steps
    assert [b"active", b"job:" + JOB] == sorted(name.removeprefix(b"emq:{q}:") for name in trial.start.keys)
    assert 2 == len(trial.start.keys[b"emq:{q}:job:" + JOB])
    assert 1 == len(trial.start.keys[b"emq:{q}:active"])
    assert_smallest(sweeping, trial, verdict)


def test_the_only_transition_stays(sweeping: Rig) -> None:
    """A wait or a restart by itself shows nothing, and is not tried."""
    trial, verdict = shrunk(sweeping, cluttered(Wait(10_000), SWEEP))
    assert (Wait(10_000), SWEEP) == trial.steps
    assert verdict.complaints


def test_a_history_becomes_short(sweeping: Rig) -> None:
    """A finding in twenty steps is told in those that it takes, and no step of them can go."""
    layer = layer_of("histories", 0)
    ran = (
        ran for start in range(0, 2_000, 100) for ran in sweeping.run([layer.trial(start + at) for at in range(100)])
    )
    found = next(made.trial for made in ran if judge(made).complaints)
    trial, verdict = shrunk(sweeping, found)
    assert len(trial.steps) < len(found.steps) // 2
    assert_smallest(sweeping, trial, verdict)


def test_no_divergence_is_shown_that_the_finding_did_not_show() -> None:
    """Or the difference would be hidden behind a declared one from whoever runs the smallest case."""
    ground = Ground("embedded", planted("complete-forgets-the-metric-in-lua"))
    try:
        trial = cluttered(Do("complete", {"id": JOB, "token": b"2"}))
        assert frozenset() == judge(ground.rig.run([trial])[0]).numbers
        _, verdict = shrunk(ground.rig, trial)
        assert (True, frozenset()) == (bool(verdict.complaints), verdict.numbers)
    finally:
        ground.close()


def test_a_trial_that_is_as_declared_stays_as_it_is(sweeping: Rig) -> None:
    """There is nothing to be made smaller."""
    trial = cluttered(Restart(), CLAIM)
    kept, verdict = shrunk(sweeping, trial)
    assert (trial, ()) == (kept, verdict.complaints)


def test_what_is_shrunk_is_not_changed(sweeping: Rig) -> None:
    """The finding may be told as it was found."""
    trial = cluttered(Wait(10_000), CLAIM, SWEEP)
    before = repr((trial.start.keys, trial.steps))
    shrunk(sweeping, trial)
    assert before == repr((trial.start.keys, trial.steps))
