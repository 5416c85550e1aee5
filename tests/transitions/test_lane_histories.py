"""Lanes over random histories of right use: rotation, slots, nobody forgotten (SPEC 4.3). Scripts only."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from emqlab.replies import ErrorReply
from tests.transitions.bench import Bench
from tests.transitions.lanes import claim, complete, enqueue, fail, fields, job, lane, ring, slots

GROUPS = "abcd"
#: Steps of one history.
STEPS = 300


class History:
    """Workers that lose leases, report late and report twice, on one queue. Every choice comes from ``seed``."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = random.Random(seed)
        self.minted = 0
        #: What workers believe they hold; nothing is taken out when a lease is lost.
        self.leases: list[tuple[bytes, int]] = []
        self.kills = 0
        self.verbs: set[str] = set()

    def step(self) -> None:
        """One call, drawn."""
        moves: list[tuple[Callable[[], object], int]] = [
            (self.enqueue, 6),
            (self.claim, 7),
            (self.report, 6),
            (self.limit, 2),
            (self.pause, 1),
            (self.resume, 2),
            (self.sweep, 2),
            (self.reap, 1),
            (self.promote, 2),
            (self.flat, 1),
            (self.later, 2),
        ]
        (move,) = self.random.choices([move for move, _ in moves], [weight for _, weight in moves])
        self.verbs.add(move.__name__)
        move()

    def group(self) -> str:
        """One of four."""
        return self.random.choice(GROUPS)

    def enqueue(self) -> None:
        """A new job in some lane."""
        self.minted += 1
        enqueue(self.bench, self.group(), job(self.minted))

    def claim(self) -> None:
        """A worker asks for a lane."""
        if reply := claim(self.bench, self.random.choice([5, 50, 500])):
            self.leases.append((reply[0], reply[2]))

    def report(self) -> None:
        """A worker completes, fails or extends what it believes it holds, and may do so again later."""
        if not self.leases:
            return
        place = self.random.randrange(len(self.leases))
        one, token = self.leases[place]
        if self.random.random() < 0.9:
            del self.leases[place]
        kind = self.random.choice(["complete", "complete", "fail", "extend"])
        if kind == "complete":
            complete(self.bench, one, token)
        elif kind == "fail":
            fail(self.bench, one, token=token, cap=self.random.choice([1, 3]), delay_ms=self.random.choice([0, 40]))
        elif one.decode() in fields(self.bench.state(), "active"):
            # The script extends a job that is not active into a lease without a slot: no right use.
            self.bench.ask("extend", id=one, token=token, lease_ms=60)

    def limit(self) -> None:
        """Some lane's limit goes up or down."""
        self.bench.ask("lane_limit", group=self.group(), limit=self.random.randint(0, 4))

    def pause(self) -> None:
        """Some lane is paused."""
        self.bench.ask("lane_pause", group=self.group())

    def resume(self) -> None:
        """Some lane goes on."""
        self.bench.ask("lane_resume", group=self.group())

    def sweep(self) -> None:
        """Leases that ran out are counted."""
        values = {"max_stalled": self.random.choice([1, 3]), "limit": self.random.choice([1, 10])}
        reply = self.bench.ask("stalled_check", **values)
        self.kills += len(reply[1])

    def reap(self) -> None:
        """Leases that ran out go back."""
        self.bench.ask("reap")

    def promote(self) -> None:
        """What is due goes back."""
        self.bench.ask("promote", batch=self.random.choice([1, 10]))

    def flat(self) -> None:
        """The flat line is used beside the lanes."""
        self.minted += 1
        self.bench.ask("enqueue", id=job(self.minted), payload="p")
        if reply := self.bench.ask("claim", lease_ms=40):
            self.leases.append((reply[0], reply[2]))

    def later(self) -> None:
        """Time goes by."""
        self.bench.lab.advance_ms(self.random.choice([1, 20, 100]))


@pytest.mark.parametrize("seed", range(4))
def test_gactive_is_the_groups_active_rows_after_every_step(scripted: Bench, seed: int) -> None:
    """Of all lane verbs, reports late and double, sweeps, reaps and promotions; no field of 0 is kept."""
    history = History(scripted, seed)
    most = 0
    for _ in range(STEPS):
        history.step()
        counted, active = slots(scripted.state())
        assert active == counted
        most = max(most, sum(active.values()))
    assert len(history.verbs) == 11
    assert most >= 4
    assert history.kills > 0


