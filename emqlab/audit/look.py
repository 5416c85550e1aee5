"""One queue, looked at: every id and every key once, and what is suspected once more before it is told."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import redis

from emqlab import keys
from emqlab.audit.findings import Audit, Finding, in_order
from emqlab.audit.judge import judge
from emqlab.audit.lanes import slots_adrift, waiting_lanes, waiting_parents
from emqlab.audit.layout import SETS, lane, place
from emqlab.audit.queue_keys import key_findings
from emqlab.audit.reading import CannotLook, Moved, Reader
from emqlab.audit.row import Row, View, first_look, second_look
from emqlab.audit.surroundings import surrounded

#: Is told how many ids were looked at, of how many.
Tell = Callable[[int, int], None]


def audit_queue(
    client: redis.Redis,
    queue: str | bytes,
    *,
    now_ms: int,
    run_id: str | bytes,
    tell: Tell | None = None,
    names: Iterable[bytes] | None = None,
) -> Audit:
    """Look at one queue through ``client`` (bytes, RESP2), that of the one server that holds it; nothing is written.

    ``now_ms`` is the server's time, ``run_id`` the epoch in force; ``names`` the queue's keys where they are known.
    Raises ValueError for a name that is none, CannotLook when the server refuses to be read, ServerLost.
    """
    name = keys.check_queue(queue) if isinstance(queue, str) else queue
    view = View(name, now_ms, run_id.encode() if isinstance(run_id, str) else run_id)
    with Reader(client) as reader:
        try:
            return _Look(reader, view, tell).audit(names)
        except Moved as error:
            raise CannotLook(f"the cluster has moved the queue ({error}); look again") from None


class _Look:
    def __init__(self, reader: Reader, view: View, tell: Tell | None) -> None:
        self.reader = reader
        self.view = view
        self.tell = tell
        #: Every id that was met, and the sets that it was seen in, with its score there.
        self.held: dict[bytes, dict[bytes, float]] = {}
        self.groups: set[bytes] = set()
        #: What the first look saw of lanes and flows: active jobs a group, dead child -> parent.
        self.busy: Counter[bytes] = Counter()
        self.died: dict[bytes, bytes] = {}
        #: Flows' keys that were met, and the parents that wait without the one that counts their children.
        self.flows: set[bytes] = set()
        self.uncounted: list[bytes] = []

    def audit(self, names: Iterable[bytes] | None) -> Audit:
        counts = self._counts()
        base = self.view.base
        others = self._sort(name.removeprefix(base) for name in names or self.reader.names(base))
        counts["rows"] = len(self.held)
        head = self._members()
        suspects = [row for row in self._first_look(head) if any(judge(row, self.view))]
        self.view = surrounded(self.reader, self.view, self.groups)
        found = [
            *self._confirmed(suspects),
            *key_findings(self.reader, self.view, others),
            *waiting_lanes(self.reader, self.view, self.groups),
            *slots_adrift(self.reader, self.view, self.busy),
            *waiting_parents(self.reader, self.view, self.died, self.uncounted),
        ]
        view = self.view
        return Audit(view.queue, view.now_ms, view.run_id, counts, in_order(found), self.reader.asked)

    def _counts(self) -> dict[str, int]:
        base, now = self.view.base, self.view.now_ms
        block = [
            ("ZCARD", base + b"pending"),
            ("ZCARD", base + b"active"),
            ("ZCOUNT", base + b"active", "-inf", now),
            ("ZCARD", base + b"schedule"),
            ("ZCOUNT", base + b"schedule", "-inf", now),
            ("ZCARD", base + b"dead"),
        ]
        (replies,) = self.reader.at_once([block])
        names = ("pending", "active", "expired", "schedule", "due", "dead")
        return {name: got if isinstance(got, int) else 0 for name, got in zip(names, replies, strict=True)}

    def _sort(self, names: Iterable[bytes]) -> set[bytes]:
        """Take the rows' ids and the lanes' groups; what is left, and the lanes, are the queue's other keys."""
        others: set[bytes] = set()
        for met, name in enumerate(names, 1):
            if self.tell is not None and met % _OFTEN == 0:
                self.tell(0, met)
            one = place(name)
            if one.id is not None:
                self.held[one.id] = _NOWHERE
                continue
            others.add(name)
            if one.parent is not None:
                self.flows.add(name)
            if one.group is not None:
                self.groups.add(one.group)
        return others

    def _members(self) -> bytes | None:
        """Take the members of every set; the id that stands first in pending."""
        first: tuple[float, bytes] | None = None
        for name in chain(SETS, map(lane, sorted(self.groups))):
            for job, score in self.reader.members(self.view.base + name):
                self.held[job] = {**self.held.get(job, _NOWHERE), name: score}
                if name == b"pending" and (first is None or (score, job) < first):
                    first = (score, job)
        return first and first[1]

    def _first_look(self, head: bytes | None) -> Iterator[Row]:
        for done, row in enumerate(first_look(self.reader, self.view, self.held, head), 1):
            group, parent = row.get(b"group"), row.get(b"parent")
            if group is not None and b"active" in row.sets:
                self.busy[group] += 1
            if parent is not None and b"dead" in row.sets:
                self.died[row.id] = parent
            if row.get(b"state") == b"awaiting_children" and not row.sets and not self._has_count(row.id):
                self.uncounted.append(row.id)
            if self.tell is not None and (done % 500 == 0 or done == len(self.held)):
                self.tell(done, len(self.held))
            yield row

    def _has_count(self, parent: bytes) -> bool:
        return b"job:%b:dependencies" % parent in self.flows

    def _confirmed(self, suspects: Iterable[Row]) -> Iterator[Finding]:
        for row in second_look(self.reader, self.view, suspects):
            yield from judge(row, self.view)


#: How often progress is told while names are met that SCAN finds.
_OFTEN = 5000
#: What all rows share that were seen in no set.
_NOWHERE: dict[bytes, float] = {}
