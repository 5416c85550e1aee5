"""``emqlab audit``: what it prints, its exit statuses, one sentence for each mistake."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emqlab.audit.command import audit
from emqlab.audit.options import STATUS, audit_options
from emqlab.cli import Parser
from emqlab.replies import ask
from tests.audit.plants import A, B, held, leased
from tests.servers.real import RealServer, real_server

CASE = Path(__file__).parent / "cases" / "one-bad-row.json"


def go(*words: object) -> int:
    """One run of the command line; its exit status."""
    parser = Parser(prog="emqlab audit")
    audit_options(parser)
    options = vars(parser.parse_args([str(word) for word in words]))
    return audit(options["queues"], server=options["server"], case=options["case"], as_json=options["json"])


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is named by the surroundings."""
    monkeypatch.delenv("EMQLAB_SERVER", raising=False)


def url(server: RealServer) -> str:
    """The server's URL."""
    return f"unix://{server.process.socket}"


def test_a_case_is_looked_at_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The queue, its counts, what was found by severity, and what each executor would do."""
    assert 1 == go("--case", CASE)
    expected = """\
orders of audit/one-bad-row, on embedded
3 pending, 2 active (2 expired), 0 scheduled (0 due), 0 dead; 4 rows

stops work
  head-refused     JOB0NgWEfAEJfa
                   first in pending, but its row is of type list, not a hash: every native claim
                   stops at it, and nothing behind it is served
                   scripted  stops with WRONGTYPE, the id is lost
                   native    refused WRONGTYPE, it stays at the head
  sweep-refused    JOB0NgWEfAEJfd
                   its lease has expired, but its row is of type list, not a hash: every native
                   sweep that meets it is refused whole, and 1 flat job starves behind it; take it
                   out by hand (ZREM)
                   scripted  stops with WRONGTYPE, the id is lost
                   native    refused WRONGTYPE, it stays in active

loses work
  ghost            JOB0NgWEfAEJfb
                   stands in pending and has no row
                   scripted  answers empty, the ghost is gone
                   native    answers empty, the ghost is gone

3 findings: 2 stops work, 1 loses work

"""
    assert expected == capsys.readouterr().out


def test_json_is_one_line_a_queue(capsys: pytest.CaptureFixture[str]) -> None:
    """With everything that was found, and how many commands that took."""
    assert 1 == go("--case", CASE, "--json")
    (line,) = capsys.readouterr().out.splitlines()
    told = json.loads(line)
    assert ["server", "queue", "now_ms", "run_id", "counts", "findings", "asked"] == list(told)
    assert ("embedded", "orders", 40) == (told["server"], told["queue"], len(told["run_id"]))
    assert {"pending": 3, "active": 2, "expired": 2, "schedule": 0, "due": 0, "dead": 0, "rows": 4} == told["counts"]
    assert {
        "code": "ghost",
        "severity": "loses work",
        "id": "JOB0NgWEfAEJfb",
        "sets": ["pending"],
        "sentence": "stands in pending and has no row",
        "scripted": "answers empty, the ghost is gone",
        "native": "answers empty, the ghost is gone",
    } == told["findings"][2]
    assert told["asked"] > 0


def test_what_is_only_good_to_know_leaves_the_status_at_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A lease of the scripts is told, in a group of its own; beside something else it doesn't count."""
    case = {"name": "known", "queue": "q", "about": "", "given": leased(A, lease_epoch=""), "when": []}
    file = tmp_path / "case.json"
    file.write_text(json.dumps(case), encoding="utf-8")
    assert 0 == go("--case", file)
    out = capsys.readouterr().out
    assert "\nto know\n  exempt " in out
    assert out.endswith("1 finding: 1 to know\n\n")
    assert 0 == go("--case", file, "--json")
    assert ["to know"] == [told["severity"] for told in json.loads(capsys.readouterr().out)["findings"]]
    file.write_text(json.dumps({**case, "given": [*leased(A, lease_epoch=""), held(B, "dead")]}), encoding="utf-8")
    assert 1 == go("--case", file)
    assert "0 nothing found, or only what is good to know; 1 something" in STATUS


