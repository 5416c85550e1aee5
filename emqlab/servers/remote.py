"""A server of the user's own, by its URL (SPEC 10). The lab touches only the queues that it was given."""

import secrets
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import redis

from emqlab import errors, keys
from emqlab.replies import ERROR_REPLIES, ErrorReply, ask, ask_all, error_reply
from emqlab.servers import cluster
from emqlab.servers.address import Address
from emqlab.servers.bounds import CannotRun, shared, shown, trespass
from emqlab.servers.queue_lock import BUSY_MS, QueueLock
from emqlab.servers.survey import under
from emqlab.transitions import Call

#: What a case needs to be run, looked at and cleaned up after; tried on a key that is not there.
_NEEDED: tuple[tuple[str | int, ...], ...] = (
    ("TYPE",), ("PTTL",), ("HGETALL",), ("ZRANGE", 0, -1, "WITHSCORES"), ("SMEMBERS",), ("LRANGE", 0, -1), ("GET",),
    ("DEL",),
)  # fmt: skip
_RIGHTS = (
    "+info +time +scan +type +pttl +hgetall +zrange +smembers +lrange +get +set +del +eval ~emq:{queue}:* ~{emq}:*"
)


class RemoteServer:
    """``remote``: a server or a cluster that somebody else runs. Its clock and its life are not the lab's.

    Raises ValueError, one sentence, when it can't be opened, and WrongVersion when it holds another wire version.
    """

    name = "remote"
    movable = False
    ticks = True
    restartable = False
    overran = None

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self.lock: AbstractContextManager[bool, None] = threading.RLock()
        #: Another lab on the same server has another one, most likely: ids must not be minted twice.
        self.node = secrets.randbelow(1024)
        self.nodes: cluster.Nodes | None = None
        #: The lock of the queue that is kept from others; the queue once a case is run on it.
        self._held: QueueLock | None = None
        self._queue: bytes | None = None
        self._epoch: bytes | None = None
        self.client: redis.Redis = self.address.client()
        with self._opening():
            self._look()
            self._claim()
        #: The same client: no rule of a case's changes what the user of the URL may see.
        self.observer: redis.Redis = self.client
        #: How long the wire version was to live before the case, as PTTL answers.
        self._lasting = -1
        self.shared: frozenset[bytes] | None = frozenset()
        self._admitted: bytes | None = None

    # -- opening

    @contextmanager
    def _opening(self) -> Iterator[None]:
        try:
            yield
        except errors.WrongVersion:
            self.close()
            raise
        except (redis.RedisError, OSError) as error:
            self.close()
            raise ValueError(self.address.failure(error)) from None
        except ValueError:
            self.close()
            raise

    def _look(self) -> None:
        """Find out what it is: alone or a cluster, and able to run scripts."""
        told = self._told(("INFO", "server"), ("INFO", "cluster"), ("EVAL", "return 1", 0))
        server, shape, script = told
        version = _field(server, b"redis_version")
        old = version is not None and version.split(b".")[0].isdigit() and int(version.split(b".")[0]) < 5
        if old or (isinstance(script, ErrorReply) and script.text.startswith("ERR unknown command")):
            spoken = f"speaks Redis {version.decode('utf-8', 'replace')}" if version else "knows no EVAL"
            raise ValueError(f"{self.address} {spoken}, too old for the scripts; give a server of Redis 5 or later")
        if _field(shape, b"cluster_enabled") == b"1":
            self.nodes = cluster.Nodes(self.address.connection_class, self._tcp_options())
            self.client.connection_pool.disconnect()
            self.client = cluster.connect(self.nodes)

    def _tcp_options(self) -> dict[str, Any]:
        if self.address.scheme == "unix":
            raise ValueError(f"{self.address} is a node of a cluster; give its redis:// URL, the others are reached so")
        return self.address.options

    def _claim(self) -> None:
        claimed, version = self._told(("SET", keys.VERSION_KEY, keys.VERSION, "NX"), ("GET", keys.VERSION_KEY))
        if isinstance(claimed, ErrorReply):
            if claimed.code == "READONLY":
                raise ValueError(f"{self.address} is a read-only replica; give the URL of its primary")
            if claimed.code == "NOPERM":
                raise ValueError(
                    f"{self.address}: this user may not claim the wire version ({claimed.text}); give it"
                    " +set +get ~{emq}:*"
                )
            raise ValueError(f"{self.address} refused to hold the wire version: {claimed.text}")
        if isinstance(version, ErrorReply) and version.code == "NOPERM":
            raise ValueError(
                f"{self.address}: this user may not read the wire version ({version.text}); give it +get ~{{emq}}:*"
            )
        if version != keys.VERSION:
            raise _other_version(version)

    def _told(self, *commands: Sequence[bytes | str | int], client: redis.Redis | None = None) -> list[Any]:
        """The replies, an error as an ErrorReply. Raises redis-py's errors for a lost connection or login."""
        replies = ask_all(client or self.client, commands)
        return [error_reply(reply) if isinstance(reply, ERROR_REPLIES) else reply for reply in replies]

    def native_missing(self) -> str | None:
        """Why native verbs can't be sent there, in one sentence that says what to do; None when they can."""
        (known,) = self._asked(("COMMAND", "INFO", "EMQ.CLAIM"))
        if isinstance(known, ErrorReply):
            # No right to COMMAND. Without arguments the verb itself answers that they are missing, or is unknown.
            (known,) = self._asked(("EMQ.CLAIM",))
            there = isinstance(known, ErrorReply) and not known.text.startswith("ERR unknown command")
        else:
            there = bool(known) and known[0] is not None
        if there:
            return None
        return (
            f"{self.address} has no EMQ commands: load the module there (`emqlab native build`, then start the server"
            " with --loadmodule and the file it names), or do without: lab.scripted in Python, --executor scripted or"
            " --native optimistic for `emqlab run`"
        )

    # -- the clock and the epoch

    @property
    def run_id(self) -> bytes:
        """The epoch in force; in a cluster that of the node that holds the case's queue."""
        if self._epoch is not None:
            return self._epoch
        (info,) = self._asked(("INFO", "server"))
        if isinstance(info, ErrorReply):
            raise errors.Forbidden(info.text)
        return _field(info, b"run_id") or b""

    def now_ms(self) -> int:
        """The server's time; in a cluster that of the node that holds the case's queue."""
        (reply,) = self._asked(("TIME",))
        if isinstance(reply, ErrorReply):
            raise errors.Forbidden(reply.text)
        return int(reply[0]) * 1000 + int(reply[1]) // 1000

    def advance(self, ms: int) -> None:
        """Refuse: it is everybody's clock."""
        raise NotImplementedError(f"{self.address}: the clock of a server of your own can't be moved")

    def restart(self) -> None:
        """Refuse: others may be using it."""
        raise NotImplementedError(f"{self.address}: a server of your own is not restarted by the lab")

    def _asked(self, *commands: Sequence[bytes | str | int]) -> list[Any]:
        """As ``_told``, of the one node that holds the case's queue. Raises ServerLost."""
        try:
            if self.nodes is None:
                return self._told(*commands)
            pool = self.nodes.pool_of(keys.base(self._queue or b""))
            return self._told(*commands, client=redis.Redis(connection_pool=pool))
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error

    # -- clients

    def connect(self, **options: Any) -> redis.Redis:
        """One more client, with redis-py's options in the place of the URL's: ``username=``, ``password=``."""
        if self.nodes is None:
            return self.address.client(**options)
        return cluster.connect(cluster.Nodes(self.address.connection_class, {**self.address.options, **options}))

    def pool_of(self, key: bytes) -> Any:
        """A pool of connections to the one server that holds ``key``."""
        return self.client.connection_pool if self.nodes is None else self.nodes.pool_of(key)

    def moved(self, reply: str) -> None:
        """Learn from ``MOVED slot host:port``."""
        if self.nodes is not None:
            self.nodes.moved(reply)

    def hang_up(self) -> None:
        """Close the connections; the next command opens new ones."""
        self.client.connection_pool.disconnect()
        if self.nodes is not None:
            self.nodes.hang_up()

    def close(self) -> None:
        """Let go of it; nothing of the lab's stays behind but ``{emq}:version``."""
        self.hang_up()
        if self._held is not None:
            with suppress(errors.ServerLost, redis.RedisError):
                self._finish(self._held.queue)
            self.hang_up()

    # -- cases

    def admit(self, queue: bytes, raw: Sequence[Sequence[bytes]], calls: Iterable[Call]) -> None:
        """Look at a case before it is begun: its raw commands as they are sent, and its transitions.

        Raises CannotRun when this server can't run it, as it would touch what is not its own.
        """
        if self.nodes is not None and queue[:1] in (b"", b"}"):
            raise CannotRun(
                f"the queue {shown(queue)} has no hashtag of its own, so a cluster spreads it; name it otherwise"
            )
        why = trespass(queue, raw, calls)
        if why:
            raise CannotRun(why)
        self.shared = frozenset({*shared(raw), keys.VERSION_KEY})
        self._admitted = queue

    def begin_case(self, queue: bytes) -> None:
        """Keep others out and look before anything is written.

        Raises CannotRun when the queue holds a key, when a case is being run on it, or when the user lacks a right.
        """
        if self._admitted != queue:
            raise RuntimeError("a case is admitted before it is begun on a user's server")
        self._admitted = None
        if self._held is not None:
            self._finish(self._held.queue)
        with self._lost():
            # A keyed command first: in a cluster its reply tells where the queue lives.
            self._told(("TYPE", keys.base(queue)))
            self._occupy(queue)
        try:
            self._look_around(queue)
            # From here on there may be something to clean up.
            self._queue = queue
            self._epoch = None
            self.now_ms()
            self._epoch = self.run_id
        except errors.Forbidden as error:
            self._let_go()
            raise self._lacks(ErrorReply(error.text)) from None
        except BaseException as error:
            if not isinstance(error, (CannotRun, errors.WrongVersion)):
                self.hang_up()
            self._let_go()
            raise

    def _finish(self, queue: bytes) -> None:
        """End a case that was left behind by a signal that came just before it or after it."""
        self.hang_up()
        if self._queue is not None:
            self.end_case(queue, plain=True)
        self._let_go()

    def _occupy(self, queue: bytes) -> None:
        lock = QueueLock(queue)
        # Nobody takes what he could not give back.
        self._rehearse(lock.rehearsal())
        self._held = lock
        try:
            (taken,) = self._told(lock.take())
        except BaseException:
            self.hang_up()
            self._let_go()
            raise
        if taken == b"OK":
            return
        self._held = None
        if isinstance(taken, ErrorReply):
            if taken.code == "NOPERM":
                raise self._lacks(taken)
            raise CannotRun(f"{self.address} refused to hold {shown(lock.key)}: {taken.text}; see to it")
        raise CannotRun(
            f"a case is being run on the queue {shown(queue)} on {self.address}; wait for it to end, or give the case"
            f" another queue (a run that was killed keeps it for {BUSY_MS // 60_000} minutes)"
        )

    def _let_go(self) -> None:
        """Give the queue back, if it is still held. An error is nobody's concern: the lock ends by itself."""
        if self._held is not None:
            with suppress(redis.RedisError, OSError):
                self._told(self._held.let_go())
        self._held = self._queue = self._epoch = None

    def _look_around(self, queue: bytes) -> None:
        """See that the queue is empty, the case's other keys are nobody's, and the user has the rights."""
        base = keys.base(queue)
        others = sorted((self.shared or frozenset()) - {keys.VERSION_KEY})
        with self._lost():
            try:
                found = next(under(self.client, base), None)
            except redis.ResponseError as error:
                raise self._lacks(error_reply(error)) from None
            if found is not None:
                raise CannotRun(
                    f"the queue {shown(queue)} is not empty on {self.address}: there is {shown(found)}; empty it, give"
                    f" the case another queue, or run it elsewhere: {self._elsewhere()}"
                )
            self._rehearse([(name, base, *rest) for name, *rest in _NEEDED])
            for name, kind in zip(others, self._told(*(("TYPE", name) for name in others)), strict=True):
                if kind != b"none":
                    raise CannotRun(
                        f"{shown(name)} is there already on {self.address}; let the case use a key of its own"
                    )
            _, version, self._lasting = self._told(
                ("SET", keys.VERSION_KEY, keys.VERSION, "NX"), ("GET", keys.VERSION_KEY), ("PTTL", keys.VERSION_KEY)
            )
        if version != keys.VERSION:
            raise _other_version(version)

    def end_case(self, queue: bytes, *, plain: bool) -> None:
        """Remove what the case made, key by key, and put the wire version back. Raises ServerLost."""
        if sys.exc_info()[0] is not None:
            # Whatever broke in, it may have left replies unread.
            self.hang_up()
        try:
            self._clean(queue)
        except (KeyboardInterrupt, SystemExit):
            self.hang_up()
            self._clean(queue)
            raise
        finally:
            self._let_go()

    def _clean(self, queue: bytes) -> None:
        with self._lost():
            made = {*under(self.client, keys.base(queue)), *(self.shared or ())} - {keys.VERSION_KEY}
            names = sorted(made)
            for start in range(0, len(names), 500):
                ask_all(self.client, [("DEL", name) for name in names[start : start + 500]])
            version, ttl_ms = self._told(("GET", keys.VERSION_KEY), ("PTTL", keys.VERSION_KEY))
            if version != keys.VERSION or (ttl_ms == -1) != (self._lasting == -1):
                lasting = ("PX", self._lasting) if self._lasting > 0 else ()
                ask(self.client, "SET", keys.VERSION_KEY, keys.VERSION, *lasting)

    def _elsewhere(self) -> str:
        """Where a case may find its queue empty; only what is no cluster has databases to choose from."""
        other = "" if self.nodes is not None else "in another database (the number at the end of the URL), "
        return f"{other}on an empty server, or on the embedded one"

    def _rehearse(self, commands: Iterable[Sequence[bytes | str | int]]) -> None:
        for reply in self._told(*commands):
            if isinstance(reply, ErrorReply) and reply.code == "NOPERM":
                raise self._lacks(reply)

    def _lacks(self, reply: ErrorReply) -> CannotRun:
        return CannotRun(f"{self.address}: this user may not run cases ({reply.text}); a case needs {_RIGHTS}")

    @contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise errors.ServerLost(str(error)) from error


def _field(info: Any, name: bytes) -> bytes | None:
    """One line of an INFO reply."""
    if not isinstance(info, bytes):
        return None
    return next((line[len(name) + 1 :] for line in info.splitlines() if line.startswith(name + b":")), None)


def _other_version(version: Any) -> errors.WrongVersion:
    """What is said of another wire version, which may be what a killed run has left."""
    error = errors.WrongVersion(version if isinstance(version, bytes) else b"")
    cure = f"SET {keys.VERSION_KEY.decode()} {keys.VERSION.decode()}"
    error.args = (f"{error}; if nobody speaks it and an `emqlab run` was killed here, send {cure}",)
    return error
