"""The verbs' mutants: made by cosmic-ray, with operators of our own, each another verb that loads."""

import ast
import re
import sys
from collections import Counter

import pytest

from emqlab.native.module.compiler import compile_verbs
from emqlab.parity.defects.sources import Mutant, own_sources, verbs_of
from emqlab.parity.defects.verb_mutants import LEFT_OUT, OPERATORS, NoMutationTool, mutations, verb_mutants
from emqlab.parity.defects.verb_operators import OWN_OPERATORS


@pytest.fixture(scope="module")
def mutants() -> tuple[Mutant, ...]:
    """All of them."""
    return verb_mutants()


def test_there_are_enough_of_them(mutants: tuple[Mutant, ...]) -> None:
    """At least 400 by cosmic-ray's own operators alone, some in every file."""
    counted = Counter(each.operator in OPERATORS for each in mutants)
    assert counted[True] >= 400
    assert set(OWN_OPERATORS) == {each.operator for each in mutants if each.operator not in OPERATORS}
    assert {f"{name}.py" for name in own_sources().verbs if name not in LEFT_OUT} == {each.file for each in mutants}


def test_every_mutant_loads(mutants: tuple[Mutant, ...]) -> None:
    """Each defines all twelve verbs: what kills it is what it does."""
    for each in mutants:
        assert 12 == len(verbs_of(each.sources)), each.id


def test_no_two_are_the_same(mutants: tuple[Mutant, ...]) -> None:
    """Each has an id and a text of its own."""
    assert len(mutants) == len({each.id for each in mutants}) == len({(each.file, each.text) for each in mutants})


def test_each_is_another_program(mutants: tuple[Mutant, ...]) -> None:
    """Without annotations and docstrings no mutant reads as its file did."""
    sound = {name: _program(text) for name, text in own_sources().verbs.items()}
    for each in mutants:
        assert sound[each.file.removesuffix(".py")] != _program(each.text), each.id


def _program(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = [part for part in node.body if not (isinstance(part, ast.Expr) and _is_text(part.value))]
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_they_come_from_top_to_bottom(mutants: tuple[Mutant, ...]) -> None:
    """File by file and line by line, numbered among their like."""
    places = [(each.file, each.line) for each in mutants]
    assert sorted(places) == places
    assert all(re.fullmatch(r"\w+\.py:\d+ \w+ \d+", each.id) for each in mutants)


def test_a_mutant_says_what_it_changes(mutants: tuple[Mutant, ...]) -> None:
    """File, line, operator, and the line before and after."""
    line = own_sources().text("fail.py").splitlines().index("    return failures >= max_attempts") + 1
    [mutant] = [each for each in mutants if each.after == "return failures > max_attempts"]
    assert f"fail.py:{line} ReplaceComparisonOperator_GtE_Gt 1" == mutant.id
    assert ("fail.py", line, "native") == (mutant.file, mutant.line, mutant.executor)
    assert "return failures >= max_attempts" == mutant.before
    assert mutant.text == mutant.sources.verbs["fail"]


def test_the_mutants_are_verbs_for_every_host(mutants: tuple[Mutant, ...]) -> None:
    """One of each operator in each file compiles to C; the two that don't are known."""
    refused = set()
    for each in {(one.file, one.operator): one for one in mutants}.values():
        name = each.file.removesuffix(".py")
        texts = {part: text for part, text in each.sources.verbs.items() if part in ("texts", "rules", name)}
        try:
            compile_verbs(texts)
        except SyntaxError:
            refused.add(each.operator)
    assert refused <= {"ReplaceContinueWithBreak", "NumberReplacer"}


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ('host.write(b"HSET", row, b"state")', "BytesReplacer", ['host.write(b"HSET", row, b"statex")']),
        ('now = b"%d" % x', "BytesReplacer", []),
        ('host.write(b"ZPOPMIN", row)', "CommandReplacer", ['host.write(b"ZPOPMAX", row)']),
        ('host.read(b"TYPE", row)', "CommandReplacer", []),
        ("raise Refusal(texts.GONE)", "TextReplacer", ["raise Refusal(texts.KIND)"]),
        ("raise Refusal(texts.KIND)", "TextReplacer", ["raise Refusal(texts.LANE)"]),
        ("host.fence()\n", "StatementDeleter", ["None\n"]),
        ("moved = moved + 1\n", "StatementDeleter", ["None\n"]),
        ("run_id = host.run_id()\n", "StatementDeleter", []),
        ("if a:\n    return 1\n", "StatementDeleter", ["if a:\n    None\n"]),
        ("f(host, a, b, 1)", "ArgumentSwapper", ["f(host, b, a, 1)"]),
        ("return [a, b]", "ArgumentSwapper", ["return [b, a]"]),
        ("a, b = c", "ArgumentSwapper", []),
        (
            "if a:\n    b()\nelif c:\n    d()",
            "ConditionReplacer",
            [
                "if True:\n    b()\nelif c:\n    d()",
                "if False:\n    b()\nelif c:\n    d()",
                "if a:\n    b()\nelif True:\n    d()",
                "if a:\n    b()\nelif False:\n    d()",
            ],
        ),
        (
            'def f(active, dead):\n    host.write(b"DEL", dead)\n    row = 1',
            "KeyReplacer",
            ['def f(active, dead):\n    host.write(b"DEL", active)\n    row = 1'],
        ),
    ],
)
def test_an_operator_of_ours_changes_this_and_no_more(text: str, operator: str, expected: list[str]) -> None:
    """Each place once, from left to right."""
    assert expected == [changed for name, changed in mutations(text) if name == operator]


def test_without_the_tool_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It names what is missing and the command."""
    monkeypatch.setitem(sys.modules, "cosmic_ray.ast", None)
    with pytest.raises(NoMutationTool, match=r"made by cosmic-ray, and .* is missing; run .* -m pip install"):
        list(mutations("x = 1"))
