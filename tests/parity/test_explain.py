"""What a whole case shows: followed on both worlds, bounded from below and above, and held against ``differs``."""

import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_case, parse_text
from emqlab.observe.run import Run, run_case
from emqlab.observe.snapshot import take
from emqlab.parity.command import DID_NOT_HOLD, HELD, judge, run
from emqlab.parity.explain import Explained, explained
from emqlab.parity.model import Held, World, Zset
from emqlab.parity.raw import NotFollowed, apply
from emqlab.replies import ask_all

CASES = Path(__file__).parents[1] / "cases"
NOW = 1_795_952_314_485
EPOCH = b"1" * 40
JOB = "JOB0NgWEfAEJfa"
ROW = "{p}job:" + JOB
WAITING = [["HSET", ROW, "state", "pending", "attempts", "0", "payload", "p"], ["ZADD", "{p}pending", "0", JOB]]
CLAIM = {"verb": "claim", "lease_ms": "1000"}
SWEEP = {"verb": "stalled_check", "max_stalled": "1", "limit": "9"}
#: Cases with keys or arguments of their own, or for certain servers, in the files here.
NOT_FOLLOWED = {
    "promote/due-in-this-millisecond",
    "claim/another-base",
    "claim/an-argument-too-many",
    "enqueue/another-row",
}


def every_case() -> list[Case]:
    """The cases of all files."""
    files = sorted(CASES.glob("*.json"))
    return [case for file in files for case in parse_text(file.read_text(encoding="utf-8"), file.name, lines=False)]


def case_of(*when: dict[str, Any], given: Any = WAITING, **more: Any) -> Case:
    """A case of these steps, of one job that waits unless told otherwise."""
    return parse_case({"name": "case", "queue": "q", "given": given, "when": list(when), **more})


def fail(token: str, most: str) -> dict[str, Any]:
    """A failure reported with a token and a cap."""
    return {"verb": "fail", "id": JOB, "token": token, "delay_ms": "0", "max_attempts": most, "error": "boom"}


def leased(attempts: str, deadline: str = "@now+9000") -> list[list[str]]:
    """A job with a lease that bears no stamp."""
    return [["HSET", ROW, "state", "active", "attempts", attempts], ["ZADD", "{p}active", deadline, JOB]]


def follow(case: Case, **more: Any) -> Explained:
    """What the case shows; it must be one that can be followed."""
    found = explained(case, NOW, EPOCH, **more)
    assert found is not None
    return found


def runs_of(lab: Lab, case: Case) -> list[Run]:
    """The case on both executors."""
    executors = {each.name: each for each in (lab.scripted, lab.native)}
    runs = [run_case(lab.server, executors, case, name) for name in ("scripted", "native")]
    return [done for done in runs if isinstance(done, Run)]


def test_every_case_lies_between() -> None:
    """All cases but the few of NOT_FOLLOWED name what is certain and nothing that is impossible."""
    found = {case.name: (case, explained(case, NOW, EPOCH)) for case in every_case()}
    assert {name for name, (_, seen) in found.items() if seen is None} == NOT_FOLLOWED
    followed = [(case, seen) for case, seen in found.values() if seen]
    print(f"{len(followed)} of {len(found)} cases followed")
    assert [] == [case.name for case, seen in followed if not seen.certain <= {*case.differs} <= seen.possible]


def test_one_step_is_explained_exactly() -> None:
    """What a case of one verb step shows is certain, to the last number."""
    alone = [(case, explained(case, NOW, EPOCH)) for case in every_case() if len(case.verbs) == 1]
    followed = [(case, seen) for case, seen in alone if seen]
    print(f"{len(followed)} of {len(alone)} cases of one step followed")
    assert len(followed) > 100
    assert [] == [case.name for case, seen in followed if seen.certain != {*case.differs}]


