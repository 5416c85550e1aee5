"""A time limit for one thing after another."""

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from emqlab.servers.limit import Limit
from tests.servers.real import wait_until

PATIENCE_S = 30


class Struck:
    """Says when its limit has struck."""

    def __init__(self) -> None:
        self.told = threading.Event()
        self.times = 0

    def strike(self) -> None:
        """It has."""
        self.times += 1
        self.told.set()


@pytest.fixture
def struck() -> Struck:
    """What is told."""
    return Struck()


@pytest.fixture
def limit(struck: Struck) -> Iterator[Limit]:
    """Its limit."""
    made = Limit(struck.strike)
    yield made
    made.close()


def test_what_takes_too_long_is_told_once(limit: Limit, struck: Struck) -> None:
    """And then nothing is running any more."""
    limit.begin(0.01)
    assert struck.told.wait(PATIENCE_S)
    assert (False, 1) == (limit.running, struck.times)


def test_what_ends_in_time_is_not_told(limit: Limit, struck: Struck) -> None:
    """The one after it is, by its own limit, though that is far shorter than what the thread was sleeping for."""
    limit.begin(PATIENCE_S)
    limit.end()
    assert not limit.running
    limit.begin(0.01)
    assert struck.told.wait(PATIENCE_S / 2)
    assert 1 == struck.times


def test_the_next_has_its_whole_time(limit: Limit, struck: Struck) -> None:
    """A limit that began earlier does not strike in one that began later."""
    limit.begin(0.01)
    limit.end()
    begun = time.monotonic()
    limit.begin(0.1)
    assert struck.told.wait(PATIENCE_S)
    assert time.monotonic() - begun >= 0.1
    assert 1 == struck.times


def test_one_thread_serves_them_all(limit: Limit) -> None:
    """However many begin and end."""
    threads = set()
    for _ in range(20):
        limit.begin(PATIENCE_S)
        threads.add(limit._thread)
        limit.end()
    assert 1 == len(threads)


def test_close_ends_its_thread(struck: Struck) -> None:
    """Without waiting for anything; what was running is not told."""
    limit = Limit(struck.strike)
    limit.begin(PATIENCE_S)
    thread = limit._thread
    assert thread is not None
    limit.close()
    thread.join(PATIENCE_S)
    assert (False, 0) == (thread.is_alive(), struck.times)


def test_it_keeps_nothing_alive() -> None:
    """A lab that nobody closed can still be collected, and its server ended."""
    struck = Struck()
    limit = Limit(struck.strike)
    limit.begin(PATIENCE_S)
    limit.end()
    gone = weakref.ref(struck)
    del struck
    gc.collect()
    assert None is gone()
    limit.close()


def test_its_thread_ends_with_what_it_acts_on() -> None:
    """At once, though it was to sleep for long."""
    struck = Struck()
    limit = Limit(struck.strike)
    limit.begin(0.01)
    assert struck.told.wait(PATIENCE_S)
    wait_until(lambda: _sleeps(limit), "its thread sleeps")
    thread = limit._thread
    assert thread is not None
    del struck
    gc.collect()
    thread.join(PATIENCE_S / 2)
    assert not thread.is_alive()


def _sleeps(limit: Limit) -> bool:
    """Whether its thread has gone to sleep for long: it lets go of the turn only then."""
    with limit._turn:
        return limit._wakes > time.monotonic() + PATIENCE_S


def test_it_remembers_that_it_has_struck_until_the_next(limit: Limit, struck: Struck) -> None:
    """Whoever asks why is told; what begins after it has done nothing yet."""
    limit.begin(0.01)
    assert struck.told.wait(PATIENCE_S)
    limit.end()
    was = limit.struck
    limit.begin(PATIENCE_S)
    assert (True, False) == (was, limit.struck)


def test_it_ends_while_it_is_looked_at() -> None:
    """What ends between two looks of the thread has ended: nothing is told, and the thread goes on."""
    struck = Struck()
    limit = Limit(struck.strike)
    for _ in range(300):
        limit.begin(0.0005)
        limit.end()
    limit.begin(0.01)
    assert struck.told.wait(PATIENCE_S)
    assert limit._thread is not None
    assert limit._thread.is_alive()
    limit.close()


def test_once_closed_nothing_begins(struck: Struck) -> None:
    """No thread is left to watch it."""
    limit = Limit(struck.strike)
    limit.close()
    limit.begin(0.01)
    assert (False, None) == (limit.running, limit._thread)


#: A fork of a process whose limit is running: it must be told, by a thread of its own.
_FORKING = """
import os, threading, warnings
from emqlab.servers.limit import Limit

warnings.simplefilter("ignore")
told = threading.Event()

class Struck:
    def strike(self):
        told.set()

struck = Struck()
limit = Limit(struck.strike)
limit.begin(60)
child = os.fork()
if child == 0:
    limit.begin(30)
    limit.begin(0.01)
    os._exit(0 if told.wait(30) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or told.is_set())
"""


def test_a_fork_has_a_thread_of_its_own() -> None:
    """Threads don't come along, and nobody there gives back what the parent's held."""
    done = subprocess.run([sys.executable, "-c", _FORKING], capture_output=True, timeout=PATIENCE_S, check=False)
    assert (0, b"") == (done.returncode, done.stderr)
