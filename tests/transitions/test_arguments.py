"""What a native command refuses before it reads anything: shape, layout, values, fence (SPEC 5.1)."""

import re

import pytest

from emqlab import errors
from emqlab.replies import ErrorReply
from tests.transitions.bench import I64_MAX, WRONGTYPE, A, Bench, job_key
from tests.transitions.wire import ALL, BASE, WIRES, Wire, send, told

each_command = pytest.mark.parametrize("wire", ALL, ids=lambda wire: str(wire.command))

#: No plain decimal: refused wherever a number is asked for.
NO_NUMBERS = [
    *("", "-1", "+1", "01", "00", "007", " 1", "1 ", "1\n", "1\x00", "1.0", "1e3", "0x10", "inf", "nan", "-0", "one"),
    *("1_000", "1,000", "\u0661", str(I64_MAX + 1), "99999999999999999999", "18446744073709551617"),
]
#: (command, name, whether 0 is good), in ARGV order.
NUMBERS = [
    ("EMQ.SCHEDULE", "value", True),
    ("EMQ.CLAIM", "lease_ms", False),
    ("EMQ.FAIL", "delay_ms", True),
    ("EMQ.FAIL", "max_attempts", False),
    ("EMQ.DELAY", "value", True),
    ("EMQ.EXTEND", "lease_ms", False),
    ("EMQ.EXTENDS", "lease_ms", False),
    ("EMQ.PROMOTE", "batch", False),
    ("EMQ.STALLED.CHECK", "max_stalled", False),
    ("EMQ.STALLED.CHECK", "limit", False),
]
LIVE = [
    ("SET", "{p}job:other", "x"),
    ("HSET", "{p}job:" + A.decode(), "attempts", "2"),
    ("ZADD", "{p}active", "1", A.decode()),
    ("ZADD", "{p}pending", "0", A.decode()),
    ("ZADD", "{p}schedule", "1", A.decode()),
    ("ZADD", "{p}dead", "0", A.decode()),
]


@pytest.fixture
def live(native: Bench) -> Bench:
    """A queue in which every command would have something to write."""
    for command in LIVE:
        native.put(*command)
    return native


# ---------------------------------------------------------------- shape


@each_command
def test_good_words_are_good(live: Bench, wire: Wire) -> None:
    """The words that the other tests spoil are carried out when they are whole."""
    reply = send(live, wire.words())
    refused = isinstance(reply, ErrorReply) and not reply.text.startswith("EMQSTATE")
    assert not refused, reply


@each_command
@pytest.mark.parametrize("numkeys", ["0", "", "03", " 3", "+3", "-1", "3.0", "x", "99", "18446744073709551619"])
def test_a_wrong_numkeys(live: Bench, wire: Wire, numkeys: str) -> None:
    """numkeys is the number of keys in plain digits, or the argument count is wrong."""
    words = wire.words()
    spelled = numkeys.replace("3", words[1])
    with live.nothing_written():
        assert wire.arity == send(live, [words[0], spelled, *words[2:]])


@each_command
@pytest.mark.parametrize("more", [-1, 1])
def test_one_key_more_or_less(live: Bench, wire: Wire, more: int) -> None:
    """A number of keys that is off by one is refused, with the words as they are or with a key to match."""
    words = wire.words()
    numkeys = str(len(wire.keys) + more)
    matching = words[2:-1] if more < 0 else [*words[2:], "x"]
    keyed = words[3:] if more < 0 else [words[2], *words[2:]]
    with live.nothing_written():
        assert [wire.arity] * 3 == [send(live, [words[0], numkeys, *rest]) for rest in (words[2:], matching, keyed)]


@each_command
def test_too_few_words(live: Bench, wire: Wire) -> None:
    """Every shorter form, down to the bare name, has the wrong number of arguments."""
    words = wire.words()
    with live.nothing_written():
        assert {wire.arity} == {send(live, words[:length]) for length in range(1, len(words))}


@each_command
@pytest.mark.parametrize("extra", [1, 3])
def test_too_many_words(live: Bench, wire: Wire, extra: int) -> None:
    """One argument more than asked for is refused; of pairs, an odd one."""
    with live.nothing_written():
        assert wire.arity == send(live, [*wire.words(), *["x"] * extra])


def test_pairs_come_in_twos(live: Bench) -> None:
    """Extends asks for at least one pair, and whole ones."""
    wire = WIRES["EMQ.EXTENDS"]
    words = wire.words()
    with live.nothing_written():
        assert wire.arity == send(live, words[:-2])
        assert wire.arity == send(live, words[:-1])
        assert wire.arity == send(live, [*words, A.decode()])