@pytest.mark.parametrize(
    ("when", "certain", "possible", "left"),
    [
        ([CLAIM, fail("1", "2")], {8, 9}, {8, 9}, {8, 9}),
        ([CLAIM, {"verb": "complete", "id": JOB, "token": "1"}], set(), {8}, set()),
        ([CLAIM, {"verb": "claim", "lease_ms": "0"}], {5}, {5, 8}, {8}),
        ([CLAIM, {"verb": "reap"}], {20}, {8, 20}, {8}),
        ([CLAIM, {"restart": True}, {"advance_ms": 1000}, SWEEP], {8, 15}, {8, 15}, {8}),
        ([CLAIM, {"advance_ms": 999}, SWEEP], {8}, {8}, {8}),
        ([CLAIM, {"command": ["DEL", ROW]}], set(), {8}, set()),
        ([CLAIM, {"command": ["HSET", "{p}meta", "paused", ""]}, CLAIM], {8}, {8}, {8}),
        ([{"verb": "pause"}, CLAIM, {"verb": "resume"}], set(), set(), set()),
    ],
)
def test_several_steps(when: list[dict[str, Any]], certain: set[int], possible: set[int], left: set[int]) -> None:
    """Marks are certain if they stand and nobody was refused, and left if they stand; a reply names its divergence."""
    assert Explained(frozenset(certain), frozenset(possible), frozenset(left)) == follow(case_of(*when))


def test_a_mark_is_left_where_the_script_has_deleted_the_row() -> None:
    """The verb leaves the dead letter with its stamp, and of the script's row there is nothing to bear one."""
    late = {"verb": "complete", "id": JOB, "token": "1"}
    case = case_of(CLAIM, {"advance_ms": 1000}, {**SWEEP, "max_stalled": "1"}, late)
    seen = follow(case)
    assert [[13], [8], [8, 13]] == [sorted(numbers) for numbers in (seen.certain, seen.left, seen.seen)]


def test_after_the_ways_part_nothing_new_is_certain() -> None:
    """The script buries what natively waits for another try: that it is claimed again there is only possible."""
    case = case_of(fail("2", "2"), {"verb": "promote", "batch": "1"}, CLAIM, given=leased("2"))
    assert Explained(frozenset({9}), frozenset({8, 9}), frozenset({8, 9})) == follow(case)


def test_time_that_passes_on_a_real_server() -> None:
    """Whether a lease of 5 ms outlasted the steps is not certain on a server that took 10 ms."""
    case = case_of(SWEEP, given=leased("1", "@now+5"))
    assert Explained(frozenset(), frozenset()) == follow(case)
    assert Explained(frozenset(), frozenset({15})) == follow(case, elapsed_ms=10)


@pytest.mark.parametrize(
    "case",
    [
        case_of({**CLAIM, "keys": ["{p}pending", "{p}active", "{p}"]}),
        case_of({**CLAIM, "args": ["9"]}),
        case_of(CLAIM, servers=["embedded"]),
        case_of(CLAIM, given=[["EXPIRE", "{p}pending", "9"]]),
        case_of(CLAIM, given=[["ZADD", "{p}pending", "NX", "0", JOB]]),
        case_of(CLAIM, {"command": ["EVAL", "return 1", "0"]}),
    ],
    ids=["keys", "args", "servers", "given", "option", "command"],
)
def test_not_followed(case: Case) -> None:
    """What goes beyond named values and plain data is left alone."""
    assert explained(case, NOW, EPOCH) is None


# ---------------------------------------------------------------- raw commands

