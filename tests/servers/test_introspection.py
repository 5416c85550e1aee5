"""What a real server says of the verbs: COMMAND INFO, COMMAND DOCS, COMMAND GETKEYS."""

from typing import Any

import pytest

from emqlab.replies import ErrorReply, ask
from tests.servers.effects import Bed, bed, running
from tests.servers.real import answer
from tests.transitions.wire import ALL, WIRES, Wire

__all__ = ["bed", "running"]

#: The verbs that the server refuses at its door when memory is short.
NEW_JOBS = {"EMQ.ENQUEUE", "EMQ.SCHEDULE"}

#: What a verb does to each key besides reading it, in the order of the keys.
CHANGES = {
    "EMQ.ENQUEUE": "insert insert",
    "EMQ.SCHEDULE": "insert insert",
    "EMQ.CLAIM": "delete insert",
    "EMQ.COMPLETE": "delete delete",
    "EMQ.FAIL": "delete insert insert update",
    "EMQ.DELAY": "update delete insert",
    "EMQ.REQUEUE": "delete insert update",
    "EMQ.EXTEND": "update update",
    "EMQ.EXTENDS": "update",
    "EMQ.PROMOTE": "delete insert",
    "EMQ.STALLED.CHECK": "delete insert insert",
    "EMQ.REPROCESS": "update delete insert",
}

each_verb = pytest.mark.parametrize("wire", ALL, ids=lambda wire: wire.command)


def declared(wire: Wire) -> list[bytes]:
    """The keys of a call that are keys to the server: all but the base."""
    sent = wire.words()[2 : wire.first_arg]
    return [key.encode() for name, key in zip(wire.keys, sent, strict=True) if name != "base"]


def fields(flat: list[Any]) -> dict[str, Any]:
    """A reply of names and values as a dict."""
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


@each_verb
def test_command_info(bed: Bed, wire: Wire) -> None:
    """The arity counts name, numkeys, keys and arguments; it writes; only what makes new jobs minds short memory."""
    ((name, arity, flags, *_),) = ask(bed.client, "COMMAND", "INFO", wire.command)
    pairs = wire.command == "EMQ.EXTENDS"
    length = len(wire.words())
    assert (wire.command.lower().encode(), -length if pairs else length) == (name, arity)
    assert {b"write", b"module", *([b"denyoom"] if wire.command in NEW_JOBS else [])} == set(flags)


@each_verb
def test_the_arity_is_enforced(bed: Bed, wire: Wire) -> None:
    """One word less, and one more, are refused with the server's usual words."""
    words = wire.words()
    assert wire.arity == answer(bed.client, *words[:-1])
    assert wire.arity == answer(bed.client, *words, "more")


@each_verb
def test_command_docs(bed: Bed, wire: Wire) -> None:
    """One sentence of summary, and the arguments named as the verb's table names them, keys marked as such."""
    name, flat = ask(bed.client, "COMMAND", "DOCS", wire.command)
    docs = fields(flat)
    assert (wire.command.lower().encode(), b"module", b"emq") == (name, docs["group"], docs["module"])
    summary = docs["summary"].decode()
    assert summary.endswith(".")
    assert 1 == summary.count(".")
    assert summary[0].isupper()
    assert docs["complexity"].startswith(b"O(")
    arguments = [fields(argument) for argument in docs["arguments"]]
    assert ["numkeys", *wire.keys, *wire.args] == list(spelled(arguments))
    kinds = {argument["name"].decode(): argument["type"].decode() for argument in arguments}
    assert {"key"} == {kinds[name] for name in wire.keys if name != "base"}
    assert "key" not in {kinds.get("base"), *(kinds.get(name) for name in wire.args)}


def spelled(arguments: list[dict[str, Any]]) -> list[str]:
    """The names of arguments in order, those of a repeated block in its place."""
    out: list[str] = []
    for argument in arguments:
        if argument["type"] == b"block":
            assert [b"multiple"] == argument["flags"]
            out += spelled([fields(part) for part in argument["arguments"]])
        else:
            out.append(argument["name"].decode())
    return out


def test_summaries_differ(bed: Bed) -> None:
    """Twelve verbs, twelve sentences."""
    replies = ask(bed.client, "COMMAND", "DOCS", *WIRES)
    assert 12 == len({fields(flat)["summary"] for flat in replies[1::2]})


@each_verb
def test_command_getkeys(bed: Bed, wire: Wire) -> None:
    """The keys of a call are its declared ones; the base is none."""
    assert declared(wire) == ask(bed.client, "COMMAND", "GETKEYS", *wire.words())


@each_verb
def test_command_getkeysandflags(bed: Bed, wire: Wire) -> None:
    """Each key is read and written, and what is done to it is told."""
    told = ask(bed.client, "COMMAND", "GETKEYSANDFLAGS", *wire.words())
    wanted = [[b"RW", b"access", change.encode()] for change in CHANGES[wire.command].split()]
    assert [list(pair) for pair in zip(declared(wire), wanted, strict=True)] == told


@each_verb
def test_keys_of_a_traced_verb(bed: Bed, wire: Wire) -> None:
    """EMQ.TRACE has the keys of the verb that it runs, however the verb is spelled, and may write them."""
    for words in (wire.words(), [wire.command.lower(), *wire.words()[1:]]):
        assert declared(wire) == ask(bed.client, "COMMAND", "GETKEYS", "EMQ.TRACE", *words)
    told = ask(bed.client, "COMMAND", "GETKEYSANDFLAGS", "EMQ.TRACE", *wire.words())
    assert declared(wire) == [key for key, _ in told]
    assert all({b"RW", b"access"} <= set(flags) for _, flags in told)


@pytest.mark.parametrize("words", [["EMQ.NONE", "1", "k"], ["EMQ.CLAIM"], ["EMQ.CLAIM", "3"], ["GET", "k"]])
def test_a_trace_of_nothing_has_no_keys(bed: Bed, words: list[str]) -> None:
    """A verb that is none, or has no keys yet, gives an error and no crash."""
    assert isinstance(answer(bed.client, "COMMAND", "GETKEYS", "EMQ.TRACE", *words), ErrorReply)
    assert b"PONG" == ask(bed.client, "PING")


def test_trace_is_described(bed: Bed) -> None:
    """EMQ.TRACE takes a verb and what belongs to it, writes, and says so in a sentence."""
    ((name, arity, flags, *_),) = ask(bed.client, "COMMAND", "INFO", "EMQ.TRACE")
    assert (b"emq.trace", -2, True) == (name, arity, {b"write", b"module", b"movablekeys"} <= set(flags))
    docs = fields(ask(bed.client, "COMMAND", "DOCS", "EMQ.TRACE")[1])
    assert docs["summary"].endswith(b".")
    assert ["verb", "argument"] == [fields(argument)["name"].decode() for argument in docs["arguments"]]


def test_the_module_brings_thirteen_commands(bed: Bed) -> None:
    """The twelve verbs and EMQ.TRACE, and nothing else."""
    listed = ask(bed.client, "COMMAND", "LIST", "FILTERBY", "MODULE", "emq")
    assert {*(command.lower().encode() for command in WIRES), b"emq.trace"} == set(listed)
    assert b"emq" in [fields(module)["name"] for module in ask(bed.client, "MODULE", "LIST")]
