"""``emqlab run``: exit statuses, the lines it prints, the sentences on stderr (SPEC 9)."""

import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from emqlab.parity.command import run
from tests.servers import loopback

CLAIM = {"verb": "claim", "lease_ms": "30000"}
GOOD: dict[str, Any] = {"name": "fine", "queue": "q", "about": "an empty queue", "when": [CLAIM]}


def go(
    *paths: object, executor: str = "both", server: str | None = None, native: str = "module", as_json: bool = True
) -> tuple[int, list[str]]:
    """The exit status and the lines on stdout."""
    out = io.StringIO()
    status = run([str(p) for p in paths], executor=executor, server=server, native=native, as_json=as_json, out=out)
    return status, out.getvalue().splitlines()


def write(folder: Path, name: str, *cases: Any) -> Path:
    """A file of cases; one case a line when its name ends so."""
    text = "\n".join(json.dumps(case) for case in cases) if name.endswith("l") else json.dumps(list(cases))
    (folder / name).write_text(text)
    return folder / name


def test_all_held_is_zero_and_a_line_a_case_and_executor(tmp_path: Path) -> None:
    """Scripted first, then native, in the order of the cases."""
    file = write(tmp_path, "a.json", GOOD, {**GOOD, "name": "again"})
    status, lines = go(file)
    seen = [(line["case"], line["executor"]) for line in map(json.loads, lines)]
    assert (0, [("fine", "scripted"), ("fine", "native"), ("again", "scripted"), ("again", "native")]) == (status, seen)


def test_one_executor_prints_its_own_line_and_judges_no_difference(tmp_path: Path) -> None:
    """``differs`` is not judged with one executor."""
    file = write(tmp_path, "a.jsonl", {**GOOD, "differs": [9]})
    assert (0, 1) == (go(file, executor="native")[0], len(go(file, executor="native")[1]))


def test_a_folder_is_read_in_order_with_both_endings(tmp_path: Path) -> None:
    """Files by name, also in folders below."""
    (tmp_path / "sub").mkdir()
    write(tmp_path, "b.jsonl", {**GOOD, "name": "b"})
    write(tmp_path, "a.json", {**GOOD, "name": "a"})
    write(tmp_path / "sub", "c.json", {**GOOD, "name": "c"})
    names = [json.loads(line)["case"] for line in go(tmp_path, executor="native")[1]]
    assert ["a", "b", "c"] == names


@pytest.mark.parametrize("text", [json.dumps(GOOD), json.dumps([GOOD]), json.dumps(GOOD) + "\n" + json.dumps(GOOD)])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """One case, a list, or one a line."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert 0 == go("-")[0]


def standard_input(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    """Put bytes on standard input; its text layer would not take them as UTF-8."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="cp1252"))


def test_standard_input_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bytes are read, with a mark of order at the beginning or without; lines end at a line feed."""
    lines = [json.dumps({**GOOD, "name": name}, ensure_ascii=False) for name in ("ä\u2028ö", "ß")]
    for mark in ("", "\ufeff"):
        standard_input(monkeypatch, (mark + "\r\n".join(lines)).encode())
        status, told = go("-", executor="native")
        assert (0, ["ä\u2028ö", "ß"]) == (status, [json.loads(line)["case"] for line in told])


DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "standard input: not JSON at line 1"),
        (b"\xff", "standard input: not UTF-8 at byte 0"),
        (DEEP, "standard input: nested too deeply"),
        (json.dumps(GOOD).encode() + b"\n" + DEEP, "standard input line 2: nested too deeply"),
        (DEEP + b"\n{}", "standard input: nested too deeply"),
        (b"9" * 5000, "standard input: a number in it has too many digits"),
        (json.dumps(GOOD).encode() + b"\n" + b"9" * 5000, "standard input line 2: a number in it has too many digits"),
    ],
    ids=["empty", "not UTF-8", "deep", "a deep line", "a deep first line", "long", "a long line"],
)
def test_unusable_standard_input_is_two_and_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raw: bytes, sentence: str
) -> None:
    """As for files."""
    standard_input(monkeypatch, raw)
    assert (2, []) == go("-")
    told = capsys.readouterr().err
    assert sentence.removesuffix("line 1") in told
    assert 1 == told.count("\n")


def test_standard_input_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """None when the process was started without one, closed, or a folder: one sentence."""
    closed = io.StringIO()
    closed.close()
    folder = io.TextIOWrapper(io.BufferedReader(_Folder()))
    for stream in (None, closed, folder):
        monkeypatch.setattr("sys.stdin", stream)
        assert (2, []) == go("-")
        told = capsys.readouterr().err
        assert told.startswith("emqlab run: standard input: ")
        assert 1 == told.count("\n")


class _Folder(io.RawIOBase):
    """Standard input that fails when it is read."""

    def readable(self) -> bool:
        """As every standard input is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Refuse, as the system does."""
        raise IsADirectoryError(21, "Is a directory")


def test_an_undeclared_difference_is_one_and_names_everything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case, key, field, both values."""
    given = [["ZADD", "{p}active", "@now-1", "JOB0NgWEfAEJfa"]]
    when = [{"verb": "stalled_check", "max_stalled": "2", "limit": "100"}]
    status, _ = go(write(tmp_path, "a.json", {**GOOD, "given": given, "when": when}))
    told = capsys.readouterr().err
    assert 1 == status
    assert "fine: step 1 stalled_check, reply: scripted" in told
    assert "native" in told


