"""The words of the holder's verbs: complete, fail, delay, requeue, extend, extends."""

from emqlab.observe.words.common import (
    DEAD,
    GUARD,
    HOLDER,
    PUT_BACK,
    READ_CLOCK,
    READ_FENCE,
    READ_GROUP,
    READ_TIME,
    READ_TOKEN,
    SAY_WHERE,
    holds,
    leaves,
    metric,
    metric_holds,
    parent,
    uncountable,
    where,
)
from emqlab.observe.words.entry import At, Row, joined, quoted, rows

LEAVE: Row = ("write ZREM active", "leave", "take the id out", leaves)
_TAKES_METRIC = "and the metric?"


def _left_line(at: At) -> str:
    if at.reply == 0:
        return f"{at.job} was not waiting in pending either."
    return f"{at.job} leaves pending, where it was waiting."


_LEFT_LINE: Row = ("write ZREM pending", "leave-line", "then out of pending", _left_line)

# -- complete


def _waits(at: At) -> str:
    if at.reply is None:
        return f"{at.job} is in neither active nor pending: refused."
    return f"{at.job} waits in pending: recovered, not claimed again."


def _deleted(at: At) -> str:
    return "The row is deleted, counters and all." if at.reply else "There was no row to delete."


_DEL: Row = ("write DEL row", "gone", "delete the row", _deleted)
_COMPLETED: Row = (
    "write HINCRBY metrics:completed.count",
    "metric",
    "count the completion",
    metric,
)

_COMPLETE = joined(
    rows("complete", "scripted", [READ_TOKEN, READ_GROUP, LEAVE, _LEFT_LINE, _DEL, _COMPLETED]),
    rows(
        "complete",
        "native",
        [
            *HOLDER,
            ("read ZSCORE pending", "where-line", "does it wait in line?", _waits),
            ("read HGET metrics:completed.count", "sound2", _TAKES_METRIC, metric_holds),
            LEAVE,
            _LEFT_LINE,
            _DEL,
            _COMPLETED,
        ],
    ),
)

# -- fail


def _dies(at: At) -> str:
    return f"{_against_cap(at)}: the job dies."


def _against_cap(at: At) -> str:
    spent = at.said(b"HGET", b"attempts")
    sign = "≥" if at.command[3:4] == (b"dead",) else "<"
    return f"attempts {quoted(spent)} {sign} {at.text('max_attempts')}"


def _scripted_state(at: At) -> str:
    if at.command[3:4] == (b"dead",):
        return _dies(at)
    return f"{_against_cap(at)}: another try is left."


def _native_state(at: At) -> str:
    failures = dict(zip(at.command[2::2], at.command[3::2], strict=False)).get(b"failures", b"")
    dead = b"dead" in at.command
    verdict = "the job dies" if dead else "another try is left"
    sign = "≥" if dead else "<"
    return f"failures {quoted(failures)} {sign} {at.text('max_attempts')}: {verdict}. One write says it all."


def _failures(at: At) -> str:
    if not at.then:
        return uncountable(at)
    return f"Predicts failure {int(at.reply or 0) + 1}; the cap is {at.text('max_attempts')}."


def _already(at: At) -> str:
    if at.reply is None:
        return f"{at.job} is not in dead."
    return f"{at.job} is a dead letter already. Nothing is written."


def _due(at: At) -> str:
    if at.now_ms is None:
        return f"{at.job} is due at {quoted(at.command[2])}."
    return f"{at.job} is due in {at.ahead()}."


_DUE: Row = ("write ZADD schedule", "due", "set when it is due", _due)
_FAILED: Row = ("write HINCRBY metrics:failed.count", "metric", "count the failure", metric)
_TAKES_DUE: Row = ("read TYPE schedule", "sound1", "will it hold?", holds)