SOME_OF_EACH = [
    ["SET", "{p}s", "x"],
    ["SET", "{p}n", "41"],
    ["HSET", "{p}h", "f", "1", "g", "x"],
    ["ZADD", "{p}z", "1.5", "a", "-inf", "b"],
    ["RPUSH", "{p}l", "1", "2"],
    ["SADD", "{p}m", "1", "2"],
]
COMMANDS = [
    *[[name, "{p}" + key] for name in ("INCR", "DECR") for key in "snhzlmx"],
    *[["HSET", "{p}" + key, "f", "2", "k", ""] for key in "shzlmx"],
    *[["HDEL", "{p}" + key, "f", "g", "nil"] for key in "shzlmx"],
    *[["HINCRBY", "{p}" + key, field, "-2"] for key in "shx" for field in "fgk"],
    *[["ZADD", "{p}" + key, "1e3", "a", "inf", "c"] for key in "shzlmx"],
    *[["ZREM", "{p}" + key, "a", "b", "nil"] for key in "shzlmx"],
    *[["RPUSH", "{p}" + key, "3", "4"] for key in "shzlmx"],
    *[["LPUSH", "{p}" + key, "3", "4"] for key in "shzlmx"],
    *[["SADD", "{p}" + key, "2", "3"] for key in "shzlmx"],
    *[["SREM", "{p}" + key, "1", "2"] for key in "shzlmx"],
    *[["SET", "{p}" + key, "y"] for key in "shzlmx"],
    ["DEL", "{p}s", "{p}h", "{p}x"],
    ["unlink", "{p}z"],
    ["HGETALL", "{p}h"],
    ["SCRIPT", "FLUSH"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_raw_commands(command: list[str], lab: Lab) -> None:
    """A plain command does to a world what it does on a server, where the key is of another type too."""
    world = World({}, NOW, EPOCH)
    for words in (*SOME_OF_EACH, command):
        sent = [word.replace("{p}", "emq:{q}:").encode() for word in words]
        apply(world, sent)
        ask_all(lab.client, [sent])
    assert {name: kept(held) for name, held in world.keys.items()} == {
        name: (key.type, sorted(key.value) if key.type == "set" else key.value)
        for name, key in take(lab.client, b"q").items()
    }


def kept(held: Held) -> tuple[str, Any]:
    """What a snapshot shows of a key that holds this."""
    if isinstance(held, Zset):
        ordered = sorted((score, member) for member, score in held.items())
        return "zset", [(member, b"%g" % score) for score, member in ordered]
    if isinstance(held, dict):
        return "hash", sorted(held.items())
    if isinstance(held, set):
        return "set", sorted(held)
    return ("string" if isinstance(held, bytes) else "list"), held


@pytest.mark.parametrize(
    "command",
    [["HSET", "k", "f"], ["ZADD", "k", "0x10", "m"], ["SET", "k", "v", "EX", "9"], ["HINCRBY", "k", "f", "x"], ["DEL"]],
    ids=" ".join,
)
def test_a_form_that_is_not_known(command: list[str]) -> None:
    """What is not known for sure is not guessed at."""
    with pytest.raises(NotFollowed):
        apply(World({}, NOW, EPOCH), [word.encode() for word in command])


# ---------------------------------------------------------------- differs, held against it


def test_every_wrong_number_is_told(lab: Lab) -> None:
    """A case of one step that names any number but its own, alone or besides, does not hold."""
    wrong = 0
    for case in every_case():
        if len(case.verbs) != 1 or not case.differs or explained(case, NOW, EPOCH) is None:
            continue
        runs = runs_of(lab, case)
        assert [] == list(judge(case, runs, both=True))
        allowed = follow(case).possible
        for number in sorted(set(DIVERGENCES) - allowed):
            for differs in ((number,), (*case.differs, number)):
                wrong += 1
                told = list(judge(dataclasses.replace(case, differs=differs), runs, both=True))
                assert f"differs names a divergence that is not seen here ({number}: {DIVERGENCES[number]})" in told[0]
    print(f"{wrong} wrong labels told")
    assert wrong > 3000


def test_a_number_left_out(lab: Lab) -> None:
    """A claim and a failure show 8 and 9; a case that names one of them leaves out the other."""
    case = case_of(CLAIM, fail("1", "2"), differs=[8])
    (told,) = judge(case, runs_of(lab, case), both=True)
    assert told == (
        f"differs leaves out a divergence that is seen here (9: {DIVERGENCES[9]}); it names 8: {DIVERGENCES[8]}"
    )


@pytest.mark.parametrize(("number", "fits"), [(5, True), (3, True), (14, False), (25, False), (20, False)])
def test_a_case_that_is_not_followed_names_what_its_verbs_may_show(lab: Lab, number: int, fits: bool) -> None:
    """Which of them it is can't be told from here; a number of other verbs, or of none, it can't be."""
    case = case_of({**CLAIM, "args": ["0"]}, differs=[number])
    assert fits == ([] == list(judge(case, runs_of(lab, case), both=True)))


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``emqlab run`` ends in 1 for a wrong number and says what is seen instead, in 0 for the right one."""
    path = tmp_path / "case.json"
    for number, status in ((8, HELD), (9, DID_NOT_HOLD)):
        path.write_text(json.dumps(case_of(CLAIM, differs=[number]).source), encoding="utf-8")
        got = run([str(path)], executor="both", server=None, native="module", as_json=True, out=io.StringIO())
        assert status == got
    told = capsys.readouterr().err.splitlines()
    assert told[0] == (
        f"case: differs names a divergence that is not seen here (9: {DIVERGENCES[9]}); seen is 8: {DIVERGENCES[8]}"
    )
