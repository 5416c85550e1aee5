"""A real Valkey or Redis of the lab's own (SPEC 10): it starts it, moves its clock, restarts and empties it."""

import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from emqlab import keys
from emqlab.errors import EmqError, ServerLost
from emqlab.native.module.build import on_stderr
from emqlab.replies import ask, ask_all
from emqlab.servers.binaries import find_binary
from emqlab.servers.bounds import CannotRun
from emqlab.servers.limit import Limit
from emqlab.servers.process import CannotStart, Ended, ServerProcess, Setting
from emqlab.servers.shim import clock_shim
from emqlab.servers.survey import program
from emqlab.transitions import Call

#: A case that takes longer has blocked its server, or itself: the server is killed, so that others can go on.
CASE_LIMIT_S = 60.0

#: What is said when there is nobody to talk to.
CLOSED = "the lab is closed; open another"
ENDED = "the server has ended; lab.restart() starts it again on its data"

#: The user of the lab's own connections: no rule that a case gives the default user can limit it.
_INSIDE = "(emqlab)"


class ClockFixed(EmqError, NotImplementedError):
    """The clock of this server can't be moved. One sentence that says what it would take."""


class ValkeyServer:
    """``valkey``: a private server on a unix socket, with the native verbs in ``module`` if that is given.

    ``binary`` is what find_binary finds unless told, ``config`` more of the server's settings, ``node`` the node number
    in the ids minted for it. Raises NoServer, CannotStart.
    """

    name = "valkey"
    ticks = True
    restartable = True
    shared: frozenset[bytes] | None = None

    def __init__(
        self,
        binary: Path | str | None = None,
        *,
        module: Path | str | None = None,
        config: Mapping[str, Setting] | None = None,
        node: int = 0,
    ) -> None:
        self.module = module
        self.node = node
        self.lock: AbstractContextManager[bool, None] = threading.RLock()
        self.process = ServerProcess(
            binary or find_binary(),
            modules=[] if module is None else [module],
            config={**(config or {}), "user": _users(password := secrets.token_hex(), config or {})},
            shim=clock_shim(on_stderr),
        )
        self._stands_at: int | None = None
        #: The epoch, and the process that has it.
        self._epoch: tuple[int | None, bytes] | None = None
        self._limit = Limit(self.process.kill)
        self.client: redis.Redis = self.connect()
        self.observer: redis.Redis = self.connect(username=_INSIDE, password=password)
        try:
            self._first_start()
        except BaseException:
            self.process.close()
            raise
        clock = self.process.clock
        self.movable = clock is not None and clock.watched
        self.version = program(self._info())

    def _first_start(self) -> None:
        try:
            self.process.start()
        except Ended as error:
            if self.process.clock is None or not error.crashed:
                raise
            # It may have been the clock, which a lab can do without.
            self.process.clock = None
            self.process.start()

    # -- what any server has

    @property
    def run_id(self) -> bytes:
        """The epoch in force: 40 hex characters, new at every start of the process."""
        pid, known = self.process.pid, self._epoch
        if known is None or pid is None or known[0] != pid:
            # Another thread may restart it meanwhile: then the process is another one the next time.
            known = self._epoch = (pid, self._info()["run_id"].encode())
        return known[1]

    def now_ms(self) -> int:
        """The server's time."""
        return self._now_us() // 1000

    def advance(self, ms: int) -> None:
        """Move the server's clock by ``ms``; TIME, expiry and leases follow. Raises ClockFixed, NoSuchTime."""
        self._clock().advance(ms, self._now_us)

    @property
    def stands_at(self) -> int | None:
        """Where the clock stands at the begin of each case, ms since 1970; None while it runs."""
        return self._stands_at

    def stand_still(self, at_ms: int | None) -> None:
        """Let the clock stand at ``at_ms`` until it is moved, now and at the begin of each case; None lets it run.

        While it stands, timeouts of blocking commands do not end. Raises TypeError, ClockFixed, NoSuchTime, ServerLost;
        the clock is as it was then.
        """
        if at_ms is not None and (isinstance(at_ms, bool) or not isinstance(at_ms, int)):
            raise TypeError(f"at_ms must be an int or None, not {type(at_ms).__name__}")
        clock = self._clock()
        if at_ms is None:
            clock.reset(self._now_us)
        else:
            clock.stand(at_ms, self._now_us)
        self._stands_at = at_ms

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Let the clock stand at this moment in each case that this thread begins meanwhile, where it can be moved.

        Others wait until it runs again. One that stands already stays as it is.
        """
        with self.lock:
            if not self.movable or self._stands_at is not None:
                yield
                return
            # A case's begin sets the clock: a process that has ended is only then another one.
            self._stands_at = time.time_ns() // 1_000_000
            try:
                yield
            finally:
                self._stands_at = None
                with suppress(EmqError):  # a server that was lost has no clock, and says so itself
                    self.stand_still(None)

    def connect(self, **options: Any) -> redis.Redis:
        """One more client; ``username`` and ``password`` make it an ACL user's, ``protocol=3`` RESP3.

        Bytes in and out, no retries: a call that was sent again could lease a second job. No time limit either, for a
        client may wait for a job as long as it likes.
        """
        own: dict[str, Any] = {
            "protocol": 2,
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": None,
            "socket_connect_timeout": None,
            "driver_info": None,
        }
        client = redis.Redis(unix_socket_path=self.process.socket, **{**own, **options})
        client.connection_pool.connection_class = _Connection
        return client

    def restart(self, *, kill: bool = True) -> None:
        """A new process on the same data, with a new run_id. The old one is killed, or asked to stop.

        Raises ServerLost when the new one does not start.
        """
        with self.process.turn:
            self.process.kill() if kill else self.process.stop()
            self._start_again()

    # -- cases

    def admit(self, queue: bytes, raw: Sequence[Sequence[bytes]], calls: Iterable[Call]) -> None:
        """Anything goes, for the server is the lab's own, but what would blind the lab. Raises CannotRun."""
        for command in raw:
            if command[0].upper() == b"ACL" and _INSIDE.encode() in command[1:]:
                raise CannotRun(
                    f"the user {_INSIDE} is the lab's own, by which it looks; let the case use another name"
                )

    def begin_case(self, queue: bytes) -> None:
        """Start from nothing: no key, no script, the clock at its beginning, the wire version claimed."""
        self._limit.begin(CASE_LIMIT_S)
        try:
            if not self.process.ready:
                self._replace()
            self._turn_clock_back()
            self._empty()
        except redis.ConnectionError as error:
            self._limit.end()
            raise ServerLost(str(error)) from error
        except BaseException:
            self._limit.end()
            raise

    def end_case(self, queue: bytes, *, plain: bool) -> None:
        """A case that sent more than plain data commands takes its server with it: users, settings, Lua state."""
        self._limit.end()
        if not plain:
            self._replace()

    @property
    def overran(self) -> str | None:
        """Why the last case has no server any more, if it took too long."""
        return f"the case took longer than {CASE_LIMIT_S:g} s, and its server was ended" if self._limit.struck else None

    def hang_up(self) -> None:
        """Close the idle connections of the lab's clients; the next command opens new ones."""
        for client in (self.client, self.observer):
            # One in use is another thread's: it finds out by itself, from the end of the process.
            client.connection_pool.disconnect(inuse_connections=False)

    def close(self) -> None:
        """End the process; the data goes with it, and later commands fail."""
        self._limit.close()
        self.process.close()
        self.hang_up()

    # -- inside

    def _replace(self) -> None:
        with self.process.turn:
            self.process.kill()
            self.process.forget_data()
            self._start_again()
        self._ask("SET", keys.VERSION_KEY, keys.VERSION)

    def _start_again(self) -> None:
        self._epoch = None
        self.hang_up()
        try:
            self.process.start()
        except CannotStart as error:
            if self.process.closed:
                raise ServerLost(CLOSED) from None
            raise ServerLost(str(error)) from error

    def _empty(self) -> None:
        """Leave nothing of an earlier case: not its keys, nor the scripts it loaded."""
        for reply in ask_all(
            self.observer, [("FLUSHALL",), ("SCRIPT", "FLUSH"), ("SET", keys.VERSION_KEY, keys.VERSION)]
        ):
            if isinstance(reply, redis.ResponseError):
                raise reply

    def _turn_clock_back(self) -> None:
        clock = self.process.clock
        if clock is None or not clock.watched:
            return
        if self._stands_at is not None:
            clock.stand(self._stands_at, self._now_us)
        elif clock.moved:
            clock.reset(self._now_us)

    def _clock(self) -> Any:
        clock = self.process.clock
        if clock is None or not clock.watched:
            raise ClockFixed(
                f"the clock of the {self.name} server can't be moved here: that takes Linux, and a C compiler once; "
                "use server='embedded'"
            )
        return clock

    def _now_us(self) -> int:
        seconds, micros = self._ask("TIME")
        return int(seconds) * 1_000_000 + int(micros)

    def _ask(self, *command: bytes | str) -> Any:
        try:
            return ask(self.observer, *command)
        except redis.ConnectionError as error:
            raise ServerLost(str(error)) from error

    def _info(self) -> dict[str, str]:
        lines = self._ask("INFO", "server").decode().splitlines()
        return {name: value for name, _, value in (line.partition(":") for line in lines)}


class _Connection(redis.UnixDomainSocketConnection):
    """A connection to the lab's own server, which says in the lab's words that the server is not there."""

    def _error_message(self, exception: BaseException) -> str:
        return ENDED if Path(self.path).parent.is_dir() else CLOSED


def _users(password: str, config: Mapping[str, Setting]) -> list[str]:
    given = config.get("user", ())
    return [*([given] if isinstance(given, str) else given), f"{_INSIDE} on >{password} ~* &* +@all"]
