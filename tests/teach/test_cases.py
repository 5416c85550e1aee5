"""The lessons' cases are cases: each one runs, and differs exactly where it says so."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab import cli
from emqlab.observe.run import Run
from emqlab.reader import FIRST_LESSON, find_lessons
from emqlab.teach import cases
from emqlab.teach.cases import CaseJson
from emqlab.teach.cases.recovery import LEDGER

EVERY = list(cases.every_case())


def test_every_case_holds_when_it_is_run_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Copied out of a widget and saved, they run with exit status 0: what they declare to differ differs, no more."""
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(EVERY), encoding="utf-8")
    status = cli.main(["run", str(path)])
    assert capsys.readouterr().err == ""
    assert status == 0


def test_the_names_are_different() -> None:
    """A name is how a line of results is told from another."""
    assert len({case["name"] for case in EVERY}) == len(EVERY) > 30


@pytest.mark.parametrize(
    "offered", [cases.TRANSITION, LEDGER, cases.EXIT, cases.WITH_A_PAST], ids=["transition", "ledger", "exit", "past"]
)
def test_a_sweep_on_offer_says_how_many_stalls_are_forgiven(offered: Mapping[str, CaseJson]) -> None:
    """Where it is no pick of its own: without it nobody can say where the job will be."""
    swept = {name: case["about"] for name, case in offered.items() if case["when"][-1].get("verb") == "stalled_check"}
    assert swept != {}
    assert [name for name, about in swept.items() if not re.search("forgiven|kills", about)] == []


@pytest.mark.parametrize("executor", ["scripted", "native"])
@pytest.mark.parametrize("name", cases.LIFE)
def test_in_a_life_nothing_is_refused(lab: emqlab.Lab, name: str, executor: Any) -> None:
    """A story of a job is a story of calls that were answered."""
    run = lab.run(cases.LIFE[name], executor=executor)
    assert isinstance(run, Run)
    assert [sorted(reply) for reply in run.json()["replies"]] == [["ok"]] * len(run.replies)


@pytest.mark.parametrize(
    ("name", "arguments", "named", "said"),
    [
        ("fail", [1], {}, "cases.fail(token, max_attempts=…, delay_ms=5000); missing a required"),
        ("sweep", [], {}, "cases.sweep(max_stalled); missing a required argument: 'max_stalled'"),
        ("enqueue", ["tea"], {}, "cases.enqueue(); too many positional arguments"),
        ("delay", [1], {"ms": 5}, "cases.delay(token, in_ms=5000); got an unexpected keyword argument 'ms'"),
    ],
)
def test_a_wrong_call_is_told_how_the_step_is_written(
    name: str, arguments: list[Any], named: dict[str, Any], said: str
) -> None:
    """In one sentence, at the place where the reader's cell calls it."""
    with pytest.raises(TypeError, match=re.escape(f"This step is written {said}")):
        cases.STEPS[name](*arguments, **named)


def test_the_first_lesson_lists_every_step() -> None:
    """With its arguments as they are, so that nobody has to guess."""
    lesson = (find_lessons() / FIRST_LESSON).read_text(encoding="utf-8")
    assert [cases.written(step) for step in cases.STEPS.values() if f"`{cases.written(step)}`" not in lesson] == []


@pytest.mark.parametrize(
    ("step", "verb"),
    [
        (cases.enqueue, "enqueue"),
        (cases.claim, "claim"),
        (cases.promote, "promote"),
        (cases.reprocess, "reprocess"),
        (lambda: cases.complete(1), "complete"),
        (lambda: cases.fail(1, max_attempts=3), "fail"),
        (lambda: cases.delay(1), "delay"),
        (lambda: cases.requeue(1), "requeue"),
        (lambda: cases.sweep(2), "stalled_check"),
    ],
)
def test_a_helper_makes_one_step_of_its_verb(lab: emqlab.Lab, step: Callable[[], dict[str, Any]], verb: str) -> None:
    """What a reader types instead of a dict is a step the runner takes as it is."""
    run = lab.run({"name": "one", "queue": "q", "when": [step()]}, executor="native")
    assert isinstance(run, Run)
    assert run.case.verbs == [verb]
