"""What an ACL user may not do, a native command does not do for it (SPEC 5.1 rule 5)."""

import pytest
import redis

from emqlab import errors
from emqlab.native.executor import NativeExecutor
from emqlab.replies import ErrorReply, settled
from tests.transitions.bench import A, B, Bench, ids, job_key
from tests.transitions.wire import ALL, WIRES, Wire, send

BASE = "emq:{q}:"
VERSION = "%R~{emq}:version"
DECLARED = [f"~{BASE}pending", f"~{BASE}active", f"~{BASE}schedule", f"~{BASE}dead"]
ROW_A = f"~{BASE}job:{A.decode()}"
READ_ROWS = f"%R~{BASE}job:*"

ALL_WORDS = {wire.command: wire.words() for wire in ALL}

each_command = pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.command))


def user(bench: Bench, *rules: str) -> redis.Redis:
    """A client of a new user with these rules and no others."""
    bench.put("ACL", "SETUSER", "ann", "reset", "on", ">pw", *rules)
    return bench.lab.connect(username="ann", password="pw")


def ask(client: redis.Redis, words: list[str]) -> object:
    """One command as that user; an error as an ErrorReply."""
    try:
        return settled(client.execute_command(*words))
    except redis.ResponseError as error:
        return settled(error)


def refused(reply: object) -> bool:
    """Whether a reply is NOPERM."""
    return isinstance(reply, ErrorReply) and reply.code == "NOPERM"


def name_of(wire: Wire) -> str:
    """The command as a rule spells it."""
    return wire.command.lower()


@pytest.fixture
def live(native: Bench) -> Bench:
    """A queue in which every command would have something to write: A in all four sets."""
    native.row(A, attempts="2", state="x", payload="p")
    for name in ("pending", "active", "schedule", "dead"):
        native.member(name, A)
    return native


# ---------------------------------------------------------------- every command


@each_command
def test_no_right_to_the_command(live: Bench, wire: Wire) -> None:
    """All keys, but not this command."""
    client = user(live, "+get", "~*")
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_every_right(live: Bench, wire: Wire) -> None:
    """The command and all keys: the same answer as the default user's."""
    reply = ask(user(live, f"+{name_of(wire)}", "~*"), wire.words())
    live.lab.client.flushall()
    live.row(A, attempts="2", state="x", payload="p")
    for name in ("pending", "active", "schedule", "dead"):
        live.member(name, A)
    assert reply == send(live, wire.words())


@each_command
def test_the_queues_keys_and_the_version_are_enough(live: Bench, wire: Wire) -> None:
    """The base pattern and a read of the version: no command needs more."""
    client = user(live, f"+{name_of(wire)}", f"~{BASE}*", VERSION)
    assert not refused(ask(client, wire.words()))


@each_command
def test_another_queues_keys(live: Bench, wire: Wire) -> None:
    """A user of one queue does nothing in another."""
    client = user(live, "+@all", "~emq:{z}:*", VERSION)
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_the_version_is_read_as_the_caller(live: Bench, wire: Wire) -> None:
    """Without a right to the version the fence refuses, whatever the queue's keys allow."""
    client = user(live, f"+{name_of(wire)}", f"~{BASE}*")
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_a_version_that_may_only_be_written(live: Bench, wire: Wire) -> None:
    """The fence reads: a right to write is none to read."""
    client = user(live, f"+{name_of(wire)}", f"~{BASE}*", "%W~{emq}:version")
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_a_queue_that_may_only_be_read(live: Bench, wire: Wire) -> None:
    """Every command writes to the keys it declares, or derives ones it writes."""
    client = user(live, f"+{name_of(wire)}", f"%R~{BASE}*", VERSION)
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_a_right_taken_away_again(live: Bench, wire: Wire) -> None:
    """``-emq.x`` after ``+@all`` takes it away, and the later rule wins."""
    with live.nothing_written():
        assert refused(ask(user(live, "+@all", f"-{name_of(wire)}", "~*"), wire.words()))
    assert not refused(ask(user(live, f"-{name_of(wire)}", "+@all", "~*"), wire.words()))


@each_command
def test_no_write_commands(live: Bench, wire: Wire) -> None:
    """All twelve are write commands: ``-@write`` takes them away."""
    if getattr(live.lab.server, "version", "").startswith("redis 7.0"):
        pytest.skip("Redis 7.0 has no way to put a module's command into a category")
    with live.nothing_written():
        assert refused(ask(user(live, "+@all", "-@write", "~*"), wire.words()))


@each_command
def test_a_selector(live: Bench, wire: Wire) -> None:
    """A selector that allows all of it is enough."""
    client = user(live, "-@all", f"(+{name_of(wire)} ~{BASE}* {VERSION})")
    assert not refused(ask(client, wire.words()))


