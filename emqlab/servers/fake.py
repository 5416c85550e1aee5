"""The one file that knows fakeredis's private names: registry, clock, rights, script cache.

fakeredis has no public hook for own commands or clocks, so it is pinned to one minor version, and
``tests/servers/test_fake.py`` fails first when a name used here moves.
"""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import fakeredis
import fakeredis._clients._sync as _sync
import redis
from fakeredis import _helpers, _msgs
from fakeredis._command_args_parsing import Int
from fakeredis._commands import SUPPORTED_COMMANDS, Signature
from fakeredis._core import Database, Item
from fakeredis._socket import FakeSocket
from fakeredis._socket._resp import convert_to_resp2
from fakeredis.model import AccessControlList, ExpiringMembersSet, Hash, ZSet
from redis.backoff import NoBackoff
from redis.retry import Retry

from emqlab.servers.clock import VirtualClock
from emqlab.servers.rights import READ, WRITE, Rights

_running = threading.local()

#: The user of the lab's own connections: no rule of ACL SETUSER can limit it.
INSIDE = b"(emqlab)"


class CommandError(Exception):
    """An error reply of the fake server. ``text`` is the whole text, code word first."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text.decode("utf-8", "replace"))
        self.text = text


@dataclass(frozen=True, slots=True)
class Command:
    """An own command: ``run(session, arguments after the name)`` and which of its first keys are real keys."""

    name: str
    run: Callable[["Session", list[bytes]], Any]
    keys: int


class _Time:
    """Stands in for the ``time`` module inside fakeredis: the clock of the server now running, else the real one."""

    def time(self) -> float:
        clock: VirtualClock | None = getattr(_running, "clock", None)
        return time.time() if clock is None else clock.time()

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


def _take_over_time() -> None:
    """Put the dispatcher in the place of ``time`` where fakeredis reads expiry, TIME and stream ids."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fakeredis") and getattr(module, "time", None) is time:
            module.time = _Time()  # type: ignore[attr-defined]


_take_over_time()

#: What a server's Lua knows of Lua's own libraries, and no more: no file, no process, no module, no bytecode's makings.
_NARROW = """
os = {clock = os.clock}
for _, name in ipairs({'io', 'package', 'require', 'module', 'dofile', 'loadfile', 'newproxy', 'print', 'debug',
                       'python'}) do
  _G[name] = nil
end
string.dump = nil
"""


def _no_attribute(of: Any, name: Any, setting: bool) -> Any:
    raise _helpers.SimpleError(f"ERR attempt to index a {type(of).__name__} value")


class _Lua:
    """Stands in for lupa inside fakeredis, whose scripts could do whatever this process may: here, what a server's."""

    def __init__(self, lupa: Any) -> None:
        self._lupa = lupa

    def LuaRuntime(self, **options: Any) -> Any:  # noqa: N802 - lupa's name
        runtime = self._lupa.LuaRuntime(
            **options, register_eval=False, register_builtins=False, attribute_filter=_no_attribute
        )
        runtime.execute(_NARROW)
        return runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lupa, name)


def _narrow_scripts() -> None:
    """Put the narrow runtime in the place of lupa where fakeredis makes one; an edition without Lua makes none."""
    for name in [name for name in sys.modules if name.startswith("fakeredis")]:
        module: Any = sys.modules[name]
        if hasattr(module, "LUA_MODULE"):
            module.LUA_MODULE = _Lua(module.LUA_MODULE)


_narrow_scripts()


class Session:
    """What an own command sees while it runs: atomic (the server's lock is held), as one connection's user."""

    def __init__(self, socket: "_LabSocket") -> None:
        self._socket = socket

    def call(self, command: bytes, *args: bytes) -> Any:
        """Run another command and answer its reply: bytes, int, None or a list. Raises CommandError."""
        socket = self._socket
        func, signature = socket._name_to_func(command.decode().lower())
        reply = socket._run_command(func, signature, list(args), True)
        if isinstance(reply, _helpers.SimpleError):
            raise CommandError(reply.value.encode())
        return reply.value if isinstance(reply, _helpers.SimpleString) else reply

    def may(self, key: bytes, access: int) -> bool:
        """Whether this connection's user has READ or WRITE access to ``key``."""
        return self._socket._server.acl.reaches(self._socket.current_user, key, access)

    def authorize(self, name: str, args: list[bytes]) -> None:
        """Raise CommandError unless this connection's user may run the own command ``name`` with ``args``."""
        socket = self._socket
        try:
            socket._server.acl.check(socket.current_user, socket._server.commands[name], args)
        except _helpers.SimpleError as error:
            raise CommandError(error.value.encode()) from None

    @property
    def server(self) -> "FakeServer":
        """The server it runs in."""
        return self._socket._server


