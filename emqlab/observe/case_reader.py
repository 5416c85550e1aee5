"""Reads the case format and checks it (SPEC 8): a case, or one sentence that names file, case and field."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emqlab.arguments import POLICIES
from emqlab.divergences import DIVERGENCES
from emqlab.observe.case import BadCase, Case, Step, encoded
from emqlab.observe.expectation import checked_expectation
from emqlab.transitions import PLAIN, TRANSITIONS

_CASE_FIELDS = {"name", "queue", "about", "given", "when", "differs", "servers", "expect"}
#: The furthest that one step may move the clock, either way: some 30 000 years.
_FURTHEST_MS = 10**15
#: How deep a case's JSON is looked at; every field that a case has is flatter.
_DEEPEST = 100
_WAITS = "may wait for ever"
_ANSWERS = "changes how replies arrive on its connection"
#: Raw commands that the runner can't go on after, and what each of them does.
_HOLDING = {
    **dict.fromkeys(b"BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF".split(), _WAITS),
    **dict.fromkeys(
        b"SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MONITOR SYNC PSYNC".split(), _ANSWERS
    ),
    b"SHUTDOWN": "ends the server",
    b"QUIT": "ends its connection",
}
_HOLDING_SUBCOMMANDS = {(b"CLIENT", b"REPLY"): _ANSWERS, (b"DEBUG", b"SLEEP"): "holds up the whole server"}
#: The words before STREAMS that something follows: how many words.
_STREAM_OPTIONS = {b"GROUP": 2, b"COUNT": 1}


def parse_case(source: Any, where: str = "the case") -> Case:
    """A case out of its JSON. Raises BadCase; ``where`` (a file's name) begins its sentence.

    A case built in Python may hold tuples where JSON has lists, and bytes where it has ``{"hex": …}``.
    """
    if not isinstance(source, dict):
        raise BadCase(f"{where}: a case is an object with name, queue, given and when, not {kind(source)}")
    name = source.get("name")
    if not isinstance(name, str) or not name:
        raise BadCase(f"{where}: name: every case needs a name, a text that is not empty")
    return Reader(where, name).case(source)


#: In this order: True is an int to Python.
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    ((int, float), "a number"),
    (str, "a text"),
    ((list, tuple), "a list"),
    (dict, "an object"),
)


def kind(value: Any) -> str:
    """What a value is, as a sentence calls it."""
    if value is None:
        return "null"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN or Infinity"
    return next((name for types, name in _KINDS if isinstance(value, types)), f"a Python {type(value).__name__}")


class Reader:
    """Checks one case; ``where`` and its name begin every sentence."""

    def __init__(self, where: str, name: str) -> None:
        self._where = where
        self._name = name

    def bad(self, field_name: str, why: str) -> BadCase:
        """The refusal of one field."""
        return BadCase(f"{self._where}: {self._name}: {field_name}: {why}")

    def wrong(self, field_name: str, wanted: str, value: Any) -> BadCase:
        """The refusal of a field that holds something else than what is ``wanted``."""
        return self.bad(field_name, f"must be {wanted}, not {kind(value)}")

    def case(self, given: dict[str, Any]) -> Case:
        """The whole case."""
        source = self.plain(given)
        unknown = sorted(set(source) - _CASE_FIELDS)
        if unknown:
            raise self.bad(unknown[0], f"no such field in a case; it has {', '.join(sorted(_CASE_FIELDS))}")
        if "queue" not in source:
            raise self.bad("queue", "missing; give the queue's name")
        about = source.get("about", "")
        if not isinstance(about, str):
            raise self.wrong("about", "a sentence", about)
        return Case(
            name=self._name,
            queue=self.raw("queue", source["queue"]),
            about=about,
            given=tuple(self.command(f"given[{i}]", item) for i, item in enumerate(self.list_of("given", source, []))),
            when=tuple(self.step(f"when[{i}]", item) for i, item in enumerate(self.list_of("when", source))),
            differs=self.differs(source),
            servers=self.servers(source),
            expect=checked_expectation(source.get("expect", {}), self),
            source=source,
            where=self._where,
        )

    def plain(self, value: Any, depth: int = 0) -> Any:
        """The JSON form of what Python may hold; what lies too deep for a case is left to the checks of its field."""
        if depth > _DEEPEST:
            return value
        if isinstance(value, (bytes, bytearray)):
            return {"hex": value.hex()}
        if isinstance(value, (list, tuple)):
            return [self.plain(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        for key in value:
            if not isinstance(key, str):
                raise BadCase(f"{self._where}: {self._name}: the name of a field must be a text, not {kind(key)}")
        return {key: self.plain(item, depth + 1) for key, item in value.items()}

    def list_of(self, field_name: str, source: dict[str, Any], default: list[Any] | None = None) -> list[Any]:
        """A field that holds a list; missing without a ``default``."""
        value = source.get(field_name, default)
        if field_name not in source and default is None:
            raise self.bad(field_name, "missing; give a list of steps")
        if not isinstance(value, list):
            raise self.wrong(field_name, "a list", value)
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
        raise self.wrong(field_name, 'a string or {"hex": …}', value)

    def raw(self, field_name: str, value: Any) -> bytes:
        """A string or ``{"hex": …}``, as bytes."""
        value = self.text(field_name, value)
        return bytes.fromhex(value["hex"]) if isinstance(value, dict) else encoded(value)

    def command(self, field_name: str, value: Any) -> tuple[Any, ...]:
        """A raw command that the runner can wait for."""
        if not isinstance(value, list) or not value:
            raise self.bad(field_name, "must be a command: a list of strings that is not empty")
        items = self.texts(field_name, value)
        why = _holding([self.raw(field_name, item).upper() for item in items])
        if why:
            raise self.bad(field_name, f"{why}; leave it out")
        return items

    def texts(self, field_name: str, value: Any) -> tuple[Any, ...]:
        """A list of strings."""
        if not isinstance(value, list):
            raise self.wrong(field_name, "a list of strings", value)
        return tuple(self.text(f"{field_name}[{i}]", item) for i, item in enumerate(value))

    def step(self, field_name: str, value: Any) -> Step:
        """One entry of ``when``."""
        if not isinstance(value, dict):
            raise self.wrong(field_name, "a step, an object", value)
        if "verb" in value:
            return self.verb_step(field_name, value)
        if set(value) == {"restart"}:
            if value["restart"] is not True:
                raise self.bad(f"{field_name}.restart", "must be true")
            return Step(restart=True)
        if set(value) == {"advance_ms"}:
            return Step(advance_ms=self.advance(f"{field_name}.advance_ms", value["advance_ms"]))
        if set(value) == {"command"}:
            return Step(command=self.command(f"{field_name}.command", value["command"]))
        raise self.bad(field_name, "must name a verb, or be one of restart, advance_ms, command")

    def advance(self, field_name: str, value: Any) -> int:
        """How far a step moves the clock."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(field_name, "must be a whole number of milliseconds")
        if abs(value) > _FURTHEST_MS:
            raise self.bad(field_name, f"must lie between -{_FURTHEST_MS} and {_FURTHEST_MS}")
        return value

    def verb_step(self, field_name: str, value: dict[str, Any]) -> Step:
        """A step that names a verb, with the values that go to the wire."""
        verb = value["verb"]
        known = {**{name: row.values for name, row in TRANSITIONS.items()}, **dict.fromkeys(PLAIN, ())}
        if not isinstance(verb, str) or verb not in known:
            named = repr(verb) if isinstance(verb, str) else f"is {kind(verb)}"
            raise self.bad(f"{field_name}.verb", f"no verb {named}; the verbs are {', '.join(sorted(known))}")
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
        if verb == "flow_add":
            self.flow(field_name, values)
        lists = {part: self.texts(f"{field_name}.{part}", value[part]) for part in ("keys", "args") if part in value}
        return Step(verb=verb, values=values, keys=lists.get("keys"), args=lists.get("args"))

    def flow(self, field_name: str, values: Mapping[str, Any]) -> None:
        """What a flow's script takes on trust (SPEC 4.4): children, each id once, a policy there is."""
        if not values["children"]:
            raise self.bad(f"{field_name}.children", "a flow needs at least one child")
        ids = [values["id"]]
        for i, (child, _) in enumerate(values["children"]):
            if child in ids:
                raise self.bad(f"{field_name}.children[{i}][0]", f"the id {_told(child)} is there twice")
            ids.append(child)
        if values["policy"].decode("latin-1") not in ("", *POLICIES):
            raise self.bad(f"{field_name}.policy", f"no policy {_told(values['policy'])}; it is fp, id or empty")

    def pairs(self, field_name: str, value: Any) -> list[tuple[bytes, bytes]]:
        """A list of pairs of strings."""
        if not isinstance(value, list):
            raise self.wrong(field_name, "a list of pairs", value)
        out = []
        for i, pair in enumerate(value):
            if not isinstance(pair, list) or len(pair) != 2:
                raise self.bad(f"{field_name}[{i}]", "must be a pair: a list of two strings")
            out.append((self.raw(f"{field_name}[{i}][0]", pair[0]), self.raw(f"{field_name}[{i}][1]", pair[1])))
        return out

    def differs(self, source: dict[str, Any]) -> tuple[int, ...]:
        """The numbers of the declared divergences."""
        numbers = self.list_of("differs", source, [])
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, int) or number not in DIVERGENCES:
                shown = number if isinstance(number, int) and abs(number) < 10**9 else kind(number)
                raise self.bad("differs", f"{shown} is no divergence; they are 1 to {max(DIVERGENCES)}")
        return tuple(numbers)

    def servers(self, source: dict[str, Any]) -> tuple[str, ...] | None:
        """The servers it is for; None for all."""
        if "servers" not in source:
            return None
        names = self.list_of("servers", source)
        for name in names:
            if not isinstance(name, str):
                raise self.wrong("servers", "a list of server names", name)
        return tuple(names)