_FAIL = joined(
    rows(
        "fail",
        "scripted",
        [
            READ_TOKEN,
            READ_GROUP,
            LEAVE,
            _LEFT_LINE,
            ("write HSET row.last_error", "why", "say why", "The reported failure goes on the row."),
            READ_TIME,
            ("write HSET row.state", "state", SAY_WHERE, _scripted_state),
            DEAD,
            _FAILED,
            _DUE,
        ],
    ),
    rows(
        "fail",
        "native",
        [
            *HOLDER,
            ("read ZSCORE dead", "dead0", "is it dead already?", _already),
            ("read HGET row.failures", "count0", "which failure is it?", _failures),
            ("read HGET metrics:failed.count", "sound2", _TAKES_METRIC, metric_holds),
            _TAKES_DUE,
            READ_CLOCK,
            LEAVE,
            ("write HSET row.last_error", "state", SAY_WHERE, _native_state),
            DEAD,
            _FAILED,
            _DUE,
        ],
    ),
)

# -- delay and requeue

_SCHEDULED: Row = ("write HSET row.state", "state", SAY_WHERE, "state says scheduled. No counter moves.")

_GIVE_BACK = joined(
    rows("delay", "scripted", [READ_TOKEN, LEAVE, _SCHEDULED, READ_TIME, _DUE]),
    rows("delay", "native", [*HOLDER, _TAKES_DUE, READ_CLOCK, LEAVE, _SCHEDULED, _DUE]),
    rows(
        "requeue",
        "native",
        [
            *HOLDER,
            ("read TYPE pending", "sound1", "will it hold?", holds),
            LEAVE,
            ("write HSET row.state", "state", SAY_WHERE, "state says pending. No counter moves."),
            ("write ZADD pending", "back", PUT_BACK, lambda at: f"{at.job} is back in line."),
        ],
    ),
)

# -- extend and extends


def _extended(at: At) -> str:
    if at.reply == 1:
        return f"A lease of {at.ahead()}, for an id that active did not hold."
    return f"The deadline moves to {at.ahead()} from now."


def _pair_token(at: At) -> str:
    presented = quoted(_presented(at))
    if at.reply is None:
        return f"{at.job} has no attempts: it is listed."
    if at.reply == _presented(at):
        return f"{at.job}: token {presented} is current."
    return f"{at.job}: presented {presented}, the row says {quoted(at.reply)}. It is listed."


def _presented(at: At) -> bytes:
    """The token of the pair being looked at: pairs are taken in order, and one id may come twice."""
    looked = [one for one in at.told if one.command[0] == b"HGET" and one.command[-1:] == (b"attempts",)]
    pairs = at.values.get("pairs", ())
    if isinstance(pairs, bytes) or len(looked) >= len(pairs):
        return b""
    return pairs[len(looked)][1]


def _pair_group(at: At) -> str:
    return "No group, so a flat job." if at.reply is None else f"{at.job} is a lane row: it is listed."


def _pair_parent(at: At) -> str:
    return parent(at) if at.reply is None else f"{at.job} is a flow row: it is listed."


def _pair_where(at: At) -> str:
    return where(at) if at.reply is not None else f"{at.job} is not in active: it is listed."


_LEASE: Row = ("write ZADD active", "lease", "move the deadline", _extended)
_STAMP: Row = (
    "write HSET row.lease_epoch",
    "stamp",
    "stamp the epoch",
    "The lease belongs to this epoch now.",
)

_EXTEND = joined(
    rows("extend", "scripted", [READ_TOKEN, READ_TIME, _LEASE]),
    rows("extend", "native", [*HOLDER, READ_CLOCK, _LEASE, _STAMP]),
    rows(
        "extends",
        "scripted",
        [READ_TIME, ("read HGET row.attempts", "token", "is the token current?", _pair_token), _LEASE],
    ),
    rows(
        "extends",
        "native",
        [
            READ_FENCE,
            ("read HGET row.attempts", "token", "is the token current?", _pair_token),
            ("read HGET row.group", "group", "a lane row?", _pair_group),
            ("read HGET row.parent", "parent", "a flow row?", _pair_parent),
            ("read ZSCORE active", "where", "is it leased?", _pair_where),
            READ_CLOCK,
            GUARD,
            _LEASE,
            _STAMP,
        ],
    ),
)

HOLDERS = joined(_COMPLETE, _FAIL, _GIVE_BACK, _EXTEND)
