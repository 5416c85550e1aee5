"""Flat jobs starve behind one lane row natively, and the audit says so: how many, behind which, and what is done."""

import json
from pathlib import Path

import pytest

import emqlab
from emqlab.audit import Finding
from emqlab.audit.given import audit_given
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from tests.audit.plants import LIST, PROMOTE, SWEEP, A, B, C, Command, D, E, P, held, leased, row
from tests.audit.test_findings import audited, case

STARVE = Path(__file__).parent / "cases" / "flat-jobs-starve.json"
LANE: list[Command] = [*leased(A, "@now-9", group="blue", lease_epoch=""), ["HSET", "{p}gactive", "blue", "1"]]
LANE_DUE: list[Command] = [row(A, "scheduled", group="blue"), held(A, "schedule", "@now-9")]


def refused(lab: emqlab.Lab, given: list[Command]) -> Finding:
    """The one row that refuses a verb whole."""
    (found,) = (one for one in audited(lab, given).findings if one.code in ("sweep-refused", "promote-refused"))
    return found


def test_the_demonstration(lab: emqlab.Lab) -> None:
    """One lane row, three flat leases behind it: told as text and as JSON, and it is what the case runs into."""
    (source,) = json.loads(STARVE.read_text(encoding="utf-8"))
    audit = audit_given(lab, parse_case(source))
    expected = """\
orders
0 pending, 4 active (4 expired), 0 scheduled (0 due), 0 dead; 4 rows

stops work
  sweep-refused    JOB0NgWEfAEJfa
                   its lease has expired, but it belongs to the lane of 'blue': every native sweep
                   that meets it is refused whole, and 3 flat jobs starve behind it; a scripted
                   sweep (or reap, which counts nothing) takes it out
                   scripted  declares it dead, it goes to dead, stalled is 1
                   native    refused EMQLANE, it stays in active

1 finding: 1 stops work"""
    assert expected == audit.text()
    (told,) = audit.json("embedded")["findings"]
    assert ("sweep-refused", "JOB0NgWEfAEJfa", ["active"], 3) == (
        told["code"], told["id"], told["sets"], told["starves"],
    )  # fmt: skip
    native, scripted = (lab.run(source, executor=name) for name in ("native", "scripted"))
    assert isinstance(native, Run)
    assert isinstance(scripted, Run)
    assert [True, True, False] == [isinstance(reply, ErrorReply) for reply in native.replies]
    assert (native.before, [], 4) == (native.after, native.replies[2], len(scripted.replies[0][0]))


def test_those_before_it_are_told_apart(lab: emqlab.Lab) -> None:
    """A sweep too small to meet the row frees them, one that meets it frees nobody, and those behind are never met."""
    given = [*leased(B, "@now-20"), *leased(C, "@now-10"), *LANE, *leased(D, "@now-9"), *leased(E, "@now+1")]
    found = refused(lab, given)
    assert 1 == found.starves
    assert "1 flat job starves behind it (2 before it go only in a sweep too small to meet it);" in found.sentence
    small = {**SWEEP, "limit": "2"}
    run = lab.run(case(given, SWEEP, small, small, {**SWEEP, "limit": "1"}), executor="native")
    assert isinstance(run, Run)
    assert [True, False, True, True] == [isinstance(reply, ErrorReply) for reply in run.replies]
    assert [[], [B.encode(), C.encode()]] == run.replies[1]


def test_a_flows_child_starves_as_well(lab: emqlab.Lab) -> None:
    """It belongs to no lane, so a native sweep would move it; it is named for what it is."""
    given = [*LANE, *leased(B, "@now"), *leased(C, "@now", parent=P), ["SET", f"{{p}}job:{P}:dependencies", "1"]]
    found = refused(lab, given)
    assert (2, True) == (found.starves, "1 flat job and 1 flow's child starve behind it;" in found.sentence)


@pytest.mark.parametrize("due", [LANE_DUE, [LIST, held(A, "schedule", "@now-9")]])
def test_of_a_promotion_it_is_the_same(lab: emqlab.Lab, due: list[Command]) -> None:
    """One that is due and that no native promotion takes stops all behind it; a list is taken out by hand alone."""
    given = [*due, *(command for job in (B, C) for command in (row(job, "scheduled"), held(job, "schedule", "@now")))]
    found = refused(lab, given)
    cure = "a scripted promotion takes it out" if due == LANE_DUE else "take it out by hand (ZREM)"
    assert found.sentence.endswith(
        f"every native promotion that meets it is refused whole, and 2 flat jobs starve behind it; {cure}"
    )
    assert 2 == found.starves
    for name, moves in (("native", False), ("scripted", due == LANE_DUE)):
        run = lab.run(case(given, PROMOTE), executor="native" if name == "native" else "scripted")
        assert isinstance(run, Run)
        assert isinstance(run.replies[0], ErrorReply) != moves


def test_only_jobs_of_no_lane_are_counted(lab: emqlab.Lab) -> None:
    """Neither another lane's row behind it, which is refused as well, nor the row itself, where it is flat."""
    lanes = [*LANE, *leased(B, "@now-5", group="red", lease_epoch=""), ["HSET", "{p}gactive", "red", "1"]]
    found = [one.starves for one in audited(lab, [*lanes, *leased(C, "@now")]).findings if one.starves is not None]
    assert [1, 1] == found
    assert 1 == refused(lab, [*leased(A, "@now-9", stalled="x"), *leased(B, "@now")]).starves


def test_where_nobody_waits_nobody_starves(lab: emqlab.Lab) -> None:
    """The row stops the sweep all the same."""
    found = refused(lab, [*LANE, *leased(B, "@now+5000")])
    assert (0, True) == (found.starves, "and frees nobody else;" in found.sentence)
