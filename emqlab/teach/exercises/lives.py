"""Exercise 03-3: a token of a job's first life that destroys its second (SPEC 7, hazard 3)."""

from dataclasses import dataclass, field
from typing import Any

from emqlab.lab import Lab
from emqlab.observe.case import Case
from emqlab.observe.run import Done, Run
from emqlab.replies import ErrorReply
from emqlab.teach.answers import judged, no, on, said, sent, verb_steps, wrong_on, yes
from emqlab.teach.verdict import Verdict

ADDS = ("enqueue", "schedule")


@dataclass(slots=True)
class _Life:
    """One life of an id: the tokens that its claims handed out, in order, and what completed it."""

    tokens: list[str] = field(default_factory=list)
    completed: Done | None = None
    by: str = ""
    #: The completion that came too late, and was answered gone.
    late: Done | None = None


def destroyed(lab: Lab, answer: Any) -> Verdict:
    """A case in which a token of an id's first life completes its second, while that one's own holder is at work."""
    return judged(lab, answer, _destroyed)


def _destroyed(case: Case, runs: list[Run]) -> Verdict:
    return wrong_on(runs, _wrong) or yes(
        "The row of the second life was deleted with a token of the first, and its own holder was told: gone."
    )


def _wrong(run: Run) -> Verdict | None:
    """What one executor's run lacks; None when nothing."""
    told = [_judge(run, lives) for lives in _lives(run).values()]
    if not told:
        return no("The case never adds a job.", field="when", expected="a step enqueue", got="none")
    return None if any(verdict.ok for verdict in told) else told[0]


def _lives(run: Run) -> dict[str, list[_Life]]:
    """What a run did to each id, life by life."""
    lives: dict[str, list[_Life]] = {}
    for done in verb_steps(run):
        verb, reply = done.step.verb, done.reply
        if verb == "claim" and isinstance(reply, list) and reply:
            mine = lives.get(reply[0].decode("utf-8", "replace"))
            if mine:
                mine[-1].tokens.append(str(reply[2]))
        job = _value(done, "id")
        if verb in ADDS and reply == 1:
            lives.setdefault(job, []).append(_Life())
        elif verb == "complete" and job in lives:
            _complete(lives[job][-1], done)
    return lives


def _complete(life: _Life, done: Done) -> None:
    if done.reply == 1:
        life.completed, life.by = done, _value(done, "token")
    elif done.reply == 0 and life.tokens and _value(done, "token") == life.tokens[-1]:
        life.late = life.late or done


def _value(done: Done, name: str) -> str:
    raw = done.step.values.get(name, b"")
    return raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)


def _judge(run: Run, lives: list[_Life]) -> Verdict:
    """The first thing that is missing of the story of one id, or that nothing is."""
    if len(lives) < 2:
        return _one_life(run)
    second, older = lives[1], set(lives[0].tokens)
    if not second.tokens:
        return _no(run, None, "nobody claims the second life", "attempts", "a token", "no claim")
    if second.completed is None:
        tried = [
            done for done in verb_steps(run) if done.step.verb == "complete" and isinstance(done.reply, ErrorReply)
        ]
        got = f"token {_value(tried[-1], 'token')}" if tried else "no complete"
        why = f"nobody completes the second life; its token is {second.tokens[-1]}"
        return _no(run, tried[-1] if tried else None, why, "token", f"token {second.tokens[-1]}", got)
    if second.by not in older:
        why = f"the second life is completed with token {second.by}, which the first life never handed out"
        return _no(run, second.completed, why, "token", "a token of both lives", second.by)
    if not _was_held(second.completed):
        why = "the second life is completed while nobody's lease is on it"
        return _no(run, second.completed, why, "active", "in active", "not in active")
    if second.late is None:
        why = "the holder of the second life never comes to say that it is done"
        return _no(run, None, why, "reply", "a complete answered 0", "none")
    return yes("")


def _one_life(run: Run) -> Verdict:
    again = [(place, done) for place, done in enumerate(verb_steps(run)) if done.step.verb in ADDS]
    if len(again) > 1:
        place, done = again[-1]
        why = f"step {done.index + 1}, {done.step.verb}, starts no second life"
        return _no(run, done, why, "reply", "1", said(run, place))
    return _no(run, None, "the id has one life only", "when", "the same id added again", "added once")


def _was_held(done: Done) -> bool:
    """Whether that completion took the id out of active."""
    writes = [one for one in done.traced.told if one.phase == "write"] if done.traced else []
    return any(one.command[0] == b"ZREM" and one.command[1].endswith(b"}:active") and one.reply == 1 for one in writes)


def _no(run: Run, done: Done | None, why: str, what: str, expected: str, got: str) -> Verdict:
    """A verdict on one executor's run; without a step of its own it shows the last call."""
    shown = sent(done or verb_steps(run)[-1], run)
    return no(f"{on(run)} {why}.", command=shown, field=what, expected=expected, got=got)
