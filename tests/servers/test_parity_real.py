"""``emqlab parity`` on real servers: what the embedded one foretells, other people's keys, lost and left servers."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emqlab import errors, keys
from emqlab.cli import main
from emqlab.lab import Lab
from emqlab.native.module.build import CannotBuild
from emqlab.parity import campaign as campaigns
from emqlab.parity.campaign import Campaign
from emqlab.parity.defects.plants import planted
from emqlab.parity.defects.sources import module_of
from emqlab.parity.ground import Ground, chunk, layer_of
from emqlab.parity.model import Zset
from emqlab.parity.options import CASES
from emqlab.parity.rig import Rig
from emqlab.parity.trials.layers import LAYERS
from emqlab.parity.trials.trial import BASE, NOW_MS
from emqlab.parity.verdict import judge
from emqlab.servers.binaries import VARIABLE
from emqlab.servers.process import ServerProcess
from emqlab.servers.valkey import ValkeyServer
from tests.parity import test_rig as rigs
from tests.parity.grounds import ground_on
from tests.servers import loopback
from tests.servers.loopback import dumps, inside, url
from tests.servers.real import NAMES, binary_of, built_module, wait_until

#: How many cases of each layer are run on each server.
SHARE = {"exhaustive": 1_100, "corruption": 1_200, "histories": 60, "three-jobs": 650}
#: How many of each are run as cases, too; a history may restart the server, which takes long.
AS_CASES = {"exhaustive": 200, "corruption": 200, "histories": 5, "three-jobs": 200}
IN_C = "sweep-off-by-one-cap-in-python"


@pytest.fixture(scope="module", params=NAMES)
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """The bench on each server in turn, its clock standing where that can be."""
    with ground_on(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def foretold() -> dict[str, bytes]:
    """Layer -> the digest of its share on the embedded server."""
    embedded = Ground("embedded")
    try:
        return {name: chunk(embedded, layer_of(name, 0), 0, count)[1] for name, count in SHARE.items()}
    finally:
        embedded.close()


def needs_its_clock(ground: Ground, name: str) -> None:
    """Skip a history where the clock can't be moved."""
    if name == "histories" and not ground.moves:
        pytest.skip("the clock of a real server is moved on Linux, where there is a C compiler")


# ---------------------------------------------------------------- the layers


@pytest.mark.parametrize("name", SHARE)
def test_a_share_of_a_layer_is_as_declared(ground: Ground, foretold: dict[str, bytes], name: str) -> None:
    """No undeclared difference, no complaint, and the digest of the embedded server."""
    needs_its_clock(ground, name)
    tally, digest = chunk(ground, layer_of(name, 0), 0, SHARE[name])
    assert (SHARE[name], 0, []) == (tally.cases, tally.undeclared, tally.findings)
    assert len(tally.cases_of) > 4
    assert foretold[name] == digest


@pytest.mark.parametrize("name", LAYERS)
def test_a_trial_comes_out_alone_and_as_its_case_as_in_a_batch(ground: Ground, name: str) -> None:
    """Replies and keys, on either executor."""
    needs_its_clock(ground, name)
    rigs.assert_alone_as_together(ground, rigs.some(name, 60 if name == "histories" else 300), every=20)
    # On the second server fewer, for it is the same program here and there that runs them.
    rigs.assert_a_case_as_a_trial(ground, rigs.some(name, AS_CASES[name])[:: 1 if "valkey" in ground.named else 5])


def test_a_server_is_named_by_its_program(ground: Ground) -> None:
    """As it calls itself, with its version."""
    assert ground.named.split()[0] in ("valkey", "redis")
    assert ground.named.split()[1][0].isdigit()


def test_nothing_stays_behind(ground: Ground) -> None:
    """No key but the version, which holds the lab's own value, also after a trial that changed it."""
    rigs.assert_nothing_stays(ground)
    rigs.assert_a_foreign_version_is_its_own(ground)
    ground.rig.run([rigs.foreign_version()])
    assert keys.VERSION == inside_of(ground).get(keys.VERSION_KEY)
    assert 1 == inside_of(ground).dbsize()


def inside_of(ground: Ground) -> Any:
    """A client of the bench."""
    return ground.server.observer


def test_the_next_batch_is_fresh(ground: Ground) -> None:
    """Its clock and its epoch, whatever the one before has waited and restarted."""
    needs_its_clock(ground, "histories")
    rigs.assert_the_next_batch_is_fresh(ground)


