"""The methods of lanes and flows: what they answer and what they raise (SPEC 11)."""

from collections.abc import Iterator
from typing import Any

import pytest

import emqlab
from emqlab import errors
from emqlab.executor import Executor
from emqlab.outcomes import Claimed, Flow, LaneClaimed

JOB, CHILD, OTHER = (b"JOB0NgWEfAEJf" + end for end in (b"a", b"b", b"c"))
STRANGE = b"TSK0NgWEfAEJfa"
MOST = 2**63 - 1

each_executor = pytest.mark.parametrize("name", ["scripted", "native"])


@pytest.fixture
def scripts(lab: emqlab.Lab) -> Executor:
    """The scripted executor of a lab of its own."""
    return lab.scripted


def kept(lab: emqlab.Lab, job: bytes) -> dict[bytes, bytes]:
    """A row as it is stored."""
    held: Any = lab.client.hgetall(b"emq:{q}:job:" + job)
    return dict(held)


# ---------------------------------------------------------------- lanes


def test_lane_enqueue_answers_an_id(lab: emqlab.Lab, scripts: Executor) -> None:
    """The one given, as text or bytes, or one that is minted; text goes as UTF-8."""
    assert JOB == scripts.lane_enqueue("q", "tée", group="gé", id=JOB.decode())
    assert CHILD == scripts.lane_enqueue("q", b"\xff", group=b"\x00\xff", id=CHILD)
    minted = scripts.lane_enqueue("q", b"x", group="g")
    assert (b"JOB", 14) == (minted[:3], len(minted))
    assert ("tée".encode(), "gé".encode()) == (kept(lab, JOB)[b"payload"], kept(lab, JOB)[b"group"])
    assert b"\x00\xff" == kept(lab, CHILD)[b"group"]


def test_a_duplicate_is_raised(scripts: Executor) -> None:
    """Duplicate keeps the id; the row may be flat or another lane's."""
    scripts.enqueue("q", b"x", id=JOB)
    scripts.lane_enqueue("q", b"x", group="g", id=CHILD)
    for job in (JOB, CHILD):
        with pytest.raises(errors.Duplicate) as caught:
            scripts.lane_enqueue("q", b"y", group="h", id=job)
        assert job == caught.value.id


def test_another_kind_is_raised(scripts: Executor) -> None:
    """WrongKind keeps the id."""
    with pytest.raises(errors.WrongKind) as caught:
        scripts.lane_enqueue("q", b"x", group="g", id=STRANGE)
    assert STRANGE == caught.value.id


def test_lane_claimed_is_a_value(scripts: Executor) -> None:
    """Id, payload, token and group; it is a Claimed with more, and no flat Claimed equals it."""
    scripts.lane_enqueue("q", bytes(range(256)), group=b"\x00g", id=JOB)
    claimed = scripts.lane_claim("q")
    assert LaneClaimed(JOB, bytes(range(256)), 1, b"\x00g") == claimed
    assert isinstance(claimed, Claimed)
    assert Claimed(JOB, bytes(range(256)), 1) != claimed
    assert scripts.lane_claim("q") is None


def test_a_lease_lasts_as_long_as_it_was_asked_for(lab: emqlab.Lab, scripts: Executor) -> None:
    """Thirty seconds unless told otherwise."""
    for job in (JOB, CHILD):
        scripts.lane_enqueue("q", b"x", group="g", id=job)
    scripts.lane_claim("q")
    scripts.lane_claim("q", lease_ms=1)
    now = lab.now_ms()
    assert [now + 30_000, now + 1] == [lab.client.zscore("emq:{q}:active", job) for job in (JOB, CHILD)]


def test_a_lane_jobs_payload_may_be_missing(lab: emqlab.Lab, scripts: Executor) -> None:
    """None, as for the flat claim."""
    scripts.lane_enqueue("q", b"x", group="g", id=JOB)
    lab.client.hdel(b"emq:{q}:job:" + JOB, "payload")
    assert LaneClaimed(JOB, None, 1, b"g") == scripts.lane_claim("q")


def test_pause_resume_and_limit_answer_nothing(scripts: Executor) -> None:
    """And do what they say: a paused lane gives nothing, a resumed one does, a full one does not."""
    for job in (JOB, CHILD):
        scripts.lane_enqueue("q", b"x", group="g", id=job)
    assert [None, None] == [scripts.lane_pause("q", "g"), scripts.lane_claim("q")]  # type: ignore[func-returns-value]
    scripts.lane_resume("q", b"g")
    scripts.lane_limit("q", "g", 1)
    claimed = scripts.lane_claim("q")
    assert claimed is not None
    assert JOB == claimed.id
    assert scripts.lane_claim("q") is None


@pytest.mark.parametrize("limit", [0, 1, MOST])
def test_a_limit_is_kept_as_it_is(lab: emqlab.Lab, scripts: Executor, limit: int) -> None:
    """From none to 2^63-1."""
    scripts.lane_limit("q", "g", limit)
    assert {b"g": b"%d" % limit} == lab.client.hgetall("emq:{q}:glimit")


def test_queue_and_lane_pauses_are_two_things(scripts: Executor) -> None:
    """A paused queue gives no lane; resuming a lane does not resume the queue."""
    scripts.lane_enqueue("q", b"x", group="g", id=JOB)
    scripts.pause("q")
    scripts.lane_resume("q", "g")
    assert scripts.lane_claim("q") is None
    scripts.resume("q")
    assert scripts.lane_claim("q") is not None


