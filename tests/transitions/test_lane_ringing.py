"""Ringing a group, by each of the eight that ring (SPEC 4.3). Scripts only."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.transitions.bench import WRONGTYPE, A, B, Bench, ids
from tests.transitions.lanes import lane, ring

#: Who rings group g: A is leased, expired and due, B waits in the lane, and two slots are taken.
RINGERS = ("lane_enqueue", "lane_resume", "lane_limit", "complete", "fail", "reap", "promote", "stalled_check")
#: Those that give A's slot back before they ring.
FREEING = ("complete", "fail", "reap", "stalled_check")
LIMIT = "9"

each_ringer = pytest.mark.parametrize("verb", RINGERS)


@pytest.fixture
def waiting(scripted: Bench) -> Bench:
    """Group h is on the ring, g is not, and sixty-four wakes are left, the newest first."""
    scripted.leased(A, group="g", attempts="1")
    scripted.ends(A, 0)
    scripted.member("schedule", A)
    scripted.row(B, group="g")
    scripted.member(lane("g"), B)
    scripted.put("HSET", "{p}gactive", "g", 2)
    scripted.put("HSET", "{p}glimit", "g", LIMIT)
    scripted.put("RPUSH", "{p}ring", "h")
    scripted.put("RPUSH", "{p}wake", *range(64))
    return scripted


def run(bench: Bench, verb: str, limit: str = LIMIT) -> None:
    """Have one of the eight ring, and do what it is there for."""
    assert ask(bench, verb, limit) in (1, b"scheduled", [[A], []])


def ask(bench: Bench, verb: str, limit: str = LIMIT) -> Any:
    """Perform one of the eight; its reply as it is."""
    values: Mapping[str, Mapping[str, Any]] = {
        "lane_enqueue": {"id": b"JOB%011d" % 1, "payload": "p", "group": "g"},
        "lane_resume": {"group": "g"},
        "lane_limit": {"group": "g", "limit": limit},
        "complete": {"id": A, "token": 1},
        "fail": {"id": A, "token": 1, "delay_ms": 5, "max_attempts": 9, "error": "boom"},
        "promote": {"batch": 1},
        "stalled_check": {"max_stalled": 9, "limit": 1},
    }
    return bench.ask(verb, **values.get(verb, {}))


def not_rung(bench: Bench, *on_ring: str) -> None:
    """Hold ring and wakes to what they were."""
    assert list(on_ring) == ring(bench)
    assert [str(number) for number in range(64)] == bench.state()["wake"]


@each_ringer
def test_a_group_is_rung_at_the_rings_end_with_the_newest_wake(waiting: Bench, verb: str) -> None:
    """One mention, one wake in front, and the oldest of sixty-four goes."""
    run(waiting, verb)
    assert ["h", "g"] == ring(waiting)
    assert ["1", *(str(number) for number in range(63))] == waiting.state()["wake"]


@each_ringer
def test_the_ring_comes_before_the_wake(waiting: Bench, verb: str) -> None:
    """With a spoiled wake the group is on the ring when the script stops."""
    waiting.put("DEL", "{p}wake")
    waiting.spoil("wake")
    assert ask(waiting, verb) == WRONGTYPE
    assert ["h", "g"] == ring(waiting)


@each_ringer
def test_a_group_on_the_ring_is_not_rung(waiting: Bench, verb: str) -> None:
    """Its place stays, and nobody is woken for it."""
    waiting.put("LPUSH", "{p}ring", "g")
    run(waiting, verb)
    not_rung(waiting, "g", "h")


@pytest.mark.parametrize("verb", [verb for verb in RINGERS if verb != "lane_resume"])
def test_a_paused_group_is_not_rung(waiting: Bench, verb: str) -> None:
    """Only its resumption rings it."""
    waiting.put("SADD", "{p}paused", "g")
    run(waiting, verb)
    not_rung(waiting, "h")


@each_ringer
@pytest.mark.parametrize("spare", [0, 1])
def test_a_group_at_its_limit_is_not_rung(waiting: Bench, verb: str, spare: int) -> None:
    """The limit must be above what is leased: by one is enough, equal is not; a slot that is freed here counts."""
    limit = str((1 if verb in FREEING else 2) + spare)
    waiting.put("HSET", "{p}glimit", "g", limit)
    run(waiting, verb, limit)
    if spare:
        assert ["h", "g"] == ring(waiting)
    else:
        not_rung(waiting, "h")


@pytest.mark.parametrize("verb", [verb for verb in RINGERS if verb != "lane_limit"])
def test_without_a_limit_any_number_may_be_leased(waiting: Bench, verb: str) -> None:
    """No field of the group's own is no limit."""
    waiting.put("HDEL", "{p}glimit", "g")
    waiting.put("HSET", "{p}glimit", "h", 0)
    waiting.put("HSET", "{p}gactive", "g", 10**6)
    run(waiting, verb)
    assert ["h", "g"] == ring(waiting)


@pytest.mark.parametrize("verb", ["lane_resume", "lane_limit", "complete", "fail"])
def test_an_empty_lane_is_not_rung(waiting: Bench, verb: str) -> None:
    """Nobody waits there; the other four put a job there themselves."""
    waiting.put("DEL", "{p}" + lane("g"))
    run(waiting, verb)
    not_rung(waiting, "h")


@pytest.mark.parametrize("verb", ["reap", "promote", "stalled_check"])
def test_who_gives_a_job_back_finds_it_in_its_lane(waiting: Bench, verb: str) -> None:
    """The lane was empty, and is rung for the job that comes."""
    waiting.put("DEL", "{p}" + lane("g"))
    run(waiting, verb)
    assert (["h", "g"], ids(A)) == (ring(waiting), waiting.state()[lane("g")])
