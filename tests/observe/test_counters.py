"""What a run did to the counters, measured from its trace."""

from typing import Any, Literal

import pytest

from emqlab.lab import Lab
from emqlab.observe.counters import Counter, Epoch, Ledger, ids_of, ledger
from emqlab.observe.run import Run
from tests.observe import corpus

Name = Literal["scripted", "native"]
LEASED = [corpus.row("lease_epoch", "@run_id"), corpus.held("active", "@now+9000")]
LAPSED = [corpus.row("lease_epoch", "@run_id"), corpus.held("active", "@now-1")]
FAIL = {"verb": "fail", "id": corpus.JOB, "token": "1", "delay_ms": "0", "error": "boom"}


def told(lab: Lab, given: list[Any], when: dict[str, Any], executor: Name) -> Ledger:
    """The ledger of the corpus's job over one step."""
    run = lab.run(corpus.case("counters", given, [when]), executor=executor)
    assert isinstance(run, Run)
    return ledger(run, corpus.JOB.encode())


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_claim_raises_attempts_alone(lab: Lab, executor: Name) -> None:
    """The token goes up by one; the budgets are not looked at."""
    found = told(lab, [corpus.row(), corpus.held("pending")], {"verb": "claim", "lease_ms": "1000"}, executor)
    assert {name: counter.delta for name, counter in found.counters.items()} == (
        {"attempts": 1, "failures": 0, "stalled": 0}
    )
    assert found.touch["attempts"] == "read and written"
    assert (found.touch["failures"], found.touch["stalled"]) == ("untouched", "untouched")
    assert found.epoch == Epoch("absent", "this epoch" if executor == "native" else "absent")
    assert found.touch["lease_epoch"] == ("written" if executor == "native" else "untouched")


def test_a_failure_charges_another_budget_on_each_executor(lab: Lab) -> None:
    """The script reads attempts and writes no counter; the verb reads and writes failures."""
    scripted, native = (told(lab, LEASED, {**FAIL, "max_attempts": "1"}, name) for name in ("scripted", "native"))
    assert (scripted.touch["attempts"], scripted.touch["failures"]) == ("read", "untouched")
    assert (native.touch["attempts"], native.touch["failures"]) == ("read", "read and written")
    assert native.counters["failures"] == Counter(None, "1")
    for found in (scripted, native):
        assert found.metrics["failed"].delta == 1
        assert found.metrics["completed"].delta == 0
        assert found.touch["metrics:failed"] == "read and written"


def test_a_sweep_counts_a_stall_and_an_exempt_one_does_not(lab: Lab) -> None:
    """Natively an earlier epoch's lease is not even asked how often it stalled."""
    sweep = {"verb": "stalled_check", "max_stalled": "3", "limit": "9"}
    assert told(lab, LAPSED, sweep, "native").counters["stalled"].delta == 1
    earlier = [corpus.row("lease_epoch", "@old_run_id"), LAPSED[1]]
    found = told(lab, earlier, sweep, "native")
    assert (found.counters["stalled"].delta, found.touch["stalled"]) == (0, "untouched")
    assert (found.epoch, found.touch["lease_epoch"]) == (Epoch("earlier epoch", "earlier epoch"), "read")


def test_a_completion_takes_the_counters_with_the_row(lab: Lab) -> None:
    """The deleted row's fields are written, and what they held is gone."""
    done = {"verb": "complete", "id": corpus.JOB, "token": "1"}
    found = told(lab, LEASED, done, "scripted")
    assert found.counters["attempts"] == Counter("1", None)
    assert found.counters["attempts"].delta == -1
    assert (found.touch["attempts"], found.touch["stalled"]) == ("read and written", "written")
    assert found.metrics["completed"] == Counter(None, "1")


def test_a_childs_completion_takes_one_from_what_its_parent_waits_for(lab: Lab) -> None:
    """The ledger of the parent has the count, absent for a job that is none."""
    done = {"verb": "complete", "id": corpus.JOB, "token": "1"}
    given = [*corpus.ROWS["flow"], *corpus.PLACES["active"], *corpus.PARENTS["one child of two"]]
    run = lab.run(corpus.case("child", given, [done]), executor="scripted")
    assert isinstance(run, Run)
    parent, child = (ledger(run, job.encode()) for job in (corpus.OTHER, corpus.JOB))
    assert parent.dependencies == Counter("2", "1")
    assert (parent.touch["dependencies"], child.touch["dependencies"]) == ("read and written", "untouched")
    assert child.dependencies == Counter(None, None)


def test_a_lanes_slots_are_counted_by_its_group(lab: Lab) -> None:
    """A claim takes a slot of its lane and leaves the other lane's alone."""
    given = [*corpus.ROWS["lane"], *corpus.PLACES["in its lane"], ["HSET", "{p}gactive", "cake", "2"]]
    found = told(lab, given, {"verb": "lane_claim", "lease_ms": "1000"}, "scripted")
    assert found.gactive == {"cake": Counter("2", "2"), "tea": Counter(None, "1")}
    assert (found.touch["gactive.tea"], found.touch["gactive.cake"]) == ("read and written", "untouched")


@pytest.mark.parametrize(
    ("before", "after", "delta"),
    [
        (None, "1", 1),
        ("1", "3", 2),
        ("2", None, -2),
        ("-1", "0", 1),
        ("1.0", "2", None),
        ("01", "1", None),
        ("²", "1", None),
    ],
)
def test_a_delta_is_a_whole_number_or_unknown(before: str | None, after: str | None, delta: int | None) -> None:
    """Absent counts as 0; a text that is no whole number has no delta."""
    assert Counter(before, after).delta == delta


def test_ids_of_a_run_are_those_with_a_row(lab: Lab) -> None:
    """Rows before and after, in byte order; a ghost has none."""
    given = [*corpus.ROWS["flat"], corpus.held("pending", job=corpus.GHOST)]
    run = lab.run(
        corpus.case("ids", given, [{"verb": "enqueue", "id": corpus.OTHER, "payload": "x"}]), executor="native"
    )
    assert isinstance(run, Run)
    assert ids_of(run) == [corpus.JOB.encode(), corpus.OTHER.encode()]
