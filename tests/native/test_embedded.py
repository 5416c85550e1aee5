"""The embedded host keeps the rules of a verb (ARCHITECTURE, SPEC 5.1)."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab.native import texts
from emqlab.native.embedded import EmbeddedHost
from emqlab.native.host import Refusal
from emqlab.servers import fake
from emqlab.servers.clock import VirtualClock


def within(work: Callable[[EmbeddedHost], Any]) -> Any:
    """Run ``work`` as the body of a command; what it answered or raised."""
    seen: list[Any] = []

    def command(session: fake.Session, args: list[bytes]) -> int:
        try:
            seen.append(work(EmbeddedHost(session)))
        except (Refusal, AssertionError) as error:
            seen.append(error)
        return 1

    server = fake.FakeServer(VirtualClock(), b"0" * 40, [fake.Command("x.work", command, 0)])
    fake.connect(server).execute_command("X.WORK")
    return seen[0]


@pytest.mark.parametrize(("want", "got"), [(b"a", [b"b", b"0"]), (b"a", []), (1, 0), (2, b"2")])
def test_a_write_that_answers_something_else_breaks_the_promise(want: Any, got: Any) -> None:
    """A reply is held to its prediction; of a list, the first element is."""
    broken = within(lambda host: host.expect(want, got))
    assert isinstance(broken, Refusal)
    assert texts.HOST == broken.text


@pytest.mark.parametrize(("want", "got"), [(b"a", [b"a", b"0"]), (1, 1), (b"a", b"a")])
def test_a_write_that_answers_as_predicted_goes_on(want: Any, got: Any) -> None:
    """Nothing is said."""
    assert within(lambda host: host.expect(want, got)) is None


def test_nothing_is_read_after_the_guard() -> None:
    """A verb that does is wrong on every other host."""

    def work(host: EmbeddedHost) -> None:
        host.begin_writes()
        host.read(b"GET", b"k")

    assert isinstance(within(work), AssertionError)


def test_nothing_is_written_before_the_guard() -> None:
    """Every refusal comes before it."""
    assert isinstance(within(lambda host: host.write(b"SET", b"k", b"v")), AssertionError)


def test_the_clock_is_asked_once() -> None:
    """A second look shows the same number."""
    assert within(lambda host: host.now_ms() == host.now_ms())
