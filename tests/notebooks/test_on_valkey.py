"""The lessons on a real server: ``open_lab("auto")`` takes one where it can, and they say there what was recorded."""

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from emqlab.native.module import NoCompiler, module_path
from emqlab.servers.binaries import NoServer, find_binary
from emqlab.servers.shim import clock_shim
from emqlab.teach import cases
from tests.notebooks.alike import differences

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("[0-9][0-9]_*.ipynb"))

#: The ends of the ids that the lessons' cases name, which are the same on every server.
FIXED = frozenset(one[-4:] for one in re.findall(r"JOB[0-9A-Za-z]{11}", json.dumps(list(cases.every_case()))))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_says_the_same_on_a_real_server(lesson: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Replies, places, deltas, stamps and verdicts: all that is not the server's own clock, ids or epochs."""
    try:
        find_binary()
        module_path()
        clock_shim()  # now: building it is told to a lesson's reader
    except (NoServer, NoCompiler) as error:
        pytest.skip(str(error))
    monkeypatch.setenv("EMQLAB_SERVER", "valkey")
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    run = NotebookClient(nbformat.read(lesson, 4), timeout=60, resources={"metadata": {"path": str(lesson.parent)}})
    assert differences(nbformat.read(lesson, 4), run.execute(), FIXED) == []