def room(state: Mapping[str, Any], group: str) -> bool:
    """Whether a group is below its limit."""
    limit = fields(state, "glimit").get(group)
    return limit is None or int(limit) > int(fields(state, "gactive").get(group, 0))


@pytest.mark.parametrize("seed", range(4, 7))
def test_a_lane_that_may_be_served_is_on_the_ring_and_on_it_once(scripted: Bench, seed: int) -> None:
    """Nobody is forgotten but by a sweep that kills (hazard 12), so these histories reap instead."""
    history = History(scripted, seed)
    history.sweep = history.reap  # type: ignore[method-assign]
    full = 0
    for _ in range(STEPS):
        history.step()
        state: Mapping[str, Any] = scripted.state()
        on_ring, paused = list(state.get("ring", ())), set(state.get("paused", ()))
        assert len(set(on_ring)) == len(on_ring)
        assert paused.isdisjoint(on_ring)
        waiting = {group for group in set(GROUPS) - paused if fields(state, lane(group))}
        free = {group for group in waiting if room(state, group)}
        assert free <= set(on_ring)
        full += len(waiting - free)
        assert len(state.get("wake", ())) <= 64
    assert full > 0


class Rotation(History):
    """A history that watches the ring turn."""

    def __init__(self, bench: Bench, seed: int) -> None:
        super().__init__(bench, seed)
        #: For each group that had a turn and stayed on the ring: who stood there with it and had no turn since.
        self.owed: dict[str, set[str]] = {}
        #: How many times a group came round.
        self.rounds = 0

    def claim(self) -> None:
        """The ring's head has the turn; what it left behind at its last one must have had theirs."""
        before = ring(self.bench)
        had = len(self.leases)
        super().claim()
        if not before:
            assert had == len(self.leases)
            return
        (turn, *_) = before
        if turn in self.owed:
            assert set() == self.owed[turn]
            self.rounds += 1
        self.owed = {group: others - {turn} for group, others in self.owed.items()}
        self.owed[turn] = set(before) - {turn}

    def step(self) -> None:
        """Who has left the ring is owed nothing and owes nothing."""
        super().step()
        there = set(ring(self.bench))
        self.owed = {group: others & there for group, others in self.owed.items() if group in there}


@pytest.mark.parametrize("seed", range(7, 11))
def test_between_two_turns_of_a_group_every_other_on_the_ring_has_one(scripted: Bench, seed: int) -> None:
    """Over random arrivals, reports, limits and pauses, for every group that stays on the ring between its turns."""
    history = Rotation(scripted, seed)
    for _ in range(STEPS):
        history.step()
    assert history.rounds >= 10


def delay(history: History) -> None:
    """A lane job is given back for later."""
    for one, token in history.leases:
        if history.bench.ask("delay", id=one, token=token, mode="in", value=5) == 1:
            return


def reprocess(history: History) -> None:
    """A lane's dead letter is revived, claimed from the flat line and completed."""
    bench = history.bench
    for one in fields(bench.state(), "dead"):
        bench.ask("reprocess", id=one)
        while reply := bench.ask("claim", lease_ms=90):
            history.leases.append((reply[0], reply[2]))


@pytest.mark.parametrize("breaks", [delay, reprocess])
def test_delay_and_reprocess_break_it(scripted: Bench, breaks: Callable[[History], None]) -> None:
    """Hazard 10: with either of them in the history the counts part."""
    history = History(scripted, 0)
    parted = False
    for _ in range(STEPS):
        history.step()
        counted, active = slots(scripted.state())
        parted = parted or active != counted
        if history.random.random() < 0.1:
            breaks(history)
    assert parted


def test_the_histories_refuse_nothing_but_stale_tokens(scripted: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right use meets no other error, so no step was cut short."""
    told = set()
    ask = Bench.ask

    def listening(bench: Bench, verb: str, **values: object) -> object:
        reply = ask(bench, verb, **values)
        if isinstance(reply, ErrorReply):
            told.add(reply.text)
        return reply

    monkeypatch.setattr(Bench, "ask", listening)
    history = History(scripted, 3)
    for _ in range(STEPS):
        history.step()
    assert {"EMQSTALE retry token mismatch", "EMQSTALE complete token mismatch", "EMQSTALE job gone"} >= told
    assert told
