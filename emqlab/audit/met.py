"""What a first look at a queue meets of its lanes and flows: the suspicions that are looked at again."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from emqlab.audit.layout import SETS, Place
from emqlab.audit.reading import Reader
from emqlab.audit.row import Lane, Row, Timed, View

AWAITING = b"awaiting_children"


@dataclass(slots=True)
class Met:
    """Groups by what names them, parents by their children, the keys of lanes and flows."""

    #: Every id that was met, and the sets that it was seen in, with its score there; those of them without a row.
    held: dict[bytes, Mapping[bytes, float]] = field(default_factory=dict)
    ghosts: set[bytes] = field(default_factory=set)
    #: The groups whose lane is a key, how many wait in each, and how many of each are active.
    groups: set[bytes] = field(default_factory=set)
    waiting: Counter[bytes] = field(default_factory=Counter)
    busy: Counter[bytes] = field(default_factory=Counter)
    ring: Counter[bytes] = field(default_factory=Counter)
    limits: dict[bytes, bytes] = field(default_factory=dict)
    slots: dict[bytes, bytes] = field(default_factory=dict)
    paused: set[bytes] = field(default_factory=set)
    #: Parent -> its children; rows that await theirs; the parents of whom a flow's key was met, with its parts.
    children: dict[bytes, list[bytes]] = field(default_factory=dict)
    awaiting: set[bytes] = field(default_factory=set)
    parts: dict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    #: What a native sweep and a native promotion would move: jobs of no lane, by score.
    expired: list[Timed] = field(default_factory=list)
    due: list[Timed] = field(default_factory=list)

    def key(self, one: Place) -> None:
        """Take a lane's or a flow's key."""
        if one.group is not None:
            self.groups.add(one.group)
        if one.parent is not None:
            self.parts[one.parent].add(one.name.rpartition(b":")[2])

    def row(self, row: Row, view: View) -> None:
        """Take an id with its row."""
        group, parent = row.get(b"group"), row.get(b"parent")
        if row.type == b"none":
            self.ghosts.add(row.id)
        if group is not None and b"active" in row.sets:
            self.busy[group] += 1
        if parent:
            self.children.setdefault(parent, []).append(row.id)
        if row.get(b"state") == AWAITING and not row.sets:
            self.awaiting.add(row.id)
        if group is None and row.type == b"hash":
            for name, found in ((b"active", self.expired), (b"schedule", self.due)):
                if row.sets.get(name, view.now_ms + 1) <= view.now_ms:
                    found.append((row.sets[name], row.id, parent is not None))

    def read(self, reader: Reader, view: View) -> None:
        """Read the ring, the limits, the slots and the pauses, in pieces."""
        self.ring.update(reader.entries(view.base + b"ring"))
        self.limits.update(reader.fields(view.base + b"glimit"))
        self.slots.update(reader.fields(view.base + b"gactive"))
        self.paused.update(reader.items(view.base + b"paused"))

    def lanes(self) -> Iterator[tuple[bytes, Lane]]:
        """Every group of which anything was met, as it was then."""
        for group in sorted({*self.groups, *self.busy, *self.ring, *self.limits, *self.slots, *self.paused}):
            yield (
                group,
                Lane(
                    jobs=self.waiting[group],
                    limit=self.limits.get(group),
                    busy=self.slots.get(group),
                    paused=group in self.paused,
                    rung=self.ring[group],
                ),
            )

    def has_row(self, job: bytes) -> bool:
        """Whether a row of that id was met."""
        return job in self.held and job not in self.ghosts

    def able(self, child: bytes) -> bool:
        """Whether a child stood where its end may still be told to its parent."""
        return bool(self.held[child]) and b"dead" not in self.held[child]

    def orphans(self) -> set[bytes]:
        """The children whose end will be told to a parent of whom no row was met."""
        families = (children for parent, children in self.children.items() if not self.has_row(parent))
        return {child for children in families for child in children if self.able(child)}

    def laned(self, child: bytes) -> list[bytes]:
        """The lanes that a child stood in."""
        return [name for name in self.held[child] if name not in SETS]
