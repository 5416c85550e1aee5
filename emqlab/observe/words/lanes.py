"""The words of lanes, in the scripts alone: the lane steps, and what other transitions do for a lane's job."""

from emqlab.observe.words.arrive import HOST_PAUSE, IS_NEW, IS_ROW, LEASE, MINT, PAYLOAD, SAY_ACTIVE, popped
from emqlab.observe.words.common import READ_TIME
from emqlab.observe.words.entry import At, Row, joined, quoted, rows

# -- ringing a lane


def _paused(at: At) -> str:
    return "The lane is paused: it is not rung." if at.reply == 1 else "The lane is not paused."


def _waiting(at: At) -> str:
    if at.reply == 0:
        return "Nobody waits in the lane."
    return f"Waiting in the lane: {at.reply}."


def _limit(at: At) -> str:
    return "The lane has no limit." if at.reply is None else f"The lane may run {quoted(at.reply)} at once."


def _busy(at: At) -> str:
    running = "0" if at.reply is None else quoted(at.reply)
    if at.then and at.then[0].command[0] == b"LPOS":
        return f"Running now: {running}."
    limit = at.said(b"HGET", at.command[-1])
    if not (_counts(limit) and _counts(at.reply or b"0")):
        return f"Running now: {running}. It can't be held against {quoted(limit)}: the script stops here."
    return f"Running now: {running}. The limit is reached."


def _counts(raw: object) -> bool:
    """Whether Lua takes a stored text for a number."""
    text = raw.strip().lower() if isinstance(raw, bytes) else b""
    try:
        _ = int(text, 16) if text.startswith(b"0x") else float(text)
    except ValueError:
        return False
    return b"_" not in text


def _on_ring(at: At) -> str:
    return "The lane is not on the ring yet." if at.reply is None else "It is on the ring already."


_RING: list[Row] = [
    ("read SISMEMBER paused", "ring1", "is the lane paused?", _paused),
    ("read ZCARD lane", "waiting", "does anyone wait there?", _waiting),
    ("read HGET glimit", "ring2", "has the lane a limit?", _limit),
    ("read HGET gactive", "busy", "how many does it run?", _busy),
    ("read LPOS ring", "ring3", "on the ring already?", _on_ring),
    ("write RPUSH ring", "ring4", "ring the lane", "So it goes on the ring."),
    ("write LPUSH wake", "wake", "wake a worker", "A waiting worker is woken."),
    ("write LTRIM wake", "trim", "keep wake short", "wake is kept to 64."),
]

# -- a lane's job in other transitions


def _freed(at: At) -> str:
    return f"The lane gives back one slot. Running now: {at.reply}."


def _kept_not(at: At) -> str:
    left = at.said(b"HINCRBY", b"-1")
    return f"{'Zero' if left == 0 else left} is not kept: the field goes."


def _leaves_lane(at: At) -> str:
    if at.reply == 0:
        return f"{at.job} was not in its lane either."
    return f"{at.job} leaves its lane, where it was waiting."


def _off_ring(at: At) -> str:
    return "The lane is empty now: it leaves the ring." if at.reply else "The lane is empty, and was not on the ring."


_FREE: list[Row] = [
    ("write HINCRBY gactive", "gactive", "free the lane's slot", _freed),
    ("write HDEL gactive", "gdel", "keep no zero", _kept_not),
]
_UNRING = ("write LREM ring", "unring", "take the lane off the ring")
_WAITED: list[Row] = [
    ("write ZREM lane", "leave-lane", "take it out of its lane", _leaves_lane),
    (*_UNRING, _off_ring),
]

_OTHERS = joined(
    rows("complete fail", "scripted", _RING + _FREE + _WAITED),
    rows("reap stalled_check", "scripted", _RING + _FREE),
    rows("promote", "scripted", _RING),
)

# -- the steps


def _in_lane(at: At) -> str:
    return f"{at.job} waits in its lane, in the order of ids."


_ENQUEUE: list[Row] = [
    IS_NEW,
    ("write HSET row.state", "make", "write the row", "The row: state pending, attempts 0, the payload, its group."),
    ("write ZADD lane", "line", "put it in its lane", _in_lane),
    *_RING,
]


def _turn(at: At) -> str:
    if at.reply is None:
        return "No lane is on the ring: nobody can be served."
    return f"It is the turn of {quoted(at.reply)}. The lane goes to the end of the ring."


def _taken(at: At) -> str:
    return f"The lane gives a slot. Running now: {at.reply}."


def _left_waiting(at: At) -> str:
    if at.reply == 0:
        return "Nobody waits there any more."
    return f"Waiting in the lane: {at.reply}."


def _allowed(at: At) -> str:
    running = at.said(b"HINCRBY", b"1")
    if at.reply is None:
        return "The lane has no limit: it stays on the ring."
    if not _counts(at.reply):
        return f"{quoted(at.reply)} is no number. The script stops here, and what ran before stays."
    if at.then and at.then[0].command[0] == b"LREM":
        return f"{running} of {quoted(at.reply)} run: the limit is reached."
    return f"{running} of {quoted(at.reply)} run: it stays on the ring."


def _turns_no_more(at: At) -> str:
    if at.said(b"ZPOPMIN") == []:
        return "The lane is empty: it leaves the ring."
    why = "Nobody is left to serve" if at.said(b"ZCARD") == 0 else "Nobody more may run"
    return f"{why}: the lane leaves the ring."


_CLAIM: list[Row] = [
    HOST_PAUSE,
    ("write LMOVE ring", "turn", "turn the ring", _turn),
    ("write ZPOPMIN lane", "head", "who is first?", popped),
    IS_ROW,
    MINT,
    SAY_ACTIVE,
    READ_TIME,
    LEASE,
    ("write HINCRBY gactive", "slot", "take a slot of the lane", _taken),
    ("read ZCARD lane", "waiting", "does anyone wait there?", _left_waiting),
    ("read HGET glimit", "ring2", "has the lane a limit?", _allowed),
    (*_UNRING, _turns_no_more),
    PAYLOAD,
]


def _held(at: At) -> str:
    return "The lane is paused: its backlog stays." if at.reply == 1 else "The lane was paused already."


def _silenced(at: At) -> str:
    return "The lane leaves the ring: no claim gets there." if at.reply else "The lane was not on the ring."


def _let_go(at: At) -> str:
    return "The lane is paused no more." if at.reply == 1 else "The lane was not paused."


def _bounded(at: At) -> str:
    limit = at.command[-1]
    if not _counts(limit):
        return f"The limit is {quoted(limit)} now, and that is no number."
    return f"The lane may run {quoted(limit)} at once from now on."


_PAUSE: list[Row] = [("write SADD paused", "hold", "pause the lane", _held), (*_UNRING, _silenced)]
_RESUME: list[Row] = [("write SREM paused", "hold", "resume the lane", _let_go), *_RING]
_BOUND: list[Row] = [("write HSET glimit", "bound", "set the limit", _bounded), *_RING]

LANES = joined(
    _OTHERS,
    rows("lane_enqueue", "scripted", _ENQUEUE),
    rows("lane_claim", "scripted", _CLAIM),
    rows("lane_pause", "scripted", _PAUSE),
    rows("lane_resume", "scripted", _RESUME),
    rows("lane_limit", "scripted", _BOUND),
)
