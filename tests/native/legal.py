"""What a call may answer and what a keyspace may hold, written out from SPEC 2, 3 and 5 for the fuzz."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from emqlab import keys
from tests.native.fuzzing import COUNTERS, FIELDS, METRICS, QUEUES, SETS, SOUND, SPOILED, Fuzzer, verb_of
from tests.native.resp import Failed, Wire

_STALE = {b"COMPLETE": b"complete", b"FAIL": b"retry", b"DELAY": b"delay", b"REQUEUE": b"requeue", b"EXTEND": b"extend"}
_COUNTING = (b"CLAIM", b"COMPLETE", b"FAIL", b"STALLED.CHECK")
_KINDS = (b"ENQUEUE", b"SCHEDULE", b"DELAY")
_DENIED = re.compile(rb"NOPERM |ERR The user executing the script can't |ERR ACL failure in script: ")
_COUNT = re.compile(rb"0|[1-9][0-9]{0,18}")


def _refusals(verb: bytes) -> re.Pattern[bytes]:
    """The beginnings of all texts that a verb may refuse with."""
    texts = [b"EMQARGS ", b"EMQFENCE wire version ", b"WRONGTYPE Operation against a key"]
    texts.append(re.escape(b"ERR wrong number of arguments for 'emq.%b' command" % verb.lower()))
    if verb in _STALE:
        texts.append(b"EMQSTALE %b token mismatch" % _STALE[verb])
    if verb in (b"FAIL", b"DELAY", b"REQUEUE"):
        texts.append(b"EMQSTALE job gone")
    if verb in _STALE:
        texts += [b"EMQSTATE not active", b"EMQFLOW flow row"]
    if verb in (*_STALE, b"PROMOTE", b"STALLED.CHECK"):
        texts.append(b"EMQLANE lane row")
    if verb == b"REPROCESS":
        texts.append(b"EMQSTATE not dead")
    if verb in _KINDS:
        texts.append(b"EMQKIND job id must be JOB-namespaced")
    if verb in _COUNTING:
        texts += [b"ERR hash value is not an integer", b"ERR increment or decrement would overflow"]
    return re.compile(b"|".join(texts))


_REFUSALS: dict[bytes, re.Pattern[bytes]] = {}


def reply_fault(words: Sequence[bytes], reply: Any, *, limited: bool = False, short: bool = False) -> str | None:
    """What is wrong with the reply to a call; None when SPEC 5 allows it.

    ``limited``: the caller is a user with few rights; ``short``: memory is.
    """
    name = verb_of(words)
    assert name is not None
    verb = name.removeprefix(b"EMQ.")
    if isinstance(reply, Failed):
        if limited and _DENIED.match(reply.text):
            return None
        if short and verb in (b"ENQUEUE", b"SCHEDULE") and reply.text.startswith(b"OOM command not allowed"):
            return None
        pattern = _REFUSALS.setdefault(verb, _refusals(verb))
        return None if pattern.match(reply.text) else f"{_shown(words)} -> {reply}"
    return None if _allowed(verb, words, reply) else f"{_shown(words)} -> {reply!r:.300}"


def _allowed(verb: bytes, words: Sequence[bytes], reply: Any) -> bool:
    match verb:
        case b"ENQUEUE" | b"SCHEDULE" | b"COMPLETE":
            return reply in (0, 1)
        case b"DELAY" | b"REQUEUE":
            return bool(reply == 1)
        case b"EXTEND" | b"REPROCESS":
            return reply in (1, -1)
        case b"FAIL":
            return reply in (b"scheduled", b"dead")
        case b"PROMOTE":
            return isinstance(reply, int) and 0 <= reply <= int(words[-1])
        case b"CLAIM":
            return reply == [] or (
                isinstance(reply, list)
                and [bytes, int] == [type(reply[0]), type(reply[2])]
                and (reply[1] is None or isinstance(reply[1], bytes))
                and len(reply) == 3
            )
        case b"EXTENDS":
            return isinstance(reply, list) and set(reply) <= set(words[5::2])
    lists = isinstance(reply, list) and len(reply) == 2 and all(isinstance(part, list) for part in reply)
    return lists and len(reply[0]) + len(reply[1]) <= int(words[-1])


def trace_fault(words: Sequence[bytes], reply: Any) -> str | None:
    """What is wrong with the form of the reply to ``EMQ.TRACE`` and a call, and with the order of what was told."""
    if isinstance(reply, Failed):
        return None
    if not (isinstance(reply, list) and len(reply) == 2 and isinstance(reply[1], list)):
        return f"EMQ.TRACE {_shown(words)} -> {reply!r:.300}"
    answer, told = reply
    phases = [entry[0] for entry in told]
    guard = phases.index(b"guard") if b"guard" in phases else len(phases)
    ordered = set(phases[:guard]) <= {b"read"} and set(phases[guard + 1 :]) <= {b"write"}
    if not ordered or (isinstance(answer, Failed) and guard < len(phases)):
        return f"EMQ.TRACE {_shown(words)} told {phases} for {answer!r:.100}"
    return None


def _shown(words: Sequence[bytes]) -> str:
    return repr(b" ".join(word[:60] for word in words[:14]))


class Tally:
    """What all calls came to: outcomes by verb, and how many jobs each queue was given and lost."""

    def __init__(self, fuzzer: Fuzzer) -> None:
        self._fuzzer = fuzzer
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.made: Counter[bytes] = Counter()
        self.completed: Counter[bytes] = Counter()

    def count(self, words: Sequence[bytes], reply: Any) -> None:
        """Take one call's reply into account."""
        name = verb_of(words)
        assert name is not None
        verb = name.removeprefix(b"EMQ.")
        if isinstance(reply, Failed):
            self.outcomes[verb.decode(), reply.text.split()[0].decode()] += 1
            return
        nothing = len(reply) == len(words[5::2]) if verb == b"EXTENDS" else reply in (0, -1, [])
        self.outcomes[verb.decode(), "nothing" if nothing else "done"] += 1
        queue = next(queue for queue in QUEUES if words[2].startswith(keys.base(queue)))
        if verb in (b"ENQUEUE", b"SCHEDULE") and reply == 1:
            self.made[queue] += 1
        if verb == b"COMPLETE" and reply == 1:
            self.completed[queue] += 1
        if verb == b"CLAIM" and reply:
            self._fuzzer.tokens[queue, reply[0]] = b"%d" % reply[2]

    @property
    def calls(self) -> int:
        """How many calls of verbs were answered."""
        return self.outcomes.total()


