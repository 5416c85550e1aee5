"""A case: what it holds, and what its ``@`` words and ``{p}`` stand for (SPEC 8)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from emqlab import keys
from emqlab.transitions import Call, Values

OLD_RUN_ID = b"0" * 40
_NOW = re.compile(r"@now(?:([+-])([0-9]{1,19}))?")
EXECUTORS = ("scripted", "native")


def escaped(text: str) -> str:
    """A text on one line and safe for a terminal: what can't be printed is shown as its escape (``\\n``, ``\\x1b``)."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


class BadCase(ValueError):
    """A case file that can't be used. ``str`` is one sentence that names file, case and field."""

    def __init__(self, sentence: str) -> None:
        super().__init__(escaped(sentence))


@dataclass(frozen=True, slots=True)
class World:
    """What the ``@`` words stand for while a case runs."""

    now_ms: int
    run_id: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of ``when``. Exactly one of verb, restart, advance_ms, command is set."""

    verb: str | None = None
    values: Values = field(default_factory=dict)
    keys: tuple[Any, ...] | None = None
    args: tuple[Any, ...] | None = None
    restart: bool = False
    advance_ms: int | None = None
    command: tuple[Any, ...] | None = None

    def call(self, queue: bytes, world: World) -> Call:
        """The transition a verb step sends: named values untouched, ``keys`` and ``args`` substituted."""
        assert self.verb is not None
        return Call(
            self.verb,
            queue,
            self.values,
            None if self.keys is None else tuple(substitute(item, queue, world) for item in self.keys),
            None if self.args is None else tuple(substitute(item, queue, world) for item in self.args),
        )


@dataclass(frozen=True, slots=True)
class Case:
    """One case, checked. ``source`` is the JSON it was read from, ``where`` the file or line that held it."""

    name: str
    queue: bytes
    about: str
    given: tuple[tuple[Any, ...], ...]
    when: tuple[Step, ...]
    differs: tuple[int, ...]
    servers: tuple[str, ...] | None
    expect: Mapping[str, Any]
    source: Mapping[str, Any]
    where: str = field(default="the case", compare=False)

    @property
    def verbs(self) -> list[str]:
        """The verbs of its verb steps, in order."""
        return [step.verb for step in self.when if step.verb is not None]


def substitute(item: Any, queue: bytes, world: World) -> bytes:
    """A string or ``{"hex": …}`` of ``given``, a raw command, ``keys`` or ``args``, as the bytes that are sent."""
    if isinstance(item, dict):
        return bytes.fromhex(item["hex"])
    stamp = moment(item, world)
    if stamp is not None:
        return stamp
    return encoded(item).replace(b"{p}", keys.base(queue))


def moment(text: str, world: World) -> bytes | None:
    """What a string that is exactly an ``@`` word stands for, else None."""
    if text == "@run_id":
        return world.run_id
    if text == "@old_run_id":
        return OLD_RUN_ID
    offset = offset_of(text)
    return None if offset is None else b"%d" % (world.now_ms + offset)


def offset_of(text: str) -> int | None:
    """The ms after ``@now`` of ``@now``, ``@now+n`` or ``@now-n``, else None."""
    match = _NOW.fullmatch(text)
    if match is None:
        return None
    return int((match[1] or "+") + (match[2] or "0"))


def encoded(text: str) -> bytes:
    """A JSON string as UTF-8; a lone surrogate keeps its own three bytes."""
    return text.encode("utf-8", "surrogatepass")
