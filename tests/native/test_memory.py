"""The module gives back what it takes."""

from contextlib import closing

from tests.native.memory import MixedCalls, memory
from tests.servers.real import RealServer, each_server, real_server, wait_until

CALLS = 100_000
#: What the server's own bookkeeping may move by: far less than a byte a call.
SLACK = 16 * 1024
#: Nothing of the server's own grows with the number of commands.
QUIET = {"appendonly": "no", "slowlog-log-slower-than": "-1", "latency-tracking": "no"}


def used_by_nobody(server: RealServer) -> int:
    """Bytes in use when the caller's connection is gone: what a server keeps for one comes and goes with its clock."""
    wait_until(lambda: server.info("clients")["connected_clients"] == "1", "only the observer is connected")
    return memory(server.client).used


@each_server
def test_memory_is_where_it_was_after_a_hundred_thousand_calls(name: str) -> None:
    """Calls that write, that refuse and that are traced leave nothing behind but keys."""
    with real_server(name, config=QUIET) as server:
        with closing(MixedCalls(server)) as warm:
            warm.run(CALLS // 10)
        before = used_by_nobody(server)
        with closing(MixedCalls(server)) as mixed:
            mixed.run(CALLS)
        grown = used_by_nobody(server) - before
    assert grown < SLACK
    assert 0.1 < mixed.refused / mixed.calls < 0.9


@each_server
def test_the_module_adds_less_than_a_mebibyte(name: str) -> None:
    """What loading it takes of the server's memory."""
    used = []
    for module in (False, True):
        with real_server(name, module=module, config=QUIET) as server:
            used.append(memory(server.client).used)
    assert used[1] - used[0] < 1 << 20
