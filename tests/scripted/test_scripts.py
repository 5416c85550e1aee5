"""The Lua files: sent by hash, sent again when forgotten, traced without a change (SPEC 4, ARCHITECTURE)."""

import re
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab.observe.case import Case
from emqlab.observe.case_reader import parse_text
from emqlab.observe.run import Run, run_case
from emqlab.observe.snapshot import take
from emqlab.parity.compare import plain_reply
from emqlab.scripted.scripts import SCRIPTS
from emqlab.transitions import OF_SCRIPT, Call
from tests.scripted.conftest import FlushOnTheWay

CASES = [
    case
    for file in sorted((Path(__file__).parents[1] / "cases").glob("*.json"))
    for case in parse_text(file.read_text(), file.name, lines=False)
]


def test_every_transition_has_its_file_and_every_file_its_transition() -> None:
    """claim_v1 is the one file beside them."""
    assert set(SCRIPTS) == set(OF_SCRIPT) | {"claim_v1"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_plain_lua(name: str) -> None:
    """No global of its own, at most one TIME, no unpack, nothing that only one server's Lua has."""
    text = re.sub(r"--[^\n]*", "", SCRIPTS[name].text.decode())
    assert not re.search(r"\b(unpack|cjson|bit|struct|os|io|loadstring|goto|setmetatable|debug)\b", text)
    assert text.count("'TIME'") <= 1
    assert not re.search(r"^[a-z_]+ *=", re.sub(r"^ +.*$", "", text, flags=re.M), flags=re.M)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_traced_form_holds_the_file_byte_for_byte(name: str) -> None:
    """What is stepped through is what runs, with the same line numbers."""
    script = SCRIPTS[name]
    start = script.traced.index(script.text)
    assert 0 == script.traced[:start].count(b"\n")


def _both(lab: emqlab.Lab, case: Case, name: Any) -> tuple[Run, Run]:
    server, executors = lab.bench()
    runs = [run_case(server, executors, case, name, traced=traced) for traced in (False, True)]
    assert isinstance(runs[0], Run)
    assert isinstance(runs[1], Run)
    return runs[0], runs[1]


@pytest.mark.parametrize("name", ["scripted", "native"])
def test_traced_and_untraced_have_the_same_effects(lab: emqlab.Lab, name: Any) -> None:
    """Every case: the same replies, the same keys to the byte."""
    for case in CASES:
        plain, traced = _both(lab, case, name)
        assert plain.after == traced.after, case.name
        assert [plain_reply(r) for r in plain.replies] == [plain_reply(r) for r in traced.replies], case.name


def test_a_forgotten_script_is_sent_again(lab: emqlab.Lab) -> None:
    """A flush between two calls is not noticed."""
    job = lab.scripted.enqueue("q", b"x")
    lab.client.script_flush()
    claimed = lab.scripted.claim("q")
    assert claimed is not None
    assert (job, 1) == (claimed.id, claimed.token)


def test_a_known_script_goes_by_its_hash(lab: emqlab.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second call sends EVALSHA alone."""
    lab.scripted.enqueue("q", b"x")
    sent: list[Any] = []
    real: Any = lab.client.execute_command

    def note(*command: Any) -> Any:
        sent.append(command[0])
        return real(*command)

    monkeypatch.setattr(lab.client, "execute_command", note)
    lab.scripted.enqueue("q", b"y")
    assert [b"EVALSHA"] == sent


def test_a_flush_inside_a_pipeline_loses_and_repeats_nothing(lab: emqlab.Lab, flush_on_the_way: FlushOnTheWay) -> None:
    """The cache is emptied after the first call has sent the script's text: each step happens once."""
    calls = [Call("enqueue", b"q", {"id": b"JOB0NgWEfAEJf%d" % i, "payload": b"p"}) for i in range(5)]
    flush_on_the_way(lab.scripted)
    calls.append(Call("promote", b"q", {"batch": b"10"}))
    calls.append(Call("claim", b"q", {"lease_ms": b"1000"}))
    replies = lab.scripted.perform_many(calls)
    assert [1, 1, 1, 1, 1, 0, [b"JOB0NgWEfAEJf0", b"p", 1]] == replies
    assert 4 == lab.client.zcard("emq:{q}:pending")


#: Who rings a lane, and who gives a slot back (SPEC 4.3).
RING = {"lane_enqueue", "lane_resume", "lane_limit", "complete", "retry", "reap", "promote", "sweep_stalled"}
FREE_SLOT = {"complete", "retry", "reap", "sweep_stalled"}


@pytest.mark.parametrize(("name", "owners"), [("ring", RING), ("free_slot", FREE_SLOT)])
def test_what_several_scripts_share_is_the_same_text(name: str, owners: set[str]) -> None:
    """The lane's bookkeeping stands in each file that needs it, letter for letter, with its comment, and is used."""
    found = {}
    for script in SCRIPTS.values():
        text = script.text.decode()
        copies = re.findall(rf"(?:^--[^\n]*\n)*^local function {name}\(.*?^end\n", text, re.DOTALL | re.MULTILINE)
        assert len(copies) <= 1
        assert bool(copies) == (text.count(f"{name}(") > 1)
        if copies:
            found[script.name] = copies[0]
    assert owners == set(found)
    assert 1 == len(set(found.values()))


def test_a_traced_runtime_error_reads_as_the_servers(lab: emqlab.Lab) -> None:
    """Both forms are ERR alone when they are compared."""
    call = Call("claim", b"q", {"lease_ms": b"x"})
    lab.scripted.enqueue("q", b"x")
    traced = lab.scripted.trace(call).reply
    lab.scripted.enqueue("q", b"x")
    assert {"error": "ERR"} == plain_reply(traced) == plain_reply(lab.scripted.perform(call))
    assert traced.text.startswith("ERR user_script:15: ")


def test_the_old_claim_is_paused_and_checked_as_the_new_one(lab: emqlab.Lab) -> None:
    """The ghost check is the one difference."""
    lab.scripted.enqueue("q", b"x")
    lab.scripted.pause("q")
    assert lab.scripted.claim_v1("q") is None
    with pytest.raises(ValueError, match="lease_ms"):
        lab.scripted.claim_v1("q", lease_ms=0)


def test_the_old_claim_leases_a_ghost(lab: emqlab.Lab) -> None:
    """Without the check an id that has no row gets a row and a lease."""
    ghost = b"JOB0NgWEfAEJfs"
    lab.client.zadd("emq:{q}:pending", {ghost: 0})
    assert emqlab.Claimed(ghost, None, 1) == lab.scripted.claim_v1("q")
    after = take(lab.client, b"q")
    assert {b"emq:{q}:active", b"emq:{q}:job:" + ghost} == set(after)
