"""Histories: what a step is, how steps are drawn, and which divergence a step would show (SPEC 6)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from emqlab.transitions import Call
from tests.transitions.bench import Bench, Held, job_key

JOBS = [b"JOB0NgWEfAEJf" + end for end in (b"a", b"b", b"c", b"d")]
GHOSTS = [b"JOB0NgWEfAEJfy", b"JOB0NgWEfAEJfz"]
OTHER_KIND = b"TSK0NgWEfAEJfa"
#: Set -> the state its jobs are in.
SETS = {"pending": "pending", "active": "active", "schedule": "scheduled", "dead": "dead"}
#: The steps that are no verbs.
WORLD = ("advance", "restart", "plant", "spoil", "cure")
#: Words for a token, as they follow from the row's attempts.
TOKENS = ["right"] * 10 + ["behind", "ahead", "padded", "empty", "zero"]
#: Half of the histories go all the way.
LENGTHS = [*range(1, 31), *[30] * 30]
PAYLOAD = {"payload": "tea"}
#: Numbers that only Lua takes, or nobody.
ODD = ["", "-1", "01", "+1", "1.5", "1e3", "0x10", " 1", "many", "9223372036854775808", "0"]
#: Verb -> how often it is drawn: what moves jobs on comes oftener.
OFTEN = {
    "enqueue": 4,
    "schedule": 2,
    "claim": 6,
    "complete": 2,
    "fail": 4,
    "delay": 2,
    "extend": 2,
    "extends": 2,
    "promote": 3,
    "stalled_check": 3,
    "reprocess": 3,
    "pause": 1,
    "resume": 2,
    "advance": 4,
    "restart": 1,
    "plant": 1,
}
ODD_OFTEN = {**OFTEN, "requeue": 3, "plant": 2, "spoil": 5, "cure": 4}
#: Raw commands that both executors take alike.
HARMLESS: list[tuple[str, ...]] = [
    ("ZADD", "{p}pending", "0", GHOSTS[0].decode()),
    ("HSET", "{p}meta", "paused", ""),
    ("HDEL", "{p}meta", "paused"),
    ("HSET", "{p}metrics:completed", "count", "-5"),
    ("SCRIPT", "FLUSH"),
]
#: Raw commands after which some verb has to refuse, and what takes the harm away again.
HARMFUL: list[tuple[str, ...]] = [
    *(("ZADD", "{p}" + name, "0", ghost.decode()) for name in SETS for ghost in GHOSTS),
    ("SET", "{p}metrics:failed", "spoiled"),
    ("HSET", "{p}metrics:failed", "count", "01"),
    ("SET", "{p}metrics:completed", "spoiled"),
    ("SET", "{p}meta", "spoiled"),
    ("SET", "{emq}:version", "echomq:2.0.0"),
]
#: Fields that are put on a row.
ODD_FIELDS = [*[("stalled", "01", "failures", "x")] * 3, ("group", "g"), ("parent", "")]
#: Raw commands that take all harm away.
CURES = [
    ("DEL", "{p}meta", "{p}metrics:failed", "{p}metrics:completed"),
    ("SET", "{emq}:version", "echomq:3.0.0"),
    *(("HDEL", "{p}" + job_key(job), "stalled", "failures", "group", "parent") for job in JOBS),
]


@dataclass(frozen=True, slots=True)
class Step:
    """One step: a verb with its values, or something that happens to the world: WORLD.

    ``pick`` says which job: one of those that the verb is about, or, from 12 on, any.
    """

    verb: str
    pick: int = 0
    token: str = "right"
    values: Mapping[str, str] = field(default_factory=dict)
    ms: int = 0
    command: tuple[str, ...] = ()

    def job(self, state: Mapping[str, Held]) -> bytes:
        """The job this step is about, as things are now."""
        if self.verb in ("enqueue", "schedule", "delay") and self.pick == 15:
            return OTHER_KIND
        held = state.get("dead" if self.verb == "reprocess" else "active", {})
        usual = [job for job in JOBS if isinstance(held, Mapping) and job.decode() in held]
        if self.verb in ("enqueue", "schedule") or not usual or self.pick >= 12:
            usual = JOBS
        return usual[self.pick % len(usual)]

    def happen(self, bench: Bench, state: Mapping[str, Held]) -> None:
        """A step of WORLD: the clock moves, the server restarts, a key or a row is tampered with."""
        if self.verb == "advance":
            bench.lab.advance_ms(self.ms)
        elif self.verb == "restart":
            bench.lab.restart()
        elif self.verb == "plant":
            bench.put(*self.command)
        elif self.verb == "cure":
            for command in CURES:
                bench.put(*command)
        elif row_of(state, self.job(state)):
            bench.put("HSET", "{p}" + job_key(self.job(state)), *self.command)

    def jobs(self, state: Mapping[str, Held]) -> list[bytes]:
        """The jobs whose tokens it presents."""
        return [self.job(state), JOBS[self.pick % 4]] if self.verb == "extends" else [self.job(state)]

    def call(self, bench: Bench, state: Mapping[str, Held]) -> Call:
        """The transition, with the token made from the row as it is now."""
        pairs = [(job, token_of(self.token, row_of(state, job).get("attempts"))) for job in self.jobs(state)]
        named: dict[str, Any] = {"id": pairs[0][0], "token": pairs[0][1], "pairs": pairs, **self.values}
        return bench.call(self.verb, **named)


def row_of(state: Mapping[str, Held], job: bytes) -> dict[str, str]:
    """A row's fields; empty when there is no row that is a hash."""
    held = state.get(job_key(job), {})
    return {name: str(value) for name, value in held.items()} if isinstance(held, Mapping) else {}


