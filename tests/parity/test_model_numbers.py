"""How the third voice reads numbers: as HINCRBY, as Lua, as a verb's argument."""

import math

import pytest

from emqlab.parity.model.numbers import LARGEST, integer_reply, limit, stored_integer, tonumber, whole_number

# What Valkey 9.1's Lua answered for each of these texts.
LUA = {
    b"5": 5.0,
    b"+5": 5.0,
    b"-0x10": -16.0,
    b" 5 ": 5.0,
    b"\t5\v\f\r\n": 5.0,
    b"1e3": 1000.0,
    b".5": 0.5,
    b"5.": 5.0,
    b"0x10": 16.0,
    b"0X1P4": 16.0,
    b"0x1e2": 482.0,
    b"0x1.8": 1.5,
    b"0x.8": 0.5,
    b"0x1.": 1.0,
    b"0xffffffffffffffffff": 4722366482869645213695.0,
    b"inf": math.inf,
    b"-iNf": -math.inf,
    b"infinity": math.inf,
    b"1e999": math.inf,
    b"0x1p99999": math.inf,
    b"-0x1p99999": -math.inf,
    b"1e-400": 0.0,
    b"5\0abc": 5.0,
    b"5 \0x": 5.0,
}
NOT_LUA = [b"", b" ", b".", b"0x", b"0x.", b"0x1p", b"1e", b"infi", b"nan(", b"inf(1)", b"1_0", b"- 5", b"0b1", b"1d2"]
NOT_LUA += [b"\x005", b"0x10 x", b"1e5\xa0", b"five"]


@pytest.mark.parametrize("text", LUA)
def test_lua_takes_what_strtod_takes(text: bytes) -> None:
    """Hex, exponents, blanks, infinities and a text that ends at a zero byte are numbers."""
    assert LUA[text] == tonumber(text)


@pytest.mark.parametrize("text", NOT_LUA)
def test_lua_makes_nil_of_the_rest(text: bytes) -> None:
    """A half exponent, an underscore or a word is no number."""
    assert tonumber(text) is None


@pytest.mark.parametrize("text", [b"nan", b"-NaN", b"nan(1)", b"nan()"])
def test_lua_takes_nan(text: bytes) -> None:
    """A nan is a number to Lua, with whatever stands in its parentheses."""
    found = tonumber(text)
    assert found is not None
    assert math.isnan(found)


@pytest.mark.parametrize(
    ("text", "number"),
    [(b"0", 0), (b"-1", -1), (b"9223372036854775807", LARGEST), (b"-9223372036854775808", -LARGEST - 1)],
)
def test_hincrby_takes_a_canonical_integer(text: bytes, number: int) -> None:
    """Zero, both signs and both ends of 64 bits are integers."""
    assert number == stored_integer(text)


@pytest.mark.parametrize(
    "text", [b"", b"01", b"+1", b" 1", b"1 ", b"1\n", b"1.0", b"-0", b"-01", b"9223372036854775808", b"1" * 30]
)
def test_hincrby_takes_no_other_text(text: bytes) -> None:
    """A sign, a zero or a blank too many makes a text no integer, and so does a 65th bit."""
    assert stored_integer(text) is None


def test_an_argument_is_digits_from_its_least_on() -> None:
    """Zero is a delay and no lease; a leading zero, a sign and 2^63 are neither."""
    assert (0, None) == (whole_number(b"0", 0), whole_number(b"0", 1))
    assert (LARGEST, None) == (whole_number(b"%d" % LARGEST, 1), whole_number(b"%d" % (LARGEST + 1), 1))
    assert [None] * 5 == [whole_number(text, 0) for text in (b"", b"05", b"-1", b"+1", b"1\n")]


@pytest.mark.parametrize(
    ("number", "count"),
    [(5.0, 5), (-1.0, -1), (-0.0, 0), (1e17, 10**17), (2.0**62, 2**62), (1.5, None), (2.0**63, None)],
)
def test_a_limit_is_a_lua_number_as_valkey_prints_it(number: float, count: int | None) -> None:
    """A whole number below 2^63 is a count; 2^63, a fraction, an infinity and a nan are not."""
    assert count == limit(number)
    assert [None, None] == [limit(math.inf), limit(math.nan)]


def test_a_lua_number_is_replied_as_the_integer_it_was_cast_to() -> None:
    """A double above 2^53 is what it is, and one of 2^63 turns over."""
    assert 9007199254740994 == integer_reply(9007199254740994.0)
    assert -(2**63) == integer_reply(2.0**63)
