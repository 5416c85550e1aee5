"""Every case of the project on real servers: the verdicts of ``emqlab run``, and the embedded server's outcomes."""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from emqlab.lab import ExecutorName, Lab, open_lab
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from emqlab.parity.command import HELD, run
from emqlab.parity.compare import difference
from emqlab.servers.binaries import VARIABLE
from emqlab.servers.valkey import ValkeyServer
from emqlab.transitions import TRANSITIONS
from tests.observe import corpus
from tests.servers.real import NAMES, binary_of, built_module, each_server

Json = dict[str, Any]
CASES = Path(__file__).parents[1] / "cases"
FILES = sorted(CASES.glob("*.json"))
EXECUTORS: tuple[ExecutorName, ...] = ("scripted", "native")

each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))


@pytest.fixture(scope="module", params=NAMES)
def real(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A lab on each server in turn, its clock running."""
    with Lab(ValkeyServer(binary_of(request.param), module=built_module())) as lab:
        yield lab


class Embedded:
    """The embedded lab, for comparison. It runs each case once, for all servers."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._ran: dict[str, list[Run]] = {}

    def runs_of(self, case: Json, names: Sequence[ExecutorName]) -> list[Run]:
        """A case on each executor."""
        name = json.dumps([case, names])
        if name not in self._ran:
            self._ran[name] = runs_of(self._lab, case, names)
        return self._ran[name]


@pytest.fixture(scope="module")
def embedded() -> Iterator[Embedded]:
    """One for all tests of this file."""
    with open_lab("embedded") as lab:
        yield Embedded(lab)


def cases_of(file: Path) -> list[Json]:
    """The cases of one file that are for a real server, too."""
    return [case for case in json.loads(file.read_text("utf-8")) if "valkey" in case.get("servers", ["valkey"])]


def runs_of(lab: Lab, case: Json, names: Sequence[ExecutorName] = EXECUTORS) -> list[Run]:
    """A case on each executor, as ``emqlab run`` runs it; one that is skipped fails the test."""
    server, executors = lab.bench()
    done = [run_case(server, executors, parse_case(case), name, traced=False) for name in names]
    runs = [run for run in done if isinstance(run, Run)]
    assert len(names) == len(runs), done
    return runs


@each_file
def test_a_file_ends_as_on_the_embedded_server(real: Lab, embedded: Embedded, file: Path) -> None:
    """Each executor answers and leaves what it does there, by the comparison of two executors."""
    for case in cases_of(file):
        assert_same(real, embedded, case)


@pytest.mark.parametrize("case", list(corpus.worldly()), ids=lambda case: str(case["name"]))
def test_a_moving_world_ends_as_on_the_embedded_server(real: Lab, embedded: Embedded, case: Json) -> None:
    """Restarts, moved clocks, expiry, other clients: also then."""
    if any("advance_ms" in step for step in case["when"]) and not real.server.movable:
        pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")
    assert_same(real, embedded, case)


@pytest.mark.parametrize("verb", [verb for verb, transition in TRANSITIONS.items() if transition.script])
def test_every_state_ends_as_on_the_embedded_server(real: Lab, embedded: Embedded, verb: str) -> None:
    """Every state of a job, every call of a script; the verbs are held to that in test_trace_real.py."""
    for case in corpus.alone(verb):
        assert_same(real, embedded, case, ["scripted"])


def assert_same(real: Lab, embedded: Embedded, case: Json, names: Sequence[ExecutorName] = EXECUTORS) -> None:
    """Replies and keys of a case are those of the embedded server, on each executor."""
    for here, there in zip(runs_of(real, case, names), embedded.runs_of(case, names), strict=True):
        found = difference(there, here)
        assert found is None, f"{case['name']}, {here.executor}: {found.sentence('embedded', 'real')}"


@each_server
def test_emqlab_run_on_valkey(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """``emqlab run tests/cases --server valkey``: all held, and none skipped but those for the embedded server."""
    monkeypatch.setenv(VARIABLE, str(binary_of(name)))
    built_module()
    out = io.StringIO()
    status = run([str(CASES)], executor="both", server="valkey", native="module", as_json=True, out=out)
    told = [line for line in capsys.readouterr().err.splitlines() if not line.endswith("skipped; each says why")]
    assert (HELD, []) == (status, told)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    ran = [(line["case"], line["executor"], line["server"]) for line in lines if "skipped" not in line]
    cases = [case for file in FILES for case in cases_of(file)]
    assert [(case["name"], executor, "valkey") for case in cases for executor in EXECUTORS] == ran


def test_the_case_files_are_found() -> None:
    """The tests above have files to read."""
    assert FILES
