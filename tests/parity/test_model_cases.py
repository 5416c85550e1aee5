"""The third voice holds to the case files that both executors hold to."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emqlab.observe.case import Case, encoded, moment, substitute
from emqlab.observe.case import World as Moments
from emqlab.observe.case_reader import parse_text
from emqlab.parity.model import Error, Reply, Unsupported, World, Zset, native, scripted

CASES = Path(__file__).parents[1] / "cases"
NOW_MS = 1_795_952_314_485
FIRST, SECOND = b"1" * 40, b"2" * 40
#: These need a wire or a server: keys or arguments of their own, and a raw command between the steps.
ON_A_WIRE = {
    "cache/flush-between-steps",
    "claim/an-argument-too-many",
    "claim/another-base",
    "enqueue/another-row",
}
#: Their scripts leave a score that a case can't state: half a millisecond, or too large for a whole one.
REPLIES_ALONE = {"extend/fraction", "extend/too-big", "fail/delay-fraction"}
VOICES = {"scripted": scripted, "native": native}


@dataclass
class Told:
    """What the model answered a case's verb steps, and the world it left."""

    replies: list[Reply]
    world: World


def all_cases() -> list[Case]:
    """The cases of all files."""
    texts = [(path.read_text(encoding="utf-8"), path.name) for path in sorted(CASES.glob("*.json"))]
    return [case for text, name in texts for case in parse_text(text, name, lines=False)]


def can_be_modelled(case: Case) -> bool:
    """Whether the case is made of named values and of plain data alone."""
    return all(step.keys is None and step.args is None and step.command is None for step in case.when)


MODELLED = [case for case in all_cases() if can_be_modelled(case)]


def give(world: World, words: list[bytes]) -> None:
    """One raw command of ``given``; one that the model has no containers for fails the test."""
    command, key, rest = words[0].upper(), words[1], words[2:]
    held: Any = world.keys.get(key)
    pairs = list(zip(rest[::2], rest[1::2], strict=False))
    if command == b"SET":
        world.keys[key] = rest[0]
    elif command == b"HSET":
        world.keys[key] = {**(held or {}), **dict(pairs)}
    elif command == b"ZADD":
        world.keys[key] = Zset({**(held or {}), **{member: float(score) for score, member in pairs}})
    elif command == b"RPUSH":
        world.keys[key] = [*(held or []), *rest]
    elif command == b"SADD":
        world.keys[key] = {*(held or ()), *rest}
    elif command == b"DEL":
        for gone in words[1:]:
            world.keys.pop(gone, None)
    else:
        raise AssertionError(f"no {command!r} here")


def tell(case: Case, voice: str) -> Told:
    """Run a case through the model's ``voice``."""
    world = World({}, NOW_MS, FIRST)
    for words in case.given:
        give(world, [substitute(word, case.queue, Moments(NOW_MS, FIRST)) for word in words])
    replies = []
    for step in case.when:
        if step.advance_ms is not None:
            world.now_ms += step.advance_ms
        elif step.restart:
            world.run_id = SECOND
        else:
            assert step.verb is not None
            replies.append(VOICES[voice](world, case.queue, step.verb, step.values))
    return Told(replies, world)


def raw(text: Any, moments: Moments) -> bytes:
    """A string of ``expect`` as bytes."""
    if isinstance(text, dict):
        return bytes.fromhex(text["hex"])
    return moment(text, moments) or encoded(text)


def value(expected: Any, moments: Moments) -> Any:
    """An expected ``ok`` as the model would answer it."""
    if isinstance(expected, list):
        return [value(item, moments) for item in expected]
    return raw(expected, moments) if isinstance(expected, str | dict) else expected


def reply_holds(expected: dict[str, Any], actual: Reply, moments: Moments) -> bool:
    """Whether a reply is the expected one: an error's text is a beginning, and a script's own error is ``ERR``."""
    if "error" in expected:
        beginning = raw(expected["error"], moments)
        return isinstance(actual, Error) and actual.text.startswith(beginning)
    if "unsupported" in expected:
        return actual == Unsupported(expected["unsupported"])
    return bool(value(expected["ok"], moments) == actual)


