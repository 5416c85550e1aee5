"""The reference tables say what runs do: the keys, the fields, the refusals, what verbs touch."""

import itertools
from typing import Any

import pytest

import emqlab
from emqlab import errors, keys
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from emqlab.teach import cases, measured, reference
from emqlab.teach.measured import Verb, measure, writers
from emqlab.transitions import LANES_AND_FLOWS, PLAIN, TRANSITIONS

LANES_AND_FLOW: dict[str, Any] = {
    "name": "lanes and a flow",
    "queue": "q",
    "when": [
        {"verb": "pause"},
        *({"verb": "lane_limit", "group": group, "limit": "2"} for group in ("a", "b")),
        {"verb": "lane_enqueue", "id": "JOB0NgWEfAEJfs", "payload": "x", "group": "a"},
        {"verb": "lane_pause", "group": "b"},
        {"verb": "resume"},
        {"verb": "lane_claim", "lease_ms": "1000"},
        {"verb": "lane_enqueue", "id": "JOB0NgWEfAEJft", "payload": "x", "group": "a"},
        {
            "verb": "flow_add",
            "id": "JOB0NgWEfAEJg0",
            "payload": "x",
            "children": [["JOB0NgWEfAEJg1", "x"], ["JOB0NgWEfAEJg2", "x"], ["JOB0NgWEfAEJg3", "x"]],
            "policy": "fp",
        },
        *({"verb": "claim", "lease_ms": "1000"} for _ in range(3)),
        {"verb": "complete", "id": "JOB0NgWEfAEJg1", "token": "1"},
        {
            "verb": "fail",
            "id": "JOB0NgWEfAEJg2",
            "token": "1",
            "delay_ms": "0",
            "max_attempts": "1",
            "error": "boom",
        },
    ],
}


@pytest.fixture(scope="module")
def verbs() -> list[Verb]:
    """Every verb, measured once."""
    with emqlab.open_lab("embedded") as lab:
        return measure(lab)


def states(lab: emqlab.Lab, case: Any) -> list[Any]:
    """The keys before and after a case, on each executor, by their names behind the base."""
    runs = [lab.run(parse_case(case), executor=name) for name in ("scripted", "native")]
    found = []
    for run in runs:
        assert isinstance(run, Run)
        base = keys.base(run.case.queue)
        found += [{name.removeprefix(base): key for name, key in one.items()} for one in (run.before, run.after)]
    return found


def test_the_keys_and_fields_are_those_that_runs_leave(lab: emqlab.Lab) -> None:
    """Every kind of key and every field that the lessons' cases meet is in the tables with its type, and no other."""
    paused = {"name": "paused", "queue": "q", "when": [{"verb": "pause"}]}
    types: set[tuple[str, str]] = set()
    fields: set[str] = set()
    for case in [*measured.CASES, *cases.LIFE.values(), paused]:
        for name, key in itertools.chain.from_iterable(state.items() for state in states(lab, case)):
            row = name.startswith(b"job:")
            types.add(("job:<id>" if row else name.decode(), key.type))
            fields |= {field.decode() for field in key.pairs()} if row else set()
    assert types == {(one.name, one.type) for one in reference.KEYS}
    assert fields == set(reference.FIELDS)


def test_the_keys_of_lanes_and_flows_are_those_that_scripts_leave(lab: emqlab.Lab) -> None:
    """By their names; those that only a policy of its own brings are a flow's too."""
    found = set()
    for policy in ("fp", "id"):
        when = [{**step, "policy": policy} if step["verb"] == "flow_add" else step for step in LANES_AND_FLOW["when"]]
        case = {**LANES_AND_FLOW, "when": when}
        run = lab.run(parse_case(case), executor="scripted")
        assert isinstance(run, Run)
        found |= {name.removeprefix(keys.base(b"q")).decode() for name in run.after}
    parent = "job:JOB0NgWEfAEJg0"
    told = {one.replace("g:a:", "g:<group>:").replace(parent, "<row>") for one in found}
    flat = {one.name for one in reference.KEYS}
    rest = {one for one in told if one not in flat and not one.startswith("job:") and one != "<row>"}
    assert rest == {*reference.OF_LANES, *reference.OF_FLOWS}


def test_every_refusal_becomes_the_error_it_is_listed_under(lab: emqlab.Lab) -> None:
    """The executor itself makes the exception out of each reply in the table."""
    values = {"id": cases.JOB.encode(), "token": b"1"}
    for row in reference.error_rows():
        for reply in reference.replies_of(row.name):
            with pytest.raises(getattr(errors, row.name)):
                lab.native._refuse(ErrorReply(reply), "complete", values)


def test_every_error_is_listed_in_words() -> None:
    """All that the library exports, each with a sentence, and no two that begin alike."""
    rows = reference.error_rows()
    public = {name for name in emqlab.__all__ if name in vars(errors)} - {"EmqError"}
    assert public <= {row.name for row in rows}
    assert [row.name for row in rows if not row.about.endswith(".")] == []
    begins = [one for row in rows for one in row.replies]
    assert len(begins) == len(set(begins))


def test_every_flat_verb_is_measured_on_the_executors_that_have_it(verbs: list[Verb]) -> None:
    """The transitions' table says which those are."""
    expected = {
        name: (one.script is not None, one.command is not None)
        for name, one in TRANSITIONS.items()
        if name not in (*LANES_AND_FLOWS, *PLAIN)
    }
    assert {one.name: (one.scripted is not None, one.native is not None) for one in verbs} == expected


def test_what_was_measured_is_what_the_specification_says(verbs: list[Verb]) -> None:
    """Who writes each counter, where a verb takes its job, and which counter a sweep asks for first."""
    assert writers(verbs, "attempts") == dict.fromkeys(("scripted", "native"), ("enqueue", "schedule", "claim"))
    assert writers(verbs, "failures") == {"scripted": (), "native": ("fail",)}
    assert writers(verbs, "stalled") == {"scripted": ("stalled_check",), "native": ("stalled_check",)}
    assert writers(verbs, "lease_epoch") == {"scripted": (), "native": ("claim", "extend", "extends")}
    by_name = {one.name: one for one in verbs}
    fail, sweep, complete = (by_name[name] for name in ("fail", "stalled_check", "complete"))
    assert fail.native is not None
    assert fail.native.moves == [("active", "schedule"), ("active", "dead")]
    assert (sweep.scripted and sweep.scripted.counters["lease_epoch"]) == "untouched"
    assert (sweep.native and sweep.native.counters["lease_epoch"]) == "read"
    assert complete.native is not None
    assert (complete.native.moves, complete.native.metrics) == ([("active", "gone")], ["completed"])
    assert complete.native.counters["attempts"] == "read, deleted"
    assert {one.name for one in verbs if one.token} == {"complete", "fail", "delay", "requeue", "extend", "extends"}
