"""Planted defects and changed sources: each applies, loads, and is what the executors then run."""

import re
import sys
from collections import Counter
from typing import Any

import pytest

import emqlab
from emqlab.native import rules
from emqlab.native.host import Refusal
from emqlab.native.module import CannotBuild
from emqlab.native.module.compiler import compile_verbs
from emqlab.native.verbs import VERBS
from emqlab.observe.run import Run
from emqlab.parity.defects.loading import CannotLoad
from emqlab.parity.defects.plants import PLANTS, Plant, plant_text, planted
from emqlab.parity.defects.sources import lua_complaint, module_of, open_defective, own_sources, scripts_of, verbs_of
from emqlab.scripted.scripts import SCRIPTS
from emqlab.servers.binaries import NoServer
from emqlab.servers.process import CannotStart

GHOST = "JOB0NgWEfAEJfs"
CLAIM_A_GHOST = {
    "name": "ghost",
    "queue": "q",
    "given": [["ZADD", "{p}pending", "0", GHOST]],
    "when": [{"verb": "claim", "lease_ms": "1000"}],
}
LEASED = [[GHOST.encode(), None, 1]]


def test_there_are_enough_of_them() -> None:
    """At least 32, and at least 14 in each executor, each named for the rule that it breaks."""
    counted = Counter(plant.executor for plant in PLANTS.values())
    assert len(PLANTS) >= 32
    assert min(counted["scripted"], counted["native"]) >= 14
    for name, plant in PLANTS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", name), name
        assert re.fullmatch(r"[A-Za-z].*[^.]\.", plant.rule), plant.rule


def test_a_rule_of_both_executors_is_broken_in_both() -> None:
    """Whatever is planted in Lua under such a name is planted in Python, and breaks the same rule."""
    stems = {name.rpartition("-in-")[0] for name in PLANTS if name.endswith(("-in-lua", "-in-python"))}
    assert len(stems) >= 14
    for stem in stems:
        lua, python = PLANTS[f"{stem}-in-lua"], PLANTS[f"{stem}-in-python"]
        assert (lua.rule, "scripted", "native") == (python.rule, lua.executor, python.executor)


@pytest.mark.parametrize("plant", PLANTS.values(), ids=lambda plant: plant.name)
def test_a_plant_applies_and_loads(plant: Plant) -> None:
    """It changes one text and no other, and that text is read by Lua, or by Python and by the compiler."""
    own, changed = own_sources(), plant.sources
    files = {f"{name}.lua" for name in own.scripts} | {f"{name}.py" for name in own.verbs}
    assert [plant.file] == [file for file in sorted(files) if own.text(file) != changed.text(file)]
    if plant.executor == "scripted":
        assert lua_complaint(changed.text(plant.file)) is None
    else:
        assert set(VERBS) == set(verbs_of(changed))
        assert compile_verbs(own.verbs) != compile_verbs(changed.verbs)


def test_own_sources_are_what_the_lab_runs() -> None:
    """Unchanged, the scripts have the lab's hashes and the verbs the lab's code."""
    assert scripts_of(own_sources()) == SCRIPTS
    for name, verb in verbs_of(own_sources()).items():
        code = verb.__wrapped__.__code__  # type: ignore[attr-defined]
        assert VERBS[name].__code__.co_code == code.co_code, name


@pytest.mark.parametrize("name", ["claim-forgets-lease", "no such thing at all", ""])
def test_an_unknown_name_is_answered_with_others(name: str) -> None:
    """One sentence, with names that are in the list."""
    with pytest.raises(ValueError, match=re.escape(f"there is no planted defect {name!r}; there are ")) as told:
        planted(name)
    offered = str(told.value).partition("such as ")[2].split(", ")
    assert 1 <= len(offered) <= 4
    assert set(offered) <= set(PLANTS)


def test_a_near_name_is_offered_first() -> None:
    """Without its ending a name is near to both of its kind."""
    with pytest.raises(ValueError, match="such as sweep-off-by-one-cap-in-lua, sweep-off-by-one-cap-in-python"):
        planted("sweep-off-by-one-cap")


def test_a_text_that_moved_on_is_said_so() -> None:
    """A plant whose place is gone says where it is to be mended."""
    with pytest.raises(ValueError, match=r"gone no longer fits claim\.lua; say in planted\.toml"):
        _ = Plant("gone", "A rule.", "claim.lua", "no such text", "").sources


@pytest.mark.parametrize(
    ("name", "executor", "sound"),
    [
        ("claim-skips-the-ghost-check-in-lua", "scripted", "native"),
        ("claim-skips-the-ghost-check-in-python", "native", "scripted"),
    ],
)
def test_a_defect_runs_in_its_executor_alone(name: str, executor: Any, sound: Any) -> None:
    """On the bench and by method, while the other executor stays sound."""
    with open_defective(planted(name)) as lab:
        runs = [lab.run(CLAIM_A_GHOST, executor=which) for which in (executor, sound)]
        assert [LEASED, [[]]] == [list(run.replies) for run in runs if isinstance(run, Run)]
        lab.client.zadd("emq:{q}:pending", {GHOST: 0})
        assert emqlab.Claimed(GHOST.encode(), None, 1) == lab.executor(executor).claim("q")


