"""The rig: what comes out of a batch of hundreds is what comes out of one trial alone, and of its case by itself."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from emqlab import keys
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.parity.batch import plain
from emqlab.parity.command import judge as held
from emqlab.parity.defects.sources import own_sources
from emqlab.parity.ground import Ground, layer_of
from emqlab.parity.model import Error, Held, Unsupported, Zset
from emqlab.parity.rig import Outcome, Ran, Rig
from emqlab.parity.trials.layers import LAYERS
from emqlab.parity.trials.states import JOBS, PAYLOAD
from emqlab.parity.trials.trial import A_TIME, BASE, EPOCHS, NOW_MS, Do, Restart, Step, Trial, Wait, case_json, world
from emqlab.parity.verdict import judge, told
from emqlab.replies import ErrorReply, NotSent, ask
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.scripted.scripts import script_of

JOB = JOBS[0]
#: How many trials of each layer are run as cases, too; a history is twenty of them.
SAMPLE, HISTORIES = 200, 50
CLAIM = Do("claim", {"lease_ms": b"30000"})
ENQUEUE = Do("enqueue", {"id": JOB, "payload": PAYLOAD})
FOREIGN = b"echomq:2.0.0"

each_layer = pytest.mark.parametrize("name", LAYERS)


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """The embedded server's bench and its rig."""
    made = Ground("embedded")
    yield made
    made.close()


def some(name: str, count: int, seed: int = 11) -> list[Trial]:
    """The trials of a layer that are run first."""
    layer = layer_of(name, seed)
    return [layer.trial(layer.index_at(place)) for place in range(count)]


def trial_of(*steps: Step, held: Mapping[bytes, Held] | None = None) -> Trial:
    """A trial of ours, from an empty queue or from what its keys hold by their names after the base."""
    return Trial("hand-made", 0, 0, world(dict(held or {})), steps)


def outcomes(ran: Ran) -> dict[str, tuple[Any, ...]]:
    """What each executor made of it, and how late."""
    return {side: (made.replies, made.keys, made.expiring, ran.slack_ms) for side, made in ran.outcomes.items()}


# ---------------------------------------------------------------- together, alone, as a case


def assert_alone_as_together(ground: Ground, trials: Sequence[Trial], every: int) -> None:
    """Run all in one batch, and one in so many of them again by itself."""
    batch = ground.rig.run(trials)
    assert [trial.name for trial in trials] == [ran.trial.name for ran in batch]
    for ran in batch[::every]:
        (alone,) = ground.rig.run([ran.trial])
        assert outcomes(ran) == outcomes(alone), ran.trial.name


def seen(run: Run) -> Outcome:
    """A case's run as an outcome, with the canonical times and epochs; its server's clock stood at the beginning."""
    shift = run.now_ms - NOW_MS
    epochs = {epoch.encode(): EPOCHS[place] for place, epoch in enumerate(run.epochs)}
    found: dict[bytes, Held] = {}
    for name, key in run.after.items():
        if not name.startswith(BASE):
            continue
        value: Any = key.value
        if key.type == "zset":
            scores = {member: float(score) for member, score in value}
            value = Zset({member: score - shift if score >= A_TIME else score for member, score in scores.items()})
        elif key.type == "hash":
            value = {name: epochs.get(text, text) if name == b"lease_epoch" else text for name, text in value}
        elif key.type == "set":
            value = set(value)
        found[name] = value
    expiring = frozenset(name for name, key in run.after.items() if name.startswith(BASE) and key.ttl_ms != -1)
    return Outcome(tuple(plain(reply) for reply in run.replies), found, expiring)


def assert_a_case_as_a_trial(ground: Ground, trials: Sequence[Trial]) -> None:
    """Run all in one batch, then each as the case that it is told as, by what ``emqlab run`` runs cases with."""
    for ran in ground.rig.run(trials):
        verdict = judge(ran)
        voices = {side: told(ran.trial, side) for side in ran.outcomes}
        expected = {side: (list(voice.replies), voice.keys) for side, voice in voices.items()}
        case = parse_case(case_json(ran.trial, differs=tuple(sorted(verdict.numbers)), expected=expected))
        runs = [ground.lab.run(case, executor=side, traced=False) for side in ran.outcomes]  # type: ignore[arg-type]
        for run, (side, made) in zip(runs, ran.outcomes.items(), strict=True):
            assert isinstance(run, Run)
            assert made == seen(run), (ran.trial.name, side)
        made_runs = [run for run in runs if isinstance(run, Run)]
        # What only a history's middle shows is not seen in its end, and of a layout only one executor is looked at.
        both = len(made_runs) == 2 and len(ran.trial.steps) == 1
        assert [] == [*verdict.complaints, *held(case, made_runs, both=both)], ran.trial.name


