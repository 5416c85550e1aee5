"""The Lua mutator: what it changes, what it leaves alone, and that every mutant is a Lua text."""

from collections import Counter

import pytest

from emqlab.parity.defects.lua_mutants import LEFT_OUT, changes, lua_mutants
from emqlab.parity.defects.lua_tokens import tokens_of
from emqlab.parity.defects.sources import ENDINGS, lua_complaint, own_sources, scripts_of


def test_there_are_enough_of_them() -> None:
    """At least 250, some in every script but the one kept for a lesson, of every operator."""
    mutants = lua_mutants()
    assert len(mutants) >= 250
    assert {f"{name}.lua" for name in own_sources().scripts if name not in LEFT_OUT} == {each.file for each in mutants}
    assert min(Counter(each.operator for each in mutants).values()) >= 5


def test_every_mutant_is_lua() -> None:
    """Lua 5.1 reads each of them, so that what kills a mutant is what it does."""
    assert [] == [(each.id, lua_complaint(each.text)) for each in lua_mutants() if lua_complaint(each.text)]


def test_lua_is_asked() -> None:
    """The check above can fail, and says the line."""
    complaint = lua_complaint("return 1\nif x")
    assert complaint is not None
    assert complaint.startswith("2: ")


def test_no_two_are_the_same() -> None:
    """Each has an id of its own and a text of its own, and none is the script as it was."""
    mutants = lua_mutants()
    own = own_sources()
    assert len(mutants) == len({each.id for each in mutants}) == len({(each.file, each.text) for each in mutants})
    assert [] == [each.id for each in mutants if _words(each.text) == _words(own.text(each.file))]


def _words(text: str) -> list[str]:
    return [token.text for token in tokens_of(text)]


def test_they_come_in_the_same_order_each_time() -> None:
    """File by file, from top to bottom, with the same ids when made again."""
    first = [(each.id, each.text) for each in lua_mutants()]
    lua_mutants.cache_clear()
    assert first == [(each.id, each.text) for each in lua_mutants()]
    places = [(each.file, each.line) for each in lua_mutants()]
    assert sorted(places) == places


def test_a_mutant_says_what_it_changes() -> None:
    """File, line, operator and the line before and after; its sources hold that one changed text."""
    sound = own_sources().text("retry.lua")
    [mutant] = [each for each in lua_mutants() if each.after == "if tonumber(attempts) > max_attempts then"]
    line = sound.splitlines().index("if tonumber(attempts) >= max_attempts then") + 1
    assert f"retry.lua:{line} ComparisonReplacement 1" == mutant.id
    assert ("retry.lua", line, "scripted") == (mutant.file, mutant.line, mutant.executor)
    assert "if tonumber(attempts) >= max_attempts then" == mutant.before
    changed = scripts_of(mutant.sources)
    assert ["retry"] == [name for name, script in scripts_of(own_sources()).items() if script != changed[name]]
    assert "scripted" == ENDINGS["lua"]


@pytest.mark.parametrize(
    ("text", "operator", "expected"),
    [
        ("return a <= b", "ComparisonReplacement", ["return a < b", "return a > b"]),
        ("return a == b", "ComparisonReplacement", ["return a ~= b"]),
        ("return a + b - -c", "ArithmeticReplacement", ["return a - b - -c", "return a + b + -c"]),
        ("return x[2]", "NumberReplacement", ["return x[3]", "return x[1]"]),
        ("return a and b", "AndOrReplacement", ["return a or b"]),
        ("if not a then b() end", "NotDeletion", ["if  a then b() end"]),
        ("return tonumber(a)", "ConversionDeletion", ["return (a)"]),
        ("return math.floor(a)", "ConversionDeletion", ["return (a)"]),
        ("return 'dead'", "StringReplacement", ["return 'deadx'"]),
        ("redis.call('HGET', k, 'f')", "StringReplacement", ["redis.call('HGET', k, 'fx')"]),
        ("redis.call('ZPOPMIN', k)", "CommandReplacement", ["redis.call('ZPOPMAX', k)"]),
        ("redis.call('TIME')", "CommandReplacement", []),
        ("return a .. 'b'", "OperandDeletion", ["return  'b'", "return a "]),
        ("return a[1] .. b.c", "OperandDeletion", []),
        ("f(a, b)", "ArgumentSwap", ["f(b, a)"]),
        ("return {a, b}", "ArgumentSwap", ["return {b, a}"]),
        ("local a, b = f(1), g(2)", "ArgumentSwap", []),
        ("local function f(a, b) end", "ArgumentSwap", []),
        ("redis.call('DEL', k)\nring(g)", "StatementDeletion", ["\nring(g)", "redis.call('DEL', k)\n"]),
        ("local x = redis.call('DEL', k)", "StatementDeletion", []),
        ("local function f(a) end", "StatementDeletion", []),
        (
            "if a then return {b, c} end return 1",
            "ReturnDeletion",
            ["if a then  end return 1", "if a then return {b, c} end "],
        ),
        (
            "if a then b() elseif c then d() end",
            "ConditionReplacement",
            [
                "if true then b() elseif c then d() end",
                "if false then b() elseif c then d() end",
                "if a then b() elseif true then d() end",
                "if a then b() elseif false then d() end",
            ],
        ),
        (
            "local row, dead = KEYS[1], KEYS[2]\nredis.call('DEL', row)",
            "KeyReplacement",
            ["local row, dead = KEYS[1], KEYS[2]\nredis.call('DEL', dead)"],
        ),
        ("-- a == b, 1, 'x', f(a, b)\n--[[ a + 1\n]] return", "ComparisonReplacement", []),
        ("return '-- a == b' .. [[1 < 2]]", "ComparisonReplacement", []),
    ],
)
def test_an_operator_changes_this_and_no_more(text: str, operator: str, expected: list[str]) -> None:
    """Each place once, from left to right; names that are declared, comments and strings stay."""
    assert expected == [changed for name, changed in changes(text) if name == operator]


def test_a_comment_is_never_changed() -> None:
    """A text of comments has no mutants at all, and one at the end of a line stays as it is."""
    assert [] == changes("-- return 1 + 1 == 'x'\n--[==[ if a then b() end ]] ]==]")
    assert {"return 2 -- 1", "return 0 -- 1", " -- 1"} == {changed for _, changed in changes("return 1 -- 1")}


def test_same_words_in_other_blanks_are_one_mutant() -> None:
    """What only moves a blank is the same change."""
    deleted = [changed for name, changed in changes("return a .. 'b' .. c") if name == "OperandDeletion"]
    assert 3 == len(deleted)
