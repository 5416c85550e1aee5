"""Compiles the verbs to C: the subset of Python that they keep to, one C function each, against ``values.h``.

What C can't do as Python does is refused here, with file and line. ``#line`` points C tools back at the Python. What
only shows while a verb runs ends its call with an EMQHOST reply where Python would go on: bytes or lists that are
ordered, lists that are added, bytes that are looped over or unpacked, blanks that ``int`` would take, numbers beyond
128 bits. And a tuple equals a list of the same values.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from emqlab.native.module.scope import Name, appends, called, check_functions, check_names
from emqlab.native.module.sources import NotInSubset, Source, read, verb_texts

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "equal({0}, {1})",
    ast.NotEq: "!equal({0}, {1})",
    ast.Lt: "less(c, {0}, {1})",
    ast.Gt: "less(c, {1}, {0})",
    ast.LtE: "!less(c, {1}, {0})",
    ast.GtE: "!less(c, {0}, {1})",
}
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Sub: "subtract", ast.Mod: "modulo"}
#: The Host's methods but read and write: how many arguments each takes.
_HOST = {"fence": 0, "open": 2, "begin_writes": 0, "expect": 2, "now_ms": 0, "run_id": 0}
#: What the runtime does through the key interface, with the number of arguments; other commands are called.
_THROUGH_KEYS = {
    "read": {"GET": 1, "EXISTS": 1, "TYPE": 1, "HGET": 2, "ZSCORE": 2, "ZRANGE": 3, "ZRANGEBYSCORE": 6},
    "write": {"DEL": 1, "HDEL": 2, "ZADD": 3, "ZPOPMIN": 1, "ZREM": 2},
}
_BUILT_IN = {"len": "length", "int": "whole"}


def compile_verbs(texts: Mapping[str, str] | None = None) -> str:
    """The C text of all verbs; ``texts`` are other files than the project's own. Raises NotInSubset, SyntaxError."""
    sources = read(verb_texts() if texts is None else texts)
    appending = check_functions(sources)
    constants: list[bytes] = []
    functions = [
        _Function(source, node, constants, appending) for source in sources for node in source.functions.values()
    ]
    bodies = [function.text() for function in functions]
    return "\n".join(
        [
            f"static Bytes CONSTANTS[{max(1, len(constants))}] = {{",
            *(f"  {{{c_text(value)}, {len(value)}, NULL}}," for value in constants),
            "};",
            *(function.head() + ";" for function in functions),
            *bodies,
            "",
        ]
    )


def c_text(value: bytes) -> str:
    """A C string literal of any bytes."""
    plain = b'"\\?'
    shown = (chr(byte) if 32 <= byte < 127 and byte not in plain else f"\\{byte:03o}" for byte in value)
    return '"' + "".join(shown) + '"'


