"""The widgets of dive 05: each pick is run on every column, and ends as the specification says."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.counters import COUNTERS, EPOCH
from emqlab.observe.walk import moments, place
from emqlab.teach import cases
from emqlab.teach.cases.recovery import LEDGER, MEMBERS, reaped
from emqlab.teach.measured import measure

Maker = Callable[..., widgets.Stage]
MAKERS: tuple[Maker, ...] = (widgets.counters, widgets.expired_lease, widgets.restart)
COLUMNS = {"Ledger": 2, "Expired lease": 3, "Restart": 2}


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def maker(request: pytest.FixtureRequest) -> Maker:
    """Each widget of the dive."""
    made: Maker = request.param
    return made


def choices(stage: widgets.Stage) -> Iterator[dict[str, str]]:
    """Every combination of a stage's options."""
    values = [[option["value"] for option in pick["options"]] for pick in stage.picks]
    for chosen in itertools.product(*values):
        yield {pick["name"]: value for pick, value in zip(stage.picks, chosen, strict=True)}


def bundle(stage: widgets.Stage) -> dict[str, str]:
    """The texts that a notebook stores for a stage."""
    data, _ = stage._repr_mimebundle_()
    return {kind: data[kind] for kind in ("text/html", "text/plain")}


def ends(stage: widgets.Stage) -> list[str]:
    """Where the job is at the end, column by column."""
    return [place(told[-1].state, stage.recording["subject"]) for told in moments(stage.recording)]


def stalled(stage: widgets.Stage) -> list[str]:
    """What stalled says at the end, column by column."""
    rows = [told[-1].state["rows"].get(stage.recording["subject"]) for told in moments(stage.recording)]
    return [row.get("stalled", "absent") if isinstance(row, dict) else "no hash" for row in rows]


def test_every_choice_is_run_on_every_column_in_words(lab: emqlab.Lab, maker: Maker) -> None:
    """Each row has its word, each frame its sentence; and the case on show is one that ``emqlab run`` is tried with."""
    known = {case["name"]: case for case in cases.every_case()}
    stage = maker(lab)
    for choice in choices(stage):
        stage.choice = choice
        assert (stage.trouble, stage.shown) == ("", choice)
        recording = json.loads(json.dumps(stage.recording))
        assert len(recording["executors"]) == COLUMNS[stage.title]
        assert all(step["word"] for step in recording["steps"])
        assert all(frame["note"].endswith(".") for one in recording["executors"] for frame in one["frames"])
        assert recording["case"] == known[recording["case"]["name"]]
        assert {number for number, _ in stage._shown().differs} <= {int(number) for number in stage.divergences}


def test_text_and_html_are_the_same_each_time(lab: emqlab.Lab, maker: Maker) -> None:
    """Two kernels store the same texts, whatever was done before."""
    lab.native.enqueue("orders", b"else")
    lab.advance_ms(1_234)
    lab.restart()
    with emqlab.open_lab("embedded") as other:
        assert bundle(maker(other)) == bundle(maker(lab))


def test_without_a_lab_a_widget_brings_its_own_and_questions_can_be_left_out(maker: Maker) -> None:
    """A stage can be shown in one line."""
    assert maker().predict
    assert maker(predict=False).predict is None


def test_a_first_choice_that_is_none_is_refused(lab: emqlab.Lab) -> None:
    """With a sentence that lists the ones there are."""
    assert widgets.counters(lab, choice="requeue").shown == {"verb": "requeue"}
    with pytest.raises(ValueError, match="verb has no option 'steal'; it has enqueue, "):
        widgets.counters(lab, choice="steal")
    with pytest.raises(ValueError, match="member has no option 'nobody'"):
        widgets.expired_lease(lab, choice={"member": "nobody"})
    with pytest.raises(ValueError, match="restarts has no option 'often'; it has once, twice, none"):
        widgets.restart(lab, choice={"restarts": "often"})


LANE = "g:blue:pending"
#: SPEC 4.1, 4.3 and 5.2: member -> after reap; after the scripted sweep and the verb with max_stalled 1, 2 and 3.
ENDS = {
    "this-epoch": ("pending", ("dead", "pending", "pending"), ("dead", "pending", "pending")),
    "earlier-epoch": ("pending", ("dead", "pending", "pending"), ("pending",) * 3),
    "no-stamp": ("pending", ("dead", "pending", "pending"), ("pending",) * 3),
    "stalled-once": ("pending", ("dead", "dead", "pending"), ("dead", "dead", "pending")),
    "ghost": ("pending", ("dead", "pending", "pending"), ("gone",) * 3),
    "lane": (LANE, ("dead", LANE, LANE), ("active",) * 3),
    "bad-counter": ("pending", ("no set",) * 3, ("active",) * 3),
    "not-a-hash": ("no set", ("no set",) * 3, ("active",) * 3),
}


@pytest.mark.parametrize("member", MEMBERS)
def test_an_expired_lease_ends_where_the_specification_says(lab: emqlab.Lab, member: str) -> None:
    """Reaper, scripted sweep and verb, under each cap."""
    reap, scripted, native = ENDS[member]
    stage = widgets.expired_lease(lab, choice={"member": member})
    for cap in (1, 2, 3):
        stage.choice = {"member": member, "max_stalled": str(cap)}
        assert ends(stage) == [reap, scripted[cap - 1], native[cap - 1]]


