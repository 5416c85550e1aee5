"""A time limit for one thing after another: one thread that sleeps, for one that is started each time costs more."""

import os
import threading
import time
import weakref
from collections.abc import Callable


class Limit:
    """Calls the method ``act`` when what was begun is not ended in time.

    Its thread begins with the first and ends by close, or when nobody has the method's object any more.
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = weakref.WeakMethod(act, _ending(weakref.ref(self)))
        #: Whether what was begun last took too long.
        self.struck = False
        #: When what has begun must have ended; None: nothing has.
        self._deadline: float | None = None
        self._wakes = 0.0
        self._turn = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._closed = False

    @property
    def running(self) -> bool:
        """Whether something has begun and has not ended."""
        return self._deadline is not None

    def begin(self, seconds: float) -> None:
        """From now on ``seconds`` are left. Once it is closed nothing is watched."""
        self._here()
        with self._turn:
            if self._closed:
                return
            self.struck = False
            self._deadline = deadline = time.monotonic() + seconds
            if self._thread is None:
                self._wakes = deadline
                self._thread = threading.Thread(target=self._watch, name="limit", daemon=True)
                self._thread.start()
            elif deadline < self._wakes:
                self._turn.notify()

    def end(self) -> None:
        """It has ended in time."""
        self._deadline = None

    def close(self) -> None:
        """Nothing is watched any more."""
        self._here()
        with self._turn:
            self._deadline = None
            self._closed = True
            self._turn.notify()

    def _here(self) -> None:
        """In a fork there is no thread yet, and whoever held the turn is not there to give it back."""
        if self._pid != os.getpid():
            self._pid, self._turn, self._thread = os.getpid(), threading.Condition(), None

    def _watch(self) -> None:
        while True:
            with self._turn:
                # What is asked here may be the last that holds it: then it is gone, and closed, after this.
                gone = self._act() is None
                # Read once: it may be ended at any time.
                now, due = time.monotonic(), self._deadline
                late = due is not None and due <= now
                if gone or self._closed:
                    return
                if late:
                    self._deadline, self.struck = None, True
                else:
                    # With nothing begun too: what begins later is late no sooner than this wakes.
                    self._wakes = now + _SLEEP_S if due is None else due
                    self._turn.wait(self._wakes - now)
            if late and (act := self._act()):
                act()
                del act


def _ending(limit: "weakref.ref[Limit]") -> Callable[[object], None]:
    """What ends a limit's thread when the object it acts on is gone, and keeps neither alive."""

    def end(_: object) -> None:
        found = limit()
        if found is not None:
            found.close()

    return end


#: How long it sleeps with nothing to watch; a shorter limit wakes it.
_SLEEP_S = 60.0
