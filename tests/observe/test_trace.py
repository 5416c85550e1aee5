"""The frames of a run: what was read and written, and patches that lead from its start to its end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emqlab.executor import Told
from emqlab.lab import Lab, open_lab
from emqlab.observe.run import Run
from emqlab.observe.slots import touched
from emqlab.observe.state import state_of, state_patch
from emqlab.observe.trace import Frame, NotReproduced, frames
from emqlab.observe.walk import merge
from emqlab.replies import ErrorReply
from tests.observe import corpus

CASES = Path(__file__).parents[1] / "cases"
FILES = sorted(CASES.glob("*.json"))
Json = dict[str, Any]


@pytest.fixture(scope="module")
def lab() -> Any:
    """One embedded lab for all cases: each case has a queue of its own."""
    with open_lab() as opened:
        yield opened


def run(lab: Lab, case: Json, executor: str) -> Run:
    """One case, run and traced."""
    found = lab.run(case, executor="scripted" if executor == "scripted" else "native")
    assert isinstance(found, Run)
    return found


def assert_true_to(ran: Run) -> None:
    """Both details lead from the run's own start to its own end."""
    end = state_of(ran.after, ran.case.queue)
    assert corpus.walked(ran, frames(ran)) == end
    assert corpus.walked(ran, frames(ran, detail="calls")) == end


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_patches_lead_from_before_to_after_in_every_case_file(lab: Lab, file: Path, executor: str) -> None:
    """Whatever a case of the project does, its frames end where the run ended."""
    for case in json.loads(file.read_text("utf-8")):
        assert_true_to(run(lab, case, executor))


def test_the_case_files_are_found() -> None:
    """The test above has files to read."""
    assert FILES


@pytest.mark.parametrize("case", list(corpus.worldly()), ids=lambda case: case["name"])
@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_patches_lead_from_before_to_after_through_a_moving_world(lab: Lab, case: Json, executor: str) -> None:
    """Clocks, restarts, expiry, other clients, odd keys and arguments: the frames follow."""
    assert_true_to(run(lab, case, executor))


def claim(*given: Any) -> Json:
    """A case that claims once."""
    return corpus.case("trace/claim", list(given), [{"verb": "claim", "lease_ms": "30000"}])


def by_step(lab: Lab, case: Json, executor: str) -> dict[str, Frame]:
    """The frames of one run by step id."""
    return {frame.step: frame for frame in frames(run(lab, case, executor))}


def test_a_failed_write_has_read_and_written_nothing(lab: Lab) -> None:
    """HINCRBY on 1.0 reads the field, changes nothing and carries the error."""
    told = by_step(lab, claim(corpus.row(attempts="1.0"), corpus.held("pending")), "scripted")
    assert told["count"].reads == ("row.attempts",)
    assert told["count"].writes == ()
    assert told["count"].patch is None
    assert told["count"].reply == {"error": "ERR hash value is not an integer"}


def test_a_pop_reads_and_writes_its_set(lab: Lab) -> None:
    """ZPOPMIN is in both lists, and the id leaves the set in the patch."""
    head = by_step(lab, claim(corpus.row(), corpus.held("pending")), "scripted")["head"]
    assert (head.reads, head.writes) == (("pending",), ("pending",))
    assert head.patch == {"sets": {"pending": {corpus.JOB: None}}}


def test_a_deleted_row_is_written_as_a_whole(lab: Lab) -> None:
    """DEL writes ``row``, and the patch takes the row out."""
    done = {"verb": "complete", "id": corpus.JOB, "token": "1"}
    case = corpus.case("trace/complete", [corpus.row(), corpus.held("active")], [done])
    gone = by_step(lab, case, "native")["gone"]
    assert gone.writes == ("row",)
    assert gone.patch == {"rows": {corpus.JOB: None}}


def test_one_write_of_many_fields_names_each(lab: Lab) -> None:
    """HSET of three fields writes three slots."""
    when = [{"verb": "stalled_check", "max_stalled": "1", "limit": "100"}]
    given = [corpus.row("lease_epoch", "@run_id"), corpus.held("active", "@now-1")]
    state = by_step(lab, corpus.case("trace/sweep", given, when), "native")["state"]
    assert state.writes == ("row.stalled", "row.state", "row.last_error")


def test_a_removal_of_nothing_has_only_looked(lab: Lab) -> None:
    """ZREM that answers 0 reads its set and writes nothing."""
    when = [{"verb": "reprocess", "id": corpus.JOB}]
    leave = by_step(lab, corpus.case("trace/reprocess", [corpus.row()], when), "scripted")["leave"]
    assert (leave.reads, leave.writes, leave.patch) == (("dead",), (), None)


