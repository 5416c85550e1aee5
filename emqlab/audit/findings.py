"""What an audit answers: the findings, each with a stable code word, and the counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from emqlab.observe.snapshot import name_json
from emqlab.replies import Json, text_json

STOPS, LOSES, ODD, TO_KNOW = "stops work", "loses work", "odd", "to know"
SEVERITIES = (STOPS, LOSES, ODD, TO_KNOW)

#: Code word -> how bad it is, in the order in which findings are told.
CODES: dict[str, str] = {
    "fence": STOPS,
    "paused": STOPS,
    "wrong-type": STOPS,
    "metric-refused": STOPS,
    "head-refused": STOPS,
    "sweep-refused": STOPS,
    "promote-refused": STOPS,
    "lane-number": STOPS,
    "lane-full": STOPS,
    "lane-waits": STOPS,
    "flow-count": STOPS,
    "parent-waits": STOPS,
    "ghost": LOSES,
    "two-sets": LOSES,
    "no-set": LOSES,
    "not-a-hash": LOSES,
    "no-attempts": LOSES,
    "bad-attempts": LOSES,
    "big-attempts": LOSES,
    "bad-failures": LOSES,
    "bad-stalled": LOSES,
    "lane-in-pending": LOSES,
    "wrong-lane": LOSES,
    "parent-early": LOSES,
    "ttl": LOSES,
    "wrong-state": ODD,
    "odd-id": ODD,
    "score": ODD,
    "gactive-drift": ODD,
    "ring-empty": ODD,
    "ring-paused": ODD,
    "ring-twice": ODD,
    "orphan": ODD,
    "unknown-key": ODD,
    "queue-name": TO_KNOW,
    "lane-held": TO_KNOW,
    "flow-child": TO_KNOW,
    "flow-left": TO_KNOW,
    "exempt": TO_KNOW,
}
_ORDER = {code: place for place, code in enumerate(CODES)}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found: its code word, and the ``id`` or the ``key`` that it is about.

    ``sets`` are those that hold the id; ``scripted`` and ``native`` what each executor would do with it, None where no
    verb has to do with it; ``ttl_ms`` when the server deletes it, where that is what was found; ``starves`` how many
    jobs of no lane are never reached natively while it stands before them.
    """

    code: str
    sentence: str
    id: bytes | None = None
    key: bytes | None = None
    sets: tuple[bytes, ...] = ()
    scripted: str | None = None
    native: str | None = None
    ttl_ms: int | None = None
    starves: int | None = None

    @property
    def severity(self) -> str:
        """How bad it is: one of SEVERITIES."""
        return CODES[self.code]

    @property
    def name(self) -> bytes:
        """The id or the key."""
        return self.id if self.id is not None else self.key or b""

    def json(self) -> dict[str, Json]:
        """One entry of ``findings`` in the line of ``emqlab audit --json``."""
        told = {"key": name_json(self.key)} if self.key is not None else {"id": text_json(self.id or b"")}
        more: dict[str, Json] = {"ttl_ms": self.ttl_ms, "starves": self.starves}
        return {
            "code": self.code,
            "severity": self.severity,
            **told,
            "sets": [name_json(name) for name in self.sets],
            "sentence": self.sentence,
            "scripted": self.scripted,
            "native": self.native,
            **{name: value for name, value in more.items() if value is not None},
        }


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, those of one code together, by name."""
    return tuple(sorted(findings, key=lambda finding: (_ORDER[finding.code], finding.name)))


@dataclass(frozen=True, slots=True)
class Audit:
    """One queue as it was found at ``now_ms``, in the epoch ``run_id``; ``asked`` commands were sent besides SCANs.

    ``counts`` are of pending, active, expired, schedule, due, dead, rows.
    """

    queue: bytes
    now_ms: int
    run_id: bytes
    counts: Mapping[str, int]
    findings: tuple[Finding, ...] = field(default=())
    asked: int = 0

    def json(self, server: str) -> dict[str, Json]:
        """The line of ``emqlab audit --json``."""
        return {
            "server": server,
            "queue": text_json(self.queue),
            "now_ms": self.now_ms,
            "run_id": self.run_id.decode("ascii", "replace"),
            "counts": dict(self.counts),
            "findings": [finding.json() for finding in self.findings],
            "asked": self.asked,
        }

    def text(self) -> str:
        """The findings as a table for a terminal of 100 columns, grouped by severity."""
        from emqlab.audit.report import table

        return table(self)
