"""``emqlab bench``: one run, what is printed."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis

from emqlab import errors
from emqlab.bench.chart import draw
from emqlab.bench.memory import footprint
from emqlab.bench.options import ROUNDS
from emqlab.bench.pipelined import pipelined
from emqlab.bench.report import Result
from emqlab.bench.rounds import Progress, WorkNotDone, measure
from emqlab.bench.target import CannotBench, OwnTarget, RemoteTarget, Target
from emqlab.bench.workloads import ROWS, Row
from emqlab.native.module import CannotBuild
from emqlab.native.module.build import on_stderr
from emqlab.servers.binaries import NoServer
from emqlab.servers.process import CannotStart

MEASURED, NOT_DONE, UNUSABLE, LOST = 0, 1, 2, 3


def bench(
    *,
    server: str = "valkey",
    verbs: Sequence[Sequence[str]] | None = None,
    rounds: int = ROUNDS,
    chart: Path | None = None,
    memory: int | None = None,
    as_json: bool = False,
) -> int:
    """``emqlab bench``: the exit status. The arguments are those of ``bench_options``, as it parsed them."""
    try:
        if memory is not None:
            return _memory(server, memory, as_json=as_json, alone=verbs is None and chart is None)
        chosen = [verb for some in verbs or () for verb in some]
        rows = [row for row in ROWS.values() if not chosen or row.verb in chosen]
        with _opened(server) as target:
            result = _result(target, rows, rounds)
        print(json.dumps(result.json()) if as_json else result.text())
        if chart is not None:
            _draw(result, chart)
    except WorkNotDone as error:
        return _said(f"not measured: {error}", NOT_DONE)
    except (NoServer, CannotBuild, CannotStart, CannotBench, ValueError, errors.WrongVersion) as error:
        return _said(str(error), UNUSABLE)
    except (redis.ConnectionError, redis.TimeoutError, errors.ServerLost) as error:
        return _said(f"the server was lost: {error}; start it and measure again", LOST)
    return MEASURED


def _opened(server: str) -> Target:
    if server in ("valkey", "auto"):
        return OwnTarget(on_stderr)
    if server == "embedded":
        raise CannotBench("the embedded server keeps no account of its commands' time; use --server valkey, or a URL")
    if "://" in server:
        return RemoteTarget(server)
    raise CannotBench(f"--server must be valkey or a URL (redis://, rediss:// or unix://), not {server!r}")


def _result(target: Target, rows: Sequence[Row], rounds: int) -> Result:
    with _shown("round") as progress:
        measured, ping = measure(target, rows, rounds, progress)
    claims = any(row.verb == "claim" for row in rows)
    per_second = pipelined(target) if claims else "claim was not measured"
    return Result(target.name, rounds, measured, ping, target.limit_missing, per_second)


def _memory(server: str, calls: int, *, as_json: bool, alone: bool) -> int:
    if server not in ("valkey", "auto"):
        raise CannotBench("--memory compares servers of the lab's own with each other; leave --server out")
    if not alone:
        raise CannotBench("--memory runs all verbs and draws nothing; leave --verb and --chart out")
    with _shown("call") as progress:
        found = footprint(calls, on_stderr, progress)
    print(json.dumps(found.json()) if as_json else found.text())
    return MEASURED


def _draw(result: Result, path: Path) -> None:
    try:
        draw(result, path)
    except OSError as error:
        raise CannotBench(f"--chart {path}: can't be written: {error.strerror or error}; name another file") from None
    on_stderr(f"chart: {path}")


@contextmanager
def _shown(what: str) -> Iterator[Progress]:
    """A line on a terminal that says how much is done; nothing elsewhere."""
    terminal = sys.stderr.isatty()

    def progress(done: int, of: int) -> None:
        if terminal:
            print(f"\r{what} {done:,} of {of:,}", end="", file=sys.stderr, flush=True)

    try:
        yield progress
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _said(sentence: str, status: int) -> int:
    print(f"emqlab bench: {sentence}", file=sys.stderr)
    return status
