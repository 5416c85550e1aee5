"""Widgets on real servers: what a second client and a limited user do there, and else what the embedded one shows."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest

import emqlab_widgets as widgets
from emqlab.lab import Lab
from emqlab.observe.moments import COUNTERS, line, moments, verdict
from emqlab.observe.recording import record
from emqlab.servers.valkey import ValkeyServer
from emqlab.teach.instrument import measured
from tests.servers.real import NAMES, binary_of, built_module
from tests.widgets.test_dive04_widgets import BAD, SEEN, picked, seen


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab on each server in turn."""
    with Lab(ValkeyServer(binary_of(request.param), module=built_module())) as lab:
        yield lab


def test_the_six_differences_on_a_real_server(real: Lab) -> None:
    """As on the embedded one; and of the rights both columns, for here a script runs for a limited user."""
    stage = widgets.six_differences(real)
    assert {choice: seen(stage) for choice in picked(stage)} == {**SEEN, "rights": BAD}
    assert [each["about"] for each in stage.predict] == ["scripted/place", "native/place"]


def test_side_by_side_on_a_real_server(real: Lab, lab: Lab) -> None:
    """The same places and stamps as on the embedded one."""
    here, there = widgets.side_by_side(real), widgets.side_by_side(lab)
    assert {choice: seen(here) for choice in picked(here)} == {choice: seen(there) for choice in picked(there)}


def test_the_table_on_a_real_server(real: Lab, lab: Lab) -> None:
    """Every case came to the same as on the embedded one, an error's text without what a server adds."""
    assert widgets.divergence_table(real).rows == widgets.divergence_table(lab).rows


def test_what_is_measured_on_a_server_of_the_labs_own(real: Lab) -> None:
    """On another server of that name, and nothing is undeclared there either."""
    assert measured(real, many=40).undeclared == 0


def steps(stage: widgets.Stage) -> list[list[tuple[str, str, tuple[str | None, ...]]]]:
    """What each column shows after each step: the place, the stamp and the counters."""
    recording = stage.recording
    return [
        [
            (
                verdict(recording, column, step).place,
                verdict(recording, column, step).stamp,
                tuple(line(recording, f"row/{name}", m).now for name in COUNTERS[:3]),
            )
            for step, m in enumerate(column)
        ]
        for column in moments(recording)
    ]


def test_a_millisecond_before_a_deadline_is_before_it(real: Lab, lab: Lab) -> None:
    """Every pick of Lease and of Two workers, step by step: the clock moves as the case moves it, no further."""
    stages = [(widgets.lease, ("lease", "sweep", "max_stalled", "then")), (widgets.two_workers, ("plan", "lease"))]
    for make, names in stages:
        options = {pick["name"]: [option["value"] for option in pick["options"]] for pick in make(lab).picks}
        for values in product(*(options[name] for name in names)):
            choice = dict(zip(names, values, strict=True))
            assert (choice, steps(make(real, choice))) == (choice, steps(make(lab, choice)))


def slowly(monkeypatch: pytest.MonkeyPatch, real: Lab) -> None:
    """Let a second of the real clock go by after each move of the bench's: a machine that has much to do."""
    server: Any = real.bench()[0]
    move: Any = server.advance

    def moved(ms: int) -> None:
        move(ms)
        if server.stands_at is None:
            move(1_000)

    monkeypatch.setattr(server, "advance", moved)


@pytest.mark.parametrize("code", ["two-workers/A-claims@0 sweep@5.5 B-claims@6.5 B-completes@7 A-completes@7/6000"])
def test_what_is_run_to_know_what_to_record_finds_the_same_time(
    real: Lab, lab: Lab, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    """A token that a slow run handed out is none of the recording's."""
    slowly(monkeypatch, real)
    assert steps(widgets.open(code, lab=real)) == steps(widgets.open(code, lab=lab))


def test_two_threads_record_one_after_the_other(real: Lab) -> None:
    """Neither lets the other's clock run."""
    case = {
        "name": "late",
        "queue": "q",
        "given": [],
        "when": [{"verb": "claim", "lease_ms": "1000"}, {"advance_ms": 2_000}, {"verb": "promote", "batch": "1"}],
    }
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: record(real, case), range(30)))
    columns = [(one["now_ms"], column) for one in found for column in one["executors"]]
    clocks = {frame.get("clock", begun) - begun for begun, column in columns for frame in column["frames"]}
    assert {0, 2_000} == clocks


def test_a_stage_whose_server_has_died_takes_another(real: Lab) -> None:
    """The next pick is drawn as if nothing had been."""
    stage = widgets.transition(real)
    server: Any = real.bench()[0]
    pid = server.process.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    (name,) = stage.choice
    stage.choice = {name: "requeue"}
    assert ("", {name: "requeue"}) == (stage.trouble, stage.shown)


def test_the_clock_runs_again_after_a_recording(real: Lab) -> None:
    """It stands for the case alone."""
    widgets.lease(real)
    server, _ = real.bench()
    begun = server.now_ms()
    while server.now_ms() == begun:
        pass
