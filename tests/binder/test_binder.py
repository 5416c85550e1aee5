"""Binder can build its image from `binder/`: the configuration is read as repo2docker itself reads it."""

import os
from pathlib import Path

import pytest
from repo2docker.app import Repo2Docker
from repo2docker.buildpacks import PythonBuildPack

CLONE = Path(__file__).parents[2]


@pytest.fixture
def buildpack(monkeypatch: pytest.MonkeyPatch) -> PythonBuildPack:
    """What repo2docker builds a Python repository with, standing in the clone."""
    monkeypatch.chdir(CLONE)
    pack = PythonBuildPack(base_image=Repo2Docker().base_image)
    pack.platform = "linux/amd64"
    return pack


def test_the_image_is_built_from_the_binder_folder(buildpack: PythonBuildPack) -> None:
    """The Python buildpack takes the repository, with the Python that the lab is tested on."""
    assert buildpack.detect()
    assert buildpack.binder_dir == "binder"
    assert buildpack.python_version == "3.11"


def test_the_image_has_the_project_in_it(buildpack: PythonBuildPack) -> None:
    """The rendered recipe installs our requirements and runs our last step."""
    recipe = buildpack.render()
    assert '-r "binder/requirements.txt"' in recipe
    assert "binder/postBuild" in recipe


def test_the_requirements_are_the_project_itself() -> None:
    """What the course needs is said once, in pyproject.toml."""
    assert (CLONE / "binder" / "requirements.txt").read_text(encoding="utf-8").split() == ["-e", "."]


@pytest.mark.parametrize("script", ["binder/postBuild", ".ci/run"])
def test_the_scripts_can_be_started(script: str) -> None:
    """A script that lost its permission to run is skipped by Binder without a word."""
    assert os.access(CLONE / script, os.X_OK)
