"""The embedded host: the verbs as commands of the fake server, each atomic under its lock."""

from collections.abc import Callable, Mapping
from typing import Any

from emqlab import keys, transitions
from emqlab.native import texts
from emqlab.native.host import READ, Refusal, Value
from emqlab.native.verbs import VERBS, Verb
from emqlab.servers.fake import Command, CommandError, Session

#: One thing a verb did: its phase (read, guard, write), the command and the reply.
Told = tuple[str, tuple[bytes, ...], Any]


class EmbeddedHost:
    """Host for one call of one verb. ``tell`` is given each command with its phase and reply."""

    def __init__(self, session: Session, tell: Callable[[Told], None] | None = None) -> None:
        self._session = session
        self._tell = tell
        self._writing = False
        self._now: int | None = None

    def fence(self) -> None:
        self.open(keys.VERSION_KEY, READ)
        version = self.read(b"GET", keys.VERSION_KEY)
        if version is not None and version != keys.VERSION:
            raise Refusal(texts.FENCE + version)

    def open(self, key: bytes, access: int) -> None:
        if not self._session.may(key, access):
            raise Refusal(texts.NOPERM)

    def read(self, cmd: bytes, *args: bytes) -> Any:
        if self._writing:
            raise AssertionError("a verb read after begin_writes")
        return self._run("read", cmd, args)

    def begin_writes(self) -> None:
        self._writing = True
        self._say("guard", (), None)

    def write(self, cmd: bytes, *args: bytes) -> Value:
        if not self._writing:
            raise AssertionError("a verb wrote before begin_writes")
        reply: Value = self._run("write", cmd, args)
        return reply

    def expect(self, want: Value, got: Value) -> None:
        if isinstance(got, list):
            got = got[0] if got else None
        if got != want:
            raise Refusal(texts.HOST)

    def now_ms(self) -> int:
        if self._now is None:
            self._now = self._session.server.clock.now_ms()
            self._say("read", (b"(clock)",), b"%d" % self._now)
        return self._now

    def run_id(self) -> bytes:
        return self._session.server.run_id

    def _run(self, phase: str, cmd: bytes, args: tuple[bytes, ...]) -> Any:
        try:
            reply = self._session.call(cmd, *args)
        except CommandError as error:
            self._say(phase, (cmd, *args), error)
            raise Refusal(error.text) from None
        self._say(phase, (cmd, *args), reply)
        return reply

    def _say(self, phase: str, command: tuple[bytes, ...], reply: Any) -> None:
        if self._tell:
            self._tell((phase, command, reply))


def _command(name: str, verb: Verb) -> Command:
    def run(session: Session, args: list[bytes]) -> Any:
        try:
            return verb(EmbeddedHost(session), args)
        except Refusal as refusal:
            raise CommandError(refusal.line) from None

    return Command(name.lower(), run, _real_keys(name))


def _real_keys(name: str) -> int:
    """How many of a verb's keys are keys to the server; a base is none."""
    spelled = transitions.OF_COMMAND[name].keys
    return len([key for key in spelled if key != "base"])


def _trace(verbs: Mapping[str, Verb]) -> Command:
    """EMQ.TRACE verb numkeys key… arg…: run the verb, answer [reply or error, [[phase, command…, reply], …]].

    The verb with or without its ``EMQ.``.
    """

    def run(session: Session, args: list[bytes]) -> list[Any]:
        word = args[0].decode("utf-8", "replace").upper() if args else ""
        name = "EMQ." + word.removeprefix("EMQ.")
        if name not in verbs:
            raise CommandError(texts.ARGS + b"verb must be one of the EMQ commands")
        session.authorize(name.lower(), args[1:])
        told: list[Told] = []
        try:
            answer: Any = verbs[name](EmbeddedHost(session, told.append), args[1:])
        except Refusal as refusal:
            answer = CommandError(refusal.line)
        return [answer, [[phase.encode(), *command, reply] for phase, command, reply in told]]

    return Command("emq.trace", run, 0)


def commands(verbs: Mapping[str, Verb] = VERBS) -> list[Command]:
    """What ``EmbeddedServer`` is given to know ``verbs``, by command name: a command each, and EMQ.TRACE."""
    return [*(_command(name, verb) for name, verb in verbs.items()), _trace(verbs)]


#: The lab's own verbs.
COMMANDS = commands()
