"""What every test may ask for, a lab on the embedded server, and how often tests stop to look for rings."""

import gc
from collections.abc import Iterator

import pytest

import emqlab

#: How many new objects make Python look for rings among them; by itself it does so at each 700, and a test makes
#: millions, all of them let go of by their last reader. A test that wants rings gone collects them itself.
NEW_OBJECTS = 20_000


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later look: it stays until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 20, 20)


@pytest.fixture
def lab() -> Iterator[emqlab.Lab]:
    """A lab of its own: private server, virtual clock, seed 0."""
    with emqlab.open_lab("embedded") as lab:
        yield lab
