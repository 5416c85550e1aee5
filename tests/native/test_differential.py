"""The module in a real server against the same verbs in the embedded one: random states and calls, no difference."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import emqlab
from emqlab import keys
from emqlab.lab import Lab
from emqlab.native.module import NoCompiler, module_files
from emqlab.native.module.build import shared_object
from emqlab.native.module.catalogue import catalogue
from emqlab.native.module.compiler import compile_verbs
from emqlab.native.module.sources import read, verb_texts
from emqlab.observe.snapshot import snapshot_of
from emqlab.replies import ErrorReply, ask_all, settled
from emqlab.servers.clock import START_MS
from emqlab.servers.valkey import ValkeyServer
from tests.native.fuzzing import IDS, Fuzzer, Words
from tests.servers.real import binary_of, built_module, each_server

#: How many cases each server is given, and from which seed.
CASES = int(os.environ.get("EMQLAB_DIFFERENTIAL_CASES", "1500"))
SEED = os.environ.get("EMQLAB_FUZZ_SEED", "1")
QUEUE = b"q"
#: What a case's words stand for; each host has its own run_id.
RUN_ID = b"@run_id"


@dataclass(frozen=True, slots=True)
class Case:
    """A state, made by raw commands, and one call on it."""

    given: Sequence[Words]
    call: Words


def cases(seed: object, count: int) -> Iterator[Case]:
    """``count`` cases from a seed; a third of the calls are traced."""
    fuzzer = Fuzzer(f"differential/{seed}", IDS[:2])
    for _ in range(count):
        fuzzer.tokens.clear()
        given = [words for _ in range(fuzzer.draw.choice((1, 2, 4))) for words in fuzzer.state(QUEUE)]
        _, call = fuzzer.call(QUEUE)
        yield Case(given, [b"EMQ.TRACE", *call] if fuzzer.chance(0.33) else call)


@contextmanager
def standing_lab(name: str, module: Path) -> Iterator[Lab]:
    """A lab on a real server whose clock stands where the embedded one's does."""
    server = ValkeyServer(binary_of(name), module=module)
    if not server.movable:
        server.close()
        pytest.skip("a real server's clock can't be moved here: that takes Linux, and a C compiler once")
    server.stand_still(START_MS)
    with Lab(server) as lab:
        yield lab


#: The reply, the queue's keys, and how many keys there are.
Outcome = tuple[Any, dict[bytes, Any], int]


def outcome(lab: Lab, case: Case) -> Outcome:
    """What comes of one case on an empty server."""
    run_id = lab.server.run_id
    sent = [
        (b"FLUSHALL",),
        (b"SET", keys.VERSION_KEY, keys.VERSION),
        *([run_id if word == RUN_ID else word for word in words] for words in case.given),
        case.call,
        (b"DBSIZE",),
    ]
    *_, reply, size = settled(ask_all(lab.client, sent))
    return _plain(reply, run_id), _keys(lab, run_id), size


def _plain(reply: Any, run_id: bytes) -> Any:
    """A reply with the run_id by its name, and scores in a trace as numbers: servers print them differently."""
    if not isinstance(reply, list):
        return RUN_ID if reply == run_id else reply
    parts = [_plain(part, run_id) for part in reply]
    match parts:
        case [b"read", b"ZSCORE", _, _, bytes(score)]:
            parts[-1] = float(score)
        case [b"write", b"ZPOPMIN", _, [popped, bytes(score)]]:
            parts[-1] = [popped, float(score)]
    return parts


def _keys(lab: Lab, run_id: bytes) -> dict[bytes, Any]:
    """The keys, run_ids by their name and scores as numbers: servers print them differently."""
    found = {}
    for name, key in snapshot_of(lab.server, QUEUE).items():
        value: Any = key.value
        if key.type == "zset":
            value = sorted((float(score), member) for member, score in key.pairs().items())
        found[name] = (
            key.type,
            key.ttl_ms,
            _plain([list(item) for item in value] if key.type == "hash" else value, run_id),
        )
    return found


@pytest.fixture(scope="module")
def expected() -> list[tuple[Case, Outcome]]:
    """Every case and what the embedded server makes of it."""
    with emqlab.open_lab("embedded") as lab:
        return [(case, outcome(lab, case)) for case in cases(SEED, CASES)]


def differences(real: Lab, expected: Sequence[tuple[Case, Outcome]]) -> Iterator[str]:
    """A sentence for each case in which the two servers part."""
    for place, (case, left) in enumerate(expected):
        right = outcome(real, case)
        if left != right:
            told = f"{case.call!r:.500} on {case.given!r:.2000}: {left!r:.2000} {right!r:.2000}"
            yield f"case {place} of seed {SEED}: {told}"


@each_server
def test_the_module_answers_and_writes_as_the_embedded_host_does(
    name: str, expected: list[tuple[Case, Outcome]]
) -> None:
    """Replies, error texts, traces and keys are the same, case by case."""
    with standing_lab(name, built_module()) as real:
        assert [] == list(differences(real, expected))


def test_the_cases_are_about_something(expected: list[tuple[Case, Outcome]]) -> None:
    """Calls that write and calls that refuse are both drawn by the hundred."""
    replies = [reply[0] if case.call[0] == b"EMQ.TRACE" else reply for case, (reply, _, _) in expected]
    refused = sum(isinstance(reply, ErrorReply) for reply in replies)
    written = sum(reply in (1, b"dead", b"scheduled") or (isinstance(reply, list) and reply != []) for reply in replies)
    assert min(refused, written) > CASES / 10


def test_a_planted_defect_is_found(expected: list[tuple[Case, Outcome]]) -> None:
    """One comparison off by one in one verb: a budget that is spent one failure late."""
    texts = verb_texts()
    sound = "return failures >= max_attempts"
    assert 1 == texts["fail"].count(sound)
    texts["fail"] = texts["fail"].replace(sound, "return failures > max_attempts")
    with standing_lab("valkey", _module_of(texts)) as real:
        found = next(differences(real, expected), "")
    assert "EMQ.FAIL" in found.upper()


def _module_of(texts: dict[str, str]) -> Path:
    """The module made of other verbs than the project's own; the test is skipped where it can't be built."""
    sources = {source.name: source for source in read(texts)}
    files = {**module_files(), "verbs.h": compile_verbs(texts) + "\n" + catalogue(sources)}
    try:
        return shared_object("emq", files, main="module.c")
    except NoCompiler as error:
        pytest.skip(str(error))
