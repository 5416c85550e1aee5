"""Random commands against the module, built with sanitizers, in real servers."""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.native.episodes import episodes
from tests.native.fuzzing import Fuzzer, Words, verb_of
from tests.native.legal import Tally, illegal, reply_fault, trace_fault
from tests.native.resp import Failed, Status, Wire
from tests.native.sanitized import reports, sanitized_environment, sanitized_module
from tests.servers.real import RealServer, each_server, real_server

#: How many calls a run sends to each server, 10,000 or more to come everywhere, and from which seed.
COMMANDS = int(os.environ.get("EMQLAB_FUZZ_COMMANDS", "30000"))
SEED = os.environ.get("EMQLAB_FUZZ_SEED", "1")
BATCH = 300
EPISODE_EVERY = 5  # batches

_PCALL = b"return redis.pcall(unpack(ARGV))"
_CALL = b"return redis.call(unpack(ARGV))"
_CALL3 = b"redis.setresp(3) return redis.pcall(unpack(ARGV))"
#: What a limited user may always do, and one of these.
_ALWAYS = (b"reset", b"on", b"nopass", b"+echo", b"+multi", b"+exec", b"+discard", b"+ping")
_RIGHTS: list[tuple[bytes, ...]] = [
    (b"~*", b"+@all"),
    (b"~*", b"+@all", b"-emq.claim", b"-emq.fail"),
    (b"~*", b"+@all", b"-hget", b"-zpopmin", b"-zadd"),
    (b"~emq:{q}:*", b"~{emq}:version", b"+@all"),
    (b"%R~*", b"~*:pending", b"~*:active", b"+@all"),
    (b"~*:pending", b"~*:active", b"~*:schedule", b"~*:dead", b"%R~{emq}:version", b"%R~*:job:*", b"+@all"),
    (b"%R~*", b"%W~*:pending", b"+@all"),
    (b"+emq.trace", b"+emq.claim", b"+eval", b"~*"),
    (b"+@all", b"(~emq:{calm}:* +emq.claim)"),
    (b"off", b"~*", b"+@all"),
    (),
]


@dataclass
class Unit:
    """Some commands that belong together, and what is wrong with their replies, if anything is."""

    commands: Sequence[Sequence[bytes]]
    judge: Callable[[list[Any]], str | None]


