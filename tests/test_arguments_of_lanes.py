"""What the methods of lanes and flows refuse before anything is sent (SPEC 11)."""

from typing import Any

import pytest

import emqlab

JOB, CHILD = b"JOB0NgWEfAEJfa", b"JOB0NgWEfAEJfb"
MOST = 2**63 - 1

#: verb, arguments behind the queue, options, the parameter that is named.
Bad = tuple[str, tuple[Any, ...], dict[str, Any], str]
WRONG_TYPES: list[Bad] = [
    ("lane_enqueue", (5,), {"group": "g"}, "payload"),
    ("lane_enqueue", (None,), {"group": "g"}, "payload"),
    ("lane_enqueue", (b"x",), {"group": 5}, "group"),
    ("lane_enqueue", (b"x",), {"group": None}, "group"),
    ("lane_enqueue", (b"x",), {"group": "g", "id": 7}, "id"),
    ("lane_claim", (), {"lease_ms": "30000"}, "lease_ms"),
    ("lane_claim", (), {"lease_ms": True}, "lease_ms"),
    ("lane_claim", (), {"lease_ms": 1.0}, "lease_ms"),
    ("lane_pause", (5,), {}, "group"),
    ("lane_resume", (None,), {}, "group"),
    ("lane_limit", (5, 1), {}, "group"),
    ("lane_limit", ("g", "1"), {}, "limit"),
    ("lane_limit", ("g", True), {}, "limit"),
    ("lane_limit", ("g", None), {}, "limit"),
    ("flow_add", (5, [b"c"]), {}, "payload"),
    ("flow_add", (b"p", b"children"), {}, "children"),
    ("flow_add", (b"p", "children"), {}, "children"),
    ("flow_add", (b"p", None), {}, "children"),
    ("flow_add", (b"p", 5), {}, "children"),
    ("flow_add", (b"p", {CHILD: b"c"}), {}, "children"),
    ("flow_add", (b"p", [(CHILD,)]), {}, "children"),
    ("flow_add", (b"p", [(CHILD, b"c", b"d")]), {}, "children"),
    ("flow_add", (b"p", [5]), {}, "payload"),
    ("flow_add", (b"p", [(CHILD, None)]), {}, "payload"),
    ("flow_add", (b"p", [(5, b"c")]), {}, "id"),
    ("flow_add", (b"p", [b"c"]), {"policy": b"fp"}, "policy"),
    ("flow_add", (b"p", [b"c"]), {"policy": True}, "policy"),
    ("flow_add", (b"p", [b"c"]), {"id": 7}, "id"),
    ("complete", (JOB, 1), {"result": 5}, "result"),
    ("complete", (JOB, 1), {"result": True}, "result"),
]
WRONG_RANGES: list[Bad] = [
    ("lane_enqueue", ("\ud800",), {"group": "g"}, "payload"),
    ("lane_enqueue", (b"x",), {"group": ""}, "group"),
    ("lane_enqueue", (b"x",), {"group": b""}, "group"),
    ("lane_enqueue", (b"x",), {"group": "\ud800"}, "group"),
    ("lane_enqueue", (b"x",), {"group": "g", "id": "JOB"}, "id"),
    ("lane_enqueue", (b"x",), {"group": "g", "id": "JOBzzzzzzzzzzz"}, "id"),
    ("lane_claim", (), {"lease_ms": 0}, "lease_ms"),
    ("lane_claim", (), {"lease_ms": -1}, "lease_ms"),
    ("lane_claim", (), {"lease_ms": MOST + 1}, "lease_ms"),
    ("lane_pause", ("",), {}, "group"),
    ("lane_resume", (b"",), {}, "group"),
    ("lane_limit", ("", 1), {}, "group"),
    ("lane_limit", ("g", -1), {}, "limit"),
    ("lane_limit", ("g", MOST + 1), {}, "limit"),
    ("flow_add", (b"p", []), {}, "children"),
    ("flow_add", (b"p", iter(())), {}, "children"),
    ("flow_add", ("\ud800", [b"c"]), {}, "payload"),
    ("flow_add", (b"p", ["\ud800"]), {}, "payload"),
    ("flow_add", (b"p", [(b"JOB", b"c")]), {}, "id"),
    ("flow_add", (b"p", [(CHILD, b"c"), (CHILD, b"d")]), {}, "id JOB0NgWEfAEJfb"),
    ("flow_add", (b"p", [(CHILD.decode(), b"c"), (CHILD, b"d")]), {}, "id JOB0NgWEfAEJfb"),
    ("flow_add", (b"p", [(CHILD, b"c"), (JOB, b"d")]), {"id": JOB}, "id JOB0NgWEfAEJfa"),
    ("flow_add", (b"p", [b"c"]), {"policy": ""}, "policy"),
    ("flow_add", (b"p", [b"c"]), {"policy": "FP"}, "policy"),
    ("flow_add", (b"p", [b"c"]), {"policy": "ignore"}, "policy"),
    ("flow_add", (b"p", [b"c"]), {"id": "JOB"}, "id"),
    ("complete", (JOB, 1), {"result": "\ud800"}, "result"),
]
#: Good arguments behind the queue.
GOOD: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("lane_enqueue", (b"x",), {"group": "g"}),
    ("lane_claim", (), {}),
    ("lane_pause", ("g",), {}),
    ("lane_resume", ("g",), {}),
    ("lane_limit", ("g", 1), {}),
    ("flow_add", (b"p", [b"c"]), {}),
]

each_executor = pytest.mark.parametrize("name", ["scripted", "native"])


def refused_unsent(lab: emqlab.Lab, name: Any, kind: type[Exception], queue: Any, bad: Bad) -> None:
    """Hold a call to an error that names the parameter first, before anything is sent."""
    verb, args, options, parameter = bad

    def sent(*_: object, **__: object) -> None:
        raise AssertionError("something was sent")

    lab.client.connection_pool.get_connection = sent  # type: ignore[method-assign,assignment]
    with pytest.raises(kind, match=rf"^(the )?{parameter}\b"):
        getattr(lab.executor(name), verb)(queue, *args, **options)


@each_executor
@pytest.mark.parametrize("bad", WRONG_TYPES)
def test_a_wrong_type_is_named_and_nothing_is_sent(lab: emqlab.Lab, name: Any, bad: Bad) -> None:
    """TypeError names the parameter, on both executors: the types are asked before whether there is such a verb."""
    refused_unsent(lab, name, TypeError, "q", bad)


@each_executor
@pytest.mark.parametrize("bad", WRONG_RANGES)
def test_a_wrong_range_is_named_and_nothing_is_sent(lab: emqlab.Lab, name: Any, bad: Bad) -> None:
    """ValueError names the parameter, on both executors."""
    refused_unsent(lab, name, ValueError, "q", bad)


@each_executor
@pytest.mark.parametrize(("verb", "args", "options"), GOOD)
def test_a_queue_is_checked_as_everywhere(
    lab: emqlab.Lab, name: Any, verb: str, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """A name of another type, of other characters, or the reserved one."""
    refused_unsent(lab, name, TypeError, b"q", (verb, args, options, "queue"))
    for queue in ("a b", "", "emq", "x" * 129):
        refused_unsent(lab, name, ValueError, queue, (verb, args, options, "queue"))
