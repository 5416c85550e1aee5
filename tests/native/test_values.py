"""Compiled Python does in C what it does in Python: the same calls, side by side."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emqlab.native import rules
from emqlab.native.module.sources import verb_texts
from tests.native.compiled import Compiled, Echo, interpreted, never_wrong, same

SAMPLE = """
from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Refusal

LOW = -3
NOTHING = None
YES = True


def plus(a, b): return a + b
def plus_three(a, b, c): return a + b + c
def plus_right(a, b, c): return a + (b + c)
def minus(a, b): return a - b
def negative(a): return -a
def rest(a, b): return a % b
def equal(a, b): return a == b
def unequal(a, b): return a != b
def less(a, b): return a < b
def more(a, b): return a > b
def at_most(a, b): return a <= b
def at_least(a, b): return a >= b
def is_none(a): return a is None
def is_not_none(a): return a is not None
def negated(a): return not a
def size(a): return len(a)
def whole(a): return int(a)
def text(a): return b"%d" % a
def digits(a): return a.isdigit()
def at(a, i): return a[i]
def cut(a, i, j): return a[i:j]
def head(a, j): return a[:j]
def tail(a, i): return a[i:]
def copied(a): return a[:]


def constants():
    return [LOW, NOTHING, YES, READ, WRITE, rules.JOB, texts.KIND, rules.I64_MAX, -5, 9223372036854775807,
            b'\\x00\\xff"\\\\?', False]


def truth(a):
    if a:
        return b"yes"
    return b"no"


def mark(log, a):
    log.append(a)
    return a


def short(a, b, c):
    log = []
    if mark(log, a) and mark(log, b) or not mark(log, c):
        log.append(b"in")
    elif mark(log, b) or mark(log, c):
        log.append(b"elif")
    else:
        log.append(b"else")
    return log


def joined(a, b):
    first = a == b and (a is None or not b)
    second = a is None or a == b
    return first, second


def aliased(a, i, j, last):
    b = a[i:j]
    c = a
    b.append(last)
    c.append(b"c")
    d = b[1:]
    d.append(b"d")
    b.append(b"b")
    return a, b, c, d


def grown(n):
    made = []
    parts = []
    for i in range(0, n, 1):
        made.append(i)
        if i % 7 == 0:
            parts.append(made[i - 2 : i])
    return made, parts


def growing(a):
    for x in a:
        if len(a) < 9:
            a.append([x])
    return a


def unpacked(a):
    x, y, z = a
    y, z = z, y
    return [z, y, x]


def pairs(a):
    out = []
    for x, y in a:
        out.append((y, x))
    return out


def stepped(n, m):
    out = []
    for i in range(1, n, 3):
        for j in range(i, m, 2):
            if j % 3 == 0:
                continue
            if i + j > 25:
                return out, b"early"
            out.append(b"%d" % i + b":" + b"%d" % j)
        if i == 7:
            continue
        out.append(i)
    return out


def rebound(n):
    total = 0
    for i in range(0, n, 1):
        i = i + 1
        total = total + i
    n = n - 1
    return total, n


def nothing(a):
    if a:
        raise Refusal(b"EMQX " + a)


def asked(host, a, b):
    host.open(a, WRITE)
    got = host.read(b"HGET", a, b)
    more = host.read(b"HMGET", a, b, b"%d" % host.now_ms())
    host.expect(1, host.write(b"HSET", a + b"x", b, b"v"))
    last = host.read(b"GET", a)
    return got, more, last