def test_a_declared_difference_that_is_none_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A listed case whose executors agree does not hold."""
    assert 1 == go(write(tmp_path, "a.json", {**GOOD, "differs": [16]}))[0]
    assert "fine: differs says" in capsys.readouterr().err


def test_an_expectation_that_is_not_met_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence has the executor, the command and both values."""
    case = {**GOOD, "expect": {"native": {"replies": [{"ok": 1}]}}}
    assert 1 == go(write(tmp_path, "a.json", case))[0]
    assert "fine: native: step 1 claim, reply: expected {'ok': 1}, got {'ok': []}" in capsys.readouterr().err


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("a.json", b"{", "a.json: not JSON at line 1"),
    ("a.json", b"\xff", "a.json: not UTF-8 at byte 0"),
    ("a.json", b"[[]]", "a.json: a case is an object"),
    ("a.txt", b"{}", "a.txt: cases are .json or .jsonl files"),
    ("a.json", b'{"name": "n", "queue": "q", "when": [{"verb": "no"}]}', "a.json: n: when[0].verb: no verb 'no'"),
    ("a.json", b"[" * 100_000, "a.json:"),
]


@pytest.mark.parametrize(("name", "text", "sentence"), BAD_FILES)
def test_unusable_input_is_two_and_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: bytes, sentence: str
) -> None:
    """File, case and field; nothing is run, no traceback."""
    (tmp_path / name).write_bytes(text)
    status, lines = go(tmp_path / name)
    told = capsys.readouterr().err
    assert (2, []) == (status, lines)
    assert sentence in told
    assert 1 == told.count("\n")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("", "an empty path names no file"),
        ("x" * 5000 + ".json", "can't be read: File name too long"),
        ("a\0b.json", "a\\x00b.json: can't be read: embedded null byte"),
        ("no\nsuch\x1b.json", "no\\nsuch\\x1b.json: no such file"),
        ("missing", "missing: no such file"),
        (f"{__file__}/a.json", "a.json: can't be read: Not a directory"),
        ("/dev/null", "/dev/null: cases are .json or .jsonl files"),
    ],
    ids=["empty", "long", "nul", "control", "missing", "inside a file", "device"],
)
def test_a_path_that_is_no_file_is_two_and_one_sentence(
    capsys: pytest.CaptureFixture[str], path: str, sentence: str
) -> None:
    """Whatever the system answers, and whatever the name holds."""
    assert (2, []) == go(path)
    told = capsys.readouterr().err
    assert sentence in told
    assert told.removesuffix("\n").isprintable()


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize(
    ("what", "sentence"),
    [("fifo", "not a regular file"), ("loop", "can't be read: "), ("nowhere", "no such file")],
)
def test_a_file_that_is_no_regular_one_is_refused_without_waiting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, sentence: str, in_folder: bool
) -> None:
    """A pipe, a link to itself, a link to nothing."""
    place = tmp_path / "a.json"
    if what == "fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(place if what == "loop" else tmp_path / "nothing")
    assert (2, []) == go(tmp_path if in_folder else place)
    told = capsys.readouterr().err
    assert f"{place}: {sentence}" in told
    assert 1 == told.count("\n")


