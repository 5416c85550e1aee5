"""What the module costs in memory: when it is loaded, and after very many calls."""

import time
from dataclasses import dataclass
from typing import Any

from emqlab.bench.line import Line
from emqlab.bench.mix import Mix
from emqlab.bench.rounds import Progress
from emqlab.bench.target import OwnTarget, Target
from emqlab.native.module.build import Tell

_RSS_S = 10.0
_KIB = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes in use by what the server holds, without its clients' buffers, and bytes that its process takes."""

    used: int
    rss: int

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.used - other.used, self.rss - other.rss)


@dataclass(frozen=True, slots=True)
class Footprint:
    """``module`` is what loading it adds; ``first`` after one pass of the mix, ``last`` after ``calls`` calls more."""

    server: str
    calls: int
    module: Usage
    first: Usage
    last: Usage

    @property
    def growth(self) -> Usage:
        """What the calls have left behind."""
        return self.last - self.first

    def json(self) -> dict[str, Any]:
        """The figures as ``--memory --json`` prints them."""
        return {
            "server": self.server,
            "memory": {
                "calls": self.calls,
                "module_used_bytes": self.module.used,
                "module_rss_bytes": self.module.rss,
                "used_bytes": [self.first.used, self.last.used],
                "rss_bytes": [self.first.rss, self.last.rss],
            },
        }

    def text(self) -> str:
        """The figures in words."""
        growth, now = self.growth, self.last
        used, rss = _kib(self.module.used), _kib(self.module.rss)
        return (
            f"{self.server}: memory\n"
            f"loading the module adds {used} in use, {rss} of the process\n"
            f"{self.calls:,} calls of all verbs later there are {_kib(growth.used)} more in use ({_kib(now.used)} now)"
            f" and {_kib(growth.rss)} more of the process ({_kib(now.rss)} now)"
        )


def footprint(calls: int, tell: Tell | None = None, progress: Progress = lambda done, of: None) -> Footprint:
    """Measure on two servers of the lab's own, with and without the module.

    Raises NoServer, CannotBuild, CannotStart, WorkNotDone, redis.ConnectionError.
    """
    with OwnTarget(module=False) as without:
        bare = _usage(without)
    with OwnTarget(tell, limit=False) as target:
        loaded = _usage(target)
        with Line(target.pool) as line:
            mix = Mix(target, line)
            mix.run()
            first = _usage(target)
            done = 0
            while done < calls:
                done += mix.run()
                progress(min(done, calls), calls)
            last = _usage(target)
        return Footprint(target.name, done, loaded - bare, first, last)


def _usage(target: Target) -> Usage:
    """The server's own figures; it looks at its process every tenth of a second, so wait for two looks."""
    deadline = time.monotonic() + _RSS_S
    seen = target.memory()
    begin = target.seconds()
    while (seen["used_memory_rss"] == 0 or target.seconds() < begin + 2) and time.monotonic() < deadline:
        seen = target.memory()
    return Usage(seen["used_memory"] - seen["mem_clients_normal"], seen["used_memory_rss"])


def _kib(value: int) -> str:
    return f"{value / _KIB:,.0f} KiB"