class Fuzz:
    """One run: draws units, sends them, keeps what was wrong."""

    def __init__(self, server: RealServer, seed: object) -> None:
        self.fuzzer = Fuzzer(seed)
        self._episodes = episodes(self.fuzzer)
        self.tally = Tally(self.fuzzer)
        self.faults: list[str] = []
        self.digests = 0
        path = server.process.socket
        self.admin = Wire(path)
        plain, third, limited = Wire(path), Wire(path, 3), Wire(path)
        self.lanes = [(plain, False), (third, False), (plain, False), (third, False), (limited, True)]
        self.run_id = server.info("server")["run_id"].encode()

    def run(self, commands: int) -> None:
        """Send batches until so many calls of verbs were answered, or something is wrong."""
        batch = 0
        while self.tally.calls < commands and not self.faults:
            wire, limited = self.lanes[batch % len(self.lanes)]
            if limited:
                self._switch(wire)
            units = [self._unit(limited) for _ in range(BATCH)]
            self._send(wire, units)
            if batch % EPISODE_EVERY == 0:
                self._send(self.lanes[batch // EPISODE_EVERY % 2][0], self._episode())
            batch += 1

    def close(self) -> None:
        """Close the connections."""
        for wire in {self.admin, *(wire for wire, _ in self.lanes)}:
            wire.close()

    def _send(self, wire: Wire, units: Sequence[Unit]) -> None:
        replies = wire.ask_all([self._filled(words) for unit in units for words in unit.commands])
        at = 0
        for unit in units:
            mine = replies[at : at + len(unit.commands)]
            at += len(unit.commands)
            fault = unit.judge(mine)
            if fault:
                self.faults.append(fault)

    def _filled(self, words: Sequence[bytes]) -> Sequence[bytes]:
        return [self.run_id if word == b"@run_id" else word for word in words] if b"@run_id" in words else words

    def _switch(self, wire: Wire) -> None:
        """Another set of rights for the limited user, or another user on the connection."""
        rights = self.fuzzer.draw.choice(_RIGHTS)
        made = self.admin.ask(b"ACL", b"SETUSER", b"limited", *_ALWAYS, *rights)
        assert Status(b"OK") == made, rights
        wire.ask(b"AUTH", b"limited", b"any")

    # -- units

    def _unit(self, limited: bool) -> Unit:
        draw = self.fuzzer.draw
        kind = draw.random()
        if kind < 0.06:
            return self._traced(self._call(), limited=limited)
        if kind < 0.09:
            return self._in_transaction([self._call() for _ in range(draw.choice((1, 2, 5)))], limited)
        if kind < 0.13:
            return self._in_script(self._call(), limited)
        if kind < 0.15:
            return Unit([self.fuzzer.garbage()], _anything)
        if limited or kind < 0.72:
            return self._plain(self._call(), limited=limited)
        if kind < 0.75:
            return self._watched(self._call())
        return Unit(self.fuzzer.damage(), _anything)

    def _episode(self) -> list[Unit]:
        units = []
        for words in next(self._episodes):
            if words[0] == b"EMQ.TRACE":
                units.append(self._traced(words[1:], short=True))
            elif verb_of(words):
                units.append(self._plain(words, short=True))
            else:
                units.append(Unit([words], _anything))
        return units

    def _call(self) -> Words:
        return self.fuzzer.call()[1]

    def _plain(self, words: Words, *, limited: bool = False, short: bool = False) -> Unit:
        def judge(replies: list[Any]) -> str | None:
            return self._heard(words, replies[0], limited=limited, short=short)

        return Unit([words], judge)

    def _traced(self, words: Words, *, limited: bool = False, short: bool = False) -> Unit:
        def judge(replies: list[Any]) -> str | None:
            (reply,) = replies
            fault = trace_fault(words, reply)
            answer = reply[0] if isinstance(reply, list) else reply
            return fault or self._heard(words, answer, limited=limited, short=short)

        return Unit([[b"EMQ.TRACE", *words]], judge)

    def _in_script(self, words: Words, limited: bool) -> Unit:
        # RESP3's null is Lua's nil, which would end a claim's table early.
        text = self.fuzzer.draw.choice((_PCALL, _CALL, _PCALL if verb_of(words) == b"EMQ.CLAIM" else _CALL3))

        def judge(replies: list[Any]) -> str | None:
            if isinstance(replies[0], Failed) and replies[0].text.startswith(b"ERR Wrong number of args calling"):
                return None
            return self._heard(words, replies[0], limited=limited)

        return Unit([[b"EVAL", text, b"0", *words]], judge)

    def _in_transaction(self, calls: Sequence[Words], limited: bool) -> Unit:
        def judge(replies: list[Any]) -> str | None:
            return self._refused_early(calls, replies, limited) or self._each(calls, replies[-1], limited)

        return Unit([[b"MULTI"], *calls, [b"EXEC"]], judge)

    def _watched(self, words: Words) -> Unit:
        """A call between two digests of all keys: a refusal changes nothing."""
        # What has run out is gone before the first digest, and nothing runs out inside a transaction.
        touched = [b"EXISTS", b"{emq}:version", *self.fuzzer.mortal]

        def judge(replies: list[Any]) -> str | None:
            early = self._refused_early([words], [replies[0], replies[3], replies[5]], False)
            if early or isinstance(replies[-1], Failed):
                return early
            _, before, reply, after = replies[-1]
            self.digests += 1
            if isinstance(reply, Failed) and before != after:
                return f"refused and changed: {words!r:.400} -> {reply}"
            return self._each([words], [reply], False)

        digest = [b"DEBUG", b"DIGEST"]
        return Unit([[b"MULTI"], touched, digest, words, digest, [b"EXEC"]], judge)

    def _refused_early(self, calls: Sequence[Words], replies: Sequence[Any], limited: bool) -> str | None:
        """A transaction ends early if, and only if, one of its calls was refused when it was queued."""
        refused = []
        for words, reply in zip(calls, replies[1:-1], strict=True):
            if reply == Status(b"QUEUED"):
                continue
            refused.append(words)
            fault = self._heard(words, reply, limited=limited)
            if fault:
                return fault
        ended = isinstance(replies[-1], Failed) and replies[-1].text.startswith(b"EXECABORT")
        whole = isinstance(replies[-1], list) and len(replies[-1]) > 0
        return None if (ended if refused else whole) else f"EXEC -> {replies[-1]!r:.300} with {refused!r:.300} refused"

    def _each(self, calls: Sequence[Words], replies: Any, limited: bool) -> str | None:
        if isinstance(replies, Failed):
            return None
        for words, reply in zip(calls, replies, strict=True):
            fault = self._heard(words, reply, limited=limited)
            if fault:
                return fault
        return None

    def _heard(self, words: Words, reply: Any, *, limited: bool = False, short: bool = False) -> str | None:
        """Judge a call's reply, and count it when it is sound."""
        fault = reply_fault(words, reply, limited=limited, short=short)
        if not fault:
            self.tally.count(words, reply)
        return fault


def _anything(replies: list[Any]) -> str | None:
    """Damage may fail; a reply that is none has been noticed before."""
    return None


@each_server
def test_a_fuzz_leaves_the_server_alive_and_the_keyspace_legal(name: str) -> None:
    """No crash, no sanitizer report, no reply that the contract does not know, no key that nobody accounts for."""
    module, environment = sanitized_module(), sanitized_environment()
    with real_server(name, module=module, config={"enable-debug-command": "yes"}, environment=environment) as server:
        pid = server.process.pid
        loaded = set(re.findall("libasan|emq-sanitized", Path(f"/proc/{pid}/maps").read_text()))
        assert {"libasan", "emq-sanitized"} == loaded
        fuzz = Fuzz(server, SEED)
        with closing(fuzz):
            try:
                fuzz.run(COMMANDS)
            except OSError as error:
                fuzz.faults.append(f"the connection broke: {error!r}")
        assert ([], []) == (
            fuzz.faults[:5],
            reports(server.process),
        )
        assert (pid, True) == (server.process.pid, server.client.ping())
        with closing(Wire(server.process.socket)) as wire:
            assert [] == list(illegal(wire, fuzz.fuzzer, fuzz.tally))
        server.process.stop()
        assert [] == reports(server.process)
    _assert_went_everywhere(fuzz)


def _assert_went_everywhere(fuzz: Fuzz) -> None:
    """A fuzz that only ever hears the first refusal shows nothing."""
    seen = fuzz.tally.outcomes
    print(f"\n{fuzz.tally.calls} calls, {fuzz.digests} between digests, seed {SEED}: {dict(sorted(seen.items()))}")
    verbs = {verb for verb, _ in seen}
    assert 12 == len(verbs)
    rare = {verb: seen[verb, "done"] for verb in verbs if seen[verb, "done"] < COMMANDS / 1000}
    assert {} == rare
    codes = {code for _, code in seen}
    assert {"EMQARGS", "EMQFENCE", "EMQKIND", "EMQLANE", "EMQFLOW", "EMQSTALE", "EMQSTATE"} <= codes
    assert {"ERR", "WRONGTYPE", "NOPERM", "OOM"} <= codes
