"""EMQ.TRACE on real servers: the effects of the plain verb, and the very story that the embedded server tells."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab.executor import Told
from emqlab.lab import ExecutorName, Lab, open_lab
from emqlab.observe.run import Run
from emqlab.observe.snapshot import snapshot_json
from emqlab.parity.compare import plain_error
from emqlab.replies import ErrorReply, reply_json, value_json
from emqlab.servers.binaries import VARIABLE
from emqlab.servers.clock import START_MS
from emqlab.servers.valkey import ValkeyServer
from emqlab.teach.cases.recovery import restart
from emqlab.transitions import TRANSITIONS
from tests.observe import corpus
from tests.servers.real import NAMES, binary_of, built_module, each_server

Json = dict[str, Any]
FILES = sorted((Path(__file__).parents[1] / "cases").glob("*.json"))
EXECUTORS: tuple[ExecutorName, ...] = ("native", "scripted")

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
each_executor = pytest.mark.parametrize("executor", EXECUTORS)


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab on each server in turn, its clock standing where the embedded one stands."""
    server = ValkeyServer(binary_of(request.param), module=built_module())
    with Lab(server) as lab:
        if not server.movable:
            pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
        server.stand_still(START_MS)
        yield lab


class Embedded:
    """The embedded lab, for comparison. It tells each case once, for all servers."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._told: dict[str, tuple[Any, Any]] = {}
        self._recorded: dict[str, Any] = {}

    def told(self, case: Json, executor: ExecutorName) -> tuple[Any, Any]:
        """The end and the story of a traced case."""
        name = executor + json.dumps(case)
        if name not in self._told:
            ran = run(self.lab, case, executor, traced=True)
            self._told[name] = ending(ran), story(ran)
        return self._told[name]

    def recorded(self, case: Json) -> Any:
        """Its recording, as it is compared."""
        name = json.dumps(case)
        if name not in self._recorded:
            self._recorded[name] = told(self.lab, case)
        return self._recorded[name]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    """One for all tests of this file."""
    with open_lab("embedded") as lab:
        yield Embedded(lab)


def cases_of(file: Path) -> list[Json]:
    """The cases of one file that are for a real server, too."""
    return [case for case in json.loads(file.read_text("utf-8")) if "valkey" in case.get("servers", ["valkey"])]


def states(verb: str) -> Iterator[Json]:
    """Every state of a job for a verb's first call, every surrounding for all its calls."""
    first = next(call for call in corpus.CALLS if call["verb"] == verb)
    yield from (case for case in corpus.alone(verb) if case["when"] == [first])
    yield from corpus.surrounded(verb)


def run(lab: Lab, case: Json, executor: ExecutorName, *, traced: bool) -> Run:
    """One case, run; a case that is skipped fails the test."""
    found = lab.run(case, executor=executor, traced=traced)
    assert isinstance(found, Run), found.why
    return found


def same(value: Any, *epochs: str) -> Any:
    """JSON with each run_id told by its place among ``epochs``."""
    text = json.dumps(value)
    for place, epoch in enumerate(epochs):
        text = text.replace(epoch, f"run_id {place}")
    return json.loads(text)


def ending(ran: Run) -> Any:
    """Replies, keys and clock at the end of a run."""
    replies = [plain(reply) for reply in ran.replies]
    found = snapshot_json(ran.after)
    for key in found.values():
        if key["type"] == "zset":
            # Servers print one and the same score differently.
            key["value"] = [[member, float(score)] for member, score in key["value"]]
    return same([replies, found, ran.done_ms - ran.now_ms], *ran.epochs)


def story(ran: Run) -> Any:
    """What was sent and what ran inside each transition: phase, command, reply and line."""
    told = [
        [
            value_json(list(done.traced.sent)),
            [[one.phase, value_json(one.command), plain(settled(one)), one.line] for one in done.traced.told],
            plain(done.traced.reply),
        ]
        for done in ran.trace
        if done.traced is not None
    ]
    return same(told, *ran.epochs)


