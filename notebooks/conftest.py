"""Each lesson is checked as by a reader who has done nothing yet, whatever was solved before it or beside it."""

import os
import tempfile
from pathlib import Path

import pytest

PROGRESS = tempfile.TemporaryDirectory(prefix="emqlab-progress-")


@pytest.hookimpl(tryfirst=True)  # before the lesson's kernel is started, which inherits it
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give the lesson a progress file of its own, and the server that it was recorded on unless another is named."""
    os.environ["EMQLAB_PROGRESS"] = str(Path(PROGRESS.name, f"{item.path.stem}.json"))
    os.environ.setdefault("EMQLAB_SERVER", "embedded")


def pytest_unconfigure() -> None:
    """Forget what was solved."""
    PROGRESS.cleanup()
