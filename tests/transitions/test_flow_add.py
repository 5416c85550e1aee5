"""flow_add: a parent that waits for its children, and the children in line (SPEC 4.4). Scripts only."""

from typing import Any

import pytest

from tests.transitions.bench import WRONGTYPE, A, B, Bench, C, ids, job_key
from tests.transitions.lanes import DEPENDENCIES, PARENT, WAITS, WRONG_KIND, add_flow, lease_all


def child(**more: str) -> dict[str, str]:
    """What the row of a new child holds."""
    return {"state": "pending", "attempts": "0", "payload": "c", "parent": PARENT.decode(), **more}


def test_a_parent_waits_and_its_children_are_in_line(scripted: Bench) -> None:
    """The parent has a row and a count and is in no set; each child is in line and knows its parent."""
    assert add_flow(scripted, A, B) == 1
    assert scripted.state() == {
        job_key(PARENT): WAITS,
        DEPENDENCIES: "2",
        job_key(A): child(),
        job_key(B): child(),
        "pending": ids(A, B),
    }


@pytest.mark.parametrize("policy", ["fp", "id"])
def test_a_policy_stands_on_every_child(scripted: Bench, policy: str) -> None:
    """A policy that is given is written down; without one there is no field."""
    add_flow(scripted, A, B, policy=policy)
    assert [child(parent_policy=policy)] * 2 == [scripted.read_row(one) for one in (A, B)]
    assert WAITS == scripted.read_row(PARENT)


def test_one_child_is_enough(scripted: Bench) -> None:
    """The smallest flow."""
    assert add_flow(scripted, A) == 1
    assert scripted.state()[DEPENDENCIES] == "1"


def test_many_children(scripted: Bench) -> None:
    """A thousand, counted and in byte order, each with its own payload."""
    children = [(b"JOB%011d" % number, str(number)) for number in reversed(range(1000))]
    assert scripted.ask("flow_add", id=PARENT, payload="p", policy="", children=children) == 1
    state = scripted.state()
    assert ("1000", 1002 + 1) == (state[DEPENDENCIES], len(state))
    first = [scripted.ask("claim", lease_ms=9)[:2] for _ in range(3)]
    assert [[b"JOB%011d" % number, b"%d" % number] for number in range(3)] == first


def test_payloads_are_kept_as_they_are(scripted: Bench) -> None:
    """The parent's and the children's, empty and of any bytes."""
    scripted.ask("flow_add", id=PARENT, payload="", policy="", children=[(A, "\x00\xff"), (B, "{p}")])
    assert ["", "\x00\xff", "{p}"] == [scripted.read_row(one)["payload"] for one in (PARENT, A, B)]


def test_a_waiting_parent_is_given_to_nobody(scripted: Bench) -> None:
    """Only the children are claimed."""
    add_flow(scripted, A, B)
    assert [A, B] == lease_all(scripted)


@pytest.mark.parametrize("strange", [0, 1, 2])
@pytest.mark.parametrize("name", [b"TSK0NgWEfAEJfa", b"", b"job0NgWEfAEJfa"])
def test_the_kind_of_every_id_is_asked(scripted: Bench, strange: int, name: bytes) -> None:
    """Of the parent as of each child, and a flow that is refused leaves nothing."""
    everybody = [PARENT, A, B]
    everybody[strange] = name
    with scripted.nothing_written():
        assert WRONG_KIND == add_flow(scripted, *everybody[1:], parent=everybody[0])


@pytest.mark.parametrize("there", [PARENT, A, B])
@pytest.mark.parametrize("kind", ["hash", "string"])
def test_an_existing_row_of_any_of_them(scripted: Bench, there: bytes, kind: str) -> None:
    """0, nothing written, and it may be of any type: the row is only asked whether it exists."""
    if kind == "hash":
        scripted.row(there, state="dead")
    else:
        scripted.spoil(job_key(there))
    with scripted.nothing_written():
        assert add_flow(scripted, A, B) == 0


def test_all_kinds_are_asked_before_any_row(scripted: Bench) -> None:
    """The parent exists and the last child is of another kind: the kind is told."""
    scripted.row(PARENT, state="x")
    with scripted.nothing_written():
        assert WRONG_KIND == add_flow(scripted, A, b"TSK0NgWEfAEJfa")


def test_adding_it_again(scripted: Bench) -> None:
    """The same flow a second time is 0 and writes nothing, also when children are leased or gone."""
    add_flow(scripted, A, B)
    lease_all(scripted)
    scripted.ask("complete", id=A, token=1)
    with scripted.nothing_written():
        assert add_flow(scripted, A, B) == 0
        assert add_flow(scripted, A, C) == 0


def test_an_old_count_is_written_over(scripted: Bench) -> None:
    """A key of any type that an earlier flow left under the parent's name: SET does not ask."""
    scripted.put("RPUSH", "{p}" + DEPENDENCIES, "x")
    assert add_flow(scripted, A) == 1
    assert scripted.state()[DEPENDENCIES] == "1"


def test_a_spoiled_pending_stops_it_at_the_first_child(scripted: Bench) -> None:
    """The parent, its count and the first child's row stay; the second child was never reached."""
    scripted.spoil("pending")
    assert add_flow(scripted, B, A, policy="id") == WRONGTYPE
    left: dict[str, Any] = {job_key(PARENT): WAITS, DEPENDENCIES: "2", job_key(B): child(parent_policy="id")}
    assert {**left, "pending": "spoiled"} == scripted.state()


def test_a_flow_knows_no_lane(scripted: Bench) -> None:
    """Lanes may all be spoiled."""
    for name in ("ring", "gactive", "glimit", "paused", "wake", "meta"):
        scripted.spoil(name)
    assert add_flow(scripted, A) == 1
