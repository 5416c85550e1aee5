"""Every case file holds on both executors, and an instrument that is lied to says so."""

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.parity.command import DID_NOT_HOLD, HELD, run

CASES = Path(__file__).parents[1] / "cases"
OURS = CASES / "ours.json"
#: Divergences that no case can show: they need a second client, a limited user, short memory or another server.
SHOWN_ELSEWHERE = {1, 4, 6, 24, 25, 26}

Source = dict[str, Any]


def run_both(*paths: Path) -> tuple[int, list[dict[str, Any]]]:
    """``emqlab run PATHS --json`` on both executors: the exit status and the lines."""
    out = io.StringIO()
    status = run([str(path) for path in paths], executor="both", server=None, native="module", as_json=True, out=out)
    return status, [json.loads(line) for line in out.getvalue().splitlines()]


def cases_of(path: Path) -> list[Source]:
    """The cases of one file."""
    sources: list[Source] = json.loads(path.read_text(encoding="utf-8"))
    return sources


def every_case() -> Iterator[Source]:
    """The cases of all files."""
    for path in sorted(CASES.glob("*.json")):
        yield from cases_of(path)


def complaints(tmp_path: Path, capsys: pytest.CaptureFixture[str], cases: list[Source]) -> tuple[int, list[str]]:
    """Run changed cases: the exit status, and the sentences told."""
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    status, _ = run_both(path)
    return status, capsys.readouterr().err.splitlines()


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: str(path.stem))
def test_a_file_holds(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0, nothing to complain about, and a line for each case and executor that none was skipped for."""
    status, lines = run_both(path)
    assert (HELD, "") == (status, capsys.readouterr().err)
    assert [(case["name"], name) for case in cases_of(path) for name in ("scripted", "native")] == [
        (line["case"], line["executor"]) for line in lines
    ]
    assert [] == [line for line in lines if "skipped" in line]


def test_names_are_unique() -> None:
    """A complaint names one case and no other."""
    names = [case["name"] for case in every_case()]
    assert sorted(set(names)) == sorted(names)


def test_every_divergence_is_shown_alone() -> None:
    """Each number that a case can show has one that shows nothing else."""
    alone = {case["differs"][0] for case in every_case() if len(case.get("differs", [])) == 1}
    assert set(DIVERGENCES) - SHOWN_ELSEWHERE == alone


def test_a_difference_that_is_not_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Take every ``differs`` away: each of these cases is told, with command or key, field and both values."""
    differing = [case for case in every_case() if case.get("differs")]
    hushed = [{name: part for name, part in case.items() if name not in ("differs", "expect")} for case in differing]
    status, told = complaints(tmp_path, capsys, hushed)
    assert status == DID_NOT_HOLD
    assert [case["name"] for case in differing] == [line.split(": ", 1)[0] for line in told]
    sentence = next(line for line in told if line.startswith("fail/one-claim-two-failures: "))
    for part in ("step 1 fail", "reply", "scripted", "scheduled", "native", "dead"):
        assert part in sentence


def test_a_declared_difference_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Give every agreeing case a number: each is told, with the number."""
    agreeing = [case for case in every_case() if not case.get("differs")]
    status, told = complaints(tmp_path, capsys, [{**case, "differs": [12]} for case in agreeing])
    assert status == DID_NOT_HOLD
    assert [case["name"] for case in agreeing] == [line.split(": ", 1)[0] for line in told]
    assert all("12: " in line for line in told)


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_wrong_reply_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], executor: str) -> None:
    """Expect another last reply of every case: each is told, with the step, what was expected and what came."""
    changed = [copy.deepcopy(case) for case in cases_of(OURS)]
    for case in changed:
        case["expect"][executor]["replies"][-1] = {"ok": "something else"}
    status, told = complaints(tmp_path, capsys, changed)
    assert status == DID_NOT_HOLD
    assert [f"{case['name']}: {executor}" for case in changed] == [line.rsplit(": step", 1)[0] for line in told]
    assert all("something else" in line and "reply: expected" in line and ", got " in line for line in told)


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_wrong_key_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], executor: str) -> None:
    """Leave one key out of every case's expectation: each is told, for ``keys`` is complete."""
    changed = [copy.deepcopy(case) for case in cases_of(OURS) if case["expect"][executor]["keys"]]
    dropped = [case["expect"][executor]["keys"].popitem()[0] for case in changed]
    status, told = complaints(tmp_path, capsys, changed)
    assert status == DID_NOT_HOLD
    wanted = [
        f"{case['name']}: {executor}: key {key}, type: expected absent"
        for case, key in zip(changed, dropped, strict=True)
    ]
    assert wanted == [line.split(", got ")[0] for line in told]


def test_a_wrong_field_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another value in one field: case, key, field and both values are in the sentence."""
    case = next(copy.deepcopy(case) for case in cases_of(OURS) if case["name"] == "claim/stamps")
    row = case["expect"]["native"]["keys"]["emq:{q}:job:JOB0NgWEfAEJfa"]["value"]
    row[0][1] = "4"
    status, told = complaints(tmp_path, capsys, [case])
    assert status == DID_NOT_HOLD
    assert told == ["claim/stamps: native: key emq:{q}:job:JOB0NgWEfAEJfa, attempts: expected '4', got '3'"]


def test_a_wrong_deadline_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A deadline that is one millisecond off is wrong."""
    case = next(copy.deepcopy(case) for case in cases_of(OURS) if case["name"] == "claim/stamps")
    case["expect"]["native"]["keys"]["emq:{q}:active"]["value"][0][1] = "@now+8"
    status, told = complaints(tmp_path, capsys, [case])
    assert (status, len(told)) == (DID_NOT_HOLD, 1)
    assert "key emq:{q}:active, JOB0NgWEfAEJfa: expected '@now+8'" in told[0]
