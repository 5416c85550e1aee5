"""The private names of fakeredis that the adapter stands on: this fails first when one moves."""

import importlib.metadata

import fakeredis
import pytest
import redis
from fakeredis import _helpers, _msgs
from fakeredis._command_args_parsing import Float
from fakeredis._commands import SUPPORTED_COMMANDS, Signature
from fakeredis._core import Database
from fakeredis._socket import FakeSocket
from fakeredis.model import AccessControlList, ZSet

from emqlab.servers import fake
from emqlab.servers.clock import VirtualClock


def test_the_pinned_minor_version_is_installed() -> None:
    """Another minor version may move any of the names below."""
    assert "2.41" == ".".join(importlib.metadata.version("fakeredis").split(".")[:2])


@pytest.mark.parametrize(
    "name",
    ["_process_command", "_name_to_func", "_run_command", "_set_user_acl", "_resp_version", "current_user", "time"],
)
def test_the_socket_has_the_methods_we_override_or_call(name: str) -> None:
    """A renamed method would be silently ignored."""
    assert hasattr(FakeSocket, name)


@pytest.mark.parametrize("name", ["validate_command", "del_user", "get_user_acl"])
def test_the_access_list_has_the_methods_we_override(name: str) -> None:
    """The rights of EMQ commands hang on them."""
    assert hasattr(AccessControlList, name)


def test_the_helpers_are_there() -> None:
    """Error and status replies, glob patterns, and the texts of refusals."""
    assert "x" == _helpers.SimpleError("x").value
    assert b"OK" == _helpers.SimpleString(b"OK").value
    assert _helpers.compile_pattern(b"a*").match(b"abc")
    assert _msgs.NO_PERMISSION_ERROR.startswith("NOPERM")
    assert _msgs.NO_PERMISSION_KEY_ERROR.startswith("NOPERM")
    assert Signature("x", "", (), (bytes,)).name == "x"  # type: ignore[arg-type]


def test_a_server_has_the_parts_we_touch() -> None:
    """Databases, script cache, rights and settings of one server."""
    server = fakeredis.FakeServer()
    assert all(hasattr(server, name) for name in ("lock", "dbs", "script_cache", "acl", "config"))


def test_an_own_command_is_known_to_its_server_only() -> None:
    """The registry of fakeredis is not written to."""
    command = fake.Command("x.twice", lambda session, args: [session.call(b"ECHO", args[0])] * 2, 0)
    known = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, [command]))
    other = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    assert [b"a", b"a"] == known.execute_command("X.TWICE", "a")
    assert "x.twice" not in SUPPORTED_COMMANDS
    with pytest.raises(Exception, match="unknown command"):
        other.execute_command("X.TWICE", "a")


@pytest.mark.parametrize("ms", [1, 2, 3, 7, 999, 1000, 1001])
@pytest.mark.parametrize("advance", [0, 1])
def test_a_key_expires_after_its_moment_and_not_at_it(ms: int, advance: int) -> None:
    """By whole ms, whatever the hour: looked up, counted, and in a scan."""
    clock = VirtualClock()
    client = fake.connect(fake.FakeServer(clock, b"0" * 40, []))
    for _ in range(50):
        client.set("k", "v", px=ms)
        clock.advance(ms + advance)
        there = 1 - advance
        assert (there, there, there) == (client.dbsize(), client.exists("k"), len(list(client.scan_iter())))
        clock.advance(1013)


def test_a_hash_goes_with_the_last_of_its_fields_to_expire() -> None:
    """For every command: looked up, typed, counted, in a scan."""
    clock = VirtualClock()
    client = fake.connect(fake.FakeServer(clock, b"0" * 40, []))
    client.hset("h", "f", "v")
    client.hpexpire("h", 5, "f")
    seen = []
    for _ in range(2):
        seen.append((client.exists("h"), client.type("h"), client.dbsize(), len(list(client.scan_iter()))))
        clock.advance(6)
    assert [(1, b"hash", 1, 1), (0, b"none", 0, 0)] == seen


def test_the_database_has_the_methods_we_override() -> None:
    """A renamed one would be silently ignored."""
    assert all(hasattr(Database, name) for name in ("expired", "_remove_expired"))


def test_a_sorted_set_keeps_its_members_in_the_order_of_their_scores() -> None:
    """A look inside reads them there, and writes a score as a reply does."""
    held = ZSet()
    held.add(b"b", 0.1)
    held.add(b"a", 0.1)
    held.add(b"c", -1)
    assert [(-1, b"c"), (0.1, b"a"), (0.1, b"b")] == list(held._byscore)
    assert b"0.10000000000000001" == Float.encode(0.1, False)


@pytest.mark.parametrize(
    "name",
    ["io", "os.execute", "os.remove", "os.getenv", "require", "package", "dofile", "loadfile", "debug", "python"],
)
def test_a_script_reaches_no_more_than_on_a_server(name: str) -> None:
    """No file, no process, no module: a case of somebody else's is run without a second thought."""
    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    assert b"nil" == client.eval(f"return type({name})", 0)


@pytest.mark.parametrize("value", ["redis.call", "redis.pcall", "redis.log", "cjson.encode", "cjson.null"])
def test_a_script_reaches_nothing_of_python(value: str) -> None:
    """What it is given to call is called, and not looked into."""
    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    with pytest.raises(redis.ResponseError, match=r"^attempt to index a "):
        client.eval(f"return tostring({value}.__class__)", 0)
    with pytest.raises(redis.ResponseError, match=r"^attempt to index a "):
        client.eval(f"{value}.x = 1", 0)


def test_a_script_tells_the_processors_time() -> None:
    """All that a server leaves of Lua's os."""
    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    assert b"clock" == client.eval("local k, v = next(os) return k .. (next(os, k) or '')", 0)


def test_limit_is_read_before_the_type_of_the_key() -> None:
    """As a server does: a bad LIMIT on a wrong-typed key is about the LIMIT."""
    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    client.set("k", "x")
    with pytest.raises(redis.ResponseError, match="not an integer"):
        client.execute_command("ZRANGEBYSCORE", "k", "-inf", "5", "LIMIT", "0", "1e3")
    with pytest.raises(redis.ResponseError, match="wrong kind of value"):
        client.execute_command("ZRANGEBYSCORE", "k", "-inf", "5", "LIMIT", "0", "1")


def test_an_odd_pair_list_is_refused_in_the_servers_words() -> None:
    """By its name when sent by a client; from a script in the script's words."""
    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, []))
    with pytest.raises(redis.ResponseError, match="wrong number of arguments for 'hset' command"):
        client.execute_command("HSET", "k", "f", "v", "odd")
    with pytest.raises(redis.ResponseError, match="from script"):
        client.execute_command("EVAL", "return redis.call('HSET', 'k', 'f', 'v', 'odd')", 0)


def test_an_own_commands_error_keeps_its_code_word() -> None:
    """The client sees the text as it was raised, on one line."""

    def refuse(session: fake.Session, args: list[bytes]) -> None:
        raise fake.CommandError(b"EMQX two\nlines")

    client = fake.connect(fake.FakeServer(VirtualClock(), b"0" * 40, [fake.Command("x.no", refuse, 0)]))
    with pytest.raises(Exception, match=r"^EMQX two lines$"):
        client.execute_command("X.NO")
