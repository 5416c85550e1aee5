"""Lanes and flows as tests fill them and read them back."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from emqlab.replies import ErrorReply
from tests.transitions.bench import Bench, job_key

#: The parent of a test's flow.
PARENT = b"JOB0NgWEfAEJfp"
#: The short name of its count, and what its row holds while it waits.
DEPENDENCIES = f"{job_key(PARENT)}:dependencies"
WAITS = {"state": "awaiting_children", "attempts": "0", "payload": "p"}
RELEASED = {**WAITS, "state": "pending"}
KILLED = {**WAITS, "state": "dead"}
PROCESSED, FAILED, UNSUCCESSFUL = (f"{job_key(PARENT)}:{name}" for name in ("processed", "failed", "unsuccessful"))
WRONG_KIND = ErrorReply("EMQKIND job id must be JOB-namespaced")


def job(number: int) -> bytes:
    """The id with this number."""
    return b"JOB%011d" % number


def lane(group: str) -> str:
    """The short name of a group's lane."""
    return f"g:{group}:pending"


def row(group: str, state: str = "pending", attempts: int = 0, **more: str) -> dict[str, str]:
    """What the row of a lane's job holds."""
    return {"state": state, "attempts": str(attempts), "payload": "p", "group": group, **more}


def enqueue(bench: Bench, group: str, *jobs: bytes) -> None:
    """Put jobs into a group's lane by the verb."""
    for one in jobs:
        assert bench.ask("lane_enqueue", id=one, payload="p", group=group) == 1


def claim(bench: Bench, lease_ms: int | str = 30_000) -> Any:
    """One claim from the ring, its reply as it is."""
    return bench.ask("lane_claim", lease_ms=lease_ms)


def complete(bench: Bench, one: bytes, token: int = 1, **values: str) -> Any:
    """Complete a job; token 1 is that of its first claim."""
    return bench.ask("complete", id=one, token=token, **values)


def fail(bench: Bench, one: bytes, *, token: int = 1, cap: int = 9, delay_ms: int = 0) -> Any:
    """Report a failure ``boom``."""
    return bench.ask("fail", id=one, token=token, delay_ms=delay_ms, max_attempts=cap, error="boom")


def turns(bench: Bench, number: int) -> str:
    """The groups that ``number`` claims serve, a letter each; a claim that finds nothing is a dot."""
    replies = [claim(bench) for _ in range(number)]
    return "".join(reply[3].decode() if reply else "." for reply in replies)


def add_flow(bench: Bench, *children: bytes, policy: str = "", parent: bytes = PARENT) -> Any:
    """A flow whose children's payloads are ``c``."""
    pairs = [(child, "c") for child in children]
    return bench.ask("flow_add", id=parent, payload="p", policy=policy, children=pairs)


def lease_all(bench: Bench) -> list[bytes]:
    """Claim until the line is empty; the ids in their order."""
    found = []
    while reply := bench.ask("claim", lease_ms=30_000):
        found.append(reply[0])
    return found


def ring(bench: Bench) -> list[str]:
    """The groups on the ring, the next one first."""
    return [group.decode("latin-1") for group in bench.put("LRANGE", "{p}ring", 0, -1)]


def fields(state: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A hash's fields or a zset's scores; empty when there is no such key."""
    held = state.get(name, {})
    assert isinstance(held, dict), (name, held)
    return held


def slots(state: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    """``gactive``, and what it should be: how many leased rows each group has."""
    counted = {group: int(number) for group, number in fields(state, "gactive").items()}
    groups = (fields(state, f"job:{one}").get("group") for one in fields(state, "active"))
    return counted, dict(Counter(group for group in groups if group is not None))


def die(bench: Bench, one: bytes, token: int = 1) -> None:
    """Fail a job at its cap."""
    assert fail(bench, one, token=token, cap=1) == b"dead"


def flow(bench: Bench, policy: str, *children: bytes) -> None:
    """A flow whose children are all leased."""
    add_flow(bench, *children, policy=policy)
    assert list(children) == lease_all(bench)


def parents(bench: Bench) -> dict[str, Any]:
    """What is kept of the parent: its row, its count, its lists."""
    return {name: held for name, held in bench.state().items() if name.startswith(job_key(PARENT))}
