"""The verbs beside another module, and on servers that were told to forget a command."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from emqlab.native.module import NoCompiler
from emqlab.native.module.build import shared_object
from emqlab.replies import ErrorReply, ask
from emqlab.servers.process import CannotStart
from tests.servers.real import NAMES, RealServer, answer, built_module, dump_all, each_server, real_server, wait_until

JOB = "JOB0NgWEfAEJfs"
BASE = "emq:{q}:"
ROW = f"{BASE}job:{JOB}"
CLAIM = ("EMQ.CLAIM", "3", f"{BASE}pending", f"{BASE}active", BASE, "30000")


@pytest.fixture(scope="module")
def neighbour() -> Path:
    """The other module, built."""
    text = Path(__file__).with_name("neighbour.c").read_text(encoding="utf-8")
    try:
        return shared_object("neighbour", {"neighbour.c": text}, main="neighbour.c")
    except NoCompiler as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=NAMES)
def running(request: pytest.FixtureRequest, neighbour: Path) -> Iterator[RealServer]:
    """A server with both modules."""
    modules = [str(built_module()), str(neighbour)]
    with real_server(
        request.param, module=False, config={"loadmodule": modules, "enable-debug-command": "yes"}
    ) as server:
        yield server


@pytest.fixture
def server(running: RealServer) -> RealServer:
    """The same with one waiting job."""
    ask(running.client, "FLUSHALL")
    ask(running.client, "NEIGHBOUR.AVENGE", "")
    ask(running.client, "HSET", ROW, "state", "pending", "attempts", "0", "payload", "tea")
    ask(running.client, "ZADD", f"{BASE}pending", "0", JOB)
    return running


def test_nobody_may_call_a_verb(server: RealServer) -> None:
    """A module that calls as nobody has no rights to be asked for: it is refused, and the server lives."""
    before = dump_all(server.client)
    for words in (CLAIM, ("EMQ.TRACE", *CLAIM)):
        refused = answer(server.client, "NEIGHBOUR.CALL", *words)
        assert isinstance(refused, ErrorReply)
        assert "NOPERM" == refused.code
    assert before == dump_all(server.client)
    assert server.process.alive


def test_a_module_may_call_a_verb_for_its_caller(server: RealServer) -> None:
    """Called as the client that it works for, a verb asks for that client's rights."""
    ask(server.client, "ACL", "SETUSER", "half", "on", "nopass", "+@all", f"~{BASE}pending", f"~{BASE}active")
    half = server.connect(username="half", password="")
    refused = answer(half, "NEIGHBOUR.FOR", *CLAIM)
    assert isinstance(refused, ErrorReply)
    assert "NOPERM" == refused.code
    half.close()
    assert [JOB.encode(), b"tea", 1] == answer(server.client, "NEIGHBOUR.FOR", *CLAIM)


def test_a_neighbour_that_acts_while_a_verb_reads(server: RealServer) -> None:
    """A row whose time is up goes while the verb looks at it, and who hears of it may take the line away: no write."""
    ask(server.client, "DEBUG", "SET-ACTIVE-EXPIRE", "0")
    ask(server.client, "NEIGHBOUR.AVENGE", f"{BASE}pending")
    # Far enough away that it is not over when the command arrives, or it would be a plain DEL.
    due = now_ms(server) + 300
    ask(server.client, "PEXPIREAT", ROW, due)
    wait_until(lambda: now_ms(server) > due, "the row's time is up")
    assert ErrorReply("EMQHOST unexpected reply") == answer(server.client, *CLAIM)
    assert {} == dump_all(server.client)
    assert server.process.alive


def now_ms(server: RealServer) -> int:
    """The server's time."""
    seconds, micros = ask(server.client, "TIME")
    return int(seconds) * 1000 + int(micros) // 1000


@each_server
def test_a_server_without_a_command_of_the_verbs(name: str) -> None:
    """Its effects could not be replicated: the module names the command and is not loaded."""
    forgetful = real_server(name, config={"rename-command": 'HINCRBY ""'})
    with pytest.raises(CannotStart, match=r"told to rename or forget a command of the verbs, HINCRBY$"), forgetful:
        pass


@each_server
def test_a_module_that_is_loaded_twice(name: str) -> None:
    """It says that it is there already."""
    module = str(built_module())
    twice = real_server(name, module=False, config={"loadmodule": [module, module]})
    with pytest.raises(CannotStart, match="the verbs are loaded already"), twice:
        pass
