"""What is wrong with a queue's flows: parents whom nobody releases, or too early, and what they left (SPEC 4.4)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from emqlab.audit.findings import Finding
from emqlab.audit.lanes import TRIES
from emqlab.audit.layout import FLOW, SETS, flow
from emqlab.audit.met import AWAITING, Met
from emqlab.audit.reading import Command, Reader, pieces
from emqlab.audit.row import View
from emqlab.audit.voices import PROBE, would
from emqlab.audit.wording import listed, named, plural, quoted
from emqlab.parity.model import Held, Zset
from emqlab.parity.model.numbers import stored_integer
from emqlab.replies import ErrorReply

_COUNT = b"dependencies"


@dataclass(frozen=True, slots=True)
class Flow:
    """A parent at one moment: its row's type and state, the number of children it waits for as it is kept, and them.

    ``able`` are how many children may still tell it of their end, ``dead`` those that are dead and have not.
    """

    parent: bytes
    type: bytes
    state: bytes | None
    count: bytes | None
    able: int
    dead: tuple[bytes, ...] = ()


def flow_findings(reader: Reader, view: View, met: Met) -> Iterator[Finding]:
    """All of them; a suspicion is told if it holds under WATCH."""
    parents = sorted(met.awaiting | {parent for parent in met.children if met.has_row(parent)})
    blocks = [
        [("TYPE", view.row(one)), ("HGET", view.row(one), "state"), ("GET", view.base + flow(one, _COUNT))]
        for one in parents
    ]
    for parent, replies in zip(parents, reader.at_once(blocks), strict=True):
        if isinstance(replies[2], ErrorReply):
            continue
        family = met.children.get(parent, [])
        # Whether a dead child has told its parent is only asked under WATCH.
        dead = tuple(child for child in family if b"dead" in met.held[child])
        first = Flow(parent, replies[0], _text(replies[1]), replies[2], sum(map(met.able, family)), dead)
        if any(judge_flow(first, view)) or any(judge_flow(replace(first, dead=()), view)):
            again = _again(reader, view, met, parent)
            if again is not None:
                yield from judge_flow(again, view)
    yield from _left(reader, view, met)


def _text(reply: object) -> bytes | None:
    return reply if isinstance(reply, bytes) else None


def judge_flow(one: Flow, view: View) -> Iterator[Finding]:
    """Everything that is to be said of one flow, as it was at one moment."""
    if one.type != b"hash":
        return
    awaits = one.state == AWAITING
    left = 0 if one.count is None else stored_integer(one.count)
    if left is None:
        if awaits or one.able:
            yield _uncountable(one, view)
    elif awaits and (one.able < left or not one.able):
        yield _waits(one, left)
    elif (awaits and left < one.able + len(one.dead)) or (one.able and not awaits and left <= one.able):
        yield from _early(one, left)


def _waits(one: Flow, left: int) -> Finding:
    """Its children can't count down to 0 any more."""
    kept = "has no :dependencies" if one.count is None else f":dependencies is {left}"
    able = "and none of its" if not one.able else f"but only {one.able:,} of its"
    says = f"awaits its children: {kept}, {able} children can tell it of its end"
    whole = one.able + len(one.dead)
    whys, cures = [], []
    if one.dead:
        others = f" and {len(one.dead) - 1:,} more are" if len(one.dead) > 1 else " is"
        whys.append(f"{named(min(one.dead))}{others} dead and told it nothing, as a sweep's dead do")
        cures.append("reprocess the dead and let them be completed")
    if left > whole:
        whys.append(f"{plural(left - whole, 'child', 'children')} went without telling it")
    if not whole:
        cures.append("ZADD it to pending and HSET its state to pending")
    elif left != whole:
        cures.insert(0, f"SET :dependencies to {whole}")
    sentence = "; ".join([says, *whys, f"nobody will release it until you {' and '.join(cures)}"])
    return Finding("parent-waits", sentence, id=one.parent)


def _early(one: Flow, left: int) -> Iterator[Finding]:
    """Its count is at 0 before its children are at their end."""
    still = plural(one.able, "child", "children")
    nth = max(left, 1)
    kept = "it has no :dependencies" if one.count is None else f":dependencies is {left}"
    when = f"after {nth:,} of them {'has' if nth == 1 else 'have'} ended"
    cure = f"SET :dependencies to {one.able + len(one.dead)}"
    if one.state != AWAITING:
        state = "has no state" if one.state is None else f"is {quoted(one.state)} already"
        sentence = (
            f"{state}, and {still} still {'names' if one.able == 1 else 'name'} it: {kept}, so {when} it is released"
        )
        yield Finding("parent-early", f"{sentence} once more; SET :dependencies to {one.able + 1}", id=one.parent)
        return
    sentence = f"awaits {plural(one.able + len(one.dead), 'child', 'children')}, but {kept}: {when} it is released"
    yield Finding("parent-early", f"{sentence}, and by each that ends later once more; {cure}", id=one.parent)


