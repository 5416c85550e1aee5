"""A queue made by the scripts themselves: steps drawn at random, used rightly, and hazards where they are asked for."""

import random
from collections.abc import Callable
from typing import Any

import emqlab
from emqlab import keys
from emqlab.replies import ErrorReply, ask
from emqlab.transitions import Call

QUEUE = b"q"
GROUPS = (b"blue", b"red", b"green")
LONG_MS = 30_000


class Walk:
    """A walk in one queue. ``leases`` are the tokens that are held, ``spent`` those that a sweep has taken."""

    def __init__(self, lab: emqlab.Lab, seed: int) -> None:
        self.lab, self.draw = lab, random.Random(seed)
        self.minted = 0
        self.leases: dict[bytes, bytes] = {}
        self.lanes: dict[bytes, bytes] = {}
        self.parents: set[bytes] = set()
        self.children: dict[bytes, bytes] = {}
        self.spent: dict[bytes, bytes] = {}
        self.done: dict[str, int] = {}
        self.right: tuple[Callable[[], None], ...] = (
            self.enqueue, self.schedule, self.lane_enqueue, self.lane_enqueue, self.flow_add, self.claim, self.claim,
            self.claim, self.claim, self.claim, self.lane_claim, self.lane_claim, self.complete, self.complete,
            self.complete, self.complete, self.fail, self.delay, self.extend,
            self.lane_pause, self.lane_resume, self.lane_resume, self.lane_limit, self.later, self.sweep,
            self.reprocess,
        )  # fmt: skip

    def step(self) -> None:
        """One step that is right, whatever has been."""
        act = self.draw.choice(self.right)
        act()
        self.done[act.__name__] = self.done.get(act.__name__, 0) + 1

    def send(self, verb: str, **values: Any) -> Any:
        """One transition by its script; its reply. An error is one of the walk's own mistakes."""
        reply = self.lab.scripted.perform(Call(verb, QUEUE, values))
        assert not isinstance(reply, ErrorReply), (verb, values, reply)
        return reply

    def ask(self, *command: bytes | str | int) -> Any:
        """A raw command."""
        return ask(self.lab.client, *command)

    def key(self, name: str | bytes) -> bytes:
        """A key of the queue's."""
        return keys.base(QUEUE) + (name if isinstance(name, bytes) else name.encode())

    def mint(self) -> bytes:
        """An id that is not in order."""
        self.minted += 1
        return b"JOB%03d%08d" % (self.draw.randrange(1000), self.minted)

    def enqueue(self) -> None:
        """A flat job."""
        self.send("enqueue", id=self.mint(), payload=b"x")

    def schedule(self) -> None:
        """A flat job for later."""
        self.send("schedule", id=self.mint(), payload=b"x", mode=b"in", value=b"%d" % self.draw.randrange(50_000))

    def lane_enqueue(self) -> None:
        """A job of a group."""
        job, group = self.mint(), self.draw.choice(GROUPS)
        self.lanes[job] = group
        self.send("lane_enqueue", id=job, payload=b"x", group=group)

    def flow_add(self) -> None:
        """A parent and one to three children."""
        parent, policy = self.mint(), self.draw.choice((b"", b"fp", b"id"))
        children = [self.mint() for _ in range(self.draw.randrange(1, 4))]
        self.parents.add(parent)
        self.children.update(dict.fromkeys(children, parent))
        self.send("flow_add", id=parent, payload=b"x", children=[(child, b"x") for child in children], policy=policy)

    def claim(self) -> None:
        """A flat lease."""
        self._leased(self.send("claim", lease_ms=b"%d" % LONG_MS))

    def lane_claim(self) -> None:
        """The lease of the next group's."""
        self._leased(self.send("lane_claim", lease_ms=b"%d" % LONG_MS))

    def _leased(self, reply: Any) -> None:
        if reply:
            self.leases[reply[0]] = b"%d" % reply[2]

    def _held(self) -> tuple[bytes, bytes] | None:
        """One of the leases, which is given up."""
        if not self.leases:
            return None
        job = self.draw.choice(sorted(self.leases))
        return job, self.leases.pop(job)

    def complete(self) -> None:
        """The holder's."""
        if held := self._held():
            self.send("complete", id=held[0], token=held[1])

    def fail(self) -> None:
        """The holder's, at the cap or below it."""
        if held := self._held():
            cap = self.draw.choice((b"1", b"2", b"9"))
            delay = b"%d" % self.draw.randrange(20_000)
            self.send("fail", id=held[0], token=held[1], delay_ms=delay, max_attempts=cap, error=b"boom")

    def delay(self) -> None:
        """The holder's, of a job of no lane."""
        if (held := self._held()) and held[0] not in self.lanes:
            self.send("delay", id=held[0], token=held[1], mode=b"in", value=b"5000")
        elif held:
            self.leases[held[0]] = held[1]

    def extend(self) -> None:
        """The holder's."""
        if held := self._held():
            self.leases[held[0]] = held[1]
            self.send("extend", id=held[0], token=held[1], lease_ms=b"%d" % LONG_MS)

    def lane_pause(self) -> None:
        """A group's owner."""
        self.send("lane_pause", group=self.draw.choice(GROUPS))

    def lane_resume(self) -> None:
        """A group's owner."""
        self.send("lane_resume", group=self.draw.choice(GROUPS))

    def lane_limit(self) -> None:
        """A group's owner."""
        self.send("lane_limit", group=self.draw.choice(GROUPS), limit=self.draw.choice((b"1", b"2", b"3")))

    def later(self) -> None:
        """Time passes, and the scripts move what has come due; whoever's lease is over knows it."""
        self.lab.advance_ms(self.draw.choice((1, 2000, 40_000)))
        self.send("promote", batch=b"1000")
        self.sweep()

    def sweep(self) -> None:
        """Leases that have expired are given back; nobody dies of it."""
        now = self.lab.now_ms()
        for job in self.ask("ZRANGE", self.key("active"), 0, -1):
            if float(self.ask("ZSCORE", self.key("active"), job)) <= now:
                self.spent[job] = self.leases.pop(job, b"0")
        if self.draw.random() < 0.5:
            self.send("reap")
        else:
            self.send("stalled_check", max_stalled=b"100000", limit=b"1000")

    def reprocess(self) -> None:
        """A dead letter of no lane and no flow is revived."""
        dead = self.ask("ZRANGE", self.key("dead"), 0, -1)
        flat = [job for job in dead if job not in self.lanes and job not in self.parents and job not in self.children]
        if flat:
            self.send("reprocess", id=self.draw.choice(flat))

    def hazard(self) -> None:
        """One of the steps that SPEC 7 warns of, or a hand in the keys."""
        draw, group = self.draw, self.draw.choice(GROUPS)
        rows = [name.removeprefix(self.key("job:")) for name in self.ask("KEYS", self.key("job:JOB???????????"))]
        acts: tuple[Callable[[], Any], ...] = (
            self._sweep_that_kills,
            self._late,
            lambda: self.lab.scripted.perform(Call("reprocess", QUEUE, {"id": draw.choice(rows)})) if rows else None,
            self._delay_of_a_lane,
            lambda: self.lab.advance_ms(40_000),
            lambda: self.ask("HSET", self.key("glimit"), group, draw.choice((b"x", b"0", b"-1", b" 2 "))),
            lambda: self.ask("HINCRBY", self.key("gactive"), group, draw.choice((-1, 1))),
            lambda: self.ask("LREM", self.key("ring"), 0, group),
            lambda: self.ask("RPUSH", self.key("ring"), group),
            lambda: self.ask("SADD", self.key("paused"), group),
            lambda: self.ask("ZADD", self.key(b"g:" + group + b":pending"), 0, self.mint()),
            lambda: self.ask("DEL", self.key(b"job:" + draw.choice(rows))) if rows else None,
            lambda: self._count(draw.choice((b"0", b"1", b"5", b"x", None))),
        )  # fmt: skip
        draw.choice(acts)()

    def _sweep_that_kills(self) -> None:
        self.lab.advance_ms(40_000)
        self.lab.scripted.perform(Call("stalled_check", QUEUE, {"max_stalled": b"1", "limit": b"2"}))
        self.leases.clear()

    def _late(self) -> None:
        """Whoever has lost a lease completes all the same."""
        if self.spent:
            job = self.draw.choice(sorted(self.spent))
            self.lab.scripted.perform(Call("complete", QUEUE, {"id": job, "token": self.spent.pop(job)}))

    def _delay_of_a_lane(self) -> None:
        for job in [job for job in sorted(self.leases) if job in self.lanes][:1]:
            values = {"id": job, "token": self.leases.pop(job), "mode": b"in", "value": b"1000"}
            self.lab.scripted.perform(Call("delay", QUEUE, values))

    def _count(self, value: bytes | None) -> None:
        if self.parents:
            key = self.key(b"job:" + self.draw.choice(sorted(self.parents)) + b":dependencies")
            self.ask("DEL", key) if value is None else self.ask("SET", key, value)
