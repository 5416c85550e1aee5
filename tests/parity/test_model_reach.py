"""What the third voice can reach from an empty queue: natively nothing breaks, and the scripts are seen to break."""

from collections.abc import Callable, Iterator
from typing import Any

from emqlab.parity.model import Reply, World, Zset, native, scripted

NOW_MS = 1_000_000
P = b"emq:{q}:"
IDS = (b"JOB00000000001", b"JOB00000000002")
EPOCHS = (b"1" * 40, b"2" * 40)
SETS = (b"pending", b"active", b"schedule", b"dead")
#: Worlds with as many attempts are not looked further into.
ATTEMPTS = 2
Voice = Callable[[World, bytes, str, Any], Reply]


def steps(job_id: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step for one id; a bad token is 9."""
    yield "enqueue", {"id": job_id, "payload": b"p" + job_id}
    yield "schedule", {"id": job_id, "payload": b"p" + job_id, "mode": b"in", "value": b"0"}
    yield "reprocess", {"id": job_id}
    for token in (b"0", b"1", b"9"):
        held = {"id": job_id, "token": token}
        yield "complete", held
        yield "requeue", held
        yield "delay", {**held, "mode": b"in", "value": b"50"}
        for cap in (b"1", b"2"):
            yield "fail", {**held, "delay_ms": b"0", "max_attempts": cap, "error": b"boom"}
        yield "extend", {**held, "lease_ms": b"50"}
        yield "extends", {"lease_ms": b"50", "pairs": [(job_id, token), (IDS[0], b"1")]}


STEPS = [step for job_id in IDS for step in steps(job_id)]
STEPS += [("claim", {"lease_ms": b"50"}), ("promote", {"batch": b"1"}), ("promote", {"batch": b"9"})]
STEPS += [("stalled_check", {"max_stalled": b"2", "limit": limit}) for limit in (b"1", b"9")]


def after(world: World, voice: Voice) -> Iterator[tuple[str, World]]:
    """The worlds one step on; a wait makes all that has a time due, a restart is a new epoch."""
    for verb, values in STEPS:
        changed = world.copy()
        voice(changed, b"q", verb, values)
        yield verb, changed
    waited = world.copy()
    waited.now_ms += 60
    yield "wait", waited
    restarted = world.copy()
    restarted.run_id = EPOCHS[1 - EPOCHS.index(world.run_id)]
    yield "restart", restarted


def levelled(world: World) -> World:
    """The same world at one time for all, with what is due in order and no metrics, so that few worlds are alike."""
    keys = {key: held for key, held in world.keys.items() if not key.startswith(P + b"metrics:")}
    for name in (b"active", b"schedule"):
        held = keys.get(P + name)
        if isinstance(held, Zset):
            keys[P + name] = Zset({m: NOW_MS + (50.0 if s > world.now_ms else -50.0) for m, s in held.items()})
    return World(keys, NOW_MS, world.run_id)


def frozen(world: World) -> tuple[Any, ...]:
    """A world as something that a set can hold."""
    return world.run_id, *sorted((key, tuple(sorted(held.items()))) for key, held in world.keys.items())  # type: ignore[union-attr]


def broken(before: World, world: World) -> str | None:
    """What is wrong with a world that one step made out of ``before``; None if nothing is."""
    for job_id in IDS:
        row: Any = world.keys.get(P + b"job:" + job_id)
        old: Any = before.keys.get(P + b"job:" + job_id)
        places = [name for name in SETS if job_id in (world.keys.get(P + name) or ())]
        if row is None and places:
            return "a member without a row"
        if row is not None and len(places) != 1:
            return "an id in two sets" if places else "a row in no set"
        if row is not None and places[0] != (b"schedule" if row[b"state"] == b"scheduled" else row[b"state"]):
            return "a state that is not the set"
        if row is not None and row[b"payload"] != b"p" + job_id:
            return "another payload"
        if row is not None and old is not None and int(row[b"attempts"]) < int(old[b"attempts"]):
            return "attempts fell"
    return None


def attempts(world: World) -> int:
    """The most attempts of a row."""
    rows: list[Any] = [world.keys.get(P + b"job:" + job_id, {}) for job_id in IDS]
    return max(int(row.get(b"attempts", b"0")) for row in rows)


def explore(voice: Voice) -> tuple[int, set[str], set[str]]:
    """Every sound world that ``voice`` reaches: how many, what broke, and the steps that changed something."""
    start = World({}, NOW_MS, EPOCHS[0])
    seen, open_worlds = {frozen(start)}, [start]
    wrong: set[str] = set()
    moved: set[str] = set()
    while open_worlds:
        before = open_worlds.pop()
        same = frozen(before)
        for step, world in after(before, voice):
            level = levelled(world)
            form = frozen(level)
            if form == same:
                continue
            moved.add(step)
            fault = broken(before, world)
            if fault is not None:
                wrong.add(fault)
            elif form not in seen and attempts(level) < ATTEMPTS:
                seen.add(form)
                open_worlds.append(level)
    return len(seen), wrong, moved


def test_no_native_verb_ever_breaks() -> None:
    """With two jobs, two epochs and one claim each, an id is in one set, the one of its state, and has a row."""
    worlds, wrong, moved = explore(native)
    print(f"{worlds} worlds")
    assert set() == wrong
    assert {"wait", "restart"} | {verb for verb, _ in STEPS} == moved
    assert worlds > 1_000


def test_the_scripts_are_seen_to_break() -> None:
    """The same look at the scripts finds ids in two sets and members without a row: it is not blind."""
    _, wrong, _ = explore(scripted)
    assert {"an id in two sets", "a member without a row"} <= wrong
