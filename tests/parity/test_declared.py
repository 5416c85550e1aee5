"""Each declared divergence is seen exactly where the third voice's two halves part, and a case shows it alone."""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest

from emqlab.divergences import DIVERGENCES
from emqlab.lab import Lab
from emqlab.observe.case import World as Moments
from emqlab.observe.case import substitute
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from emqlab.parity.compare import difference
from emqlab.parity.declared import DECLARED, shown_case, visible
from emqlab.parity.model import Error, Held, Reply, World, Zset, native, scripted
from emqlab.parity.raw import apply
from emqlab.transitions import LANES_AND_FLOWS

NOW = 1_795_952_314_485
RUN, OLD = b"1" * 40, b"0" * 40
QUEUE, BASE = b"q", b"emq:{q}:"
A, B, C = (b"JOB0NgWEfAEJf" + end for end in (b"a", b"b", b"c"))
TASK = b"TSK" + A[3:]
ROW = BASE + b"job:" + A
VERSION = b"{emq}:version"
UNSEEN = {1, 4, 6, 25, 26}
#: Texts that are no plain number, or one at an edge, in an argument or a field.
ODD = b" 01 +1 1.0 -0 x -1 0 0x2 1e3 nan inf 9007199254740993 9223372036854775807 9223372036854775808".split(b" ")
NAMES = (
    b"pending active schedule dead meta metrics:completed metrics:failed"
    b" ring wake gactive glimit paused g:g:pending g::pending"
).split()
WRONG: list[Held] = [b"x", [b"x"], {b"x"}, {b"x": b"y"}, Zset({b"x": 1.0})]

Keys = dict[bytes, Held]
Call = tuple[str, dict[str, Any]]
Pair = tuple[World, Call]


def world(keys: Keys) -> World:
    """A world of these keys, with the lab's version where they hold none."""
    return World({VERSION: b"echomq:3.0.0", **keys}, NOW, RUN)


def row(attempts: bytes | None = b"2", **fields: bytes | None) -> dict[bytes, bytes]:
    """A row; a field that is None is absent."""
    named = {"state": b"active", "attempts": attempts, "payload": b"p", "lease_epoch": RUN, **fields}
    return {name.encode(): value for name, value in named.items() if value is not None}


#: Where a job can be: in one set, in two, in none.
PLACES: list[dict[bytes, float]] = [
    {},
    {b"pending": 0.0},
    {b"active": NOW + 9000.0},
    {b"active": NOW + 0.0},
    {b"schedule": NOW - 1.0},
    {b"schedule": NOW + 1.0},
    {b"dead": 0.0},
    {b"pending": 0.0, b"active": NOW - 1.0},
    {b"pending": 0.0, b"schedule": NOW - 1.0},
    {b"active": NOW - 1.0, b"schedule": NOW - 1.0},
    {b"active": NOW + 9000.0, b"dead": 0.0},
    {b"dead": 0.0, b"schedule": NOW - 1.0},
]


def placed(place: dict[bytes, float], held: Held | None, job: bytes = A) -> Keys:
    """A job's place in the sets and its row, None for a ghost."""
    keys: Keys = {BASE + name: Zset({job: score}) for name, score in place.items()}
    return keys if held is None else {**keys, BASE + b"job:" + job: held}


def good_calls(tokens: list[bytes]) -> Iterator[Call]:
    """Every verb with sound arguments, for job A, presenting each of the tokens."""
    job = {"id": A}
    yield "enqueue", {**job, "payload": b"p"}
    yield "claim", {"lease_ms": b"9000"}
    yield "promote", {"batch": b"100"}
    yield "reprocess", job
    for verb in ("reap", "pause", "resume"):
        yield verb, {}
    for mode in (b"in", b"at"):
        yield "schedule", {**job, "payload": b"p", "mode": mode, "value": b"5"}
    for most in (b"1", b"2", b"3"):
        yield "stalled_check", {"max_stalled": most, "limit": b"100"}
    for token in tokens:
        held = {**job, "token": token}
        yield "complete", held
        yield "requeue", held
        yield "extend", {**held, "lease_ms": b"9000"}
        yield "extends", {"lease_ms": b"9000", "pairs": [(A, token), (B, b"2")]}
        yield "delay", {**held, "mode": b"in", "value": b"0"}
        for most in (b"1", b"2", b"3"):
            yield "fail", {**held, "delay_ms": b"5", "max_attempts": most, "error": b"boom"}


