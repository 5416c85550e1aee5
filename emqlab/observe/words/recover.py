"""The words of what brings jobs back: promote, reap, the sweep, reprocess."""

from collections.abc import Mapping

from emqlab.observe.words.common import (
    DEAD,
    GUARD,
    LEAVE,
    PUT_BACK,
    READ_CLOCK,
    READ_FENCE,
    READ_GROUP,
    READ_TIME,
    SAY_WHERE,
    group,
    holds,
    metric,
    metric_holds,
    uncountable,
)
from emqlab.observe.words.entry import At, Row, joined, quoted, rows, shown

SOUND = "will it hold?"
SOUND_METRIC = "and the metric?"


def _selected(at: At) -> str:
    many = len(at.reply)
    if at.verb == "promote":
        return {0: "Nothing is due.", 1: "One job is due."}.get(many, f"{many} jobs are due.")
    return {0: "No lease has run out.", 1: "One lease has run out."}.get(many, f"{many} leases have run out.")


def _leaves_first(at: At) -> str:
    name = "schedule" if at.verb == "promote" else "active"
    return f"{at.job} leaves {name} before anyone has looked at the row."


def _leaves_last(at: At) -> str:
    name = "schedule" if at.verb == "promote" else "active"
    if at.row is None:
        return f"The ghost {at.job} leaves {name}, and that is all."
    return f"Now {at.job} leaves {name}."


def _member_kind(at: At) -> str:
    if at.reply == b"hash":
        return "A hash, as it should be."
    if at.reply == b"none":
        return "No row: a ghost."
    # A changed verb may go on where the lab's own refuses.
    return f"A {shown(at.reply)}, not a hash: the call {'goes on' if at.then else 'is refused as a whole'}."


def _member_group(at: At) -> str:
    if at.reply is None:
        return group(at)
    return f"A lane row: the call {'goes on' if at.then else 'is refused as a whole'}."


def _in_line(at: At) -> str:
    return f"{at.job} is back in pending."


def _in_lane(at: At) -> str:
    return f"{at.job} is back in its lane, not in pending."


def _says_pending(at: At) -> str:
    if at.row is None:
        return "HSET makes a row that holds only state."
    if at.verb == "reap":
        return "state says so too. Nothing is counted."
    return "state says so too."


_SELECT = "which have expired?"
_BACK: Row = ("write ZADD pending", "back", PUT_BACK, _in_line)
_BACK_IN_LANE: Row = ("write ZADD lane", "back", PUT_BACK, _in_lane)
_PENDING: Row = ("write HSET row.state", "state", SAY_WHERE, _says_pending)
_TAKES_PENDING: Row = ("read TYPE pending", "sound1", SOUND, holds)
_TYPE: Row = ("read TYPE row", "type", "is there a row?", _member_kind)
_FLAT: Row = ("read HGET row.group", "group", "a lane row?", _member_group)

_PROMOTE_AND_REAP = joined(
    rows(
        "promote",
        "scripted",
        [
            READ_TIME,
            ("read ZRANGEBYSCORE schedule", "select", "which are due?", _selected),
            ("write ZREM schedule", "leave", LEAVE, _leaves_first),
            READ_GROUP,
            _BACK,
            _BACK_IN_LANE,
            _PENDING,
        ],
    ),
    rows(
        "promote",
        "native",
        [
            READ_FENCE,
            READ_CLOCK,
            ("read ZRANGEBYSCORE schedule", "select", "which are due?", _selected),
            _TYPE,
            _FLAT,
            _TAKES_PENDING,
            GUARD,
            ("write ZREM schedule", "leave2", LEAVE, _leaves_last),
            _BACK,
            _PENDING,
        ],
    ),
    rows(
        "reap",
        "scripted",
        [
            READ_TIME,
            ("read ZRANGEBYSCORE active", "select", _SELECT, _selected),
            ("write ZREM active", "leave", LEAVE, _leaves_first),
            READ_GROUP,
            _BACK,
            _BACK_IN_LANE,
            _PENDING,
        ],
    ),
)

# -- the sweep


def _counted(at: At) -> str:
    made = " The row did not exist; now it does." if at.row is None else ""
    return f"Counted: stalled is now {at.reply}, the cap is {at.text('max_stalled')}.{made}"


def _swept_state(at: At) -> str:
    stalled = at.said(b"HINCRBY", b"stalled", b"1")
    if at.command[3:4] == (b"dead",):
        return f"{stalled} ≥ {at.text('max_stalled')}: the job dies."
    return f"{stalled} < {at.text('max_stalled')}: state says pending too."


