"""Layouts: calls whose keys and arguments are not those of one queue, in number or in name (SPEC 5.1)."""

from collections.abc import Iterator, Sequence

from emqlab.keys import base as base_of
from emqlab.parity.model import Values, World, Zset
from emqlab.parity.trials.corruptions import JOB, OTHER, ROW
from emqlab.parity.trials.states import presenting
from emqlab.parity.trials.trial import BASE, NEXT, QUEUE, Do
from emqlab.transitions import TRANSITIONS, Call

#: Another queue of the same trial, and one with the shortest name that there is.
BESIDE, SHORTEST = base_of(QUEUE + NEXT), b"emq:{x}:"
#: No base of any queue: each is short of one thing, or has something else there, smaller and greater than it.
NO_BASES = (
    b"",
    b"emq:{}:",
    b"emq:{q}",
    b"emq:q:",
    b"emq:{q!:",
    b"emq:{q}!",
    b"emq:{q~:",
    b"EMQ:{q}:",
    b"zmq:{q}:",
    b"em:{queue}:",
)
#: What a call on an empty queue of that shortest name only looks at.
_LOOKS = ("claim", "complete", "extend", "promote", "stalled_check", "reprocess")

_Sent = tuple[tuple[bytes, ...], tuple[bytes, ...]]


def layout_calls(found: World) -> Iterator[Do]:
    """Every native verb, sound in its values, with something wrong about its keys or the number of its arguments."""
    for verb, values in _sound_calls(found):
        keys, args = (tuple(words) for words in Call(verb, QUEUE, values).wire())
        tried: dict[_Sent, None] = {}
        for sent in (*_other_keys(keys), *_other_counts(keys)):
            tried[sent, args] = None
        for given in _other_args(verb, args):
            tried[keys, given] = None
        # As many words as there should be, but fewer or more of them keys.
        tried[(*keys, BASE + b"meta"), args[:-1]] = None
        tried[keys[:-1], (keys[-1], *args)] = None
        for base in (BESIDE, *NO_BASES):
            tried.update(dict.fromkeys(_moved(keys, args, base)))
        if verb in _LOOKS:
            tried[_under(keys, SHORTEST), _under(args, SHORTEST)] = None
        tried.pop((keys, args), None)
        for sent, given in tried:
            yield Do(verb, values, sent, given)


def _sound_calls(found: World) -> Iterator[tuple[str, Values]]:
    """One call of each verb that has a command."""
    row = found.keys.get(ROW)
    token = row.get(b"attempts", b"0") if isinstance(row, dict) and not isinstance(row, Zset) else b"0"
    yield "enqueue", {"id": JOB, "payload": b"tea"}
    yield "schedule", {"id": JOB, "payload": b"tea", "mode": b"in", "value": b"30000"}
    yield "claim", {"lease_ms": b"30000"}
    yield from presenting(JOB, token)
    yield "extends", {"lease_ms": b"30000", "pairs": [(JOB, token), (OTHER, b"1")]}
    yield "promote", {"batch": b"100"}
    yield "stalled_check", {"max_stalled": b"1", "limit": b"100"}
    yield "reprocess", {"id": JOB}


def _other_keys(keys: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Each key as another queue's, as its neighbour, with a letter before, behind or missing, and as nothing."""
    for place, key in enumerate(keys):
        beside = keys[place - 1] if len(keys) > 1 else BASE + b"pending"
        for other in (BESIDE + key.removeprefix(BASE), beside, b"a" + key, key + b"z", key[:-1], b"", b"~", b"!"):
            yield (*keys[:place], other, *keys[place + 1 :])
        # Names that stand before and after its own, as bytes are ordered.
        for letter in (b"!", b"~"):
            yield (*keys[:place], key[:-1] + letter, *keys[place + 1 :])


def _other_counts(keys: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """One key too few, one too many, and none."""
    yield tuple(keys[1:])
    yield tuple(keys[:-1])
    yield (*keys, BASE + b"meta")
    yield ()


def _other_args(verb: str, args: Sequence[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Too few arguments, too many, and another job's id, or its base as another queue's."""
    for count in range(len(args)):
        yield tuple(args[:count])
    yield (*args, b"1")
    yield (*args, b"1", b"1")
    names = TRANSITIONS[verb].args
    for name, other in (("id", OTHER), ("id", b""), ("base", BESIDE), ("base", b"")):
        if name in names:
            place = names.index(name)
            yield (*args[:place], other, *args[place + 1 :])


def _moved(keys: Sequence[bytes], args: Sequence[bytes], base: bytes) -> Iterator[_Sent]:
    """The whole call under another base, its own only in its arguments, and the other one only there."""
    named = _under(args, base) != tuple(args)
    if base != BESIDE:
        yield _under(keys, base), _under(args, base)
    if named:
        # Without a base among its arguments a call that is all another queue's is that queue's own.
        yield _under(keys, base), tuple(args)
        yield tuple(keys), _under(args, base)


def _under(words: Sequence[bytes], base: bytes) -> tuple[bytes, ...]:
    return tuple(base + word[len(BASE) :] if word.startswith(BASE) else word for word in words)
