"""The words of flows, in the scripts alone: adding one, and what a child's complete or fail means to its parent."""

from emqlab.observe.words.arrive import IS_NEW
from emqlab.observe.words.common import ASKS_FIRST
from emqlab.observe.words.entry import At, Row, joined, quoted, rows, short

# -- adding a flow


def _is_parent(at: At) -> bool:
    return at.member == at.value("id")


def _made(at: At) -> str:
    if _is_parent(at):
        return "The parent's row: state awaiting_children, attempts 0, the payload."
    return f"A child's row: state pending, attempts 0, the payload, parent {short(at.value('id'))}."


def _counted(at: At) -> str:
    return f"{at.job} waits for {_children(int(at.command[2]))}. It is in no set."


def _children(many: int) -> str:
    return "one child" if many == 1 else f"{many} children"


def _policy(at: At) -> str:
    if at.command[-1] == b"id":
        return f"Should {at.job} die, the parent counts it as done."
    return f"Should {at.job} die, the parent dies too."


_ADD: list[Row] = [
    IS_NEW,
    ("write HSET row.state", "make", "write the row", _made),
    ("write SET dependencies", "depends", "count the children", _counted),
    ("write HSET row.parent_policy", "policy", "keep its policy", _policy),
    (
        "write ZADD pending",
        "line",
        "put it in line",
        lambda at: f"{at.job} waits in line, as any job.",
    ),
]

# -- the client's own look, before complete and fail

_LEFT = f"{ASKS_FIRST} The error is left to the script."


def _child(at: At) -> str:
    parent, *rest = at.reply if isinstance(at.reply, list) else [at.reply]
    if parent is None:
        return f"{ASKS_FIRST} No parent, so no flow."
    if not parent:
        return f"{ASKS_FIRST} An empty parent is none."
    policy = f", policy {quoted(rest[0] or b'fp')}" if rest else ""
    return f"{ASKS_FIRST} A child of {short(parent)}{policy}."


def _look(command: str) -> Row:
    return (f"host {command} row.parent", "child", "is it a flow's child?", _child, _LEFT)


# -- what the parent is told


def _left(at: At) -> str:
    if at.reply > 0:
        return f"{at.job} waits for {_children(at.reply)} more."
    if at.reply == 0:
        return f"That was the last child: {at.job} waits for nobody more."
    return f"Below zero: {at.reply}. {at.job} is released all the same."


def _kept(at: At) -> str:
    child = short(at.value("id"))
    if at.command[3:4] == (at.value("id"),):
        return f"{at.job} keeps {child}, by its own id."
    return f"{at.job} keeps what {child} made: {quoted(at.command[3])}."


def _told(at: At) -> str:
    again = "" if at.reply else " again"
    return f"{at.job} is told{again} that {short(at.value('id'))} died."


def _parent_says(at: At) -> str:
    state = quoted(at.command[3])
    if at.row is None:
        return f"There was no such row: HSET makes one that holds only state, {state}."
    return f"The parent's state says {state}{': it dies with its child' if state == 'dead' else ' too'}."


def _out_of_line(at: At) -> str:
    return f"{at.job} leaves pending." if at.reply else f"{at.job} was not waiting in pending."


_DECR: Row = ("write DECR dependencies", "left", "count one child off", _left)
_RELEASE: list[Row] = [
    ("write ZADD pending parent", "release", "put the parent in line", lambda at: f"{at.job}, the parent, is in line."),
    ("write HSET parent.state", "parent-state", "say where the parent is", _parent_says),
]
_COMPLETE: list[Row] = [
    _look("HGET"),
    _DECR,
    ("write HSET processed", "result", "keep the result", _kept),
    *_RELEASE,
]
_FAIL: list[Row] = [
    _look("HMGET"),
    ("write HSET unsuccessful", "tell", "tell the parent", _told),
    _DECR,
    *_RELEASE,
    ("write HSET failed", "tell", "tell the parent", _told),
    (
        "write ZADD dead parent",
        "parent-dead",
        "lay the parent aside",
        lambda at: f"{at.job}, the parent, is a dead letter too.",
    ),
    ("write ZREM pending parent", "parent-leaves", "take the parent out of line", _out_of_line),
]

FLOWS = joined(
    rows("flow_add", "scripted", _ADD),
    rows("complete", "scripted", _COMPLETE),
    rows("fail", "scripted", _FAIL),
)