def _epoch(at: At) -> str:
    if at.reply is None:
        return "No stamp: exempt, not counted."
    if at.then and at.then[0].command[-1:] == (b"stalled",):
        return "Stamped in this epoch: a stall, and it counts."
    return "Stamped before the restart: exempt, not counted."


def _would_count(at: At) -> str:
    if not at.then:
        return uncountable(at)
    return f"Predicts {int(at.reply or 0) + 1} before writing; the cap is {at.text('max_stalled')}."


def _swept_natively(at: At) -> str:
    fields = dict(zip(at.command[2::2], at.command[3::2], strict=False))
    stalled, cap = shown(fields.get(b"stalled", b"")), at.text("max_stalled")
    if fields.get(b"state") == b"dead":
        return f"{stalled} ≥ {cap}: counter, state and reason in one write."
    return f"{stalled} < {cap}: counter and state in one write."


def _exempt_state(at: At) -> str:
    stalled = at.row.get("stalled") if isinstance(at.row, Mapping) else None
    kept = "" if stalled is None else f" It stays {quoted(stalled)}."
    return f"stalled is neither read nor written.{kept}"


_FAILED: Row = ("write HINCRBY metrics:failed.count", "metric", "count the failure", metric)

_SWEEP = joined(
    rows(
        "stalled_check",
        "scripted",
        [
            READ_TIME,
            ("read ZRANGEBYSCORE active", "select", _SELECT, _selected),
            ("write ZREM active", "leave", LEAVE, _leaves_first),
            READ_GROUP,
            ("write HINCRBY row.stalled", "count", "count the stall", _counted),
            ("write HSET row.state", "state", SAY_WHERE, _swept_state),
            ("write HSET row.last_error", "why", "say why", "The reason goes on the row: stalled."),
            DEAD,
            _FAILED,
            _BACK,
            _BACK_IN_LANE,
        ],
    ),
    rows(
        "stalled_check",
        "native",
        [
            READ_FENCE,
            READ_CLOCK,
            ("read ZRANGEBYSCORE active", "select", _SELECT, _selected),
            _TYPE,
            _FLAT,
            ("read HGET row.lease_epoch", "epoch", "whose lease was it?", _epoch),
            ("read HGET row.stalled", "count0", "what would it count?", _would_count),
            _TAKES_PENDING,
            ("read TYPE dead", "sound1", SOUND, holds),
            ("read HGET metrics:failed.count", "sound2", SOUND_METRIC, metric_holds),
            GUARD,
            ("write ZREM active", "leave2", LEAVE, _leaves_last),
            _BACK,
            ("write HSET row.state", "state", SAY_WHERE, _exempt_state),
            ("write HSET row.stalled", "state", SAY_WHERE, _swept_natively),
            DEAD,
            _FAILED,
        ],
    ),
)

# -- reprocess


def _leaves_dead(at: At) -> str:
    if at.reply == 0:
        return f"{at.job} was not in dead. Nothing is taken out."
    return f"{at.job} leaves dead."


def _there(at: At) -> str:
    return "There is a row." if at.reply == 1 else "No row: the job is gone."


def _dead_row(at: At) -> str:
    if at.reply == b"hash":
        return "There is a row, and it is a hash."
    if at.reply == b"none":
        return "No row: the job is gone."
    return f"The row is a {shown(at.reply)}, not a hash."


def _is_dead(at: At) -> str:
    if at.reply is None:
        return f"{at.job} is not in dead: refused."
    return f"{at.job} is a dead letter."


def _forgotten(at: At) -> str:
    return "last_error goes, the counters stay." if at.reply else "There was no last_error to forget."


_FROM_DEAD: list[Row] = [
    ("write ZREM dead", "leave", LEAVE, _leaves_dead),
    ("write HDEL row.last_error", "clear", "forget the error", _forgotten),
    ("write HSET row.state", "state", SAY_WHERE, "state says pending. No counter is reset."),
    _BACK,
]

_REPROCESS = joined(
    rows("reprocess", "scripted", [("read EXISTS row", "row", "is there a row?", _there), *_FROM_DEAD]),
    rows(
        "reprocess",
        "native",
        [
            READ_FENCE,
            ("read TYPE row", "row", "is there a row?", _dead_row),
            ("read ZSCORE dead", "dead0", "is it dead?", _is_dead),
            _TAKES_PENDING,
            GUARD,
            *_FROM_DEAD,
        ],
    ),
)

RECOVER = joined(_PROMOTE_AND_REAP, _SWEEP, _REPROCESS)
