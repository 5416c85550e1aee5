"""Widgets on real servers: what a second client and a limited user do there, and else what the embedded one shows."""

from collections.abc import Iterator
from itertools import product

import pytest

import emqlab_widgets as widgets
from emqlab.lab import Lab
from emqlab.observe.moments import COUNTERS, line, moments, verdict
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


def test_the_clock_runs_again_after_a_recording(real: Lab) -> None:
    """It stands for the case alone."""
    widgets.lease(real)
    server, _ = real.bench()
    begun = server.now_ms()
    while server.now_ms() == begun:
        pass
