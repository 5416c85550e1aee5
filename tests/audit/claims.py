"""What an audit says of lanes and flows, tried on a copy of the queue by the verbs: a function a code word."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import emqlab
from emqlab import keys
from emqlab.audit.findings import Finding
from emqlab.replies import ErrorReply, ask
from emqlab.transitions import Call
from tests.audit.walking import QUEUE

COPY = b"copy"
PROBES = [b"JOBzzzzzzzzzz%d" % number for number in range(4)]


class Copy:
    """The walk's queue under another name, of which the verbs may make what they do."""

    def __init__(self, lab: emqlab.Lab) -> None:
        self.lab = lab
        for name in self.ask("KEYS", keys.base(COPY) + b"*"):
            self.ask("DEL", name)
        for name in self.ask("KEYS", keys.base(QUEUE) + b"*"):
            self.ask("COPY", name, keys.base(COPY) + name.removeprefix(keys.base(QUEUE)))

    def ask(self, *command: bytes | str | int) -> Any:
        """A raw command."""
        return ask(self.lab.client, *command)

    def key(self, name: bytes) -> bytes:
        """A key of the copy's."""
        return keys.base(COPY) + name

    def send(self, verb: str, **values: Any) -> Any:
        """One transition by its script; its reply, an error as an ErrorReply."""
        return self.lab.scripted.perform(Call(verb, COPY, values))

    def natively(self, verb: str, **values: Any) -> Any:
        """Likewise by the native verb."""
        return self.lab.native.perform(Call(verb, COPY, values))

    def state(self) -> dict[bytes, Any]:
        """Every key of the copy's."""
        return {name: self.ask("DUMP", name) for name in self.ask("KEYS", keys.base(COPY) + b"*")}

    def field(self, job: bytes, name: str) -> Any:
        """A field of a row's."""
        return self.ask("HGET", self.key(b"job:" + job), name)

    def where(self, job: bytes) -> set[bytes]:
        """The flat sets that hold an id."""
        names = (b"pending", b"active", b"schedule", b"dead")
        return {name for name in names if self.ask("ZSCORE", self.key(name), job) is not None}

    def ring(self) -> list[bytes]:
        """The groups on it."""
        found: list[bytes] = self.ask("LRANGE", self.key(b"ring"), 0, -1)
        return found

    def turn(self, group: bytes) -> Any:
        """A claim when it is the group's turn."""
        self.ask("DEL", self.key(b"ring"))
        self.ask("RPUSH", self.key(b"ring"), group)
        return self.send("lane_claim", lease_ms=b"1000")

    def lease(self, job: bytes, ago_ms: int = -9000, **fields: bytes) -> None:
        """Make a job active, wherever it is, with token 1."""
        for name in (b"pending", b"schedule", b"dead"):
            self.ask("ZREM", self.key(name), job)
        flat = [part for pair in fields.items() for part in pair]
        self.ask("HSET", self.key(b"job:" + job), "state", "active", "attempts", "1", *flat)
        self.ask("ZADD", self.key(b"active"), self.lab.now_ms() - ago_ms, job)

    def end(self, job: bytes) -> Any:
        """Let a child be completed by its holder."""
        self.lease(job)
        return self.send("complete", id=job, token=b"1")

    def children(self, parent: bytes) -> list[bytes]:
        """Those that name it."""
        names = self.ask("KEYS", self.key(b"job:JOB???????????"))
        rows = sorted(name.removeprefix(self.key(b"job:")) for name in names)
        return [job for job in rows if self.field(job, "parent") == parent]

    def able(self, parent: bytes) -> list[bytes]:
        """Those that may still tell it of their end."""
        return [job for job in self.children(parent) if self.where(job) - {b"dead"}]

    def silent(self, parent: bytes) -> list[bytes]:
        """Those that are dead and have told it nothing."""
        told = self.key(b"job:%b:unsuccessful" % parent)
        return [
            job for job in self.children(parent) if b"dead" in self.where(job) and not self.ask("HEXISTS", told, job)
        ]


def group_of(finding: Finding) -> bytes:
    """The group that a finding is about."""
    found = re.search(r"(?:group|lane of|limit of) '(\w*)'", finding.sentence)
    assert found is not None, finding
    return found[1].encode()