def test_another_jobs_row_has_its_own_slot(lab: Lab) -> None:
    """Only the subject's row is ``row``; another one is named by its id."""
    ran = run(lab, claim(corpus.row(), corpus.held("pending")), "native")
    told = {frame.step: frame for frame in frames(ran, subject=corpus.OTHER.encode())}
    assert told["count2"].writes == (f"job:{corpus.JOB}.attempts",)


def test_keys_of_a_wrong_type_are_named_by_their_type(lab: Lab) -> None:
    """A row or a set of another type is the type's name in the state."""
    given = [["SET", corpus.ROW, "x"], ["RPUSH", "{p}active", "x"], ["SET", "{p}metrics:failed", "x"]]
    ran = run(lab, corpus.case("trace/types", given, []), "native")
    state = state_of(ran.before, b"q")
    assert state["rows"] == {corpus.JOB: "string"}
    assert state["sets"] == {"pending": {}, "active": "list", "schedule": {}, "dead": {}}
    assert state["metrics"] == {"failed": "string"}


def test_other_keys_and_lanes_have_their_places(lab: Lab) -> None:
    """A lane is a set; a hash is ``key field``; a list and a set are their JSON text."""
    given = [
        corpus.held("g:tea:pending"),
        ["HSET", "{p}gactive", "tea", "1"],
        ["RPUSH", "{p}ring", "b", "a"],
        ["SADD", "{p}paused", "b", "a"],
        ["SET", "{p}job:" + corpus.JOB + ":dependencies", "2"],
        ["HSET", "{p}metrics:failed", "count", "4", "since", "may"],
    ]
    state = state_of(run(lab, corpus.case("trace/other", given, []), "native").before, b"q")
    assert state["sets"]["g:tea:pending"] == {corpus.JOB: "0"}
    assert state["rows"] == {}
    assert state["metrics"] == {"failed": "4"}
    assert state["other"] == {
        "gactive tea": "1",
        f"job:{corpus.JOB}:dependencies": "2",
        "metrics:failed since": "may",
        "paused": '["a", "b"]',
        "ring": '["b", "a"]',
    }


def test_bytes_that_are_no_text_are_written_as_hex(lab: Lab) -> None:
    """A payload that is not UTF-8 is ``hex:…`` in the state, the reply and the command."""
    told = by_step(lab, claim(*corpus.ROWS["bytes"], corpus.held("pending")), "scripted")
    assert told["payload"].reply == {"ok": "hex:00ff"}
    assert told["reply"].reply == {"ok": [corpus.JOB, "hex:00ff", 2]}


def test_the_clock_is_told_when_it_moved(lab: Lab) -> None:
    """A world frame carries the new time, a transition on a clock that stands still none."""
    ran = run(lab, corpus.case("trace/clock", [], [{"advance_ms": 500}, {"verb": "pause"}]), "native")
    assert [frame.clock for frame in frames(ran)] == [ran.now_ms + 500, None, None]


def test_a_verbs_clock_is_a_number(lab: Lab) -> None:
    """The frozen clock is told as ``(clock)`` and a number."""
    ran = run(lab, claim(corpus.row(), corpus.held("pending")), "native")
    clock = {frame.step: frame for frame in frames(ran)}["clock"]
    assert (clock.command, clock.reply) == (("(clock)",), {"ok": ran.now_ms})


def test_lines_are_those_of_the_file_that_ran(lab: Lab) -> None:
    """Each frame of a script has the line on which its command stands."""
    script = (Path(__file__).parents[2] / "emqlab" / "scripted" / "lua" / "claim.lua").read_text("utf-8")
    for frame in frames(run(lab, claim(corpus.row(), corpus.held("pending")), "scripted")):
        if frame.line is not None and frame.command is not None:
            assert f"'{frame.command[0]}'" in script.splitlines()[frame.line - 1]


def test_a_run_that_can_not_be_made_again_is_refused(lab: Lab) -> None:
    """When the told writes do not lead to the run's end, there is no picture of it."""
    ran = run(lab, claim(corpus.row(), corpus.held("pending")), "native")
    with pytest.raises(NotReproduced, match="trace/claim on native"):
        frames(replace(ran, after=ran.before))


def test_an_untraced_run_has_no_frames(lab: Lab) -> None:
    """Without a trace there is nothing to tell."""
    untraced = lab.run(claim(corpus.row(), corpus.held("pending")), executor="native", traced=False)
    assert isinstance(untraced, Run)
    with pytest.raises(ValueError, match="not traced"):
        frames(untraced)


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_call_gathers_what_its_commands_touched(lab: Lab, executor: Literal["scripted", "native"]) -> None:
    """One frame a transition: reads and writes of all commands, each slot once, in order."""
    ran = run(lab, claim(corpus.row(), corpus.held("pending")), executor)
    (call,) = frames(ran, detail="calls")
    inner = frames(ran)
    assert call.phase == "call"
    assert call.reads == tuple(dict.fromkeys(slot for frame in inner for slot in frame.reads))
    assert call.writes == tuple(dict.fromkeys(slot for frame in inner for slot in frame.writes))
    assert call.token == "2"
    assert call.note == "Claims …EJfs for 30 s: token 2."