def held(expected: dict[str, Any], moments: Moments) -> Any:
    """An expected key as the model would hold it."""
    content = expected["value"]
    if expected["type"] == "string":
        return raw(content, moments)
    if expected["type"] == "hash":
        return {raw(field, moments): raw(text, moments) for field, text in content}
    if expected["type"] == "zset":
        return Zset({raw(member, moments): float(raw(str(score), moments)) for member, score in content})
    texts = [raw(item, moments) for item in content]
    return texts if expected["type"] == "list" else set(texts)


def name_of(key: str) -> bytes:
    """A key of ``expect`` as bytes."""
    return bytes.fromhex(key[4:]) if key.startswith("hex:") else encoded(key)


def keys_of(world: World) -> dict[bytes, Any]:
    """Every key with its kind, so that a hash never equals a sorted set."""
    return {key: (type(content), content) for key, content in world.keys.items()}


@pytest.mark.parametrize("voice", VOICES)
@pytest.mark.parametrize("case", MODELLED, ids=lambda case: str(case.name))
def test_a_case_holds(case: Case, voice: str) -> None:
    """Replies and complete keys are the expected ones; a time may lie as far on as the clock was moved."""
    told = tell(case, voice)
    moments = Moments(NOW_MS, told.world.run_id)
    expected = case.expect[voice]
    assert len(expected["replies"]) == len(told.replies)
    pairs = zip(expected["replies"], told.replies, strict=True)
    assert [] == [(want, got) for want, got in pairs if not reply_holds(want, got, moments)]
    if "keys" not in expected:
        assert (True, "scripted") == (case.name in REPLIES_ALONE, voice)
        return
    listed = {name_of(key): content for key, content in expected["keys"].items()}
    wanted = {key: held(content, moments) for key, content in listed.items()}
    moved = told.world.now_ms - NOW_MS
    for key, content in wanted.items():
        found = told.world.keys.get(key)
        if isinstance(content, Zset) and isinstance(found, Zset):
            late = {name_of(field) for field, score in listed[key]["value"] if "@" in str(score)}
            content.update({m: found[m] for m in late & set(found) if content[m] <= found[m] <= content[m] + moved})
    assert {key: (type(content), content) for key, content in wanted.items()} == keys_of(told.world)


@pytest.mark.parametrize("case", MODELLED, ids=lambda case: str(case.name))
def test_a_case_parts_the_voices_where_it_says_so(case: Case) -> None:
    """The model's two sides part on a case if and only if it lists a divergence."""
    one, other = tell(case, "scripted"), tell(case, "native")
    assert bool(case.differs) == ((one.replies, keys_of(one.world)) != (other.replies, keys_of(other.world)))


def test_nearly_every_case_is_modelled() -> None:
    """Only the named cases are left to the servers, and nearly all others say all that they expect."""
    cases = all_cases()
    print(f"{len(MODELLED)} of {len(cases)} cases are modelled")
    assert ON_A_WIRE == {case.name for case in cases} - {case.name for case in MODELLED}
    assert len(cases) - len(ON_A_WIRE) == len(MODELLED)
    assert REPLIES_ALONE == {case.name for case in MODELLED if any("keys" not in case.expect[v] for v in VOICES)}


@pytest.mark.parametrize(
    "spoil",
    [
        {"replies": [{"ok": "nothing"}]},
        {"keys": {}},
        {"replies": []},
    ],
    ids=["a wrong reply", "no keys", "no reply"],
)
def test_a_lie_about_a_case_is_noticed(spoil: dict[str, Any]) -> None:
    """A case that holds fails once its expectation is spoilt."""
    source = json.loads((CASES / "failure-budget.json").read_text(encoding="utf-8"))[0]
    source["expect"]["native"].update(spoil)
    (case,) = parse_text(json.dumps(source), "changed", lines=False)
    with pytest.raises(AssertionError):
        test_a_case_holds(case, "native")
