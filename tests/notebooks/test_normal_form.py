"""The committed lessons are recordings in normal form, and the recorder makes them so."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

from notebooks import record

FOLDER = Path(record.__file__).parent
LESSONS = sorted(FOLDER.glob("*.ipynb"))
LONGEST_CELL = 12

# Where somebody's files are kept, on Linux or macOS, and where the clone itself is.
MACHINE_PATH = re.compile(r"/(?:home|Users|root|tmp|private)/|site-packages|" + re.escape(str(FOLDER.parent) + "/"))
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")

every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


def code_cells(path: Path) -> list[Any]:
    """The code cells of a committed lesson."""
    return [cell for cell in record.read(path)["cells"] if cell["cell_type"] == "code"]


def outputs(path: Path) -> list[Any]:
    """Every output of a committed lesson."""
    return [output for cell in code_cells(path) for output in cell["outputs"]]


def test_the_hub_and_the_first_dive_are_there() -> None:
    """Without this, no lesson at all would pass every test below."""
    assert {"00_start_here", "01_state_and_attempts"} <= {path.stem for path in LESSONS}


@every_lesson
def test_a_lesson_is_committed_in_normal_form(path: Path) -> None:
    """Normalising a committed lesson gives the very bytes of its file."""
    assert record.as_text(record.normal_form(record.read(path), path.stem)) == path.read_text(encoding="utf-8")


@every_lesson
def test_every_code_cell_was_run(path: Path) -> None:
    """A cell without an execution count would be skipped when the lessons are compared with a fresh run."""
    counts = [cell["execution_count"] for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@every_lesson
def test_code_cells_fit_on_a_slide(path: Path) -> None:
    """A code cell has at most twelve lines."""
    long = {cell["id"]: cell["source"] for cell in code_cells(path) if len(cell["source"].splitlines()) > LONGEST_CELL}
    assert long == {}


@every_lesson
def test_no_cell_ends_in_an_error(path: Path) -> None:
    """An expected error is caught and shown; one that stops the cell would stop "run all" for a reader."""
    assert [output["evalue"] for output in outputs(path) if output["output_type"] == "error"] == []


@every_lesson
def test_no_output_depends_on_the_machine(path: Path) -> None:
    """No memory address and no path of the machine that recorded the lesson."""
    text = json.dumps(outputs(path), ensure_ascii=False)
    assert ADDRESS.findall(text) == []
    assert MACHINE_PATH.findall(text) == []


@every_lesson
def test_no_output_has_anything_of_a_reader_in_it(path: Path) -> None:
    """A recording starts without progress and says nothing of where progress is kept."""
    assert "progress.json" not in json.dumps(outputs(path))


def code(source: str, *outputs: dict[str, Any], count: int | None = 1, **metadata: Any) -> dict[str, Any]:
    """A code cell as an editor would save it."""
    return {
        "cell_type": "code",
        "id": "f00dfeed",
        "metadata": metadata,
        "execution_count": count,
        "source": source,
        "outputs": list(outputs),
    }


def normal(*cells: dict[str, Any]) -> Any:
    """A small notebook, full of what editors leave behind, in normal form."""
    metadata = {
        "kernelspec": {"display_name": "mine", "language": "python", "name": "mine"},
        "language_info": {"name": "python", "version": "3.12.1", "pygments_lexer": "ipython3"},
        "widgets": {"application/vnd.jupyter.widget-state+json": {"state": {"1": {}}}},
    }
    notebook = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return record.normal_form(nbformat.from_dict(notebook), "01_small")


def test_cells_are_numbered_and_counts_run_from_one() -> None:
    """Ids come from the file's name and the cell's place; counts from the order of the cells that ran."""
    text = {"cell_type": "markdown", "id": "x", "metadata": {}, "source": "# A heading\n"}
    cells = normal(code("1", count=7), text, code("2", count=9))["cells"]
    assert [cell["id"] for cell in cells] == ["01_small-1", "01_small-2", "01_small-3"]
    assert [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"] == [1, 2]


def test_a_cell_that_was_not_run_is_not_given_a_count() -> None:
    """Numbering must not make a cell that never ran look recorded."""
    assert normal(code("1", count=None))["cells"][0]["execution_count"] is None


def test_metadata_is_the_same_for_every_machine() -> None:
    """The kernel's name and tags stay; the editor's notes, the timing and the widgets' state do not."""
    notebook = normal(code("1", execution={"iopub.execute_input": "2026"}, trusted=True, tags=["exercise"]))
    assert notebook["metadata"] == record.METADATA
    assert notebook["cells"][0]["metadata"] == {"tags": ["exercise"]}


def test_a_widget_keeps_its_plain_twin_only() -> None:
    """The view of a widget needs its kernel; the table and the text beside it do not."""
    shown = {"text/plain": "stage", record.WIDGET_VIEW: {"model_id": "1"}, "text/html": "<table></table>"}
    data = {"output_type": "execute_result", "execution_count": 7, "metadata": {}, "data": shown}
    (output,) = normal(code("stage", data))["cells"][0]["outputs"]
    assert output["data"] == {"text/html": "<table></table>", "text/plain": "stage"}
    assert output["execution_count"] == 1


def test_neighbouring_texts_are_joined() -> None:
    """How the kernel cut up what a cell printed is a matter of timing."""
    parts = [{"output_type": "stream", "name": name, "text": text} for name, text in [("stdout", "a"), ("stdout", "b")]]
    assert [output["text"] for output in normal(code("1", *parts))["cells"][0]["outputs"]] == ["ab"]


def test_normal_form_is_a_fixed_point() -> None:
    """Normalising and writing what was normalised and written changes nothing."""
    once = record.as_text(normal(code("print(1)\n", {"output_type": "stream", "name": "stdout", "text": "1\n"})))
    again = record.as_text(record.normal_form(nbformat.reads(once, as_version=4), "01_small"))
    assert again == once
    assert once.endswith("}\n")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A lesson of one cell that shows what recording gives to its kernel."""
    path = tmp_path / "01_small.ipynb"
    source = "import os; print(os.environ['EMQLAB_SERVER'], os.path.exists(os.environ['EMQLAB_PROGRESS']))"
    path.write_text(record.as_text(normal(code(source, count=None))), encoding="utf-8")
    return path


def test_recording_runs_on_the_embedded_server_without_progress(small: Path) -> None:
    """A recording is made where everybody's is, by a reader who has done nothing yet."""
    assert record.main([str(small)]) == 0
    assert record.read(small)["cells"][0]["outputs"][0]["text"] == "embedded False\n"


def test_recording_twice_changes_nothing(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The check fails before the first recording, writes nothing, and holds after it."""
    before = small.read_text(encoding="utf-8")
    assert record.main(["--check", str(small)]) == 1
    assert small.read_text(encoding="utf-8") == before
    assert record.main([str(small)]) == 0
    assert record.main(["--check", str(small)]) == 0
    assert capsys.readouterr().out.endswith("01_small.ipynb: as recorded\n")


def test_a_lesson_that_fails_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cell that raises leaves the file alone, and its error is shown with the lesson's name."""
    path = tmp_path / "02_broken.ipynb"
    path.write_text(record.as_text(normal(code("1 / 0", count=None))), encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    assert record.main([str(path)]) == 1
    assert "02_broken.ipynb: " in (said := capsys.readouterr().err)
    assert "ZeroDivisionError" in said
    assert path.read_text(encoding="utf-8") == before
