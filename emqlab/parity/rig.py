"""The rig: hundreds of trials in a few round trips, each on two queues of its own, one an executor.

A trial's canonical names, times and epochs become the server's on the way there and canonical again on the way back,
so what comes out is compared with the model's world as it is.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import redis

from emqlab import errors, keys
from emqlab.executor import Executor
from emqlab.keys import VERSION, VERSION_KEY
from emqlab.observe.case import EXECUTORS
from emqlab.parity.batch import Batch, in_step, plain, row
from emqlab.parity.model import Held
from emqlab.parity.trials.trial import BASE, NEXT, NOW_MS, QUEUE, Do, Restart, Trial, Wait, given
from emqlab.replies import ErrorReply, ask, ask_all
from emqlab.servers.bounds import CannotRun
from emqlab.servers.server import Server
from emqlab.servers.survey import under

#: How many trials share their round trips.
BATCH = 500
#: How many names one call of the collecting script is given: it holds the server for a few ms.
_NAMES = 4000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one executor made of a trial: a reply a transition, the canonical keys, and which of them would expire.

    ``raw`` are the texts of the errors among its replies, as the server sent them.
    """

    replies: tuple[Any, ...]
    keys: dict[bytes, Held]
    expiring: frozenset[bytes] = frozenset()
    raw: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Ran:
    """A trial's outcome by executor; times may be up to ``slack_ms`` later than they were foreseen.

    ``stray`` are keys beside its queue that were found after it, or gone: nothing may write them or take them away.

    ``shift_ms`` is how far the server's clock is from the canonical moment: what was a time of its own, and not so
    long from now, has been moved by that much too far.

    An executor that was not run has none: a call whose layout is tried (SPEC 5.1) is not sent to the scripts, which
    take whatever keys and arguments they are given (divergences 5, 19 and 23).
    """

    trial: Trial
    outcomes: dict[str, Outcome]
    slack_ms: int
    shift_ms: int = 0
    stray: tuple[bytes, ...] = ()

    @property
    def scripted(self) -> Outcome:
        """What the scripts made of it; nothing if they were not run."""
        return self.outcomes.get("scripted", Outcome((), {}))

    @property
    def native(self) -> Outcome:
        """What the native verbs made of it; nothing if they were not run."""
        return self.outcomes.get("native", Outcome((), {}))


