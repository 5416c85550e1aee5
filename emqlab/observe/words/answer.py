"""The note of a transition's answer, by verb and by reply."""

from collections.abc import Callable

from emqlab.native.texts import WRONGTYPE
from emqlab.observe.words.entry import At, in_hand, listed, quoted, short, shown
from emqlab.replies import ErrorReply, NotSent

ANSWER = "the answer"


def answer(at: At) -> str:
    """What the caller is told. ``at.reply`` is the whole reply, ``at.told`` all commands that ran."""
    if isinstance(at.reply, NotSent):
        return not_sent(at)
    if isinstance(at.reply, ErrorReply):
        return refused(at)
    if at.verb not in _ANSWERS:
        raise LookupError(f"no words for the answer of {at.verb} on the {at.executor} executor")
    return _ANSWERS[at.verb](at)


def not_sent(at: At) -> str:
    """Why a step has no transition on this executor."""
    kind = "lanes" if at.verb.startswith("lane_") else "flows" if at.verb.startswith("flow_") else ""
    if kind:
        return f"No such verb here: {kind} are for scripts alone. Nothing is sent."
    return "No such verb here: nothing is sent."


# -- errors


def refused(at: At) -> str:
    """The note of an error reply: what ran before it stays, or nothing was written."""
    assert isinstance(at.reply, ErrorReply)
    if at.native and at.wrote:
        return "A write answered otherwise than foreseen: the server broke its promise."
    if at.wrote:
        lost = in_hand(at.told)
        tail = ": the id is lost." if lost else "."
        return f"The error reaches the caller. What ran before it stays{tail}"
    return f"{_why(at, at.reply)} Nothing was written{_still(at)}."


def _why(at: At, error: ErrorReply) -> str:
    text = error.text
    if text.startswith("EMQARGS"):
        if at.told:
            return f"Refused: {text.split(' ')[1]} goes beyond 64 bits."
        return f"Refused before anything is read: {text.split(' ')[1]} is unusable."
    if text.startswith("ERR wrong number of arguments"):
        return "Refused before anything is read: the argument count is wrong."
    for beginning, why in _WHY.items():
        if text.startswith(beginning):
            return why(at)
    if text.startswith(("WRONGTYPE", "ERR hash value", "ERR increment")) or at.native:
        return "Refused."
    return "The script breaks off."


def _stale(at: At) -> str:
    presented, stored = at.value("token"), at.said(b"HGET", b"attempts")
    if not isinstance(stored, bytes):
        return "Refused: the token is not the current one."
    return f"Refused: presented {quoted(presented)}, the row says {quoted(stored)}."


def _forbidden(at: At) -> str:
    """A verb opens each key that it derives before it asks for it; of one that it may not, no command tells."""
    if at.native and at.told and not isinstance(at.told[-1].reply, ErrorReply):
        return "Refused: this user may not open the key that comes next."
    return "Refused: this user may not do that."


_WHY: dict[str, Callable[[At], str]] = {
    "EMQSTALE job gone": lambda at: f"Refused: {at.job} has no attempts, so nobody holds it.",
    "EMQSTALE": _stale,
    "EMQSTATE not active": lambda at: f"Refused: {at.job} is not leased.",
    "EMQSTATE not dead": lambda at: f"Refused: {at.job} is no dead letter.",
    "EMQLANE": lambda at: "Refused: native verbs serve flat rows.",
    "EMQFLOW": lambda at: "Refused: native verbs serve flat rows.",
    "EMQKIND": lambda at: "Refused: a job's id begins with JOB.",
    "EMQFENCE": lambda at: "Refused: another version is in force.",
    "NOPERM": _forbidden,
    "OOM": lambda at: "Refused: the server is short of memory.",
}


def _still(at: At) -> str:
    """Where a refused verb leaves what it looked at."""
    assert isinstance(at.reply, ErrorReply)
    if not at.native or at.reply.code not in ("WRONGTYPE", "ERR", "EMQLANE"):
        return ""
    if at.verb == "claim" and at.told[-1:] and _about_row(at):
        return "; the bad row stays at the head"
    if at.verb == "stalled_check" and any(one.command[:1] == (b"ZRANGEBYSCORE",) for one in at.told):
        return ", and every lease is still there"
    return ""


def _about_row(at: At) -> bool:
    last = at.told[-1]
    return b"job:" in last.command[1] and (at.reply == ErrorReply(WRONGTYPE.decode()) or b"attempts" in last.command)


# -- answers


def _enqueue(at: At) -> str:
    return f"Answers 1: {at.job} waits in line." if at.reply == 1 else _duplicate(at)


def _schedule(at: At) -> str:
    return f"Answers 1: {at.job} waits for its time." if at.reply == 1 else _duplicate(at)


def _duplicate(at: At) -> str:
    return "Answers 0: this id exists already. Nothing was written."


def _claim(at: At) -> str:
    if at.reply:
        if at.reply[1] is None:
            return f"Answers the job without a payload, and token {at.reply[2]}."
        return f"Answers the job and token {at.reply[2]}."
    if not at.told or at.told[-1].command[-1:] == (b"paused",):
        return "Answers empty: the queue reads as paused."
    if at.said(b"EXISTS") == 0 or at.said(b"TYPE") == b"none":
        return "Answers empty. The ghost is gone."
    return "Answers empty: nobody waits."