# ---------------------------------------------------------------- the keyspace


def illegal(wire: Wire, fuzzer: Fuzzer, tally: Tally) -> Iterator[str]:
    """A sentence for each thing in the keyspace that neither the grammar nor the fuzz's own damage accounts for."""
    names: list[bytes] = wire.ask(b"KEYS", b"*")
    types = dict(zip(names, (kind.text for kind in wire.ask_all([(b"TYPE", name) for name in names])), strict=True))
    lives = dict(zip(names, wire.ask_all([(b"PTTL", name) for name in names]), strict=True))
    for name, kind in types.items():
        wanted = _grammar(name)
        if wanted is None:
            yield f"{name[:80]!r} is no key of a queue"
        elif kind != wanted and kind not in fuzzer.planted.get(name, set()):
            yield f"{name[:80]!r} is a {kind.decode()}, not a {wanted.decode()}"
        if lives[name] != -1 and name not in fuzzer.mortal:
            yield f"{name[:80]!r} has a time to live"
        if kind == b"hash" and b"}:job:" in name:
            strange = set(wire.ask(b"HKEYS", name)) - set(FIELDS)
            if strange:
                yield f"{name[:80]!r} has fields {strange}"
    for queue in SOUND:
        yield from _disorder(wire, queue, [name for name in names if name.startswith(keys.base(queue))], tally)


def _grammar(name: bytes) -> bytes | None:
    """The type that SPEC 2 gives a key; None when it gives it none."""
    if name == keys.VERSION_KEY:
        return b"string"
    for queue in QUEUES:
        base = keys.base(queue)
        if not name.startswith(base):
            continue
        rest = name[len(base) :]
        if rest in SETS:
            return b"zset"
        # Only the fuzz's own damage makes a row of another kind.
        kind_is_sound = rest.startswith(b"job:JOB") or (queue in SPOILED and rest.startswith(b"job:"))
        return b"hash" if rest in (*METRICS, b"meta") or kind_is_sound else None
    return None


def _disorder(wire: Wire, queue: bytes, names: Sequence[bytes], tally: Tally) -> Iterator[str]:
    """What no order of calls can leave behind in a queue that nothing but calls has touched."""
    base = keys.base(queue)
    rows = {name[len(base) + 4 :] for name in names if name[len(base) :].startswith(b"job:")}
    found: dict[bytes, list[bytes]] = {}
    for name in SETS:
        scored = wire.ask(b"ZRANGE", base + name, b"0", b"-1", b"WITHSCORES")
        flat = [part for item in scored for part in item] if scored and isinstance(scored[0], list) else scored
        for job_id, score in zip(flat[::2], flat[1::2], strict=True):
            found.setdefault(job_id, []).append(name)
            if float(score) < 0 or (name in (b"pending", b"dead") and float(score) != 0):
                yield f"{queue!r}: {job_id!r:.80} has the score {score} in {name.decode()}"
    if rows != set(found):
        yield f"{queue!r}: rows and sets disagree on {[job_id[:40] for job_id in rows ^ set(found)]}"
    for job_id in rows:
        flat = wire.ask(b"HGETALL", keys.row(queue, job_id))
        row = dict(zip(flat[::2], flat[1::2], strict=True))
        homes = found.get(job_id, [])
        if [row.get(b"state")] != [SETS[home] for home in homes]:
            yield f"{queue!r}: {job_id!r:.80} is {row.get(b'state')!r} and in {homes}"
        counters = [row[field] for field in COUNTERS if field in row]
        if b"payload" not in row or b"attempts" not in row or not all(map(_COUNT.fullmatch, counters)):
            yield f"{queue!r}: {job_id!r:.80} holds {row!r:.300}"
    if len(rows) != tally.made[queue] - tally.completed[queue]:
        yield f"{queue!r}: {tally.made[queue]} made, {tally.completed[queue]} completed, {len(rows)} there"
    completed = int(wire.ask(b"HGET", base + b"metrics:completed", b"count") or 0)
    if completed != tally.completed[queue]:
        yield f"{queue!r}: {tally.completed[queue]} completed, {completed} counted"