@each_layer
def test_a_trial_in_a_batch_comes_out_as_by_itself(ground: Ground, name: str) -> None:
    """Replies, keys, what would expire: hundreds of queues beside it change nothing."""
    assert_alone_as_together(ground, some(name, 100 if name == "histories" else 300), every=15)


@each_layer
def test_a_trial_comes_out_as_its_case_does(ground: Ground, name: str) -> None:
    """On either executor; ``emqlab run`` finds in it the divergences that are told, and what the model expects."""
    assert_a_case_as_a_trial(ground, some(name, HISTORIES if name == "histories" else SAMPLE))


@pytest.mark.parametrize("version", [b"echomq:2.0.0", b"", [b"echomq:3.0.0"], Zset({b"echomq:3.0.0": 0.0})], ids=repr)
def test_a_trial_with_another_version_comes_out_as_its_case_does(ground: Ground, version: Held) -> None:
    """Also one of another type, which takes the place of the lab's own."""
    waiting: dict[bytes, Held] = {b"job:" + JOB: {b"attempts": b"0"}, b"pending": Zset({JOB: 0.0})}
    assert_a_case_as_a_trial(ground, [trial_of(CLAIM, held={**waiting, keys.VERSION_KEY: version})])


def test_the_order_of_a_batch_is_nobody_s_concern(ground: Ground) -> None:
    """Backwards, every trial comes out as before, and in its own place."""
    trials = some("corruption", 120)
    there, back = ground.rig.run(trials), ground.rig.run(trials[::-1])[::-1]
    assert [outcomes(ran) for ran in there] == [outcomes(ran) for ran in back]


def test_a_trial_twice_in_a_batch_comes_out_twice(ground: Ground) -> None:
    """Each has queues of its own, also when their beginnings are one and the same."""
    one, other = ground.rig.run([trial := trial_of(ENQUEUE, CLAIM), trial])
    assert outcomes(one) == outcomes(other)
    assert (1, [JOB, PAYLOAD, 1]) == one.outcomes["native"].replies


def test_nothing_is_run_of_no_trials(ground: Ground) -> None:
    """An empty batch is an empty answer."""
    assert [] == ground.rig.run([])


def test_one_executor_may_be_looked_at_alone(ground: Ground) -> None:
    """A rig of one runs that one only."""
    executors = ground.lab.bench()[1]
    for side in ("scripted", "native"):
        (ran,) = Rig(ground.server, {side: executors[side]}).run([trial_of(ENQUEUE)])
        assert [side] == list(ran.outcomes)


def test_replies_are_told_as_the_model_tells_them() -> None:
    """A script's own runtime error is ERR alone; what a server adds to an error's text is cut off; also in lists."""
    for model_s, reply in (
        (
            Error(b"ERR"),
            ErrorReply("ERR user_script:3: attempt to compare nil with number script: 0f, on @user_script"),
        ),
        (Error(b"WRONGTYPE Operation"), ErrorReply("WRONGTYPE Operation script: 0f12, on @user_script:3.")),
        (Error(b"EMQSTALE job gone"), ErrorReply("EMQSTALE job gone")),
        (Unsupported("reap"), NotSent("reap")),
        ([b"a", None, [1, Error(b"X y")]], [b"a", None, [1, ErrorReply("X y")]]),
    ):
        assert model_s == plain(reply)


# ---------------------------------------------------------------- what stays


def assert_nothing_stays(ground: Ground) -> None:
    """After trials of all layers, no key but the version, which is the lab's own."""
    for name in LAYERS:
        ground.rig.run(some(name, 40))
        left = ask(ground.server.observer, "KEYS", "*")
        assert set(left) <= {keys.VERSION_KEY}, (name, left)


def test_nothing_stays_behind(ground: Ground) -> None:
    """Not a key of theirs."""
    assert_nothing_stays(ground)


def foreign_version() -> Trial:
    """A trial that changes what all queues share."""
    trial = trial_of(ENQUEUE, CLAIM, held={keys.VERSION_KEY: FOREIGN})
    assert trial.alone
    return trial


