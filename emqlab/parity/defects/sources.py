"""Changed scripts and verbs: their texts, how they become executors, and a lab that runs them."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from emqlab.executor import Executor
from emqlab.lab import ExecutorName, Lab
from emqlab.native.embedded import commands
from emqlab.native.executor import NativeExecutor
from emqlab.native.verbs import VERBS, Verb
from emqlab.observe.case import Case
from emqlab.observe.run import Run, Skipped
from emqlab.parity.defects.loading import CannotLoad, loaded
from emqlab.scripted.executor import ScriptedExecutor
from emqlab.scripted.scripts import SCRIPTS, Script, script_of
from emqlab.servers.embedded import EmbeddedServer
from emqlab.servers.server import Server
from emqlab.transitions import OF_COMMAND, OF_SCRIPT

#: Where changed texts are run: on servers of the lab's own.
ServerName = Literal["embedded", "valkey"]
#: A file's ending -> whose it is.
ENDINGS: dict[str, ExecutorName] = {"lua": "scripted", "py": "native"}


@dataclass(frozen=True, slots=True)
class Sources:
    """The texts of both executors, by file name without ending: scripts, and verbs with ``rules`` and ``texts``."""

    scripts: Mapping[str, str]
    verbs: Mapping[str, str]

    def text(self, file: str) -> str:
        """The text of ``claim.lua`` or ``claim.py``. Raises KeyError for a file that is not there."""
        name, _, ending = file.rpartition(".")
        return (self.scripts if ENDINGS[ending] == "scripted" else self.verbs)[name]

    def replaced(self, file: str, text: str) -> "Sources":
        """The same with another text for one file. Raises KeyError for a file that is not there."""
        self.text(file)
        name, _, ending = file.rpartition(".")
        if ENDINGS[ending] == "scripted":
            return replace(self, scripts={**self.scripts, name: text})
        return replace(self, verbs={**self.verbs, name: text})


@functools.cache
def own_sources() -> Sources:
    """The lab's own texts, as they are."""
    from emqlab.native.module.sources import verb_texts

    return Sources({name: script.text.decode() for name, script in SCRIPTS.items()}, verb_texts())


def served_by(file: str) -> tuple[str, ...]:
    """The step verbs that a file serves: one, all that have a command for the rules and texts, none for a lesson's."""
    name, _, ending = file.rpartition(".")
    if ending == "lua":
        return (OF_SCRIPT[name].verb,) if name in OF_SCRIPT else ()
    return (name,) if name not in ("rules", "texts") else tuple(row.verb for row in OF_COMMAND.values())


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change to one file, made by rule. ``before`` and ``after`` are the lines that differ, stripped.

    ``id`` is the same in every run over the same files: file and line, operator, and a number among its like.
    """

    id: str
    file: str
    line: int
    operator: str
    before: str
    after: str
    text: str

    @property
    def executor(self) -> ExecutorName:
        """Whose file it is."""
        return ENDINGS[self.file.rpartition(".")[2]]

    @property
    def sources(self) -> Sources:
        """All texts, with this one changed."""
        return own_sources().replaced(self.file, self.text)


def mutants_of(file: str, sound: str, changed: Sequence[tuple[str, str]]) -> list[Mutant]:
    """Mutants out of (operator, changed text), in their order."""
    made: list[Mutant] = []
    alike: dict[str, int] = {}
    for operator, text in changed:
        line, before, after = changed_lines(sound, text)
        like = f"{file}:{line} {operator}"
        alike[like] = alike.get(like, 0) + 1
        made.append(Mutant(f"{like} {alike[like]}", file, line, operator, before, after, text))
    return made


def changed_lines(sound: str, changed: str) -> tuple[int, str, str]:
    """The first line that differs, from 1, and what is there in both, each line stripped and joined by a blank."""
    old, new = sound.splitlines(), changed.splitlines()
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    cut = [" ".join(line.strip() for line in lines[first : len(lines) - last]) for lines in (old, new)]
    return first + 1, cut[0], cut[1]


# -- scripts


def scripts_of(sources: Sources) -> dict[str, Script]:
    """The scripts, with the hashes of their texts. A text that is no Lua is refused by the server that is sent it."""
    return {name: script_of(name, text.encode()) for name, text in sources.scripts.items()}


def lua_complaint(text: str) -> str | None:
    """What Lua says of a text that it can't read, ``line: why``; None if it can, or where there is no Lua to ask."""
    try:
        import lupa.lua51 as lupa  # a server's Lua is 5.1, and an edition without lupa has no Lua to ask
    except ImportError:
        return None
    answer = lupa.LuaRuntime(encoding=None).eval(b"function(text) return select(2, loadstring(text, '=')) end")(
        text.encode()
    )
    return answer.decode("utf-8", "replace").lstrip(":") if answer is not None else None


