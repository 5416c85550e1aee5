"""Rows of lanes and flows, made by the scripts, before the native verbs, which serve flat rows (SPEC 5.2, 8)."""

from collections.abc import Callable
from typing import Any

import pytest

from emqlab import errors
from emqlab.outcomes import Claimed
from emqlab.replies import ErrorReply, NotSent
from tests.transitions.bench import A, B, Bench, C, ids
from tests.transitions.lanes import PARENT, WAITS, add_flow, claim, enqueue, fail, lane, lease_all

LANE, FLOW = ErrorReply("EMQLANE lane row"), ErrorReply("EMQFLOW flow row")

#: The six that scripts alone have, with good values, and how the method is called.
SIX: dict[str, tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]] = {
    "lane_enqueue": ({"id": A, "payload": "p", "group": "g"}, (b"p",), {"group": "g"}),
    "lane_claim": ({"lease_ms": 9}, (), {}),
    "lane_pause": ({"group": "g"}, ("g",), {}),
    "lane_resume": ({"group": "g"}, ("g",), {}),
    "lane_limit": ({"group": "g", "limit": 1}, ("g", 1), {}),
    "flow_add": ({"id": PARENT, "payload": "p", "policy": "", "children": [(A, "c")]}, (b"p", [b"c"]), {}),
}
#: The verbs of one job, with what they are given beside id and token.
OF_A_JOB: dict[str, dict[str, Any]] = {
    "complete": {},
    "fail": {"delay_ms": 0, "max_attempts": 1, "error": "boom"},
    "delay": {"mode": "in", "value": 0},
    "requeue": {},
    "extend": {"lease_ms": 1},
}


@pytest.fixture
def maker(native: Bench) -> Bench:
    """The scripts, on the queue of the native executor."""
    return Bench(native.lab, native.lab.scripted)


def lane_row(maker: Bench) -> None:
    """A is leased from lane g."""
    enqueue(maker, "g", A)
    claim(maker)


def flow_row(maker: Bench) -> None:
    """A is a leased child."""
    add_flow(maker, A)
    lease_all(maker)


# ---------------------------------------------------------------- no such verb


