"""Mutants of the verbs and of their rules, made by cosmic-ray (https://cosmic-ray.readthedocs.io) used as a library.

Of its operators those are used that stay in the subset which every host runs: no shifts, no powers, no identity of
bytes or numbers, which hangs on what an interpreter shares. To them come seven of our own, in its form. A function is
mutated by itself, for speed; what differs in annotations and docstrings only is no mutant.
"""

import ast
import functools
import itertools
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from emqlab.parity.defects.sources import Mutant, changed_lines, mutants_of, own_sources

_ORDERED = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
#: Those of cosmic-ray's.
OPERATORS = (
    "AddNot",
    "NumberReplacer",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceContinueWithBreak",
    "ReplaceFalseWithTrue",
    "ReplaceTrueWithFalse",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    *(f"ReplaceComparisonOperator_{one}_{other}" for one, other in itertools.permutations(_ORDERED, 2)),
    "ZeroIterationForLoop",
)
#: The texts of the refusals: TextReplacer exchanges them where they are used.
LEFT_OUT = ("texts",)


class NoMutationTool(Exception):
    """cosmic-ray is not installed: one sentence that says how to get it."""


@functools.cache
def verb_mutants() -> tuple[Mutant, ...]:
    """Every mutant of every verb and of the rules, file by file, from top to bottom; the same ones each time.

    Takes seconds. Raises NoMutationTool.
    """
    tool = _tool()
    texts = own_sources().verbs
    return tuple(
        mutant
        for name in sorted(texts)
        if name not in LEFT_OUT
        for mutant in mutants_of(f"{name}.py", texts[name], _changes(texts[name], tool))
    )


def mutations(text: str) -> Iterator[tuple[str, str]]:
    """(operator, changed text) of every place in any Python text, operator by operator. Raises NoMutationTool."""
    return _tool().mutations(text)


@dataclass(frozen=True, slots=True)
class _Tool:
    """What is used of cosmic-ray, and the operators by their names in our ids."""

    parse: Callable[[str], Any]
    nodes: Callable[[Any], Iterable[Any]]
    visitor: Callable[[int, Any], Any]
    operators: dict[str, Any]

    def mutations(self, part: str) -> Iterator[tuple[str, str]]:
        """(operator, changed text) of every place in ``part``, operator by operator."""
        parsed = self.parse(part)
        nodes = list(self.nodes(parsed))
        # A mutation changes the tree it is made in. Copies of it are had in a tenth of the time that parsing takes.
        kept = pickle.dumps(parsed)
        for name, operator in self.operators.items():
            for occurrence in range(sum(len(list(operator.mutation_positions(node))) for node in nodes)):
                mutation = self.visitor(occurrence, operator)
                changed = mutation.walk(pickle.loads(kept))
                if mutation.mutation_applied:
                    yield name, changed.get_code()


def _tool() -> _Tool:
    """Raises NoMutationTool."""
    try:
        from cosmic_ray.ast import ast_nodes, get_ast
        from cosmic_ray.mutating import MutationVisitor
        from cosmic_ray.plugins import get_operator

        from emqlab.parity.defects.verb_operators import OWN_OPERATORS
    except ModuleNotFoundError as error:
        raise NoMutationTool(
            f"the verbs' mutants are made by cosmic-ray, and {error.name} is missing; "
            f"run {sys.executable} -m pip install cosmic-ray"
        ) from None
    known = {name: get_operator(f"core/{name}")() for name in OPERATORS}
    own = {name: kind() for name, kind in OWN_OPERATORS.items()}
    return _Tool(get_ast, ast_nodes, MutationVisitor, known | own)


def _changes(text: str, tool: _Tool) -> list[tuple[str, str]]:
    """(operator, changed text) of one file, from top to bottom."""
    lines = text.splitlines(keepends=True)
    found: list[tuple[int, str, str]] = []
    for node in ast.parse(text).body:
        if not isinstance(node, (ast.FunctionDef, ast.Assign)):
            continue
        first, last = node.lineno - 1, node.end_lineno
        head, part, tail = "".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:])
        alike = {_meaning(part)}
        for name, changed in tool.mutations(part):
            meaning = _meaning(changed)
            if meaning not in alike:
                alike.add(meaning)
                found.append((changed_lines(text, head + changed + tail)[0], name, head + changed + tail))
    return [(name, changed) for _, name, changed in sorted(found, key=lambda change: change[0])]


def _meaning(part: str) -> str:
    """What Python makes of a text, without annotations and docstrings; a text that it can't read means itself."""
    try:
        tree = ast.parse(part)
    except SyntaxError:
        return part
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)