@pytest.mark.parametrize("line", rigs.STRAY)
def test_a_write_beside_the_queue_is_seen(ground: Ground, line: str) -> None:
    """Wherever it goes."""
    rigs.assert_a_stray_write_is_seen(ground, line)


# ---------------------------------------------------------------- a clock that runs


@pytest.fixture(scope="module", params=NAMES)
def running(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A rig on a server whose clock runs."""
    with Lab(ValkeyServer(binary_of(request.param), module=built_module())) as lab:
        yield Rig(*lab.bench())


@pytest.mark.parametrize("name", ["exhaustive", "corruption", "three-jobs"])
def test_times_that_are_written_late_are_as_declared(running: Rig, name: str) -> None:
    """A batch takes a while, and its deadlines come out as much later at most."""
    ran = running.run([trial for trial in rigs.some(name, 400) if not trial.exact])
    assert max(one.slack_ms for one in ran) > 0
    assert [] == [(one.trial.name, one.slack_ms, told) for one in ran for told in judge(one).complaints]


def test_a_time_later_than_the_batch_took_or_earlier_is_not(running: Rig) -> None:
    """By one ms."""
    (ran,) = running.run([rigs.trial_of(rigs.ENQUEUE, rigs.CLAIM)])
    assert () == judge(ran).complaints
    active = ran.outcomes["native"].keys[BASE + b"active"]
    assert isinstance(active, Zset)
    late_by = active[rigs.JOB] - (NOW_MS + 30_000)
    assert 0 <= late_by <= ran.slack_ms
    for by in (ran.slack_ms - late_by + 1, -late_by - 1):
        active[rigs.JOB] += by
        assert 1 == len(judge(ran).complaints)
        active[rigs.JOB] -= by


# ---------------------------------------------------------------- a defect in C


def test_a_defect_that_is_compiled_to_c_is_caught(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planted in the verb's Python, built into a module, loaded by a Valkey, and found there."""
    monkeypatch.setenv(VARIABLE, str(binary_of("valkey")))
    try:
        module_of(planted(IN_C))
    except CannotBuild as error:
        pytest.skip(str(error))
    assert 0 == main(["parity", "--plant", IN_C, "--server", "valkey", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert (IN_C, True, True) == (told["plant"], told["caught"], told["after"] > 0)


# ---------------------------------------------------------------- a server of somebody's own


OTHERS: list[tuple[str, ...]] = [
    ("SET", "mine", "1"),
    ("SET", "lasting", "1", "PX", "90000000"),
    ("HSET", "emq:{orders}:job:JOB0NgWEfAEJfa", "state", "pending", "attempts", "0", "payload", "tea"),
    ("ZADD", "emq:{orders}:pending", "0", "JOB0NgWEfAEJfa"),
    ("ZADD", "emq:{parity}:pending", "0", "JOB0NgWEfAEJfb"),
    ("SADD", "emq:{parity-0123456789ab-0s}:paused", "g"),
    ("RPUSH", "emq:{0s}:ring", "g", "h"),
    ("SET", "{emq}:busy:orders", "somebody"),
    ("XADD", "stream", "1-1", "f", "v"),
]
USERS = (
    "keeps on >pw ~* &* +@all -del",
    "blind on >pw ~* &* +@all -scan",
    "half on >pw ~* &* +@all -zadd",
    "ours on >pw ~emq:* ~{emq}:* &* +@all",
)


@pytest.fixture(scope="module", params=NAMES)
def theirs(request: pytest.FixtureRequest) -> Iterator[ServerProcess]:
    """A server with the module, by its URL, that other people use."""
    settings = {"user": USERS}
    with loopback.server(settings, binary=binary_of(request.param), modules=[built_module()]) as process:
        client = inside(process)
        for command in OTHERS:
            client.execute_command(*command)
        client.execute_command("SELECT", 1)
        yield process


def untouched(process: ServerProcess) -> dict[bytes, bytes | None]:
    """Every key of it but the lab's own version."""
    return {name: dump for name, (dump, _) in dumps(process).items() if name != b"0 " + keys.VERSION_KEY}


def test_a_user_s_server_keeps_what_it_has(theirs: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of theirs is touched, nothing of ours stays; histories are left out, and it is said so."""
    before = untouched(theirs)
    assert len(OTHERS) == len(before)
    status = main(["parity", "--server", url(theirs), "--share", "3000", "--json"])
    said = capsys.readouterr()
    told = [json.loads(line) for line in said.out.splitlines()]
    assert "histories: left out, for this server's clock can't be moved, nor it be restarted\n" in said.err
    assert "time was up" not in said.err
    assert [name for name in CASES if name != "histories"] == [line["layer"] for line in told]
    assert (0, {("remote", 0)}) == (status, {(line["server"], line["undeclared"]) for line in told})
    assert min(line["cases"] for line in told) > 0
    assert before == untouched(theirs)
    assert keys.VERSION == inside(theirs).get(keys.VERSION_KEY)
    assert 90_000_000 >= inside(theirs).pttl("lasting") > 80_000_000


def test_a_case_is_run_again_on_a_user_s_server(theirs: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """By its number; one that changes what all queues share is refused in one sentence."""
    layer = layer_of("corruption", 0)
    drawn = (layer.trial(layer.index_at(place)) for place in range(100_000))
    fenced = next(trial.index for trial in drawn if keys.VERSION_KEY in trial.start.keys)
    before = untouched(theirs)
    for index, status in ((11, 0), (fenced, 2)):
        assert status == main(["parity", "--layer", "corruption", "--index", str(index), "--server", url(theirs)])
        err = capsys.readouterr().err
        assert (status > 0) == (1 == err.count("\n")), err
    assert before == untouched(theirs)
    assert keys.VERSION == inside(theirs).get(keys.VERSION_KEY)


def test_defects_are_not_planted_there(theirs: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence, before anything is run."""
    for words in (["--plant", IN_C], ["--layer", "three-jobs,plants", "--share", "3000", "--json"]):
        assert 2 == main(["parity", *words, "--server", url(theirs)])
        said = capsys.readouterr()
        assert ("", 1) == (said.out, said.err.count("\n")), said
        assert "embedded or valkey" in said.err


@pytest.mark.parametrize("user", ["keeps", "blind", "half"])
def test_a_user_who_lacks_a_right_is_told_so(
    theirs: ServerProcess, capsys: pytest.CaptureFixture[str], user: str
) -> None:
    """One sentence that names the server's own; nothing of ours stays, nothing of theirs goes."""
    before = untouched(theirs)
    status = main(["parity", "--layer", "three-jobs", "--share", "3000", "--server", url(theirs, f"{user}:pw@")])
    err = capsys.readouterr().err
    assert (status in (1, 2, 3), 1) == (True, err.count("\n")), err
    assert "Traceback" not in err
    assert before == untouched(theirs)


def test_a_user_with_the_queues_keys_is_enough(theirs: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody's other keys are asked for."""
    words = ["--layer", "three-jobs", "--share", "3000", "--server", url(theirs, "ours:pw@"), "--json"]
    assert (0, "") == (main(["parity", *words]), capsys.readouterr().err)


def test_a_server_without_the_verbs_says_how_to_get_them(capsys: pytest.CaptureFixture[str]) -> None:
    """In one sentence."""
    with loopback.server() as process:
        assert 2 == main(["parity", "--server", url(process)])
        assert 0 == len(untouched(process))
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert "has no EMQ commands" in said.err


def test_a_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """In one sentence that says what to give instead."""
    with loopback.cluster(3, {"loadmodule": str(built_module())}) as nodes:
        for words in ([], ["--layer", "corruption", "--index", "3"]):
            assert 2 == main(["parity", *words, "--server", url(nodes[0])])
            said = capsys.readouterr()
            assert "" == said.out
            assert "emqlab parity: parity is measured on one server, not on a cluster; " in said.err
            assert 1 == said.err.count("\n")


class Killer(io.StringIO):
    """Standard output that kills a server with the first line."""

    def __init__(self, process: ServerProcess) -> None:
        super().__init__()
        self.process = process

    def write(self, text: str) -> int:
        """Print, and kill."""
        self.process.kill()
        return super().write(text)


def test_a_server_that_goes_away_is_three(capsys: pytest.CaptureFixture[str]) -> None:
    """Between two layers: one sentence."""
    from emqlab.parity.measure import parity

    with loopback.server(modules=[built_module()]) as process:
        layers = [["three-jobs", "corruption"]]
        assert 3 == parity(layers=layers, share=3_000, server=url(process), as_json=True, out=Killer(process))
    err = capsys.readouterr().err
    assert err.startswith("emqlab parity: the server was lost: ")
    assert 1 == err.count("\n")


def test_a_server_that_dies_under_a_batch_is_lost(ground: Ground) -> None:
    """And the next batch has another one."""
    executors = dict(ground.lab.bench()[1])
    sound, server = executors["native"], ground.server
    assert isinstance(server, ValkeyServer)
    process = server.process

    class Dying:
        """Kills the server before it sends a call."""

        def perform_each(self, calls: Any) -> Any:
            """Kill, and send."""
            process.kill()
            return sound.perform_each(calls)

    trial = rigs.trial_of(rigs.ENQUEUE)
    with pytest.raises(errors.ServerLost):
        Rig(server, {"native": Dying()}).run([trial])  # type: ignore[dict-item]
    (ran,) = ground.rig.run([trial])
    assert () == judge(ran).complaints


# ---------------------------------------------------------------- workers and what they leave


def small_chunks(patch: pytest.MonkeyPatch) -> None:
    """Chunks of fifty, so that few cases are enough for two workers."""
    patch.setattr(campaigns, "BATCH", 50)
    patch.setattr(campaigns, "_FOR_ONE", 50)
    patch.setenv(VARIABLE, str(binary_of("valkey")))
    built_module()


def test_two_workers_on_servers_of_their_own_make_the_same_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one on the embedded server."""
    small_chunks(monkeypatch)
    layer = layer_of("three-jobs", 6)
    runs = []
    for name, workers in (("valkey", 2), ("embedded", 1)):
        with Campaign(name, workers=workers) as campaign:
            runs.append(campaign.run(layer, 320))
    assert (runs[0].digest, 0) == (runs[1].digest, runs[0].tally.undeclared)
    assert ["valkey", "embedded"] == [run.server for run in runs]


def marked(folder: Path) -> dict[int, str]:
    """The processes that have this as their temporary folder, and their programs: a server shows its socket there."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "environ").read_bytes() + (process / "cmdline").read_bytes():
                found[int(process.name)] = (process / "exe").readlink().name
        except OSError:
            continue
    return found


def servers_of(folder: Path) -> set[int]:
    """Those of them that are servers."""
    return {pid for pid, program in marked(folder).items() if program.startswith(("valkey", "redis"))}


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")


@needs_proc
def test_a_worker_whose_servers_die_is_a_lost_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One sentence comes through, and no server is left."""
    small_chunks(monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed = set()
    with Campaign("valkey", workers=2) as campaign:
        own = servers_of(tmp_path)

        def kill(cases: int) -> None:
            for pid in servers_of(tmp_path) - own:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(errors.ServerLost) as told:
            campaign.run(layer_of("three-jobs", 6), 400 * 50, tell=kill)
    assert killed
    assert "\n" not in str(told.value)
    wait_until(lambda: not servers_of(tmp_path), "the servers have ended")


COMMAND = """
import os, sys
os.cpu_count = lambda: 2
from emqlab.cli import main
sys.exit(main(["parity", "--layer", "three-jobs", "--server", "valkey", "--share", "1"]))
"""


@needs_proc
@pytest.mark.parametrize(
    ("number", "all_of_them", "status"),
    [
        (signal.SIGINT, True, 130),
        (signal.SIGTERM, False, 143),
        (signal.SIGKILL, False, -signal.SIGKILL),
    ],
    ids=["Ctrl-C", "a kill", "a kill that can't be caught"],
)
def test_an_ended_run_leaves_nothing(tmp_path: Path, number: int, all_of_them: bool, status: int) -> None:
    """Neither worker nor server nor folder, and no traceback of any of them. Ctrl-C reaches all of a terminal's."""
    (folder := tmp_path / "t").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder), VARIABLE: str(binary_of("valkey"))}
    built_module()
    run = subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        wait_until(lambda: 6 <= len(servers_of(folder)) or run.poll() is not None, "two workers have their servers")
        os.killpg(run.pid, number) if all_of_them else os.kill(run.pid, number)
        wait_until(lambda: run.poll() is not None, "the run has ended")
        wait_until(lambda: not marked(folder), "nothing of the run is left", seconds=10)
    finally:
        for pid in marked(folder):
            os.kill(pid, signal.SIGKILL)
        out, err = run.communicate()
    assert (status, "") == (run.returncode, out)
    assert "Traceback" not in err
    assert [] == list(folder.iterdir())
