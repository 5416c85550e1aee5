"""``emqlab bench``: what it prints, what it leaves on a server, one sentence for each mistake."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from emqlab.bench import pipelined, target
from emqlab.bench.command import bench
from emqlab.bench.memory import Footprint, Usage, footprint
from emqlab.bench.options import bench_options
from emqlab.bench.target import OwnTarget
from emqlab.cli import Parser
from emqlab.native import module
from emqlab.replies import ask
from tests.servers.real import built_module, each_server, listening, real_server

FIELDS = ["scripted_us", "native_us", "ratio", "scripted_median_us", "native_median_us", "ratio_of_medians", "calls"]


def parsed(*words: str) -> Any:
    """The options as the command line gives them."""
    parser = Parser(prog="emqlab bench")
    bench_options(parser)
    options = vars(parser.parse_args(words))
    return {**{name: value for name, value in options.items() if name != "json"}, "as_json": options["json"]}


def go(*words: str) -> int:
    """One run of the command line; its exit status."""
    return bench(**parsed(*words))


@each_server
def test_a_server_of_ones_own_is_left_as_it_was(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A URL: nothing but the wire version stays, nobody's keys and accounts are touched, and the JSON has its form."""
    with real_server(name) as server:
        server.client.set("mine", b"1")
        before = server.client.info("commandstats")["cmdstat_set"]["calls"]
        status = go("--server", f"unix://{server.process.socket}", "--verb", "claim,requeue", "--rounds", "1", "--json")
        told = json.loads(capsys.readouterr().out)
        assert 0 == status
        assert [b"mine", b"{emq}:version"] == sorted(server.client.keys("*"))
        assert before < server.client.info("commandstats")["cmdstat_set"]["calls"], "the account was reset"
    assert told["server"].startswith(("valkey ", "redis ")), told
    assert ["claim", "requeue"] == list(told["verbs"])
    for verb, figures in told["verbs"].items():
        assert FIELDS == list(figures)
        assert 1000 == figures["calls"]
        assert (verb == "requeue") == (figures["scripted_us"] is None) == (figures["ratio"] is None)
    claim = told["verbs"]["claim"]
    assert pytest.approx(claim["scripted_us"] / claim["native_us"], abs=0.002) == claim["ratio"]
    assert ["missing"] == list(told["limit"]) == list(told["pipelined"])


