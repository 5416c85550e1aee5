"""The compiler's subset: what it refuses, with file and line; what its C text is like."""

import re
import shlex
from pathlib import Path

import pytest

from emqlab.native.module import module_files
from emqlab.native.module.build import CannotBuild, compilers, shared_object
from emqlab.native.module.compiler import c_name, c_text, compile_verbs
from emqlab.native.module.sources import NotInSubset, verb_texts

HEAD = """\
from emqlab.native import rules, texts
from emqlab.native.host import READ, WRITE, Host, Refusal

TEXT = b"text"

def other(host, a, b):
    return a

def plain(a):
    return a

def grow(a):
    a.append(1)
    return len(a)

def through(a):
    return grow(a)

"""
#: The line on which a body's first statement stands.
FIRST = HEAD.count("\n") + 2
RULES = 'JOB = b"job:"\n\ndef f(a):\n    return a\n'


def of_body(body: str) -> dict[str, str]:
    """A file whose function ``verb(host, a, b)`` has that body, with the two files it imports."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return {"texts": "", "rules": RULES, "claim": f"{HEAD}def verb(host, a, b):\n{lines}"}


#: Bodies outside the subset, and the line of the fault, counted from the body's first.
BODIES = [
    ("while a:\n    a = a - 1", 1),
    ("try:\n    return a\nexcept ValueError:\n    return b", 1),
    ("with a:\n    return b", 1),
    ("for x in a:\n    break", 2),
    ("for x in a:\n    plain(x)\nelse:\n    return b", 1),
    ("pass", 1),
    ("global c", 1),
    ("del a", 1),
    ("assert a", 1),
    ("import os", 1),
    ("def inner(x):\n    return x", 1),
    ("class C:\n    pass", 1),
    ("match a:\n    case 1:\n        return b", 1),
    ("a += 1", 1),
    ("c: int = 1", 1),
    ("c = d = 1", 1),
    ("a[0] = 1", 1),
    ("a.x = 1", 1),
    ("c, *d = a", 1),
    ("c, (d, e) = a", 1),
    ("raise ValueError(a)", 1),
    ("raise Refusal", 1),
    ("raise Refusal(a) from None", 1),
    ("yield a", 1),
    ("return (yield)", 1),
    ("return {}", 1),
    ("return {a: b}", 1),
    ("return {a}", 1),
    ("return lambda: a", 1),
    ("return [x for x in a]", 1),
    ("return (x for x in a)", 1),
    ("return [*a]", 1),
    ("return a if b else None", 1),
    ("return (c := a)", 1),
    ("return 'text'", 1),
    ("return f'{a}'", 1),
    ("return 1.5", 1),
    ("return 2j", 1),
    ("return ...", 1),
    ("return 9223372036854775808", 1),
    ("return -9223372036854775808", 1),
    ("return a * b", 1),
    ("return a // b", 1),
    ("return a | b", 1),
    ("return +a", 1),
    ("return ~a", 1),
    ("return a and b", 1),
    ("return a == b or b", 1),
    ("return a < b < 3", 1),
    ("return a in b", 1),
    ("return a not in b", 1),
    ("return a is b", 1),
    ("return a is True", 1),
    ("return None is a", 1),
    ("return a[::2]", 1),
    ("return a[1:2, 3]", 1),
    ('return b"%s" % a', 1),
    ('return b"%d %d" % (a, b)', 1),
    ('return b"%d" % (a,)', 1),
    ("return nowhere", 1),
    ("return host", 1),
    ("host = a", 1),
    ("return rules.NOWHERE", 1),
    ("return os.JOB", 1),
    ("return a.x", 1),
    ("return nowhere(a)", 1),
    ("return rules.nowhere(a)", 1),
    ("return a(b)", 1),
    ("return plain(a, b)", 1),
    ("return plain(a=a)", 1),
    ("return plain(*a)", 1),
    ("return plain(**a)", 1),
    ("return other(a, b, host)", 1),
    ("return other(a, host, b)", 1),
    ("return plain(host)", 1),
    ("return len(a, b)", 1),
    ("return int(a, 16)", 1),
    ("return sorted(a)", 1),
    ("return a.strip()", 1),
    ("return a.append(b, b)", 1),
    ("return host.nothing()", 1),
    ("return host.open(a)", 1),
    ("return host.read()", 1),
    ("return host.read(a, b)", 1),
    ("return host.read(TEXT, b)", 1),
    ("return host.read(b'GET', *a)", 1),
    ("return host.write(b'SET', key=a)", 1),
    ("for i in range(3):\n    plain(i)", 1),
    ("for i in range(0, a):\n    plain(i)", 1),
    ("for i in range(0, a, b):\n    plain(i)", 1),
    ("for i in range(0, a, 0):\n    plain(i)", 1),
    ("for i in range(a, 0, -1):\n    plain(i)", 1),
    ("for i in range(0, a, 2.0):\n    plain(i)", 1),
    ("for i in range(0, a, 9223372036854775808):\n    plain(i)", 1),
    # Two calls, and C may run the second one first.
    ("return plain(a) + plain(b)", 1),
    ("return plain(a) + plain(b) + a", 1),
    ("return plain(a) == plain(b)", 1),
    ("return [plain(a), plain(b)]", 1),
    ("return other(host, plain(a), plain(b))", 1),
    ("return a[plain(a):plain(b)]", 1),
    ("return plain(a)[plain(b)]", 1),
    ("for i in range(plain(a), plain(b), 1):\n    plain(i)", 1),
    ("return host.read(b'HGET', host.read(b'GET', a), host.read(b'GET', b))", 1),
    # A look at a list that a call may have changed by then.
    ("return len(a) - grow(a)", 1),
    ("return [a[0], a.append(b)]", 1),
    ("return len(a) - through(a)", 1),
    ("return other(host, a == b, grow(a))", 1),
    # A name that Python may find unassigned.
    ("return c\nc = a", 1),
    ("if a:\n    c = 1\nreturn c", 3),
    ("for x in a:\n    c = x\nreturn c", 3),
    ("for x in a:\n    plain(x)\nreturn x", 3),
    ("if TEXT:\n    TEXT = a\nreturn a", 1),
    # A name that would be two things.
    ("len = 1\nreturn len", 1),
    ("rules = a\nreturn rules.JOB", 1),
    ("plain = a\nreturn plain(b)", 1),
]


@pytest.mark.parametrize(("body", "line"), BODIES)
def test_what_is_outside_the_subset_is_refused(body: str, line: int) -> None:
    """With the file and the line of the fault, in one line of text."""
    with pytest.raises(NotInSubset) as refused:
        compile_verbs(of_body(body))
    place = FIRST + line - 1
    assert ("claim.py", place) == (refused.value.filename, refused.value.lineno)
    assert re.match(rf"claim\.py:{place}: \w[^\n]+: [^\n]+$", str(refused.value.msg))


#: Whole files outside the subset, and the line of the fault.
FILES = [
    ("import os\n", 1),
    ("from os import path\n", 1),
    ("from emqlab.native import executor\n", 1),
    ("from emqlab.native import rules as r\n", 1),
    ("A = []\n", 1),
    ("A = (1, 2)\n", 1),
    ("A = 'text'\n", 1),
    ("A = 1.5\n", 1),
    ("A = 1\nB = A\n", 2),
    ("A = len(b'')\n", 1),
    ("A = B = 1\n", 1),
    ("A: int = 1\n", 1),
    ("A, B = 1, 2\n", 1),
    ("if True:\n    A = 1\n", 1),
    ("class C:\n    pass\n", 1),
    ("print(1)\n", 1),
    ("async def f(a):\n    return a\n", 1),
    ("def f(a=1):\n    return a\n", 1),
    ("def f(*a):\n    return a\n", 1),
    ("def f(**a):\n    return a\n", 1),
    ("def f(*, a):\n    return a\n", 1),
    ("def f(a, /):\n    return a\n", 1),
    ("@f\ndef f(a):\n    return a\n", 1),
    ("def len(a):\n    return a\n", 1),
    ("def f(a, host):\n    return a\n", 1),
    ("def f(int):\n    return int\n", 1),
    ("def f(a):\n    return f(a)\n", 1),
    ("def f(a):\n    return g(a)\n\ndef g(a):\n    return f(a)\n", None),
]


@pytest.mark.parametrize(("text", "line"), FILES)
def test_what_a_file_may_not_hold_is_refused(text: str, line: int | None) -> None:
    """Imports from elsewhere, values that are not constant, odd parameters, recursion: file and line."""
    with pytest.raises(NotInSubset) as refused:
        compile_verbs({"rules": RULES, "claim": text})
    assert "claim.py" == refused.value.filename
    assert line in (None, refused.value.lineno)


@pytest.mark.parametrize(
    "text", ["def f(:\n", "def f(a):\n    continue\n", "def f(a, a):\n    return a\n", "return 1\n"]
)
def test_what_is_no_python_is_refused_as_python_refuses_it(text: str) -> None:
    """A syntax error with the file's name, before any C is made."""
    with pytest.raises(SyntaxError) as refused:
        compile_verbs({"claim": text})
    assert "claim.py" == refused.value.filename


