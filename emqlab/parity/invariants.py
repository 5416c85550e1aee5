"""What holds of a sound queue, checked on every transition: what one step broke that was whole before."""

from collections.abc import Iterator, Mapping

from emqlab.parity.model import Held, Zset
from emqlab.parity.trials.trial import BASE

#: Code -> the invariant in words.
INVARIANTS: dict[str, str] = {
    "one-set": "every row is in just one set",
    "no-ghost": "every id in a set has a row",
    "attempts": "attempts never falls",
    "balance": "enqueued = live + completed + dead",
    "payload": "a payload keeps its bytes",
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
    ("no-ghost", "complete"): 13,
    ("balance", "complete"): 23,
    ("balance", "stalled_check"): 16,
    ("balance", "promote"): 22,
    ("balance", "reap"): 20,
    ("balance", "enqueue"): 23,
    ("balance", "schedule"): 23,
}
_SETS = tuple(BASE + name for name in (b"pending", b"active", b"schedule", b"dead"))
_JOB = BASE + b"job:"
_COMPLETED = BASE + b"metrics:completed"

Keys = Mapping[bytes, Held]


def known(executor: str, code: str, verb: str) -> bool:
    """Whether it is documented that this executor's verb breaks this invariant; no native verb may break any."""
    return executor == "scripted" and (code, verb) in KNOWN


def broken(verb: str, reply: object, before: Keys, after: Keys) -> Iterator[str]:
    """The codes of what one transition broke. Jobs of lanes and flows have places of their own and are left out."""
    if before == after:
        return
    ids = _ids(before) | _ids(after)
    entered = completed = 0
    for job in ids:
        row, made = before.get(_JOB + job), after.get(_JOB + job)
        if _elsewhere(row) or _elsewhere(made):
            continue
        was, now = _places(before, job), _places(after, job)
        # What was broken before this step is not this step's doing.
        if was == (row is not None):
            if made is not None and now != 1:
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


def _ids(keys: Keys) -> set[bytes]:
    found = {name[len(_JOB) :] for name in keys if name.startswith(_JOB)}
    for name in _SETS:
        members = keys.get(name)
        if isinstance(members, Zset):
            found.update(members)
    return found


def _elsewhere(row: Held | None) -> bool:
    return isinstance(row, dict) and not isinstance(row, Zset) and (b"group" in row or b"parent" in row)


def _places(keys: Keys, job: bytes) -> int:
    places = 0
    for name in _SETS:
        members = keys.get(name)
        places += isinstance(members, Zset) and job in members
    return places


def _count(stored: object) -> int:
    return int(stored) if isinstance(stored, bytes) and stored.isdigit() else 0


def _balanced(verb: str, reply: object, before: Keys, after: Keys, entered: int, completed: int) -> bool:
    """Rows come by an enqueue that says so, and go by a complete that says so and counts it."""
    if entered != (1 if verb in ("enqueue", "schedule") and reply == 1 else 0):
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
