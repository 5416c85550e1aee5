"""The real servers, each in turn, as tests/servers has them."""

from tests.servers.conftest import running, server

__all__ = ["running", "server"]