def test_a_folder_that_cannot_be_looked_into_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cases would be missing from the count."""
    write(tmp_path, "a.json", GOOD)
    locked = tmp_path / "locked"
    locked.mkdir()
    look = os.scandir

    def refuse(path: str) -> Any:
        if Path(path) == locked:
            raise PermissionError(13, "Permission denied", path)
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert (2, []) == go(tmp_path)
    assert f"{locked}: can't be read: Permission denied" in capsys.readouterr().err


def test_a_folder_whose_name_ends_like_a_file_is_a_folder(tmp_path: Path) -> None:
    """Given itself or found in another."""
    inner = tmp_path / "inner.json"
    inner.mkdir()
    write(inner, "a.json", GOOD)
    assert [2, 2] == [len(go(path)[1]) for path in (inner, tmp_path)]


def test_a_bad_file_stops_the_good_ones_before_it(tmp_path: Path) -> None:
    """All files are read before the first case is run."""
    good = write(tmp_path, "a.json", GOOD)
    assert (2, []) == go(good, tmp_path / "missing.json")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"server": "nonsense"}, "server must be embedded, valkey, auto, or a URL"),
        ({"server": "redis://127.0.0.1:1"}, "redis://127.0.0.1:1 can't be reached"),
        ({"native": "optimistic"}, "--native optimistic is for a real server; give --server valkey or a URL"),
        ({"native": "optimistic", "server": "embedded"}, "--native optimistic is for a real server; give"),
    ],
)
def test_a_server_that_is_not_to_be_had_is_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, str], sentence: str
) -> None:
    """One sentence with the cure."""
    assert 2 == go(write(tmp_path, "a.json", GOOD), **options)[0]  # type: ignore[arg-type]
    told = capsys.readouterr().err
    assert sentence in told
    assert 1 == told.count("\n")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The URL of a server of one's own."""
    with loopback.server() as process:
        yield loopback.url(process)


COST = re.compile(
    r"optimistic host: (\d+) calls?, (\d+\.\d) round trips a call, 0 retries(, \d+\.\d times a scripted call's time)?\n"
)


def test_a_url_and_what_the_optimistic_host_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    """The server is called remote; the cost is told on stderr, and the scripts' time only when they were run."""
    file = write(tmp_path, "a.json", GOOD, {**GOOD, "name": "again"})
    status, lines = go(file, server=address, native="optimistic")
    both = COST.fullmatch(capsys.readouterr().err)
    assert (0, ["remote"] * 4) == (status, [json.loads(line)["server"] for line in lines])
    assert both is not None
    # The first call finds out about its connection: 5 round trips, then 4.
    assert ("2", "4.5") == both.groups()[:2]
    assert both[3] is not None
    assert 0 == go(file, server=address, native="optimistic", executor="native")[0]
    alone = COST.fullmatch(capsys.readouterr().err)
    assert alone is not None
    assert alone[3] is None


def test_nothing_is_told_of_a_host_that_was_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    """No call, no figure."""
    file = write(tmp_path, "a.json", GOOD)
    assert 0 == go(file, server=address, native="optimistic", executor="scripted")[0]
    assert "" == capsys.readouterr().err


def test_a_refused_case_is_two_and_the_others_are_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    """File, case and reason on stderr, once; the last line of the table counts it."""
    file = write(tmp_path, "a.json", {**GOOD, "name": "bad", "queue": "full"}, GOOD)
    with redis.Redis.from_url(address) as client:
        client.set("emq:{full}:meta", "theirs")
    status, lines = go(file, server=address, native="optimistic", as_json=False)
    assert (2, "2 cases, 0 did not hold, 1 not run") == (status, lines[-1])
    assert 1 == capsys.readouterr().err.count(f"{file}: bad: not run: the queue 'full' is not empty")


def test_one_is_not_many(tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str) -> None:
    """1 case, 1 call."""
    file = write(tmp_path, "a.json", GOOD)
    status, lines = go(file, server=address, native="optimistic", as_json=False)
    assert (0, "1 case, 0 did not hold") == (status, lines[-1])
    assert "optimistic host: 1 call, " in capsys.readouterr().err


def test_the_environment_names_a_server_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """``$EMQLAB_SERVER`` where ``--server`` is not given."""
    monkeypatch.setenv("EMQLAB_SERVER", address)
    status, lines = go(write(tmp_path, "a.json", GOOD), native="optimistic", executor="native")
    assert (0, "remote") == (status, json.loads(lines[0])["server"])


