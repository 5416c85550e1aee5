"""The words of enqueue, schedule and claim, and of pause and resume."""

from emqlab.observe.words.common import (
    ASKS_FIRST,
    GUARD,
    READ_CLOCK,
    READ_FENCE,
    READ_TIME,
    holds,
    uncountable,
)
from emqlab.observe.words.entry import At, Row, joined, quoted, rows, short, shown
from emqlab.observe.words.trouble import broken_off

# -- enqueue and schedule


def _new(at: At) -> str:
    return "There is no such row: the id is new." if at.reply == 0 else "A row has this id: a duplicate."


def _made(at: At) -> str:
    return f"The row: state {'pending' if at.verb == 'enqueue' else 'scheduled'}, attempts 0, the payload."


def _due(at: At) -> str:
    if at.now_ms is None:
        return f"{at.job} is due at {quoted(at.command[2])}."
    return f"{at.job} is due in {at.ahead()}."


IS_NEW: Row = ("read EXISTS row", "row", "is the id new?", _new)
_HSET: Row = ("write HSET row.state", "make", "write the row", _made)
_LINE: Row = (
    "write ZADD pending",
    "line",
    "put it in line",
    lambda at: f"{at.job} waits in line, in the order of ids.",
)
_DUE: Row = ("write ZADD schedule", "due", "set when it is due", _due)

_NEW = joined(
    rows("enqueue", "scripted", [IS_NEW, _HSET, _LINE]),
    rows(
        "enqueue",
        "native",
        [READ_FENCE, IS_NEW, ("read TYPE pending", "sound1", "will it hold?", holds), GUARD, _HSET, _LINE],
    ),
    rows("schedule", "scripted", [IS_NEW, READ_TIME, _HSET, _DUE]),
    rows(
        "schedule",
        "native",
        [
            READ_FENCE,
            IS_NEW,
            ("read TYPE schedule", "sound1", "will it hold?", holds),
            READ_CLOCK,
            GUARD,
            _HSET,
            _DUE,
        ],
    ),
)

# -- claim


def _host_pause(at: At) -> str:
    if at.reply is None:
        return f"{ASKS_FIRST} Not paused."
    return "Any value pauses, even 0. The script is never sent."


def _host_pause_error(at: At) -> str:
    return (
        f"{ASKS_FIRST} Connection lost: read as not paused."
        if at.then
        else f"{ASKS_FIRST} The error is read as paused."
    )


def _native_pause(at: At) -> str:
    return "Asked inside the command. Not paused." if at.reply is None else "Any value pauses, even 0."


def popped(at: At) -> str:
    """The head of a line, taken out of it at once; or nobody."""
    if not at.reply:
        return "Nobody waits: nothing to pop."
    return f"Pops {short(at.reply[0])} at once. It is now in no set."


def _peeked(at: At) -> str:
    if not at.reply:
        return "Nobody waits: there is nothing to lease."
    return f"Only looks: {short(at.reply[0])} would be popped. It stays where it is."


def _ghost(at: At) -> str:
    return "There is a row." if at.reply == 1 else "No row: a ghost. It stays consumed."


def _kind(at: At) -> str:
    if at.reply == b"hash":
        return "There is a row, and it is a hash."
    return "No row: a ghost." if at.reply == b"none" else f"A {shown(at.reply)}, not a hash: refused."


def _predicted(at: At) -> str:
    if not at.then:
        return uncountable(at)
    return f"Predicts token {int(at.reply or 0) + 1}, writes nothing."


def _leased(at: At) -> str:
    return f"Leased for {at.ahead()}."


def _lease_lost(at: At) -> str:
    if not at.wrote or "WRONGTYPE" not in at.reply.text:
        return broken_off(at)
    return "active is not a sorted set. The id is lost, and attempts has gone up."


def _paid(at: At) -> str:
    if at.reply is None:
        return "The row has no payload: the answer holds nil."
    if at.native:
        return "Reads the payload now, while it still only reads."
    return "Fetches the payload for the answer."


def _popped_as_foreseen(at: At) -> str:
    if at.row is None:
        return "The ghost leaves pending, and that is all."
    return f"Pops, and the popped id is {short(at.reply[0])}, as foreseen."


HOST_PAUSE: Row = ("host HGET meta.paused", "pause", "is the queue paused?", _host_pause, _host_pause_error)
IS_ROW: Row = ("read EXISTS row", "row", "is there a row?", _ghost)
MINT: Row = ("write HINCRBY row.attempts", "count", "which token?", lambda at: f"Mints token {at.reply}.")
SAY_ACTIVE: Row = ("write HSET row.state", "state", "say that it is leased", "state says active.")
LEASE: Row = ("write ZADD active", "lease", "start the lease", _leased, _lease_lost)
PAYLOAD: Row = ("read HGET row.payload", "payload", "what is the work?", _paid)

_CLAIM = joined(
    rows(
        "claim",
        "scripted",
        [
            HOST_PAUSE,
            ("write ZPOPMIN pending", "head", "who is first?", popped),
            IS_ROW,
            MINT,
            SAY_ACTIVE,
            READ_TIME,
            LEASE,
            PAYLOAD,
        ],
    ),
    rows(
        "claim",
        "native",
        [
            READ_FENCE,
            (
                "read HGET meta.paused",
                "pause",
                "is the queue paused?",
                _native_pause,
                "meta is not a hash: refused.",
            ),
            ("read ZRANGE pending", "head", "who is first?", _peeked),
            ("read TYPE row", "row", "is there a row?", _kind),
            ("read HGET row.attempts", "count", "which token?", _predicted),
            ("read TYPE active", "lease0", "will active take it?", holds),
            READ_CLOCK,
            PAYLOAD,
            GUARD,
            ("write ZPOPMIN pending", "pop2", "take the id out", _popped_as_foreseen),
            (
                "write HINCRBY row.attempts",
                "count2",
                "mint the token",
                lambda at: f"Mints token {at.reply}, as predicted.",
            ),
            (
                "write HSET row.state",
                "state2",
                "say that it is leased",
                "state, and the stamp of this server's run.",
            ),
            ("write ZADD active", "lease2", "start the lease", _leased),
        ],
    ),
)

# -- pause and resume: one plain write each, the same on both executors


def _set(at: At) -> str:
    return "The flag is set: claims answer empty." if at.reply == 1 else "The flag was there: it is set again."


def _cleared(at: At) -> str:
    return "The flag goes: claims go on." if at.reply == 1 else "There was no flag to clear."


_FLAG = joined(
    *(
        joined(
            rows("pause", name, [("write HSET meta.paused", "flag", "set the flag", _set)]),
            rows("resume", name, [("write HDEL meta.paused", "flag", "clear the flag", _cleared)]),
        )
        for name in ("scripted", "native")
    )
)

ARRIVE = joined(_NEW, _CLAIM, _FLAG)