def sound() -> Iterator[Pair]:
    """One job in every place, with every mix of counters and stamps, under every call and token."""
    counters = [(None, None), (b"1", None), (b"2", b"1"), (None, b"1"), (b"1", b"2")]
    attempts = [None, b"0", b"1", b"2", b"3"]
    for place, held, (failures, stalled), stamp in product(PLACES, attempts, counters, (None, RUN, OLD)):
        fields = row(held, failures=failures, stalled=stalled, lease_epoch=stamp, last_error=failures and b"boom")
        here = world(placed(place, fields))
        for call in good_calls([b"0", b"1", b"2", b"02"]):
            yield here, call


def corruptions() -> Iterator[Keys]:
    """One thing that is not as it should be: a key's type, a field, a counter, the version."""
    for name, wrong in product((*NAMES, b"job:" + A), WRONG):
        yield {BASE + name: wrong}
    for name, odd in product((b"attempts", b"failures", b"stalled", b"lease_epoch", b"state"), (*ODD, b"")):
        yield {ROW: {**row(), name: odd}}
    for extra in ({b"group": b"g"}, {b"group": b""}, {b"parent": B}, {b"group": b"g", b"parent": b""}):
        yield {ROW: {**row(), **extra}}
    for name, odd in product((b"completed", b"failed"), ODD):
        yield {BASE + b"metrics:" + name: {b"count": odd}}
    for version in (b"echomq:2.0.0", b"", *WRONG):
        yield {VERSION: version}
    for flag in (b"", b"0", b"1"):
        yield {BASE + b"meta": {b"paused": flag}}


def corrupted() -> Iterator[Pair]:
    """Every corruption of a job or a ghost in every place, under every call that presents its token."""
    for place, held, corruption in product(PLACES, (row(last_error=b"boom"), None), corruptions()):
        keys = {**placed(place, held), **corruption}
        here = world(keys)
        found: Any = keys.get(ROW)
        token = found.get(b"attempts", b"2") if type(found) is dict else b"2"
        for call in good_calls([token]):
            yield here, call


def twice_corrupted() -> Iterator[Pair]:
    """Two keys at once that are of a wrong type, the version among them."""
    lane = row(group=b"g", last_error=b"boom")
    for place in (PLACES[1], PLACES[3], PLACES[6], PLACES[9]):
        for state, held in product((b"active", b"dead", b"scheduled"), (row(last_error=b"boom"), lane)):
            sets = placed(place, {**held, b"state": state})
            for pair in combinations((*(BASE + name for name in NAMES), VERSION), 2):
                here = world({**sets, **{key: [b"x"] for key in pair}})
                for call in good_calls([b"2"]):
                    yield here, call


def odd_arguments() -> Iterator[Pair]:
    """Every number of every call is odd once, in every place, with the fence shut and open."""
    for place, version in product(PLACES, (b"echomq:3.0.0", b"echomq:2.0.0")):
        other_kind = placed({}, row(), TASK)
        here = world({**other_kind, **placed(place, row()), VERSION: version})
        for verb, values in good_calls([b"2"]):
            for name in {"lease_ms", "max_attempts", "delay_ms", "value", "max_stalled", "limit", "batch"} & {*values}:
                for odd in (*ODD, b""):
                    yield here, (verb, {**values, name: odd})
            if "mode" in values:
                yield here, (verb, {**values, "mode": b"on"})
            if "id" in values:
                yield here, (verb, {**values, "id": TASK})
            if "pairs" in values:
                yield here, (verb, {**values, "pairs": []})


def rows_of_a_round() -> list[Held | None]:
    """What a sweep or a promotion can find at an id, each with its own fate."""
    return [
        None,
        row(),
        row(lease_epoch=OLD),
        row(lease_epoch=OLD, stalled=b"x"),
        row(stalled=b"1"),
        row(stalled=b"x"),
        row(group=b"g"),
        [b"x"],
    ]


