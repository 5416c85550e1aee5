"""What an audit finds, on the embedded server: each plant alone in a healthy queue."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import emqlab
from emqlab.audit import Audit, audit_queue
from emqlab.audit.findings import CODES
from emqlab.audit.given import audit_given
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply, NotSent
from tests.audit.lane_plants import EVERY_PLANT
from tests.audit.plants import HEALTHY, Command, Plant

EXECUTORS: tuple[Literal["scripted", "native"], ...] = ("scripted", "native")
EVERY = pytest.mark.parametrize("plant", EVERY_PLANT, ids=lambda plant: plant.about)
#: What a verb meets at each key when it is of another type, in a queue without jobs: what is told of both executors.
LANES_KEY = ("once a job is active: stops with WRONGTYPE, the id is lost",
             "once a job is active: refused EMQLANE, the job stays in active")  # fmt: skip
NOT_ACTIVE = "once a job is active: refused WRONGTYPE, the job stays in active"
TYPES = {
    "pending": ("refused WRONGTYPE", "refused WRONGTYPE"),
    "active": ("once a job is pending: stops with WRONGTYPE, the id is lost",
               "once a job is pending: refused WRONGTYPE, the job stays at the head"),
    "schedule": ("once a job is active: stops with WRONGTYPE, the id is lost", NOT_ACTIVE),
    "dead": ("once a job is active: stops with WRONGTYPE, the id is lost", NOT_ACTIVE),
    "meta": ("answers empty", "refused WRONGTYPE"),
    "metrics:completed": ("once a job is active: stops with WRONGTYPE, its row is deleted", NOT_ACTIVE),
    "metrics:failed": ("once a job is active: stops with WRONGTYPE, the job goes to dead", NOT_ACTIVE),
    **dict.fromkeys(("ring", "paused", "wake", "gactive", "glimit", "g:red:pending"), LANES_KEY),
    "job:JOB0zzzzzzzzzp:failed": ("once a child is active: stops with WRONGTYPE, the job goes to dead",
                                  "once a child is active: refused EMQFLOW, the job stays in active"),
    "job:JOB0zzzzzzzzzp:unsuccessful": ("once a child is active: stops with WRONGTYPE, the job goes to dead",
                                        "once a child is active: refused EMQFLOW, the job stays in active"),
    "job:JOB0zzzzzzzzzp:dependencies": ("once a child is active: stops with WRONGTYPE, the id is lost",
                                        "once a child is active: refused EMQFLOW, the job stays in active"),
    "job:JOB0zzzzzzzzzp:processed": ("once a child is active: stops with WRONGTYPE, the id is lost",
                                     "once a child is active: refused EMQFLOW, the job stays in active"),
}  # fmt: skip


def case(given: list[Command], *when: dict[str, Any]) -> dict[str, Any]:
    """A case of a queue that is made so."""
    return {"name": "planted", "queue": "q", "about": "", "given": given, "when": list(when)}


def audited(lab: emqlab.Lab, given: list[Command]) -> Audit:
    """The audit of a queue that is made so."""
    return audit_given(lab, parse_case(case(given)))


def named(audit: Audit) -> list[tuple[str, str]]:
    """Each finding's code and name, without the queue's base."""
    return [(finding.code, finding.name.decode().removeprefix("emq:{q}:")) for finding in audit.findings]


def test_a_healthy_queue_has_nothing_to_find(lab: emqlab.Lab) -> None:
    """A job in each state, lanes, a flow; every key is known and counted."""
    audit = audited(lab, HEALTHY)
    assert [] == named(audit)
    counts = {"pending": 1, "active": 2, "expired": 0, "schedule": 2, "due": 0, "dead": 1, "rows": 8}
    assert counts == audit.counts
    assert audit.text().endswith("nothing found")


def test_a_queue_that_the_verbs_have_made_has_nothing_to_find(lab: emqlab.Lab) -> None:
    """Every native verb has worked on it, with clock and deaths."""
    native, queue = lab.native, "q"
    for _ in range(12):
        native.enqueue(queue, b"x")
    claims = [claim for claim in (native.claim(queue) for _ in range(9)) if claim]
    for claim, act in zip(claims, (native.complete, native.requeue), strict=False):
        act(queue, claim.id, claim.token)
    native.fail(queue, claims[2].id, claims[2].token, error=b"boom", max_attempts=1)
    native.fail(queue, claims[3].id, claims[3].token, error=b"boom", delay_ms=5)
    native.delay(queue, claims[4].id, claims[4].token, in_ms=5)
    native.schedule(queue, b"x", in_ms=9_000_000)
    lab.advance_ms(40_000)
    native.promote(queue)
    native.stalled_check(queue, max_stalled=2)
    native.reprocess(queue, claims[2].id)
    native.claim(queue)
    audit = audit_queue(lab.client, queue, now_ms=lab.now_ms(), run_id=lab.run_id)
    assert [] == named(audit)
    assert 12 == audit.counts["rows"]


@EVERY
def test_a_plant_is_found_and_nothing_else(lab: emqlab.Lab, plant: Plant) -> None:
    """Its code words with their ids or keys, and what is told of both executors."""
    audit = audited(lab, [*HEALTHY, *plant.given])
    assert plant.codes == named(audit)
    if not plant.codes:
        return
    first = audit.findings[0]
    if plant.native is not None:
        assert plant.native == first.native
    if plant.scripted is not None:
        assert plant.scripted == first.scripted


@pytest.mark.parametrize("name", TYPES)
def test_a_key_of_another_type_is_found(lab: emqlab.Lab, name: str) -> None:
    """Whatever key of the queue's it is, what comes to it and how that ends."""
    kind = "LPUSH" if name.endswith(":dependencies") else "SET"
    audit = audited(lab, [[kind, f"{{p}}{name}", "x"]])
    assert [("wrong-type", name)] == named(audit)
    assert TYPES[name] == (audit.findings[0].scripted, audit.findings[0].native)


