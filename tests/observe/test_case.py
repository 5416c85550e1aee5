"""The case format: what is taken, what is refused, and in which words (SPEC 8)."""

import json
from typing import Any

import pytest

import emqlab
from emqlab.observe.case import BadCase, World, substitute
from emqlab.observe.case_reader import parse_case, parse_text
from emqlab.observe.run import Run, Skipped, run_case

ROW = "JOB0NgWEfAEJfs"
CLAIM = {"verb": "claim", "lease_ms": "30000"}
GOOD: dict[str, Any] = {"name": "n", "queue": "q", "when": [CLAIM]}
FLOW: dict[str, Any] = {
    "verb": "flow_add",
    "id": "P",
    "payload": "x",
    "children": [["A", "a"], ["B", "b"]],
    "policy": "",
}


def run(lab: emqlab.Lab, name: str, **parts: Any) -> Run:
    """One case on one executor of the lab's bench."""
    server, executors = lab.bench()
    done = run_case(server, executors, parse_case({**GOOD, **parts}), name)
    assert isinstance(done, Run)
    return done


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


def replies(*expected: Any) -> dict[str, Any]:
    """A case that expects these replies."""
    return {**GOOD, "expect": {"native": {"replies": list(expected)}}}


def holds(kind: Any, value: Any, **more: Any) -> dict[str, Any]:
    """A case that expects one key, ``k``."""
    return {**GOOD, "expect": {"native": {"keys": {"k": {"type": kind, "value": value, **more}}}}}


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
    ("servers null", {**GOOD, "servers": None}, "n: servers: must be a list, not null"),
    ("servers of numbers", {**GOOD, "servers": [1]}, "servers: must be a list of server names, not a number"),
    ("given null", {**GOOD, "given": None}, "n: given: must be a list, not null"),
    ("when null", {**GOOD, "when": None}, "n: when: must be a list, not null"),
    ("differs of lists", {**GOOD, "differs": [[9]]}, "n: differs: a list is no divergence"),
    ("differs of objects", {**GOOD, "differs": [{}]}, "n: differs: an object is no divergence"),
    ("differs with a fraction", {**GOOD, "differs": [9.0]}, "n: differs: a number is no divergence"),
    ("differs of null", {**GOOD, "differs": [None]}, "n: differs: null is no divergence"),
    ("differs null", {**GOOD, "differs": None}, "n: differs: must be a list, not null"),
    ("a list for a verb", {**GOOD, "when": [{"verb": nested(900)}]}, r"n: when\[0\]\.verb: no verb is a list"),
    ("advance too far", {**GOOD, "when": [{"advance_ms": 10**15 + 1}]}, r"n: when\[0\]\.advance_ms: must lie between"),
    ("advance too far back", {**GOOD, "when": [{"advance_ms": -(10**15) - 1}]}, "advance_ms: must lie between"),
    ("advance infinite", {**GOOD, "when": [{"advance_ms": float("inf")}]}, "advance_ms: must be a whole number"),
    ("a flow of none", {**GOOD, "when": [{**FLOW, "children": []}]}, r"n: when\[0\]\.children: .* at least one child"),
    ("a parent of itself", {**GOOD, "when": [{**FLOW, "id": "B"}]}, r"children\[1\]\[0\]: the id 'B' is there twice"),
    ("a child twice", {**GOOD, "when": [{**FLOW, "children": [["A", ""], [{"hex": "41"}, ""]]}]}, "'A' is there twice"),
    ("another policy", {**GOOD, "when": [{**FLOW, "policy": "FP"}]}, r"n: when\[0\]\.policy: no policy 'FP'"),
    ("replies null", {**GOOD, "expect": {"native": {"replies": None}}}, "native.replies: must be a list of replies"),
    ("keys null", {**GOOD, "expect": {"native": {"keys": None}}}, "native.keys: must be an object of keys, not null"),
    (
        "an error's number",
        replies({"error": 5}),
        r"n: expect\.native\.replies\[0\]\.error: must be a text, not a number",
    ),
    ("an error's null", replies({"ok": 1}, {"error": None}), r"replies\[1\]\.error: must be a text, not null"),
    ("unsupported true", replies({"unsupported": True}), r"\.unsupported: must be a text, not true or false"),
    ("a reply true", replies({"ok": True}), r"replies\[0\]\.ok: must be a number, null, a string or a list of these"),
    ("a reply NaN", replies({"ok": [float("nan")]}), r"replies\[0\]\.ok: .* not NaN or Infinity"),
    ("a reply's object", replies({"ok": [{"yes": 1}]}), r"replies\[0\]\.ok: must be a string"),
    ("a reply's bad hex", replies({"ok": {"hex": "0"}}), r"replies\[0\]\.ok: '0' is not hexadecimal"),
    ("a reply too deep", replies({"ok": nested(65)}), r"n: expect\.native\.replies\[0\]\.ok: nested deeper than 64"),
    ("a reply far too deep", replies({"ok": nested(500)}), r"replies\[0\]\.ok: nested deeper than 64"),
    ("another type", holds("heap", []), r"n: expect\.native\.keys\.k\.type: must be one of string, hash"),
    ("a type of lists", holds(["hash"], []), r"keys\.k\.type: must be one of"),
    ("a stray field of a key", holds("hash", [], ttl=5), r"keys\.k\.ttl: no such field"),
    ("a ttl's text", holds("hash", [], ttl_ms="5"), r"keys\.k\.ttl_ms: must be a whole number .* not a text"),
    ("a ttl true", holds("hash", [], ttl_ms=True), r"ttl_ms: must be a whole number .* not true or false"),
    ("a ttl null", holds("hash", [], ttl_ms=None), r"ttl_ms: must be a whole number .* not null"),
    ("a string of a number", holds("string", 5), r"keys\.k\.value: must be a string or .* not a number"),
    ("a string of a list", holds("string", ["x"]), r"keys\.k\.value: must be a string or .* not a list"),
    ("a list of a text", holds("list", "x"), r"keys\.k\.value: must be a list of strings, not a text"),
    ("a list of numbers", holds("list", ["x", 5]), r"keys\.k\.value\[1\]: must be a string or .* not a number"),
    ("a set of lists", holds("set", [["x"]]), r"keys\.k\.value\[0\]: must be a string or .* not a list"),
    ("a hash of an object", holds("hash", {"a": "b"}), r"keys\.k\.value: must be a list of pairs, not an object"),
    ("a hash of texts", holds("hash", ["ab"]), r"keys\.k\.value\[0\]: must be a pair"),
    ("a hash of three", holds("hash", [["a", "b", "c"]]), r"keys\.k\.value\[0\]: must be a pair"),
    ("a field of a number", holds("hash", [[5, "b"]]), r"keys\.k\.value\[0\]\[0\]: must be a string or"),
    ("a field of null", holds("hash", [["a", None]]), r"keys\.k\.value\[0\]\[1\]: must be a string or .* not null"),
    ("a field twice", holds("hash", [["a", "b"], [{"hex": "61"}, "c"]]), r"value\[1\]\[0\]: .* is there twice"),
    ("a member twice", holds("zset", [["a", "1"], ["a", "2"]]), r"value\[1\]\[0\]: 'a' is there twice"),
    ("a score null", holds("zset", [["a", None]]), r"keys\.k\.value\[0\]\[1\]: must be a score: .* not null"),
    ("a score of bytes", holds("zset", [["a", {"hex": "31"}]]), "must be a score: .* not an object"),
    ("a score true", holds("zset", [["a", True]]), "must be a score: .* not true or false"),
    ("a score NaN", holds("zset", [["a", float("nan")]]), "must be a score: .* not NaN or Infinity"),
    *(
        (f"a score {text!r}", holds("zset", [["a", text]]), r"keys\.k\.value\[0\]\[1\]: .* is no score")
        for text in ("abc", "snan", "nan", "", " 1", "1_0", "١", "@run_id", "@NOW", "@now+", "@now+x", "1e99999")
    ),
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


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"name": ' * 100_000, "9" * 5000, '{"name": "n", "differs": [1' + "0" * 5000]
)
@pytest.mark.parametrize("lines", [False, True])
def test_json_that_python_cannot_read_is_named_with_its_file(text: str, lines: bool) -> None:
    """Nested too deeply, or a number of thousands of digits: one sentence that begins with the file."""
    with pytest.raises(BadCase, match=r"^f\.json.*: (nested too deeply|a number in it has too many digits)"):
        parse_text(text, "f.json", lines=lines)


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", "\u2029", "\v", "\f", "\x1c"])
def test_a_line_ends_at_a_line_feed_only(odd: str) -> None:
    """What Python calls a line break, JSON allows inside a text."""
    names = [f"a{odd}b" if odd > "~" else "ab", "c"]
    text = "\r\n".join(json.dumps({**GOOD, "name": name}, ensure_ascii=False) for name in names) + "\r\n\n"
    assert names == [case.name for case in parse_text(text, "f.jsonl", lines=True)]
    with pytest.raises(BadCase, match=r"f\.jsonl line 1: not JSON"):
        parse_text(odd, "f.jsonl", lines=True)


def test_an_expectation_of_every_kind_is_taken() -> None:
    """Each type of key, each kind of score, replies 64 deep, an error inside a list."""
    scores = [1, -1.5, "1", "-1.5", "1e+17", ".5", "5.", "inf", "-inf", "+Infinity", "@now", "@now+5", "@now-5"]
    kept = {
        "s": {"type": "string", "ttl_ms": 5, "value": {"hex": "ff"}},
        "h": {"type": "hash", "value": [["a", "b"], [{"hex": "ff"}, "@now"]]},
        "z": {"type": "zset", "ttl_ms": -1, "value": [[f"m{i}", score] for i, score in enumerate(scores)]},
        "l": {"type": "list", "value": ["a", "a", {"hex": "00"}]},
        "t": {"type": "set", "value": ["a"]},
        "x": {"type": "stream", "value": []},
    }
    told = [{"ok": nested(64)}, {"ok": [1, None, "x", 1.5, {"hex": "ff"}, {"error": "ERR"}]}, {"unsupported": "reap"}]
    expect = {"native": {"keys": kept, "replies": [*told, {"error": ""}]}, "scripted": {}}
    assert expect == parse_case({**GOOD, "expect": expect}).expect


def test_the_clock_may_be_moved_far() -> None:
    """Up to 10^15 ms, either way."""
    case = parse_case({**GOOD, "when": [{"advance_ms": 10**15}, {"advance_ms": -(10**15)}]})
    assert [10**15, -(10**15)] == [step.advance_ms for step in case.when]


def test_a_case_knows_where_it_came_from() -> None:
    """The file, with the line in a file of lines."""
    text = json.dumps(GOOD)
    assert "f.json" == parse_text(text, "f.json", lines=False)[0].where
    assert "f.jsonl line 2" == parse_text("\n" + text, "f.jsonl", lines=True)[0].where
    assert "the case" == parse_case(GOOD).where


def test_a_case_built_in_python_may_hold_tuples_and_bytes() -> None:
    """They are what lists and ``{"hex": …}`` are in a file, and the source is told as JSON."""
    extends = {"verb": "extends", "lease_ms": b"5", "pairs": ((b"a\xff", "1"),)}
    case = parse_case(
        {**GOOD, "queue": b"q\xff", "given": (("SET", "k", b"\xff"),), "when": (extends,), "differs": (9,)}
    )
    assert (b"q\xff", (9,)) == (case.queue, case.differs)
    assert {"lease_ms": b"5", "pairs": [(b"a\xff", b"1")]} == case.when[0].values
    assert b"\xff" == substitute(case.given[0][2], case.queue, World(0, b""))
    assert case == parse_case(json.loads(json.dumps(case.source)))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({1}, "not a Python set"),
        ({**GOOD, "queue": 5j}, r"queue: must be a string or .* not a Python complex"),
        ({**GOOD, "when": {1, 2}}, "when: must be a list, not a Python set"),
        ({**GOOD, "given": [["SET", object()]]}, r"given\[0\]\[1\]: must be a string or .* not a Python object"),
        ({**GOOD, "when": [range(3)]}, r"when\[0\]: must be a step, an object, not a Python range"),
        ({**GOOD, "differs": [10**5000]}, "differs: a number is no divergence"),
        (dict([*GOOD.items(), (5, "x")]), "n: the name of a field must be a text, not a number"),
        (
            {**GOOD, "expect": {"native": {"keys": {b"k": {}}}}},
            "the name of a field must be a text, not a Python bytes",
        ),
        (holds("zset", [["a", 10**5000]]), "is too large for a score"),
    ],
)
def test_other_objects_of_python_are_named_by_their_type(source: Any, words: str) -> None:
    """Whatever is given to ``lab.run``, the sentence says what it is."""
    with pytest.raises(BadCase, match=words):
        parse_case(source)