class _LabAcl(AccessControlList):
    """Adds what fakeredis does not check: the right to run own commands, and ``%R~`` / ``%W~`` for their keys."""

    def __init__(self, commands: dict[str, Command]) -> None:
        super().__init__()
        self._own = commands
        self._rights: dict[bytes, Rights] = {}

    def record(self, user: bytes, rules: tuple[bytes, ...]) -> None:
        rights = self._rights.get(user)
        if rights is None:
            rights = self._rights[user] = Rights()
            if user == b"default":
                rights.apply((b"allcommands", b"allkeys"))
        rights.apply(rules)

    def reaches(self, user: bytes, key: bytes, access: int) -> bool:
        rights = self._rights.get(user)
        if rights is None:
            return user in self._user_acl or user == INSIDE
        return rights.reaches(key, access, _matches)

    def check(self, user: bytes, command: Command, args: list[bytes]) -> None:
        """Refuse a user without the right to run ``command``, or to a key it declares."""
        rights = self._rights.get(user)
        if rights is None:
            if user in self._user_acl or user == INSIDE:
                return
            # A user that was deleted while it was connected.
            raise _helpers.SimpleError(_msgs.NO_PERMISSION_ERROR.format(user.decode(), command.name))
        declared = args[1 : 1 + command.keys] if args[:1] != [b"0"] else []
        keys = [(key, READ | WRITE) for key in declared]
        allowed = rights.runs(command.name.encode(), keys, _matches)
        if allowed is False:
            raise _helpers.SimpleError(_msgs.NO_PERMISSION_ERROR.format(user.decode(), command.name))
        if allowed is None:
            raise _helpers.SimpleError(_msgs.NO_PERMISSION_KEY_ERROR)

    def validate_command(self, username: bytes, client_info: Any, fields: list[bytes]) -> None:
        command = self._own.get(fields[0].decode("utf-8", "replace").lower()) if fields else None
        if command is None:
            super().validate_command(username, client_info, fields)
        else:
            self.check(username, command, fields[1:])

    def del_user(self, username: bytes) -> None:
        super().del_user(username)
        self._rights.pop(username, None)


def _matches(pattern: bytes, key: bytes) -> bool:
    return _helpers.compile_pattern(pattern).match(key) is not None


class _Database(Database):
    """Keys that expire by whole ms, as a server's do: gone when the clock is past the moment, not at it.

    A hash is gone with its last field, also where that expires by itself.
    """

    def expired(self, item: Any) -> bool:
        if isinstance(item.value, Hash) and not item.value:
            return True
        return item.expireat is not None and _whole_ms(item.expireat) < _whole_ms(self.time)

    def _remove_expired(self) -> None:
        for name in [name for name, item in self._dict.items() if isinstance(item.value, Hash) and not item.value]:
            del self._dict[name]
        # fakeredis compares seconds as floats, which go wrong in the last digit.
        spoken, self.time = self.time, (_whole_ms(self.time) - 0.25) / 1000
        try:
            super()._remove_expired()
        finally:
            self.time = spoken


def _whole_ms(seconds: float) -> int:
    return round(seconds * 1000)