def test_a_defect_stays_in_its_lab(lab: emqlab.Lab) -> None:
    """Neither the package's modules nor another lab are touched by a changed rule."""
    modules = dict(sys.modules)
    sources = own_sources().replaced("rules.py", own_sources().text("rules.py").replace('b"job:"', 'b"row:"'))
    with open_defective(sources) as changed:
        with pytest.raises(emqlab.BadArgument, match="keys must be those of one queue"):
            changed.native.enqueue("q", b"tea")
        lab.native.enqueue("q", b"tea")
    assert b"job:" == rules.JOB
    assert [] == [name for name, module in sys.modules.items() if modules.get(name, module) is not module]


def test_a_defect_runs_on_a_real_server() -> None:
    """The same plants as scripts and as a module of a server, on its bench too."""
    for name, executor in [
        ("claim-skips-the-ghost-check-in-lua", "scripted"),
        ("claim-skips-the-ghost-check-in-python", "native"),
    ]:
        try:
            lab = open_defective(planted(name), "valkey")
        except (NoServer, CannotBuild, CannotStart) as error:
            pytest.skip(str(error))
        with lab:
            run = lab.run(CLAIM_A_GHOST, executor=executor)  # type: ignore[arg-type]
            assert isinstance(run, Run)
            assert LEASED == list(run.replies)


def test_a_server_that_is_not_the_labs_own_is_refused() -> None:
    """A user's server is never given changed verbs."""
    with pytest.raises(ValueError, match="server must be embedded or valkey, not 'redis://x'"):
        open_defective(own_sources(), "redis://x")  # type: ignore[arg-type]


def test_a_reader_plants_a_text() -> None:
    """With the ending or without, in either executor."""
    own = own_sources()
    changed = own.text("fail.py").replace(">=", ">")
    assert changed == plant_text("native", "fail", changed).text("fail.py")
    assert plant_text("native", "fail", changed) == plant_text("native", "fail.py", changed)
    assert "return 1" == plant_text("scripted", "complete.lua", "return 1").text("complete.lua")


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (("both", "claim", ""), ValueError, "executor must be 'scripted' or 'native', not 'both'"),
        (("scripted", "clam", ""), ValueError, "the scripted executor has no file 'clam'; it has claim, "),
        (("native", "claim.lua", ""), ValueError, "the native executor has no file 'claim.lua'; it has claim, "),
        (("native", "claim", b""), TypeError, "text must be a str, not bytes"),
        (("scripted", "claim", "if x\n"), CannotLoad, "claim.lua:2: 'then' expected near '<eof>'"),
        (("native", "claim", "\ndef claim(:"), CannotLoad, "claim.py:2: invalid syntax"),
        (("native", "claim", "x = 1"), CannotLoad, "claim.py: there is no function claim in it"),
        (("native", "rules", "\nJOB = 1 // 0"), CannotLoad, "rules.py:2: ZeroDivisionError: "),
        (("native", "claim", "import emqlab.native.rules"), CannotLoad, "write: from emqlab.native import rules"),
        (("native", "claim", "from emqlab.native import nope"), CannotLoad, "claim.py:1: ImportError: cannot import"),
    ],
)
def test_a_readers_mistake_is_one_sentence(given: tuple[str, str, Any], error: type[Exception], said: str) -> None:
    """It names what is wrong, with file and line where there is one."""
    with pytest.raises(error, match=re.escape(said)) as told:
        plant_text(*given)
    assert "\n" not in str(told.value)


def test_a_mistake_that_shows_in_a_run_is_a_reply() -> None:
    """The caller is told what Python says of it, and where, and the server goes on."""
    text = own_sources().text("claim.py")
    sources = plant_text("native", "claim", text.replace("return [job_id, payload, token]", "return token - payload"))
    line = text.splitlines().index("    return [job_id, payload, token]") + 1
    with open_defective(sources) as lab:
        lab.native.enqueue("q", b"tea")
        with pytest.raises(emqlab.ServerRefused, match=rf"^EMQHOST claim\.py:{line}: TypeError: unsupported operand"):
            lab.native.claim("q")
        assert lab.native.claim("q") is None


def test_imports_are_of_the_changed_files() -> None:
    """A verb reads a changed rule however it imports it, and the real host."""
    rule = own_sources().text("rules.py") + "\n\ndef added() -> bytes:\n    return b'changed'\n"
    for form in ("from emqlab.native.rules import added", "from emqlab.native import rules\nadded = rules.added"):
        verb = f"from emqlab.native.host import Refusal\n{form}\ndef claim(host, args):\n    raise Refusal(added())\n"
        changed = own_sources().replaced("rules.py", rule).replaced("claim.py", verb)
        with pytest.raises(Refusal, match="changed"):
            verbs_of(changed)["EMQ.CLAIM"](None, [])  # type: ignore[arg-type]


def test_what_c_cannot_be_made_of_is_said_so() -> None:
    """With the file and the line; a verb outside the subset still runs on the embedded server."""
    text = own_sources().text("claim.py").replace("    host.fence()\n", "    while False: pass\n")
    line = text.splitlines().index("    while False: pass") + 1
    sources = plant_text("native", "claim", text)
    with pytest.raises(CannotLoad, match=rf"^claim\.py:{line}: not a statement of the subset: while False:$"):
        module_of(sources)