"""

INTS = st.integers(-(2**100), 2**100) | st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63), 2**64, -(2**64)])
BYTES = st.binary(max_size=6) | st.sampled_from([b"", b"0", b"-1", b"007", b"9" * 19, b"-", b"1_0", b" 1", b"9" * 40])
PLAIN = st.none() | st.booleans() | INTS | BYTES
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4), max_leaves=8)
LISTS = st.lists(VALUES, max_size=6)
PLACES = st.integers(-9, 9) | st.sampled_from([2**63, -(2**63), 2**70, -(2**70)])

#: What each function is called with where the C is held to Python's very answer.
CALLS: dict[str, tuple[st.SearchStrategy[Any], ...]] = {
    "plus": (INTS | st.booleans(), INTS | st.booleans()),
    "plus_three": (BYTES, BYTES, BYTES),
    "plus_right": (BYTES, BYTES, BYTES),
    "minus": (INTS, INTS | st.booleans()),
    "negative": (INTS | st.booleans(),),
    "rest": (INTS, INTS),
    "equal": (VALUES, VALUES),
    "unequal": (VALUES, VALUES),
    "less": (INTS, INTS | st.booleans()),
    "more": (INTS, INTS),
    "at_most": (INTS | st.booleans(), INTS),
    "at_least": (INTS, INTS),
    "is_none": (VALUES,),
    "is_not_none": (VALUES,),
    "negated": (VALUES,),
    "size": (VALUES,),
    "whole": (st.from_regex(rb"\A-?[0-9]{0,20}\Z"),),
    "text": (INTS | st.booleans(),),
    "digits": (VALUES,),
    "at": (BYTES | LISTS, PLACES | st.booleans()),
    "cut": (BYTES | LISTS, PLACES, PLACES | st.booleans()),
    "head": (BYTES | LISTS, PLACES),
    "tail": (BYTES | LISTS, PLACES),
    "copied": (BYTES | LISTS,),
    "truth": (VALUES,),
    "short": (PLAIN, PLAIN, PLAIN),
    "joined": (PLAIN, PLAIN),
    "aliased": (LISTS, PLACES, PLACES, PLAIN),
    "grown": (st.integers(-2, 300),),
    "growing": (LISTS,),
    "unpacked": (LISTS,),
    "pairs": (st.lists(st.lists(PLAIN, min_size=2, max_size=2)) | st.lists(st.lists(PLAIN, max_size=3)),),
    "stepped": (st.integers(-2, 12), st.integers(-2, 40)),
    "rebound": (st.integers(-2, 40),),
    "nothing": (st.just(b"") | BYTES | st.none(),),
    "asked": (BYTES, BYTES),
}
#: Functions whose arguments may be anything at all.
ANYTHING = [name for name in CALLS if name not in ("grown", "growing", "stepped", "rebound", "pairs", "asked")]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    """The sample and the rules in C, where undefined behaviour ends the process."""
    flags = ("-O0", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        texts = {name: text for name, text in verb_texts().items() if name in ("texts", "rules")}
        yield Compiled({**texts, "sample": SAMPLE}, flags)


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    """The sample's functions, in Python."""
    names: dict[str, Any] = {}
    exec(compile(SAMPLE, "sample.py", "exec"), names)
    return names


def _fresh(value: Any) -> Any:
    """A copy: a call may append to what it is given."""
    return [_fresh(part) for part in value] if isinstance(value, list) else value


