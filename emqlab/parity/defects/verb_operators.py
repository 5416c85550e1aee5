"""Operators for cosmic-ray that its own list lacks: the mistakes that verbs are prone to.

Each has the shape of ``cosmic_ray.operators.operator.Operator``: where in a parso node it changes something, and the
change itself. Sources: https://cosmic-ray.readthedocs.io, https://parso.readthedocs.io
"""

from collections.abc import Iterator
from typing import Any

import parso

#: What cosmic-ray calls a place: ((line, column), (line, column)) in the text.
Place = tuple[tuple[int, int], tuple[int, int]]

#: A command -> one that takes the same arguments and does something near it. Other commands would only be errors.
_NEAR_COMMANDS = {
    'b"HGET"': 'b"HEXISTS"',
    'b"HINCRBY"': 'b"HSET"',
    'b"ZPOPMIN"': 'b"ZPOPMAX"',
    'b"ZRANGE"': 'b"ZREVRANGE"',
    'b"ZREM"': 'b"ZSCORE"',
}
#: The keys of a verb, as the verbs call them.
_KEYS = ("active", "dead", "pending", "row", "scheduled")
_ENDS = ("return_stmt", "raise_stmt", "continue_stmt")


class BytesReplacer:
    """``b"state"`` becomes ``b"statex"``: fields, states, texts, key names. Commands and the one format stay."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every bytes constant but those."""
        if _is_bytes(node) and not _is_command(node) and node.get_next_leaf().value != "%":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """One letter more."""
        node.value = f'{node.value[:-1]}x"'
        return node


class CommandReplacer:
    """A command becomes one that takes the same arguments."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every command that has such a neighbour."""
        if _is_bytes(node) and _is_command(node) and node.value in _NEAR_COMMANDS:
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The neighbour."""
        node.value = _NEAR_COMMANDS[node.value]
        return node


class KeyReplacer:
    """A command goes to another key of the same verb."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every key of a host's command, once for each other key."""
        for _ in self._others(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """One of the others."""
        node.value = self._others(node)[index]
        return node

    def _others(self, node: Any) -> list[str]:
        if node.type != "name" or node.value not in _KEYS or not _is_command(_leaf(node, -2)):
            return []
        function = node.search_ancestor("funcdef")
        known = {name.value for name in _names_of(function) if name.start_pos < node.start_pos}
        return [key for key in _KEYS if key in known and key != node.value]


class TextReplacer:
    """``texts.GONE`` becomes another text: the refusal is there, and says something else."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every text of the table."""
        if node.type == "name" and _value(_leaf(node, -1)) == "." and _value(_leaf(node, -2)) == "texts":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """KIND, or for that LANE."""
        node.value = "KIND" if node.value != "KIND" else "LANE"
        return node


class StatementDeleter:
    """A call, an answer, a refusal or a step of a counter is left out."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every such statement."""
        if node.type == "simple_stmt" and self._counts(node.children[0]):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """A bare ``None`` keeps the block whole, and is of the subset that is compiled."""
        node.children[0] = _parsed(node.get_first_leaf().prefix + "None")
        return node

    def _counts(self, statement: Any) -> bool:
        if statement.type in ("atom_expr", *_ENDS) or _value(statement) == "continue":
            return True
        if statement.type != "expr_stmt":
            return False
        defined = {name.value for name in statement.get_defined_names()}
        return any(name.value in defined and not _is_field(name) for name in _names_of(statement.get_rhs()))


class ConditionReplacer:
    """A condition is always so, or never."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every ``if`` and ``elif``, twice."""
        for condition in self._conditions(node):
            for _ in ("True", "False"):
                yield node.children[condition].start_pos, node.children[condition].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """``True``, then ``False``, of each condition."""
        node.children[self._conditions(node)[index // 2]] = _parsed((" True", " False")[index % 2])
        return node

    def _conditions(self, node: Any) -> list[int]:
        if node.type != "if_stmt":
            return []
        return [place + 1 for place, child in enumerate(node.children) if _value(child) in ("if", "elif")]


class ArgumentSwapper:
    """Two names side by side in a call or a list change places."""

    def mutation_positions(self, node: Any) -> Iterator[Place]:
        """Every such pair."""
        for first in self._pairs(node):
            yield node.children[first].start_pos, node.children[first + 2].end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The other way round."""
        first = self._pairs(node)[index]
        left, right = node.children[first], node.children[first + 2]
        left.value, right.value = right.value, left.value
        return node

    def _pairs(self, node: Any) -> list[int]:
        if node.type not in ("arglist", "testlist_comp", "testlist_star_expr"):
            return []
        if node.parent.type == "expr_stmt" and node.parent.children[0] is node:
            return []
        parts = node.children
        return [at for at in range(0, len(parts) - 2, 2) if _is_value(parts[at]) and _is_value(parts[at + 2])]


#: Their names, as they stand in a mutant's id, in the order of the list.
OWN_OPERATORS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ArgumentSwapper,
        BytesReplacer,
        CommandReplacer,
        ConditionReplacer,
        KeyReplacer,
        StatementDeleter,
        TextReplacer,
    )
}


def _parsed(text: str) -> Any:
    return parso.parse(text)  # type: ignore[no-untyped-call]


def _value(node: Any) -> str:
    return str(getattr(node, "value", ""))


def _leaf(node: Any, steps: int) -> Any:
    """The leaf so many before this one, or None."""
    for _ in range(-steps):
        node = node.get_previous_leaf() if node is not None else None
    return node


def _is_field(node: Any) -> bool:
    return _value(_leaf(node, -1)) == "."


def _is_value(node: Any) -> bool:
    """Whether it is a name of something that can stand elsewhere; the host is always first."""
    return bool(node.type == "name" and node.value != "host")


def _is_bytes(node: Any) -> bool:
    return bool(node.type == "string" and node.value.startswith('b"'))


def _is_command(node: Any) -> bool:
    """Whether a leaf is the command of ``host.read`` or ``host.write``."""
    return node is not None and _value(_leaf(node, -1)) == "(" and _value(_leaf(node, -2)) in ("read", "write")


def _names_of(node: Any) -> Iterator[Any]:
    if node is None:
        return
    if node.type == "name":
        yield node
    for child in getattr(node, "children", ()):
        yield from _names_of(child)