def settled(one: Told) -> Any:
    """A command's reply; of TIME the milliseconds, for below them a clock that stands still may go on."""
    if one.command == (b"TIME",):
        return [one.reply[0], int(one.reply[1]) // 1000]
    return one.reply


def plain(reply: Any) -> Any:
    """A reply as JSON, an error as it is compared: without what a server adds when a script raised it."""
    return {"error": plain_error(reply.text)} if isinstance(reply, ErrorReply) else reply_json(reply)


def assert_true(real: Lab, embedded: Embedded, cases: Iterable[Json], executor: ExecutorName) -> None:
    """Traced and untraced runs end alike, and as on the embedded server, whose story the trace tells."""
    for case in cases:
        end, told = embedded.told(case, executor)
        traced = run(real, case, executor, traced=True)
        plainly = run(real, case, executor, traced=False)
        assert (case["name"], ending(plainly)) == (case["name"], ending(traced))
        assert (case["name"], end) == (case["name"], ending(traced))
        assert (case["name"], told) == (case["name"], story(traced))


@each_file
@each_executor
def test_every_case(real: Lab, embedded: Embedded, file: Path, executor: ExecutorName) -> None:
    """A case ends alike by EMQ.TRACE and by the verb, traced script or plain one, and both tell the embedded story."""
    assert_true(real, embedded, cases_of(file), executor)


@pytest.mark.parametrize("verb", [verb for verb, transition in TRANSITIONS.items() if transition.command])
def test_every_state(real: Lab, embedded: Embedded, verb: str) -> None:
    """Ghosts, lanes, wrong types, bad counters, pauses, other versions: EMQ.TRACE does what the verb does."""
    assert_true(real, embedded, states(verb), "native")


@each_executor
def test_a_moving_world(real: Lab, embedded: Embedded, executor: ExecutorName) -> None:
    """Clocks, restarts, expiry, other clients, odd keys and arguments."""
    assert_true(real, embedded, corpus.worldly(), executor)


def told(lab: Lab, case: Json) -> Any:
    """A recording as it is compared: any run_id is one, a clock is in milliseconds, an error is what it says."""
    recording = emqlab.record(lab, case)
    for column in recording["executors"]:
        for part in (column, *column["frames"]):
            reply = part.get("reply") or {}
            if "error" in reply:
                reply["error"] = plain_error(reply["error"])
            if part.get("command") == ["TIME"]:
                reply["ok"][1] = int(reply["ok"][1]) // 1000
    return json.loads(re.sub("(?!0{40})[0-9a-f]{40}", "run_id", json.dumps(recording)))


@each_file
def test_recordings_look_the_same(real: Lab, embedded: Embedded, file: Path) -> None:
    """A recording made on a real server is the embedded server's, but for its run_id and the server's own words."""
    for case in cases_of(file):
        assert (case["name"], embedded.recorded(case)) == (case["name"], told(real, case))


@each_server
def test_a_lab_on_valkey_records(name: str, monkeypatch: pytest.MonkeyPatch, embedded: Embedded) -> None:
    """open_lab("valkey") and record: the rows of the embedded recording, over a clock that runs.

    Each column restarts the server for itself, and yet both tell of the same two epochs.
    """
    monkeypatch.setenv(VARIABLE, str(binary_of(name)))
    built_module()
    case = cases_of(FILES[0])[0]
    with open_lab("valkey") as lab:
        recording = emqlab.record(lab, case)
        restarted = emqlab.record(lab, restart("once", 2))
        assert lab.client.keys("emq:*") == []
    assert len({*re.findall("[0-9a-f]{40}", json.dumps(restarted))}) == 2
    told = [[frame["epoch"] for frame in one["frames"] if "epoch" in frame] for one in restarted["executors"]]
    assert told[0] == told[1] != [restarted["run_id"]]
    wanted = emqlab.record(embedded.lab, case)
    assert wanted["steps"] == recording["steps"]
    for mine, theirs in zip(wanted["executors"], recording["executors"], strict=True):
        assert [frame["note"] for frame in mine["frames"]] == [frame["note"] for frame in theirs["frames"]]
        assert [frame.get("line") for frame in mine["frames"]] == [frame.get("line") for frame in theirs["frames"]]


def test_the_case_files_are_found() -> None:
    """The tests above have files to read."""
    assert FILES
