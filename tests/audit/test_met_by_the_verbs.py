"""What an audit puts around a job, of its lane and of its parent, is all that a verb meets there."""

import random
from typing import Any

import pytest

import emqlab
from emqlab import keys
from emqlab.audit.reading import Reader
from emqlab.audit.row import Row, View, first_look
from emqlab.audit.surroundings import surrounded
from emqlab.audit.voices import Outcome, row_keys, would
from emqlab.observe.case import World, substitute
from emqlab.replies import ErrorReply, NotSent, ask, ask_all
from emqlab.transitions import Call
from tests.audit.plants import COMPLETE, MAX, SWEEP, A, B, C, Command, P

BASE = keys.base(b"q")


def around(draw: random.Random) -> list[Command]:
    """A job of a group or a flow's child, its group's keys and its parent's, right or not."""
    group, some = draw.choice(("blue", "")), draw.random
    fields = {"state": "active", "attempts": draw.choice(("0", "1", "1", "2", "x")), "payload": "x"}
    if some() < 0.6:
        fields["group"] = group
    if some() < 0.6:
        fields |= {"parent": draw.choice((P, P, ""))} | (
            {"parent_policy": draw.choice(("fp", "id"))} if some() < 0.6 else {}
        )
    given: list[Command] = [["HSET", f"{{p}}job:{A}", *(part for pair in fields.items() for part in pair)]]
    lane, parent = f"{{p}}g:{group}:pending", f"{{p}}job:{P}"
    given += [["ZADD", "{p}active", "@now-1", A]] if some() < 0.8 else [["ZADD", lane, "0", A]]
    likely: list[tuple[float, Command]] = [
        (0.6, ["ZADD", lane, "1", B]), (0.3, ["SADD", "{p}paused", group]), (0.3, ["RPUSH", "{p}ring", group]),
        (0.3, ["RPUSH", "{p}ring", "red"]), (0.6, ["HSET", "{p}gactive", group, draw.choice(SLOTS)]),
        (0.6, ["HSET", "{p}glimit", group, draw.choice(("1", "2", "0", "x", "", " 0x2", "nan", "inf"))]),
        (0.7, ["HSET", parent, "state", draw.choice(("awaiting_children", "pending", "dead"))]),
        (0.7, ["SET", f"{parent}:dependencies", draw.choice(("1", "2", "0", "x", "-1", str(-(2**63))))]),
        (0.2, ["ZADD", "{p}dead", "0", P]), (0.2, ["ZADD", "{p}pending", "0", P]),
    ]  # fmt: skip
    given += [command for chance, command in likely if some() < chance]
    names = ("ring", "wake", "paused", "glimit", "gactive", f"job:{P}", *(f"job:{P}:{part}" for part in PARTS))
    for name in names:
        if some() < 0.03:
            given += [["DEL", f"{{p}}{name}"], [*draw.choice((["SET"], ["RPUSH"], ["SADD"])), f"{{p}}{name}", "x"]]
    return given