class FakeServer(fakeredis.FakeServer):
    """A private fake server with a clock, an epoch and commands of its own."""

    def __init__(self, clock: VirtualClock, run_id: bytes, commands: list[Command]) -> None:
        super().__init__(server_type="redis", version=(8,))
        self.dbs = defaultdict(lambda: _Database(self.lock))
        self.clock = clock
        self.run_id = run_id
        self.commands = {command.name: command for command in commands}
        self.acl: _LabAcl = _LabAcl(self.commands)

    def forget_scripts(self) -> None:
        """Empty the script cache, as a restart does."""
        self.script_cache.clear()

    def wipe(self) -> None:
        """Delete every key. Users, settings, scripts and connections stay."""
        with self.lock:
            for database in self.dbs.values():
                database.clear()

    def fill(self, keys: Mapping[bytes, Any]) -> None:
        """Put whole hashes (dicts of bytes), sorted sets (dicts of floats) and strings in place, without commands."""
        with self.lock:
            database = self.dbs[0]
            for name, held in keys.items():
                database._dict[name] = Item(_value_of(held))

    def look(self, wanted: Callable[[bytes], bool]) -> list[tuple[bytes, bytes, int, Any]]:
        """Look at the keys whose names are ``wanted``: name, type as TYPE names it, PTTL in ms, value.

        A hash is its pairs, a sorted set its members in order with their scores as ZSCORE prints them; the others are
        bytes, a list or a set, and None for a type that the lab does not know. Nothing is changed, but what has
        expired is gone, as after any command.
        """
        with self.lock, _clock_of(self):
            database = self.dbs[0]
            database.time = self.clock.time()
            found = [(name, database.get(name)) for name in filter(wanted, list(database._dict))]
            return [(name, *_shown(item, database.time)) for name, item in found if item is not None]

    def drain(self) -> list[tuple[bytes, bytes, bool, Any]]:
        """Take every key out: its name, its type as TYPE names it, whether it would expire, and its value.

        Hashes and sorted sets are dicts, of bytes and of floats; the others bytes, a list or a set.
        """
        with self.lock:
            database = self.dbs[0]
            found = list(database._dict.items())
            database._dict.clear()
            database._expiry_heap.clear()
        taken = []
        for name, item in found:
            kind, value = _held(item.value)
            taken.append((name, kind, item.expireat is not None, value))
        return taken


def _value_of(held: Any) -> Any:
    if isinstance(held, bytes):
        return held
    if isinstance(next(iter(held.values())), float):
        scores = ZSet()
        for member, score in held.items():
            scores.add(member, score)
        return scores
    fields = Hash()
    fields.update(dict(held), clear_expiration=False)
    return fields


def _held(value: Any) -> tuple[bytes, Any]:
    if isinstance(value, Hash):
        return b"hash", value.getall()
    if isinstance(value, ZSet):
        return b"zset", dict(value.items())
    if isinstance(value, ExpiringMembersSet):
        return b"set", set(value)
    return (b"list", list(value)) if isinstance(value, list) else (b"string", value)


def _shown(item: Any, now: float) -> tuple[bytes, int, Any]:
    """An item as TYPE, PTTL and the command that reads its type would show it at ``now`` (seconds)."""
    ttl_ms = -1 if item.expireat is None else round((item.expireat - now) * 1000)
    value = item.value
    if isinstance(value, Hash):
        return b"hash", ttl_ms, list(value.getall().items())
    if isinstance(value, ZSet):
        return b"zset", ttl_ms, [(member, convert_to_resp2(score)) for score, member in value._byscore]
    if isinstance(value, bytes | list | ExpiringMembersSet):
        kind, held = _held(value)
        return kind, ttl_ms, held
    return value.model_type(), ttl_ms, None


@contextmanager
def _clock_of(server: FakeServer) -> Any:
    before = getattr(_running, "clock", None)
    _running.clock = server.clock
    try:
        yield
    finally:
        _running.clock = before


