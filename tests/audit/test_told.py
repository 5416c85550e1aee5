"""What is told of a finding is true of the queue as it is: whatever else is wrong there, and how it reads."""

from typing import Any

import pytest

import emqlab
from emqlab.audit import Finding
from emqlab.audit.wording import lasting
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from tests.audit.plants import CLAIM, COMPLETE, LIST, SWEEP, A, B, Command, P, held, leased, row
from tests.audit.test_findings import audited, case

EXEMPT = leased(A, "@now-1", lease_epoch="")
STRING_DEAD: list[Command] = [["SET", "{p}dead", "x"]]
STRING_FAILED: list[Command] = [["SET", "{p}metrics:failed", "x"]]
ODD_FAILED: list[Command] = [["HSET", "{p}metrics:failed", "count", "x"]]
STRING_PENDING: list[Command] = [["SET", "{p}pending", "x"]]
OTHER_VERSION: list[Command] = [["SET", "{emq}:version", "other"]]
LANE = [*leased(A, "@now-1", group="g", lease_epoch=""), ["HSET", "{p}gactive", "g", "1"]]


def told(lab: emqlab.Lab, given: list[Command], code: str) -> Finding:
    """The one finding of that code."""
    (found,) = (finding for finding in audited(lab, given).findings if finding.code == code)
    return found


@pytest.mark.parametrize(
    ("given", "code", "scripted", "native"),
    [
        (STRING_DEAD + EXEMPT, "exempt", "stops with WRONGTYPE, the id is lost, stalled is 1",
         "gives it back, it goes to pending"),
        (STRING_FAILED + EXEMPT, "exempt", "stops with WRONGTYPE, it goes to dead, stalled is 1",
         "gives it back, it goes to pending"),
        (ODD_FAILED + EXEMPT, "exempt", "stops with “hash value is not an integer”, it goes to dead, stalled is 1",
         "gives it back, it goes to pending"),
        (STRING_PENDING + EXEMPT, "exempt", "declares it dead, it goes to dead, stalled is 1",
         "refused WRONGTYPE, it stays in active"),
        (OTHER_VERSION + EXEMPT, "exempt", "declares it dead, it goes to dead, stalled is 1",
         "refused EMQFENCE, it stays in active"),
        ([*LANE, ["SET", "{p}ring", "x"]], "sweep-refused", "declares it dead, it goes to dead, stalled is 1",
         "refused EMQLANE, it stays in active"),
        ([*LANE, ["HSET", "{p}gactive", "g", "x"]], "sweep-refused",
         "stops with “hash value is not an integer”, the id is lost, stalled is 1",
         "refused EMQLANE, it stays in active"),
    ],
)  # fmt: skip
def test_the_keys_around_are_as_they_are(
    lab: emqlab.Lab, given: list[Command], code: str, scripted: str, native: str
) -> None:
    """Targets and counters of a wrong kind are met by the voices, as they are by the executors' own sweep."""
    found = told(lab, given, code)
    assert (scripted, native) == (found.scripted, found.native)
    for name, said in (("scripted", scripted), ("native", native)):
        run = lab.run(case(given, SWEEP), executor="scripted" if name == "scripted" else "native")
        assert isinstance(run, Run)
        assert isinstance(run.replies[0], ErrorReply) == said.startswith(("refused", "stops with"))
        assert (run.before == run.after) == said.startswith("refused")


def test_a_lease_without_an_end_is_not_told_as_exempt(lab: emqlab.Lab) -> None:
    """It never expires, so no sweep comes to it; that the score is infinite is what is told."""
    assert ["score"] == [finding.code for finding in audited(lab, leased(A, "inf", lease_epoch="")).findings]


@pytest.mark.parametrize(
    ("field", "verb", "code"), [("group", "lane-in-pending", "EMQLANE"), ("parent", "flow-child", "EMQFLOW")]
)
def test_what_follows_a_native_claim_is_told_and_happens(lab: emqlab.Lab, field: str, verb: str, code: str) -> None:
    """Complete and fail are refused; a lane row then refuses every sweep as well."""
    given = [row(A, "pending", **{field: P}), held(A, "pending")]
    sentence = told(lab, given, verb).sentence
    fail = {"verb": "fail", "id": A, "token": "2", "delay_ms": "0", "max_attempts": "9", "error": "x"}
    steps: list[dict[str, Any]] = [CLAIM, {**COMPLETE, "token": "2"}, fail, {"advance_ms": 30_001}, SWEEP]
    run = lab.run(case(given, *steps), executor="native")
    assert isinstance(run, Run)
    refused = [reply.code for reply in run.replies if isinstance(reply, ErrorReply)]
    sweeps = verb == "lane-in-pending"
    assert [code] * (2 + sweeps) == refused
    assert f"({code})" in sentence
    assert ("every native sweep" in sentence) == sweeps


