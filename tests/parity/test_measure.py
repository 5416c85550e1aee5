"""``emqlab parity``: exit statuses, the lines that it prints, the sentences on stderr (SPEC 9, issue 4)."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from emqlab import errors
from emqlab.cli import main
from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab
from emqlab.observe.case_reader import parse_case
from emqlab.parity import measure
from emqlab.parity.defects import hunt, planting
from emqlab.parity.defects.plants import PLANTS, planted
from emqlab.parity.defects.sources import open_defective
from emqlab.parity.options import CASES
from emqlab.parity.rig import BATCH, Rig
from emqlab.parity.tally import KEPT
from emqlab.parity.teller import Teller
from emqlab.parity.trials.layers import LAYERS

#: One case in so many: enough for a run that takes a moment.
FEW = ("--share", "4000")
LAYER_KEYS = ["layer", "server", "cases", "seconds", "rate", "undeclared", "divergences", "digest"]
#: A defect that shows in many cases.
DEFECT = "fail-loses-the-last-error-in-lua"
CLOSED_PORT = "redis://127.0.0.1:1"


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended: its exit status, its lines on standard output, all of standard error."""

    status: int
    out: list[str]
    err: str

    @property
    def told(self) -> list[dict[str, Any]]:
        """The lines as JSON."""
        return [json.loads(line) for line in self.out]

    @property
    def sentence(self) -> str:
        """The one line on standard error."""
        assert 1 == self.err.count("\n"), self.err
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        return self.err.removesuffix("\n")


Command = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line of ``emqlab``."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        captured = capsys.readouterr()
        return Said(status, captured.out.splitlines(), captured.err)

    return run


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server is named by the environment."""
    monkeypatch.delenv("EMQLAB_SERVER", raising=False)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Plants a defect: whatever opens the embedded lab from then on gets one that has it."""

    def plant(name: str) -> None:
        def opened(server: str | None = None, *, seed: int = 0) -> Lab:
            return open_defective(planted(name), "embedded", seed=seed)

        monkeypatch.setattr("emqlab.parity.ground.open_lab", opened)
        monkeypatch.setattr("emqlab.lab.open_lab", opened)

    return plant


# ---------------------------------------------------------------- a layer