class _LabSocket(FakeSocket):
    """One connection: it sets the server's clock around each command and knows the own commands."""

    _server: FakeServer

    def _process_command(self, fields: list[bytes]) -> None:
        self._sent = fields[0].decode("utf-8", "replace").lower() if fields else ""
        before = self._db, self._db_num
        with _clock_of(self._server):
            super()._process_command(fields)
        if self._sent in ("eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"):
            # A server's script may select a database for itself alone.
            self._db, self._db_num = before

    def _decode_error(self, error: _helpers.SimpleError) -> Any:
        # fakeredis says "from script" of every command with an odd pair list; a server says it of scripts only.
        if error.value == _msgs.WRONG_ARGS_MSG7 and self._sent not in ("eval", "evalsha"):
            error = _helpers.SimpleError(_msgs.WRONG_ARGS_MSG6.format(self._sent))
        return super()._decode_error(error)

    def _name_to_func(self, cmd_name: str) -> Any:
        command = self._server.commands.get(cmd_name)
        if command is None:
            func, signature = super()._name_to_func(cmd_name)
            return func, _LIMIT_FIRST if cmd_name == "zrangebyscore" else signature
        return self._bound(command), Signature(cmd_name, "", (), (bytes,))  # type: ignore[arg-type]

    def _bound(self, command: Command) -> Callable[..., Any]:
        def run(*args: bytes) -> Any:
            self._server.acl.check(self.current_user, command, list(args))
            # Inner commands answer in RESP2 shapes, whatever the client speaks: the verbs know no other.
            spoken, self._script_resp = self._script_resp, 2
            try:
                return _wire(command.run(Session(self), list(args)))
            except CommandError as error:
                text = error.text.decode("utf-8", "replace").replace("\r", " ").replace("\n", " ")
                raise _helpers.SimpleError(text) from None
            finally:
                self._script_resp = spoken

        return run

    def time(self) -> list[bytes]:
        """TIME, exact to the ms: fakeredis goes through a float of seconds."""
        now_ms = self._server.clock.now_ms()
        return [b"%d" % (now_ms // 1000), b"%d" % (now_ms % 1000 * 1000)]

    @property
    def current_user(self) -> bytes:
        user = self._client_info["user"]
        return user if isinstance(user, bytes) else str(user).encode()

    def _set_user_acl(self, username: bytes, *args: bytes) -> None:
        super()._set_user_acl(username, *args)
        self._server.acl.record(username, args)


class _LimitFirst(Signature):
    """ZRANGEBYSCORE as a server reads it: LIMIT's numbers are looked at before the key's type."""

    def apply(self, args: Any, db: Any, version: Any) -> Any:
        options = [arg.lower() for arg in args[3:]]
        if b"limit" in options:
            for arg in args[3 + options.index(b"limit") :][1:3]:
                Int.decode(arg)
        return super().apply(args, db, version)


_plain = SUPPORTED_COMMANDS["zrangebyscore"]
_LIMIT_FIRST = _LimitFirst(_plain.name, _plain.func_name, _plain.fixed, _plain.repeat, flags="".join(_plain.flags))


def _wire(reply: Any) -> Any:
    """A command's answer in fakeredis's types; an error inside a list becomes an error reply there."""
    if isinstance(reply, CommandError):
        return _helpers.SimpleError(reply.text.decode("utf-8", "replace"))
    if isinstance(reply, (list, tuple)):
        return [_wire(item) for item in reply]
    return reply


class _LabConnection(_sync.FakeRedisConnection):
    """Connects with our socket; ``inside`` as the lab itself."""

    def __init__(self, *args: Any, inside: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self._inside = inside

    def _connect(self) -> FakeSocket:
        assert isinstance(self._server, FakeServer)
        if not self._server.connected:
            raise redis.ConnectionError(_msgs.CONNECTION_ERROR_MSG)
        socket = _LabSocket(
            self._server,
            client_class=self._client_class,
            db=self.db,
            lua_modules=self._lua_modules,
            client_info=self._client_info,
        )
        if self._inside:
            socket._client_info["user"] = INSIDE.decode()
        return socket


def connect(server: FakeServer, *, inside: bool = False, **options: Any) -> redis.Redis:
    """A redis-py client of ``server``: bytes in and out, RESP2 unless told otherwise, no retries.

    ``inside`` makes it the lab's own: it reads and writes whatever rights the users were given.
    """
    client = fakeredis.FakeRedis(
        server=server,
        connection_class=_LabConnection,
        server_type=server.server_type,
        version=server.version,
        **{"protocol": 2, **options},
    )
    client.connection_pool.connection_kwargs |= {"retry": Retry(NoBackoff(), 0), "inside": inside}
    return client


def move(client: redis.Redis, server: FakeServer) -> None:
    """Point a client at another server; its connections are closed and forgotten, for each knows its server."""
    client.connection_pool.disconnect()
    client.connection_pool.reset()
    client.connection_pool.connection_kwargs["server"] = server


def end(server: FakeServer) -> None:
    """Stop answering: every later command of every client is a ConnectionError."""
    server.connected = False
