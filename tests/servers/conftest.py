"""Each real server in turn, one process for all tests of a file; a file that needs another says so itself."""

from collections.abc import Iterator

import pytest

from emqlab.replies import ask
from tests.servers.real import NAMES, RealServer, real_server


@pytest.fixture(params=NAMES, scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[RealServer]:
    """One server with the module for all tests of a file."""
    with real_server(request.param) as server:
        yield server


@pytest.fixture
def server(running: RealServer) -> RealServer:
    """The same, empty."""
    ask(running.client, "FLUSHALL")
    return running