def test_on_a_users_server(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """All queues or those named, by --server or by $EMQLAB_SERVER; not even the wire version is claimed."""
    with real_server("valkey", module=False) as server:
        assert 0 == go("--server", url(server))
        assert f"emqlab audit: {url(server)} holds no queue" in capsys.readouterr().err
        for queue in ("a", "b"):
            ask(server.client, "ZADD", f"emq:{{{queue}}}:pending", 0, "JOB00000000001")
        ask(server.client, "SET", "emq:{c}:job:x:dependencies", 1)  # which a finished flow has left: good to know
        ask(server.client, "SET", "emq:mine", 1)
        assert 1 == go("--server", url(server), "--json")
        lines = list(map(json.loads, capsys.readouterr().out.splitlines()))
        assert [("a", 1), ("b", 1), ("c", 1)] == [(line["queue"], len(line["findings"])) for line in lines]
        assert {url(server)} == {line["server"] for line in lines}
        monkeypatch.setenv("EMQLAB_SERVER", url(server))
        assert 1 == go("b", "empty", "--json")
        assert ["b", "empty"] == [json.loads(line)["queue"] for line in capsys.readouterr().out.splitlines()]
        assert 0 == go("empty")
        assert "nothing found; the queue is empty" in capsys.readouterr().out
        assert 4 == ask(server.client, "DBSIZE")


def test_a_queue_that_cannot_be_named_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    """It is found among all queues, with a sentence; its name on the command line is refused with one."""
    with real_server("valkey", module=False) as server:
        for queue in ("or ders", "emq"):
            ask(server.client, "HSET", f"emq:{{{queue}}}:job:JOB00000000001", "state", "awaiting_children")
            ask(server.client, "SET", f"emq:{{{queue}}}:job:JOB00000000001:dependencies", 1)
        go("--server", url(server))
        out = capsys.readouterr().out
        assert 2 == out.count("  queue-name ")
        assert "'or ders' is a name that the lab does not take" in out
        assert "0 dead; 1 row\n" in out
        assert 2 == go("--server", url(server), "or ders")
        err = capsys.readouterr().err
    assert 1 == len(err.splitlines())
    assert "not 'or ders'; if there is a queue of that name on the server, an audit without names looks at it" in err


def test_a_case_on_a_real_server_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What it finds there is what it finds on the embedded one; a queue that is not empty is left alone."""
    with real_server("valkey", module=False) as server:
        assert 1 == go("--case", CASE, "--server", url(server), "--json")
        codes = [finding["code"] for finding in json.loads(capsys.readouterr().out)["findings"]]
        assert ["head-refused", "sweep-refused", "ghost"] == codes
        assert [b"{emq}:version"] == ask(server.client, "KEYS", "*")
        ask(server.client, "SET", "emq:{orders}:meta", "mine")
        assert 2 == go("--case", CASE, "--server", url(server))
        assert "is not empty" in capsys.readouterr().err


def test_a_lost_server_has_a_status_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 3 when it goes away while it is looked at."""
    with real_server("valkey", module=False) as server:
        ask(server.client, "SET", "emq:{a}:meta", "x")

        def lost(*_: Any) -> Any:
            server.process.kill()
            return [b"meta"]

        monkeypatch.setattr("emqlab.audit.look._Look._sort", lost)
        assert 3 == go("--server", url(server))
    out, err = capsys.readouterr()
    assert ("", 1) == (out, err.count("\n"))
    assert "the server was lost" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "emqlab audit: give your server's URL: --server redis://… (a"),
        (["--server", "valkey"], "a server of the lab's own, valkey, starts empty"),
        (["--server", "auto", "orders"], "or a case whose queue is looked at: --case FILE"),
        (["--server", "velkey"], "--server must be a URL (redis://, rediss:// or unix://), not 'velkey'"),
        (["--server", "unix:///nowhere/s"], "unix:///nowhere/s can't be reached"),
        (["--server", "http://here"], "'http://here' is no server"),
        (["--server", "unix:///nowhere/s", "emq:{orders}:"], "queue must be 1-128 characters"),
        (["--case", "nowhere.json"], "nowhere.json: no such file"),
        (["--case", CASE, "orders"], "a case has a queue of its own"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit status 2."""
    assert 2 == go(*words)
    out, err = capsys.readouterr()
    assert ("", 1) == (out, len(err.splitlines()))
    assert said in err


def test_progress_is_for_a_terminal_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One line on standard error that is wiped in the end; nothing of it elsewhere."""
    go("--case", CASE)
    assert "" == capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    go("--case", CASE)
    err = capsys.readouterr().err
    assert "5 of 5 ids" in err
    assert err.endswith("\r\x1b[K")


def test_the_options_take_no_time_to_import() -> None:
    """The command line reads them at every start, also where redis-py is missing."""
    code = "import sys; import emqlab.audit.options; sys.exit('redis' in sys.modules)"
    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
