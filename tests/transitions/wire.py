"""The native commands as they go over the wire, written out from SPEC 5.2 for the tests."""

from dataclasses import dataclass

from emqlab.replies import ErrorReply, settled
from tests.transitions.bench import A, Bench

BASE = "emq:{q}:"
ROW = f"{BASE}job:{A.decode()}"

#: Values that are all good, by name.
GOOD = {
    "id": A.decode(),
    "payload": "tea",
    "token": "2",
    "mode": "in",
    "value": "5",
    "lease_ms": "1000",
    "delay_ms": "0",
    "max_attempts": "3",
    "error": "boom",
    "max_stalled": "1",
    "limit": "10",
    "batch": "10",
    "base": BASE,
}


@dataclass(frozen=True, slots=True)
class Wire:
    """One command: its keys and arguments by name."""

    command: str
    keys: tuple[str, ...]
    args: tuple[str, ...]

    def words(self, *, base: str = BASE, job: str = A.decode(), **values: str) -> list[str]:
        """The whole command with good values, ``values`` in place of some, and another base or id if given."""
        given = {**GOOD, "id": job, "base": base, **values}
        sent = [base + (f"job:{job}" if key == "row" else "" if key == "base" else key) for key in self.keys]
        return [self.command, str(len(sent)), *sent, *(given[name] for name in self.args)]

    @property
    def arity(self) -> ErrorReply:
        """The server's usual words for a wrong number of arguments."""
        return ErrorReply(f"ERR wrong number of arguments for '{self.command.lower()}' command")

    @property
    def first_arg(self) -> int:
        """Where the arguments begin among the words."""
        return 2 + len(self.keys)


def _wires() -> list[Wire]:
    table = """
    EMQ.ENQUEUE       : row pending               : id payload
    EMQ.SCHEDULE      : row schedule              : id payload mode value
    EMQ.CLAIM         : pending active base       : lease_ms
    EMQ.COMPLETE      : active row                : id token base
    EMQ.FAIL          : active schedule dead row  : id token delay_ms max_attempts error base
    EMQ.DELAY         : row active schedule       : id token mode value
    EMQ.REQUEUE       : active pending row        : id token
    EMQ.EXTEND        : active row                : id token lease_ms
    EMQ.EXTENDS       : active                    : base lease_ms id token
    EMQ.PROMOTE       : schedule pending          : base batch
    EMQ.STALLED.CHECK : active pending dead       : base max_stalled limit
    EMQ.REPROCESS     : row dead pending          : id
    """
    lines = [[cell.split() for cell in line.split(":")] for line in table.strip().splitlines()]
    return [Wire(command[0], tuple(keys), tuple(args)) for command, keys, args in lines]


WIRES = {wire.command: wire for wire in _wires()}
ALL = list(WIRES.values())


def send(bench: Bench, words: list[str]) -> object:
    """Send a command as it is; an error as an ErrorReply."""
    raw = [word.encode("utf-8", "surrogateescape") for word in words]
    try:
        return settled(bench.lab.client.execute_command(*raw))
    except Exception as error:  # the reply is what is tested
        return settled(error)


def told(reply: object) -> str:
    """An error's text; a reply that is none fails the test."""
    assert isinstance(reply, ErrorReply), reply
    return reply.text
