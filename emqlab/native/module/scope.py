"""What names mean in the verbs' Python: a name is one thing, and assigned before it is read; no function calls itself.

Python finds these mistakes while it runs. C would run on: with None for a name, over the end of the server's stack.
"""

import ast
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from emqlab.native.module.sources import NotInSubset, Source

#: A function, by its file and its name.
Name = tuple[str, str]

#: What the compiler gives a meaning of its own.
RESERVED = frozenset({"host", "int", "len", "range", "Refusal"})


def check_names(source: Source, node: ast.FunctionDef) -> None:
    """Raises NotInSubset for a name of two meanings, and for one that may be read before it is assigned."""
    stored = {name for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
    taken = [arg for place, arg in enumerate(node.args.args) if not (place == 0 and arg.arg == "host")]
    calls = set(called(source, node))
    for name, where in [(name.id, name) for name in stored] + [(arg.arg, arg) for arg in taken]:
        # A function of the same name is only in the way where it is called.
        if name in RESERVED or name in source.imports or (source.name, name) in calls:
            raise NotInSubset(source.file, where, "the name of something else")
    parameters = {arg.arg for arg in taken}
    _Assigned(source, parameters | {name.id for name in stored}).block(node.body, frozenset(parameters))


def check_functions(sources: Sequence[Source]) -> frozenset[Name]:
    """The functions that append to a list, themselves or through another.

    Raises NotInSubset for odd parameters, decorators, and functions that call each other in a circle.
    """
    graph: dict[Name, set[Name]] = {}
    appending: set[Name] = set()
    for source in sources:
        for node in source.functions.values():
            _check_head(source, node)
            graph[source.name, node.name] = set(called(source, node))
            if appends(node):
                appending.add((source.name, node.name))
    try:
        # The called ones come first.
        appending.update(name for name in TopologicalSorter(graph).static_order() if graph[name] & appending)
    except CycleError as error:
        file, name = error.args[1][0]
        [source] = [source for source in sources if source.name == file]
        raise NotInSubset(source.file, source.functions[name], "no function calls itself") from None
    return frozenset(appending)


def appends(node: ast.AST) -> bool:
    """Whether an append is in it."""
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr == "append" for func in calls)


def _check_head(source: Source, node: ast.FunctionDef) -> None:
    given = node.args
    if node.name in RESERVED:
        raise NotInSubset(source.file, node, "the name of something else")
    if given.defaults or given.kwonlyargs or given.vararg or given.kwarg or given.posonlyargs:
        raise NotInSubset(source.file, node, "plain parameters only")
    if node.decorator_list:
        raise NotInSubset(source.file, node.decorator_list[0], "no decorators")


def called(source: Source, node: ast.AST) -> Iterable[Name]:
    """The functions that are called in it."""
    for call in ast.walk(node):
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in source.functions:
                yield source.name, name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=room), attr=name)) if room in source.imports:
                if name in source.imports[room].functions:
                    yield source.imports[room].name, name


class _Assigned:
    """Follows the ways through a function. ``names`` are all that it assigns."""

    def __init__(self, source: Source, names: set[str]) -> None:
        self.source = source
        self.names = names

    def block(self, body: Sequence[ast.stmt], known: frozenset[str]) -> frozenset[str] | None:
        """The names that are assigned when ``body`` has run; None if nothing runs after it."""
        for node in body:
            after = self._statement(node, known)
            if after is None:
                return None
            known = after
        return known

    def _statement(self, node: ast.stmt, known: frozenset[str]) -> frozenset[str] | None:
        match node:
            case ast.If():
                self._reads(node.test, known)
                ways = [self.block(node.body, known), self.block(node.orelse, known)]
                open_ways = [way for way in ways if way is not None]
                return frozenset.intersection(*open_ways) if open_ways else None
            case ast.For():
                self._reads(node.iter, known)
                self.block(node.body, known | _stored(node.target))
                # It may have run no round at all.
                return known
            case ast.Assign():
                self._reads(node.value, known)
                return known | frozenset().union(*map(_stored, node.targets))
        self._reads(node, known)
        return None if isinstance(node, (ast.Return, ast.Raise, ast.Continue)) else known

    def _reads(self, node: ast.AST, known: frozenset[str]) -> None:
        for name in ast.walk(node):
            if isinstance(name, ast.Name) and name.id in self.names - known:
                raise NotInSubset(self.source.file, name, "may be read before it is assigned")


def _stored(target: ast.expr) -> frozenset[str]:
    return frozenset(name.id for name in ast.walk(target) if isinstance(name, ast.Name))
