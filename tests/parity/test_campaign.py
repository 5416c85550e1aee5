"""A campaign: chunks of a layer, by one worker or two; one digest, one tally, however they were shared out."""

import hashlib
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from emqlab import errors
from emqlab.lab import Lab, MissingNative, open_lab
from emqlab.parity import campaign as campaigns
from emqlab.parity.campaign import Campaign
from emqlab.parity.defects.plants import planted
from emqlab.parity.ground import Ground, chunk, layer_of
from emqlab.parity.tally import KEPT, Result, Tally
from emqlab.parity.trials.layers import LAYERS
from emqlab.parity.verdict import Verdict, judge
from emqlab.servers.binaries import VARIABLE

#: Chunks of so many, for a test: two workers are asked as soon as there are two, and end them out of order.
CHUNK = 40
SHARED = 8 * CHUNK + 10
DEFECT = "fail-loses-the-last-error-in-lua"


@pytest.fixture(scope="module")
def alone() -> Iterator[Campaign]:
    """One process on the embedded server."""
    with Campaign("embedded", workers=1) as made:
        yield made


@pytest.fixture(scope="module")
def two() -> Iterator[Campaign]:
    """Two workers beside this process."""
    with Campaign("embedded", workers=2) as made:
        yield made
    assert [] == multiprocessing.active_children()


@pytest.fixture(scope="module")
def defective() -> Iterator[Ground]:
    """A bench whose retry script keeps no error."""
    made = Ground("embedded", planted(DEFECT))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small chunks."""
    monkeypatch.setattr(campaigns, "BATCH", CHUNK)
    monkeypatch.setattr(campaigns, "_FOR_ONE", CHUNK)


def parts(tally: Tally) -> dict[str, Any]:
    """All that a tally holds."""
    return {name: getattr(tally, name) for name in Tally.__slots__}


# ---------------------------------------------------------------- the digest


def test_the_digest_is_the_same_for_one_worker_and_for_two(alone: Campaign, two: Campaign) -> None:
    """And so is every count; what differs is the time."""
    layer = layer_of("three-jobs", 4)
    told: list[int] = []
    shared = two.run(layer, SHARED, tell=told.append)
    assert 2 == len(multiprocessing.active_children())
    one = alone.run(layer, SHARED)
    assert (one.digest, parts(one.tally)) == (shared.digest, parts(shared.tally))
    assert (SHARED, [CHUNK] * 8 + [10]) == (one.tally.cases, told)


def test_the_digest_is_the_same_in_another_run(alone: Campaign) -> None:
    """Of the same layer, seed and number of cases, and 64 hex characters."""
    runs = [alone.run(layer_of("corruption", 4), 300) for _ in range(2)]
    assert runs[0].digest == runs[1].digest
    assert (64, True) == (len(runs[0].digest), set(runs[0].digest) <= set("0123456789abcdef"))


@pytest.mark.parametrize("name", LAYERS)
def test_another_seed_another_layer_or_one_case_less_is_another_digest(alone: Campaign, name: str) -> None:
    """Nothing else is measured under the same name."""
    wanted = [(layer_of(name, 4), 20), (layer_of(name, 5), 20), (layer_of(name, 4), 19)]
    assert 3 == len({alone.run(layer, count).digest for layer, count in wanted})


def test_the_digest_is_that_of_the_chunks_logs(alone: Campaign) -> None:
    """SHA-256 over each chunk's SHA-256 of its verdicts' lines, in order."""
    layer = layer_of("corruption", 4)
    log = hashlib.sha256()
    for start in (0, CHUNK):
        lines = hashlib.sha256()
        for _, verdict in alone.ground.verdicts(layer, start, min(CHUNK + 6, start + CHUNK)):
            lines.update(verdict.line.encode() + b"\n")
        log.update(lines.digest())
    assert log.hexdigest() == alone.run(layer, CHUNK + 6).digest


# ---------------------------------------------------------------- what is run and counted


def test_a_run_is_the_beginning_of_the_layer(alone: Campaign) -> None:
    """The first places of its shuffled order, each once; a longer run begins with the shorter one's."""
    layer = layer_of("corruption", 4)
    assert [layer.index_at(place) for place in range(70)] == [index for index, _ in alone.ground.verdicts(layer, 0, 70)]
    verdicts = [judge(ran) for ran in alone.ground.rig.run([layer.trial(layer.index_at(place)) for place in range(70)])]
    booked = Tally()
    for place, verdict in enumerate(verdicts):
        booked.book(layer.index_at(place), verdict)
    assert parts(booked) == parts(alone.run(layer, 70).tally)


def test_a_result_says_what_was_run(alone: Campaign) -> None:
    """Layer, server and seed; how many trials there would be, None for a layer without an end; cases a second."""
    for name, of in (("exhaustive", layer_of("exhaustive", 4).size), ("three-jobs", None)):
        result = alone.run(layer_of(name, 4), 30)
        assert (name, "embedded", 4, 30, of) == (
            result.layer,
            result.server,
            result.seed,
            result.tally.cases,
            result.of,
        )
        assert result.rate == result.tally.cases / result.seconds


def test_a_rate_of_no_time_is_none() -> None:
    """Rather than a division by nothing."""
    assert 0.0 == Result("exhaustive", "embedded", 0, Tally(), 0.0, "", None).rate


