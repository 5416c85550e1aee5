"""Layouts: what a native verb says of keys and arguments that are not its own, by the model and by the verbs."""

from collections.abc import Iterator
from typing import Any

import pytest

import emqlab
from emqlab.parity.ground import Ground
from emqlab.parity.model import Error, Values, native
from emqlab.parity.trials.corruptions import JOB
from emqlab.parity.trials.layers import Corrupted
from emqlab.parity.trials.layouts import BESIDE, layout_calls
from emqlab.parity.trials.states import together
from emqlab.parity.trials.trial import BASE, QUEUE, Do, Trial, case_json, world
from emqlab.parity.verdict import judge
from emqlab.transitions import OF_COMMAND

FOREIGN = Error(b"EMQARGS keys must be those of one queue, in the order of the verb")
CLAIM: Values = {"lease_ms": b"1000"}
CLAIM_KEYS = (BASE + b"pending", BASE + b"active", BASE)


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    """An embedded one."""
    opened = Ground("embedded")
    yield opened
    opened.close()


def asked(verb: str, values: Values, **sent: Any) -> Any:
    """What the model says on an empty queue."""
    return native(world({}), QUEUE, verb, values, sent.get("keys"), sent.get("args"))


# ---------------------------------------------------------------- the model


def test_the_layout_that_is_made_is_the_layout_that_is_read() -> None:
    """Keys and arguments as they should be change nothing."""
    assert [] == asked("claim", CLAIM) == asked("claim", CLAIM, keys=CLAIM_KEYS, args=(b"1000",))


@pytest.mark.parametrize(
    ("keys", "args"),
    [
        (CLAIM_KEYS[:2], (b"1000",)),
        ((*CLAIM_KEYS, b"k"), (b"1000",)),
        (CLAIM_KEYS, ()),
        (CLAIM_KEYS, (b"1000", b"x")),
        (CLAIM_KEYS[:2], (BASE, b"1000")),
        ((), ()),
    ],
)
def test_a_wrong_count_is_the_servers_usual_text(keys: tuple[bytes, ...], args: tuple[bytes, ...]) -> None:
    """Of keys and of arguments, whatever they are together."""
    error = Error(b"ERR wrong number of arguments for 'emq.claim' command")
    assert error == asked("claim", CLAIM, keys=keys, args=args)


def test_the_name_of_a_verb_in_two_words() -> None:
    """The command's, in lower case."""
    error = Error(b"ERR wrong number of arguments for 'emq.stalled.check' command")
    assert error == asked("stalled_check", {"max_stalled": b"1", "limit": b"1"}, args=())


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_pairs_are_whole_and_at_least_one(count: int) -> None:
    """An odd word, or none at all, is a wrong count."""
    reply = asked("extends", {"lease_ms": b"1", "pairs": []}, args=(BASE, b"1000", JOB, b"1", JOB)[:count])
    assert Error(b"ERR wrong number of arguments for 'emq.extends' command") == reply


@pytest.mark.parametrize(
    "keys",
    [
        (BESIDE + b"pending", BESIDE + b"active", BASE),
        (BASE + b"pending", BESIDE + b"active", BASE),
        (BASE + b"active", BASE + b"pending", BASE),
        (BASE + b"pending", BASE + b"active", BESIDE),
        (b"emq:{}:pending", b"emq:{}:active", b"emq:{}:"),
        (b"emq:q:pending", b"emq:q:active", b"emq:q:"),
        (b"pending", b"active", b""),
    ],
)
def test_keys_are_of_one_queue(keys: tuple[bytes, ...]) -> None:
    """Another queue's, each other's, and those of no queue."""
    assert FOREIGN == asked("claim", CLAIM, keys=keys)


def test_another_queue_is_as_good_if_all_are_its_own() -> None:
    """The keys say which queue it is, and its name has one letter or more."""
    keys = (b"emq:{x}:pending", b"emq:{x}:active", b"emq:{x}:")
    assert [] == asked("claim", CLAIM, keys=keys)


def test_the_row_is_the_ids() -> None:
    """The id among the arguments says which row it is."""
    reply = asked("enqueue", {"id": JOB, "payload": b"p"}, args=(b"JOB0NgWEfAEJzz", b"p"))
    assert FOREIGN == reply


def test_shape_then_layout_then_values() -> None:
    """The first thing that is wrong is what is told."""
    foreign = (BESIDE + b"pending", BASE + b"active", BASE)
    assert b"ERR" == asked("claim", {"lease_ms": b"x"}, keys=foreign, args=()).text[:3]
    assert FOREIGN == asked("claim", {"lease_ms": b"x"}, keys=foreign)
    assert b"EMQARGS lease_ms" == asked("claim", {"lease_ms": b"x"}, keys=CLAIM_KEYS).text[:16]


# ---------------------------------------------------------------- the trials


def test_every_verb_is_tried() -> None:
    """All twelve, each in at least twenty ways."""
    verbs = [call.verb for call in layout_calls(world({}))]
    assert {row.verb for row in OF_COMMAND.values()} == set(verbs)
    assert min(verbs.count(verb) for verb in verbs) >= 20


def test_the_verbs_say_what_the_model_says(ground: Ground) -> None:
    """Every seventh of the layer's; most are refused, and then nothing is written."""
    layer = Corrupted(0)
    first = sum(layer.parts[:2])
    verdicts, refused = [], 0
    for index in range(first, layer.together.start, 7):
        ran = ground.rig.run([layer.trial(index)])[0]
        verdicts.append(judge(ran))
        (reply,) = ran.native.replies
        if reply == FOREIGN or (isinstance(reply, Error) and reply.text.startswith(b"ERR wrong number")):
            refused += 1
            assert ran.trial.start.keys == ran.native.keys
    assert [] == [verdict.complaints for verdict in verdicts if verdict.complaints]
    assert refused > len(verdicts) * 0.9


def test_the_scripts_are_not_asked(ground: Ground) -> None:
    """They take whatever they are given: such a trial runs on one executor, and shows no divergence."""
    trial = Trial("by hand", 0, 0, world({}), (Do("claim", CLAIM, (b"a", b"b", b"c")),))
    assert trial.alone
    ran = ground.rig.run([trial])[0]
    assert ["native"] == list(ran.outcomes)
    assert (frozenset(), ()) == (judge(ran).numbers, judge(ran).complaints)


def test_a_verb_that_takes_them_is_seen(ground: Ground) -> None:
    """The verdict holds the reply to the model's."""
    trial = Trial("by hand", 0, 0, world({}), (Do("claim", CLAIM, (BESIDE + b"pending", *CLAIM_KEYS[1:])),))
    ran = ground.rig.run([trial])[0]
    ran.outcomes["native"] = type(ran.native)(([],), {})
    [complaint] = judge(ran).complaints
    assert f"native: reply 1 is [], and {FOREIGN!r} by the model" == complaint


def test_a_layout_is_a_case_too(ground: Ground) -> None:
    """Written as a case file it says the same, its own queue's keys as ``{p}``, also by ``emqlab run``'s way."""
    start = together([])
    foreign = Do("claim", CLAIM, (BASE + b"pending", BESIDE + b"active", BASE), (b"1000",))
    case = case_json(Trial("by hand", 0, 0, start, (foreign,)))
    [step] = case["when"]
    assert ["{p}pending", "emq:{q-beside}:active", "{p}"] == step["keys"]
    assert ["1000"] == step["args"]
    with emqlab.open_lab("embedded") as lab:
        run = lab.run(case, executor="native")
        assert [{"error": FOREIGN.text.decode()}] == run.json()["replies"]
