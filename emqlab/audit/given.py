"""The queue of a case, looked at as its ``given`` makes it: how a lesson shows what an audit finds."""

import redis

from emqlab import errors, keys
from emqlab.audit.findings import Audit
from emqlab.audit.look import Tell, audit_queue
from emqlab.audit.reading import lost
from emqlab.lab import Lab
from emqlab.observe.case import Case, World, substitute
from emqlab.replies import ask_all
from emqlab.servers.bounds import DATA
from emqlab.servers.remote import RemoteServer
from emqlab.servers.server import Server


def audit_given(lab: Lab, case: Case, tell: Tell | None = None) -> Audit:
    """Audit the queue that ``given`` makes, in a place of its own, which is emptied again afterwards.

    Raises CannotRun for a case that this server can't hold, CannotLook, ServerLost.
    """
    server, _ = lab.bench()
    with server.lock:
        server.admit(case.queue, _commands(case, server), [])
        server.begin_case(case.queue)
        commands = _commands(case, server)
        try:
            with lost():
                ask_all(server.client, commands)
                # A command of the case's may have left its connection in a MULTI.
                server.hang_up()
            return audit_queue(
                _client(server, case.queue), case.queue, now_ms=server.now_ms(), run_id=server.run_id, tell=tell
            )
        except errors.ServerLost as error:
            raise errors.ServerLost(server.overran or str(error)) from error
        finally:
            server.end_case(case.queue, plain=all(command[0].upper() in DATA for command in commands))


def _commands(case: Case, server: Server) -> list[tuple[bytes, ...]]:
    world = World(server.now_ms(), server.run_id)
    return [tuple(substitute(item, case.queue, world) for item in command) for command in case.given]


def _client(server: Server, queue: bytes) -> redis.Redis:
    """One that sees everything, of the one server that holds the queue."""
    if isinstance(server, RemoteServer):
        return redis.Redis(connection_pool=server.pool_of(keys.base(queue)))
    return server.observer
