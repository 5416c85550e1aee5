"""The Python files that become C: their constants, their functions, and what a name means in them."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emqlab.native.host import READ, WRITE

_NATIVE = Path(__file__).parent.parent
#: What a file may import from ``host``: its two constants; the rest are types and the one exception.
_HOST = {"READ": READ, "WRITE": WRITE}


class NotInSubset(SyntaxError):
    """Python outside the subset that every host runs; the message begins with the file and the line."""

    def __init__(self, file: str, node: ast.AST, why: str) -> None:
        line = getattr(node, "lineno", 1)
        shown = ast.unparse(node).partition("\n")[0]
        super().__init__(f"{file}:{line}: {why}: {shown[:60]}")
        self.filename = file
        self.lineno = line


@dataclass(slots=True)
class Source:
    """One Python file. ``constants`` are its top-level assignments, ``imports`` the files it may name."""

    name: str
    file: str
    constants: dict[str, ast.Constant] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    imports: dict[str, "Source"] = field(default_factory=dict)
    summary: str = ""

    def constant(self, name: str) -> ast.Constant | None:
        """What a top-level name stands for, or None."""
        if name in self.constants:
            return self.constants[name]
        return ast.Constant(_HOST[name]) if name in _HOST else None


def verb_texts() -> dict[str, str]:
    """Name -> text of every file that is compiled: ``texts``, ``rules`` and the verbs."""
    files = [_NATIVE / "texts.py", _NATIVE / "rules.py", *sorted((_NATIVE / "verbs").glob("*.py"))]
    return {file.stem: file.read_text(encoding="utf-8") for file in files if file.stem != "__init__"}


def read(texts: Mapping[str, str]) -> list[Source]:
    """The files, each parsed; those that others import come first. Raises NotInSubset, SyntaxError."""
    sources: dict[str, Source] = {}
    for name, text in texts.items():
        source = Source(name, f"{name}.py")
        tree = ast.parse(text, source.file)
        # Python's own refusals come with the later passes: a continue outside a loop, a parameter twice.
        compile(tree, source.file, "exec", dont_inherit=True)
        source.summary = ast.get_docstring(tree) or ""
        for node in tree.body:
            _place(source, node, sources)
        sources[name] = source
    return list(sources.values())


def _place(source: Source, node: ast.stmt, known: Mapping[str, Source]) -> None:
    if isinstance(node, ast.FunctionDef):
        source.functions[node.name] = node
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        source.constants[node.targets[0].id] = _literal(source, node.value)
    elif isinstance(node, ast.ImportFrom):
        source.imports.update(_imported(source, node, known))
    elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        raise NotInSubset(source.file, node, "a file holds imports, constants and functions only")


def _literal(source: Source, node: ast.expr) -> ast.Constant:
    """A top-level value. A list would be one for all calls in Python, and one a call in C."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        value = ...
    if value is None or isinstance(value, (bool, int, bytes)):
        return ast.copy_location(ast.Constant(value), node)
    raise NotInSubset(source.file, node, "a file's constants are None, bool, int and bytes, written out")


def _imported(source: Source, node: ast.ImportFrom, known: Mapping[str, Source]) -> Iterator[tuple[str, Source]]:
    if node.module == "emqlab.native":
        for alias in node.names:
            if alias.name not in known or alias.asname:
                raise NotInSubset(source.file, node, "not one of the files that are compiled")
            yield alias.name, known[alias.name]
    elif node.module not in ("emqlab.native.host", "collections.abc"):
        raise NotInSubset(source.file, node, "imports come from emqlab.native and collections.abc only")
