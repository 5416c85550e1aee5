"""One queue, looked at: every id and every key once, and what is suspected once more before it is told."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

import redis

from emqlab import keys
from emqlab.audit.findings import Audit, Finding, in_order
from emqlab.audit.flows import flow_findings
from emqlab.audit.judge import judge
from emqlab.audit.lanes import adrift, judge_lane, lane_findings, slots_adrift
from emqlab.audit.layout import SETS, lane, place
from emqlab.audit.met import Met
from emqlab.audit.queue_keys import key_findings, name_findings
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
        self.met = Met()

    def audit(self, names: Iterable[bytes] | None) -> Audit:
        counts = self._counts()
        base, met = self.view.base, self.met
        others = self._sort(name.removeprefix(base) for name in names or self.reader.names(base))
        counts["rows"] = len(met.held)
        head = self._members()
        suspects = [row for row in self._first_look(head) if any(judge(row, self.view))]
        met.read(self.reader, self.view)
        orphans = met.orphans() - {row.id for row in suspects}
        suspects += first_look(self.reader, self.view, {job: met.held[job] for job in sorted(orphans)}, head)
        groups = self._suspected(suspects)
        parents = {parent for row in suspects if (parent := row.get(b"parent"))}
        seen = replace(
            self.view, waiting=counts["pending"] > 0, working=counts["active"] > 0,
            expired=sorted(met.expired), due=sorted(met.due),
        )  # fmt: skip
        self.view = view = surrounded(self.reader, seen, groups, parents)
        found = [
            *name_findings(view),
            *self._confirmed(suspects),
            *key_findings(self.reader, view, others),
            *lane_findings(view, groups),
            *slots_adrift(self.reader, view, met.busy),
            *flow_findings(self.reader, view, met),
        ]
        return Audit(view.queue, view.now_ms, view.run_id, counts, in_order(found), self.reader.asked)

    def _suspected(self, suspects: Iterable[Row]) -> set[bytes]:
        """The groups that are looked at again: those of suspects, and those of which something is to be said."""
        groups = set(adrift(self.met.slots, self.met.busy))
        for row in suspects:
            lanes = (place(name).group for name in row.sets)
            groups.update(group for group in (row.get(b"group"), *lanes) if group is not None)
        for group, one in self.met.lanes():
            # A lane that SCAN has met and that has no members is of another type, or just gone.
            if (group in self.met.groups and not one.jobs) or any(judge_lane(group, one, self.view)):
                groups.add(group)
        return groups

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
                self.met.held[one.id] = _NOWHERE
                continue
            others.add(name)
            self.met.key(one)
        return others

    def _members(self) -> bytes | None:
        """Take the members of every set; the id that stands first in pending."""
        first: tuple[float, bytes] | None = None
        held = self.met.held
        for name in chain(SETS, map(lane, sorted(self.met.groups))):
            group = place(name).group
            for job, score in self.reader.members(self.view.base + name):
                if group is not None and name not in held.get(job, _NOWHERE):
                    self.met.waiting[group] += 1
                held[job] = {**held.get(job, _NOWHERE), name: score}
                if name == b"pending" and (first is None or (score, job) < first):
                    first = (score, job)
        return first and first[1]

    def _first_look(self, head: bytes | None) -> Iterator[Row]:
        of = len(self.met.held)
        for done, row in enumerate(first_look(self.reader, self.view, self.met.held, head), 1):
            self.met.row(row, self.view)
            if self.tell is not None and (done % 500 == 0 or done == of):
                self.tell(done, of)
            yield row

    def _confirmed(self, suspects: Iterable[Row]) -> Iterator[Finding]:
        for row in second_look(self.reader, self.view, suspects):
            yield from judge(row, self.view)


#: How often progress is told while names are met that SCAN finds.
_OFTEN = 5000
#: What all rows share that were seen in no set.
_NOWHERE: Mapping[bytes, float] = {}
