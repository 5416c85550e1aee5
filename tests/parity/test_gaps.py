"""What once passed all layers: each change that did is caught by trials of a layer, or by the rights, and by few."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

import pytest

from emqlab.keys import VERSION
from emqlab.native import texts
from emqlab.native.embedded import EmbeddedHost
from emqlab.native.host import READ, Refusal
from emqlab.parity.defects.plants import plant_text
from emqlab.parity.defects.sources import Sources, own_sources
from emqlab.parity.ground import Ground
from emqlab.parity.trials import corruptions
from emqlab.parity.trials.calls import LONG, odd_calls, usual_calls
from emqlab.parity.trials.layers import Corrupted
from emqlab.parity.trials.rights import rights_complaints
from emqlab.parity.trials.trial import BASE, EDGES, Do, Trial
from emqlab.parity.verdict import judge

#: How many trials of a kind are run, at most.
MOST = 200
#: The second row where several jobs' time has come.
SECOND = BASE + b"job:JOB0NgWEfAE001"

Chosen = Callable[[], Iterator[Trial]]


@cache
def layer() -> Corrupted:
    """The layer that the trials are of."""
    return Corrupted(0)


def spoiled(name: str, verb: str) -> Chosen:
    """The trials of one corruption, by its name, and one verb."""

    def chosen() -> Iterator[Trial]:
        calls = [place for place, call in enumerate(usual_calls(layer()._sound[0])) if call[0] == verb]
        for at, (_, which) in enumerate(layer()._worlds):
            if corruptions.CORRUPTIONS[which].name == name:
                yield from (layer().trial(at * layer()._usual + place) for place in calls)

    return chosen


def odd(verb: str, **values: bytes) -> Chosen:
    """The trials of one verb with these values among its own, on every state."""

    def chosen() -> Iterator[Trial]:
        calls = list(odd_calls(layer()._sound[0]))
        places = [place for place, call in enumerate(calls) if call[0] == verb and call[1].items() >= values.items()]
        for state in range(len(layer()._sound)):
            yield from (layer().trial(layer().parts[0] + state * len(calls) + place) for place in places)

    return chosen


def together(verb: str, told: Callable[[Trial], bool]) -> Chosen:
    """The trials of one verb among what is wrong only together, of which that can be told."""
    return lambda: (trial for trial in map(layer().trial, layer().together) if trial.verb == verb and told(trial))


def value_of(trial: Trial, name: str) -> object:
    """A value of its one transition."""
    (step,) = trial.steps
    assert isinstance(step, Do)
    return step.values.get(name)


def changed(file: str, old: str, new: str) -> Sources:
    """All texts with ``old``, which is there once, replaced in one file."""
    sound = own_sources().text(file)
    assert 1 == sound.count(old)
    name, _, ending = file.rpartition(".")
    return plant_text({"lua": "scripted", "py": "native"}[ending], name, sound.replace(old, new))


def complaints(trials: list[Trial], sources: Sources | None = None) -> list[str]:
    """What is not as declared, on an embedded server."""
    ground = Ground("embedded", sources)
    try:
        return [complaint for ran in ground.rig.run(trials) for complaint in judge(ran).complaints]
    finally:
        ground.close()


_AFTER = '    rules.sorted_set(host, scheduled)\n    due = rules.after(host.now_ms(), delay_ms, b"delay_ms")\n'
_MODE = '    mode = rules.mode_of(args[5])\n    due = rules.number(args[6], b"value", 0)\n'
_EPOCH = "lease_epoch != run_id"
_POP = "local head = redis.call('ZPOPMIN', pending)\n"
_BY_BYTES = """local head = redis.call('ZRANGE', pending, 0, -1)
table.sort(head)
if #head > 0 then redis.call('ZREM', pending, head[1]) end
"""
_LIMIT = '    limit = rules.number(args[6], b"limit", 1)\n'
_BATCH = '    batch = rules.number(args[4], b"batch", 1)\n'


@pytest.mark.parametrize(
    ("file", "old", "new", "chosen"),
    [
        pytest.param(
            "stalled_check.py",
            "rules.metric(host, failed, len(died)) - len(died)",
            "rules.metric(host, failed, 1) - 1",
            together("stalled_check", lambda trial: {BASE + b"metrics:failed", SECOND} <= trial.start.keys.keys()),
            id="deaths are not added up",
        ),
        pytest.param(
            "stalled_check.py",
            _EPOCH,
            "lease_epoch[:39] != run_id[:39]",
            spoiled("row lease_epoch '@run_id but its last letter'", "stalled_check"),
            id="all but the last letter of an epoch",
        ),
        pytest.param(
            "stalled_check.py",
            _EPOCH,
            "lease_epoch[:8] != run_id[:8]",
            spoiled("row lease_epoch '@run_id but its last letter'", "stalled_check"),
            id="the first letters of an epoch",
        ),
        pytest.param(
            "stalled_check.py",
            _EPOCH,
            "lease_epoch[1:] != run_id[1:]",
            spoiled("row lease_epoch '@run_id but its first letter'", "stalled_check"),
            id="all but the first letter of an epoch",
        ),
        pytest.param(
            "stalled_check.py",
            _EPOCH,
            "lease_epoch[:40] != run_id",
            spoiled("row lease_epoch '@run_id '", "stalled_check"),
            id="as much of a stamp as an epoch is long",
        ),
        pytest.param(
            "stalled_check.py",
            _EPOCH,
            "lease_epoch.lower() != run_id",
            spoiled("row lease_epoch '@RUN_ID'", "stalled_check"),
            id="an epoch in lower case",
        ),
        pytest.param(
            "rules.py",
            "    at = now + value\n    if at > I64_MAX:",
            "    at = now + value\n    if at >= I64_MAX:",
            together("claim", lambda trial: value_of(trial, "lease_ms") == EDGES[0]),
            id="no deadline in the last ms",
        ),
        pytest.param(
            "schedule.py",
            _MODE,
            "".join(reversed(_MODE.splitlines(keepends=True))),
            odd("schedule", mode=b"on", value=b"many"),
            id="the last of two bad values",
        ),
        pytest.param(
            "fail.py",
            _AFTER,
            "".join(reversed(_AFTER.splitlines(keepends=True))),
            together("fail", lambda trial: trial.start.keys.get(BASE + b"schedule") == b"spoiled"),
            id="the time before the target",
        ),
        pytest.param(
            "claim.lua",
            _POP,
            _BY_BYTES,
            spoiled("a later id ahead of it in the line", "claim"),
            id="by bytes and not by score",
        ),
        pytest.param(
            "reap.lua",
            "'LIMIT', 0, 100)",
            "'LIMIT', 0, 101)",
            together("reap", lambda trial: len(trial.start.keys) > 100),
            id="a hundred and one leases",
        ),
        pytest.param(
            "complete.lua",
            "'ring', 0, group)",
            "'ring', 1, group)",
            spoiled("lane row that waits in its lane, twice on the ring", "complete"),
            id="once off the ring",
        ),
        pytest.param(
            "retry.lua",
            "'last_error', failure)",
            "'last_error', string.sub(failure, 1, 255))",
            odd("fail", error=LONG),
            id="a short last_error",
        ),
        pytest.param(
            "stalled_check.py",
            _LIMIT,
            f"{_LIMIT}    if limit > 4:\n        limit = 4\n",
            together("stalled_check", lambda trial: 6 == len(trial.start.keys) - 1),
            id="four leases at most",
        ),
        pytest.param(
            "promote.py",
            _BATCH,
            f"{_BATCH}    if batch > 1000:\n        batch = 1000\n",
            together("promote", lambda trial: len(trial.start.keys) > 1_000),
            id="a thousand due at most",
        ),
    ],
)
def test_a_change_that_once_passed_is_caught(file: str, old: str, new: str, chosen: Chosen) -> None:
    """By a few trials of the layer, which find nothing where nothing is changed."""
    trials = list(islice(chosen(), MOST))
    assert [] == complaints(trials)
    assert complaints(trials, changed(file, old, new)) != []


def test_a_fence_that_looks_at_the_beginning_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that begins with ours is another one."""

    def fence(host: EmbeddedHost) -> None:
        host.open(b"{emq}:version", READ)
        version = host.read(b"GET", b"{emq}:version")
        if version is not None and not version.startswith(VERSION):
            raise Refusal(texts.FENCE + version)

    trials = list(islice(spoiled("one that begins with ours as the wire version", "claim")(), 20))
    assert [] == complaints(trials)
    monkeypatch.setattr(EmbeddedHost, "fence", fence)
    assert complaints(trials) != []


@pytest.mark.parametrize(
    ("file", "old", "said"),
    [
        ("claim.py", "host.open(row, WRITE)", "claim, a job: without the right to write job:"),
        ("complete.py", "host.open(held, READ)", "complete, nowhere: without the right to read pending"),
    ],
)
def test_a_right_that_is_not_asked_for_is_caught(file: str, old: str, said: str) -> None:
    """By the rights of a server whose verb leaves an opening out."""
    ground = Ground("embedded", changed(file, old, "None"))
    try:
        found = list(rights_complaints(ground.server, ground.lab.bench()[1]))
    finally:
        ground.close()
    assert [] != [complaint for complaint in found if said in complaint], found
