"""The lessons run from the first cell to the last in JupyterLab, as a reader runs them."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page


@pytest.mark.parametrize("lesson", ["00_start_here", "01_state_and_attempts"])
def test_a_lesson_runs_without_an_error(
    lesson: str, open_notebook: Callable[[str], Page], run_all: Callable[..., dict[str, Any]]
) -> None:
    """Every code cell of the lesson runs, in order, and none of them raises."""
    result = run_all(open_notebook(f"{lesson}.ipynb"))
    assert result["errors"] == []
    assert result["ok"] is True
    assert result["counts"] == list(range(1, len(result["counts"]) + 1))
    assert result["counts"]
