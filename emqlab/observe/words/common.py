"""Words that several transitions share: the fence, the clock, the token, the guard, the lane's bookkeeping."""

from emqlab.native.rules import integer
from emqlab.observe.words.entry import At, Row, quoted, rows, shown
from emqlab.observe.words.trouble import counter_of

FENCE = "which version?"
LEAVE = "take the id out"
SAY_WHERE = "say where it is"
PUT_BACK = "put it back"


def fence(at: At) -> str:
    """The wire version as read: ours, absent, or another."""
    if at.reply is None:
        return "No wire version is set, and that passes the fence."
    if at.then:
        return "This wire version is served: the version fence is passed."
    return "Another wire version: the verb refuses before it reads more."


def clock(at: At) -> str:
    """The time, asked of the server or frozen for the command."""
    return "The clock the server froze for this command." if at.native else "The script asks the server for the time."


def token(at: At) -> str:
    """The presented token against the row's attempts, byte for byte."""
    presented = quoted(at.value("token"))
    if at.reply is None:
        return "There is no attempts field: the job is gone."
    if at.reply == at.value("token"):
        return f"Presented {presented}, the row says {quoted(at.reply)}: the current token."
    return f"Presented {presented}, the row says {quoted(at.reply)}: a stale token."


def group(at: At) -> str:
    """Whether the row belongs to a lane."""
    if at.reply is None:
        return "No group, so a flat job."
    if at.native:
        return f"A lane row, of {quoted(at.reply)}: native verbs refuse it."
    return f"A lane row: it belongs to {quoted(at.reply)}."


def parent(at: At) -> str:
    """Whether the row belongs to a flow."""
    return "No parent, so no flow." if at.reply is None else "A flow row: native verbs refuse it."


def where(at: At) -> str:
    """Whether the job is leased."""
    if at.reply is not None:
        return f"{at.job} is in active."
    if at.verb == "complete":
        return f"{at.job} is not in active. It may wait in pending."
    return f"{at.job} is not in active: refused."


def holds(at: At) -> str:
    """Whether a set can take the id: a sorted set, or nothing yet."""
    name = at.role
    if at.reply in (b"zset", b"none"):
        return f"{name} will take {'the lease' if at.verb == 'claim' else 'the id'}."
    return f"{name} is a {shown(at.reply)}, not a sorted set: refused."


def uncountable(at: At) -> str:
    """Why a stored counter ends a native verb: it is read last, and HINCRBY's own rule says no."""
    if at.reply is None or integer(at.reply) is not None:
        return f"{counter_of(at)} is full: one more would overflow, so the verb refuses."
    return "Not an integer: HINCRBY would refuse it, so the verb does."


def metric_holds(at: At) -> str:
    """Whether a metric can count one more."""
    return f"{at.role.partition('.')[0]} will take one more." if at.then else uncountable(at)


def metric(at: At) -> str:
    """A metric after it was counted."""
    what = "completed" if "completed" in at.role else "failed"
    return f"One more {what} job: {at.reply} now."


def leaves(at: At) -> str:
    """The holder's id out of active."""
    if at.reply == 0:
        return f"{at.job} was not in active. Nobody stops the script."
    return f"{at.job} leaves active."


GUARD: Row = (
    "guard",
    "guard",
    "everything is known",
    "Every answer is known. From here on it only writes.",
)
READ_FENCE: Row = ("read GET version", "fence", FENCE, fence)
READ_CLOCK: Row = ("read (clock)", "clock", "what time is it?", clock)
READ_TIME: Row = ("read TIME", "clock", "what time is it?", clock)
READ_TOKEN: Row = ("read HGET row.attempts", "token", "is the token current?", token)
READ_GROUP: Row = ("read HGET row.group", "group", "a lane row?", group)
#: Every native holder's verb asks these, after the fence and before its own questions.
HOLDER: list[Row] = [
    READ_FENCE,
    READ_TOKEN,
    READ_GROUP,
    ("read HGET row.parent", "parent", "a flow row?", parent),
    ("read ZSCORE active", "where", "is it leased?", where),
    GUARD,
]


# -- the lane's bookkeeping, in the scripts alone


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
    over = " The limit is reached." if not at.then or at.then[0].command[0] != b"LPOS" else ""
    return f"Running now: {running}.{over}"


def _on_ring(at: At) -> str:
    return "The lane is not on the ring yet." if at.reply is None else "It is on the ring already."


def _freed(at: At) -> str:
    return f"The lane gives back one slot. Running now: {at.reply}."


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
_FREE: list[Row] = [
    ("write HINCRBY gactive", "gactive", "free the lane's slot", _freed),
    ("write HDEL gactive", "gdel", "keep no zero", "Zero is not kept: the field goes."),
]


def _leaves_lane(at: At) -> str:
    if at.reply == 0:
        return f"{at.job} was not in its lane either."
    return f"{at.job} leaves its lane, where it was waiting."


_WAITED: list[Row] = [
    ("write ZREM lane", "leave-lane", "take it out of its lane", _leaves_lane),
    ("write LREM ring", "unring", "take the lane off the ring", "The lane is empty now: it leaves the ring."),
]

LANES = (
    rows("complete fail", "scripted", _RING + _FREE + _WAITED)
    | rows("reap stalled_check", "scripted", _RING + _FREE)
    | rows("promote", "scripted", _RING)
)