def test_in_a_paused_queue_a_claim_is_told_as_it_is_once_resumed(lab: emqlab.Lab) -> None:
    """Of a job at the head and of a ghost; the pause itself is told as it is now."""
    findings = audited(lab, [LIST, held(A, "pending"), held(B, "pending"), ["HSET", "{p}meta", "paused", "1"]]).findings
    assert [
        ("paused", "answers empty, the job stays in pending"),
        ("head-refused", "once resumed: refused WRONGTYPE, it stays at the head"),
        ("ghost", "once resumed: answers empty, the ghost is gone"),
    ] == [(finding.code, finding.native) for finding in findings]
    assert "every native claim stops at it once the queue is resumed" in findings[1].sentence


def test_of_a_lane_it_says_what_the_script_does_and_that_there_is_no_native_verb(lab: emqlab.Lab) -> None:
    """A ghost is spent by the claim that comes to it, in a paused queue once it is resumed."""
    given = [held(A, "g:blue:pending"), ["RPUSH", "{p}ring", "blue"]]
    found = told(lab, given, "ghost")
    expected = ("once its turn comes: answers empty, the ghost is gone", "there is no native verb for lane_claim")
    assert expected == (found.scripted, found.native)
    found = told(lab, [*given, ["HSET", "{p}meta", "paused", "1"]], "ghost")
    assert "once its turn comes and the queue is resumed: answers empty, the ghost is gone" == found.scripted
    run = lab.run(case(given, {"verb": "lane_claim", "lease_ms": "1"}), executor="scripted")
    assert isinstance(run, Run)
    assert [] == run.replies[0]
    assert b"emq:{q}:g:blue:pending" not in run.after


@pytest.mark.parametrize(
    "given", [[row(A, "failed", failures="x", group="g")], [row(A, "dead", failures="x", parent=P)]]
)
def test_failures_that_no_fail_will_read_are_not_told(lab: emqlab.Lab, given: list[Command]) -> None:
    """A native fail refuses a lane row and a flow row before it reads them, and a script never does."""
    assert ["no-set"] == [finding.code for finding in audited(lab, given).findings]


def test_sentences_fit_where_the_job_is(lab: emqlab.Lab) -> None:
    """When a counter that can't be counted matters."""
    dead = [row(A, "dead", failures="x"), held(A, "dead")]
    assert "once it is revived and claimed; while it is in dead" in told(lab, dead, "bad-failures").sentence
    exempt = leased(A, stalled="x", lease_epoch="")
    assert "natively its lease is exempt, and stalled is not read" in told(lab, exempt, "bad-stalled").sentence
    waits = [row(A, "pending", stalled="x"), held(A, "pending")]
    assert "once it is claimed and its lease expires" in told(lab, waits, "bad-stalled").sentence


def test_a_life_is_told_in_units_and_in_milliseconds(lab: emqlab.Lab) -> None:
    """Of a row and of a key: two units in the sentence, the number in JSON, which others have no need of."""
    lives = [[*name] for name in (["PEXPIRE", f"{{p}}job:{A}", "99999999"], ["PEXPIRE", "{p}dead", "99999999"])]
    audit = audited(lab, [row(A, "dead"), held(A, "dead"), held(B, "dead"), *lives])
    assert ["ghost", "ttl", "ttl"] == [finding.code for finding in audit.findings]
    assert [False, True, True] == ["27 h 46 min" in finding.sentence for finding in audit.findings]
    assert [None, 99_999_999, 99_999_999] == [entry.get("ttl_ms") for entry in audit.json("x")["findings"]]


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (850, "850 ms"), (1000, "1 s"), (59_999, "59 s"), (60_000, "1 min"), (200_000, "3 min 20 s"),
        (99_999_999, "27 h 46 min"), (172_800_000, "2 days"), (400_000_000_000, "4,629 days 15 h"),
    ],
)  # fmt: skip
def test_lengths_of_time(ms: int, said: str) -> None:
    """The two largest units, the second one if there is any of it."""
    assert said == lasting(ms)


def test_an_id_of_no_bytes_is_seen(lab: emqlab.Lab) -> None:
    """In quotes; in JSON it is what it is."""
    audit = audited(lab, [held("", "pending"), held(" ", "dead")])
    assert "ghost            ''\n" in audit.text()
    assert "ghost            ' '\n" in audit.text()
    assert ["", " "] == [entry["id"] for entry in audit.json("x")["findings"]]