SLOTS = ("1", "2", "", "-1", MAX)
PARTS = ("dependencies", "processed", "failed", "unsuccessful")
FAIL = {"id": A, "token": "1", "delay_ms": "0", "error": "boom"}
#: The steps that come to lanes and flows; ``lane_claim`` when it is the turn of the job's group.
MET: tuple[dict[str, str], ...] = (
    {**COMPLETE}, {"verb": "fail", **FAIL, "max_attempts": "1"}, {"verb": "fail", **FAIL, "max_attempts": "9"},
    {"verb": "lane_resume"}, {"verb": "lane_limit", "limit": "2"}, {"verb": "lane_limit", "limit": "odd"},
    {"verb": "lane_enqueue", "id": C, "payload": "x"}, {"verb": "lane_claim", "lease_ms": "1000"}, {**SWEEP},
    {"verb": "reap"}, {"verb": "stalled_check", "max_stalled": "2", "limit": "9"},
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_what_is_put_around_a_job_is_all_that_a_verb_meets(lab: emqlab.Lab, seed: int) -> None:
    """Sixty jobs a seed: the voices on what was read of lane and parent end as the executors on the whole queue do."""
    draw, compared, errors = random.Random(seed), 0, 0
    for _ in range(60):
        given, step = around(draw), dict(draw.choice(MET))
        plant(lab, given)
        view, row = looked_at(lab)
        group = row.get(b"group")
        if group is not None and step["verb"].startswith("lane_"):
            turns = step["verb"] == "lane_claim"
            if turns:
                given += [["DEL", "{p}ring"], ["RPUSH", "{p}ring", group.decode()]]
            else:
                step["group"] = group.decode()
        elif step["verb"].startswith("lane_"):
            continue
        told = voiced(view, row, step)
        for name, said in (("scripted", told.scripted), ("native", told.native)):
            plant(lab, given)
            executor = lab.scripted if name == "scripted" else lab.native
            values = {name: value.encode() for name, value in step.items() if name != "verb"}
            reply = executor.perform(Call(step["verb"], b"q", values))
            held_to(lab, said, reply, row.get(b"parent"), (name, step, said, reply, given))
            compared, errors = compared + 1, errors + isinstance(reply, ErrorReply)
    assert 0 < errors < compared


def plant(lab: emqlab.Lab, given: list[Command]) -> None:
    """Make the queue so, whatever it was."""
    world = World(lab.now_ms(), lab.run_id.encode())
    ask_all(lab.client, [("DEL", name) for name in ask(lab.client, "KEYS", BASE + b"*")])
    ask_all(lab.client, [tuple(substitute(word, b"q", world) for word in command) for command in given])


def looked_at(lab: emqlab.Lab) -> tuple[View, Row]:
    """The job as an audit has it, and what it has read around it."""
    view = View(b"q", lab.now_ms(), lab.run_id.encode())
    names = (b"active", b"g:blue:pending", b"g::pending")
    found = {name: ask(lab.client, "ZSCORE", BASE + name, A) for name in names}
    scores = {name: float(score) for name, score in found.items() if score is not None}
    with Reader(lab.client) as reader:
        (row,) = first_look(reader, view, {A.encode(): scores}, None)
        group, parent = row.get(b"group"), row.get(b"parent")
        return surrounded(reader, view, [] if group is None else [group], [parent] if parent else []), row


def voiced(view: View, row: Row, step: dict[str, str]) -> Outcome:
    """What is told of the step; of a claim when it is the group's turn."""
    held = row_keys(view, row, row.sets)
    if step["verb"] == "lane_claim":
        held[BASE + b"ring"] = [row.fields[b"group"]]
        around = {key: value for key, value in view.around.items() if key != BASE + b"ring"}
        view = View(view.queue, view.now_ms, view.run_id, around, view.lanes, view.kin)
    values = {name: value.encode() for name, value in step.items() if name != "verb"}
    return would(view, step["verb"], held, A.encode(), values=values)


def held_to(lab: emqlab.Lab, said: str, reply: Any, parent: bytes | None, where: Any) -> None:
    """A phrase, against the reply and the queue as it is now."""
    assert isinstance(reply, NotSent) == said.startswith("there is no"), where
    assert isinstance(reply, ErrorReply) == said.startswith(("refused", "stops with")), where
    if isinstance(reply, ErrorReply):
        code, _, rest = reply.text.partition(" script:")[0].partition(" ")
        assert (code if code != "ERR" else "an error of the script's own" if "own" in said else rest) in said, where
    if parent:
        sets = {name for name in ("pending", "dead") if _scored(lab, name, parent)}
        goes = said.partition("its parent goes to ")[2]
        assert not goes or goes in sets, where
        assert "a row is minted for its parent" not in said or ask(lab.client, "EXISTS", BASE + b"job:" + parent), where


def _scored(lab: emqlab.Lab, name: str, job: bytes) -> bool:
    key = BASE + name.encode()
    return ask(lab.client, "TYPE", key) == b"zset" and ask(lab.client, "ZSCORE", key, job) is not None
