"""TCP ports on this machine."""

import socket

LOOPBACK = "127.0.0.1"


def usable(asked: int | None) -> int:
    """The asked port of the loopback if it is free, any free one if none was asked for. Raises OSError."""
    with socket.socket() as trying:
        # As servers do, or a port that was closed a moment ago would look taken.
        trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trying.bind((LOOPBACK, asked or 0))
        port: int = trying.getsockname()[1]
        return port
