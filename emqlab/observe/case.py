"""The case format: reading it, checking it, and its substitutions (SPEC 8)."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from emqlab import keys
from emqlab.divergences import DIVERGENCES
from emqlab.transitions import PLAIN, TRANSITIONS, UNSUPPORTED_NATIVELY, Call, Values

OLD_RUN_ID = b"0" * 40
_NOW = re.compile(r"@now(?:([+-])(\d{1,19}))?")
_CASE_FIELDS = {"name", "queue", "about", "given", "when", "differs", "servers", "expect"}
EXECUTORS = ("scripted", "native")


class BadCase(ValueError):
    """A case file that can't be used. ``str`` is one sentence that names file, case and field."""


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
    """One case, checked. ``source`` is the JSON it was read from."""

    name: str
    queue: bytes
    about: str
    given: tuple[tuple[Any, ...], ...]
    when: tuple[Step, ...]
    differs: tuple[int, ...]
    servers: tuple[str, ...] | None
    expect: Mapping[str, Any]
    source: Mapping[str, Any]

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


def parse_case(source: Any, where: str = "the case") -> Case:
    """A case out of its JSON. Raises BadCase; ``where`` (a file's name) begins its sentence."""
    if not isinstance(source, dict):
        raise BadCase(f"{where}: a case is an object with name, queue, given and when, not {_kind(source)}")
    name = source.get("name")
    if not isinstance(name, str) or not name:
        raise BadCase(f"{where}: name: every case needs a name, a text that is not empty")
    return _Reader(f"{where}: {name}").case(source, name)


