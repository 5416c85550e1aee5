"""The comparison of a lesson's two runs sees what it must see, and overlooks what belongs to a server alone."""

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.notebooks.alike import Comparison, differences

FIRST = Path(__file__).parents[2] / "notebooks" / "01_state_and_attempts.ipynb"
FIXED = frozenset({"EJfs", "FbYw"})

ALIKE = {
    "ids": ("…z4SG  pending; refused: complete JOB0ST6lJAz4SH", "…kPuC  pending; refused: complete JOB0SUL8otWeuW"),
    "the rest of a lease": ("active (30 s left)  active", "active (29.989 s left)  active"),
    "the width of a column": ("  job    in                  state", "  job    in                      state"),
    "a score": ("ZADD active now+30000 …EJfs → 1", "ZADD active now+30005 …EJfs → 1"),
    "a frozen clock": ("native: (clock) → now", "native: (clock) → now+5"),
    "a clock read just before": ("native: (clock) → now", "native: (clock) → now−1"),
    "TIME": ("TIME → [1795952314, 485000]", "TIME → [1796016441, 666708]"),
    "a stamp": ("lease_epoch c53d… → 1", "lease_epoch 5dc5… → 1"),
    "a path": (
        "gone, enqueue → pending (0), clock +5 s → x",
        "gone, enqueue +0.002 s → pending (0), clock +5.001 s → x",
    ),
    "the server": ("  server     embedded", "  server     valkey"),
    "the server, in HTML": (
        '<tr><th scope="row" a="b">server</th><td>embedded</td></tr>',
        '<tr><th scope="row" a="b">server</th><td>valkey</td></tr>',
    ),
    "the clock": (
        "  clock      1795952314485 ms, and it stands still until you move it",
        "  clock      1796016441602 ms, and it runs by itself, and you can move it",
    ),
    "the epoch": ("  epoch      c53d1385…, another one", "  epoch      7b9bf824…, another one"),
    "a picture": (
        '<img src="data:image/svg+xml;base64,AAAA" alt="x">',
        '<img src="data:image/svg+xml;base64,BB" alt="x">',
    ),
}
OTHER = {
    "a reply": ("EMQ.CLAIM → 1", "EMQ.CLAIM → 0"),
    "a delta": ("attempts  0 → 1  +1", "attempts  0 → 2  +2"),
    "a place": ("claim → active (1)", "claim → pending (1)"),
    "a token": ("(1, 2)", "(1, 1)"),
    "a stamp that is missing": ("lease_epoch c53d… → 1", "lease_epoch → 1"),
    "this or an earlier epoch": ("lease_epoch  this epoch", "lease_epoch  earlier epoch"),
    "a verdict": ("not yet: The row says dead.", "solved: The row says dead."),
    "another job of the case": ("ZADD active …EJfs", "ZADD active …FbYw"),
    "one job where there were two": ("…z4SG …z4SH", "…kPuC …kPuC"),
    "two jobs where there was one": ("…z4SG …z4SG", "…kPuC …kPuD"),
    "a lease of another length": ("active (30 s left)", "active (5 s left)"),
    "a score that is far off": ("ZADD active now+30000 …EJfs", "ZADD active now+5000 …EJfs"),
    "a score that is long past": ("ZADD active now−1000 …EJfs", "ZADD active now−30000 …EJfs"),
    "a wait in a path": ("enqueue → pending (0)", "enqueue +2.5 s → pending (0)"),
    "a line more": ("a", "a\nb"),
    "a line less": ("a\nb", "a"),
    "the name of a server elsewhere": ("the embedded server", "the valkey server"),
    "the words of a picture": (
        '<img src="data:image/png;base64,A" alt="x">',
        '<img src="data:image/png;base64,A" alt="y">',
    ),
}


@pytest.mark.parametrize(("recorded", "real"), ALIKE.values(), ids=ALIKE)
def test_what_belongs_to_a_server_is_no_difference(recorded: str, real: str) -> None:
    """Its clock, its ids, its epochs, its name in the one table that names it."""
    assert Comparison(FIXED).difference(recorded, real) is None


@pytest.mark.parametrize(("recorded", "real"), OTHER.values(), ids=OTHER)
def test_everything_else_is_one(recorded: str, real: str) -> None:
    """The sentence says what was recorded and what came instead."""
    assert str(Comparison(FIXED).difference(recorded, real)).startswith(("recorded", "two recorded ids became one"))


def test_an_id_stays_the_same_throughout_a_lesson() -> None:
    """Two texts of one lesson that name one job must go on naming one."""
    lesson = Comparison(FIXED)
    assert lesson.difference("…z4SG", "…kPuC") is None
    assert lesson.difference("…z4SG", "…kPuD") == "recorded the id …z4SG, but got …kPuD"


@pytest.fixture
def lesson() -> Any:
    """A committed lesson, read anew."""
    return nbformat.read(FIRST, 4)


def test_a_changed_delta_in_a_real_lesson_is_found(lesson: Any) -> None:
    """One character of one output, in its text or in its HTML."""
    for kind, old, new in (
        ("text/plain", "requeue     read              1       1", "requeue     read              1       2"),
        ("text/html", ">read and written<", ">read<"),
    ):
        other = copy.deepcopy(lesson)
        cell = next(one for one in other.cells if "attempts, measured" in str(one.get("outputs")))
        data = cell.outputs[0]["data"]
        assert old in data[kind]
        data[kind] = data[kind].replace(old, new, 1)
        assert [one.split(":")[0] for one in differences(lesson, other, FIXED)] == [cell["id"]]


def test_an_output_that_is_missing_is_found(lesson: Any) -> None:
    """A cell that said something and says nothing now; the lesson itself is like itself."""
    other = copy.deepcopy(lesson)
    cell = next(one for one in other.cells if one.get("outputs"))
    cell.outputs = []
    assert differences(lesson, other, FIXED) == [f"{cell['id']}: recorded 2 texts, but got 0"]
    assert differences(lesson, lesson, FIXED) == []


def test_printing_that_came_in_parts_is_one_text() -> None:
    """How a kernel cuts what a cell prints is a matter of how busy the machine is; another stream is another text."""
    cell = {"id": "a", "outputs": [{"name": "stdout", "text": "one, two"}]}
    parts = {"id": "a", "outputs": [{"name": "stdout", "text": "one, "}, {"name": "stdout", "text": "two"}]}
    other = {"id": "a", "outputs": [*parts["outputs"], {"name": "stderr", "text": "two"}]}
    assert differences({"cells": [cell]}, {"cells": [parts]}, FIXED) == []
    assert differences({"cells": [cell]}, {"cells": [other]}, FIXED) == ["a: recorded 1 texts, but got 2"]
