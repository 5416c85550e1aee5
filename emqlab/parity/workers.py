"""Worker processes: each with a server of its own, ended with the process that began them, however that ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from typing import Any


def pool(workers: int | None = None, begin: Callable[..., Any] | None = None, *args: Any) -> ProcessPoolExecutor:
    """As many processes as are asked for, or as there are cores; each begins with ``begin(*args)``, if given."""
    return ProcessPoolExecutor(
        workers or os.cpu_count() or 1,
        # A fresh start: a fork would share this process's connections.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(begin, args),
    )


def end(opened: ProcessPoolExecutor) -> None:
    """End a pool's processes after what each is at, whatever is left to do; who asks again waits for the same."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        opened.shutdown(cancel_futures=True)
    finally:
        if main:
            signal.signal(signal.SIGINT, before)


def at_end(close: Callable[[], Any]) -> None:
    """Have ``close`` called when this worker ends, which runs no atexit."""
    Finalize(None, close, exitpriority=10)


def _begin(begin: Callable[..., Any] | None, args: tuple[Any, ...]) -> None:
    # Ctrl-C reaches the whole group of processes; the one that began these ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()
    if begin is not None:
        begin(*args)


def _follow(sentinel: int) -> None:
    """End with the parent that was killed: its servers' watchers end what this process held."""
    wait([sentinel])
    os._exit(1)
