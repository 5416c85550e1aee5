"""Which executors ``emqlab run`` uses, and what the optimistic host cost beside the scripts."""

import time
from typing import TYPE_CHECKING, Any

from emqlab import ids
from emqlab.executor import Executor
from emqlab.replies import NotSent
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.transitions import Call

if TYPE_CHECKING:
    from emqlab.lab import Lab


class TimedScripts(ScriptedExecutor):
    """The scripts, and how long their calls took: what the optimistic host is held against."""

    calls = 0
    seconds = 0.0

    def perform(self, call: Call) -> Any:
        """Perform one transition, by the watch."""
        started = time.perf_counter()
        reply = super().perform(call)
        if not isinstance(reply, NotSent):
            self.calls += 1
            self.seconds += time.perf_counter() - started
        return reply


def chosen(lab: "Lab", names: tuple[str, ...], native: str) -> dict[str, Executor]:
    """The executors that are asked for. Raises ValueError when the native one can't be had."""
    from emqlab.lab import MissingNative

    server = lab.server
    if native == "optimistic":
        from emqlab.native.optimistic import OptimisticExecutor

        if server.name == "embedded":
            raise ValueError("--native optimistic is for a real server; give --server valkey or a URL")
        mint = ids.Mint(server.now_ms, server.node).next
        pools: Any = server if hasattr(server, "pool_of") else None
        return {
            "scripted": TimedScripts(lab.client, mint),
            "native": OptimisticExecutor(lab.client, mint, pools=pools),
        }
    if "native" in names and isinstance(lab.native, MissingNative):
        raise ValueError(lab.native.why)
    return {"scripted": lab.scripted, "native": lab.native}


def counted(number: int, one: str, many: str = "") -> str:
    """``1 case``, ``2 cases``; ``many`` is the plural of a word that takes no s."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def cost_of(executors: dict[str, Executor]) -> str | None:
    """What the optimistic host has cost in this run, in one line; None when it was not used."""
    cost = getattr(executors["native"], "cost", None)
    if cost is None or not cost.calls:
        return None
    told = (
        f"optimistic host: {counted(cost.calls, 'call')}, {cost.round_trips / cost.calls:.1f} round trips a call,"
        f" {counted(cost.retries, 'retry', 'retries')}"
    )
    scripts = executors["scripted"]
    if isinstance(scripts, TimedScripts) and scripts.calls:
        times = (cost.seconds / cost.calls) / (scripts.seconds / scripts.calls)
        told += f", {times:.1f} times a scripted call's time"
    return told