def test_a_list_that_holds_itself_is_refused() -> None:
    """There is no end to it, so it is too deep."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(BadCase, match="nested deeper than 64"):
        parse_case(replies({"ok": endless}))
    with pytest.raises(BadCase, match=r"given\[0\]\[0\]: must be a string"):
        parse_case({**GOOD, "given": endless})


@pytest.mark.parametrize("odd", ["\n", "\r", "\x1b[2J", "\x00", "\u2028", "\u202e", "\ud800", "\x7f", "\x85"])
def test_a_sentence_stays_on_its_line_whatever_the_names_hold(odd: str) -> None:
    """Names of files, cases, fields, keys and verbs are shown escaped where they can't be printed."""
    sources = (
        {**GOOD, "name": f"n{odd}", "when": []} | {f"f{odd}": 1},
        {**GOOD, "when": [{"verb": odd}]},
        {**GOOD, "when": [{**CLAIM, odd: 1}]},
        {**GOOD, "expect": {"native": {"keys": {odd: 5}}}},
        {**GOOD, "given": [["SET", {"hex": f"x{odd}"}]]},
        holds("zset", [["a", odd]]),
    )
    for source in sources:
        with pytest.raises(BadCase) as refused:
            parse_text(json.dumps(source), f"f{odd}.json", lines=False)
        assert str(refused.value).isprintable()
        assert str(refused.value).startswith("f" + odd.encode("unicode_escape").decode())


