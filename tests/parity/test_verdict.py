"""The verdict: every kind of complaint is raised by a hand-made outcome, none by a right one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf, isfinite, nextafter
from random import Random
from typing import Any

import pytest

from emqlab.parity import verdict as verdicts
from emqlab.parity.model import Error, Held, Unsupported, World, Zset, native, scripted
from emqlab.parity.rig import Outcome, Ran
from emqlab.parity.trials.layers import LAYERS
from emqlab.parity.trials.states import FAILURE, JOBS, PAYLOAD
from emqlab.parity.trials.trial import BASE, EPOCHS, NOW_MS, QUEUE, Do, Restart, Step, Trial, Wait, world
from emqlab.parity.verdict import Verdict, judge

JOB = JOBS[0]
ROW, ACTIVE, PENDING = BASE + b"job:" + JOB, BASE + b"active", BASE + b"pending"
VOICES = {"scripted": scripted, "native": native}
CLAIM = Do("claim", {"lease_ms": b"30000"})
ENQUEUE = Do("enqueue", {"id": JOB, "payload": PAYLOAD})
LEASED: dict[bytes, Held] = {
    b"job:" + JOB: {b"state": b"active", b"attempts": b"1", b"payload": PAYLOAD, b"lease_epoch": EPOCHS[0]},
    b"active": Zset({JOB: NOW_MS + 9_000.0}),
}
WAITING: dict[bytes, Held] = {
    b"job:" + JOB: {b"state": b"pending", b"attempts": b"0", b"payload": PAYLOAD},
    b"pending": Zset({JOB: 0.0}),
}
FAIL = Do("fail", {"id": JOB, "token": b"1", "delay_ms": b"30000", "max_attempts": b"2", "error": FAILURE})


def trial_of(held: dict[bytes, Held], *steps: Step) -> Trial:
    """A trial of ours."""
    return Trial("hand-made", 0, 0, world({name: _copied(part) for name, part in held.items()}), steps)


def _copied(held: Held) -> Held:
    return held if isinstance(held, bytes) else held.copy()


def right(trial: Trial, slack_ms: int = 0) -> Ran:
    """What both executors make of a trial if they do just what the model says, step by step in one world each."""
    outcomes = {}
    for name, voice in VOICES.items():
        now, epoch = trial.start.copy(), 0
        replies = []
        for step in trial.steps:
            if isinstance(step, Wait):
                now.now_ms += step.ms
            elif isinstance(step, Restart):
                epoch += 1
                now.run_id = EPOCHS[epoch]
            else:
                replies.append(voice(now, QUEUE, step.verb, step.values))
        held = {key: part for key, part in now.keys.items() if key.startswith(BASE)}
        outcomes[name] = Outcome(tuple(replies), World(held, 0, b"").copy().keys)
    return Ran(trial, outcomes, slack_ms)


def changed(ran: Ran, side: str, **parts: Any) -> Ran:
    """The same with other parts of one executor's outcome."""
    return replace(ran, outcomes={**ran.outcomes, side: replace(ran.outcomes[side], **parts)})


def held_by(ran: Ran, side: str) -> dict[bytes, Any]:
    """A copy of the keys that one executor left, to be spoiled."""
    return World(ran.outcomes[side].keys, 0, b"").copy().keys


def complaint(verdict: Verdict) -> str:
    """The one complaint there is."""
    assert 1 == len(verdict.complaints), verdict.complaints
    return verdict.complaints[0]


def trials(name: str, count: int) -> list[Trial]:
    """The trials of a layer that are run first, but for those of a layout, which have tests of their own."""
    layer = LAYERS[name].make(0)
    made = (layer.trial(layer.index_at(place)) for place in range(count))
    return [trial for trial in made if not trial.laid_out]


# ---------------------------------------------------------------- nothing to complain of


@pytest.mark.parametrize(("name", "count"), [("exhaustive", 900), ("corruption", 900), ("histories", 60),
                                             ("three-jobs", 400)])  # fmt: skip
def test_a_right_outcome_has_no_complaint(name: str, count: int) -> None:
    """On any layer: what both executors do by the model is as declared."""
    judged = [judge(right(trial)) for trial in trials(name, count)]
    assert [] == [verdict for verdict in judged if verdict.complaints]
    assert len({number for verdict in judged for number in verdict.numbers}) > 4


def test_the_declared_numbers_are_told() -> None:
    """A claim is 8, a retry natively counted is 9, a duplicate nothing; a history tells those of all its steps."""
    for held, steps, numbers in (
        (WAITING, (CLAIM,), {8}),
        (LEASED, (FAIL,), {9}),
        (WAITING, (ENQUEUE,), set()),
        (LEASED, (FAIL, Wait(60_000), Do("promote", {"batch": b"1"})), {9}),
    ):
        assert numbers == judge(right(trial_of(held, *steps))).numbers


