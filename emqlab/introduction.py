"""What `emqlab serve` tells of its server: where it is, and three lines to try that work."""

import itertools
import shlex
import shutil
from pathlib import Path

import redis

from emqlab import ids, keys
from emqlab.lab import claim_version
from emqlab.serve import Place
from emqlab.servers.survey import program
from emqlab.transitions import TRANSITIONS, Call

#: The lease in the lines to try: long enough to read them.
LEASE_MS = 30_000


def introduction(client: redis.Redis, place: Place, data: Path | None) -> str:
    """What the reader is told of a server that runs; claims the wire version first. Raises WrongVersion."""
    claim_version(client)
    client_program, hint = shell_client()
    stays = f"its jobs are kept in {data}" if data else "its jobs go when it stops"
    lines = [
        f"{program(client.info('server'))} with the EMQ verbs listens at {place}, for this machine only; {stays}.",
        "",
        f"Three lines to try in another terminal{hint}:",
        "",
        *(f"  {shlex.join([client_program, *place.options, *command])}" for command in a_life(client)),
        "",
        "A lab on it:",
        "",
        f"  emqlab run case.json --server {shlex.quote(place.url)}",
        f'  emqlab.open_lab("{place.url}")',
        "",
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def shell_client() -> tuple[str, str]:
    """The program that talks to a server in a terminal, and how to get it if it is not here."""
    for name in ("redis-cli", "valkey-cli"):
        if shutil.which(name):
            return name, ""
    return "redis-cli", " (redis-cli comes with apt-get install redis-tools, or brew install redis)"


def a_life(client: redis.Redis) -> list[list[str]]:
    """A job's life as three commands that work in this order: enqueue, claim, complete with the token that gives."""
    queue = unused_queue(client)
    job_id = ids.Mint(lambda: now_ms(client)).next()
    calls = [
        Call("enqueue", queue, {"id": job_id, "payload": b"tea"}),
        Call("claim", queue, {"lease_ms": b"%d" % LEASE_MS}),
        Call("complete", queue, {"id": job_id, "token": b"1"}),
    ]
    return [as_command(call) for call in calls]


def as_command(call: Call) -> list[str]:
    """The words of a native command, ``EMQ.CLAIM 3 …``."""
    sent_keys, args = call.wire()
    return [
        TRANSITIONS[call.verb].command or "",
        str(len(sent_keys)),
        *(word.decode() for word in (*sent_keys, *args)),
    ]


def unused_queue(client: redis.Redis) -> bytes:
    """A queue in which nothing waits: a job left there would be claimed before the one of the lines to try."""
    names = (b"demo" if number == 1 else b"demo-%d" % number for number in itertools.count(1))
    return next(name for name in names if not client.exists(keys.base(name) + b"pending", keys.base(name) + b"meta"))


def now_ms(client: redis.Redis) -> int:
    """The server's time, ms since 1970."""
    seconds, micros = client.time()
    return int(seconds) * 1000 + int(micros) // 1000