@each_command
def test_the_name_in_any_case(live: Bench, wire: Wire) -> None:
    """A command's name is not case sensitive, and its refusals spell it in lower case."""
    for name in (wire.command.lower(), wire.command.title()):
        assert wire.arity == send(live, [name, "0"])


# ---------------------------------------------------------------- layout


@each_command
def test_a_foreign_key(live: Bench, wire: Wire) -> None:
    """Each key in turn replaced by one that is not the queue's own, in name, base or end."""
    words = wire.words()
    for place in range(2, wire.first_arg):
        own = words[place]
        others = (
            own.replace("{q}", "{z}"),
            own.replace("{q}", "q"),
            own.replace("emq:", "emx:"),
            own[:-1],
            own + "x",
            "x" + own,
            "",
            BASE + "ring",
            "emq:{q}:emq:{q}:" + own.removeprefix(BASE),
        )
        for other in others:
            sent = [*words[:place], other, *words[place + 1 :]]
            with live.nothing_written():
                assert told(send(live, sent)).startswith("EMQARGS keys "), sent


@each_command
def test_permuted_keys(live: Bench, wire: Wire) -> None:
    """The right keys in another order are the wrong keys."""
    words = wire.words()
    sent_keys = words[2 : wire.first_arg]
    for shift in range(1, len(sent_keys)):
        turned = sent_keys[shift:] + sent_keys[:shift]
        with live.nothing_written():
            assert told(send(live, [*words[:2], *turned, *words[wire.first_arg :]])).startswith("EMQARGS keys ")


@each_command
@pytest.mark.parametrize(
    "base", ["emq:{}:", "emq:q:", "emq:{q:", "emq:q}:", "{q}:", "emq:{q}", "", "EMQ:{q}:", "emq:{q}::", " emq:{q}:"]
)
def test_a_base_that_is_none(live: Bench, wire: Wire, base: str) -> None:
    """Every key and the base argument agree on a base, and it is not one."""
    with live.nothing_written():
        assert told(send(live, wire.words(base=base))).startswith("EMQARGS keys ")


@each_command
def test_the_base_argument(live: Bench, wire: Wire) -> None:
    """A base argument of another queue does not go with these keys."""
    if "base" not in wire.args:
        assert wire.command in ("EMQ.ENQUEUE", "EMQ.SCHEDULE", "EMQ.CLAIM", "EMQ.DELAY") or "row" in wire.keys
        return
    words = wire.words()
    place = wire.first_arg + wire.args.index("base")
    for other in ("emq:{z}:", "emq:{q}", "emq:{}:", "", "emq:{q}:x"):
        with live.nothing_written():
            assert told(send(live, [*words[:place], other, *words[place + 1 :]])).startswith("EMQARGS keys ")


@each_command
def test_the_row_is_that_of_the_id(live: Bench, wire: Wire) -> None:
    """The row's key ends in the id argument, byte for byte."""
    if "row" not in wire.keys:
        assert "id" not in wire.args or wire.command == "EMQ.EXTENDS"
        return
    words = wire.words()
    place = wire.first_arg + wire.args.index("id")
    for other in ("JOB0NgWEfAEJfb", "", A.decode() + "x", A.decode()[:-1], A.decode().lower()):
        with live.nothing_written():
            assert told(send(live, [*words[:place], other, *words[place + 1 :]])).startswith("EMQARGS keys ")


@each_command
@pytest.mark.parametrize("queue", ["z", "}", "}:", "{", "a}:b", "*?[x]", "ü", "\udcff\x00", "q}:job:x", "emq", " "])
def test_any_queue_name_that_is_not_empty(native: Bench, wire: Wire, queue: str) -> None:
    """Of the queue's name nothing more is asked: its bytes are its own business."""
    reply = send(native, wire.words(base=f"emq:{{{queue}}}:"))
    assert not (isinstance(reply, ErrorReply) and reply.text.startswith("EMQARGS"))


@pytest.mark.parametrize("command", ["EMQ.COMPLETE", "EMQ.FAIL", "EMQ.REQUEUE", "EMQ.EXTEND", "EMQ.REPROCESS"])
@pytest.mark.parametrize("job", ["", "x", "JOB", "pending", "\udcff\x00", "job:job:"])
def test_any_id_has_a_row(native: Bench, command: str, job: str) -> None:
    """Nor is anything asked of an id by the commands that have no kind check."""
    reply = send(native, WIRES[command].words(job=job))
    assert reply in (0, -1, ErrorReply("EMQSTALE job gone"))


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(("command", "name", "zero"), NUMBERS)
def test_what_is_no_number(live: Bench, command: str, name: str, zero: bool) -> None:
    """Plain ASCII digits within 64 bits, without sign or leading zero; the refusal names the argument."""
    bad = NO_NUMBERS if zero else [*NO_NUMBERS, "0"]
    for text in bad:
        with live.nothing_written():
            reply = told(send(live, WIRES[command].words(**{name: text})))
        assert re.fullmatch(rf"EMQARGS {name} .+", reply), (text, reply)