WAITS = "may wait for ever"
ANSWERS = "changes how replies arrive on its connection"
WHY = {"SHUTDOWN": "ends the server", "QUIT": "ends its connection", "DEBUG": "holds up the whole server"}
WHY |= dict.fromkeys(["CLIENT", "MONITOR", "SYNC", "PSYNC"], ANSWERS)
HOLDING = [
    *((name,) for name in ["BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX", "BZMPOP"]),
    *((name,) for name in ["SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"]),
    *((name,) for name in ["MONITOR", "SYNC", "PSYNC", "WAIT", "WAITAOF", "SHUTDOWN", "QUIT", "blpop", "Monitor"]),
    ("CLIENT", "REPLY", "OFF"),
    ("client", "reply", "skip"),
    ("DEBUG", "SLEEP", "9"),
    ("XREAD", "BLOCK", "0", "STREAMS", "s", "$"),
    ("XREAD", "COUNT", "1", "block", "0", "STREAMS", "s", "$"),
    ("XREADGROUP", "GROUP", "g", "c", "NOACK", "BLOCK", "0", "STREAMS", "s", ">"),
]


@pytest.mark.parametrize("command", HOLDING, ids=" ".join)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_raw_command_that_holds_the_runner_up_is_refused(command: tuple[str, ...], as_bytes: bool) -> None:
    """It would wait, end something, or change how replies arrive; the sentence names it and says which."""
    name = command[0].upper()
    why = WHY.get(name, ANSWERS if "SUBSCRIBE" in name else WAITS)
    sent = [{"hex": word.encode().hex()} for word in command] if as_bytes else list(command)
    for source, place in (({**GOOD, "given": [sent]}, "given"), ({**GOOD, "when": [{"command": sent}]}, "when")):
        with pytest.raises(BadCase, match=rf"n: {place}\[0\].*: {name}.* {why}; leave it out"):
            parse_case(source)


@pytest.mark.parametrize(
    "command",
    [
        ["LPOP", "BLPOP"],
        ["CLIENT", "ID"],
        ["DEBUG", "OBJECT", "k"],
        ["CLIENT"],
        ["PUBLISH", "BLOCK", "x"],
        ["XREAD", "COUNT", "1", "STREAMS", "BLOCK", "0"],
        ["XREADGROUP", "GROUP", "BLOCK", "block", "STREAMS", "s", ">"],
        ["XREAD"],
        ["MULTI"],
        [""],
    ],
)
def test_every_other_raw_command_is_taken(command: list[str]) -> None:
    """Also one whose key or group has such a name."""
    assert (tuple(command),) == parse_case({**GOOD, "given": [command]}).given


@pytest.mark.parametrize("policy", ["", "fp", "id", {"hex": "6670"}])
def test_a_flow_has_a_policy_or_none(policy: Any) -> None:
    """The two there are, and the empty one (SPEC 4.4)."""
    case = parse_case({**GOOD, "when": [{**FLOW, "policy": policy}]})
    assert [(b"A", b"a"), (b"B", b"b")] == case.when[0].values["children"]


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