@pytest.mark.parametrize(
    ("told", "slots"),
    [
        (Told("read", (b"TYPE", b"emq:{q}:job:x"), b"none"), (["row"], [])),
        (Told("read", (b"TIME",), [b"1", b"2"]), ([], [])),
        (Told("read", (b"GET", b"{emq}:version"), None), (["{emq}:version"], [])),
        (Told("host", (b"HGET", b"emq:{q}:meta", b"paused"), None), (["meta.paused"], [])),
        (Told("guard", (), None), ([], [])),
        (Told("write", (b"HDEL", b"emq:{q}:job:x", b"a", b"b"), 1), ([], ["row.a", "row.b"])),
        (Told("host", (b"HMGET", b"emq:{q}:job:x", b"a", b"b"), [None, None]), (["row.a", "row.b"], [])),
        (Told("write", (b"DECR", b"emq:{q}:job:y:n"), 0), (["job:y:n"], ["job:y:n"])),
        (Told("write", (b"DECR", b"emq:{q}:job:y:n"), ErrorReply("WRONGTYPE x")), (["job:y:n"], [])),
        (Told("write", (b"SET", b"emq:{q}:job:x:n", b"2"), b"OK"), ([], ["job:x:n"])),
        (Told("write", (b"LMOVE", b"emq:{q}:ring", b"emq:{q}:ring", b"LEFT", b"RIGHT"), b"g"), (["ring"], ["ring"])),
        (Told("write", (b"LMOVE", b"emq:{q}:ring", b"emq:{q}:ring", b"LEFT", b"RIGHT"), None), (["ring"], [])),
        (Told("write", (b"LMOVE", b"emq:{q}:a", b"emq:{q}:b", b"LEFT", b"RIGHT"), b"g"), (["a", "b"], ["a", "b"])),
        (Told("write", (b"SADD", b"emq:{q}:paused", b"g"), 1), ([], ["paused"])),
        (Told("write", (b"SADD", b"emq:{q}:paused", b"g"), 0), (["paused"], [])),
        (Told("write", (b"SREM", b"emq:{q}:paused", b"g"), 1), ([], ["paused"])),
        (Told("write", (b"SREM", b"emq:{q}:paused", b"g"), 0), (["paused"], [])),
        (
            Told("write", (b"HINCRBY", b"emq:{q}:metrics:failed", b"count", b"1"), 1),
            (["metrics:failed.count"], ["metrics:failed.count"]),
        ),
        (Told("write", (b"ZADD", b"emq:{q}:dead", b"0", b"x"), ErrorReply("WRONGTYPE x")), ([], [])),
        (Told("write", (b"ZPOPMIN", b"emq:{q}:pending"), []), (["pending"], [])),
        (Told("write", (b"HSET", b"emq:{q}:job:y", b"a", b"1"), 1), ([], ["job:y.a"])),
    ],
)
def test_slots_follow_from_command_and_reply(told: Told, slots: tuple[list[str], list[str]]) -> None:
    """Each command touches what FRAMES.md says it touches."""
    assert touched(told, b"q", b"x") == slots


texts = st.text("ab", max_size=2)
parts = st.dictionaries(texts, st.one_of(texts, st.dictionaries(texts, texts, max_size=3)), max_size=3)
states = st.fixed_dictionaries(dict.fromkeys(("rows", "sets", "metrics", "other"), parts))


@given(states, states)
@settings(max_examples=200, deadline=None)
def test_a_patch_leads_from_any_state_to_any_other(before: Any, after: Any) -> None:
    """Merging the patch of two states into the first gives the second."""
    assert merge(before, state_patch(before, after)) == after


lives = st.lists(
    st.one_of(
        st.sampled_from(corpus.CALLS),
        st.integers(-5_000, 40_000).map(lambda ms: {"advance_ms": ms}),
        st.just({"restart": True}),
    ),
    max_size=8,
)


@given(lives, st.sampled_from(sorted(corpus.ROWS)), st.sampled_from(sorted(corpus.PLACES)))
@settings(max_examples=60, deadline=None)
def test_patches_lead_from_before_to_after_in_any_life(lives: list[Json], kind: str, place: str) -> None:
    """Whatever happens in whatever order, on both executors, the frames end where the run ended."""
    case = corpus.case("trace/life", [*corpus.ROWS[kind], *corpus.PLACES[place]], lives)
    with open_lab() as lab:
        for executor in ("scripted", "native"):
            assert_true_to(run(lab, case, executor))
