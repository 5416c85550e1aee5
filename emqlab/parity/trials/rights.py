"""Rights: each verb as a user who may do one thing less than it needs, and as one who may do just that (divergence 6).

Sources: SPEC 5.1, rule 5 (a key that is derived from the base is opened as the caller, to read it before its first
access and to write it before any write), SPEC 5.2 (what each verb accesses, in order).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from emqlab.executor import Executor
from emqlab.keys import VERSION_KEY
from emqlab.native.executor import NativeExecutor
from emqlab.observe.case import OLD_RUN_ID
from emqlab.parity.model import Error, Held, Values, World, Zset
from emqlab.parity.rig import Outcome, Ran, Rig
from emqlab.parity.trials.states import FAILURE, JOBS
from emqlab.parity.trials.trial import EPOCHS, NOW_MS, Do, Trial, world
from emqlab.parity.verdict import judge
from emqlab.replies import ask
from emqlab.servers.server import Server
from emqlab.transitions import TRANSITIONS

JOB, OTHER = JOBS[0], JOBS[1]
ROW, OTHER_ROW = b"job:" + JOB, b"job:" + OTHER
READ, WRITE = "read", "write"
NOPERM = Error(b"NOPERM No permissions to access a key")
#: Whose rights are tried.
USER, PASSWORD = "limited", "limited"

#: A key that a verb derives, and what it does to it.
Access = tuple[bytes, str]


@dataclass(frozen=True, slots=True)
class Need:
    """One verb on one of its ways: where it begins, the call, and what it accesses besides its declared keys."""

    name: str
    verb: str
    values: Values
    start: World
    accesses: tuple[Access, ...]

    @property
    def all(self) -> tuple[Access, ...]:
        """Every verb begins with the wire version."""
        return ((VERSION_KEY, READ), *self.accesses)


def _both(key: bytes) -> tuple[Access, Access]:
    return (key, READ), (key, WRITE)


_FIELDS: dict[bytes, bytes] = {b"state": b"active", b"attempts": b"2", b"payload": b"tea"}
_STAMPED: dict[bytes, bytes] = {**_FIELDS, b"lease_epoch": EPOCHS[0]}
_META: Access = (b"meta", READ)
_COMPLETED, _FAILED = b"metrics:completed", b"metrics:failed"
_FULL: dict[bytes, Held] = {name: {b"count": b"many"} for name in (_COMPLETED, _FAILED)}
_HOLDER: dict[str, bytes] = {"id": JOB, "token": b"2"}
_LATER: dict[str, bytes] = {"mode": b"in", "value": b"5"}
_CLAIM: dict[str, bytes] = {"lease_ms": b"5"}
_FAILING: dict[str, bytes] = {**_HOLDER, "delay_ms": b"5", "max_attempts": b"3", "error": FAILURE}
_SWEEP: dict[str, bytes] = {"max_stalled": b"1", "limit": b"9"}
_BEAT: Values = {"lease_ms": b"5", "pairs": [(JOB, b"2"), (OTHER, b"2")]}


def needs() -> tuple[Need, ...]:
    """Every verb, on every way on which it accesses another key than its declared ones."""
    leased, lapsed = (Zset({JOB: float(NOW_MS + shift)}) for shift in (9_000, -9_000))
    due, waiting, dead = Zset({JOB: float(NOW_MS - 9_000)}), Zset({JOB: 0.0}), Zset({JOB: 0.0})
    lane = {**_STAMPED, b"group": b"g"}
    two = Zset({JOB: NOW_MS - 9_000.0, OTHER: NOW_MS - 8_000.0})
    table: list[tuple[str, str, Values, Mapping[bytes, Held], Sequence[Access]]] = [
        ("new", "enqueue", {"id": JOB, "payload": b"tea"}, {}, ()),
        ("new", "schedule", {"id": JOB, "payload": b"tea", **_LATER}, {}, ()),
        ("paused", "claim", _CLAIM, {b"meta": {b"paused": b"1"}, b"pending": waiting}, (_META,)),
        ("nothing there", "claim", _CLAIM, {}, (_META,)),
        ("a ghost", "claim", _CLAIM, {b"pending": waiting}, (_META, (ROW, READ))),
        ("a string", "claim", _CLAIM, {b"pending": waiting, ROW: b"x"}, (_META, (ROW, READ))),
        ("a bad row", "claim", _CLAIM, {b"pending": waiting, ROW: {b"attempts": b"x"}}, (_META, *_both(ROW))),
        ("a job", "claim", _CLAIM, {b"pending": waiting, ROW: _FIELDS}, (_META, *_both(ROW))),
        ("leased", "complete", _HOLDER, {b"active": leased, ROW: _FIELDS}, _both(_COMPLETED)),
        ("a bad count", "complete", _HOLDER, {b"active": leased, ROW: _FIELDS, **_FULL}, ((_COMPLETED, READ),)),
        ("nowhere", "complete", _HOLDER, {ROW: _FIELDS}, ((b"pending", READ),)),
        (
            "recovered",
            "complete",
            _HOLDER,
            {b"pending": waiting, ROW: _FIELDS},
            (*_both(b"pending"), *_both(_COMPLETED)),
        ),
        (
            "recovered, a bad count",
            "complete",
            _HOLDER,
            {b"pending": waiting, ROW: _FIELDS, **_FULL},
            (*_both(b"pending"), (_COMPLETED, READ)),
        ),
        ("again", "fail", _FAILING, {b"active": leased, ROW: _FIELDS}, ()),
        ("for good", "fail", {**_FAILING, "max_attempts": b"1"}, {b"active": leased, ROW: _FIELDS}, _both(_FAILED)),
        (
            "a bad count",
            "fail",
            {**_FAILING, "max_attempts": b"1"},
            {b"active": leased, ROW: _FIELDS, **_FULL},
            ((_FAILED, READ),),
        ),
        ("leased", "delay", {**_HOLDER, **_LATER}, {b"active": leased, ROW: _FIELDS}, ()),
        ("leased", "requeue", _HOLDER, {b"active": leased, ROW: _FIELDS}, ()),
        ("leased", "extend", {**_HOLDER, **_CLAIM}, {b"active": leased, ROW: _FIELDS}, ()),
        ("gone", "extends", _BEAT, {}, ((ROW, READ), (OTHER_ROW, READ))),
        ("one of two", "extends", _BEAT, {b"active": leased, ROW: _FIELDS}, (*_both(ROW), (OTHER_ROW, READ))),
        (
            "two",
            "extends",
            _BEAT,
            {b"active": two, ROW: _FIELDS, OTHER_ROW: _FIELDS},
            (*_both(ROW), *_both(OTHER_ROW)),
        ),
        ("a ghost", "promote", {"batch": b"9"}, {b"schedule": due}, ((ROW, READ),)),
        ("a string", "promote", {"batch": b"9"}, {b"schedule": due, ROW: b"x"}, ((ROW, READ),)),
        ("a lane row", "promote", {"batch": b"9"}, {b"schedule": due, ROW: lane}, ((ROW, READ),)),
        ("due", "promote", {"batch": b"9"}, {b"schedule": due, ROW: _FIELDS}, _both(ROW)),
        ("a ghost", "stalled_check", _SWEEP, {b"active": lapsed}, ((ROW, READ),)),
        ("a string", "stalled_check", _SWEEP, {b"active": lapsed, ROW: b"x"}, ((ROW, READ),)),
        ("a lane row", "stalled_check", _SWEEP, {b"active": lapsed, ROW: lane}, ((ROW, READ),)),
        (
            "a bad row",
            "stalled_check",
            _SWEEP,
            {b"active": lapsed, ROW: {**_STAMPED, b"stalled": b"x"}},
            ((ROW, READ),),
        ),
        (
            "exempt",
            "stalled_check",
            _SWEEP,
            {b"active": lapsed, ROW: {**_FIELDS, b"lease_epoch": OLD_RUN_ID}},
            _both(ROW),
        ),
        ("back", "stalled_check", {**_SWEEP, "max_stalled": b"2"}, {b"active": lapsed, ROW: _STAMPED}, _both(ROW)),
        ("dead", "stalled_check", _SWEEP, {b"active": lapsed, ROW: _STAMPED}, (*_both(ROW), *_both(_FAILED))),
        (
            "dead, a bad count",
            "stalled_check",
            _SWEEP,
            {b"active": lapsed, ROW: _STAMPED, **_FULL},
            (*_both(ROW), (_FAILED, READ)),
        ),
        ("dead", "reprocess", {"id": JOB}, {b"dead": dead, ROW: _FIELDS}, ()),
    ]
    return tuple(
        Need(f"{verb}, {name}", verb, values, world(dict(start)), tuple(accesses))
        for name, verb, values, start, accesses in table
    )


NEEDS = needs()


class RightsBench:
    """One user of a server of the lab's own, whose rights are changed for each trial. A context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._grant()
        self._client = server.connect(username=USER, password=PASSWORD)
        self._rig = Rig(server, {"native": NativeExecutor(self._client, lambda: b"", lambda: server.run_id)})

    def __enter__(self) -> "RightsBench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the user."""
        self._client.close()
        ask(self._server.observer, "ACL", "DELUSER", USER)

    def complaints(self, need: Need) -> Iterator[str]:
        """What is not as it must be: one right too few, for each access in turn, and just the rights that it takes."""
        refused = Outcome((NOPERM,), need.start.keys)
        for place, (key, access) in enumerate(need.all):
            # With what came before it alone, and with all others: a right to write is none without one to read.
            before = need.all[:place]
            others = [one for one in need.all if one[0] != key or (access == WRITE and one[1] == READ)]
            short = next(
                (made for made in (self._run(need, before).native, self._run(need, others).native) if made != refused),
                refused,
            )
            if short != refused:
                yield (
                    f"{need.name}: without the right to {access} {key.decode()} the reply is {short.replies[0]!r}, and"
                    f" the keys are {'as they were' if short.keys == need.start.keys else 'others than before'};"
                    " it must be NOPERM with nothing written"
                )
        for complaint in judge(self._run(need, need.all)).complaints:
            yield f"{need.name}, with just the rights that it needs: {complaint}"

    def _run(self, need: Need, granted: Sequence[Access]) -> Ran:
        spelled = TRANSITIONS[need.verb]
        declared = [_named(ROW if name == "row" else name.encode()) for name in spelled.keys if name != "base"]
        self._grant(*_rules([(key, WRITE) for key in declared]), *_rules(granted))
        trial = Trial("rights", 0, 0, need.start, (Do(need.verb, need.values),))
        return self._rig.run([trial])[0]

    def _grant(self, *rules: bytes) -> None:
        commands = [b"+" + row.command.lower().encode() for row in TRANSITIONS.values() if row.command]
        ask(
            self._server.observer,
            *("ACL", "SETUSER", USER, "reset", "on", f">{PASSWORD}"),
            *commands,
            *rules,
        )


def rights_complaints(server: Server, executors: Mapping[str, Executor]) -> Iterator[str]:
    """Every verb on every one of its ways, on a server of the lab's own: a sentence for each right that is not as told.

    The scripts derive their keys unasked (divergence 6), so there is nothing to try without the native executor.
    """
    if "native" not in executors:
        return
    with RightsBench(server) as bench:
        for need in NEEDS:
            yield from bench.complaints(need)


def _named(name: bytes) -> bytes:
    """A key of any queue, as a rule names it: the queues of the rig are its own."""
    return name if name == VERSION_KEY else b"emq:{*}:" + name


def _rules(granted: Sequence[Access]) -> list[bytes]:
    """The rights to these accesses: a key that is read and written takes both in one."""
    rights: dict[bytes, set[str]] = {}
    for key, access in granted:
        rights.setdefault(key if key.startswith(b"emq:") else _named(key), set()).add(access)
    return [(b"~" if WRITE in kinds else b"%R~") + key for key, kinds in rights.items()]
