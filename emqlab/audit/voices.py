"""What each executor would do: the third-voice model is run on the keys concerned, and its outcome told in a phrase."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emqlab import keys
from emqlab.audit.layout import lane, place
from emqlab.audit.row import Lane, Row, View
from emqlab.audit.wording import listed, shown
from emqlab.parity.model import Error, Held, Reply, Unsupported, World, Zset, native, scripted

#: A job that is in no queue (its number is beyond 63 bits), for what concerns every job.
PROBE = b"JOBzzzzzzzzzzz"
#: Another such one, for the rest of a lane.
OTHERS = b"JOBzzzzzzzzzzy"
_CLAIMS = ("claim", "lane_claim")
_VALUES: dict[str, dict[str, bytes]] = {
    "claim": {"lease_ms": b"30000"},
    "lane_claim": {"lease_ms": b"30000"},
    "stalled_check": {"max_stalled": b"1", "limit": b"100"},
    "promote": {"batch": b"100"},
    "fail": {"delay_ms": b"0", "max_attempts": b"3", "error": b"audit"},
    "delay": {"mode": b"in", "value": b"0"},
}
#: A value of each type, for a key whose contents no verb gets to see.
_OTHER: dict[bytes, Held] = {
    b"string": b"?",
    b"list": [b"?"],
    b"set": {b"?"},
    b"hash": {b"?": b"?"},
    b"zset": Zset({b"?": 0.0}),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a verb would do with a job, a phrase an executor."""

    scripted: str
    native: str


def other(kind: bytes) -> Held:
    """Something of that type; a list for a type that no verb knows."""
    return _OTHER.get(kind, [b"?"])


def row_keys(view: View, row: Row, sets: Mapping[bytes, float]) -> dict[bytes, Held]:
    """The keys of one job, in ``sets``."""
    held: dict[bytes, Held] = {view.base + name: Zset({row.id: score}) for name, score in sets.items()}
    if row.type == b"hash":
        held[view.row(row.id)] = dict(row.fields) or {b"payload": b""}
    elif row.type != b"none":
        held[view.row(row.id)] = other(row.type)
    return held


def would(
    view: View,
    verb: str,
    held: Mapping[bytes, Held],
    job: bytes = PROBE,
    *,
    once: str = "",
    values: Mapping[str, bytes] | None = None,
) -> Outcome:
    """Run ``verb`` by both voices on a world of the keys ``held`` and what is around, with SPEC 4.1's defaults.

    ``once`` says when the job will be as ``held`` has it. Claims are told as they are once the queue is resumed.
    """
    named = {**_VALUES.get(verb, {}), **(values or {})}
    if verb in ("complete", "fail", "delay", "reprocess"):
        named["id"] = job
    world = World(_with_around(view, held, job), view.now_ms, view.run_id)
    resumed = view.paused and verb in _CLAIMS and view.base + b"meta" not in held
    when = f"{once} and the queue is resumed" if once and resumed else once or ("resumed" if resumed else "")
    phrases: list[str] = []
    for voice, kind in ((scripted, "script"), (native, "native verb")):
        after = world.copy()
        reply = voice(after, view.queue, verb, named)
        if isinstance(reply, Unsupported):
            phrases.append(f"there is no {kind} for {reply.verb}")
            continue
        phrase = _phrase(_Tale(view, verb, job, world, after, reply))
        phrases.append(f"once {when}: {phrase}" if when else phrase)
    return Outcome(phrases[0], phrases[1])


def _with_around(view: View, held: Mapping[bytes, Held], job: bytes) -> dict[bytes, Held]:
    """``held`` and what is around it: of lanes and parents the job's own, for there may be many."""
    fields = _fields(held.get(view.row(job)))
    groups = {place(key.removeprefix(view.base)).group for key in held} | {fields.get(b"group")}
    found: dict[bytes, Held] = {}
    for some in (
        view.kin.get(fields.get(b"parent", b""), {}),
        *(_of_lane(view, group, held, job) for group in groups if group is not None),
        held,
    ):
        for key, value in some.items():
            was = found.get(key)
            found[key] = Zset({**was, **value}) if isinstance(was, Zset) and isinstance(value, Zset) else value
    return {**found, **view.around}


def _of_lane(view: View, group: bytes, held: Mapping[bytes, Held], job: bytes) -> dict[bytes, Held]:
    """A group's part of its lane, ring, pause, limit and slots; whoever waits beside the job stands behind it."""
    key, base = view.base + lane(group), view.base
    one = view.lanes.get(group, Lane())
    itself = held.get(key)
    found: dict[bytes, Held] = {}
    if one.jobs > (isinstance(itself, Zset) and job in itself):
        found[key] = Zset({OTHERS: math.inf})
    if one.rung:
        found[base + b"ring"] = [group] * one.rung
    if one.paused:
        found[base + b"paused"] = {group}
    for name, value in ((b"glimit", one.limit), (b"gactive", one.busy)):
        if value is not None:
            found[base + name] = {group: value}
    return found