class _Function:
    """One Python function on its way to C. ``constants`` is shared: every bytes constant is made once."""

    def __init__(
        self, source: Source, node: ast.FunctionDef, constants: list[bytes], appending: frozenset[Name]
    ) -> None:
        self.source = source
        self.node = node
        self.constants = constants
        self.appending = appending
        self.takes = [arg.arg for arg in node.args.args if arg.arg != "host"]
        self.names = set(self.takes)
        self.lines: list[str] = []
        self.loops = 0

    def head(self) -> str:
        taken = "".join(f", Value v_{name}" for name in self.takes)
        return f"static Value {c_name(self.source.name, self.node.name)}(Call *c{taken})"

    def text(self) -> str:
        self._block(self.node.body)
        # After it: what is outside the subset is refused as such.
        check_names(self.source, self.node)
        own = sorted(self.names - set(self.takes))
        declared = [f"  Value v_{name} = NONE;" for name in own]
        used = [f"  (void)v_{name};" for name in sorted(self.names)]
        line = f'#line {self.node.lineno} "{self.source.file}"'
        return "\n".join([line, self.head() + " {", *declared, *used, "  (void)c;", *self.lines, "  return NONE;", "}"])

    def _one_acts(self, node: ast.expr) -> None:
        """Refuse a second call where C does not say which of the two runs first, and a look at what a call changes."""
        if isinstance(node, ast.BoolOp):
            return
        operands = [part for part in _operands(node) if isinstance(part, ast.expr)]
        if sum(map(_acts, operands)) > 1:
            self._refuse(node, "C does not say which of two calls runs first; name the first one's result")
        if any(map(self._appends, operands)) and not all(_is_plain(part) or self._appends(part) for part in operands):
            self._refuse(node, "C does not say whether a call appends before this looks; name the call's result")

    def _appends(self, node: ast.expr) -> bool:
        return appends(node) or not self.appending.isdisjoint(called(self.source, node))

    def _refuse(self, node: ast.AST, why: str) -> NoReturn:
        raise NotInSubset(self.source.file, node, why)

    # -- statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self.lines.append(f'#line {node.lineno} "{self.source.file}"')
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=value):
                self.lines.append(f"  (void){self._value(value)};")
            case ast.Assign(targets=[target], value=value):
                self._bind(target, self._value(value))
            case ast.Return(value=value):
                self.lines.append(f"  return {self._value(value) if value else 'NONE'};")
            case ast.Raise(exc=ast.Call(func=ast.Name(id="Refusal"), args=[text], keywords=[]), cause=None):
                self.lines.append(f"  refuse(c, {self._value(text)});")
            case ast.If():
                self._if(node)
            case ast.For(orelse=[]):
                self._for(node)
            case ast.Continue():
                self.lines.append("  continue;")
            case _:
                self._refuse(node, "not a statement of the subset")

    def _if(self, node: ast.If) -> None:
        self.lines.append(f"  if ({self._condition(node.test)}) {{")
        self._block(node.body)
        if node.orelse:
            self.lines.append("  } else {")
            self._block(node.orelse)
        self.lines.append("  }")

    def _for(self, node: ast.For) -> None:
        self.loops += 1
        over, at = f"over{self.loops}", f"at{self.loops}"
        match node.iter:
            case ast.Call(func=ast.Name(id="range"), args=[first, end, ast.Constant() as by], keywords=[]):
                if not isinstance(by.value, int) or by.value < 1:
                    self._refuse(node.iter, "a range goes up, by a constant")
                self._one_acts(node.iter)
                start, stop = self._value(first), self._value(end)
                self.lines.append(f"  {{ Value {over} = {stop};")
                self.lines.append(
                    f"  for (Value {at} = {start}; less(c, {at}, {over}); {at} = add(c, {at}, {self._value(by)})) {{"
                )
                self._bind(node.target, at)
            case _:
                self.lines.append(f"  {{ List *{over} = list_of(c, {self._value(node.iter)});")
                self.lines.append(f"  for (size_t {at} = 0; {at} < {over}->size; {at}++) {{")
                self._bind(node.target, f"{over}->items[{at}]")
        self._block(node.body)
        self.lines.append("  } }")

    def _bind(self, target: ast.expr, value: str) -> None:
        match target:
            case ast.Name(id=name):
                self.names.add(name)
                self.lines.append(f"  v_{name} = {value};")
            case ast.Tuple(elts=parts) if all(isinstance(part, ast.Name) for part in parts):
                self.lines.append(f"  {{ Value *parts = unpack(c, {value}, {len(parts)});")
                for place, part in enumerate(parts):
                    self._bind(part, f"parts[{place}]")
                self.lines.append("  }")
            case _:
                self._refuse(target, "assign to names")

    # -- values

    def _value(self, node: ast.expr) -> str:
        self._one_acts(node)
        match node:
            case ast.Constant(value=value):
                return self._constant(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=ast.Name(id=room), attr=name) if room in self.source.imports:
                found = self.source.imports[room].constant(name)
                return self._value(found) if found is not None else self._refuse(node, "no such constant")
            case ast.BinOp(left=ast.Constant(value=bytes(form)), op=ast.Mod(), right=right):
                if form != b"%d" or isinstance(right, ast.Tuple):
                    self._refuse(node, 'the one format is b"%d" % number')
                return f"digits(c, {self._value(right)})"
            case ast.BinOp(op=ast.Add()):
                parts = [self._value(part) for part in _summands(node)]
                return f"sum(c, {len(parts)}, {_array(parts)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return f"{_ARITHMETIC[type(op)]}(c, {self._value(left)}, {self._value(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"subtract(c, INT(0), {self._value(operand)})"
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                if not _is_truth(node):
                    self._refuse(node, "and and or choose one of their sides in Python; join comparisons")
                return f"BOOL({self._truth(node)})"
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                low = self._value(lower) if lower else "INT(0)"
                high = self._value(upper) if upper else "INT(INT64_MAX)"
                return f"slice(c, {self._value(value)}, {low}, {high})"
            case ast.Subscript(value=value, slice=place):
                return f"item(c, {self._value(value)}, {self._value(place)})"
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return f"list(c, {len(parts)}, {_array([self._value(part) for part in parts])})"
            case ast.Call(keywords=[]):
                return self._call(node)
        self._refuse(node, "not an expression of the subset")

    def _constant(self, node: ast.expr, value: object) -> str:
        if value is None:
            return "NONE"
        if isinstance(value, bool):
            return f"BOOL({int(value)})"
        if isinstance(value, int) and abs(value) < 2**63:
            return f"INT({value}LL)"
        if isinstance(value, bytes):
            if value not in self.constants:
                self.constants.append(value)
            return f"CONSTANT({self.constants.index(value)})"
        self._refuse(node, "constants are None, bool, bytes and 64-bit integers")

    def _name(self, node: ast.expr, name: str) -> str:
        if name in self.names:
            return f"v_{name}"
        found = self.source.constant(name)
        if found is None:
            self._refuse(node, "no such name here")
        return self._value(found)

    def _call(self, node: ast.Call) -> str:
        match node.func:
            case ast.Attribute(value=ast.Name(id="host"), attr="read" | "write" as phase):
                return self._command(node, phase)
            case ast.Attribute(value=ast.Name(id="host"), attr=method) if _HOST.get(method) == len(node.args):
                return f"host_{method}({', '.join(['c', *map(self._value, node.args)])})"
            case ast.Attribute(value=value, attr="isdigit") if not node.args:
                return f"is_digit(c, {self._value(value)})"
            case ast.Attribute(value=value, attr="append") if len(node.args) == 1:
                return f"append(c, {self._value(value)}, {self._value(node.args[0])})"
            case ast.Attribute(value=ast.Name(id=room), attr=name) if room in self.source.imports:
                return self._own(node, self.source.imports[room], name)
            case ast.Name(id=name) if name in _BUILT_IN and len(node.args) == 1:
                return f"{_BUILT_IN[name]}(c, {self._value(node.args[0])})"
            case ast.Name(id=name):
                return self._own(node, self.source, name)
        self._refuse(node, "not a call of the subset")

    def _own(self, node: ast.Call, source: Source, name: str) -> str:
        function = source.functions.get(name)
        if function is None:
            self._refuse(node, "no such function")
        if len(function.args.args) != len(node.args):
            self._refuse(node, "wrong number of arguments")
        given = node.args
        if function.args.args and function.args.args[0].arg == "host":
            if not (isinstance(given[0], ast.Name) and given[0].id == "host"):
                self._refuse(node, "its first argument is the host")
            given = given[1:]
        return f"{c_name(source.name, name)}({', '.join(['c', *map(self._value, given)])})"

    def _command(self, node: ast.Call, phase: str) -> str:
        match node.args:
            case [ast.Constant(value=bytes(command)), *rest]:
                name = command.decode("latin-1")
                given = _array([self._value(arg) for arg in rest])
                if _THROUGH_KEYS[phase].get(name) == len(rest):
                    return f"host_{phase}_{name.lower()}(c, {given})"
                if (phase, name) == ("write", "HSET"):
                    return f"host_write_hset(c, {len(rest)}, {given})"
                return f"host_{phase}(c, {self._constant(node, command)}, {len(rest)}, {given})"
        self._refuse(node, "the command is a constant")

    # -- conditions

    def _condition(self, node: ast.expr) -> str:
        match node:
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._truth(node)
        return f"truth({self._value(node)})"

    def _truth(self, node: ast.expr) -> str:
        self._one_acts(node)
        match node:
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                return "(" + sign.join(self._condition(value) for value in values) + ")"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!({self._condition(operand)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(node, left, op, right)
        self._refuse(node, "not a condition of the subset")

    def _compare(self, node: ast.expr, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        if isinstance(op, (ast.Is, ast.IsNot)):
            if not (isinstance(right, ast.Constant) and right.value is None):
                self._refuse(node, "is and is not are for None")
            return f"{self._value(left)}.kind {'==' if isinstance(op, ast.Is) else '!='} IS_NONE"
        if type(op) not in _COMPARE:
            self._refuse(node, "not a comparison of the subset")
        return _COMPARE[type(op)].format(self._value(left), self._value(right))


def _acts(node: ast.AST) -> bool:
    """Whether a call of the host, or of another function, is in it."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(not (isinstance(call.func, ast.Name) and call.func.id in _BUILT_IN) for call in calls)


def _operands(node: ast.expr) -> Iterable[ast.AST]:
    """What C is free to evaluate in any order."""
    match node:
        case ast.BinOp(op=ast.Add()):
            return _summands(node)
        case ast.Subscript(value=value, slice=ast.Slice() as cut):
            return [value, *ast.iter_child_nodes(cut)]
    return ast.iter_child_nodes(node)


def _is_plain(node: ast.expr) -> bool:
    """Whether it looks into no list."""
    return isinstance(node.value if isinstance(node, ast.Attribute) else node, (ast.Name, ast.Constant))


def _is_truth(node: ast.expr) -> bool:
    """Whether its value is True or False, whatever its parts are."""
    return not isinstance(node, ast.BoolOp) or all(
        isinstance(value, (ast.Compare, ast.BoolOp, ast.UnaryOp)) and _is_truth(value) for value in node.values
    )


def _summands(node: ast.expr) -> list[ast.expr]:
    """``a + b + c`` as its parts, so that bytes are joined in one go."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_summands(node.left), node.right]
    return [node]


def c_name(file: str, name: str) -> str:
    """The C name of a function of one of the files: never one of the runtime's own."""
    return f"py_{file}__{name}"


def _array(values: Sequence[str]) -> str:
    return f"(Value[]){{{', '.join(values)}}}" if values else "NULL"