def test_the_lab_s_own_server_takes_the_optimistic_host_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked for by name: the same verbs, run from here, on the server the lab starts."""
    status, lines = go(write(tmp_path, "a.json", GOOD), server="valkey", native="optimistic")
    assert (0, ["valkey"] * 2) == (status, [json.loads(line)["server"] for line in lines])
    assert "optimistic host: 1 call, " in capsys.readouterr().err


def test_a_lane_step_is_the_scripts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Answered by the script, natively unsupported: divergence 20, and a complaint without it."""
    steps = [{"verb": "lane_pause", "group": "g"}]
    status, lines = go(write(tmp_path, "a.json", {**GOOD, "when": steps, "differs": [20]}))
    assert (0, [[{"ok": 1}], [{"unsupported": "lane_pause"}]]) == (status, [json.loads(x)["replies"] for x in lines])
    assert 1 == go(write(tmp_path, "b.json", {**GOOD, "when": steps}))[0]
    assert "lane_pause" in capsys.readouterr().err


def test_a_skipped_case_is_counted_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that says why, exit 0."""
    status, lines = go(write(tmp_path, "a.json", {**GOOD, "servers": ["valkey"]}))
    assert 0 == status
    assert ["skipped" in json.loads(line) for line in lines] == [True, True]
    assert "2 skipped" in capsys.readouterr().err


def test_the_table_has_both_executors_side_by_side_counters_first(tmp_path: Path) -> None:
    """For a person to read."""
    given = [["HSET", "{p}job:JOB0NgWEfAEJfs", "attempts", "1"], ["ZADD", "{p}pending", "0", "JOB0NgWEfAEJfs"]]
    _, lines = go(write(tmp_path, "a.json", {**GOOD, "given": given, "differs": [8]}), as_json=False)
    text = "\n".join(lines)
    assert text.index("attempts") < text.index("state")
    assert "scripted" in lines[1]
    assert "native" in lines[1]
    assert "1 → 2" in text
    assert "absent → this epoch" in text


ODD = "\x1b[31m\n\u202e\x7f"


def test_names_and_values_reach_the_terminal_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line a row and a complaint; nothing that a terminal would obey."""
    case = {
        "name": f"name{ODD}",
        "queue": f"q{ODD}",
        "about": f"about{ODD}",
        "given": [["SET", "{p}key" + ODD, "old"], ["HSET", "{p}row", f"field{ODD}", "1"]],
        "when": [
            {"command": ["SET", "{p}key" + ODD, f"new{ODD}"]},
            {"command": ["HSET", "{p}row", f"field{ODD}", "2", "\\x1b", "3"]},
            {"verb": "enqueue", "id": "JOB0NgWEfAEJfs", "payload": f"payload{ODD}"},
            CLAIM,
        ],
        "expect": {"native": {"keys": {}}},
    }
    status, _ = go(write(tmp_path, "a.json", case), as_json=True)
    told = capsys.readouterr().err
    assert 1 == status
    assert told.startswith("name\\x1b[31m\\n\\u202e\\x7f: ")
    assert all(line.isprintable() for line in told.split("\n"))
    _, lines = go(tmp_path / "a.json", as_json=False)
    assert all(line.isprintable() for line in lines)
    shown = "\n".join(lines)
    for word in ("name", "about", "key", "new", "field", "payload"):
        assert f"{word}\\x1b[31m\\n\\u202e\\x7f" in shown


def test_a_skipped_case_is_escaped_too(tmp_path: Path) -> None:
    """The reason repeats the servers' names."""
    _, lines = go(write(tmp_path, "a.json", {**GOOD, "servers": [f"mine{ODD}"]}), as_json=False)
    assert all(line.isprintable() for line in lines)
    assert "mine\\x1b[31m" in "\n".join(lines)


def test_an_expectation_of_every_depth_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The deepest reply that is taken is compared and told."""
    deep: Any = []
    for _ in range(63):
        deep = [deep]
    case = {**GOOD, "expect": {"native": {"replies": [{"ok": deep}]}}}
    assert 1 == go(write(tmp_path, "a.json", case))[0]
    assert "fine: native: step 1 claim, reply: expected {'ok': [[[" in capsys.readouterr().err