def test_a_selector_in_several_words(live: Bench) -> None:
    """However many words it is sent as, it is one selector."""
    client = user(live, "(+emq.claim", f"~{BASE}*", "%R~{emq}:version)")
    assert not refused(ask(client, ALL_WORDS["EMQ.CLAIM"]))


def test_two_patterns_do_not_add_up(live: Bench) -> None:
    """A declared key needs one pattern that grants reading and writing; the same pattern named twice is one."""
    apart = user(live, "+emq.claim", "%R~emq:*", f"%W~{BASE}*", VERSION)
    with live.nothing_written():
        assert refused(ask(apart, ALL_WORDS["EMQ.CLAIM"]))
    together = user(live, "+emq.claim", f"%R~{BASE}*", f"%W~{BASE}*", VERSION)
    assert not refused(ask(together, ALL_WORDS["EMQ.CLAIM"]))


@each_command
def test_a_selector_for_other_keys(live: Bench, wire: Wire) -> None:
    """Command and keys have to be in one selector."""
    client = user(live, "-@all", f"(+{name_of(wire)} ~other:*)", f"(+get ~{BASE}* {VERSION})")
    with live.nothing_written():
        assert refused(ask(client, wire.words()))


@each_command
def test_a_trace_widens_no_right(live: Bench, wire: Wire) -> None:
    """EMQ.TRACE runs a command with the caller's rights to that command and its keys."""
    words = ["EMQ.TRACE", *wire.words()]
    with live.nothing_written():
        assert refused(ask(user(live, "+emq.trace", "~*"), words))
        assert refused(ask(user(live, "+emq.trace", f"+{name_of(wire)}", "~other:*", VERSION), words))


# ---------------------------------------------------------------- claim, key by key


def test_declared_keys_only(live: Bench) -> None:
    """pending and active alone: refused at the version; with that, at meta."""
    claim = WIRES["EMQ.CLAIM"].words()
    rules = ["+emq.claim", *DECLARED]
    with live.nothing_written():
        assert refused(ask(user(live, *rules), claim))
        assert refused(ask(user(live, *rules, VERSION), claim))


def test_rows_and_no_meta(live: Bench) -> None:
    """meta is read as the caller: without a right to it nobody learns whether the queue is paused."""
    client = user(live, "+emq.claim", *DECLARED, VERSION, f"~{BASE}job:*")
    with live.nothing_written():
        assert refused(ask(client, WIRES["EMQ.CLAIM"].words()))


def test_meta_and_no_row(live: Bench) -> None:
    """meta may be read, rows may not: the head is peeked at and stays."""
    client = user(live, "+emq.claim", *DECLARED, VERSION, f"%R~{BASE}meta")
    with live.nothing_written():
        assert refused(ask(client, WIRES["EMQ.CLAIM"].words()))


def test_a_row_that_may_only_be_read(live: Bench) -> None:
    """Refused when the row is opened for writing, before the pop: pending is untouched."""
    client = user(live, "+emq.claim", *DECLARED, VERSION, f"%R~{BASE}*")
    with live.nothing_written():
        assert refused(ask(client, WIRES["EMQ.CLAIM"].words()))


def test_the_rights_a_claim_needs(live: Bench) -> None:
    """Declared keys, a read of version and meta, and the row: no more."""
    client = user(live, "+emq.claim", *DECLARED, VERSION, f"%R~{BASE}meta", ROW_A)
    assert ask(client, WIRES["EMQ.CLAIM"].words()) == [A, b"p", 3]


def test_a_ghost_needs_no_right_to_write_a_row(native: Bench) -> None:
    """A ghost's row is looked at and not written."""
    native.member("pending", A)
    client = user(native, "+emq.claim", *DECLARED, VERSION, f"%R~{BASE}meta", READ_ROWS)
    assert ask(client, WIRES["EMQ.CLAIM"].words()) == []
    assert native.state() == {}


def test_a_paused_claim_needs_no_row(live: Bench) -> None:
    """A key is opened before its first access and not earlier."""
    live.put("HSET", "{p}meta", "paused", "0")
    client = user(live, "+emq.claim", *DECLARED, VERSION, f"%R~{BASE}meta")
    assert ask(client, WIRES["EMQ.CLAIM"].words()) == []


def test_root_and_selector_add_up_for_derived_keys(live: Bench) -> None:
    """The command with its declared keys in the root, the derived keys in a selector."""
    client = user(live, "+emq.claim", *DECLARED, f"({VERSION} ~{BASE}*)")
    assert ask(client, WIRES["EMQ.CLAIM"].words()) == [A, b"p", 3]