# ---------------------------------------------------------------- flows


def test_flow_add_answers_all_ids(lab: emqlab.Lab, scripts: Executor) -> None:
    """Of payloads alone and of (id, payload) pairs, in the order given; the parent's is minted first."""
    flow = scripts.flow_add("q", "p", [b"one", (CHILD.decode(), "two"), (OTHER, b"three")])
    assert [CHILD, OTHER] == list(flow.children[1:])
    assert 4 == len({flow.id, *flow.children})
    assert flow.id < flow.children[0]
    assert [b"one", b"two", b"three"] == [kept(lab, job)[b"payload"] for job in flow.children]
    assert (b"p", b"awaiting_children") == (kept(lab, flow.id)[b"payload"], kept(lab, flow.id)[b"state"])


def test_any_iterable_gives_children(scripts: Executor) -> None:
    """A generator is read once."""

    def payloads() -> Iterator[bytes]:
        yield from (b"a", b"b")

    flow = scripts.flow_add("q", b"p", payloads(), id=JOB)
    assert (JOB, 2) == (flow.id, len(flow.children))
    assert Flow(JOB, flow.children) == flow


@pytest.mark.parametrize(("policy", "stored"), [(None, None), ("fp", b"fp"), ("id", b"id")])
def test_a_policy_is_kept(lab: emqlab.Lab, scripts: Executor, policy: str | None, stored: bytes | None) -> None:
    """None writes no field."""
    flow = scripts.flow_add("q", b"p", [b"c"], policy=policy)
    row = kept(lab, flow.children[0])
    assert (stored, flow.id) == (row.get(b"parent_policy"), row[b"parent"])


@pytest.mark.parametrize("there", [JOB, CHILD, OTHER])
def test_an_existing_row_of_a_flow_is_raised(lab: emqlab.Lab, scripts: Executor, there: bytes) -> None:
    """Duplicate, with the parent's id whichever it is, and nothing of the flow is there."""
    scripts.enqueue("q", b"x", id=there)
    before = sorted(lab.client.keys())
    with pytest.raises(errors.Duplicate) as caught:
        scripts.flow_add("q", b"p", [(CHILD, b"c"), (OTHER, b"d")], id=JOB)
    assert (JOB, (CHILD, OTHER)) == (caught.value.id, caught.value.children)
    assert str(caught.value).endswith(" or one of its children exists already")
    assert before == sorted(lab.client.keys())


@pytest.mark.parametrize(
    ("parent", "children", "told"),
    [
        (STRANGE, [(CHILD, b"c")], STRANGE),
        (JOB, [(CHILD, b"c"), (STRANGE, b"d")], STRANGE),
        (JOB, [(b"KID0NgWEfAEJfa", b"c"), (STRANGE, b"d")], b"KID0NgWEfAEJfa"),
        (STRANGE, [(b"KID0NgWEfAEJfa", b"c")], STRANGE),
    ],
)
def test_another_kind_in_a_flow_is_raised(
    scripts: Executor, parent: bytes, children: list[tuple[bytes | str, bytes | str]], told: bytes
) -> None:
    """WrongKind keeps the id that is none of a job's: the first of them, not the parent's when that is good."""
    with pytest.raises(errors.WrongKind) as caught:
        scripts.flow_add("q", b"p", children, id=parent)
    assert told == caught.value.id
    assert told[:3].decode() in str(caught.value)


@pytest.mark.parametrize(
    ("options", "stored"),
    [({}, CHILD), ({"result": None}, CHILD), ({"result": b""}, b""), ({"result": "tée"}, "tée".encode())],
)
def test_a_result_is_kept_for_the_parent(
    lab: emqlab.Lab, scripts: Executor, options: dict[str, Any], stored: bytes
) -> None:
    """None is none given, so the child's id; the empty result is one."""
    scripts.flow_add("q", b"p", [(CHILD, b"c")], id=JOB)
    claimed = scripts.claim("q")
    assert claimed is not None
    scripts.complete("q", claimed.id, claimed.token, **options)
    assert {CHILD: stored} == lab.client.hgetall(b"emq:{q}:job:" + JOB + b":processed")
    assert Claimed(JOB, b"p", 1) == scripts.claim("q")


@each_executor
def test_a_result_of_a_flat_job_changes_nothing(lab: emqlab.Lab, name: Any) -> None:
    """Both executors take it and keep it nowhere."""
    executor = lab.executor(name)
    executor.enqueue("q", b"x", id=JOB)
    executor.claim("q")
    executor.complete("q", JOB, 1, result=b"tea")
    assert [b"emq:{q}:metrics:completed", b"{emq}:version"] == sorted(lab.client.keys())


def test_a_childs_refusals_are_raised_as_a_flat_jobs(scripts: Executor) -> None:
    """StaleToken and JobGone, with result or without, and Dead at the cap."""
    flow = scripts.flow_add("q", b"p", [b"c", b"d"], policy="id")
    for _ in flow.children:
        scripts.claim("q")
    first, second = flow.children
    with pytest.raises(errors.StaleToken):
        scripts.complete("q", first, 2, result=b"x")
    scripts.complete("q", first, 1)
    with pytest.raises(errors.JobGone):
        scripts.complete("q", first, 1, result=b"x")
    assert emqlab.Dead() == scripts.fail("q", second, 1, error="boom", max_attempts=1)
    assert Claimed(flow.id, b"p", 1) == scripts.claim("q")
