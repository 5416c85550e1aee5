"""The lessons on a real server: ``open_lab("auto")`` takes one where it can."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from emqlab.native.module import NoCompiler, module_path
from emqlab.servers.binaries import NoServer, find_binary

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_on_a_real_server(lesson: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every cell runs to its end, and as many outputs come as were recorded."""
    try:
        find_binary()
        module_path()
    except (NoServer, NoCompiler) as error:
        pytest.skip(str(error))
    monkeypatch.setenv("EMQLAB_SERVER", "valkey")
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    recorded = nbformat.read(lesson, 4)
    run = NotebookClient(nbformat.read(lesson, 4), timeout=60, resources={"metadata": {"path": str(lesson.parent)}})
    cells = run.execute().cells
    assert [len(cell.get("outputs", [])) for cell in recorded.cells] == [len(cell.get("outputs", [])) for cell in cells]