def test_a_history_is_judged_as_long_as_both_are_in_one_state() -> None:
    """Behind a step that shows a divergence, what follows from it is nobody's divergence."""
    steps = (CLAIM, Wait(60_000), Restart(), Do("stalled_check", {"max_stalled": b"1", "limit": b"9"}))
    verdict = judge(right(trial_of(WAITING, *steps)))
    assert (frozenset({8}), ()) == (verdict.numbers, verdict.complaints)


def test_a_refusal_at_the_head_is_told_as_a_freeze() -> None:
    """A bad row stops every native claim; an odd lease is no freeze, and neither is an empty queue."""
    bad: dict[bytes, Held] = {**WAITING, b"job:" + JOB: {b"state": b"pending", b"attempts": b"01"}}
    assert ("claim",) == judge(right(trial_of(bad, CLAIM))).freezes
    assert () == judge(right(trial_of(WAITING, Do("claim", {"lease_ms": b"-1"})))).freezes
    assert () == judge(right(trial_of({}, CLAIM))).freezes


def test_the_log_line_is_the_same_for_the_same_trial() -> None:
    """It tells the trial's name, and nothing of the server."""
    one, other = judge(right(trial_of(WAITING, CLAIM))), judge(right(trial_of(WAITING, CLAIM), slack_ms=9))
    assert one.line == other.line
    assert one.line.startswith("hand-made/0/0 [8] ")


# ---------------------------------------------------------------- every kind of complaint


@pytest.mark.parametrize("side", VOICES)
@pytest.mark.parametrize("got", [2, None, b"1", [], Error(b"ERR"), Unsupported("enqueue")], ids=repr)
def test_another_reply_is_a_complaint(side: str, got: Any) -> None:
    """It names the executor, the place of the reply, and both replies."""
    verdict = judge(changed(right(trial_of({}, ENQUEUE)), side, replies=(got,)))
    assert f"{side}: reply 1 is {got!r}, and 1 by the model" == complaint(verdict)


def test_the_place_of_the_reply_counts_transitions() -> None:
    """Waits have no reply."""
    ran = right(trial_of({}, Wait(5), ENQUEUE, Wait(5), ENQUEUE))
    assert "native: reply 2 is 1, and 0 by the model" == complaint(judge(changed(ran, "native", replies=(1, 1))))


SPOILED: dict[str, tuple[bytes, Callable[[dict[bytes, Any]], Any]]] = {
    "a key is missing": (PENDING, lambda keys: keys.pop(PENDING)),
    "a key too many": (BASE + b"meta", lambda keys: keys.update({BASE + b"meta": {b"paused": b"1"}})),
    "another type": (PENDING, lambda keys: keys.update({PENDING: {JOB: b"0"}})),
    "a member is missing": (PENDING, lambda keys: keys[PENDING].pop(JOBS[1])),
    "a member too many": (PENDING, lambda keys: keys[PENDING].update({JOBS[2]: 0.0})),
    "another score": (PENDING, lambda keys: keys[PENDING].update({JOB: 1.0})),
    "a field is missing": (ROW, lambda keys: keys[ROW].pop(b"attempts")),
    "a field too many": (ROW, lambda keys: keys[ROW].update({b"stalled": b"0"})),
    "another field": (ROW, lambda keys: keys[ROW].update({b"payload": b"tEa"})),
}


@pytest.mark.parametrize("side", VOICES)
@pytest.mark.parametrize("what", SPOILED)
def test_another_key_is_a_complaint(side: str, what: str) -> None:
    """It names the executor, the key, and what both say that it holds."""
    other: dict[bytes, Held] = {b"job:" + JOBS[1]: {b"state": b"pending"}, b"pending": Zset({JOBS[1]: 0.0})}
    ran = right(trial_of(other, ENQUEUE))
    name, spoil = SPOILED[what]
    held = held_by(ran, side)
    spoil(held)
    told = complaint(judge(changed(ran, side, keys=held)))
    want = ran.outcomes[side].keys.get(name)
    assert f"{side}: {name.decode()} is {held.get(name)!r}, and {want!r} by the model" == told


def test_an_error_is_compared_whole_but_for_the_scripts() -> None:
    """Servers word what a command raised inside a script in their own ways; a verb's text is its own."""
    bad: dict[bytes, Held] = {**WAITING, b"job:" + JOB: {b"state": b"pending", b"attempts": b"01"}}
    ran = right(trial_of(bad, CLAIM))
    reply = Error(b"ERR hash value is not an integer")
    assert [(reply,), (reply,)] == [ran.outcomes[name].replies for name in VOICES]
    for text, scripted_too in ((b"ERR value is not an integer or out of range", False), (b"EMQBAD hash value", True)):
        assert complaint(judge(changed(ran, "native", replies=(Error(text),))))
        assert scripted_too == bool(judge(changed(ran, "scripted", replies=(Error(text),))).complaints)


