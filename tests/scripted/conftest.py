"""A script cache that is emptied at the worst moment."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from emqlab.executor import Executor

FlushOnTheWay = Callable[[Executor], None]


@pytest.fixture
def flush_on_the_way(monkeypatch: pytest.MonkeyPatch) -> FlushOnTheWay:
    """Let somebody empty the cache behind the first command of every pipeline that the executor sends."""

    def flush(executor: Executor) -> None:
        send_all: Any = executor._send_all

        def sent(commands: Sequence[Any]) -> list[Any]:
            replies = send_all([*commands[:1], (b"SCRIPT", b"FLUSH"), *commands[1:]])
            return [*replies[:1], *replies[2:]][: len(commands)]

        monkeypatch.setattr(executor, "_send_all", sent)

    return flush