def number_in(pattern: str, finding: Finding) -> bytes | None:
    """A number that the sentence says, None where it says none."""
    found = re.search(pattern, finding.sentence)
    return found[1].encode() if found else None


def _job(finding: Finding) -> bytes:
    assert finding.id is not None
    return finding.id


def _refused(
    verb: str, name: bytes, script: str, values: dict[str, bytes], few: dict[str, bytes]
) -> Callable[..., None]:
    """A native verb that is refused whole, behind which flat jobs starve however few it takes at a time."""

    def claim(lab: emqlab.Lab, finding: Finding) -> None:
        copy = Copy(lab)
        before = copy.state()
        assert isinstance(copy.natively(verb, **values), ErrorReply)
        assert before == copy.state()
        while not isinstance(copy.natively(verb, **few), ErrorReply):
            pass
        left = copy.ask("ZRANGEBYSCORE", copy.key(name), "-inf", lab.now_ms())
        flat = [job for job in left if copy.field(job, "state") is not None and copy.field(job, "group") is None]
        assert finding.starves is not None
        assert len(flat) >= finding.starves
        assert _job(finding) in left
        if "a scripted" in finding.sentence:
            # It may stop at another row, and goes on behind it when it is sent again.
            for _ in range(20):
                copy.send(script, **(values if script == verb else {}))
            assert name not in copy.where(_job(finding))

    return claim


def _unserved(lab: emqlab.Lab, finding: Finding) -> None:
    copy, group = Copy(lab), group_of(finding)
    lane = copy.key(b"g:" + group + b":pending")
    waiting = copy.ask("ZCARD", lane)
    assert finding.code != "lane-held" or f"holds {waiting} job" in finding.sentence
    for _ in range(60):
        copy.send("lane_claim", lease_ms=b"1000")
    assert waiting == copy.ask("ZCARD", lane)


def _lane_waits(lab: emqlab.Lab, finding: Finding) -> None:
    _unserved(lab, finding)
    copy, group = Copy(lab), group_of(finding)
    copy.send("lane_resume", group=group)
    assert 1 == copy.ring().count(group)
    assert "puts the group on the ring" == finding.scripted
    copy = Copy(lab)
    copy.send("lane_enqueue", id=PROBES[0], payload=b"x", group=group)
    assert group in copy.ring()


def _lane_full(lab: emqlab.Lab, finding: Finding) -> None:
    _unserved(lab, finding)
    copy, group = Copy(lab), group_of(finding)
    for job in copy.ask("ZRANGE", copy.key(b"active"), 0, -1):
        if copy.field(job, "group") == group:
            copy.send("complete", id=job, token=copy.field(job, "attempts") or b"")
    copy.send("lane_resume", group=group)
    assert group not in copy.ring(), finding
    copy.ask("HINCRBY", copy.key(b"gactive"), group, number_in(r"HINCRBY it by (-\d+)", finding) or b"")
    copy.send("lane_resume", group=group)
    assert group in copy.ring(), finding


def _ring_empty(lab: emqlab.Lab, finding: Finding) -> None:
    copy, group = Copy(lab), group_of(finding)
    assert [] == copy.turn(group)
    assert [] == copy.ring()


def _ring_twice(lab: emqlab.Lab, finding: Finding) -> None:
    copy, group = Copy(lab), group_of(finding)
    assert copy.ring().count(group) > 1
    copy.send("lane_pause", group=group)
    assert group not in copy.ring()


def _ring_paused(lab: emqlab.Lab, finding: Finding) -> None:
    copy, group = Copy(lab), group_of(finding)
    waiting = copy.ask("ZCARD", copy.key(b"g:" + group + b":pending"))
    copy.turn(group)
    assert waiting - 1 == copy.ask("ZCARD", copy.key(b"g:" + group + b":pending"))
    copy = Copy(lab)
    copy.send("lane_pause", group=group)
    assert group not in copy.ring()


def _drift(lab: emqlab.Lab, finding: Finding) -> None:
    copy, group = Copy(lab), group_of(finding)
    jobs = copy.ask("ZRANGE", copy.key(b"active"), 0, -1)
    active = sum(copy.field(job, "group") == group for job in jobs)
    by = int(number_in(r"HINCRBY it by (-?\d+)", finding) or b"0")
    assert active == copy.ask("HINCRBY", copy.key(b"gactive"), group, by)
    assert by != 0


