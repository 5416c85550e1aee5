"""Verbs out of other texts than the package's own, in modules that only they see."""

import builtins
import functools
import traceback
import warnings
from collections.abc import Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

from emqlab.native.host import Host, Refusal, Value
from emqlab.native.verbs import VERBS, Verb
from emqlab.transitions import OF_COMMAND

#: The files that are not a verb of their own, and lie beside the verbs' folder.
_SHARED = ("rules", "texts")
#: What the changed files are called where Python names a place; the package's own go by their paths.
_FILES = frozenset(f"{name}.py" for name in (*_SHARED, *(OF_COMMAND[command].verb for command in VERBS)))


class CannotLoad(ValueError):
    """A changed file can't be run: one sentence that begins with the file and, where there is one, the line."""


def loaded(texts: Mapping[str, str]) -> dict[str, Verb]:
    """The verbs by command name, out of the texts by file name (``claim``, ``rules``, …). Raises CannotLoad."""
    rooms = _Rooms(texts)
    return {command: _told(rooms.function(OF_COMMAND[command].verb)) for command in VERBS}


def _told(verb: Verb) -> Verb:
    @functools.wraps(verb)
    def run(host: Host, args: Sequence[bytes]) -> Value | list[bytes]:
        try:
            return verb(host, args)
        except Refusal:
            raise
        except Exception as error:  # whatever a changed verb does wrong: the server goes on, and the caller is told
            raise Refusal(b"EMQHOST " + _sentence(error).encode()) from error

    return run


class _Rooms:
    """The texts as modules that import each other and nobody else sees: ``sys.modules`` is not touched."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._made: dict[str, ModuleType] = {}

    def function(self, verb: str) -> Verb:
        """The verb's one function. Raises CannotLoad."""
        found: Verb | None = getattr(self._module(verb), verb, None)
        if not callable(found):
            raise CannotLoad(f"{verb}.py: there is no function {verb} in it; a verb's file defines one of its name")
        return found

    def _module(self, name: str) -> ModuleType:
        if name not in self._made:
            module = ModuleType(_full_name(name))
            vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
            self._made[name] = module
            _run(f"{name}.py", self._texts[name], vars(module))
        return self._made[name]

    def _import(self, name: str, _globals: Any = None, _locals: Any = None, wanted: Any = (), level: int = 0) -> Any:
        """Python's import, for these modules: of the changed files they get the changed ones."""
        changed = {_full_name(other): other for other in self._texts}
        if name in changed and wanted:
            return self._module(changed[name])
        if name in changed:
            raise ImportError(f"write: from {name.rpartition('.')[0]} import {changed[name]}")
        real = builtins.__import__(name, {}, {}, wanted, level)
        if not wanted or not name.startswith("emqlab."):
            return real
        view = ModuleType(name)
        for item in wanted:
            full = f"{name}.{item}"
            if full in changed:
                setattr(view, item, self._module(item))
            elif hasattr(real, item):
                setattr(view, item, getattr(real, item))
        return view


def _full_name(name: str) -> str:
    return f"emqlab.native.{name}" if name in _SHARED else f"emqlab.native.verbs.{name}"


def _run(file: str, text: str, space: dict[str, Any]) -> None:
    try:
        exec(_compiled(file, text), space)
    except SyntaxError as error:
        raise CannotLoad(f"{error.filename}:{error.lineno}: {error.msg}") from error
    except CannotLoad:
        raise
    except Exception as error:
        raise CannotLoad(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    """What Python says of a mistake, behind the file and the line of the last changed text that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _FILES]
    place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    return f"{place}{type(error).__name__}: {error}"


@functools.lru_cache(maxsize=64)
def _compiled(file: str, text: str) -> CodeType:
    with warnings.catch_warnings():
        # What Python finds odd in a changed text is what was planted there.
        warnings.simplefilter("ignore", SyntaxWarning)
        return compile(text, file, "exec", dont_inherit=True)
