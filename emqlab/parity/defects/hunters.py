"""Hunters: servers that are opened once and run one mutant after the other, until the instrument sees it."""

from collections.abc import Callable, Sequence
from functools import cache

from emqlab.native.embedded import commands
from emqlab.native.executor import NativeExecutor
from emqlab.native.host import Host, Value
from emqlab.native.verbs import VERBS, Verb
from emqlab.parity.defects.loading import CannotLoad
from emqlab.parity.defects.sources import Mutant, scripts_of, served_by, verbs_of
from emqlab.parity.ground import Ground
from emqlab.parity.rig import Rig
from emqlab.parity.trials.aimed import Aimed
from emqlab.parity.trials.rights import NEEDS, RightsBench
from emqlab.parity.trials.trial import Trial
from emqlab.parity.verdict import judge
from emqlab.replies import ask
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.servers.embedded import EmbeddedServer

#: How many trials a mutant is given before it has survived them; one of the rules, which serve all verbs, thrice that.
PATIENCE = 4_000
#: How many of them come before the rights are tried, which few mutants need and few trials take.
_BEFORE_RIGHTS = 700
#: How many come after them in the last ms of a second, where a real server's clock shows parts of a ms, too.
_LATE = 200
#: The first batches are small, for most mutants show at once.
_FIRST, _MOST = 25, 400
#: Trials that are kept, for the next mutant of the same verb.
_KEPT = 600

#: How a hunt ended: what was seen, and after how many trials; None for a mutant that was not seen.
Seen = tuple[int, str] | None


class VerbHunter:
    """Hunts mutants of the verbs on an embedded server whose verbs are exchanged."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._verbs = dict(VERBS)
        server = EmbeddedServer(commands({name: self._now(name) for name in VERBS}))
        native = NativeExecutor(server.client, lambda: b"", lambda: server.run_id)
        self._rig = Rig(server, {"native": native})
        self._rights = RightsBench(server)
        self._server = server

    def close(self) -> None:
        """Let go of the server."""
        self._rights.close()
        self._server.close()

    def hunt(self, mutant: Mutant, patience: int = PATIENCE) -> Seen:
        """Run trials of its verb, of all verbs for a mutant of their rules, until one is not as declared."""
        try:
            self._verbs.update(verbs_of(mutant.sources))
        except CannotLoad as error:
            return 0, str(error)
        aimed = verbs_at(mutant)
        patience *= 1 if len(aimed) == 1 else 3
        tried = min(_BEFORE_RIGHTS, patience)
        return (
            _hunted(self._rig, self._seed, aimed, 0, tried)
            or self._refused(aimed)
            or _hunted(self._rig, self._seed, aimed, tried, patience)
        )

    def _refused(self, aimed: tuple[str, ...]) -> Seen:
        for need in NEEDS:
            if need.verb in aimed:
                for complaint in self._rights.complaints(need):
                    return _BEFORE_RIGHTS, complaint
        return None

    def _now(self, command: str) -> Verb:
        """Whatever the verb is at the moment."""

        def run(host: Host, args: Sequence[bytes]) -> Value | list[bytes]:
            return self._verbs[command](host, args)

        return run


class ScriptHunter:
    """Hunts mutants of the scripts on the server of that name."""

    def __init__(self, server: str | None, seed: int) -> None:
        """Raises what opening a lab raises."""
        self._seed = seed
        self._ground = Ground(server)
        self._fine: bool | None = None
        self._server = self._ground.server

    @property
    def fine(self) -> bool:
        """Whether its clock shows parts of a ms, also while it stands; looked at once."""
        if self._fine is None:
            times = [ask(self._server.observer, "TIME") for _ in range(50)]
            self._fine = self._server.movable and any(int(micros) % 1000 for _, micros in times)
        return self._fine

    def close(self) -> None:
        """Let go of the server."""
        self._ground.close()

    def hunt(self, mutant: Mutant, patience: int = PATIENCE) -> Seen:
        """Run trials of its verb until one is not as declared."""
        scripted = ScriptedExecutor(self._server.client, lambda: b"", scripts_of(mutant.sources))
        rig = Rig(self._server, {"scripted": scripted})
        aimed = verbs_at(mutant)
        seen = _hunted(rig, self._seed, aimed, 0, patience)
        return seen or (_late(rig, self._seed, aimed, patience) if self._server.movable else None)


def _late(rig: Rig, seed: int, verbs: tuple[str, ...], tried: int) -> Seen:
    """The trials at the end of a second, which move the clock, and so are a batch of their own."""
    layer = Aimed(seed, verbs, native=rig.native)
    return _judged(rig, [layer.late(index) for index in range(_LATE)], tried)


def _judged(rig: Rig, batch: Sequence[Trial], tried: int) -> Seen:
    """The first of a batch that is not as declared; ``tried`` were before it."""
    for place, ran in enumerate(rig.run(batch), tried + 1):
        complaints = judge(ran).complaints
        if complaints:
            return place, f"{ran.trial.name}: {complaints[0]}"
    return None


def verbs_at(mutant: Mutant) -> tuple[str, ...]:
    """The step verbs that a mutant's file serves: one, or all that have a command for the rules."""
    return served_by(mutant.file)


def _hunted(rig: Rig, seed: int, verbs: tuple[str, ...], start: int, stop: int) -> Seen:
    """The trials from ``start`` up to ``stop``, first a few at a time."""
    trials, size = _trials(seed, verbs, rig.native), _FIRST
    while start < stop:
        batch = [trials(index) for index in range(start, min(stop, start + size))]
        seen = _judged(rig, batch, start)
        if seen is not None:
            return seen
        start += len(batch)
        size = min(_MOST, size * 2)
    return None


@cache
def _trials(seed: int, verbs: tuple[str, ...], native: bool) -> Callable[[int], Trial]:
    """The trials for these verbs by their number; the first ones are built once a process."""
    layer = Aimed(seed, verbs, native=native)
    kept: list[Trial] = []

    def trial(index: int) -> Trial:
        while len(kept) <= index < _KEPT:
            kept.append(layer.trial(len(kept)))
        return kept[index] if index < len(kept) else layer.trial(index)

    return trial
