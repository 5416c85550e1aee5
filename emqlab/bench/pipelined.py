"""Claims a second by redis-benchmark, which is written in C: a client so quick that the server is what is measured."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from emqlab.bench.jobs import Jobs
from emqlab.bench.line import Line
from emqlab.bench.rounds import WorkNotDone
from emqlab.bench.target import Target
from emqlab.scripted.scripts import SCRIPTS
from emqlab.transitions import Call

_JOBS = 20_000
_ROUNDS = 3
_PROGRAMS = ("redis-benchmark", "valkey-benchmark")
#: A line of its CSV: the command, calls a second, latencies.
_RATE = re.compile(r'^"[^"]*","([0-9.]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Pipelined:
    """Calls a second, the best of the rounds."""

    program: str
    scripted: float
    native: float

    @property
    def ratio(self) -> float:
        """How many times more claims a second the native executor answers."""
        return self.native / self.scripted


def pipelined(target: Target, *, jobs: int = _JOBS, rounds: int = _ROUNDS) -> Pipelined | str:
    """Claims a second of 8 clients that send 16 at a time, or a sentence that says why they were not counted.

    Raises WorkNotDone.
    """
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if target.socket is None:
        return "redis-benchmark is only let loose on a server of the lab's own (--server valkey)"
    if program is None:
        return "redis-benchmark is not installed here (apt-get install redis-tools, or valkey-tools)"
    ground = Jobs(target.queue, target.run_id, jobs)
    sent_keys, args = Call("claim", target.queue, {"lease_ms": b"30000"}).wire()
    wire = (b"%d" % len(sent_keys), *sent_keys, *args)
    best = {"scripted": 0.0, "native": 0.0}
    with Line(target.pool) as line:
        line.ask(b"SCRIPT", b"LOAD", SCRIPTS["claim"].text)
        ways = {"scripted": (b"EVALSHA", SCRIPTS["claim"].sha, *wire), "native": (b"EMQ.CLAIM", *wire)}
        given, clear = line.pack(ground.given("pending", attempts=b"0")), line.pack([ground.clear()])
        for _ in range(rounds):
            for name, command in ways.items():
                line.send(given)
                best[name] = max(best[name], _rate(program, target.socket, jobs, command))
                for asked, expected in ground.all_in("active"):
                    got = line.ask(*asked)
                    if got != expected:
                        raise WorkNotDone(f"{program} ({name}): {asked[0].decode()} should be {expected}, and is {got}")
                line.send(clear)
    return Pipelined(program.rpartition("/")[2], best["scripted"], best["native"])


def _rate(program: str, socket: str, count: int, command: tuple[bytes, ...]) -> float:
    done = subprocess.run(
        [program, "-s", socket, "-n", str(count), "-P", "16", "-c", "8", "--csv", *(part.decode() for part in command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    rates = _RATE.findall(done.stdout)
    if done.returncode != 0 or not rates:
        raise WorkNotDone(f"{program} gave no figure: {(done.stderr or done.stdout).strip()[-200:]}")
    return float(rates[-1])