def several() -> Iterator[Pair]:
    """Three ids at once, of every mix of fates, with sound and unsound keys to write to."""
    targets: list[Keys] = [
        {},
        {BASE + b"pending": b"x"},
        {BASE + b"dead": b"x"},
        {BASE + b"metrics:failed": {b"count": b"9223372036854775806"}},
    ]
    calls: list[Call] = [("promote", {"batch": batch}) for batch in (b"1", b"2", b"9")]
    calls += [
        ("stalled_check", {"max_stalled": most, "limit": limit}) for most in (b"1", b"2") for limit in (b"2", b"9")
    ]
    calls += [("extends", {"lease_ms": lease, "pairs": [(A, b"2"), (B, b"2"), (C, b"2")]}) for lease in (b"9", b"8")]
    for rows in product(rows_of_a_round(), repeat=3):
        held: Keys = {BASE + b"job:" + job: one for job, one in zip((A, B, C), rows, strict=True) if one is not None}
        for name, target in product((b"active", b"schedule"), targets):
            due = Zset({A: NOW - 3.0, B: NOW - 2.0, C: NOW - 1.0})
            here = world({**held, BASE + name: due, **target})
            for call in calls:
                yield here, call


def told(here: World, verb: str, values: dict[str, Any]) -> tuple[bool, Reply]:
    """Whether the third voice's halves answer or leave different things, and what the native half answers."""
    one, other = here.copy(), here.copy()
    reply = native(other, QUEUE, verb, values)
    return scripted(one, QUEUE, verb, values) != reply or one.keys != other.keys, reply


#: How a native refusal begins -> the numbers it can have, by verb, and by any other verb.
REFUSALS: dict[bytes, tuple[dict[str, set[int]], set[int]]] = {
    b"EMQARGS": ({"claim": {5}, "stalled_check": {19}}, {23}),
    b"ERR wrong number": ({}, {23}),
    b"EMQFENCE": ({}, {7}),
    b"EMQLANE": ({"promote": {22}, "stalled_check": {17}}, {10}),
    b"EMQFLOW": ({}, {10}),
    b"EMQSTATE not active": ({"complete": {13}}, {12}),
    b"ERR": ({"claim": {3}, "fail": {14, 23}, "stalled_check": {18, 23}}, {23}),
    b"WRONGTYPE": ({"claim": {2, 3, 7}, "stalled_check": {7, 18, 23}}, {7, 23}),
}


def fits(verb: str, reply: Reply, seen: frozenset[int]) -> bool:
    """Whether what is seen where the halves part can go with the native answer."""
    if verb in ("requeue", "reap"):
        return seen == ({21} if verb == "requeue" else {20})
    if not isinstance(reply, Error):
        return not seen & {2, 3, 7, 13, 14, 17, 18, 19}
    verbs, others = next(found for text, found in REFUSALS.items() if reply.text.startswith(text))
    return len(seen) == 1 and seen <= verbs.get(verb, others)


def test_the_register() -> None:
    """All 26 are there, in the words of their one list; what no call can show says why."""
    assert {number: each.sentence for number, each in DECLARED.items()} == DIVERGENCES
    assert {number for number, each in DECLARED.items() if each.predicate is None} == UNSEEN
    assert {number for number, each in DECLARED.items() if each.unseen} == UNSEEN
    assert all(number == each.number for number, each in DECLARED.items())


@pytest.mark.parametrize(
    ("layer", "least"),
    [(sound, 39_000), (corrupted, 95_000), (twice_corrupted, 50_000), (odd_arguments, 7_500), (several, 36_000)],
)
def test_seen_where_the_voices_part(layer: Any, least: int) -> None:
    """Over a layer: a number is seen where the halves part, none where they agree; a refusal's fits its text."""
    tried = 0
    for here, (verb, values) in layer():
        tried += 1
        seen = visible(here, QUEUE, verb, values)
        parted, reply = told(here, verb, values)
        if bool(seen) != parted or (parted and not fits(verb, reply, seen)):
            pytest.fail(f"{verb} {values}: {sorted(seen)}, natively {reply!r}, in {here.keys}")
    print(f"{layer.__name__}: {tried} calls")
    assert tried >= least


def test_each_is_seen_somewhere() -> None:
    """The layers are wide enough: every divergence that a call can show is seen alone in them."""
    alone: set[int] = set()
    for layer in (corrupted, odd_arguments, several):
        for here, (verb, values) in layer():
            seen = visible(here, QUEUE, verb, values)
            alone |= seen if len(seen) == 1 else set()
    large = world(placed(PLACES[1], row(b"9007199254740992")))
    alone |= visible(large, QUEUE, "claim", {"lease_ms": b"9"})
    assert set(DIVERGENCES) - UNSEEN == alone