def test_a_refusal_of_a_script_s_own_is_compared_whole() -> None:
    """Only ERR is anybody's: EMQSTALE comes with our text."""
    ran = right(trial_of(LEASED, Do("complete", {"id": JOB, "token": b"2"})))
    spoiled = changed(ran, "scripted", replies=(Error(b"EMQSTALE complete token mismatch!"),))
    assert "complete token mismatch!" in complaint(judge(spoiled))


def test_a_difference_that_nobody_declared_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both do what their model says, they differ, and no number covers it."""
    monkeypatch.setattr(verdicts, "visible", lambda *_: frozenset())
    told = complaint(judge(right(trial_of(WAITING, CLAIM))))
    assert "claim: the executors part, and no divergence is declared here" == told


def test_a_declared_difference_that_is_not_there_is_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both do what their model says, and they agree."""
    monkeypatch.setattr(verdicts, "visible", lambda *_: frozenset({8, 12}))
    told = complaint(judge(right(trial_of(WAITING, ENQUEUE))))
    assert "enqueue: divergence [8, 12] is declared here, and they agree" == told


def test_a_time_to_live_is_a_complaint() -> None:
    """It names the key."""
    told = complaint(judge(changed(right(trial_of({}, ENQUEUE)), "native", expiring=frozenset({ROW}))))
    assert f"native: {ROW!r} was given a time to live" == told


def test_what_a_step_broke_is_booked_to_its_executor_and_verb() -> None:
    """A scripted retry of a job that waits again leaves its id in two sets; the model says so too."""
    held: dict[bytes, Held] = {**LEASED, b"job:" + JOB: {b"state": b"dead", b"attempts": b"1", b"payload": PAYLOAD}}
    del held[b"active"]
    held[b"dead"] = Zset({JOB: 0.0})
    verdict = judge(right(trial_of(held, FAIL)))
    assert ((("scripted", "one-set", "fail"),), ()) == (verdict.violations, verdict.complaints)


# ---------------------------------------------------------------- a clock that runs


def late(ran: Ran, side: str, key: bytes, by: float) -> Ran:
    """The same, with the first job's time in one sorted set other by so many ms."""
    held = held_by(ran, side)
    held[key][JOB] += by
    return changed(ran, side, keys=held)


@pytest.mark.parametrize("side", VOICES)
@pytest.mark.parametrize(
    ("by", "accepted"), [(0, True), (1, True), (7, True), (8, False), (-1, False), (0.5, False), (-30_000, False)]
)
def test_a_time_may_be_late_by_the_slack_and_never_early(side: str, by: float, accepted: bool) -> None:
    """A deadline in whole ms, written up to 7 ms later than was foreseen."""
    ran = late(right(trial_of(WAITING, CLAIM), slack_ms=7), side, ACTIVE, by)
    assert accepted == (not judge(ran).complaints)


def test_without_slack_a_time_is_exact() -> None:
    """On a clock that stands."""
    assert complaint(judge(late(right(trial_of(WAITING, CLAIM)), "native", ACTIVE, 1)))


@pytest.mark.parametrize("towards", [-inf, inf])
def test_on_a_clock_that_stands_the_last_bit_counts(towards: float) -> None:
    """Also beyond 2^53, where a verb's sum is exact and a script's is one of doubles (divergence 23)."""
    for lease in (30_000, 2**60, 2**63 - 1 - NOW_MS):
        ran = right(trial_of(WAITING, Do("claim", {"lease_ms": b"%d" % lease})))
        assert () == judge(ran).complaints
        held = held_by(ran, "native")
        held[ACTIVE][JOB] = nextafter(held[ACTIVE][JOB], towards)
        assert complaint(judge(changed(ran, "native", keys=held)))


def test_a_score_that_is_no_time_is_exact() -> None:
    """However much the clock went on: pending is 0, and a due time of 1 ms is 1."""
    due = Do("schedule", {"id": JOB, "payload": PAYLOAD, "mode": b"at", "value": b"1"})
    for step, key in ((ENQUEUE, PENDING), (due, BASE + b"schedule")):
        assert complaint(judge(late(right(trial_of({}, step), slack_ms=7), "scripted", key, 1)))


def test_a_time_that_this_step_does_not_write_is_exact() -> None:
    """A neighbour's lease was there before, whatever the clock does meanwhile."""
    beside: dict[bytes, Held] = {**LEASED, b"pending": Zset({JOBS[1]: 0.0})}
    beside[b"job:" + JOBS[1]] = {b"state": b"pending", b"attempts": b"0", b"payload": PAYLOAD}
    ran = right(trial_of(beside, CLAIM), slack_ms=7)
    assert not judge(ran).complaints
    assert complaint(judge(late(ran, "native", ACTIVE, 1)))


