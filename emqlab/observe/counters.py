"""What a run did to the counters: their deltas, and how each was touched, measured from the trace."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from emqlab import keys
from emqlab.observe.run import Run
from emqlab.observe.snapshot import Key, Snapshot
from emqlab.observe.state import part_of
from emqlab.observe.trace import Frame, frames
from emqlab.observe.words import shown

COUNTERS = ("attempts", "failures", "stalled")
EPOCH = "lease_epoch"

ABSENT = "absent"
THIS_EPOCH = "this epoch"
EARLIER_EPOCH = "earlier epoch"

UNTOUCHED = "untouched"
READ = "read"
WRITTEN = "written"
READ_AND_WRITTEN = "read and written"


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter before and after a run, as stored texts; None = absent."""

    before: str | None
    after: str | None

    @property
    def delta(self) -> int | None:
        """After minus before, absent counting as 0; None when a stored text is not a whole number."""
        was, now = _number(self.before), _number(self.after)
        return None if was is None or now is None else now - was


@dataclass(frozen=True, slots=True)
class Epoch:
    """Whose lease the row tells of, before and after: ``absent``, ``this epoch`` or ``earlier epoch``."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """One id's counters, its epoch, the queue's metrics and lanes, and how each slot was touched.

    ``gactive`` has a counter for each group; ``dependencies`` is what the id, as a flow's parent, waits for. ``touch``
    has a word for ``attempts``, ``failures``, ``stalled``, ``lease_epoch``, ``metrics:<name>``, ``gactive.<group>`` and
    ``dependencies``: ``untouched``, ``read``, ``written`` or ``read and written``.
    """

    id: bytes
    counters: Mapping[str, Counter]
    epoch: Epoch
    metrics: Mapping[str, Counter]
    gactive: Mapping[str, Counter] = field(default_factory=dict)
    dependencies: Counter = Counter(None, None)
    touch: Mapping[str, str] = field(default_factory=dict)


def ledger(run: Run, job_id: bytes) -> Ledger:
    """The ledger of one id over one traced run.

    An id without a row counts as one whose counters are absent: a completed job has negative deltas. Raises what
    ``frames`` raises.
    """
    queue = run.case.queue
    was, now = _row(run.before, queue, job_id), _row(run.after, queue, job_id)
    metrics_was, metrics_now = _metrics(run.before, queue), _metrics(run.after, queue)
    names = {"completed", "failed", *metrics_was, *metrics_now}
    slots = {**{name: f"row.{name}" for name in (*COUNTERS, EPOCH)}}
    slots |= {f"metrics:{name}": f"metrics:{name}.count" for name in sorted(names)}
    lanes_was, lanes_now = _lanes(run.before, queue), _lanes(run.after, queue)
    groups = sorted({*lanes_was, *lanes_now})
    slots |= {f"gactive.{group}": f"gactive.{group}" for group in groups}
    slots["dependencies"] = f"job:{shown(job_id)}:dependencies"
    told = frames(run, subject=job_id)
    return Ledger(
        id=job_id,
        counters={name: Counter(was.get(name), now.get(name)) for name in COUNTERS},
        epoch=Epoch(_epoch(was.get(EPOCH), run.run_id), _epoch(now.get(EPOCH), run.run_id)),
        metrics={name: Counter(metrics_was.get(name), metrics_now.get(name)) for name in sorted(names)},
        gactive={name: Counter(lanes_was.get(name), lanes_now.get(name)) for name in groups},
        dependencies=Counter(_waits(run.before, queue, job_id), _waits(run.after, queue, job_id)),
        touch={name: touch(told, slot) for name, slot in slots.items()},
    )


def touch(told: Iterable[Frame], slot: str) -> str:
    """How frames touched a slot: ``untouched``, ``read``, ``written`` or ``read and written``.

    Deleting a row writes every field of it.
    """
    read = wrote = False
    for frame in told:
        read = read or slot in frame.reads
        wrote = wrote or slot in frame.writes or (slot.startswith("row.") and "row" in frame.writes)
    if wrote:
        return READ_AND_WRITTEN if read else WRITTEN
    return READ if read else UNTOUCHED


def ids_of(run: Run) -> list[bytes]:
    """Every id that has a row before or after the run, in byte order."""
    row = keys.row(run.case.queue, b"")
    names = {name for name in (*run.before, *run.after) if name.startswith(row) and not name.endswith(keys.FLOW_ENDS)}
    return sorted(name[len(row) :] for name in names)


def _number(stored: str | None) -> int | None:
    if stored is None:
        return 0
    whole = stored.removeprefix("-")
    return int(stored) if whole.isascii() and whole.isdigit() and str(int(stored)) == stored else None


def _row(snapshot: Snapshot, queue: bytes, job_id: bytes) -> dict[str, str]:
    key: Key | None = snapshot.get(keys.row(queue, job_id))
    if key is None or key.type != "hash":
        return {}
    return {shown(pair[0]): shown(pair[1]) for pair in key.value if isinstance(pair, tuple)}


def _lanes(snapshot: Snapshot, queue: bytes) -> dict[str, str]:
    """How many jobs each lane runs, by group."""
    key = snapshot.get(keys.base(queue) + b"gactive")
    found = key.pairs() if key is not None and key.type == "hash" else {}
    return {shown(group): shown(busy) for group, busy in found.items()}


def _waits(snapshot: Snapshot, queue: bytes, job_id: bytes) -> str | None:
    """How many children the id waits for, as stored."""
    key = snapshot.get(keys.row(queue, job_id) + b":dependencies")
    return shown(key.value) if key is not None and isinstance(key.value, bytes) else None


def _metrics(snapshot: Snapshot, queue: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, key in snapshot.items():
        if key.type == "hash":
            found |= part_of(name, key, queue).get("metrics", {})
    return found


def _epoch(stamp: str | None, run_id: str) -> str:
    if stamp is None:
        return ABSENT
    return THIS_EPOCH if stamp == run_id else EARLIER_EPOCH