@pytest.mark.parametrize("key", ["pending", "active"])
def test_a_declared_key_that_may_only_be_read(live: Bench, key: str) -> None:
    """The server refuses by the command's key spec."""
    others = [rule for rule in DECLARED if not rule.endswith(key)]
    rows = [VERSION, f"~{BASE}meta", f"~{BASE}job:*"]
    with live.nothing_written():
        for right in ([], [f"%R~{BASE}{key}"]):
            assert refused(ask(user(live, "+emq.claim", *others, *rows, *right), WIRES["EMQ.CLAIM"].words()))


# ---------------------------------------------------------------- transactions, scripts, methods


def test_in_a_transaction(live: Bench) -> None:
    """MULTI does not widen a user's rights: a row that may only be read is not claimed there either."""
    client = user(live, "+emq.claim", "+multi", "+exec", *DECLARED, VERSION, f"%R~{BASE}*")
    with live.nothing_written():
        pipe = client.pipeline(transaction=True)
        pipe.execute_command(*WIRES["EMQ.CLAIM"].words())
        replies = pipe.execute(raise_on_error=False)
        assert [True] == [refused(settled(reply)) for reply in replies]


def test_a_transaction_with_the_rights(live: Bench) -> None:
    """With them, claim and complete go through in one transaction."""
    client = user(live, "+@all", f"~{BASE}*", VERSION)
    pipe = client.pipeline(transaction=True)
    pipe.execute_command(*WIRES["EMQ.CLAIM"].words())
    pipe.execute_command(*WIRES["EMQ.COMPLETE"].words(token="3"))
    assert pipe.execute() == [[A, b"p", 3], 1]


def test_from_inside_a_script(live: Bench) -> None:
    """The default user's script may call the command; its reply comes back."""
    words = WIRES["EMQ.CLAIM"].words()
    script = "return redis.call(unpack(ARGV))"
    assert live.put("EVAL", script, 2, *words[2:4], *words) == [A, b"p", 3]
    assert live.read_row(A)["lease_epoch"] == live.lab.run_id


def test_a_refusal_inside_a_script(live: Bench) -> None:
    """A script that catches the refusal reads its text."""
    script = "return redis.pcall(unpack(ARGV))['err']"
    words = WIRES["EMQ.COMPLETE"].words(token="9")
    text = live.put("EVAL", script, 2, *words[2:4], *words)
    assert text.startswith(b"EMQSTALE complete token mismatch")


def test_forbidden_is_raised(live: Bench) -> None:
    """The methods say Forbidden, and keep the server's text."""
    client = user(live, "+emq.claim", *DECLARED, VERSION)
    executor = NativeExecutor(client, lambda: A, lambda: live.lab.run_id.encode())
    with live.nothing_written(), pytest.raises(errors.Forbidden) as caught:
        executor.claim("q")
    assert caught.value.text.startswith("NOPERM ")


# ---------------------------------------------------------------- metrics


def one_job(bench: Bench) -> None:
    """A leased by this process, its lease run out."""
    bench.stalled(A)


@pytest.mark.parametrize(
    ("command", "metrics"),
    [("EMQ.COMPLETE", "completed"), ("EMQ.FAIL", "failed"), ("EMQ.STALLED.CHECK", "failed")],
)
@pytest.mark.parametrize("right", [None, "%R", "%W"])
def test_metrics_that_may_not_be_counted(native: Bench, command: str, metrics: str, right: str | None) -> None:
    """The count is read and written as the caller: one right of the two is not enough, and nothing is written."""
    one_job(native)
    rights = [] if right is None else [f"{right}~{BASE}metrics:*"]
    client = user(native, f"+{command.lower()}", *DECLARED, VERSION, f"~{BASE}job:*", *rights)
    words = WIRES[command].words(max_attempts="1")
    with native.nothing_written():
        assert refused(ask(client, words))
    client = user(native, f"+{command.lower()}", *DECLARED, VERSION, f"~{BASE}job:*", f"~{BASE}metrics:{metrics}")
    assert not isinstance(ask(client, words), ErrorReply)
    assert native.state()[f"metrics:{metrics}"] == {"count": "1"}


@pytest.mark.parametrize(
    ("command", "values"), [("EMQ.FAIL", {"max_attempts": "2"}), ("EMQ.STALLED.CHECK", {"max_stalled": "2"})]
)
def test_metrics_that_are_not_counted(native: Bench, command: str, values: dict[str, str]) -> None:
    """Below the cap nothing is counted, so no right to count is needed."""
    one_job(native)
    client = user(native, f"+{command.lower()}", *DECLARED, VERSION, f"~{BASE}job:*")
    assert not isinstance(ask(client, WIRES[command].words(**values)), ErrorReply)


# ---------------------------------------------------------------- the derived pending of a completion


