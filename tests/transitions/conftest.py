"""The transitions' suite runs once for every executor on every server."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from emqlab.lab import ExecutorName, Lab, open_lab
from emqlab.native.module import NoCompiler, module_path
from emqlab.servers.binaries import NoServer, find_binary
from emqlab.servers.clock import START_MS
from emqlab.servers.valkey import ValkeyServer
from tests.transitions.bench import Bench

#: The servers that the suite runs on; a later one is one more name here.
SERVERS = ("embedded", "valkey", "redis")
EXECUTORS: tuple[ExecutorName, ...] = ("scripted", "native")


@pytest.fixture(scope="session")
def real_lab() -> Iterator[Callable[[str], Lab]]:
    """A lab on a real server, by its name: one process for the whole session, its clock standing still."""
    labs: dict[str, Lab] = {}
    with ExitStack() as stack:

        def lab(name: str) -> Lab:
            if name not in labs:
                labs[name] = stack.enter_context(_open(name))
            return labs[name]

        yield lab


def _open(name: str) -> Lab:
    try:
        binary = find_binary() if name == "valkey" else shutil.which("redis-server")
        module = module_path()
    except (NoServer, NoCompiler) as error:
        pytest.skip(str(error))
    if binary is None:
        pytest.skip("there is no redis-server on the PATH; install one (apt-get install redis-server)")
    server = ValkeyServer(binary, module=module)
    server.stand_still(START_MS)
    return Lab(server)


@pytest.fixture(params=SERVERS)
def lab(request: pytest.FixtureRequest, real_lab: Callable[[str], Lab]) -> Iterator[Lab]:
    """An empty lab on one of the servers."""
    if request.param == "embedded":
        with open_lab("embedded") as opened:
            yield opened
        return
    kept = real_lab(request.param)
    kept.server.begin_case(b"q")
    yield kept
    kept.server.end_case(b"q", plain=True)


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