@pytest.mark.parametrize(("command", "name", "zero"), NUMBERS)
def test_the_smallest_and_the_largest_number(native: Bench, command: str, name: str, zero: bool) -> None:
    """The least number and 2^63-1 pass; on an empty queue no sum is made of them."""
    native.row(A, attempts="7")  # the token is stale: the verbs of one job end there
    for text in ("0" if zero else "1", str(I64_MAX)):
        reply = send(native, WIRES[command].words(job="JOB0NgWEfAEJfb", mode="at", **{name: text}))
        assert not (isinstance(reply, ErrorReply) and reply.text.startswith("EMQARGS")), (text, reply)


@pytest.mark.parametrize("command", ["EMQ.SCHEDULE", "EMQ.DELAY"])
@pytest.mark.parametrize("mode", ["", "IN", "In", "at ", "on", "i", "inn", "in\x00"])
def test_a_mode_is_in_or_at(live: Bench, command: str, mode: str) -> None:
    """Nothing else, and in lower case."""
    with live.nothing_written():
        assert told(send(live, WIRES[command].words(mode=mode))).startswith("EMQARGS mode ")


@pytest.mark.parametrize(
    ("command", "first", "second"),
    [
        ("EMQ.SCHEDULE", "mode", "value"),
        ("EMQ.FAIL", "delay_ms", "max_attempts"),
        ("EMQ.DELAY", "mode", "value"),
        ("EMQ.STALLED.CHECK", "max_stalled", "limit"),
    ],
)
def test_the_first_bad_value_is_told(live: Bench, command: str, first: str, second: str) -> None:
    """In the order of ARGV."""
    both = told(send(live, WIRES[command].words(**{first: "x", second: "x"})))
    assert both.startswith(f"EMQARGS {first} ")
    alone = told(send(live, WIRES[command].words(**{second: "x"})))
    assert alone.startswith(f"EMQARGS {second} ")


# ---------------------------------------------------------------- the fence


@each_command
@pytest.mark.parametrize("version", ["echomq:2.0.0", "", "echomq:3.0.0 ", "ECHOMQ:3.0.0", "echomq:3.0"])
def test_another_wire_version(live: Bench, wire: Wire, version: str) -> None:
    """Any other value is told as it is, and nothing is written."""
    live.put("SET", "{emq}:version", version)
    with live.nothing_written():
        assert f"EMQFENCE wire version {version}" == told(send(live, wire.words()))


def test_a_version_that_would_end_the_line(live: Bench) -> None:
    """An error reply is one line: what can't stand in it becomes a blank."""
    live.put("SET", "{emq}:version", "a\r\nb\0c")
    assert told(send(live, WIRES["EMQ.CLAIM"].words())) == "EMQFENCE wire version a  b c"


@each_command
def test_a_version_of_a_wrong_type(live: Bench, wire: Wire) -> None:
    """The fence is read, and what can't be read refuses."""
    live.put("DEL", "{emq}:version")
    live.put("HSET", "{emq}:version", "a", "b")
    with live.nothing_written():
        assert send(live, wire.words()) == WRONGTYPE


@each_command
def test_no_version_passes(live: Bench, wire: Wire) -> None:
    """An absent version is no other version, and no command writes one."""
    held = send(live, wire.words())
    live.lab.client.flushall()
    for command in LIVE:
        live.put(*command)
    assert held == send(live, wire.words())
    assert live.put("EXISTS", "{emq}:version") == 0


def test_another_version_is_raised(native: Bench) -> None:
    """The method says WrongVersion, and keeps what it got."""
    native.put("SET", "{emq}:version", "echomq:2.0.0")
    with pytest.raises(errors.WrongVersion) as caught:
        native.executor.enqueue("q", b"tea")
    assert caught.value.got == b"echomq:2.0.0"


def test_a_bad_argument_is_raised(native: Bench) -> None:
    """The method says BadArgument, and keeps name and reason."""
    native.waiting(A)
    with native.nothing_written(), pytest.raises(errors.BadArgument) as caught:
        native.executor.claim("q", lease_ms=I64_MAX)
    assert (caught.value.name, bool(caught.value.why)) == ("lease_ms", True)