# -- verbs


def verbs_of(sources: Sources) -> dict[str, Verb]:
    """The verbs by command name, run from these texts in modules of their own. Raises CannotLoad.

    A mistake that shows only when a verb runs is an ``EMQHOST`` reply with Python's name for it, as it is one in C.
    """
    return loaded(sources.verbs)


def module_of(sources: Sources) -> Path:
    """The module with these verbs, for a real server; built once. Raises CannotLoad for what C can't be made of.

    Raises CannotBuild.
    """
    from emqlab.native.module import module_files, module_path
    from emqlab.native.module.build import shared_object
    from emqlab.native.module.catalogue import catalogue
    from emqlab.native.module.compiler import compile_verbs
    from emqlab.native.module.sources import NotInSubset, read

    if sources.verbs == own_sources().verbs:
        return module_path()
    verbs_of(sources)
    try:
        made = compile_verbs(sources.verbs)
        described = catalogue({source.name: source for source in read(sources.verbs)})
    except NotInSubset as error:
        raise CannotLoad(error.msg) from error
    except SyntaxError as error:
        raise CannotLoad(f"{error.filename}:{error.lineno}: {error.msg}") from error
    # It is run for seconds: what it takes to build it counts for more than how fast it is.
    files = {**module_files(), "verbs.h": made + "\n" + described}
    return shared_object("changed", files, main="module.c", flags=("-O0",))


# -- a lab that runs them


class ChangedLab(Lab):
    """A lab whose executors run changed texts, also on the bench where its cases run."""

    def __init__(
        self, make: Callable[[], Server], scripts: Mapping[str, Script], verbs: Mapping[str, Verb] = VERBS
    ) -> None:
        """``make`` makes a server that knows the changed ``verbs``, and is called again for the bench."""
        self._scripts = scripts
        self._verbs = verbs
        server = make()
        try:
            super().__init__(server, twin=make)
        except BaseException:
            server.close()
            raise

    def _executors(self, server: Server) -> tuple[ScriptedExecutor, Executor]:
        own, _ = super()._executors(server)
        native = NativeExecutor(server.client, own._mint, lambda: server.run_id, self._verbs)
        return ScriptedExecutor(server.client, own._mint, self._scripts), native

    def run(self, case: Case | dict[str, Any], *, executor: ExecutorName, traced: bool = False) -> Run | Skipped:
        """Run one case as ``Lab.run`` does; untraced unless asked for, so that nothing but the changed text is run."""
        return super().run(case, executor=executor, traced=traced)


def open_defective(sources: Sources, server: ServerName = "embedded", *, seed: int = 0) -> ChangedLab:
    """A lab on a server of its own, whose executors run ``sources``. Raises CannotLoad, CannotBuild, ValueError."""
    scripts = scripts_of(sources)
    if server == "embedded":
        verbs = verbs_of(sources)
        known = commands(verbs)
        return ChangedLab(lambda: EmbeddedServer(known, seed), scripts, verbs)
    if server != "valkey":
        raise ValueError(f"server must be embedded or valkey, not {server!r}: what is changed runs on the lab's own")
    from emqlab.servers.valkey import ValkeyServer

    module = module_of(sources)
    return ChangedLab(lambda: ValkeyServer(module=module, node=seed % 1024), scripts, verbs_of(sources))
