"""What every test may ask for: a lab on the embedded server."""

from collections.abc import Iterator

import pytest

import emqlab


@pytest.fixture
def lab() -> Iterator[emqlab.Lab]:
    """A lab of its own: private server, virtual clock, seed 0."""
    with emqlab.open_lab("embedded") as lab:
        yield lab