def assert_a_foreign_version_is_its_own(ground: Ground) -> None:
    """It stands in the midst of a batch; those before and after it are run under the lab's own version."""
    beside = trial_of(ENQUEUE, CLAIM)
    before, foreign, after = ground.rig.run([beside, foreign_version(), beside])
    assert outcomes(before) == outcomes(after)
    assert (1, [JOB, PAYLOAD, 1]) == before.outcomes["native"].replies
    refused = foreign.outcomes["native"].replies
    assert [b"EMQFENCE"] * 2 == [reply.text.split()[0] for reply in refused]
    # The scripts look at the version when a connection opens, not at every call (divergence 7).
    assert (1, [JOB, PAYLOAD, 1]) == foreign.outcomes["scripted"].replies
    assert {7} == judge(foreign).numbers


def test_a_trial_that_changes_the_version_is_run_alone(ground: Ground) -> None:
    """No other trial of its batch sees it."""
    assert_a_foreign_version_is_its_own(ground)


def test_a_trial_that_changes_the_version_takes_it_away_again(ground: Ground) -> None:
    """Whoever looks at the server then finds the lab's own version, or none yet."""
    ground.rig.run([foreign_version()])
    assert ask(ground.server.observer, "GET", keys.VERSION_KEY) in (None, keys.VERSION)


def assert_the_next_batch_is_fresh(ground: Ground) -> None:
    """After waits and restarts the next batch begins at the first moment and in the first epoch."""
    claimed = trial_of(ENQUEUE, CLAIM)
    (first,) = ground.rig.run([claimed])
    (moved,) = ground.rig.run([trial_of(Wait(60_000), Restart(), ENQUEUE, Restart(), CLAIM, Wait(5))])
    native = moved.outcomes["native"].keys
    assert Zset({JOB: NOW_MS + 90_000.0}) == native[BASE + b"active"]
    assert EPOCHS[2] == lease_epoch(native)
    (again,) = ground.rig.run([claimed])
    assert outcomes(first) == outcomes(again)
    assert EPOCHS[0] == lease_epoch(again.outcomes["native"].keys)
    assert Zset({JOB: NOW_MS + 30_000.0}) == again.outcomes["native"].keys[BASE + b"active"]


def lease_epoch(found: Mapping[bytes, Held]) -> bytes | None:
    """The epoch that is stamped on the job's row."""
    row = found[BASE + b"job:" + JOB]
    assert isinstance(row, dict)
    return row.get(b"lease_epoch")  # type: ignore[return-value]


def test_the_next_batch_has_a_fresh_clock_and_epoch(ground: Ground) -> None:
    """Whatever the one before has waited and restarted."""
    assert_the_next_batch_is_fresh(ground)


def test_a_world_is_never_changed_by_its_run(ground: Ground) -> None:
    """A trial may be run again, and is shown to the model later."""
    lanes: dict[bytes, Held] = {b"ring": [b"g"], b"paused": {b"g"}, b"wake": b"x"}
    trials = [*some("corruption", 200), trial_of(CLAIM, held=lanes)]
    before = [repr(trial.start.keys) for trial in trials]
    ground.rig.run(trials)
    assert before == [repr(trial.start.keys) for trial in trials]


@pytest.mark.parametrize("held", [{b"meta": b"text"}, {b"ring": [b"b", b"a", b"b"]}, {b"paused": {b"a", b"b"}},
                                  {b"odd": {b"": b"", b"\xff": b"\x00"}},
                                  {b"odd": Zset({b"": float("-inf"), b"a": 0.5, b"\xff": float("inf")})}])  # fmt: skip
def test_every_kind_of_key_is_put_in_and_taken_out_as_it_is(ground: Ground, held: dict[bytes, Held]) -> None:
    """Strings, lists in order, sets, hashes and sorted sets, with empty and odd bytes and scores."""
    pause = Do("resume", {})
    (ran,) = ground.rig.run([trial_of(pause, held=held)])
    for made in ran.outcomes.values():
        assert {BASE + name: part for name, part in held.items()} == made.keys
        assert [type(part) for part in held.values()] == [type(part) for part in made.keys.values()]


# ---------------------------------------------------------------- what must not pass


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Wait(5), Wait(6)),
        (Wait(5), Restart()),
        (Wait(5), ENQUEUE),
        (Restart(), Wait(5)),
        (Restart(), ENQUEUE),
        (ENQUEUE, Restart()),
        (ENQUEUE, Wait(5)),
    ],
    ids=lambda part: getattr(part, "verb", str(part)),
)
def test_a_batch_that_moves_the_world_differently_is_refused(ground: Ground, first: Step, second: Step) -> None:
    """Rather than run something else than was asked for."""
    with pytest.raises(ValueError, match="of a batch"):
        ground.rig.run([trial_of(first, CLAIM), trial_of(second, CLAIM)])