def test_a_cluster_is_measured_where_it_holds_the_queue(capsys: pytest.CaptureFixture[str]) -> None:
    """A node by its URL; the script with the fence is left out, for its key may be another node's."""
    with real_server("valkey", config=listening(**{"cluster-enabled": "yes"})) as server:
        ask(server.client, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + 30
        while b"cluster_state:ok" not in ask(server.client, "CLUSTER", "INFO"):
            assert time.monotonic() < deadline, "the cluster does not come up"
        assert 0 == go("--server", f"redis://127.0.0.1:{server.port}", "--verb", "claim", "--rounds", "1", "--json")
        assert [b"{emq}:version"] == server.client.keys("*")
    told = json.loads(capsys.readouterr().out)
    assert 1000 == told["verbs"]["claim"]["calls"]
    assert {"missing": "its fence can't be read in a cluster"} == told["peers"]["same_steps"]


def test_a_server_of_the_labs_own_has_the_limit_and_a_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default: tables, the peers of a claim, and the chart."""
    built_module()
    monkeypatch.setattr("emqlab.bench.command.pipelined", lambda own: pipelined.pipelined(own, jobs=640, rounds=1))
    chart = tmp_path / "bench.svg"
    assert 0 == go("--verb", "claim", "--rounds", "1", "--chart", str(chart))
    out = capsys.readouterr().out
    assert "hand-written C" in out
    assert "native's steps as a script" in out
    assert chart.read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--verb", "claim,reap"], "'reap' is no verb that can be measured; those are enqueue, schedule, claim"),
        (["--rounds", "0"], "a whole number from 1 to 1000000000 is needed, not '0'"),
        (["--memory", "many"], "a whole number from 1 to 1000000000 is needed, not 'many'"),
        (["--chart", "bench.txt"], "a chart's name ends in .png, .svg, .pdf"),
        (["--chart", "nowhere/bench.png"], "there is no folder 'nowhere'"),
        (["--server", "embedded"], "the embedded server keeps no account"),
        (["--server", "velkey"], "--server must be valkey or a URL (redis://, rediss:// or unix://), not 'velkey'"),
        (["--server", "unix:///nowhere/s"], "unix:///nowhere/s can't be reached"),
        (["--memory", "--verb", "claim"], "leave --verb and --chart out"),
        (["--memory", "--server", "redis://127.0.0.1"], "leave --server out"),
    ],
)
def test_a_mistake_is_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, with exit status 2, before anything is started."""
    try:
        status = go(*words)
    except SystemExit as end:
        status = int(str(end.code))
    out, err = capsys.readouterr()
    assert (2, "", 1) == (status, out, len(err.splitlines()))
    assert said in err


def test_verbs_may_be_written_in_any_of_their_ways() -> None:
    """Repeated, with commas, with hyphens."""
    assert [["claim", "fail"], ["stalled_check"]] == parsed("--verb", "claim, fail", "--verb", "stalled-check")["verbs"]


def test_without_the_module_there_is_nothing_to_measure(capsys: pytest.CaptureFixture[str]) -> None:
    """A server without the verbs gets a sentence, and keeps its keys."""
    with real_server("valkey", module=False) as server:
        assert 2 == go("--server", f"unix://{server.process.socket}", "--rounds", "1")
    assert "has no EMQ commands to measure" in capsys.readouterr().err


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, exit status 2."""

    def refuse(*_: object) -> None:
        raise module.CannotBuild("emq must be built and there is no C compiler here; install one")

    monkeypatch.setattr(target, "module_path", refuse)
    assert 2 == go("--rounds", "1")
    assert "emqlab bench: emq must be built and there is no C compiler here; install one\n" == capsys.readouterr().err


def test_a_lost_server_has_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 3 when it goes away while it is measured."""
    with real_server("valkey") as server:

        def measure(*_: object) -> None:
            server.process.kill()
            server.client.ping()

        monkeypatch.setattr("emqlab.bench.command.measure", measure)
        assert 3 == go("--server", f"unix://{server.process.socket}", "--rounds", "1")
    assert "the server was lost" in capsys.readouterr().err


def test_outside_a_clone_the_limit_says_that_it_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package does not carry it."""
    monkeypatch.setattr(target, "_LIMIT", tmp_path)
    assert "only in a clone" in str(target.limit_path())


def test_redis_benchmark_claims_every_job_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rates are of claims that were made; where it is missing, a sentence."""
    built_module()
    with OwnTarget(limit=False) as own:
        found = pipelined.pipelined(own, jobs=640, rounds=1)
        if isinstance(found, str):
            assert "is not installed here" in found
        else:
            assert min(found.scripted, found.native) > 0
            assert found.native / found.scripted == found.ratio
        monkeypatch.setattr(pipelined, "_PROGRAMS", ("no-such-benchmark",))
        assert "is not installed here" in str(pipelined.pipelined(own, jobs=640, rounds=1))
        assert 1 == own.client.dbsize()


def test_the_memory_run_counts_and_reports(capsys: pytest.CaptureFixture[str]) -> None:
    """Whole passes of the mix, and figures of two servers."""
    built_module()
    found = footprint(100)
    assert found.calls >= 100
    assert 0 < found.module.used < 1 << 20, "the module adds less than a MiB"
    assert min(found.first.rss, found.last.rss, found.first.used) > 1 << 18


def test_memory_in_words_and_json() -> None:
    """What is added, what is left behind."""
    found = Footprint("valkey 9.1.2", 2000, Usage(2048, 4096), Usage(1_048_576, 2_097_152), Usage(1_049_600, 2_101_248))
    assert "loading the module adds 2 KiB in use, 4 KiB of the process" in found.text()
    assert "2,000 calls of all verbs later there are 1 KiB more in use (1,025 KiB now)" in found.text()
    memory = found.json()["memory"]
    assert (2000, 2048, [1_048_576, 1_049_600]) == (
        memory["calls"],
        memory["module_used_bytes"],
        memory["used_bytes"],
    )


def test_an_interrupt_leaves_nothing_on_a_server(tmp_path: Path) -> None:
    """Ctrl-C in the middle of the rounds: the queue is removed before the process ends."""
    with real_server("valkey") as server:
        script = (
            "import sys; from emqlab.bench.command import bench\n"
            "print('begun', flush=True)\n"
            f"bench(server='unix://{server.process.socket}', rounds=100_000)"
        )
        running = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            assert running.stdout is not None
            assert b"begun\n" == running.stdout.readline()
            claimed = 0
            while not claimed:
                assert running.poll() is None, running.communicate()[1]
                claimed = server.client.info("commandstats").get("cmdstat_emq.claim", {}).get("calls", 0)
            running.send_signal(signal.SIGINT)
            _, err = running.communicate(timeout=60)
        finally:
            if running.poll() is None:
                os.kill(running.pid, signal.SIGKILL)
                running.wait()
        assert b"KeyboardInterrupt" in err
        assert [b"{emq}:version"] == server.client.keys("*")