@pytest.mark.parametrize(
    ("keys", "verb", "values", "seen"),
    [
        ({}, "claim", {"lease_ms": b"9"}, {8}),
        ({BASE + b"meta": b"x", VERSION: b"y"}, "claim", {"lease_ms": b"0"}, {5}),
        ({BASE + b"meta": b"x", VERSION: b"y"}, "claim", {"lease_ms": b"9"}, {7}),
        ({BASE + b"meta": b"x", ROW: b"x"}, "claim", {"lease_ms": b"9"}, {2}),
        ({ROW: row(b"9007199254740992", lease_epoch=OLD)}, "claim", {"lease_ms": b"9"}, {8, 24}),
        ({BASE + b"pending": b"x", VERSION: [b"x"]}, "claim", {"lease_ms": b"9"}, set()),
    ],
)
def test_a_refusal_is_alone(keys: Keys, verb: str, values: dict[str, Any], seen: set[int]) -> None:
    """The first thing that a native verb refuses hides what it would have come to; effects add up."""
    here = world({**placed(PLACES[1], row(lease_epoch=None)), **keys})
    assert seen == visible(here, QUEUE, verb, values)


def test_a_sweep_shows_more_than_one() -> None:
    """A forgiven lease and a ghost in one sweep are two divergences; a lane row behind them is the only one."""
    sweep: Call = ("stalled_check", {"max_stalled": b"2", "limit": b"9"})
    expired: Keys = {BASE + b"active": Zset({A: NOW - 3.0, B: NOW - 2.0, C: NOW - 1.0}), ROW: row(lease_epoch=OLD)}
    assert {15, 16} == visible(world({**expired}), QUEUE, *sweep)
    assert {17} == visible(world({**expired, BASE + b"job:" + C: row(group=b"g")}), QUEUE, *sweep)


def test_a_predicate_is_one_number_of_what_is_visible() -> None:
    """Asked one by one, the predicates say what ``visible`` says at once; the world is left as it was."""
    here = world({BASE + b"active": Zset({A: NOW - 3.0, B: NOW - 2.0}), ROW: row(lease_epoch=OLD)})
    before = here.copy()
    call = (here, QUEUE, "stalled_check", {"max_stalled": b"2", "limit": b"9"})
    assert {15, 16} == {number for number, each in DECLARED.items() if each.predicate and each.predicate(*call)}
    assert before.keys == here.keys


def test_a_queue_without_a_name() -> None:
    """Natively no layout fits it: every verb that can refuse its keys does."""
    seen = {verb: visible(world({}), b"", verb, values) for verb, values in good_calls([b"2"])}
    assert {"claim": {5}, "stalled_check": {19}, "requeue": {21}, "reap": {20}, "pause": set(), "resume": set()} == {
        verb: numbers for verb, numbers in seen.items() if numbers != {23}
    }


@pytest.mark.parametrize("verb", sorted(LANES_AND_FLOWS))
def test_lanes_and_flows(verb: str) -> None:
    """What has no native verb shows that, whatever it is asked."""
    assert {20} == visible(world({}), QUEUE, verb, {})


@pytest.mark.parametrize("number", sorted(set(DIVERGENCES) - UNSEEN))
def test_a_case_shows_it_alone(number: int, lab: Lab) -> None:
    """The smallest case of a divergence parts the executors, and that number alone is seen in its one call."""
    source = shown_case(number)
    assert source is not None
    case = parse_case(source)
    runs = [
        run_case(lab.server, {each.name: each for each in (lab.scripted, lab.native)}, case, name)
        for name in ("scripted", "native")
    ]
    assert (number,) == case.differs
    assert all(isinstance(run, Run) for run in runs)
    assert difference(*(run for run in runs if isinstance(run, Run))) is not None
    here = world({})
    for command in case.given:
        apply(here, [substitute(word, case.queue, Moments(NOW, RUN)) for word in command])
    (step,) = case.when
    assert step.verb is not None
    assert {number} == visible(here, case.queue, step.verb, step.values)


@pytest.mark.parametrize("number", sorted(UNSEEN))
def test_no_case_shows_the_others(number: int) -> None:
    """What takes a second client, another user or short memory has no case of its own."""
    assert shown_case(number) is None
