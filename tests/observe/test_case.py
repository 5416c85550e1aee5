"""The case format: what is taken, what is refused, and in which words (SPEC 8)."""

import json
from typing import Any

import pytest

import emqlab
from emqlab.observe.case import BadCase, World, parse_case, parse_text, substitute
from emqlab.observe.run import Run, Skipped, run_case

ROW = "JOB0NgWEfAEJfs"
CLAIM = {"verb": "claim", "lease_ms": "30000"}
GOOD: dict[str, Any] = {"name": "n", "queue": "q", "when": [CLAIM]}


def run(lab: emqlab.Lab, name: str, **parts: Any) -> Run:
    """One case on one executor of the lab's bench."""
    server, executors = lab.bench()
    done = run_case(server, executors, parse_case({**GOOD, **parts}), name)
    assert isinstance(done, Run)
    return done


BAD: list[tuple[str, Any, str]] = [
    ("a number", 7, "a case is an object"),
    ("no name", {"queue": "q", "when": []}, "name: every case needs"),
    ("no queue", {"name": "n", "when": []}, "n: queue: missing"),
    ("no when", {"name": "n", "queue": "q"}, "n: when: missing"),
    ("unknown field", {**GOOD, "wen": []}, "n: wen: no such field"),
    ("unknown verb", {**GOOD, "when": [{"verb": "klaim"}]}, r"n: when\[0\]\.verb: no verb 'klaim'"),
    ("missing value", {**GOOD, "when": [{"verb": "claim"}]}, r"n: when\[0\]\.lease_ms: missing"),
    ("stray value", {**GOOD, "when": [{**CLAIM, "id": "x"}]}, r"n: when\[0\]\.id: claim has no such value"),
    ("a number for a text", {**GOOD, "when": [{"verb": "claim", "lease_ms": 5}]}, r"lease_ms: must be a string"),
    ("bad hex", {**GOOD, "given": [["SET", "k", {"hex": "zz"}]]}, r"given\[0\]\[2\]: 'zz' is not hexadecimal"),
    ("empty command", {**GOOD, "given": [[]]}, r"given\[0\]: must be a command"),
    ("odd step", {**GOOD, "when": [{"wait": 5}]}, r"when\[0\]: must name a verb"),
    ("restart false", {**GOOD, "when": [{"restart": False}]}, r"restart: must be true"),
    ("advance text", {**GOOD, "when": [{"advance_ms": "5"}]}, r"advance_ms: must be a whole number"),
    ("divergence 99", {**GOOD, "differs": [99]}, r"differs: 99 is no divergence"),
    ("divergence true", {**GOOD, "differs": [True]}, r"differs: True is no divergence"),
    ("pair of three", {**GOOD, "when": [{"verb": "extends", "lease_ms": "1", "pairs": [["a", "b", "c"]]}]}, "a pair"),
    ("other executor", {**GOOD, "expect": {"lua": {}}}, r"expect\.lua: the executors are"),
    ("odd reply", {**GOOD, "expect": {"native": {"replies": [{"yes": 1}]}}}, r"replies\[0\]: must be one of"),
    ("key without type", {**GOOD, "expect": {"native": {"keys": {"k": {"value": 1}}}}}, r"keys\.k: must have type"),
    ("servers a text", {**GOOD, "servers": "valkey"}, "servers: must be a list"),
]


@pytest.mark.parametrize(("what", "source", "words"), BAD, ids=[row[0] for row in BAD])
def test_a_bad_case_is_named_with_file_case_and_field(what: str, source: Any, words: str) -> None:
    """One sentence that says where, and what to do."""
    with pytest.raises(BadCase, match=words) as refused:
        parse_text(json.dumps([source]), "file.json", lines=False)
    assert str(refused.value).startswith("file.json")
    assert "\n" not in str(refused.value)


def test_bad_json_is_named_with_line_and_column() -> None:
    """In a file of lines, the line of the file."""
    with pytest.raises(BadCase, match=r"f\.json: not JSON at line 2, column"):
        parse_text('{\n"name" 7}', "f.json", lines=False)
    with pytest.raises(BadCase, match=r"f\.jsonl line 2: not JSON"):
        parse_text(json.dumps(GOOD) + "\n{", "f.jsonl", lines=True)


def test_words_of_time_and_epoch_are_put_in() -> None:
    """Exactly the word, nothing around it; ``{p}`` anywhere."""
    world = World(1000, b"e" * 40)
    words = ["@now", "@now+5", "@now-5", "@run_id", "@old_run_id", "{p}x", "@now ", "@nowhere", {"hex": "00ff"}]
    sent = [substitute(word, b"q", world) for word in words]
    expected = [b"1000", b"1005", b"995", b"e" * 40, b"0" * 40, b"emq:{q}:x", b"@now ", b"@nowhere", b"\x00\xff"]
    assert expected == sent


