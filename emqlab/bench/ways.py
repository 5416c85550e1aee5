"""The ways to make one call: scripted, native, and the peers that are measured beside a claim."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from emqlab.bench.jobs import Command, Jobs, Work
from emqlab.bench.line import Line, Packed
from emqlab.bench.target import Target
from emqlab.bench.workloads import Row
from emqlab.scripted.scripts import SCRIPTS
from emqlab.transitions import TRANSITIONS, Call

#: The peers of a claim.
SAME_STEPS, LIMIT = "same_steps", "limit"


@dataclass(frozen=True, slots=True)
class Way:
    """How the calls of one row are made: ``name``, the command that the server accounts them to, and what is sent."""

    name: str
    account: str
    packed: Packed


@dataclass(frozen=True, slots=True)
class Station:
    """One row, ready to be measured on one connection: everything that is sent is packed."""

    row: Row
    work: Work
    given: Packed
    after: Packed
    clear: Packed
    ways: tuple[Way, ...]


def station(row: Row, target: Target, line: Line) -> Station:
    """Make a row ready: pack its commands and load its scripts. Raises ValueError where scripts are refused."""
    work = row.make(Jobs(target.queue, target.run_id, row.jobs))
    return Station(
        row,
        work,
        line.pack(work.given),
        line.pack([command for command, _ in work.after]),
        line.pack([work.clear]),
        tuple(Way(name, account, line.pack(sent)) for name, account, sent in _ways(row, work, target, line)),
    )


def _ways(row: Row, work: Work, target: Target, line: Line) -> Iterator[tuple[str, str, list[Command]]]:
    transition = TRANSITIONS[row.verb]
    if transition.script:
        yield "scripted", "evalsha", _scripted(line, SCRIPTS[transition.script].text, work.calls)
    assert transition.command
    native = transition.command.encode()
    yield "native", transition.command.lower(), [_sent(native, call) for call in work.calls]
    if row.name != "claim":
        return
    # The script of the fence reads a key of another slot.
    if not target.cluster:
        yield SAME_STEPS, "evalsha", _scripted(line, same_steps(), work.calls, target.run_id)
    if target.limit_missing is None:
        yield LIMIT, "emqlimit.claim", [_sent(b"EMQLIMIT.CLAIM", call) for call in work.calls]


@cache
def same_steps() -> bytes:
    """The native claim's own steps as a script."""
    return (resources.files("emqlab.bench") / "same_steps.lua").read_bytes()


def _scripted(line: Line, text: bytes, calls: Sequence[Call], *more: bytes) -> list[Command]:
    sha = line.ask(b"SCRIPT", b"LOAD", text)
    if not isinstance(sha, bytes):
        raise ValueError(f"the server does not take the scripts ({sha.text}); give +script +evalsha")
    return [(*_sent(b"EVALSHA", call, sha), *more) for call in calls]


def _sent(command: bytes, call: Call, *script: bytes) -> Command:
    sent_keys, args = call.wire()
    return (command, *script, b"%d" % len(sent_keys), *sent_keys, *args)