@pytest.mark.parametrize("plant", [plant for plant in EVERY_PLANT if plant.verb], ids=lambda plant: plant.about)
def test_what_is_told_is_what_the_executors_do(lab: emqlab.Lab, plant: Plant) -> None:
    """The verb itself, on both: it refuses and changes nothing where that is told, and does not where it isn't."""
    assert plant.verb is not None
    first = audited(lab, [*HEALTHY, *plant.given]).findings[0]
    for name in EXECUTORS:
        told = first.scripted if name == "scripted" else first.native
        run = lab.run(case([*HEALTHY, *plant.given], plant.verb), executor=name)
        assert isinstance(run, Run)
        (reply,) = run.replies
        assert told is not None
        assert isinstance(reply, NotSent) == told.startswith("there is no native verb")
        if isinstance(reply, NotSent):
            continue
        assert isinstance(reply, ErrorReply) == told.startswith(("refused", "stops with")), (name, told, reply)
        assert (run.before == run.after) == _changes_nothing(told), (name, told)
        if isinstance(reply, ErrorReply):
            code, _, rest = reply.text.partition(" script:")[0].partition(" ")
            assert (rest if code == "ERR" else code) in told


def _changes_nothing(told: str) -> bool:
    return told.startswith("refused") or ("stays in" in told and "deleted" not in told)


def test_on_an_empty_queue_no_job_is_told_of(lab: emqlab.Lab) -> None:
    """A pause, a meta of another type, another wire version: what a claim answers, and nothing of a job."""
    for given in ([["HSET", "{p}meta", "paused", "1"]], [["SET", "{p}meta", "x"]], [["SET", "{emq}:version", "x"]]):
        (found,) = audited(lab, given).findings
        assert "answers empty" == found.scripted
        assert found.native in ("answers empty", "refused WRONGTYPE", "refused EMQFENCE")


def test_every_code_word_is_planted() -> None:
    """No finding is without its test."""
    planted = {code for plant in EVERY_PLANT for code, _ in plant.codes} | {"queue-name"}
    assert set(CODES) == planted


def test_ids_and_keys_of_any_bytes_are_told(lab: emqlab.Lab) -> None:
    """Not UTF-8: as hex in JSON, escaped on a terminal; a control sign never reaches it."""
    audit = audited(lab, [["ZADD", "{p}pending", "0", {"hex": "ff1b5b41"}], ["SET", "{p}\x1b[31m", "x"]])
    assert [("ghost", {"hex": "ff1b5b41"}), ("unknown-key", None)] == [
        (told["code"], told.get("id")) for told in audit.json("embedded")["findings"]
    ]
    assert "\x1b" not in audit.text()
    assert r"\xff\x1b[A" in audit.text()


def test_of_many_alike_the_table_tells_ten(lab: emqlab.Lab) -> None:
    """JSON tells all; no line is longer than 100 columns."""
    audit = audited(lab, [held for n in range(40) for held in ([["ZADD", "{p}dead", "0", f"JOB{n:011}"]])])
    text = audit.text()
    assert (40, 10) == (len(audit.json("embedded")["findings"]), text.count("has no row"))
    assert "… and 30 more; --json lists them all" in text
    assert 100 >= max(map(len, text.splitlines()))


def test_the_case_of_the_lesson_is_one_that_runs(lab: emqlab.Lab) -> None:
    """The file beside this test shows hazard 5: what it lists is what its own step runs into."""
    (source,) = json.loads((Path(__file__).parent / "cases" / "one-bad-row.json").read_text(encoding="utf-8"))
    audit = audit_given(lab, parse_case(source))
    assert ["head-refused", "sweep-refused", "ghost"] == [finding.code for finding in audit.findings]


def test_a_name_that_the_lab_does_not_take_is_told(lab: emqlab.Lab) -> None:
    """A case may have one; it is only good to know."""
    named_so = {**case([["SET", "{p}mine", "x"]]), "queue": "or ders"}
    told = audit_given(lab, parse_case(named_so)).findings
    assert [("unknown-key", "odd"), ("queue-name", "to know")] == [(one.code, one.severity) for one in told]
