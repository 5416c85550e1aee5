"""Random histories: up to four jobs, twenty steps, drawn from a seed; the world moves under all of a batch alike.

Half of them are of flat jobs. The others have lanes and flows too: from an empty queue, where only the scripts add
them, or from a queue that has some, where both executors meet them.
"""

from collections.abc import Mapping
from random import Random

from emqlab.parity.model import Held, Values, World, Zset, native, scripted
from emqlab.parity.trials.calls import ODD_NUMBERS
from emqlab.parity.trials.states import FAILURE
from emqlab.parity.trials.trial import BASE, EPOCHS, QUEUE, Do, Restart, Step, Wait, world

JOBS = (b"JOB0NgWEfAEJfa", b"JOB0NgWEfAEJfb", b"JOB0NgWEfAEJfc", b"JOB0NgWEfAEJfd")
LENGTH = 20
#: How long leases, delays and waits are, ms: a wait passes the short ones, and ends between them by seconds.
SHORT_MS, LONG_MS, WAIT_MS = 10_000, 600_000, 60_000
#: Verb -> how often it is drawn: what moves jobs on comes oftener.
_OFTEN = {
    "enqueue": 8,
    "schedule": 4,
    "claim": 14,
    "complete": 6,
    "fail": 9,
    "delay": 5,
    "requeue": 4,
    "extend": 4,
    "extends": 3,
    "promote": 6,
    "stalled_check": 8,
    "reap": 2,
    "reprocess": 6,
    "pause": 1,
    "resume": 3,
}
#: The same with lanes and flows.
_OFTEN_BOUND = {
    **_OFTEN,
    "enqueue": 4,
    "claim": 8,
    "lane_enqueue": 12,
    "lane_claim": 14,
    "lane_pause": 2,
    "lane_resume": 4,
    "lane_limit": 3,
    "flow_add": 8,
}
#: How many steps of the scripts lie behind a history that begins with lanes and flows.
_BEFORE = 14
_GROUPS = (b"g", b"g", b"h")
_TOKENS = ("right",) * 12 + ("behind", "ahead", "padded", "empty", "0")


def schedule(random: Random) -> tuple[Step | None, ...]:
    """A batch's world steps by their place: mostly none, some waits, at most two restarts."""
    plan: list[Step | None] = [None] * LENGTH
    for _ in range(random.randrange(2, 6)):
        plan[random.randrange(LENGTH)] = Wait(WAIT_MS)
    for _ in range(random.randrange(len(EPOCHS))):
        plan[random.randrange(LENGTH)] = Restart()
    return tuple(plan)


def beginning(random: Random) -> World:
    """A queue with lanes and flows, as some steps of the scripts leave it."""
    found = world({})
    for _ in range(_BEFORE):
        scripted(found, QUEUE, *_drawn(random, found, _OFTEN_BOUND))
    return found


def history(
    random: Random, plan: tuple[Step | None, ...], start: World, *, follow: str, bound: bool = False
) -> list[Step]:
    """One history on a batch's plan. Its tokens are made right or wrong by what the ``follow`` executor would hold.

    ``bound``: with the steps of lanes and flows.
    """
    now = start.copy()
    voice = native if follow == "native" else scripted
    steps: list[Step] = []
    epoch = 0
    for fixed in plan:
        if isinstance(fixed, Wait):
            now.now_ms += fixed.ms
        elif isinstance(fixed, Restart):
            epoch += 1
            now.run_id = EPOCHS[epoch]
        if fixed is not None:
            steps.append(fixed)
            continue
        verb, values = _drawn(random, now, _OFTEN_BOUND if bound else _OFTEN)
        voice(now, QUEUE, verb, values)
        steps.append(Do(verb, values))
    return steps


def _drawn(random: Random, now: World, often: Mapping[str, int]) -> tuple[str, Values]:
    verb = random.choices(list(often), list(often.values()))[0]
    job = _job(random, now, verb)
    values: dict[str, bytes] = {"id": job, "token": _token(random, now, job)}
    lease = _number(random, SHORT_MS, LONG_MS)
    due: dict[str, bytes] = {"mode": b"in", "value": _number(random, SHORT_MS, LONG_MS)}
    match verb:
        case "enqueue":
            return verb, {"id": job, "payload": random.choice((b"tea", b"", b"\x00\xff"))}
        case "schedule":
            return verb, {"id": job, "payload": b"tea", **due}
        case "claim":
            return verb, {"lease_ms": lease}
        case "fail":
            cap = _number(random, 1, 2, 3, 9)
            return verb, {
                **values,
                "delay_ms": _number(random, 0, SHORT_MS),
                "max_attempts": cap,
                "error": FAILURE,
            }
        case "delay":
            return verb, {**values, **due}
        case "extend":
            return verb, {**values, "lease_ms": lease}
        case "extends":
            pairs = [(each, _token(random, now, each)) for each in random.sample(JOBS, random.randrange(1, 4))]
            return verb, {"lease_ms": lease, "pairs": pairs}
        case "promote":
            return verb, {"batch": _number(random, 1, 2, 100)}
        case "stalled_check":
            return verb, {"max_stalled": _number(random, 1, 2, 3), "limit": _number(random, 1, 2, 100)}
        case "reprocess":
            return verb, {"id": job}
        case "pause" | "resume" | "reap":
            return verb, {}
    return _bound(random, verb, job, lease) or (verb, values)


def _bound(random: Random, verb: str, job: bytes, lease: bytes) -> tuple[str, Values] | None:
    """A step of a lane or a flow."""
    group = random.choice(_GROUPS)
    match verb:
        case "lane_enqueue":
            return verb, {"id": job, "payload": b"tea", "group": group}
        case "lane_claim":
            return verb, {"lease_ms": lease}
        case "lane_pause" | "lane_resume":
            return verb, {"group": group}
        case "lane_limit":
            return verb, {"group": group, "limit": _number(random, 0, 1, 1, 2)}
        case "flow_add":
            parent, *children = random.sample(JOBS, random.randrange(2, 4))
            policy = random.choice((b"", b"fp", b"id", b"id"))
            return verb, {
                "id": parent,
                "payload": b"all",
                "children": [(child, b"part") for child in children],
                "policy": policy,
            }
    return None


def _number(random: Random, *good: int) -> bytes:
    return random.choice(ODD_NUMBERS) if random.random() < 0.02 else b"%d" % random.choice(good)


def _job(random: Random, now: World, verb: str) -> bytes:
    """Mostly a job that the verb is about."""
    if verb in ("enqueue", "schedule", "lane_enqueue") or random.random() < 0.2:
        return random.choice(JOBS)
    held: Held | None = now.keys.get(BASE + (b"dead" if verb == "reprocess" else b"active"))
    there = sorted(held) if isinstance(held, Zset) else []
    return random.choice(there or list(JOBS))


def _token(random: Random, now: World, job: bytes) -> bytes:
    row = now.keys.get(BASE + b"job:" + job)
    attempts = int(row.get(b"attempts", b"0")) if isinstance(row, dict) else 0
    word = random.choice(_TOKENS)
    made = {"right": attempts, "behind": attempts - 1, "ahead": attempts + 1}
    if word in made:
        return b"%d" % made[word]
    return {"padded": b"0%d" % attempts, "empty": b"", "0": b"0"}[word]
