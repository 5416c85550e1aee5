"""Words for whole transitions, as a life told in calls, and for what happens between them."""

from collections.abc import Callable, Sequence
from typing import Any

from emqlab.observe.words.answer import parent_after
from emqlab.observe.words.entry import At, in_hand, listed, quoted, short, shown, span
from emqlab.replies import ErrorReply, NotSent

#: Transition -> the word of its row.
CALL_WORDS = {
    "enqueue": "add a job",
    "schedule": "add a job for later",
    "claim": "claim the next job",
    "complete": "complete the job",
    "fail": "report a failure",
    "delay": "give it back for later",
    "requeue": "give it back",
    "extend": "extend the lease",
    "extends": "extend the leases",
    "promote": "promote what is due",
    "reap": "reap expired leases",
    "stalled_check": "sweep expired leases",
    "reprocess": "revive the dead letter",
    "lane_enqueue": "add a job to a lane",
    "lane_claim": "claim from the next lane",
    "lane_pause": "pause a lane",
    "lane_resume": "resume a lane",
    "lane_limit": "limit a lane",
    "flow_add": "add a flow",
    "pause": "pause the queue",
    "resume": "resume the queue",
}


def told_whole(at: At) -> str:
    """One sentence for a whole transition: what it did, and to what effect."""
    if isinstance(at.reply, NotSent):
        return f"No such verb here: {at.verb} is not sent."
    if at.verb not in _WHOLE:
        raise LookupError(f"no words for the call of {at.verb} on the {at.executor} executor")
    opening, ending = _WHOLE[at.verb](at)
    if isinstance(at.reply, ErrorReply):
        if not at.wrote:
            return f"{opening}: refused. {at.reply.text}."
        lost = ", and the id is lost" if in_hand(at.told) else ""
        return f"{opening}: breaks off, {at.reply.code}. What ran before stays{lost}."
    return f"{opening}{ending}."


Telling = tuple[str, str]


def _millis(raw: bytes) -> str:
    return span(int(raw)) if raw.isdigit() else f"{shown(raw)} ms"


def _claim(at: At) -> Telling:
    if isinstance(at.reply, list) and at.reply:
        return f"Claims {short(at.reply[0])} for {_millis(at.value('lease_ms'))}", f": token {at.reply[2]}"
    return "Claims", " and gets nothing"


def _lane_claim(at: At) -> Telling:
    if isinstance(at.reply, list) and at.reply:
        job, _, token, group = at.reply
        return f"Claims {short(job)} of lane {quoted(group)} for {_millis(at.value('lease_ms'))}", f": token {token}"
    return "Claims from the lanes", " and gets nothing"


def _lane(does: str) -> Callable[[At], Telling]:
    return lambda at: (f"{does} lane {quoted(at.value('group'))}", "")


def _flow_add(at: At) -> Telling:
    children = at.values.get("children", ())
    ids = [] if isinstance(children, bytes) else [job for job, _ in children]
    return f"Adds {at.job}, the parent of {listed(ids)}", "" if at.reply else ": one exists already"


def _with_token(does: str, ending: Callable[[At], str]) -> Callable[[At], Telling]:
    def telling(at: At) -> Telling:
        return f"{does} {at.job} with token {quoted(at.value('token'))}", ending(at)

    return telling


def _failed(at: At) -> str:
    return f": dead{parent_after(at)}" if at.reply == b"dead" else ": scheduled for another try"


def _due(at: At) -> str:
    raw = at.value("value")
    return f"due in {_millis(raw)}" if at.value("mode") == b"in" else f"due at {quoted(raw)}"


def _sweep(at: At) -> Telling:
    if isinstance(at.reply, ErrorReply):
        return "Sweeps", ""
    recovered, dead = at.reply
    parts = [f"{listed(ids)} {what}" for ids, what in ((recovered, "recovered"), (dead, "dead")) if ids]
    return "Sweeps", ": " + ", ".join(parts) if parts else " and finds nobody to judge"


def _extends(at: At) -> Telling:
    if isinstance(at.reply, ErrorReply) or not at.reply:
        return "Extends the leases", ", all of them"
    return "Extends the leases", f", but not {listed(at.reply)}"


_WHOLE: dict[str, Callable[[At], Telling]] = {
    "enqueue": lambda at: (f"Adds {at.job}", "" if at.reply else ": it exists already"),
    "schedule": lambda at: (f"Adds {at.job}, {_due(at)}", "" if at.reply else ": it exists already"),
    "claim": _claim,
    "complete": _with_token("Completes", lambda at: f": done{parent_after(at)}" if at.reply else ": gone already"),
    "fail": _with_token("Fails", _failed),
    "delay": _with_token("Delays", lambda at: f": {_due(at)}"),
    "requeue": _with_token("Requeues", lambda at: ": back in line"),
    "extend": _with_token(
        "Extends",
        lambda at: f" by {_millis(at.value('lease_ms'))}" if at.reply == 1 else ": gone already",
    ),
    "extends": _extends,
    "promote": lambda at: ("Promotes", f" {at.reply}" if at.reply else ": nothing is due"),
    "reap": lambda at: ("Reaps", f" {at.reply}" if at.reply else ": no lease has run out"),
    "stalled_check": _sweep,
    "reprocess": lambda at: (f"Revives {at.job}", "" if at.reply == 1 else ": gone already"),
    "lane_enqueue": lambda at: (
        f"Adds {at.job} to lane {quoted(at.value('group'))}",
        "" if at.reply else ": it exists already",
    ),
    "lane_claim": _lane_claim,
    "lane_pause": _lane("Pauses"),
    "lane_resume": _lane("Resumes"),
    "lane_limit": lambda at: (f"Limits lane {quoted(at.value('group'))} to {quoted(at.value('limit'))} at once", ""),
    "flow_add": _flow_add,
    "pause": lambda at: ("Pauses the queue", ""),
    "resume": lambda at: ("Resumes the queue", ""),
}


# -- the world: nothing is sent by an executor


def advanced(ms: int) -> tuple[str, str, str]:
    """Step, word and note of a clock that was moved by ``ms``."""
    way = "on" if ms >= 0 else "back"
    return "advance", "move the clock", f"The clock moves {way} by {span(abs(ms))}."


def restarted() -> tuple[str, str, str]:
    """Step, word and note of a restart."""
    return "restart", "restart the server", "The server restarts. The data stays, the epoch is new."


def raw_command(command: Sequence[bytes], reply: Any) -> tuple[str, str, str]:
    """Step, word and note of a raw command, sent by somebody else."""
    name = shown(command[0]).upper()
    if isinstance(reply, ErrorReply):
        return "raw", "another client", f"Another client sends {name}: {reply.text}."
    return "raw", "another client", f"Another client sends {name}."


def came_between(command: Sequence[bytes], reply: Any, *, looked: bool) -> tuple[str, str, str]:
    """Step, word and note of another client's command, sent while a transition was on its way.

    ``looked``: whether the transition's client has looked at something by then.
    """
    step, word, note = raw_command(command, reply)
    when = "Between the client's look and the script" if looked else "Before the command arrives"
    return step, word, f"{when}, {note[0].lower()}{note[1:]}"