def _both(compiled: Compiled, sample: dict[str, Any], name: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
    host = (Echo(),) if name == "asked" else ()
    c = compiled.call("sample", name, *args)
    return interpreted(sample[name], *host, *_fresh(list(args))), c


@pytest.mark.parametrize("name", CALLS)
def test_c_answers_what_python_answers(name: str, compiled: Compiled, sample: dict[str, Any]) -> None:
    """For every construct, over the values that verbs have: the same value, or the same failure."""

    @settings(derandomize=True, max_examples=50, deadline=None, database=None)
    @given(st.tuples(*CALLS[name]))
    def check(args: tuple[Any, ...]) -> None:
        python, c = _both(compiled, sample, name, args)
        assert same(python, c), (name, args, python, c)

    check()


@pytest.mark.parametrize("name", ANYTHING)
def test_c_never_answers_anything_else(name: str, compiled: Compiled, sample: dict[str, Any]) -> None:
    """Given values of any kind, C answers as Python does or ends the call: it never has another answer."""
    some = random.Random(name)
    for _ in range(300):
        args = tuple(_any_value(some, 2) for _ in CALLS[name])
        python, c = _both(compiled, sample, name, args)
        assert never_wrong(python, c), (name, args, python, c)


def _any_value(some: random.Random, deep: int) -> Any:
    match some.randrange(6 if deep else 4):
        case 0:
            return some.choice((None, True, False))
        case 1:
            return some.randrange(-3, 4)
        case 2:
            return some.choice((-1, 1)) * some.getrandbits(some.randrange(1, 127))
        case 3:
            return some.choice((b"", b"0", b"-7", b"+7", b" 7", b"1_0", b"a", b"9" * 31, some.randbytes(3)))
        case _:
            return [_any_value(some, deep - 1) for _ in range(some.randrange(5))]


def test_constants_are_the_same_in_c(compiled: Compiled, sample: dict[str, Any]) -> None:
    """Also those of other files, of the host, negative ones, and bytes that C would read as escapes."""
    assert sample["constants"]() == compiled.call("sample", "constants")


def test_arithmetic_goes_to_128_bits_and_says_so(compiled: Compiled) -> None:
    """Beyond them the call ends; nothing wraps."""
    largest = 2**127 - 1
    assert largest == compiled.call("sample", "plus", largest - 1, 1)
    assert b"EMQHOST OverflowError" in compiled.call("sample", "plus", largest, 1).text
    assert b"EMQHOST OverflowError" in compiled.call("sample", "negative", -(2**127)).text


def test_many_values_find_room(compiled: Compiled, sample: dict[str, Any]) -> None:
    """A list of twenty thousand grows through every size of the arena's chunks."""
    python, c = _both(compiled, sample, "grown", (20_000,))
    assert same(python, c)


def _near_numbers(count: int) -> Iterator[bytes]:
    """Byte strings around what the rules decide about: signs, zeros, blanks, both ends of 64 bits."""
    some = random.Random(5)
    for _ in range(count):
        match some.randrange(4):
            case 0:
                yield bytes(some.choice(b"0123456789-+ .x\0\xb2") for _ in range(some.randrange(24)))
            case 1:
                yield b"%d" % (some.choice((-1, 1)) * (2**63 + some.randrange(-3, 4)))
            case 2:
                yield b"%d" % (some.getrandbits(some.randrange(1, 70)) * some.choice((-1, 1)))
            case _:
                yield bytes(some.choice(b"0123456789") for _ in range(some.randrange(21)))


def test_the_integer_rule_is_the_same_in_c(compiled: Compiled) -> None:
    """Twenty thousand stored texts: the same number, or none."""
    for raw in _near_numbers(20_000):
        assert rules.integer(raw) == compiled.call("rules", "integer", raw), raw


@pytest.mark.parametrize(
    ("name", "more"),
    [("counted", (1,)), ("counted", (100,)), ("number", (b"limit", 1)), ("number", (b"delay_ms", 0))],
)
def test_the_counting_rules_are_the_same_in_c(name: str, more: tuple[Any, ...], compiled: Compiled) -> None:
    """Five thousand texts each: the same number, or the same refusal."""
    for raw in _near_numbers(5_000):
        python, c = interpreted(getattr(rules, name), raw, *more), compiled.call("rules", name, raw, *more)
        assert same(python, c), (raw, python, c)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("counted", (st.none(), st.integers(1, 2**63 - 1))),
        ("after", (st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), BYTES)),
        ("sound_base", (st.binary(max_size=12) | st.from_regex(rb"\A(emq|EMQ):\{[a-z]{0,3}\}:?\Z"),)),
        ("base_before", (st.from_regex(rb"\Aemq:\{[a-z]{0,2}\}:(pending|x)?\Z"), st.sampled_from([b"pending", b""]))),
        ("mode_of", (st.sampled_from([b"in", b"at", b"", b"IN", b"in "]),)),
        ("same", (st.sampled_from([b"a", b"b", b""]), st.sampled_from([b"a", b"b", b""]))),
        ("shape", (st.lists(st.just(b"3"), max_size=7), BYTES, st.sampled_from([b"3", b"4"]), st.integers(0, 6))),
        ("foreign_kind", (st.binary(max_size=5) | st.from_regex(rb"\AJOB[a-z]?\Z"),)),
    ],
)
def test_the_other_rules_are_the_same_in_c(
    name: str, args: tuple[st.SearchStrategy[Any], ...], compiled: Compiled
) -> None:
    """The same value, or the same refusal, word for word."""

    @settings(derandomize=True, max_examples=60, deadline=None, database=None)
    @given(st.tuples(*args))
    def check(given_args: tuple[Any, ...]) -> None:
        python, c = interpreted(getattr(rules, name), *given_args), compiled.call("rules", name, *given_args)
        assert same(python, c), (given_args, python, c)

    check()