def _told(raw: bytes) -> str:
    return repr(raw)[1:]


def _holding(words: Sequence[bytes]) -> str | None:
    """What a raw command, given in upper case, does that the runner can't go on after; None for all others."""
    if words[0] in _HOLDING:
        return f"{words[0].decode()} {_HOLDING[words[0]]}"
    why = _HOLDING_SUBCOMMANDS.get((words[0], words[1])) if len(words) > 1 else None
    if why:
        return f"{b' '.join(words[:2]).decode()} {why}"
    if words[0] not in (b"XREAD", b"XREADGROUP"):
        return None
    place = 1
    while place < len(words) and words[place] != b"STREAMS":
        if words[place] == b"BLOCK":
            return f"{words[0].decode()} with BLOCK {_WAITS}"
        place += 1 + _STREAM_OPTIONS.get(words[place], 0)
    return None


def parse_text(text: str, where: str, *, lines: bool) -> list[Case]:
    """The cases of one file's text: JSON (a case or a list), or one case a line. Raises BadCase."""
    return [parse_case(source, place) for source, place in _documents(text, where, lines)]


def _documents(text: str, where: str, lines: bool) -> Iterable[tuple[Any, str]]:
    if not lines:
        document = _json(text, where)
        yield from ((item, where) for item in (document if isinstance(document, list) else [document]))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip(" \t\r"):
            yield _json(line, f"{where} line {number}"), f"{where} line {number}"


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadCase(f"{where}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise BadCase(f"{where}: nested too deeply to be a case") from None
    except ValueError:
        raise BadCase(f"{where}: a number in it has too many digits to be read") from None