def token_of(word: str, attempts: str | None) -> str:
    """The token that a word of TOKENS stands for."""
    number = int(attempts or 0)
    made = {"right": attempts or "0", "behind": str(number - 1), "ahead": str(number + 1), "padded": f"0{number}"}
    return {**made, "empty": "", "zero": "0"}[word]


def _values(verb: str, number: Callable[..., str], random: Random, odd: bool) -> dict[str, str]:
    due = {"mode": random.choice(["in", "in", "at"]), "value": number(0, 1, 500, 5_000)}
    lease = {"lease_ms": number(1, 500, 5_000)}
    # Caps of 1 and 1000 are decided alike by claims and by failures: the budgets agree.
    cap = number(1, 1_000, *((2, 3) if odd else ()))
    return {
        "enqueue": {"payload": random.choice(["tea", "", "{p}", "\x00\xff"])},
        "schedule": {"payload": "tea", **due},
        "delay": due,
        "claim": lease,
        "extend": lease,
        "extends": lease,
        "promote": {"batch": number(1, 2, 100)},
        "fail": {"delay_ms": number(0, 500), "max_attempts": cap, "error": "boom"},
        "stalled_check": {"max_stalled": number(1, 2, 3), "limit": number(1, 2, 100)},
    }.get(verb, {})


def _one(random: Random, odd: bool) -> Step:
    weights = ODD_OFTEN if odd else OFTEN
    verb = random.choices(list(weights), list(weights.values()))[0]
    if verb == "advance":
        return Step(verb, ms=random.choice([1, 499, 500, 5_000, 60_000]))
    if verb == "plant":
        return Step(verb, command=random.choice(HARMLESS + HARMFUL * 2 if odd else HARMLESS))
    if verb == "spoil":
        return Step(verb, random.randrange(16), command=random.choice(ODD_FIELDS))

    def number(*good: int) -> str:
        return random.choice(ODD) if odd and random.random() < 0.05 else str(random.choice(good))

    return Step(verb, random.randrange(16), random.choice(TOKENS), _values(verb, number, random, odd))


def histories(*, odd: bool) -> st.SearchStrategy[list[Step]]:
    """Up to four jobs in line, then 1 to 30 steps; ``odd`` lets in numbers that are none, requeues and harm.

    A history follows from one seed, for independent draws repeat themselves too much to get far; its length is drawn
    beside it, so that a failing history shrinks to the step that fails.
    """

    def history(seed: int, length: int) -> list[Step]:
        random = Random(seed)
        line = [Step("enqueue", place, "right", PAYLOAD) for place in range(random.randrange(5))]
        return (line + [_one(random, odd) for _ in range(30)])[: len(line) + length]

    return st.builds(history, st.integers(0, 2**32 - 1), st.sampled_from(LENGTHS))


def _is_in(state: Mapping[str, Held], name: str, job: bytes) -> bool:
    held = state.get(name, {})
    return isinstance(held, Mapping) and job.decode() in held


def divergence(bench: Bench, step: Step, state: Mapping[str, Held]) -> int | None:
    """The divergence that a step with good values would show on this native state; None when both must agree.

    Stamps and failures (8, 9) are left to the comparison, which does not look at them.
    """
    if step.verb == "stalled_check":
        leases = state.get("active", {})
        assert isinstance(leases, Mapping)
        expired = [job.encode() for job, ends in leases.items() if float(ends) <= bench.now]
        return 15 if any(row_of(state, job).get("lease_epoch") != bench.lab.run_id for job in expired) else None
    if step.verb not in ("fail", "delay", "extend", "extends", "complete"):
        return None
    for job in step.jobs(state):
        attempts = row_of(state, job).get("attempts")
        if attempts is None or token_of(step.token, attempts) != attempts or _is_in(state, "active", job):
            continue
        if step.verb == "fail" and _is_in(state, "dead", job):
            return 11
        if step.verb != "complete":
            return 12
        if not _is_in(state, "pending", job):
            return 13
    return None
