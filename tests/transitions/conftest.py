"""The transitions' suite runs once for every executor on every server."""

from collections.abc import Iterator

import pytest

from emqlab.lab import ExecutorName, Lab, open_lab
from tests.transitions.bench import Bench

#: The servers that the suite runs on; a later one is one more name here.
SERVERS = ("embedded",)
EXECUTORS: tuple[ExecutorName, ...] = ("scripted", "native")


@pytest.fixture(params=SERVERS)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """An empty lab on one of the servers."""
    with open_lab(request.param) as opened:
        yield opened


@pytest.fixture(params=EXECUTORS)
def bench(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Bench]:
    """Each executor in turn. No transition gives a key a time to live."""
    made = Bench(lab, lab.executor(request.param))
    yield made
    assert {} == {name: key.ttl_ms for name, key in made.snapshot().items() if key.ttl_ms != -1}


@pytest.fixture
def native(lab: Lab) -> Iterator[Bench]:
    """The native executor alone."""
    made = Bench(lab, lab.native)
    yield made
    assert {} == {name: key.ttl_ms for name, key in made.snapshot().items() if key.ttl_ms != -1}


@pytest.fixture
def scripted(lab: Lab) -> Bench:
    """The scripts alone."""
    return Bench(lab, lab.scripted)
