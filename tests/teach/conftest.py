"""What the tests of the course's code share: nothing that they solve is anybody's progress."""

from pathlib import Path

import pytest

from emqlab.teach import progress


@pytest.fixture(autouse=True)
def own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A progress file of the test's own, and nothing remembered from the test before."""
    monkeypatch.setenv("EMQLAB_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_memory", None)
