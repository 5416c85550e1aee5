"""The transitions as they go over the wire: one table for both executors (SPEC 4.1, 5.2, 8)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from emqlab import keys

#: A step's named values: bytes, or pairs: those of ``extends``, the ``children`` of a flow.
Values = Mapping[str, bytes | Sequence[tuple[bytes, bytes]]]


@dataclass(frozen=True, slots=True)
class Transition:
    """One step verb. ``keys`` and ``args`` are names: ``row``, ``base``, a set, or one of ``values``."""

    verb: str
    values: tuple[str, ...]
    keys: tuple[str, ...]
    args: tuple[str, ...]
    script: str | None
    command: str | None


def _rows() -> list[Transition]:
    table = """
    enqueue       | id payload | row pending | id payload | enqueue | EMQ.ENQUEUE
    schedule      | id payload mode value | row schedule | id payload mode value | schedule | EMQ.SCHEDULE
    claim         | lease_ms | pending active base | lease_ms | claim | EMQ.CLAIM
    complete      | id token | active row | id token base | complete | EMQ.COMPLETE
    fail          | id token delay_ms max_attempts error | active schedule dead row \
                  | id token delay_ms max_attempts error base | retry | EMQ.FAIL
    delay         | id token mode value | row active schedule | id token mode value | delay | EMQ.DELAY
    requeue       | id token | active pending row | id token | - | EMQ.REQUEUE
    extend        | id token lease_ms | active row | id token lease_ms | extend_lock | EMQ.EXTEND
    extends       | lease_ms pairs | active | base lease_ms pairs | extend_locks | EMQ.EXTENDS
    promote       | batch | schedule pending | base batch | promote | EMQ.PROMOTE
    stalled_check | max_stalled limit | active pending dead | base max_stalled limit \
                  | sweep_stalled | EMQ.STALLED.CHECK
    reap          | | active pending | base | reap | -
    reprocess     | id | row dead pending | id | reprocess | EMQ.REPROCESS
    lane_enqueue  | id payload group | row base | id payload group | lane_enqueue | -
    lane_claim    | lease_ms | base | lease_ms | lane_claim | -
    lane_pause    | group | base | group | lane_pause | -
    lane_resume   | group | base | group | lane_resume | -
    lane_limit    | group limit | base | group limit | lane_limit | -
    flow_add      | id payload children policy | base | id payload policy children | flow_add | -
    """
    out = []
    for line in table.strip().splitlines():
        verb, values, names, args, script, command = (cell.strip() for cell in line.split("|"))
        out.append(
            Transition(
                verb,
                tuple(values.split()),
                tuple(names.split()),
                tuple(args.split()),
                None if script == "-" else script,
                None if command == "-" else command,
            )
        )
    return out


#: Step verb -> transition. pause and resume are plain writes to meta on both executors.
TRANSITIONS: dict[str, Transition] = {row.verb: row for row in _rows()}
#: Native command -> transition.
OF_COMMAND = {row.command: row for row in TRANSITIONS.values() if row.command}
#: Script file -> transition.
OF_SCRIPT = {row.script: row for row in TRANSITIONS.values() if row.script}
#: The steps that both executors send as one plain write.
PLAIN: dict[str, tuple[bytes, ...]] = {"pause": (b"HSET", b"paused", b"1"), "resume": (b"HDEL", b"paused")}
#: Steps of lanes and flows: scripts alone know them (SPEC 4.3, 4.4).
LANES_AND_FLOWS = tuple(verb for verb in TRANSITIONS if verb.startswith(("lane_", "flow_")))


@dataclass(frozen=True, slots=True)
class Call:
    """One transition to be sent: the verb and its values, untouched. ``keys`` and ``args`` replace what is built."""

    verb: str
    queue: bytes
    values: Values
    keys: tuple[bytes, ...] | None = None
    args: tuple[bytes, ...] | None = None

    def wire(self) -> tuple[list[bytes], list[bytes]]:
        """KEYS and ARGV, the same for both executors; a flow's child has more of both for its script (SPEC 4.4)."""
        transition = TRANSITIONS[self.verb]
        sent_keys = list(self.keys) if self.keys is not None else [self._key(name) for name in transition.keys]
        if self.args is not None:
            return sent_keys, list(self.args)
        sent_args: list[bytes] = []
        for name in transition.args:
            value = keys.base(self.queue) if name == "base" else self.values[name]
            sent_args.extend([value] if isinstance(value, bytes) else [part for pair in value for part in pair])
        return sent_keys, sent_args

    def plain(self) -> list[bytes]:
        """The whole command of a ``pause`` or ``resume``."""
        command, *rest = PLAIN[self.verb]
        target = list(self.keys) if self.keys is not None else [keys.base(self.queue) + b"meta"]
        return [command, *target, *(rest if self.args is None else self.args)]

    def _key(self, name: str) -> bytes:
        if name == "row":
            job_id = self.values["id"]
            assert isinstance(job_id, bytes)
            return keys.row(self.queue, job_id)
        return keys.base(self.queue) + (b"" if name == "base" else name.encode())