def test_the_column_of_the_reaper_has_its_own_case(lab: emqlab.Lab) -> None:
    """Its form is another call, which shows another divergence; both numbers are told under the picks."""
    stage = widgets.expired_lease(lab, choice={"member": "earlier-epoch"})
    reap, scripted, native = stage.recording["executors"]
    tried = reaped("earlier-epoch")
    form = {**stage.recording["case"], "when": reap["when"], "differs": reap["differs"]}
    assert {**form, "name": tried["name"]} == tried
    assert "when" not in scripted.keys() | native.keys()
    assert stage.recording["case"]["differs"] == [15]
    assert [line for line in bundle(stage)["text/plain"].splitlines() if line.startswith("≠")] == [
        "≠ 15 A lease from before a restart, or without a stamp, is counted; natively it is exempt.",
        "≠ 20 The reaper and the lane and flow steps are scripts; natively there are no such verbs.",
    ]


def test_what_ran_is_shown_for_each_column(lab: emqlab.Lab) -> None:
    """The reaper's file, the sweep's and the verb's; and with each verb of the ledger its own."""
    names = {name: source["name"] for name, source in widgets.expired_lease(lab).sources.items()}
    assert names == {"reap": "reap.lua", "scripted": "sweep_stalled.lua", "native": "stalled_check.py"}
    stage = widgets.counters(lab)
    for verb, files in (("fail", ["retry.lua", "fail.py"]), ("reap", ["reap.lua"]), ("requeue", ["requeue.py"])):
        stage.choice = {"verb": verb}
        assert [source["name"] for source in stage.sources.values()] == files


@pytest.mark.parametrize(
    ("restarts", "cap", "places", "counts"),
    [
        ("once", "1", ["dead", "active"], ["1", "absent"]),
        ("once", "2", ["active", "active"], ["1", "absent"]),
        ("twice", "1", ["dead", "active"], ["1", "absent"]),
        ("twice", "2", ["dead", "active"], ["2", "absent"]),
        ("none", "1", ["dead", "dead"], ["1", "1"]),
        ("none", "2", ["active", "active"], ["1", "1"]),
    ],
)
def test_a_restart_is_a_stall_to_the_script_only(
    lab: emqlab.Lab, restarts: str, cap: str, places: list[str], counts: list[str]
) -> None:
    """Natively it is never counted, however often it happens; a worker that goes silent is, on both."""
    stage = widgets.restart(lab, choice={"restarts": restarts, "max_stalled": cap})
    assert (ends(stage), stalled(stage)) == (places, counts)


def test_the_restart_shows_the_file_of_its_step(lab: emqlab.Lab) -> None:
    """A claim's and a sweep's, for each executor."""
    stage = widgets.restart(lab)
    files = {name: [source["name"] for source in sources] for name, sources in stage.sources.items()}
    assert files == {"scripted": ["claim.lua", "sweep_stalled.lua"], "native": ["claim.py", "stalled_check.py"]}


def test_the_restart_says_which_it_was(lab: emqlab.Lab) -> None:
    """Nobody is told that a process was ended where there is none: both columns' frames say what this server did."""
    frames = [frame for executor in widgets.restart(lab).recording["executors"] for frame in executor["frames"]]
    told = [frame["note"] for frame in frames if frame["step"] == "restart"]
    assert told == ["The embedded server has no process to end: it keeps its data and draws a new run_id."] * 2


def test_the_table_and_the_cheat_sheet_measure_the_same(lab: emqlab.Lab) -> None:
    """Other cases of the same verbs, looked through by other code, and no counter is touched in another way."""
    table = {name.split(",")[0]: cells for name, *cells in widgets.counter_table(lab).rows}
    for verb in measure(lab):
        sides = [side.counters for side in (verb.scripted, verb.native) if side]
        for name, cell in zip((*COUNTERS, EPOCH), table[verb.name], strict=True):
            words = dict.fromkeys(side[name].replace(" and ", ", ").replace("untouched", "–") for side in sides)
            assert (verb.name, name, " / ".join(words)) == (verb.name, name, cell)


TOKEN = {"complete", "fail", "delay", "requeue", "extend", "extends"}


def test_the_table_says_who_touches_which_counter(lab: emqlab.Lab) -> None:
    """SPEC 5.2: six verbs read the token, one charges the retry budget, one the stall budget, three write a stamp."""
    table = widgets.counter_table(lab)
    assert list(table.head) == ["", *COUNTERS, EPOCH]
    rows = {name.split(",")[0]: cells for name, *cells in table.rows}
    assert list(rows) == list(LEDGER)
    assert [name for name, *_ in table.rows if "only" in name] == ["requeue, a verb only", "reap, a script only"]
    attempts, failures, stalls, epochs = ({verb: cells[k] for verb, cells in rows.items()} for k in range(4))
    assert {verb for verb, cell in attempts.items() if "read" in cell} - {"claim"} == TOKEN
    assert {verb: cell for verb, cell in attempts.items() if "written" in cell} == {
        "enqueue": "written",
        "schedule": "written",
        "claim": "read, written",
    }
    assert {verb: cell for verb, cell in failures.items() if cell != "–"} == {
        "complete": "deleted",
        "fail": "– / read, written",
    }
    assert {verb: cell for verb, cell in stalls.items() if cell != "–"} == {
        "complete": "deleted",
        "stalled_check": "read, written",
    }
    assert {verb: cell for verb, cell in epochs.items() if cell != "–"} == {
        "claim": "– / written",
        "complete": "deleted",
        "extend": "– / written",
        "extends": "– / written",
        "stalled_check": "– / read",
    }


def test_the_ledger_hides_no_counter(lab: emqlab.Lab) -> None:
    """Whatever the verb, a job that was there holds something in each of the four, so that untouched is seen."""
    stage = widgets.counters(lab)
    for verb in LEDGER.keys() - {"enqueue", "schedule"}:
        stage.choice = {"verb": verb}
        before: dict[str, Any] = stage.recording["before"]["rows"][cases.JOB]
        assert {*COUNTERS, EPOCH} <= before.keys()