def _lane_claim(at: At) -> str:
    if at.reply:
        what = "the job without a payload" if at.reply[1] is None else "the job"
        return f"Answers {what}, token {at.reply[2]} and the lane, {quoted(at.reply[3])}."
    if at.said(b"EXISTS") == 0:
        return "Answers empty. The ghost is gone."
    if at.said(b"ZPOPMIN") == []:
        return "Answers empty: that lane had nobody. The next claim asks the next lane."
    if any(one.command[:1] == (b"LMOVE",) for one in at.told):
        return "Answers empty: no lane can be served now."
    return "Answers empty: the queue reads as paused."


def _complete(at: At) -> str:
    if at.reply == 0:
        return "Answers 0: the job is gone already. Nothing was written."
    return f"Answers 1: {at.job} is done{parent_after(at)}."


def parent_after(at: At) -> str:
    """What the transition did to a flow's parent, as the end of a sentence; empty when it did nothing."""
    parent = at.value("parent")
    moved = [one.command[1] for one in at.told if one.command[:1] == (b"ZADD",) and one.command[-1] == parent]
    if not parent or not moved:
        return ""
    return f", and its parent {short(parent)} {'dies too' if moved[-1].endswith(b':dead') else 'is in line'}"


def _fail(at: At) -> str:
    if at.reply != b"dead":
        return f"Answers scheduled: {at.job} will be tried again."
    if at.native and not at.wrote:
        return "Answers dead: it was a dead letter already."
    return f"Answers dead: the budget is spent{parent_after(at)}."


def _extend(at: At) -> str:
    if at.reply == -1:
        return "Answers −1: the job is gone. Nothing was written."
    return "Answers 1: the lease goes on."


def _extends(at: At) -> str:
    if not at.reply:
        return "Answers an empty list: every lease was extended."
    return f"Answers those not extended: {listed(at.reply)}."


def _promote(at: At) -> str:
    what = "moved to pending" if at.native else "it looked at"
    return f"Answers how many {'were ' if at.native else ''}{what}: {at.reply}."


def _sweep(at: At) -> str:
    recovered, dead = at.reply
    if recovered and dead:
        return f"Answers: {listed(recovered)} recovered, {listed(dead)} dead."
    if dead:
        return f"Answers: {listed(dead)} listed as dead."
    if recovered:
        exempt = at.native and at.said(b"HGET", b"stalled") is None and not _counted(at)
        return f"Answers: {'exempt, ' if exempt else ''}{listed(recovered)} listed as recovered."
    if at.wrote:
        return f"Answers two empty lists: {_passed_over(at)} is listed nowhere."
    return "Answers two empty lists: no lease has run out."


def _passed_over(at: At) -> str:
    """What a sweep took out and did not list: a ghost, or a row that a changed verb took for one."""
    kinds = [one.reply for one in at.told if one.command[:1] == (b"TYPE",) and b"}:job:" in one.command[1]]
    odd = [kind for kind in kinds if kind not in (b"none", b"hash")]
    return f"a row that is a {shown(odd[0])}" if odd else "a ghost"


def _counted(at: At) -> bool:
    return any(one.command[:1] == (b"HSET",) and b"stalled" in one.command for one in at.told)


def _flow_add(at: At) -> str:
    if at.reply == 0:
        return "Answers 0: one of the ids exists already. Nothing was written."
    return f"Answers 1: {at.job} waits for its children, and they wait in line."


def _reprocess(at: At) -> str:
    if at.reply == -1:
        return "Answers −1: the job is gone. Nothing was written."
    return f"Answers 1: {at.job} is back in line."


def _pause(at: At) -> str:
    return f"The server's own number: {at.reply}. {'A new flag.' if at.reply == 1 else 'The flag was there.'}"


def _resume(at: At) -> str:
    return f"The server's own number: {at.reply}. {'It went.' if at.reply == 1 else 'There was none.'}"


_ANSWERS: dict[str, Callable[[At], str]] = {
    "enqueue": _enqueue,
    "schedule": _schedule,
    "claim": _claim,
    "complete": _complete,
    "fail": _fail,
    "delay": lambda at: f"Answers 1: {at.job} is due later.",
    "requeue": lambda at: f"Answers 1: {at.job} is back in line, at no cost.",
    "extend": _extend,
    "extends": _extends,
    "promote": _promote,
    "reap": lambda at: f"Answers how many it looked at: {at.reply}.",
    "stalled_check": _sweep,
    "reprocess": _reprocess,
    "lane_enqueue": lambda at: f"Answers 1: {at.job} waits in its lane." if at.reply == 1 else _duplicate(at),
    "lane_claim": _lane_claim,
    "lane_pause": lambda at: "Answers 1: nobody is claimed from the lane.",
    "lane_resume": lambda at: "Answers 1: the lane goes on.",
    "lane_limit": lambda at: "Answers 1: the limit is set.",
    "flow_add": _flow_add,
    "pause": _pause,
    "resume": _resume,
}