@pytest.mark.parametrize("name", ["scripted", "native"])
def test_named_values_go_as_they_are(lab: emqlab.Lab, name: str) -> None:
    """A payload ``{p}`` or ``@now`` is sent literally."""
    for payload in ("{p}", "@now"):
        done = run(lab, name, when=[{"verb": "enqueue", "id": ROW, "payload": payload}, CLAIM])
        assert payload.encode() == done.replies[1][1]


@pytest.mark.parametrize("name", ["scripted", "native"])
@pytest.mark.parametrize("queue", ["a*b", "[x]", "q?", "\\", "}", "{", "a b", "", {"hex": "ff00"}, "ä"])
def test_a_queue_name_may_hold_any_bytes(lab: emqlab.Lab, name: str, queue: Any) -> None:
    """Pattern characters mean themselves, and only this queue's keys are seen."""
    given = [["SET", "emq:{aXb}:other", "x"], ["SET", "emq:{x}:other", "x"], ["SET", "{p}mine", "x"]]
    done = run(lab, name, queue=queue, given=given, when=[{"verb": "pause"}])
    assert 2 == len(done.after)


def test_keys_and_args_replace_what_is_built(lab: emqlab.Lab) -> None:
    """To test shape and layout; ``{p}`` and ``@now`` work there."""
    step = {**CLAIM, "keys": ["{p}active", "{p}pending", "{p}"], "args": ["@now"]}
    assert "EMQARGS keys" in run(lab, "native", when=[step]).replies[0].text


def test_the_clock_words_keep_the_first_now(lab: emqlab.Lab) -> None:
    """@now is read once, and stays what it was after the clock moved."""
    when = [{"advance_ms": 5000}, {"command": ["SET", "{p}t", "@now"]}]
    done = run(lab, "native", when=when)
    assert b"%d" % done.now_ms == done.after[b"emq:{q}:t"].value
    assert done.now_ms + 5000 == done.done_ms


def test_two_cases_never_see_each_other(lab: emqlab.Lab) -> None:
    """Keys, clock, epoch, users, the wire version: all as at the start."""
    when = [
        {"command": ["SET", "{emq}:version", "other"]},
        {"command": ["ACL", "SETUSER", "default", "-emq.claim"]},
        {"advance_ms": 99},
        {"restart": True},
        CLAIM,
    ]
    first = run(lab, "native", given=[["SET", "{p}x", "1"]], when=when)
    second = run(lab, "native")
    assert "NOPERM" == first.replies[0].code
    assert {b"emq:{q}:x", b"{emq}:version"} == set(first.after)
    assert ([[]], {}) == (list(second.replies), second.after)
    assert first.now_ms == second.now_ms == second.done_ms
    assert first.run_id != second.run_id


def test_a_raw_command_the_server_lacks_gives_its_error(lab: emqlab.Lab) -> None:
    """The case goes on."""
    done = run(lab, "native", when=[{"command": ["NOSUCH", "x"]}, CLAIM])
    assert ["ERR", None] == [done.trace[0].reply.code, getattr(done.trace[1].reply, "code", None)]
    assert 1 == len(done.replies)


def test_a_case_for_another_server_is_skipped_and_says_so(lab: emqlab.Lab) -> None:
    """``servers`` names where it may run."""
    server, executors = lab.bench()
    done = run_case(server, executors, parse_case({**GOOD, "servers": ["valkey"]}), "native")
    assert isinstance(done, Skipped)
    assert "valkey" in done.json()["skipped"]


def test_an_unsupported_step_answers_so(lab: emqlab.Lab) -> None:
    """Nothing is sent; the reply says which verb."""
    done = run(lab, "native", when=[{"verb": "reap"}, {"verb": "lane_pause", "group": "g"}])
    assert [{"unsupported": "reap"}, {"unsupported": "lane_pause"}] == done.json()["replies"]


def test_the_json_line_is_the_specified_one(lab: emqlab.Lab) -> None:
    """Names, order, and the state of every key."""
    given = [["HSET", f"{{p}}job:{ROW}", "attempts", "0", "payload", {"hex": "ff"}], ["ZADD", "{p}pending", "0", ROW]]
    line = run(lab, "scripted", given=given).json()
    assert ["case", "executor", "server", "now_ms", "done_ms", "run_id", "replies", "keys"] == list(line)
    assert [{"ok": [ROW, {"hex": "ff"}, 1]}] == line["replies"]
    row = line["keys"][f"emq:{{q}}:job:{ROW}"]
    assert {"type": "hash", "ttl_ms": -1} == {part: row[part] for part in ("type", "ttl_ms")}
    assert [["attempts", "1"], ["payload", {"hex": "ff"}], ["state", "active"]] == row["value"]
    deadline = str(line["now_ms"] + 30000)
    assert {"type": "zset", "ttl_ms": -1, "value": [[ROW, deadline]]} == line["keys"]["emq:{q}:active"]
