"""The moved clock from inside a process that preloads it: what its main thread sees, and what its helpers see."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emqlab.servers.shim import ShimClock, clock_shim

#: Tells the time as its main thread has it, then as another thread does, after it has heard a line.
_TELLING = """
import json, sys, threading, time

def tell():
    told.append(time.time())

for _ in sys.stdin:
    told = []
    tell()
    thread = threading.Thread(target=tell)
    thread.start()
    thread.join()
    print(json.dumps([*told, time.clock_gettime(time.CLOCK_MONOTONIC)]), flush=True)
"""


class Process:
    """A process under the clock."""

    def __init__(self, clock: ShimClock) -> None:
        own = clock.environment(os.environ)
        preloaded = {**os.environ, **own, "LD_PRELOAD": own["EMQLAB_PRELOAD"]}
        self.running = subprocess.Popen(
            [sys.executable, "-I", "-c", _TELLING], env=preloaded, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def told(self) -> Any:
        """The main thread's time, a helper's, and the monotonic one."""
        assert self.running.stdin
        assert self.running.stdout
        self.running.stdin.write(b"\n")
        self.running.stdin.flush()
        return json.loads(self.running.stdout.readline())


@pytest.mark.parametrize("at_ms", [1_000_000_000_000, 4_000_000_000_000], ids=["in the past", "in the future"])
def test_helper_threads_keep_the_real_time(tmp_path: Path, at_ms: int) -> None:
    """A thread that waits until some moment would spin through a clock that stands, or sleep for years."""
    shim = clock_shim()
    if shim is None:
        pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
    clock = ShimClock(shim, tmp_path / "clock")
    process = Process(clock)
    with process.running:
        before = process.told()
        assert 0 <= before[1] - before[0] < 60
        clock.stand(at_ms, lambda: round(process.told()[0] * 1_000_000))
        main, helper, monotonic = process.told()
        assert at_ms / 1000 == main
        assert before[1] <= helper < before[1] + 60
        assert before[2] <= monotonic < before[2] + 60
        clock.reset(lambda: round(process.told()[0] * 1_000_000))
        clock.advance(3_600_000, lambda: round(process.told()[0] * 1_000_000))
        main, helper, _ = process.told()
        assert 3_540 < main - helper < 3_660
        assert process.running.stdin
        process.running.stdin.close()
    clock.close()