def test_a_deadline_beyond_whole_doubles_is_compared_as_doubles_are() -> None:
    """There a score has no single ms left; what is further off than a double's step is another deadline."""
    far = Do("claim", {"lease_ms": b"%d" % 2**60})
    ran = right(trial_of(WAITING, far), slack_ms=1)
    assert not judge(ran).complaints
    assert complaint(judge(late(ran, "native", ACTIVE, 2.0**20)))
    assert complaint(judge(late(ran, "native", ACTIVE, -(2.0**20))))


# ---------------------------------------------------------------- nothing passes unseen


def test_no_change_of_a_reply_or_a_key_passes_unseen() -> None:
    """Right outcomes of all layers, each with one thing in it changed at random, three hundred and more times."""
    random = Random("spoil")
    silent: list[object] = []
    done = 0
    for trial in spoilable():
        ran = right(trial)
        side = random.choice(list(VOICES))
        for what, spoiled in spoilings(ran, side, random):
            done += 1
            if not judge(spoiled).complaints:
                silent.append((trial.name, side, what))
    assert [] == silent
    assert done > 300


def spoilable() -> Iterator[Trial]:
    """Some trials of every layer."""
    for name, count in (("exhaustive", 150), ("corruption", 250), ("histories", 25), ("three-jobs", 60)):
        yield from trials(name, count)


def spoilings(ran: Ran, side: str, random: Random) -> Iterator[tuple[object, Ran]]:
    """The outcome with one reply changed, and with one key changed, if it has any."""
    outcome = ran.outcomes[side]
    place = random.randrange(len(outcome.replies))
    reply = another(outcome.replies[place], random, side)
    yield reply, changed(ran, side, replies=(*outcome.replies[:place], reply, *outcome.replies[place + 1 :]))
    if outcome.keys:
        name = random.choice(sorted(outcome.keys))
        held = held_by(ran, side)
        held[name] = spoil(held[name], random)
        yield (name, held[name]), changed(ran, side, keys=held)
        gone = {other: part for other, part in outcome.keys.items() if other != name}
        yield (name, "gone"), changed(ran, side, keys=gone)
        yield (name, "renamed"), changed(ran, side, keys={**gone, flipped(name, random, BASE): outcome.keys[name]})
        yield (name, "expires"), changed(ran, side, expiring=frozenset({name}))
    yield "one more", changed(ran, side, keys={**outcome.keys, BASE + b"job:" + JOBS[2] + b"x": {b"state": b""}})


def flipped(raw: bytes, random: Random, keep: bytes = b"") -> bytes:
    """The same bytes but for one bit, or one byte more."""
    if len(raw) == len(keep):
        return raw + b"x"
    place = random.randrange(len(keep), len(raw))
    return raw[:place] + bytes([raw[place] ^ 1 << random.randrange(8)]) + raw[place + 1 :]


def another(reply: Any, random: Random, side: str) -> Any:
    """Some other reply, not far off."""
    if isinstance(reply, Error):
        code = reply.text.split(b" ")[0]
        # Of a script's ERR the code word is all that is compared.
        return Error(flipped(code, random) if side == "scripted" and code == b"ERR" else flipped(reply.text, random))
    if isinstance(reply, Unsupported):
        return random.choice((0, Error(b"ERR unknown command"), Unsupported("other")))
    if isinstance(reply, bytes):
        return flipped(reply, random)
    if isinstance(reply, int):
        return random.choice((reply + 1, reply - 1, b"%d" % reply, [reply], None))
    if not reply:
        return random.choice((0, b"", [[]], [None]))
    place = random.randrange(len(reply))
    return random.choice(
        (
            reply[:place] + reply[place + 1 :],
            [*reply[:place], another(reply[place], random, side), *reply[place + 1 :]],
            [*reply, None],
        )
    )


def spoil(held: Any, random: Random) -> Held:
    """The same value but for one item: another one, one less, one more."""
    if isinstance(held, bytes):
        return flipped(held, random)
    if isinstance(held, Zset):
        member = random.choice(sorted(held))
        score = held.pop(member)
        moved = score + max(1.0, abs(score) / 2**52) if isfinite(score) else 0.0
        return Zset({**held, **random.choice(({member: moved}, {flipped(member, random): score},
                                              {member: score, b"more": 0.0}))})  # fmt: skip
    if isinstance(held, dict):
        name = random.choice(sorted(held))
        value = held.pop(name)
        return {**held, **random.choice(({name: flipped(value, random)}, {flipped(name, random): value},
                                         {name: value, b"more": b""}))}  # fmt: skip
    items: Sequence[bytes] = sorted(held) if isinstance(held, set) else held
    place = random.randrange(len(items))
    made = [*items[:place], flipped(items[place], random), *items[place + 1 :]]
    return set(made) if isinstance(held, set) else made
