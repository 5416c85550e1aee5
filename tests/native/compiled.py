"""Python functions beside what the compiler makes of them: the same call, in CPython and in C."""

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import emqlab.native.module
from emqlab.native.host import Refusal
from emqlab.native.module.build import NoCompiler, shared_object
from emqlab.native.module.compiler import c_name, compile_verbs
from emqlab.native.module.sources import read

_MODULE = Path(emqlab.native.module.__file__).parent
_HARNESS = Path(__file__).with_name("harness.c")
_ROOM = 1 << 22
CLOCK = 1700000000000


@dataclass(frozen=True, slots=True)
class Failed:
    """How a call ended without an answer: a refusal's text, or ``EMQHOST`` and what Python raised."""

    text: bytes


class Echo:
    """The harness's host, in Python: it answers every read and write with what it was asked."""

    def read(self, command: bytes, *args: Any) -> Any:
        """What was asked."""
        return [command, *args]

    def write(self, command: bytes, *args: Any) -> Any:
        """What was asked."""
        return [command, *args]

    def open(self, key: Any, access: Any) -> Any:
        """What was asked."""
        return [key, access]

    def expect(self, want: Any, got: Any) -> Any:
        """What was asked."""
        return [want, got]

    def now_ms(self) -> int:
        """Always the same."""
        return CLOCK


class Compiled:
    """The functions of some Python files, compiled: ``both`` calls one as Python and as C."""

    def __init__(self, texts: Mapping[str, str], flags: Sequence[str] = ()) -> None:
        self._places: dict[tuple[str, str], int] = {}
        rows: list[tuple[str, str]] = []
        for source in read(texts):
            for name, node in source.functions.items():
                self._places[source.name, name] = len(rows)
                count = len([arg for arg in node.args.args if arg.arg != "host"])
                given = "".join(f", a[{place}]" for place in range(count))
                rows.append((c_name(source.name, name), given))
        table = [f"static Value call_{n}(Call *c, const Value *a) {{ (void)a; return {f}(c{g}); }}"
                 for n, (f, g) in enumerate(rows)]  # fmt: skip
        table.append(f"static Function *const TABLE[] = {{{', '.join(f'call_{n}' for n in range(len(rows)))}}};\n")
        files = {name: (_MODULE / name).read_text(encoding="utf-8") for name in ("api.h", "values.h")}
        files |= {"verbs.h": compile_verbs(texts), "table.h": "\n".join(table)}
        files |= {_HARNESS.name: _HARNESS.read_text(encoding="utf-8")}
        try:
            made = shared_object("harness", files, main=_HARNESS.name, flags=flags)
        except NoCompiler as error:
            pytest.skip(str(error))
        self._function = ctypes.CDLL(str(made)).call_function
        self._function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_long]
        self._function.restype = ctypes.c_long
        self._out = ctypes.create_string_buffer(_ROOM)

    def call(self, file: str, name: str, *args: Any) -> Any:
        """What the C answers: a value, or Failed."""
        size = self._function(self._places[file, name], _packed(list(args)), self._out, _ROOM)
        value, rest = _unpacked(memoryview(self._out)[:size])
        assert 0 == len(rest)
        return value


def interpreted(function: Callable[..., Any], *args: Any) -> Any:
    """What CPython answers: a value with every tuple as a list, or Failed."""
    try:
        return _lists(function(*args))
    except Refusal as refusal:
        return Failed(refusal.text)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError) as error:
        # To the C, bytes without a method are bytes of a wrong type.
        name = "TypeError" if isinstance(error, AttributeError) else type(error).__name__
        return Failed(b"EMQHOST " + name.encode())


def same(python: Any, c: Any) -> bool:
    """Whether both answered the same, to the kind of every value and the kind of a failure."""
    if isinstance(python, Failed) and isinstance(c, Failed):
        broken = python.text.startswith(b"EMQHOST ")
        return python.text == (c.text.partition(b":")[0] if broken else c.text)
    if type(python) is not type(c):
        return False
    if isinstance(python, list):
        return len(python) == len(c) and all(map(same, python, c))
    return bool(python == c)


def never_wrong(python: Any, c: Any) -> bool:
    """Whether C answered the same, or ended the call because it can't do what Python can."""
    return same(python, c) or (isinstance(c, Failed) and c.text.startswith(b"EMQHOST "))


def _lists(value: Any) -> Any:
    return [_lists(part) for part in value] if isinstance(value, (list, tuple)) else value


def _packed(value: Any) -> bytes:
    match value:
        case None:
            return b"N"
        case bool():
            return b"?" + int(value).to_bytes(16, "little")
        case int():
            return b"i" + value.to_bytes(16, "little", signed=True)
        case bytes():
            return b"b" + struct.pack("I", len(value)) + value
        case _:
            return b"l" + struct.pack("I", len(value)) + b"".join(map(_packed, value))


def _unpacked(raw: memoryview) -> tuple[Any, memoryview]:
    letter, raw = bytes(raw[:1]), raw[1:]
    if letter == b"N":
        return None, raw
    if letter in b"i?":
        number = int.from_bytes(raw[:16], "little", signed=True)
        return (number if letter == b"i" else bool(number)), raw[16:]
    (size,) = struct.unpack("I", raw[:4])
    raw = raw[4:]
    if letter == b"l":
        values = []
        for _ in range(size):
            value, raw = _unpacked(raw)
            values.append(value)
        return values, raw
    text = bytes(raw[:size])
    return (Failed(text) if letter == b"e" else text), raw[size:]