def _lane_number(lab: emqlab.Lab, finding: Finding) -> None:
    group, limit = group_of(finding), finding.name.endswith(b"glimit")

    def fresh() -> Copy:
        """A copy with a job of the group's at work, alone, and others that wait."""
        copy = Copy(lab)
        for name in (b"active", b"schedule", b"paused", b"g:" + group + b":pending"):
            copy.ask("DEL", copy.key(name))
        for job in PROBES[1:3]:
            copy.ask("HSET", copy.key(b"job:" + job), "state", "pending", "attempts", "0", "group", group)
            copy.ask("ZADD", copy.key(b"g:" + group + b":pending"), 0, job)
        copy.ask("LREM", copy.key(b"ring"), 0, group)
        copy.lease(PROBES[0], group=group)
        return copy

    lane = b"g:" + group + b":pending"
    values = {"delay_ms": b"0", "max_attempts": b"3", "error": b"x"}
    for verb, more in (("complete", {}), ("fail", values)):
        copy = fresh()
        assert isinstance(copy.send(verb, id=PROBES[0], token=b"1", **more), ErrorReply)
        assert set() == copy.where(PROBES[0]), "it is lost"
        assert copy.field(PROBES[0], "state") is not None
    copy = fresh()
    assert isinstance(copy.turn(group), ErrorReply)
    assert b"active" in copy.where(PROBES[1])
    sweep = {"max_stalled": b"9", "limit": b"9"}
    for verb, swept in (("reap", {}), ("stalled_check", sweep)):
        copy = fresh()
        copy.lease(PROBES[0], ago_ms=5, group=group)
        assert isinstance(copy.send(verb, **swept), ErrorReply)
        assert (copy.ask("ZSCORE", copy.key(lane), PROBES[0]) is not None) == limit
    if not limit:
        return
    copy = fresh()
    assert isinstance(copy.send("lane_enqueue", id=PROBES[3], payload=b"x", group=group), ErrorReply)
    assert isinstance(copy.send("lane_resume", group=group), ErrorReply)
    copy.lease(PROBES[3], group=group)
    copy.send("delay", id=PROBES[3], token=b"1", mode=b"at", value=b"1")
    assert isinstance(copy.send("promote", batch=b"9"), ErrorReply)
    assert 1 == copy.send("lane_limit", group=group, limit=b"99")
    assert 1 == copy.send("complete", id=PROBES[0], token=b"1")


def _parent_waits(lab: emqlab.Lab, finding: Finding) -> None:
    parent, copy = _job(finding), Copy(lab)
    able, silent = copy.able(parent), copy.silent(parent)
    for job in able:
        copy.end(job)
    assert (b"awaiting_children", set()) == (copy.field(parent, "state"), copy.where(parent)), finding
    left = number_in(r"SET :dependencies to (\d+)", finding)
    assert ("reprocess the dead" in finding.sentence) == bool(silent)
    copy = Copy(lab)
    if left is not None:
        copy.ask("SET", copy.key(b"job:%b:dependencies" % parent), left)
    elif not silent:
        assert "ZADD it to pending" in finding.sentence
        return
    _all_end(copy, parent, [*able, *silent], finding)


def _all_end(copy: Copy, parent: bytes, family: Sequence[bytes], finding: Finding) -> None:
    """The parent is released by the last of them and not before."""
    for job in family[:-1]:
        copy.end(job)
    assert b"pending" not in copy.where(parent), finding
    copy.end(family[-1])
    assert b"pending" in copy.where(parent), finding


def _parent_early(lab: emqlab.Lab, finding: Finding) -> None:
    parent, copy = _job(finding), Copy(lab)
    able = copy.able(parent)
    nth = int(number_in(r"after (\d+) of them", finding) or b"0")
    assert 0 < nth <= len(able)
    for job in able[: nth - 1]:
        copy.end(job)
    copy.ask("ZREM", copy.key(b"pending"), parent)
    copy.end(able[nth - 1])
    assert b"pending" in copy.where(parent), finding
    copy = Copy(lab)
    family = [*able, *copy.silent(parent)]
    copy.ask("SET", copy.key(b"job:%b:dependencies" % parent), number_in(r"SET :dependencies to (\d+)", finding) or b"")
    if "awaits" in finding.sentence:
        _all_end(copy, parent, family, finding)
    else:
        copy.ask("ZREM", copy.key(b"pending"), parent)
        for job in able:
            copy.end(job)
        assert b"pending" not in copy.where(parent), finding