def _uncountable(one: Flow, view: View) -> Finding:
    sentence = (
        f":dependencies is {quoted(one.count or b'')}, which DECR refuses: the complete of a child stops half-way and"
        f" loses it, and nobody releases {named(one.parent)}; SET it to {one.able + len(one.dead)}, the children that"
        " are left"
    )
    key = view.base + flow(one.parent, _COUNT)
    held: dict[bytes, Held] = {
        view.row(PROBE): {b"attempts": b"1", b"payload": b"", b"state": b"active", b"parent": one.parent},
        view.base + b"active": Zset({PROBE: 0.0}),
        key: one.count or b"",
    }
    once = "" if view.working else "a child is active"
    told = would(view, "complete", held, once=once, values={"token": b"1"})
    return Finding("flow-count", sentence, key=key, scripted=told.scripted, native=told.native)


def _again(reader: Reader, view: View, met: Met, parent: bytes) -> Flow | None:
    """The flow as it is at one moment; None where it never holds still. Children are never added to one."""
    row, family = view.row(parent), met.children.get(parent, [])
    watched = [row, view.base + flow(parent, _COUNT), view.base + flow(parent, b"unsuccessful")]
    for _ in range(TRIES):
        for piece in pieces([*watched, *map(view.row, family)], 500):
            reader.ask("WATCH", *piece)
        kind, state, count = reader.ask_all(
            [("TYPE", row), ("HGET", row, "state"), ("GET", view.base + flow(parent, _COUNT))]
        )
        able, dead = _family(reader, view, met, parent)
        if reader.unchanged(("TYPE", row)) is not None:
            return None if isinstance(count, ErrorReply) else Flow(parent, kind, _text(state), count, able, dead)
    return None


def _family(reader: Reader, view: View, met: Met, parent: bytes) -> tuple[int, tuple[bytes, ...]]:
    """How many children may still tell their parent, and those that are dead and have not."""
    able, dead = 0, []
    told = view.base + flow(parent, b"unsuccessful")
    for piece in pieces(met.children.get(parent, ()), 60):
        blocks = [_of_child(view, child, told, met.laned(child)) for child in piece]
        replies = iter(reader.ask_all(command for block in blocks for command in block))
        for child, block in zip(piece, blocks, strict=True):
            kin, given_up, died, *held = islice(replies, len(block))
            if kin != parent:
                continue
            if isinstance(died, bytes):
                if given_up != 1:
                    dead.append(child)
            elif any(isinstance(score, bytes) for score in held):
                able += 1
    return able, tuple(dead)


def _of_child(view: View, child: bytes, told: bytes, lanes: Iterable[bytes]) -> list[Command]:
    others = [*(name for name in SETS if name != b"dead"), *lanes]
    return [
        ("HGET", view.row(child), "parent"),
        ("HEXISTS", told, child),
        ("ZSCORE", view.base + b"dead", child),
        *(("ZSCORE", view.base + name, child) for name in others),
    ]


def _left(reader: Reader, view: View, met: Met) -> Iterator[Finding]:
    """What finished parents have left behind."""
    gone = sorted(parent for parent in met.parts if not met.has_row(parent))
    lonely = [one for one in gone if not any(map(met.able, met.children.get(one, ())))]
    parts = list(FLOW)
    blocks: list[list[Command]] = [
        [("TYPE", view.row(one)), *(("TYPE", view.base + flow(one, part)) for part in parts)] for one in lonely
    ]
    for parent, (kind, *kinds) in zip(lonely, reader.at_once(blocks), strict=True):
        left = [b":" + part for part, found in zip(parts, kinds, strict=True) if found == FLOW[part]]
        if kind == b"none" and left:
            are, them = ("is", "it") if len(left) == 1 else ("are", "them")
            sentence = (
                f"its row is gone, and {listed(left)} {are} left, which no script deletes: DEL {them} when nobody"
            )
            yield Finding("flow-left", f"{sentence} reads {them} any more", id=parent)
