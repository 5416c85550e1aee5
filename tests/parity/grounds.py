"""Grounds on the servers that tests have."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from emqlab.parity.ground import Ground
from emqlab.servers.binaries import VARIABLE
from tests.servers.real import binary_of, built_module


@contextmanager
def ground_on(name: str) -> Iterator[Ground]:
    """A ground on ``embedded`` or on a real server by its name in tests; closed at the end."""
    with pytest.MonkeyPatch.context() as patch:
        if name != "embedded":
            patch.setenv(VARIABLE, str(binary_of(name)))
            built_module()
        made = Ground("embedded" if name == "embedded" else "valkey")
    try:
        yield made
    finally:
        made.close()