@dataclass(frozen=True, slots=True)
class _Tale:
    """One voice's run: the world before and after, and the reply."""

    view: View
    verb: str
    job: bytes
    before: World
    after: World
    reply: Reply

    @property
    def it(self) -> str:
        """What the job is called."""
        return "the job" if self.job == PROBE else "it"


def _phrase(tale: _Tale) -> str:
    return ", ".join([_answer(tale), *_went(tale), *_charged(tale), *_told(tale)])


def _answer(tale: _Tale) -> str:
    verb, reply = tale.verb, tale.reply
    if isinstance(reply, Error):
        return f"{'refused' if tale.before.keys == tale.after.keys else 'stops with'} {_error(reply)}"
    if verb in _CLAIMS:
        if not isinstance(reply, list) or not reply:
            return "answers empty"
        return f"leases {tale.it} with token {_said(reply[2])}"
    if verb == "stalled_check" and isinstance(reply, list):
        recovered, dead = reply
        if isinstance(recovered, list) and tale.job in recovered:
            return f"gives {tale.it} back"
        return f"declares {tale.it} dead" if isinstance(dead, list) and tale.job in dead else f"passes over {tale.it}"
    if verb in ("complete", "reprocess"):
        done = "completes" if verb == "complete" else "revives"
        return f"{done} {tale.it}" if reply == 1 else "answers that there is no such job"
    if verb == "lane_resume":
        rung = tale.view.base + b"ring" in tale.after.keys
        return "puts the group on the ring" if rung else "leaves the group off the ring"
    return f"answers {_said(reply)}"


def _error(reply: Error) -> str:
    """The code word; for ERR, which says nothing, the rest."""
    code, _, rest = reply.text.partition(b" ")
    if code != b"ERR":
        return shown(code)
    return f"“{shown(rest)}”" if rest else "an error of the script's own"


def _went(tale: _Tale) -> Iterator[str]:
    """Where the id and its row are afterwards, in words."""
    row = keys.row(tale.view.queue, tale.job)
    was, now = _holding(tale, tale.before), _holding(tale, tale.after)
    there, still = row in tale.before.keys, row in tale.after.keys
    if there and not still:
        yield "its row is deleted"
    if still and not there:
        yield "a row is minted"
    gained = now - was
    if gained:
        yield f"{tale.it} goes to {listed(gained)}" if was - now else f"{tale.it} is in {listed(now)}"
    elif was and not now and still:
        yield "the id is lost"
    elif was and not now and not there:
        yield "the ghost is gone"
    elif now and (was - now or (there and not still)):
        yield f"the id stays in {listed(now)}"
    elif now:
        head = now == {b"pending"} and tale.verb in _CLAIMS and isinstance(tale.reply, Error)
        yield f"{tale.it} stays at the head" if head else f"{tale.it} stays in {listed(now)}"


def _charged(tale: _Tale) -> Iterator[str]:
    """Whether a stall was charged to a row that was one."""
    row = keys.row(tale.view.queue, tale.job)
    old, new = (_fields(world.keys.get(row)) for world in (tale.before, tale.after))
    if old and new and old.get(b"stalled") != new.get(b"stalled"):
        yield f"stalled is {shown(new[b'stalled'])}"


def _told(tale: _Tale) -> Iterator[str]:
    """What becomes of a child's parent."""
    parent = _fields(tale.before.keys.get(keys.row(tale.view.queue, tale.job))).get(b"parent")
    if not parent:
        return
    row = keys.row(tale.view.queue, parent)
    if row in tale.after.keys and row not in tale.before.keys:
        yield "a row is minted for its parent"
    was, now = (_holding(tale, world, parent) for world in (tale.before, tale.after))
    if now - was:
        yield f"its parent is in {listed(now)}" if was & now else f"its parent goes to {listed(now)}"


def _fields(held: Held | None) -> Mapping[bytes, bytes]:
    return held if isinstance(held, dict) and not isinstance(held, Zset) else {}


def _holding(tale: _Tale, world: World, job: bytes | None = None) -> set[bytes]:
    """The sets of the queue that hold the id, the job's own unless told otherwise."""
    base, one = tale.view.base, tale.job if job is None else job
    return {key.removeprefix(base) for key, held in world.keys.items() if isinstance(held, Zset) and one in held}


def _said(value: Reply) -> str:
    """A part of a reply."""
    return shown(value) if isinstance(value, bytes) else str(value)