@pytest.mark.parametrize("verb", SIX)
def test_there_is_no_native_verb_and_nothing_is_sent(native: Bench, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Performed, traced or called: no connection is even asked for."""
    values, args, options = SIX[verb]

    def sent(*_: object, **__: object) -> None:
        raise AssertionError("something was sent")

    with native.nothing_written():
        with monkeypatch.context() as patch:
            patch.setattr(native.lab.client.connection_pool, "get_connection", sent)
            with pytest.raises(AssertionError, match="something was sent"):
                native.ask("claim", lease_ms=1)
            assert NotSent(verb) == native.ask(verb, **values)
            traced = native.executor.trace(native.call(verb, **values))
            with pytest.raises(errors.Unsupported) as caught:
                getattr(native.executor, verb)("q", *args, **options)
        assert (NotSent(verb), (), ()) == (traced.reply, traced.sent, traced.told)
        assert (verb, "native") == (caught.value.verb, caught.value.executor)


@pytest.mark.parametrize("verb", SIX)
def test_the_others_of_a_pipeline_are_sent(native: Bench, verb: str) -> None:
    """What has no native verb keeps its place among the replies."""
    native.waiting(C)
    calls = [
        native.call("claim", lease_ms=9),
        native.call(verb, **SIX[verb][0]),
        native.call("complete", id=C, token=1),
    ]
    assert [[C, b"p", 1], NotSent(verb), 1] == native.executor.perform_each(calls)


# ---------------------------------------------------------------- rows that scripts made


@pytest.mark.parametrize(("make", "words"), [(lane_row, LANE), (flow_row, FLOW)], ids=["lane", "flow"])
@pytest.mark.parametrize("verb", OF_A_JOB)
def test_a_verb_of_one_job_refuses(
    native: Bench, maker: Bench, verb: str, make: Callable[[Bench], None], words: ErrorReply
) -> None:
    """The current token is refused as a lane's or a flow's row, a stale one as stale; nothing is written."""
    make(maker)
    with native.nothing_written():
        assert words == native.ask(verb, id=A, token=1, **OF_A_JOB[verb])
        stale = native.ask(verb, id=A, token=0, **OF_A_JOB[verb])
        assert isinstance(stale, ErrorReply)
        assert stale.code == "EMQSTALE"


@pytest.mark.parametrize(
    ("make", "kind"), [(lane_row, errors.LaneRow), (flow_row, errors.FlowRow)], ids=["lane", "flow"]
)
def test_the_refusal_is_raised(native: Bench, maker: Bench, make: Callable[[Bench], None], kind: Any) -> None:
    """LaneRow and FlowRow keep the verb and the id."""
    make(maker)
    executor = native.executor
    calls: dict[str, Callable[[], object]] = {
        "complete": lambda: executor.complete("q", A, 1, result=b"tea"),
        "fail": lambda: executor.fail("q", A, 1, error="boom"),
        "delay": lambda: executor.delay("q", A, 1, in_ms=0),
        "requeue": lambda: executor.requeue("q", A, 1),
        "extend": lambda: executor.extend("q", A, 1, lease_ms=1),
    }
    for verb, send in calls.items():
        with native.nothing_written(), pytest.raises(kind) as caught:
            send()
        assert (verb, A) == (caught.value.verb, caught.value.id)


@pytest.mark.parametrize("make", [lane_row, flow_row])
def test_extends_lists_it(native: Bench, maker: Bench, make: Callable[[Bench], None]) -> None:
    """Its deadline is as it was, the flat job's has moved."""
    make(maker)
    native.leased(B)
    assert [A] == native.ask("extends", lease_ms=50_000, pairs=[(A, "1"), (B, "2")])
    assert {A.decode(): native.now + 30_000, B.decode(): native.now + 50_000} == native.state()["active"]


@pytest.mark.parametrize("before", [True, False])
def test_a_lane_row_that_is_due_refuses_the_promotion(native: Bench, maker: Bench, before: bool) -> None:
    """Whether it comes before or behind a flat job: nothing is promoted."""
    lane_row(maker)
    assert fail(maker, A, delay_ms=5) == b"scheduled"
    native.due(B, at=9 if before else 1)
    native.lab.advance_ms(10)
    with native.nothing_written():
        assert native.ask("promote", batch=10) == LANE
    assert maker.ask("promote", batch=10) == 2
    assert (ids(B), ids(A)) == (native.state()["pending"], native.state()[lane("g")])


def test_a_batch_that_ends_before_the_lane_row_is_promoted(native: Bench, maker: Bench) -> None:
    """Only what is selected is asked."""
    lane_row(maker)
    fail(maker, A, delay_ms=5)
    native.due(B, at=1)
    native.lab.advance_ms(10)
    assert native.ask("promote", batch=1) == 1
    assert native.ask("promote", batch=1) == LANE


def test_a_lane_row_that_has_expired_refuses_the_sweep(native: Bench, maker: Bench) -> None:
    """One expired lane row, and flat jobs behind it starve natively; the script's sweep serves both."""
    lane_row(maker)
    native.ends(A, -9)
    native.stalled(B, ends=-5)
    with native.nothing_written():
        assert native.ask("stalled_check", max_stalled=9, limit=10) == LANE
        with pytest.raises(errors.LaneRow) as caught:
            native.executor.stalled_check("q")
    assert caught.value.id is None
    assert [[A, B], []] == maker.ask("stalled_check", max_stalled=9, limit=10)
    assert (ids(A), ids(B)) == (native.state()[lane("g")], native.state()["pending"])


def test_a_flow_row_is_promoted_and_swept_as_a_flat_one(native: Bench, maker: Bench) -> None:
    """The two ask for the group alone: the child goes in line, and a sweep may kill it unheard (hazard 9)."""
    flow_row(maker)
    fail(maker, A)
    assert native.ask("promote", batch=1) == 1
    assert [A, b"c", 2] == native.ask("claim", lease_ms=1)
    native.lab.advance_ms(1)
    assert [[], [A]] == native.ask("stalled_check", max_stalled=1, limit=1)
    assert WAITS == native.read_row(PARENT)


def test_an_empty_parent_is_a_flow_row_natively(native: Bench, maker: Bench) -> None:
    """To the script it is none: the same row is completed by the one and refused by the other."""
    native.leased(A, parent="")
    with native.nothing_written():
        assert native.ask("complete", id=A, token=2) == FLOW
    assert maker.ask("complete", id=A, token=2) == 1


def test_children_are_claimed_natively_and_a_released_parent_is_flat(native: Bench, maker: Bench) -> None:
    """A claim asks for no parent; the parent's own row has none, so all native verbs serve it."""
    add_flow(maker, A)
    assert Claimed(A, b"c", 1) == native.executor.claim("q")
    assert maker.ask("complete", id=A, token=1) == 1
    assert Claimed(PARENT, b"p", 1) == native.executor.claim("q")
    native.executor.extend("q", PARENT, 1, lease_ms=5)
    native.executor.complete("q", PARENT, 1)


def test_a_native_claim_sees_no_lane(native: Bench, maker: Bench) -> None:
    """Lanes are not in the flat line."""
    enqueue(maker, "g", A)
    with native.nothing_written():
        assert native.ask("claim", lease_ms=9) == []


def test_a_lane_row_that_is_reprocessed_natively_leaves_its_lane(native: Bench, maker: Bench) -> None:
    """Hazard 10 on this side: in the flat line, claimed natively, and then refused by every other verb."""
    lane_row(maker)
    fail(maker, A, cap=1)
    native.executor.reprocess("q", A)
    assert Claimed(A, b"p", 2) == native.executor.claim("q")
    with native.nothing_written():
        assert native.ask("complete", id=A, token=2) == LANE