@pytest.mark.parametrize("right", [None, "%R", "%W"])
def test_a_recovered_job_is_taken_out_of_line_as_the_caller(native: Bench, right: str | None) -> None:
    """Complete derives pending when the job is not leased: one right of the two is not enough."""
    rules = ["+emq.complete", f"~{BASE}active", VERSION, f"~{BASE}job:*", f"~{BASE}metrics:*"]
    words = WIRES["EMQ.COMPLETE"].words()
    native.waiting(A, attempts="2")
    rights = [] if right is None else [f"{right}~{BASE}pending"]
    with native.nothing_written():
        assert refused(ask(user(native, *rules, *rights), words))
    assert ask(user(native, *rules, f"~{BASE}pending"), words) == 1


def test_a_leased_jobs_completion_needs_no_pending(native: Bench) -> None:
    """A key that is not accessed is not opened."""
    native.leased(A)
    client = user(native, "+emq.complete", f"~{BASE}active", VERSION, f"~{BASE}job:*", f"~{BASE}metrics:*")
    assert ask(client, WIRES["EMQ.COMPLETE"].words()) == 1


# ---------------------------------------------------------------- rows of the many-job commands


@pytest.mark.parametrize("command", ["EMQ.EXTENDS", "EMQ.PROMOTE", "EMQ.STALLED.CHECK"])
def test_one_row_that_may_only_be_read(native: Bench, command: str) -> None:
    """A may be written, B only read: the whole call is refused and A stays as it was."""
    for job in (A, B):
        native.stalled(job)
        native.member("schedule", job)
    rights = [*DECLARED, VERSION, f"~{BASE}metrics:*"]
    words = WIRES[command].words() + ([B.decode(), "2"] if command == "EMQ.EXTENDS" else [])
    with native.nothing_written():
        assert refused(ask(user(native, f"+{command.lower()}", *rights, ROW_A, READ_ROWS), words))
        assert refused(ask(user(native, f"+{command.lower()}", *rights, ROW_A), words))
    assert not isinstance(ask(user(native, f"+{command.lower()}", *rights, f"~{BASE}job:*"), words), ErrorReply)


@pytest.mark.parametrize("command", ["EMQ.CLAIM", "EMQ.EXTENDS", "EMQ.PROMOTE", "EMQ.STALLED.CHECK"])
def test_a_row_that_may_only_be_written(live: Bench, command: str) -> None:
    """A derived row is read first, and that takes a right to read it."""
    rights = [*DECLARED, VERSION, f"~{BASE}meta", f"~{BASE}metrics:*"]
    client = user(live, f"+{command.lower()}", *rights, f"%W~{BASE}job:*")
    with live.nothing_written():
        assert refused(ask(client, WIRES[command].words()))


@pytest.mark.parametrize("command", ["EMQ.PROMOTE", "EMQ.STALLED.CHECK"])
def test_ghosts_are_only_looked_at(native: Bench, command: str) -> None:
    """A right to read a row is enough to find that there is none."""
    for name in ("schedule", "active"):
        native.member(name, A)
    client = user(native, f"+{command.lower()}", *DECLARED, VERSION, READ_ROWS)
    assert ask(client, WIRES[command].words()) in (0, [[], []])


def test_a_listed_pair_is_only_read(native: Bench) -> None:
    """A pair that is not extended needs no right to write its row."""
    native.leased(A)
    client = user(native, "+emq.extends", *DECLARED, VERSION, READ_ROWS)
    with native.nothing_written():
        assert ask(client, WIRES["EMQ.EXTENDS"].words(token="1")) == [A]
        assert refused(ask(client, WIRES["EMQ.EXTENDS"].words(token="2")))


def test_the_verdict_before_the_right_to_write(native: Bench) -> None:
    """An exempt and a dying row are opened for writing alike; a lane row refuses as a lane row."""
    native.stalled(A, group="g")
    client = user(native, "+emq.stalled.check", *DECLARED, VERSION, READ_ROWS)
    with native.nothing_written():
        reply = ask(client, WIRES["EMQ.STALLED.CHECK"].words())
    assert ErrorReply("EMQLANE lane row") == reply


def test_the_row_of_another_queue_is_not_reached(native: Bench) -> None:
    """A pattern with a star at the id covers rows of this queue and no other key of it."""
    native.leased(A)
    client = user(native, "+emq.enqueue", f"~{BASE}job:*", VERSION)
    with native.nothing_written():
        assert refused(ask(client, WIRES["EMQ.ENQUEUE"].words(job=B.decode())))
    client = user(native, "+emq.enqueue", f"~{BASE}job:*", f"~{BASE}pending", VERSION)
    assert ask(client, WIRES["EMQ.ENQUEUE"].words(job=B.decode())) == 1
    assert native.state()["pending"] == ids(B)
    assert job_key(B) in native.state()