def test_a_tally_counts_what_its_verdicts_say(alone: Campaign) -> None:
    """Cases of a verb, of a verb that showed a number, of a number; what was broken, by whom; freezes."""
    layer = layer_of("corruption", 9)
    verdicts = [verdict for _, verdict in alone.ground.verdicts(layer, 0, 400)]
    tally, _ = chunk(alone.ground, layer, 0, 400)
    assert Counter(verdict.trial.verb for verdict in verdicts) == tally.tried
    assert Counter((v.trial.verb, number) for v in verdicts for number in v.numbers) == tally.seen
    assert Counter(number for verdict in verdicts for number in verdict.numbers) == tally.cases_of
    assert Counter(broken for verdict in verdicts for broken in verdict.violations) == tally.violations
    assert Counter(verb for verdict in verdicts for verb in verdict.freezes) == tally.freezes
    assert (400, 0, [], None) == (tally.cases, tally.undeclared, tally.findings, tally.after)
    counters = (tally.tried, tally.seen, tally.cases_of, tally.violations, tally.freezes)
    assert min(len(counted) for counted in counters) > 1


def test_tallies_add_up(defective: Ground) -> None:
    """Those of chunks are that of the whole, with the first finding at its place and no more kept than are told."""
    layer = layer_of("corruption", 4)
    whole, _ = chunk(defective, layer, 0, 300)
    added = Tally()
    for start in range(0, 300, 25):
        added.add(chunk(defective, layer, start, start + 25)[0])
    assert parts(whole) == parts(added)
    assert whole.undeclared > KEPT == len(whole.findings)


def test_findings_are_kept_with_what_makes_them_again(defective: Ground) -> None:
    """The first ones: their number in the layer, their name, and what is wrong; ``after`` is the first one's place."""
    layer = layer_of("corruption", 4)
    found: list[tuple[int, int, Verdict]] = []
    for place, (index, verdict) in enumerate(defective.verdicts(layer, 0, 300), 1):
        if verdict.complaints:
            found.append((place, index, verdict))
    tally, _ = chunk(defective, layer, 0, 300)
    assert (len(found), found[0][0]) == (tally.undeclared, tally.after)
    assert [(index, verdict.trial.name, verdict.complaints) for _, index, verdict in found[:KEPT]] == [
        (finding.index, finding.name, finding.complaints) for finding in tally.findings
    ]
    again = judge(defective.rig.run([layer.trial(tally.findings[0].index)])[0])
    assert tally.findings[0].complaints == again.complaints


# ---------------------------------------------------------------- an end before the end


def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that goes on by a second whenever it is looked at."""
    ticks = iter(range(10_000))
    monkeypatch.setattr(campaigns, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))


@pytest.mark.parametrize(("seconds", "chunks"), [(0.5, 0), (1.5, 1), (2.5, 2), (60.0, 3)])
def test_seconds_stop_it_before_the_next_chunk(
    alone: Campaign, monkeypatch: pytest.MonkeyPatch, seconds: float, chunks: int
) -> None:
    """What was begun is ended and counted: a run that was stopped is a beginning, with that beginning's digest."""
    layer, count = layer_of("corruption", 4), 3 * CHUNK - 10
    whole = alone.run(layer, min(count, chunks * CHUNK))
    ticking(monkeypatch)
    told: list[int] = []
    stopped = alone.run(layer, count, seconds=seconds, tell=told.append)
    assert (whole.digest, parts(whole.tally)) == (stopped.digest, parts(stopped.tally))
    assert (chunks, stopped.tally.cases) == (len(told), sum(told))


def test_seconds_stop_two_workers(two: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they have begun is ended and counted in its order."""
    ticking(monkeypatch)
    stopped = two.run(layer_of("three-jobs", 4), 20 * CHUNK, seconds=3.5)
    assert 0 < stopped.tally.cases < 20 * CHUNK
    assert 0 == stopped.tally.cases % CHUNK


def test_an_interrupt_ends_the_workers() -> None:
    """Ctrl-C in whoever is told how it goes comes through, and no process is left."""

    def interrupt(cases: int) -> None:
        raise KeyboardInterrupt

    others = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt), Campaign("embedded", workers=2) as interrupted:
        interrupted.run(layer_of("three-jobs", 4), 20 * CHUNK, tell=interrupt)
    assert set() == set(multiprocessing.active_children()) - others


# ---------------------------------------------------------------- what goes wrong


def test_a_worker_that_is_killed_is_a_lost_server() -> None:
    """One sentence, and the others are ended."""

    others = set(multiprocessing.active_children())

    def kill(cases: int) -> None:
        for child in list(set(multiprocessing.active_children()) - others)[:1]:
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(errors.ServerLost) as told, Campaign("embedded", workers=2) as killed:
        killed.run(layer_of("three-jobs", 4), 60 * CHUNK, tell=kill)
    assert "\n" not in str(told.value)
    assert set() == set(multiprocessing.active_children()) - others


def test_a_worker_that_can_open_no_server_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its reason is told here, and no traceback is printed there."""
    with Campaign("embedded", workers=2) as opened:
        opened._name = "valkey"
        monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
        with pytest.raises((errors.EmqError, ValueError)) as told:
            opened.run(layer_of("three-jobs", 4), SHARED)
    assert "nowhere" in str(told.value)
    assert "\n" not in str(told.value)
    assert "Traceback" not in capfd.readouterr().err


def test_a_server_without_the_verbs_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the lab's own sentence, and the lab is closed."""
    closed: list[Lab] = []

    def missing(name: str | None) -> Lab:
        lab = open_lab("embedded")
        lab.native = MissingNative(lab.client, lambda: b"", "there are no verbs; build them")
        close = lab.close

        def closing() -> None:
            closed.append(lab)
            close()

        monkeypatch.setattr(lab, "close", closing)
        return lab

    monkeypatch.setattr("emqlab.parity.ground.open_lab", missing)
    with pytest.raises(ValueError, match="there are no verbs; build them"):
        Campaign("embedded")
    assert 1 == len(closed)


def test_a_closed_campaign_may_be_closed_again() -> None:
    """Also one that has asked no worker."""
    made = Campaign("embedded", workers=2)
    made.close()
    made.close()
