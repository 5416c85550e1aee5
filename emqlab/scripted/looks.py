"""What the scripts' host looks at first, in a round trip of its own: a pause flag, a row's parent (SPEC 4)."""

from typing import Any, cast

from emqlab import keys
from emqlab.replies import ErrorReply
from emqlab.transitions import Call

#: KEYS and ARGV.
Wire = tuple[list[bytes], list[bytes]]

#: The verbs whose host looks whether the queue is paused.
CLAIMS = ("claim", "lane_claim")
#: The verbs that make a row, and so may give it a parent.
ADDS = ("enqueue", "schedule", "lane_enqueue", "flow_add")


def look(call: Call) -> tuple[bytes, ...]:
    """The command that the host sends before the script; empty for a verb without one."""
    if call.verb in CLAIMS:
        return (b"HGET", keys.base(call.queue) + b"meta", b"paused")
    if call.verb in ("complete", "fail"):
        row = keys.row(call.queue, cast("bytes", call.values["id"]))
        return (b"HGET", row, b"parent") if call.verb == "complete" else (b"HMGET", row, b"parent", b"parent_policy")
    return ()


def stops(call: Call, asked: Any) -> bool:
    """Whether the script is not sent, for the queue is paused: any reply but nil is a yes, an error reply too."""
    return call.verb in CLAIMS and asked is not None


def wire(call: Call, asked: Any) -> Wire:
    """KEYS and ARGV of a script: for a flow's child the parent's keys are declared as well (SPEC 4.4).

    ``asked`` is what the host's look was answered. An error is left to the script, and an empty parent is none.
    """
    sent_keys, args = call.wire()
    if call.verb not in ("complete", "fail") or isinstance(asked, ErrorReply):
        return sent_keys, args
    parent, policy = asked if isinstance(asked, list) else (asked, None)
    if not parent:
        return sent_keys, args
    if call.verb == "complete":
        names = [b":dependencies", b":processed", b""]
        told = [parent, cast("bytes", call.values.get("result", call.values["id"]))]
    else:
        names = [b":failed", b":unsuccessful", b":dependencies", b""]
        told = [policy or b"fp", parent]
    # Keys or arguments of the call's own are sent as they are.
    if call.keys is None:
        sent_keys += [keys.row(call.queue, parent) + name for name in names]
    if call.args is None:
        args += told
    return sent_keys, args