class _Reader:
    """Checks one case; ``at`` begins every sentence."""

    def __init__(self, at: str) -> None:
        self._at = at

    def bad(self, field_name: str, why: str) -> BadCase:
        return BadCase(f"{self._at}: {field_name}: {why}")

    def case(self, source: dict[str, Any], name: str) -> Case:
        unknown = sorted(set(source) - _CASE_FIELDS)
        if unknown:
            raise self.bad(unknown[0], f"no such field in a case; it has {', '.join(sorted(_CASE_FIELDS))}")
        if "queue" not in source:
            raise self.bad("queue", "missing; give the queue's name")
        about = source.get("about", "")
        if not isinstance(about, str):
            raise self.bad("about", f"must be a sentence, not {_kind(about)}")
        return Case(
            name=name,
            queue=self.raw("queue", source["queue"]),
            about=about,
            given=tuple(self.command(f"given[{i}]", item) for i, item in enumerate(self.list_of("given", source, []))),
            when=tuple(self.step(f"when[{i}]", item) for i, item in enumerate(self.list_of("when", source))),
            differs=self.differs(source),
            servers=self.servers(source),
            expect=self.expect(source),
            source=source,
        )

    def list_of(self, field_name: str, source: dict[str, Any], default: list[Any] | None = None) -> list[Any]:
        value = source.get(field_name, default)
        if value is None:
            raise self.bad(field_name, "missing; give a list of steps")
        if not isinstance(value, list):
            raise self.bad(field_name, f"must be a list, not {_kind(value)}")
        return value

    def text(self, field_name: str, value: Any) -> Any:
        """A string or ``{"hex": …}``, as it is."""
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and set(value) == {"hex"} and isinstance(value["hex"], str):
            try:
                bytes.fromhex(value["hex"])
            except ValueError:
                raise self.bad(field_name, f"{value['hex']!r} is not hexadecimal") from None
            return value
        raise self.bad(field_name, f'must be a string or {{"hex": …}}, not {_kind(value)}')

    def raw(self, field_name: str, value: Any) -> bytes:
        value = self.text(field_name, value)
        return bytes.fromhex(value["hex"]) if isinstance(value, dict) else encoded(value)

    def command(self, field_name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise self.bad(field_name, "must be a command: a list of strings that is not empty")
        return self.texts(field_name, value)

    def texts(self, field_name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise self.bad(field_name, f"must be a list of strings, not {_kind(value)}")
        return tuple(self.text(f"{field_name}[{i}]", item) for i, item in enumerate(value))

    def step(self, field_name: str, value: Any) -> Step:
        if not isinstance(value, dict):
            raise self.bad(field_name, f"must be a step, an object, not {_kind(value)}")
        if "verb" in value:
            return self.verb_step(field_name, value)
        if set(value) == {"restart"}:
            if value["restart"] is not True:
                raise self.bad(f"{field_name}.restart", "must be true")
            return Step(restart=True)
        if set(value) == {"advance_ms"}:
            if isinstance(value["advance_ms"], bool) or not isinstance(value["advance_ms"], int):
                raise self.bad(f"{field_name}.advance_ms", "must be a whole number of milliseconds")
            return Step(advance_ms=value["advance_ms"])
        if set(value) == {"command"}:
            return Step(command=self.command(f"{field_name}.command", value["command"]))
        raise self.bad(field_name, "must name a verb, or be one of restart, advance_ms, command")

    def verb_step(self, field_name: str, value: dict[str, Any]) -> Step:
        verb = value["verb"]
        known = {**{name: row.values for name, row in TRANSITIONS.items()}, **UNSUPPORTED_NATIVELY}
        known |= dict.fromkeys(PLAIN, ())
        if not isinstance(verb, str) or verb not in known:
            raise self.bad(f"{field_name}.verb", f"no verb {verb!r}; the verbs are {', '.join(sorted(known))}")
        optional = {"keys", "args", "verb", *(("result",) if verb == "complete" else ())}
        unknown = sorted(set(value) - {*known[verb], *optional})
        if unknown:
            raise self.bad(f"{field_name}.{unknown[0]}", f"{verb} has no such value")
        values: dict[str, Any] = {}
        for part in known[verb]:
            if part not in value:
                raise self.bad(f"{field_name}.{part}", f"missing; {verb} needs {', '.join(known[verb])}")
            if part in ("pairs", "children"):
                values[part] = self.pairs(f"{field_name}.{part}", value[part])
            else:
                values[part] = self.raw(f"{field_name}.{part}", value[part])
        if "result" in value:
            values["result"] = self.raw(f"{field_name}.result", value["result"])
        lists = {part: self.texts(f"{field_name}.{part}", value[part]) for part in ("keys", "args") if part in value}
        return Step(verb=verb, values=values, keys=lists.get("keys"), args=lists.get("args"))

    def pairs(self, field_name: str, value: Any) -> list[tuple[bytes, bytes]]:
        if not isinstance(value, list):
            raise self.bad(field_name, f"must be a list of pairs, not {_kind(value)}")
        out = []
        for i, pair in enumerate(value):
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.bad(f"{field_name}[{i}]", "must be a pair: a list of two strings")
            out.append((self.raw(f"{field_name}[{i}][0]", pair[0]), self.raw(f"{field_name}[{i}][1]", pair[1])))
        return out

    def differs(self, source: dict[str, Any]) -> tuple[int, ...]:
        numbers = self.list_of("differs", source, [])
        for number in numbers:
            if isinstance(number, bool) or number not in DIVERGENCES:
                raise self.bad("differs", f"{number!r} is no divergence; they are 1 to {max(DIVERGENCES)}")
        return tuple(numbers)

    def servers(self, source: dict[str, Any]) -> tuple[str, ...] | None:
        if "servers" not in source:
            return None
        names = self.list_of("servers", source)
        for name in names:
            if not isinstance(name, str):
                raise self.bad("servers", "must be a list of server names")
        return tuple(names)

    def expect(self, source: dict[str, Any]) -> dict[str, Any]:
        expected = source.get("expect", {})
        if not isinstance(expected, dict):
            raise self.bad("expect", f"must be an object, not {_kind(expected)}")
        for executor, parts in expected.items():
            at = f"expect.{executor}"
            if executor not in EXECUTORS:
                raise self.bad(at, "the executors are scripted and native")
            if not isinstance(parts, dict) or set(parts) - {"replies", "keys"}:
                raise self.bad(at, "must be an object with replies, keys or both")
            if not isinstance(parts.get("replies", []), list):
                raise self.bad(f"{at}.replies", "must be a list of replies")
            for i, reply in enumerate(parts.get("replies", [])):
                if not isinstance(reply, dict) or len(reply) != 1 or set(reply) - {"ok", "error", "unsupported"}:
                    raise self.bad(f"{at}.replies[{i}]", "must be one of ok, error, unsupported")
            if not isinstance(parts.get("keys", {}), dict):
                raise self.bad(f"{at}.keys", "must be an object of keys")
            for key, held in parts.get("keys", {}).items():
                if not isinstance(held, dict) or not {"type", "value"} <= set(held):
                    raise self.bad(f"{at}.keys.{key}", "must have type and value")
        return expected


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def parse_text(text: str, where: str, *, lines: bool) -> list[Case]:
    """The cases of one file's text: JSON (a case or a list), or one case a line. Raises BadCase."""
    return [parse_case(source, place) for source, place in _documents(text, where, lines)]


def _documents(text: str, where: str, lines: bool) -> Iterable[tuple[Any, str]]:
    if not lines:
        document = _json(text, where)
        yield from ((item, where) for item in (document if isinstance(document, list) else [document]))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _json(line, f"{where} line {number}"), f"{where} line {number}"


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadCase(f"{where}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BadCase(f"{where}: nested too deeply to be a case") from None
