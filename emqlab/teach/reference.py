"""What a queue is made of, and how a verb refuses: the rows of the reference tables. A test holds them to runs."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from emqlab import errors, keys
from emqlab.native import texts


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One kind of key: its name behind the queue's base, its type as TYPE names it, what it is for."""

    name: str
    type: str
    about: str


#: The keys of flat jobs, in the order in which a reader meets them.
KEYS: tuple[KeyRow, ...] = (
    KeyRow("job:<id>", "hash", "the row: all that is known of a job"),
    KeyRow("pending", "zset", "ids in line, all at score 0: the oldest comes first"),
    KeyRow("active", "zset", "ids that are leased, at their deadline"),
    KeyRow("schedule", "zset", "ids that wait, at the time they are due"),
    KeyRow("dead", "zset", "dead letters, all at score 0"),
    KeyRow("meta", "hash", "`paused`, with any value at all, stops claims"),
    KeyRow("metrics:completed", "hash", "`count`: jobs completed"),
    KeyRow("metrics:failed", "hash", "`count`: jobs that died"),
)
VERSION = KeyRow(keys.VERSION_KEY.decode(), "string", f"the wire version, `{keys.VERSION.decode()}`")
#: Those of lanes and of flows, which only scripts know.
OF_LANES = ("g:<group>:pending", "ring", "gactive", "glimit", "paused", "wake")
OF_FLOWS = tuple("<row>" + end.decode() for end in keys.FLOW_ENDS)

#: Field of a flat row -> what it says.
FIELDS: dict[str, str] = {
    "state": "where the job is, in a word",
    "attempts": "claims so far: the current token",
    "payload": "the caller's bytes, as they came",
    "last_error": "the last failure, or `stalled`",
    "stalled": "stalls counted; absent is 0",
    "failures": "failures counted; absent is 0",
    "lease_epoch": "the stamp: its last lease's epoch",
}


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One way to refuse: the exception, how the server's reply begins (empty: none of ours is sent), what it means."""

    name: str
    replies: tuple[str, ...]
    about: str


#: Exception -> the replies that become it; a refusal of the server's own is in none of our tables.
_REPLIES: dict[type[errors.EmqError], tuple[bytes, ...]] = {
    errors.StaleToken: (
        texts.STALE_COMPLETE,
        texts.STALE_FAIL,
        texts.STALE_DELAY,
        texts.STALE_EXTEND,
        texts.STALE_REQUEUE,
    ),
    errors.JobGone: (texts.GONE,),
    errors.NotActive: (texts.NOT_ACTIVE,),
    errors.NotDead: (texts.NOT_DEAD,),
    errors.LaneRow: (texts.LANE,),
    errors.FlowRow: (texts.FLOW,),
    errors.WrongKind: (texts.KIND,),
    errors.BadArgument: (texts.ARGS_KEYS, texts.ARGS_MODE),
    errors.WrongVersion: (texts.FENCE + keys.VERSION,),
    errors.Forbidden: (texts.NOPERM,),
    errors.ServerRefused: (texts.WRONGTYPE, texts.NOT_INTEGER, texts.OVERFLOW, texts.HOST),
}


def replies_of(name: str) -> tuple[str, ...]:
    """The error replies, whole, that become the exception of that name."""
    kind = getattr(errors, name)
    return tuple(text.decode() for text in _REPLIES.get(kind, ()))


def error_rows() -> list[ErrorRow]:
    """Every exception of the library, in its own order and words."""
    kinds = [(name, kind) for name, kind in vars(errors).items() if name[0] != "_" and _is_error(kind)]
    said = {name: replies_of(name) for name, _ in kinds}
    codes = [code for replies in said.values() for code in {text.split(" ")[0] for text in replies}]
    found = []
    for name, kind in kinds:
        begins = dict.fromkeys(_beginning(text, said[name], codes) for text in said[name])
        about = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("``", "`")
        found.append(ErrorRow(name, tuple(begins), " ".join(about.split())))
    return found


def _is_error(kind: object) -> bool:
    return inspect.isclass(kind) and issubclass(kind, errors.EmqError) and kind is not errors.EmqError


def _beginning(text: str, among: tuple[str, ...], codes: list[str]) -> str:
    """A reply's code word, with as much more as it takes to know its exception by it."""
    code, _, rest = text.partition(" ")
    if codes.count(code) == 1:
        return code
    alone = len([one for one in among if one.startswith(code)]) == 1
    return f"{code} {rest}" if alone else f"{code} … {rest.rpartition(' ')[2]}"


__all__ = ["FIELDS", "KEYS", "OF_FLOWS", "OF_LANES", "VERSION", "ErrorRow", "KeyRow", "error_rows", "replies_of"]