def test_the_scripts_ask_for_no_version(scripted: Bench) -> None:
    """The version was checked when the lab was opened, and is not looked at again."""
    scripted.put("SET", "{emq}:version", "echomq:2.0.0")
    scripted.waiting(A)
    assert scripted.ask("claim", lease_ms="1") == [A, b"p", 1]


# ---------------------------------------------------------------- the order of the four


@each_command
def test_shape_before_layout(live: Bench, wire: Wire) -> None:
    """Foreign keys and one word too few: the count is told."""
    words = wire.words(base="emq:q:")
    assert wire.arity == send(live, words[:-1])
    assert wire.arity == send(live, [words[0], "0", *words[2:]])


@pytest.mark.parametrize(("command", "name", "zero"), NUMBERS)
def test_layout_before_values(live: Bench, command: str, name: str, zero: bool) -> None:
    """Foreign keys and a bad number: the keys are told, though the base may be a later argument."""
    assert told(send(live, WIRES[command].words(base="emq:q:", **{name: "x"}))).startswith("EMQARGS keys ")


@pytest.mark.parametrize(("command", "name", "zero"), NUMBERS)
def test_values_before_the_fence(live: Bench, command: str, name: str, zero: bool) -> None:
    """A bad number under another version: the number is told."""
    live.put("SET", "{emq}:version", "echomq:2.0.0")
    assert told(send(live, WIRES[command].words(**{name: "x"}))).startswith(f"EMQARGS {name} ")


@each_command
def test_layout_before_the_fence(live: Bench, wire: Wire) -> None:
    """Foreign keys under another version: the keys are told."""
    live.put("SET", "{emq}:version", "echomq:2.0.0")
    assert told(send(live, wire.words(base="emq:q:"))).startswith("EMQARGS keys ")


@each_command
def test_the_fence_before_every_read(live: Bench, wire: Wire) -> None:
    """Under another version nothing else is read: every key of the queue may be spoiled."""
    for name in ("pending", "active", "schedule", "dead", "meta", job_key(A)):
        live.put("DEL", "{p}" + name)
        live.spoil(name)
    live.put("SET", "{emq}:version", "echomq:2.0.0")
    assert told(send(live, wire.words())).startswith("EMQFENCE ")


@pytest.mark.parametrize("command", ["EMQ.ENQUEUE", "EMQ.SCHEDULE", "EMQ.DELAY"])
def test_the_fence_before_the_kind(live: Bench, command: str) -> None:
    """The kind is a verdict: it comes after the fence, and after the values."""
    words = WIRES[command].words(job="TSK0NgWEfAEJfa")
    assert told(send(live, words)).startswith("EMQKIND ")
    live.put("SET", "{emq}:version", "echomq:2.0.0")
    assert told(send(live, words)).startswith("EMQFENCE ")
    if command != "EMQ.ENQUEUE":
        assert told(send(live, WIRES[command].words(job="TSK", mode="on"))).startswith("EMQARGS mode ")


@each_command
def test_the_fence_is_the_first_read(live: Bench, wire: Wire) -> None:
    """Told read by read, the version comes first and is read once."""
    answer = send(live, ["EMQ.TRACE", *wire.words()])
    assert isinstance(answer, list)
    reads = [entry[1:-1] for entry in answer[1] if entry[0] == b"read"]
    versions = [place for place, command in enumerate(reads) if b"{emq}:version" in command]
    assert versions == [0]


@each_command
def test_told_and_untold_are_the_same(live: Bench, wire: Wire) -> None:
    """Tracing a command changes neither its reply nor what it leaves."""
    reply = send(live, wire.words())
    left = live.snapshot()
    live.lab.server.begin_case(b"q")
    for command in LIVE:
        live.put(*command)
    answer = send(live, ["EMQ.TRACE", *wire.words()])
    assert isinstance(answer, list)
    assert reply == answer[0]
    assert left == live.snapshot()


@each_command
def test_nothing_is_read_after_the_guard(live: Bench, wire: Wire) -> None:
    """One guard at most, reads before it, writes behind it, and the clock asked once at most."""
    answer = send(live, ["EMQ.TRACE", *wire.words()])
    assert isinstance(answer, list)
    phases = [entry[0] for entry in answer[1] if entry[0] in (b"read", b"guard", b"write")]
    order = [b"read", b"guard", b"write"]
    assert phases == sorted(phases, key=order.index)
    assert phases.count(b"guard") == (b"write" in phases)
    assert sum(entry[1:2] == [b"(clock)"] for entry in answer[1]) <= 1
