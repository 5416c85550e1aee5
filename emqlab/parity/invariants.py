"""What holds of a sound queue, checked on every transition: what one step broke that was whole before."""

from collections import Counter
from collections.abc import Iterator, Mapping

from emqlab.keys import FLOW_ENDS
from emqlab.parity.model import Held, Zset
from emqlab.parity.trials.trial import BASE

#: Code -> the invariant in words.
INVARIANTS: dict[str, str] = {
    "one-set": "every row is in just one set",
    "no-ghost": "every id in a set has a row",
    "attempts": "attempts never falls",
    "balance": "enqueued = live + completed + dead",
    "payload": "a payload keeps its bytes",
    "slots": "a group's gactive is how many of its jobs are active",
    "children": "a parent that waits has as many dependencies as living children",
    "no-ttl": "no key is given a time to live",
}
#: What the scripts are known to break, and the divergence by which the native verbs don't: (invariant, verb) -> number.
#: A script is not rolled back, so most of it is what ran before an error.
KNOWN: dict[tuple[str, str], int] = {
    ("one-set", "extend"): 12,
    ("one-set", "extends"): 12,
    ("one-set", "fail"): 12,
    ("one-set", "delay"): 12,
    ("one-set", "claim"): 3,
    ("one-set", "stalled_check"): 18,
    ("one-set", "promote"): 23,
    ("one-set", "reap"): 20,
    ("one-set", "reprocess"): 23,
    ("one-set", "enqueue"): 23,
    ("one-set", "schedule"): 23,
    ("one-set", "complete"): 10,
    ("one-set", "lane_enqueue"): 20,
    ("one-set", "lane_claim"): 20,
    ("one-set", "flow_add"): 20,
    ("no-ghost", "complete"): 13,
    ("balance", "complete"): 23,
    ("balance", "stalled_check"): 16,
    ("balance", "promote"): 22,
    ("balance", "reap"): 20,
    ("balance", "enqueue"): 23,
    ("balance", "schedule"): 23,
    ("balance", "fail"): 10,
    ("balance", "lane_enqueue"): 20,
    ("balance", "flow_add"): 20,
    ("slots", "delay"): 10,
    ("slots", "extend"): 12,
    ("slots", "extends"): 12,
    ("slots", "lane_claim"): 20,
    ("children", "complete"): 10,
    ("children", "fail"): 10,
    ("children", "delay"): 12,
}
#: What either executor is known to break, and the hazard that says so (SPEC 7): (invariant, verb) -> number.
HAZARDS: dict[tuple[str, str], int] = {
    ("slots", "claim"): 10,
    ("children", "stalled_check"): 9,
    # A parent's id that is used again has the first one's children, too.
    ("children", "flow_add"): 3,
    # Its death was told; it can die again, and is told again.
    ("children", "reprocess"): 13,
}
_ADDS = ("enqueue", "schedule", "lane_enqueue", "flow_add")
_SETS = tuple(BASE + name for name in (b"pending", b"active", b"schedule", b"dead"))
_JOB = BASE + b"job:"
_LANE = BASE + b"g:"
_COMPLETED = BASE + b"metrics:completed"

Keys = Mapping[bytes, Held]


def known(executor: str, code: str, verb: str) -> bool:
    """Whether it is documented that this executor's verb breaks this invariant."""
    return (code, verb) in HAZARDS or (executor == "scripted" and (code, verb) in KNOWN)


def broken(verb: str, reply: object, before: Keys, after: Keys) -> Iterator[str]:
    """The codes of what one transition broke. What was broken before it is not its doing."""
    if before == after:
        return
    was_in, is_in = _places(before), _places(after)
    ids = {name[len(_JOB) :] for keys in (before, after) for name in keys if name.startswith(_JOB)}
    rows = {job for job in ids if not job.endswith(FLOW_ENDS)} | set(was_in) | set(is_in)
    entered = completed = 0
    for job in rows:
        row, made = before.get(_JOB + job), after.get(_JOB + job)
        was, now = was_in[job], is_in[job]
        if was == _due(row):
            if made is not None and now != _due(made):
                yield "one-set"
            if made is None and now:
                yield "no-ghost"
        entered += row is None and made is not None
        completed += row is not None and made is None
        if isinstance(row, dict) and isinstance(made, dict):
            if _count(made.get(b"attempts")) < _count(row.get(b"attempts")):
                yield "attempts"
            if row.get(b"payload") != made.get(b"payload"):
                yield "payload"
    if not _balanced(verb, reply, before, after, entered, completed):
        yield "balance"
    if _slots_right(before) and not _slots_right(after):
        yield "slots"
    if _children_right(before) and not _children_right(after):
        yield "children"


def _places(keys: Keys) -> Counter[bytes]:
    """In how many sets each id stands: the four, and the lanes."""
    found: Counter[bytes] = Counter()
    for name, held in keys.items():
        if isinstance(held, Zset) and (name in _SETS or (name.startswith(_LANE) and name.endswith(b":pending"))):
            found.update(held.keys())
    return found


def _due(row: Held | None) -> int:
    """In how many sets a row's id should stand: in one, but a parent that waits for its children in none."""
    return 0 if row is None or _fields(row).get(b"state") == b"awaiting_children" else 1


def _fields(row: Held | None) -> Mapping[bytes, bytes]:
    return row if isinstance(row, dict) and not isinstance(row, Zset) else {}


def _slots_right(keys: Keys) -> bool:
    slots, active = _fields(keys.get(BASE + b"gactive")), keys.get(BASE + b"active")
    counted = Counter(
        _fields(keys.get(_JOB + job)).get(b"group") for job in (active if isinstance(active, Zset) else ())
    )
    groups = {*slots, *counted} - {None}
    return all(slots.get(group, b"0") == b"%d" % counted[group] for group in groups if group is not None)


def _children_right(keys: Keys) -> bool:
    """Whether each parent that waits for its children waits for those that live."""
    living: Counter[bytes] = Counter()
    waiting: list[bytes] = []
    for name, held in keys.items():
        if name.startswith(_JOB):
            row = _fields(held)
            if b"parent" in row and row.get(b"state") != b"dead":
                living[row[b"parent"]] += 1
            if row.get(b"state") == b"awaiting_children":
                waiting.append(name[len(_JOB) :])
    return all(keys.get(_JOB + job + b":dependencies") == b"%d" % living[job] for job in waiting)


def _count(stored: object) -> int:
    return int(stored) if isinstance(stored, bytes) and stored.isdigit() else 0


def _balanced(verb: str, reply: object, before: Keys, after: Keys, entered: int, completed: int) -> bool:
    """Rows come by a step that adds them and says so, and go by a complete that says so and counts it."""
    if entered != 0 and not (verb in _ADDS and reply == 1 and (entered == 1 or verb == "flow_add")):
        return False
    if entered == 0 and verb in _ADDS and reply == 1:
        return False
    if completed != (1 if verb == "complete" and reply == 1 else 0):
        return False
    return _completed(after) - _completed(before) in (completed, 0 if _odd(before) else completed)


def _completed(keys: Keys) -> int:
    counter = keys.get(_COMPLETED)
    return _count(counter.get(b"count")) if isinstance(counter, dict) and not isinstance(counter, Zset) else 0


def _odd(keys: Keys) -> bool:
    """Whether the counter holds what is not counted from: then there is nothing to hold it to."""
    counter = keys.get(_COMPLETED)
    if counter is None:
        return False
    stored = counter.get(b"count") if isinstance(counter, dict) and not isinstance(counter, Zset) else None
    return not (isinstance(stored, bytes) and stored.isdigit() and len(stored) < 16)