@pytest.mark.parametrize("name", CASES)
def test_a_layer_is_a_line_of_json(command: Command, name: str) -> None:
    """Just these keys, in this order, every number there is; nothing else on stdout, nothing at all on stderr."""
    said = command("parity", "--layer", name, *FEW, "--json")
    assert (0, "") == (said.status, said.err)
    (told,) = said.told
    assert LAYER_KEYS == list(told)
    assert [name, "embedded", 0] == [told["layer"], told["server"], told["undeclared"]]
    size = LAYERS[name].make(0).size or measure.DRAWN[name]
    assert -(-size // 4_000) == told["cases"]
    assert [str(number) for number in DIVERGENCES] == list(told["divergences"])
    assert all(isinstance(cases, int) and cases >= 0 for cases in told["divergences"].values())
    assert re.fullmatch(r"[0-9a-f]{64}", told["digest"])
    assert isinstance(told["seconds"], float)
    assert isinstance(told["rate"], float)


def test_without_a_layer_the_layers_of_cases_are_run(command: Command) -> None:
    """All four, in their order."""
    said = command("parity", *FEW, "--json")
    assert (0, list(CASES)) == (said.status, [line["layer"] for line in said.told])


def test_layers_are_run_as_they_are_named_and_once(command: Command) -> None:
    """With commas between, or by more options."""
    said = command("parity", "--layer", "three-jobs, corruption", "--layer", "three-jobs", *FEW, "--json")
    assert (0, ["three-jobs", "corruption"]) == (said.status, [line["layer"] for line in said.told])


def test_the_same_seed_makes_the_same_digest(command: Command) -> None:
    """And the same counts; another seed makes another run."""
    runs = [command("parity", "--layer", "corruption", *FEW, "--seed", seed, "--json").told[0] for seed in "778"]
    timed = {"seconds", "rate"}
    first, again, other = ({key: value for key, value in run.items() if key not in timed} for run in runs)
    assert first == again
    assert first["digest"] != other["digest"]


def test_without_json_it_is_a_report(command: Command) -> None:
    """The server and the seed first, then the headline; on stderr nothing, for it is no terminal."""
    said = command("parity", "--layer", "three-jobs", "--share", "500", "--seed", "5")
    assert (0, "") == (said.status, said.err)
    assert ["Parity on embedded, seed 5", "0 undeclared differences in 100 cases"] == said.out[:2]


def test_minutes_end_a_layer_early(command: Command) -> None:
    """Few cases are run in little time, and what was run of them is as declared."""
    said = command("parity", "--layer", "exhaustive", "--minutes", "0.0000001", "--json")
    assert (0, True) == (said.status, said.told[0]["cases"] <= BATCH)
    assert "Traceback" not in said.err


@pytest.mark.parametrize("server", ["embedded", "auto"])
def test_the_server_may_be_named_by_the_environment(
    command: Command, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    """An option wins over it, ``auto`` takes it."""
    monkeypatch.setenv("EMQLAB_SERVER", "embedded" if server == "auto" else CLOSED_PORT)
    said = command("parity", "--layer", "three-jobs", *FEW, "--server", server, "--json")
    assert (0, "embedded") == (said.status, said.told[0]["server"])


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_a_terminal_sees_a_bar_and_nobody_else_does() -> None:
    """It says what is run, and of how many cases."""
    seen = []
    for err in (Terminal(), io.StringIO()):
        teller = Teller(as_json=True, out=io.StringIO(), err=err)
        with teller.progress("exhaustive", 400, "cases") as tell:
            tell(400)
        seen.append(err.getvalue())
    assert ("exhaustive" in seen[0], "/400" in seen[0], "") == (True, True, seen[1])


# ---------------------------------------------------------------- the page


def test_a_page_is_written(command: Command, tmp_path: Path) -> None:
    """Beside what is told on stdout; it holds the digest that is told there."""
    page = tmp_path / "report.html"
    said = command("parity", "--layer", "three-jobs", *FEW, "--json", "--page", str(page))
    assert (0, "", 1) == (said.status, said.err, len(said.out))
    html = page.read_text(encoding="utf-8")
    assert html.lower().startswith("<!doctype html>")
    assert said.told[0]["digest"] in html


@pytest.mark.parametrize("place", ["report.txt", "report", "nowhere/report.html", "folder.html"])
def test_a_page_that_can_t_be_written_is_refused_first(command: Command, tmp_path: Path, place: str) -> None:
    """Before anything is run: one sentence that names it."""
    (tmp_path / "folder.html").mkdir()
    said = command("parity", "--layer", "three-jobs", *FEW, "--page", str(tmp_path / place))
    assert (2, []) == (said.status, said.out)
    assert said.sentence.startswith("emqlab parity: ")
    assert place.split("/")[0] in said.sentence


# ---------------------------------------------------------------- unusable


#: What is asked for -> words of the one sentence that it is answered with.
MISTAKES: dict[tuple[str, ...], str] = {
    ("--layer", "exhaustiv"): "'exhaustiv' is no layer; those are exhaustive, corruption, histories, three-jobs",
    ("--layer", "corruption,,plants"): "'' is no layer",
    ("--minutes", "0"): "a number of minutes above 0 and up to 10000 is needed, not '0'",
    ("--minutes", "-1"): "a number of minutes above 0 and up to 10000 is needed, not '-1'",
    ("--minutes", "nan"): "a number of minutes above 0 and up to 10000 is needed, not 'nan'",
    ("--minutes", "soon"): "a number of minutes above 0 and up to 10000 is needed, not 'soon'",
    ("--seed", "-1"): "a whole number from 0 to 9223372036854775807 is needed, not '-1'",
    ("--seed", "1.5"): "a whole number from 0 to 9223372036854775807 is needed, not '1.5'",
    ("--seed", "٣"): "a whole number from 0 to 9223372036854775807 is needed",
    ("--share", "0"): "a whole number from 1 to 1000000 is needed, not '0'",
    ("--index", "x", "--layer", "corruption"): "a whole number from 0 to 9223372036854775807 is needed, not 'x'",
    ("--index", "3"): "--index needs one --layer of cases: exhaustive, corruption, histories, three-jobs",
    ("--index", "3", "--layer", "corruption,exhaustive"): "--index needs one --layer of cases",
    ("--index", "3", "--layer", "plants"): "--index needs one --layer of cases",
    ("--index", "99999999", "--layer", "exhaustive"): "exhaustive has the trials 0 to 1223261, not 99999999",
    ("--plant", "claim-forgets-the-lease"): "there is no planted defect 'claim-forgets-the-lease'",
    ("--plant", ""): "there is no planted defect ''",
    ("--plant", DEFECT, "--server", CLOSED_PORT): "embedded or valkey",
    ("--plant", "no-such", "--index", "3", "--layer", "corruption"): "there is no planted defect 'no-such'",
    ("--server", "embeded"): "server must be embedded, valkey, auto, or a URL",
    ("--server", CLOSED_PORT): "127.0.0.1:1",
    ("--server", "http://127.0.0.1:1"): "http",
    ("--index", "3", "--layer", "corruption", "--server", CLOSED_PORT): "127.0.0.1:1",
    ("--nothing",): "unrecognized arguments: --nothing",
}


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_sentence(command: Command, words: tuple[str, ...]) -> None:
    """Exit status 2, nothing on stdout, no traceback, also with --json."""
    for more in ((), ("--json",)):
        said = command("parity", *words, *more)
        assert (2, []) == (said.status, said.out)
        assert said.sentence.removeprefix("emqlab: ").removeprefix("emqlab parity: ") != said.sentence
        assert MISTAKES[words] in said.sentence


def test_a_defect_is_planted_where_the_environment_says(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As --server does: a server of somebody else's gets none, and it is not quietly done elsewhere."""
    monkeypatch.setenv("EMQLAB_SERVER", CLOSED_PORT)
    said = command("parity", "--plant", DEFECT)
    assert (2, []) == (said.status, said.out)
    assert "embedded or valkey" in said.sentence


def test_a_defect_may_be_planted_wherever_auto_finds_itself(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """``auto`` is one of the servers that --server takes."""
    monkeypatch.setenv("EMQLAB_SERVER", "embedded")
    said = command("parity", "--plant", DEFECT, "--server", "auto", "--json")
    assert (0, [True]) == (said.status, [line["caught"] for line in said.told])


# ---------------------------------------------------------------- lost


@pytest.mark.parametrize("words", [("--layer", "corruption", *FEW), ("--layer", "corruption", "--index", "5"),
                                   ("--plant", DEFECT)], ids=" ".join)  # fmt: skip
def test_a_lost_server_is_three(command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    """In the midst of it: one sentence."""

    def lost(*_: object) -> None:
        raise errors.ServerLost("Connection closed by server.")

    monkeypatch.setattr(Rig, "run", lost)
    said = command("parity", *words, "--json")
    assert (3, []) == (said.status, said.out)
    assert said.sentence.startswith("emqlab parity: the server was lost: Connection closed by server.")


def test_an_interrupt_is_no_traceback(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit status 130, and nothing is said."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Rig, "run", interrupted)
    said = command("parity", "--layer", "corruption", *FEW)
    assert (130, [], "") == (said.status, said.out, said.err)


# ---------------------------------------------------------------- not as declared


@pytest.fixture
def run_case(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Said]:
    """``emqlab run - --json`` on one printed case."""

    def run(case: str) -> Said:
        monkeypatch.setattr("sys.stdin", io.StringIO(case))
        return command("run", "-", "--json")

    return run


def test_an_undeclared_difference_is_one(
    command: Command, plant: Callable[[str], None], run_case: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told with its number and what is wrong, shrunk, and printed as a case that shows it when it is run."""
    plant(DEFECT)
    said = command("parity", "--layer", "corruption", "--share", "2000", "--json")
    assert (1, 1) == (said.status, len(said.out))
    undeclared = said.told[0]["undeclared"]
    lines = said.err.splitlines()
    named = [line for line in lines if re.match(r"corruption/0/\d+: scripted: ", line)]
    assert min(undeclared, KEPT) == len(named)
    assert f"corruption: {undeclared} cases in all are not as declared" in lines
    case = lines[-1]
    assert "the smallest case found that shows it, for `emqlab run -`:" == lines[-2]
    # The replies and keys that it shows here are those that were complained of.
    ran = run_case(case)
    scripted, native = ran.told
    row = f"emq:{{q}}:job:{json.loads(case)['when'][0]['id']}"
    complaints = [line.strip() for line in lines[:-2] if line.startswith("  ")]
    assert [f"scripted: {row} is "] == [line[: len(f"scripted: {row} is ")] for line in complaints]
    assert "last_error" not in complaints[0].partition(", and ")[0]
    assert (1, ["scripted", "native"]) == (ran.status, [scripted["executor"], native["executor"]])
    assert "last_error" not in dict(scripted["keys"][row]["value"])
    # Where nothing is planted the same case is as it says.
    monkeypatch.undo()
    sound = run_case(case)
    assert (0, "") == (sound.status, sound.err)
    assert "boom" == dict(sound.told[0]["keys"][row]["value"])["last_error"]


def test_an_undeclared_difference_where_none_is_declared_does_not_hold(
    command: Command, plant: Callable[[str], None], run_case: Callable[[str], Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The printed case has no ``differs``, so ``emqlab run`` finds the same difference in it, until it is mended."""
    plant("enqueue-overwrites-a-duplicate-in-lua")
    said = command("parity", "--layer", "exhaustive", "--share", "3000", "--json")
    case = said.err.splitlines()[-1]
    assert "differs" not in json.loads(case)
    ran = run_case(case)
    assert (1, "enqueue") == (ran.status, json.loads(case)["when"][-1]["verb"])
    assert "step 1 enqueue, reply: scripted {'ok': 1}, native {'ok': 0}" in ran.err
    monkeypatch.undo()
    assert 0 == run_case(case).status


def test_a_divergence_that_shows_no_more_is_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case that must show it is run first: its number, its name, and what it says."""
    claim = {"verb": "claim", "lease_ms": "1"}
    shown = {9: {"name": "agree", "queue": "q", "when": [claim], "differs": [9]}}
    monkeypatch.setattr("emqlab.parity.declared.shown_case", shown.get)
    said = command("parity", "--layer", "three-jobs", *FEW, "--json")
    assert (1, 1) == (said.status, len(said.out))
    assert said.sentence.startswith("divergence 9: agree: differs says the executors part here")


# ---------------------------------------------------------------- one case again


def test_a_case_is_run_again_by_its_number(command: Command, run_case: Callable[[str], Said]) -> None:
    """The case, both replies, the divergences: as JSON, and the case is one for ``emqlab run``."""
    layer = LAYERS["corruption"].make(7)
    for index in (0, 12_345, 600_000):
        said = command("parity", "--layer", "corruption", "--seed", "7", "--index", str(index), "--json")
        assert (0, "") == (said.status, said.err)
        (told,) = said.told
        assert ["case", "scripted", "native", "errors", "divergences", "complaints"] == list(told)
        assert (f"corruption/7/{index}", []) == (told["case"]["name"], told["complaints"])
        assert told["divergences"] == told["case"].get("differs", [])
        assert len(layer.trial(index).steps) == len(told["scripted"]) == len(told["native"])
        parse_case(told["case"])
        assert 0 == run_case(json.dumps(told["case"])).status


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_told_in_lines(command: Command, name: str) -> None:
    """Without --json: what it is, and what came of it, a line each."""
    said = command("parity", "--layer", name, "--index", "11")
    assert (0, "") == (said.status, said.err)
    assert ["case", "scripted", "native", "errors", "divergences", "complaints"] == [
        line.split()[0] for line in said.out
    ]
    assert f"{name}/0/11" == json.loads(said.out[0].removeprefix("case").strip())["name"]


def test_the_last_case_of_each_layer_is_run_again(command: Command) -> None:
    """Also one that only one executor is given."""
    for name in ("exhaustive", "corruption"):
        last = (LAYERS[name].make(0).size or 0) - 1
        said = command("parity", "--layer", name, "--index", str(last), "--json")
        assert (0, "") == (said.status, said.err)
        assert f"{name}/0/{last}" == said.told[0]["case"]["name"]


def test_a_finding_is_shown_again_with_its_defect(command: Command, plant: Callable[[str], None]) -> None:
    """By the number that the run has told, planted once more: exit status 1 and the same complaint."""
    plant(DEFECT)
    told = command("parity", "--layer", "corruption", "--share", "2000", "--json").err.splitlines()[0]
    name, _, complaint = told.partition(": ")
    said = command("parity", "--layer", "corruption", "--index", name.rpartition("/")[2], "--plant", DEFECT, "--json")
    assert (1, True) == (said.status, complaint in said.told[0]["complaints"])


# ---------------------------------------------------------------- defects


@pytest.mark.parametrize("name", [DEFECT, "sweep-off-by-one-cap-in-python"])
def test_a_planted_defect_is_a_line_of_json(command: Command, name: str) -> None:
    """Which one, whether it was caught, and after how many cases."""
    said = command("parity", "--plant", name, "--json")
    assert (0, "") == (said.status, said.err)
    (told,) = said.told
    assert ["plant", "caught", "after"] == list(told)
    assert (name, True) == (told["plant"], told["caught"])
    assert 0 < told["after"] <= hunt.PATIENCE
    assert told == command("parity", "--plant", name, "--json").told[0]


def test_a_planted_defect_is_shown(command: Command, run_case: Callable[[str], Said]) -> None:
    """Its rule and its lines, when it was caught, and the smallest case on stderr, which ``emqlab run`` takes."""
    said = command("parity", "--plant", DEFECT)
    plant = PLANTS[DEFECT]
    assert 0 == said.status
    assert f"{DEFECT}, planted in {plant.file}: {plant.rule}" == said.out[0]
    assert f"  - {plant.old.strip().splitlines()[0].strip()}" in said.out
    assert re.fullmatch(r"caught after [\d,]+ cases on embedded", said.out[-1])
    assert 0 == run_case(said.err.splitlines()[-1]).status


def test_a_defect_that_is_not_caught_is_one(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said so, with and without --json."""
    monkeypatch.setattr(hunt, "hunted", lambda *_: hunt.Caught(None))
    said = command("parity", "--plant", DEFECT, "--json")
    assert (1, [{"plant": DEFECT, "caught": False, "after": None}]) == (said.status, said.told)
    said = command("parity", "--plant", DEFECT)
    assert (1, "not caught on embedded") == (said.status, said.out[-1])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Only three defects, planted one after the other in this process."""
    names = [DEFECT, "sweep-off-by-one-cap-in-python", "complete-keeps-the-row"]
    monkeypatch.setattr(planting, "PLANTS", {name: PLANTS[name] for name in names})
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    return names


def test_the_layer_of_plants_is_a_line_each(command: Command, few: list[str]) -> None:
    """In their order, each as if it had been planted by name."""
    said = command("parity", "--layer", "plants", "--json")
    assert (0, "", few) == (said.status, said.err, [line["plant"] for line in said.told])
    assert command("parity", "--plant", few[2], "--json").told == said.told[2:]


def test_plants_that_are_not_caught_are_one(command: Command, few: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence each, with the rule that nobody watches."""
    monkeypatch.setattr(planting, "hunted", lambda *_: hunt.Caught(None))
    said = command("parity", "--layer", "plants", "--json")
    assert (1, [None] * 3) == (said.status, [line["after"] for line in said.told])
    assert [f"plant {name} was not caught: {PLANTS[name].rule}" for name in few] == said.err.splitlines()


def test_two_workers_plant_what_one_does(few: list[str]) -> None:
    """Each in a process of its own; the results in the order of the list."""
    one = planting.run_plants(server="embedded", seed=3, workers=1)
    two = planting.run_plants(server="embedded", seed=3, workers=2)
    assert one == two
    assert few == [result.plant for result in two]


def test_the_plants_are_listed(command: Command) -> None:
    """A line each: name, executor, rule; nothing is run."""
    said = command("parity", "--plants")
    assert (0, len(PLANTS)) == (said.status, len(said.out))
    for line, plant in zip(said.out, PLANTS.values(), strict=True):
        assert [plant.name, plant.executor, *plant.rule.split()] == line.split()
    told = command("parity", "--plants", "--json").told
    assert [{"plant": p.name, "executor": p.executor, "file": p.file, "rule": p.rule} for p in PLANTS.values()] == told


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every lab that a command opens is closed again, however it ends."""
    open_labs: list[Lab] = []
    made, close = Lab.__init__, Lab.close

    def opening(lab: Lab, *words: Any, **options: Any) -> None:
        made(lab, *words, **options)
        open_labs.append(lab)

    def closing(lab: Lab) -> None:
        close(lab)
        open_labs[:] = [other for other in open_labs if other is not lab]

    monkeypatch.setattr(Lab, "__init__", opening)
    monkeypatch.setattr(Lab, "close", closing)
    yield
    assert [] == open_labs


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--plants", "--plant", "claim-forgets-the-fence"], "--plant"),
        (["--index", "1", "--layer", "exhaustive", "--share", "5"], "--share"),
        (["--index", "1", "--layer", "exhaustive", "--minutes", "1"], "--minutes"),
        (["--plant", "claim-forgets-the-fence", "--layer", "exhaustive"], "--layer"),
        (["--plant", "claim-forgets-the-fence", "--page", "x.html"], "--page"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(
    capsys: pytest.CaptureFixture[str], words: list[str], left: str
) -> None:
    """In one sentence that names it, before anything is run."""
    assert 2 == main(["parity", *words])
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert f"takes no {left}" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["--minutes", "1", "--share", "5"],
        ["--layer", "mutants", "--minutes", "1"],
        ["--layer", "histories,plants", "--minutes", "1"],
        ["--layer", "plants", "--share", "9"],
    ],
)
def test_what_would_limit_nothing_is_refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """In one sentence, before anything is run."""
    assert 2 == main(["parity", *words])
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))


def test_what_no_longer_differs_is_no_green_report(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A declared divergence whose case agrees is told first, on the terminal and on the page."""
    agreeing = {
        "name": "agrees",
        "queue": "q",
        "given": [],
        "when": [{"verb": "claim", "lease_ms": "9"}],
        "differs": [3],
    }
    monkeypatch.setattr("emqlab.parity.declared.shown_case", {3: agreeing}.get)
    page = tmp_path / "page.html"
    words = ["--layer", "three-jobs", "--server", "embedded", "--seed", "0", "--share", "5000"]
    assert 1 == main(["parity", *words, "--page", str(page)])
    told = capsys.readouterr().out.splitlines()
    assert "1 more that is not as declared" in told[:4]
    assert f"the same again: emqlab parity {' '.join(words)}" in told
    assert "divergence 3: agrees" in page.read_text(encoding="utf-8")


def test_without_the_mutation_tool_nothing_is_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence that says how to install it."""
    monkeypatch.setitem(sys.modules, "cosmic_ray.plugins", None)
    assert 2 == main(["parity", "--layer", "three-jobs,mutants", "--share", "5000", "--json"])
    said = capsys.readouterr()
    assert ("", 1) == (said.out, said.err.count("\n"))
    assert "pip install" in said.err