def test_the_verbs_are_inside_the_subset() -> None:
    """Every file of the project's own compiles, and each of its functions is one C function."""
    text = compile_verbs()
    for file, source in verb_texts().items():
        for name in re.findall(r"^def (\w+)", source, re.MULTILINE):
            assert re.search(rf"^static Value {c_name(file, name)}\([^;\n]*\) \{{$", text, re.MULTILINE), (file, name)


def test_names_that_are_assigned_on_every_way_are_taken() -> None:
    """Both branches, or the one that goes on."""
    compile_verbs(of_body("if a:\n    c = 1\nelse:\n    c = 2\nreturn c"))
    compile_verbs(of_body("if a:\n    return 1\nelse:\n    c = 2\nreturn c"))
    compile_verbs(of_body("for x in a:\n    if x:\n        c = x\n    else:\n        continue\n    plain(c)\nreturn a"))


def test_calls_that_change_nothing_may_stand_beside_a_look() -> None:
    """Only one that appends, itself or through another, may not; what it is given is looked at before it runs."""
    compile_verbs(of_body("return len(a) - plain(b)"))
    compile_verbs(of_body("a.append(a[1:])\nreturn grow(a[1:])"))
    compile_verbs(of_body("return [grow(a), b, READ, rules.JOB]"))
    compile_verbs(of_body("if len(a) > 0 and grow(a) > 2:\n    return a"))


def test_the_same_texts_make_the_same_c() -> None:
    """The name of what is built depends on it."""
    assert compile_verbs() == compile_verbs()
    assert module_files() == module_files()


def test_bytes_become_c_literals_byte_for_byte() -> None:
    """Octal escapes of three digits, so that no digit after one can join it."""
    assert '"\\0001 \\377\\042\\134\\077"' == c_text(b'\x001 \xff"\\?')


def test_a_c_compiler_names_the_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in what was made of a statement is reported at the statement's file and line."""
    commands = compilers()
    if not commands:
        pytest.skip("there is no C compiler here; install one (apt-get install gcc libc6-dev)")
    monkeypatch.setenv("CC", shlex.join(commands[0]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text = compile_verbs(of_body("c = a\nreturn [\n    c,\n    b,\n]"))
    planted = text.replace("return list(c, 2", "return planted(c, 2")
    assert text != planted
    with pytest.raises(CannotBuild, match=rf"claim\.py:{FIRST + 1}:\d+: error: .*planted"):
        shared_object("planted", {**module_files(), "verbs.h": planted}, main="module.c", flags=("-O0", "-Werror"))
