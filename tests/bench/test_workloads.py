"""Every row of the bench, on real servers: it prepares, is answered and leaves what it says, whoever runs it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from emqlab.bench.jobs import Jobs
from emqlab.bench.line import Line
from emqlab.bench.mix import Mix
from emqlab.bench.options import VERBS
from emqlab.bench.rounds import WorkNotDone, once
from emqlab.bench.target import OwnTarget, limit_path
from emqlab.bench.ways import LIMIT, SAME_STEPS, Way, station
from emqlab.bench.workloads import MOST_JOBS, ROWS, Row
from emqlab.native.module import CannotBuild
from emqlab.replies import ask
from tests.servers.real import NAMES, binary_of, built_module, real_server


@pytest.fixture(scope="module", params=NAMES)
def target(request: pytest.FixtureRequest) -> Iterator[OwnTarget]:
    """A server of each name, with the module and the hand-written claim."""
    binary = binary_of(request.param)
    try:
        with OwnTarget(binary=binary) as target:
            yield target
    except CannotBuild as error:
        pytest.skip(str(error))


@pytest.fixture
def line(target: OwnTarget) -> Iterator[Line]:
    """One connection to it."""
    with Line(target.pool) as line:
        yield line


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_every_way_does_the_work(target: OwnTarget, line: Line, row: Row) -> None:
    """Each executor answers and leaves what the row demands, on the account of one command, and clears it away."""
    place = station(row, target, line)
    assert place.work.calls
    for way in place.ways:
        account = once(line, place, way)
        assert (len(place.work.calls), 0) == (account.calls, account.failed), way.name
        assert 1 == line.ask(b"DBSIZE"), "only the wire version is left"


def test_every_native_verb_has_a_row_and_every_script_its_way(target: OwnTarget, line: Line) -> None:
    """The twelve verbs are measured; requeue alone has no script; a claim has two peers besides."""
    ways = {row.name: [way.name for way in station(row, target, line).ways] for row in ROWS.values()}
    assert set(VERBS) == {row.verb for row in ROWS.values()}
    assert 12 == len(VERBS)
    assert ["scripted", "native", SAME_STEPS, LIMIT] == ways.pop("claim")
    assert ["native"] == ways.pop("requeue")
    assert {("scripted", "native")} == {tuple(names) for names in ways.values()}


def test_a_reply_or_an_effect_that_is_missing_fails_loudly(target: OwnTarget, line: Line) -> None:
    """A verb that answers otherwise, or leaves something else behind, is no figure but an error."""
    place = station(ROWS["complete"], target, line)
    native = place.ways[1]
    idle = Way("idle", "ping", line.pack([(b"PING",)] * len(place.work.calls)))
    with pytest.raises(WorkNotDone, match=r"complete \(idle\): call 1 should have answered 1, and answered b'PONG'"):
        once(line, place, idle)
    quiet = replace(place, work=replace(place.work, replies=(b"PONG",) * len(place.work.calls)))
    with pytest.raises(WorkNotDone, match=r"complete \(idle\): afterwards ZCARD \S+:active should be 0, and is 1000"):
        once(line, quiet, idle)
    assert len(place.work.calls) == once(line, place, native).calls


def test_the_limit_does_what_the_native_claim_does(target: OwnTarget, line: Line) -> None:
    """The hand-written claim leaves the same row, sets, events and effects as EMQ.CLAIM, but for the time."""
    jobs = Jobs(target.queue, target.run_id, 2)
    ghost, job_id = jobs.ids
    told = []
    line.ask(b"CONFIG", b"SET", b"notify-keyspace-events", b"KA")
    with target.client.pubsub() as heard:
        heard.psubscribe("__keyspace@*")
        heard.get_message(timeout=5)
        for command in (b"EMQ.CLAIM", b"EMQLIMIT.CLAIM"):
            for given in jobs.given("pending", attempts=b"41"):
                line.ask(*given)
            line.ask(b"DEL", jobs.row(ghost))
            # The events of the preparation are over when this one is heard.
            line.ask(b"SET", b"mark", b"1")
            while (heard.get_message(timeout=5) or {})["channel"] != b"__keyspace@0__:mark":
                pass
            sets = (jobs.key("pending"), jobs.key("active"), jobs.key(""))
            replies = [line.ask(command, b"3", *sets, b"30000") for _ in range(3)]
            line.ask(b"SET", b"mark", b"2")
            events = list(iter(lambda: _event(heard), (b"__keyspace@0__:mark", b"set")))
            row = sorted(line.ask(b"HGETALL", jobs.row(job_id)))
            left = line.ask(b"EXISTS", jobs.key("pending"), jobs.row(ghost)), line.ask(b"ZRANGE", sets[1], b"0", b"-1")
            told.append((replies, events, row, left))
            deadline = int(line.ask(b"ZSCORE", sets[1], job_id))
            seconds, _ = line.ask(b"TIME")
            assert 0 <= int(seconds) * 1000 + 31_000 - deadline < 60_000
            line.ask(*jobs.clear())
            while _event(heard)[1] != b"del" or line.ask(b"EXISTS", jobs.key("active")):
                pass
    line.ask(b"CONFIG", b"SET", b"notify-keyspace-events", b"")
    line.ask(b"DEL", b"mark")
    assert [[], [job_id, b"x" * 64, 42], []] == told[0][0]
    assert told[0] == told[1]


def test_the_limits_effects_outlive_its_server() -> None:
    """What the hand-written claim replicates brings back the same keys from the append-only file."""
    built_module()
    limit = limit_path()
    assert isinstance(limit, Path), limit
    jobs = Jobs(b"q", b"", 2)
    sets = [jobs.key(name) for name in ("pending", "active")]
    with real_server("valkey", module=limit) as server:
        for given in jobs.given("pending", attempts=b"7"):
            ask(server.client, *given)
        assert [jobs.ids[0], b"x" * 64, 8] == ask(server.client, "EMQLIMIT.CLAIM", 3, *sets, jobs.key(""), 30_000)
        keys = [*sets, *map(jobs.row, jobs.ids)]
        before = [ask(server.client, "DUMP", key) for key in keys]
        server.client.connection_pool.disconnect()
        server.process.kill()
        server.process.start()
        assert before == [ask(server.client, "DUMP", key) for key in keys]


def _event(heard: object) -> tuple[bytes, bytes]:
    message = heard.get_message(timeout=5)  # type: ignore[attr-defined]
    assert message is not None, "an event is missing"
    return message["channel"], message["data"]


def test_the_mix_of_the_memory_run_leaves_nothing(target: OwnTarget, line: Line) -> None:
    """A pass calls every verb, checks every reply and removes its jobs."""
    before = {verb: line.account(_name(verb)).calls for verb in VERBS}
    calls = Mix(target, line, jobs=100).run()
    called = {verb: line.account(_name(verb)).calls - count for verb, count in before.items()}
    assert all(called.values()), called
    assert calls == sum(called.values())
    assert 1 == line.ask(b"DBSIZE")


def _name(verb: str) -> str:
    return "emq.stalled.check" if verb == "stalled_check" else f"emq.{verb}"


def test_the_ids_of_fewer_jobs_are_the_first_of_more() -> None:
    """So one command removes the jobs of every row, also of one that was interrupted."""
    most = Jobs(b"q", b"", MOST_JOBS)
    assert most.ids == sorted(set(most.ids))
    for row in ROWS.values():
        assert set(Jobs(b"q", b"", row.jobs).clear()) <= set(most.clear())