class Rig:
    """Runs trials on one server's executors. The server must be the rig's alone, or a user's."""

    def __init__(self, server: Server, executors: Mapping[str, Executor]) -> None:
        """``executors`` are both by name, or the one that is looked at."""
        self._server = server
        self._executors = {name: executors[name] for name in EXECUTORS if name in executors}
        self._direct = hasattr(server, "fill")
        # On a user's server the queues' names are nobody else's; on the lab's own they are short.
        self._prefix = b"parity-%s-" % secrets.token_hex(6).encode() if server.name == "remote" else b""
        self._script = (resources.files("emqlab.parity") / "collect.lua").read_bytes()
        self._sha = hashlib.sha1(self._script, usedforsecurity=False).hexdigest()
        self._rehearsed = False

    @property
    def native(self) -> bool:
        """Whether the native verbs are looked at: only they are tried for layouts."""
        return "native" in self._executors

    def run(self, trials: Sequence[Trial]) -> list[Ran]:
        """Run them all at once; they share the steps that are no transitions, in number and place.

        Nothing stays behind: not a key of theirs, and the clock and the epoch are the next batch's again. A trial that
        changes what all queues share is run alone. Raises ServerLost, and CannotRun for such a one on a user's server.
        """
        if self._prefix and not self._rehearsed:
            self._rehearse()
        alone = [trial.alone for trial in trials]
        together = [trial for trial, apart in zip(trials, alone, strict=True) if not apart]
        with self._server.lock:
            try:
                ran = iter(self._unmixed(together))
                return [
                    self._run([trial])[0] if apart else next(ran) for trial, apart in zip(trials, alone, strict=True)
                ]
            except (redis.ConnectionError, redis.TimeoutError) as error:
                raise errors.ServerLost(str(error)) from error

    def _rehearse(self) -> None:
        """See to it that what is put on a user's server can be found and taken away again. Raises ResponseError."""
        name = b"emq:{" + self._prefix + b"}:"
        list(under(self._server.observer, name))
        ask(self._server.observer, "DEL", name)
        self._collect([name])
        self._rehearsed = True

    def _unmixed(self, trials: Sequence[Trial]) -> list[Ran]:
        """Run them together; when a key turns up beside their queues, one by one, to know whose it is."""
        if not trials:
            return []
        ran = self._run(trials)
        if len(trials) > 1 and ran[0].stray:
            return [self._run([trial])[0] for trial in trials]
        return ran

    def _run(self, trials: Sequence[Trial]) -> list[Ran]:
        server = self._server
        own = server.name != "remote"
        if own:
            server.begin_case(b"parity")
        try:
            batch = Batch(self._sides(trials), server.now_ms(), [server.run_id], self._prefix, len(trials))
            self._fill(trials, batch)
            replies = self._steps(trials, batch)
            done_ms = server.now_ms()
            # A trial that has something of everybody's is run alone.
            shared = trials[0].shared if len(trials) == 1 else {}
            found, stray = self._drain(batch, {VERSION_KEY: VERSION, **shared})
        finally:
            if own:
                try:
                    self._put_back()
                finally:
                    server.end_case(b"parity", plain=True)
            else:
                # A call that was interrupted may have left its replies unread.
                server.hang_up()
                self._collected()
        slack_ms = done_ms - batch.now_ms - batch.waited
        out = []
        for place, trial in enumerate(trials):
            outcomes = {
                side: Outcome(
                    tuple(plain(reply) for reply in replies[side][place]),
                    *found.get(batch.queues[side][place], ({}, frozenset())),
                    tuple(reply.text for reply in replies[side][place] if isinstance(reply, ErrorReply)),
                )
                for side in batch.sides
            }
            out.append(Ran(trial, outcomes, slack_ms, batch.now_ms - NOW_MS, stray))
        return out

    def _sides(self, trials: Sequence[Trial]) -> dict[str, Executor]:
        """Who is run: both, but for a layout only the native executor."""
        if len(trials) == 1 and trials[0].laid_out:
            return {name: executor for name, executor in self._executors.items() if name == "native"}
        return self._executors

    # -- there

    def _fill(self, trials: Sequence[Trial], batch: Batch) -> None:
        direct: dict[bytes, Held] = {}
        commands: list[tuple[bytes, ...]] = []
        for place, trial in enumerate(trials):
            bases = [keys.base(queues[place]) for queues in batch.queues.values()]
            start = batch.real(trial.start)
            for command in given(start):
                name = command[1]
                if not name.startswith(BASE):
                    self._share(command)
                    continue
                suffix = name[len(BASE) :]
                if self._direct and command[0] in (b"HSET", b"ZADD"):
                    direct.update((base + suffix, start.keys[name]) for base in bases)
                else:
                    commands += [(command[0], base + suffix, *command[2:]) for base in bases]
        if direct:
            self._server.fill(direct)  # type: ignore[attr-defined]
        for reply in ask_all(self._server.observer, commands):
            if isinstance(reply, redis.ResponseError):
                raise reply

    def _share(self, command: tuple[bytes, ...]) -> None:
        """Put a key in place that all queues share: the next batch's beginning takes it back."""
        if self._prefix:
            raise CannotRun("the wire version is the whole server's, and this one is not the lab's own")
        ask_all(self._server.observer, [(b"DEL", command[1]), command])

    def _steps(self, trials: Sequence[Trial], batch: Batch) -> dict[str, list[list[Any]]]:
        """The replies: executor -> trial -> transition."""
        replies: dict[str, list[list[Any]]] = {side: [[] for _ in trials] for side in batch.sides}
        for steps in in_step(trials):
            first = steps[0]
            if isinstance(first, Wait):
                self._server.advance(first.ms)
                batch.waited += first.ms
            elif isinstance(first, Restart):
                self._server.restart()
                batch.epochs.append(self._server.run_id)
            else:
                for side, executor in batch.sides.items():
                    queues = batch.queues[side]
                    calls = [
                        batch.call(step, queue)
                        for step, queue in zip(steps, queues, strict=True)
                        if isinstance(step, Do)
                    ]
                    for place, reply in enumerate(executor.perform_each(calls)):
                        replies[side][place].append(reply)
        return replies

    # -- and back

    def _drain(
        self, batch: Batch, shared: Mapping[bytes, Held]
    ) -> tuple[dict[bytes, tuple[dict[bytes, Held], frozenset[bytes]]], tuple[bytes, ...]]:
        """What each queue holds, and the keys that are no queue's of this batch and not as ``shared`` has them."""
        if self._direct:
            rows: Iterable[tuple[bytes, bytes, bool, Any]] = self._server.drain()  # type: ignore[attr-defined]
        else:
            rows = map(row, self._collected())
        found: dict[bytes, tuple[dict[bytes, Held], set[bytes]]] = {}
        stray: list[bytes] = []
        ours = frozenset(queue for queues in batch.queues.values() for queue in queues)
        # On a user's server nobody looks at what is not the trials' own.
        gone = set() if self._prefix else set(shared)
        for name, kind, expires, value in rows:
            queue, _, suffix = name[len(b"emq:{") :].partition(b"}:")
            # A call that is laid out for the queue next to its own is that queue's.
            own = queue.removesuffix(NEXT)
            if not name.startswith(b"emq:{") or not suffix or own not in ours:
                gone.discard(name)
                if expires or shared.get(name) != value:
                    stray.append(name)
                continue
            held, expiring = found.setdefault(own, ({}, set()))
            canonical = keys.base(QUEUE + queue[len(own) :]) + suffix
            held[canonical] = batch.canonical(kind, value)
            if expires:
                expiring.add(canonical)
        kept = {queue: (held, frozenset(expiring)) for queue, (held, expiring) in found.items()}
        return kept, tuple(sorted({*stray, *gone}))

    def _put_back(self) -> None:
        """Nothing but the wire version, as the lab claimed it."""
        ask_all(self._server.observer, [("FLUSHALL",), ("SET", VERSION_KEY, VERSION)])

    def _collected(self) -> list[Any]:
        """Every key of the trials' queues: of a server of the lab's own all, which are then flushed; else taken out."""
        if not self._prefix:
            return self._collect([])
        names = list(under(self._server.observer, b"emq:{" + self._prefix))
        return [row for start in range(0, len(names), _NAMES) for row in self._collect(names[start : start + _NAMES])]

    def _collect(self, names: list[bytes]) -> list[Any]:
        taken: list[Any]
        try:
            taken = ask(self._server.observer, "EVALSHA", self._sha, 0, *names)
        except redis.exceptions.NoScriptError:
            taken = ask(self._server.observer, "EVAL", self._script, 0, *names)
        return taken
