"""A verb step as it went to the wire: its named values, its keys, its base."""

from typing import Any

from emqlab import keys
from emqlab.executor import Traced
from emqlab.observe import words
from emqlab.observe.run import Done, Run
from emqlab.transitions import PLAIN, TRANSITIONS, Values


def called(done: Done, traced: Traced, run: Run) -> words.At:
    """The transition of a verb step, before its first command."""
    assert done.step.verb is not None
    values = {**_values(done, traced), **_childs(done.step.verb, _parts(traced, done.step.verb)[1])}
    return words.At(done.step.verb, run.executor, run.case.queue, values)


#: What a script is given beside its own keys and arguments when the job is a flow's child (SPEC 4.4).
_CHILD_KEYS = {
    "complete": ("dependencies", "processed", "parent"),
    "fail": ("failed", "unsuccessful", "dependencies", "parent"),
}
_CHILD_ARGS = {"complete": ("parent", "result"), "fail": ("policy", "parent")}


def _childs(verb: str, args: tuple[bytes, ...]) -> dict[str, bytes]:
    """A flow child's further arguments, by name."""
    own = len(TRANSITIONS[verb].args) if verb in _CHILD_ARGS else 0
    return dict(zip(_CHILD_ARGS.get(verb, ()), args[own:], strict=False))


def _parts(traced: Traced, verb: str) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """KEYS and ARGV of a call as it was sent."""
    sent = traced.sent
    if verb in PLAIN:
        return sent[1:2], sent[2:]
    at = 2 if sent[:1] == (b"EVALSHA",) else 1
    many = int(sent[at]) if len(sent) > at else 0
    return sent[at + 1 : at + 1 + many], sent[at + 1 + many :]


def _values(done: Done, traced: Traced) -> Values:
    """The named values that went to the wire: the step's own, or those in the arguments that replaced them."""
    verb = done.step.verb
    if done.step.args is None or verb not in TRANSITIONS or not traced.sent:
        return done.step.values
    values: dict[str, Any] = {}
    names, args = TRANSITIONS[verb].args, _parts(traced, verb)[1]
    for place, name in enumerate(names):
        if name in ("pairs", "children"):
            values[name] = list(zip(args[place::2], args[place + 1 :: 2], strict=False))
        elif place < len(args):
            values[name] = args[place]
    return values


def sent_by(done: Done, traced: Traced, run: Run) -> words.Sent:
    """The keys and the base that went to the wire, by which the roles of commands' keys are known."""
    verb = done.step.verb
    assert verb is not None
    sent_keys, args = _parts(traced, verb)
    base = keys.base(run.case.queue)
    named: tuple[tuple[str, bytes], ...] = ()
    if verb in TRANSITIONS:
        names = (*TRANSITIONS[verb].keys, *_CHILD_KEYS.get(verb, ()))
        named = tuple(zip(names, sent_keys, strict=False))
        base = {**dict(zip(TRANSITIONS[verb].args, args, strict=False)), **dict(named)}.get("base", base)
    odd = done.step.keys is not None or done.step.args is not None
    return words.Sent(named, base, odd, _childs(verb, args).get("parent"))