@pytest.mark.parametrize(
    ("first", "second"), [((CLAIM,), (CLAIM, CLAIM)), ((CLAIM, CLAIM), (CLAIM,))], ids=["longer", "shorter"]
)
def test_a_batch_of_different_lengths_is_refused(
    ground: Ground, first: tuple[Step, ...], second: tuple[Step, ...]
) -> None:
    """Its trials share their steps in number, or none is run."""
    with pytest.raises(ValueError, match="of a batch"):
        ground.rig.run([trial_of(*first), trial_of(*second)])


def changed_enqueue(ground: Ground, line: str) -> Rig:
    """A rig on the same server whose enqueue script does one thing more before it begins."""
    text = own_sources().scripts["enqueue"]
    head, _, body = text.partition("local ")
    scripts = {name: script_of(name, other.encode()) for name, other in own_sources().scripts.items()}
    scripts["enqueue"] = script_of("enqueue", f"{head}{line}\nlocal {body}".encode())
    scripted = ScriptedExecutor(ground.server.client, lambda: b"", scripts)
    return Rig(ground.server, {**ground.lab.bench()[1], "scripted": scripted})


#: What a script may write beside what it should: a longer name, an unfinished one, another queue's, nobody's, all's.
STRAY = [
    "redis.call('SET', KEYS[1] .. ':more', '1')",
    "redis.call('SET', 'emq:{' .. KEYS[2]:match('{(.-)}') .. '}', '1')",
    "redis.call('SET', 'emq:{somebody}:pending', '1')",
    "redis.call('SET', 'emq:pending', '1')",
    "redis.call('SET', 'anything', '1')",
    "redis.call('SET', '{emq}:more', '1')",
    "redis.call('SET', '{emq}:version', 'echomq:2.0.0')",
]


def assert_a_stray_write_is_seen(ground: Ground, line: str) -> None:
    """A script that writes beside what it should is complained of, wherever that is."""
    (sound,) = changed_enqueue(ground, "").run([trial_of(ENQUEUE)])
    assert () == judge(sound).complaints
    (ran,) = changed_enqueue(ground, line).run([trial_of(ENQUEUE)])
    assert judge(ran).complaints != ()


@pytest.mark.parametrize("line", STRAY)
def test_a_write_beside_the_queue_is_seen(ground: Ground, line: str) -> None:
    """Into the queue, into another, and into no queue's keys at all."""
    assert_a_stray_write_is_seen(ground, line)


@pytest.mark.parametrize("line", ["redis.call('FLUSHALL')", "redis.call('DEL', '{emq}:version')"])
def test_who_takes_away_what_is_everybodys_is_seen_and_no_neighbour(ground: Ground, line: str) -> None:
    """Each is then run by itself: what befell the others is not theirs."""
    before, guilty, after = changed_enqueue(ground, line).run([trial_of(CLAIM), trial_of(ENQUEUE), trial_of(CLAIM)])
    assert ((), ()) == (judge(before).complaints, judge(after).complaints)
    assert judge(guilty).complaints != ()


def test_a_script_leaves_its_connection_where_it_was(ground: Ground) -> None:
    """A server's script may select another database, for itself alone."""
    line = "redis.call('SELECT', '1') redis.call('SELECT', '0')"
    (ran,) = changed_enqueue(ground, "redis.call('SELECT', '1')").run([trial_of(ENQUEUE)])
    assert judge(ran).complaints != ()
    (ran,) = changed_enqueue(ground, line).run([trial_of(ENQUEUE)])
    assert () == judge(ran).complaints


def test_a_time_to_live_is_seen(ground: Ground) -> None:
    """A script that lets the row expire is complained of on that executor alone."""
    (ran,) = changed_enqueue(ground, "redis.call('HSET', KEYS[1], 'a', 'b') redis.call('PEXPIRE', KEYS[1], 90000)").run(
        [trial_of(ENQUEUE)]
    )
    assert frozenset({BASE + b"job:" + JOB}) == ran.outcomes["scripted"].expiring
    assert frozenset() == ran.outcomes["native"].expiring
    assert [one for one in judge(ran).complaints if one.endswith("was given a time to live")]
