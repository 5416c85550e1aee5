"""Words that several transitions share: the fence, the clock, the token, the guard."""

from collections.abc import Mapping

from emqlab.native.rules import integer
from emqlab.observe.words.entry import At, Row, quoted, shown
from emqlab.observe.words.trouble import counter_of

FENCE = "which version?"
#: Of a question that the client of a script asks before it sends that.
ASKS_FIRST = "The client asks first, in its own round trip."
LEAVE = "take the id out"
SAY_WHERE = "say where it is"
PUT_BACK = "put it back"


def fence(at: At) -> str:
    """The wire version as read: ours, absent, or another."""
    if at.reply is None:
        return "No version is set, and that passes the check."
    if at.then:
        return "This version is served: the version check is passed."
    return "Another version: the verb refuses before it reads more."


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
        of_a_flow = isinstance(at.row, Mapping) and "parent" in at.row
        return "No group, so no lane." if of_a_flow else "No group, so a flat job."
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


#: The same order, whoever gives it: a failure that spends the budget, or a sweep.
DEAD: Row = ("write ZADD dead", "dead", "lay it aside", lambda at: f"{at.job} is a dead letter now.")
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