def _flow_count(lab: emqlab.Lab, finding: Finding) -> None:
    copy = Copy(lab)
    parent = finding.name.removeprefix(keys.base(QUEUE) + b"job:").removesuffix(b":dependencies")
    for job in copy.able(parent)[:1]:
        assert isinstance(copy.end(job), ErrorReply)
        assert set() == copy.where(job)
        assert copy.field(job, "state") is not None


def _orphan(lab: emqlab.Lab, finding: Finding) -> None:
    copy, job = Copy(lab), _job(finding)
    parent, token = copy.field(job, "parent"), copy.field(job, "attempts")
    reply = copy.send("complete", id=job, token=token or b"0")
    assert finding.scripted is not None
    assert isinstance(reply, ErrorReply) == finding.scripted.startswith(("stops", "refused")), finding
    minted = copy.ask("HGETALL", copy.key(b"job:" + parent))
    assert ("a row is minted for its parent" in finding.scripted) == bool(minted), finding
    assert not minted or [b"state"] == list(minted)[:1]


def _lane_in_pending(lab: emqlab.Lab, finding: Finding) -> None:
    copy, job = Copy(lab), _job(finding)
    group = copy.field(job, "group")
    copy.ask("ZADD", copy.key(b"pending"), -1, job)
    copy.ask("DEL", copy.key(b"active"))
    reply = copy.natively("claim", lease_ms=b"1")
    assert job == reply[0]
    token = b"%d" % reply[2]
    refused = copy.natively("complete", id=job, token=token)
    assert isinstance(refused, ErrorReply)
    assert "EMQLANE" == refused.code
    copy.lease(job, ago_ms=5)
    assert isinstance(copy.natively("stalled_check", max_stalled=b"1", limit=b"9"), ErrorReply)
    copy.ask("HSET", copy.key(b"gactive"), group, "3")
    copy.send("complete", id=job, token=b"1")
    assert b"2" == copy.ask("HGET", copy.key(b"gactive"), group)


def _flow_child(lab: emqlab.Lab, finding: Finding) -> None:
    copy, job = Copy(lab), _job(finding)
    copy.lease(job)
    refused = copy.natively("complete", id=job, token=b"1")
    assert isinstance(refused, ErrorReply)
    assert "EMQFLOW" == refused.code


def _flow_left(lab: emqlab.Lab, finding: Finding) -> None:
    copy = Copy(lab)
    assert 0 == copy.ask("EXISTS", copy.key(b"job:" + _job(finding)))
    for part in re.findall(r":\w+", finding.sentence.partition(" left,")[0]):
        assert 1 == copy.ask("EXISTS", copy.key(b"job:" + _job(finding) + part.encode())), finding


def _no_attempts(lab: emqlab.Lab, finding: Finding) -> None:
    bare = Copy(lab).ask("HLEN", keys.row(COPY, _job(finding))) == 1
    assert bare == ("holds only state" in finding.sentence), finding


SWEEP = {"max_stalled": b"1", "limit": b"1000"}
CLAIMS: dict[str, Callable[[emqlab.Lab, Finding], None]] = {
    "sweep-refused": _refused("stalled_check", b"active", "reap", SWEEP, {"max_stalled": b"9", "limit": b"1"}),
    "promote-refused": _refused("promote", b"schedule", "promote", {"batch": b"1000"}, {"batch": b"1"}),
    "lane-waits": _lane_waits,
    "lane-full": _lane_full,
    "lane-held": _unserved,
    "ring-empty": _ring_empty,
    "ring-twice": _ring_twice,
    "ring-paused": _ring_paused,
    "gactive-drift": _drift,
    "lane-number": _lane_number,
    "parent-waits": _parent_waits,
    "parent-early": _parent_early,
    "flow-count": _flow_count,
    "orphan": _orphan,
    "lane-in-pending": _lane_in_pending,
    "flow-child": _flow_child,
    "flow-left": _flow_left,
    "no-attempts": _no_attempts,
}
