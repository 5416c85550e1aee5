"""Recordings: the JSON that widgets draw, made from runs."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emqlab.lab import Lab, open_lab
from emqlab.observe.case import BadCase
from emqlab.observe.case_reader import parse_case
from emqlab.observe.merge import supersequence
from emqlab.observe.moments import line, moments, show, verdict
from emqlab.observe.recording import CannotRecord, Column, record
from tests.observe import corpus

JOB = "JOB0KHTOWnGLuC"
Json = dict[str, Any]

#: The example of FRAMES.md: a claim of a job whose attempts is 1.0.
EXAMPLE: Json = {
    "name": "claim/bad-attempts",
    "queue": "q",
    "about": "its attempts holds 1.0",
    "given": [
        ["ZADD", "{p}pending", "0", JOB],
        ["HSET", "{p}job:" + JOB, "state", "pending", "attempts", "1.0", "payload", "tea"],
    ],
    "when": [{"verb": "claim", "lease_ms": "30000"}],
    "differs": [3],
}
BROKEN = {"error": "ERR hash value is not an integer"}

#: An expired lease, to be reaped, swept by script and swept natively.
EXPIRED: Json = {
    "name": "sweep/expired",
    "queue": "q",
    "about": "",
    "given": [corpus.row("lease_epoch", "@run_id"), corpus.held("active", "@now-4000")],
    "when": [{"verb": "stalled_check", "max_stalled": "1", "limit": "100"}],
    "differs": [],
}
THREE = [
    Column("reap", "scripted", [{"verb": "reap"}]),
    Column("sweep_stalled", "scripted"),
    Column("EMQ.STALLED.CHECK", "native"),
]


def ids(recording: Json) -> list[str]:
    """The row ids of a recording, in order."""
    return [step["id"] for step in recording["steps"]]


def consumed(recording: Json) -> list[bool]:
    """Whether the greedy walk of the rows takes every frame, for each executor."""
    out = []
    for executor in recording["executors"]:
        rest = [frame["step"] for frame in executor["frames"]]
        for row in ids(recording):
            if rest and rest[0] == row:
                rest.pop(0)
        out.append(not rest)
    return out


def test_the_example_has_the_rows_of_the_format_description(lab: Lab) -> None:
    """Both executors on one line where they ask the same, whatever they do to ask it."""
    recording = record(lab, EXAMPLE)
    assert recording["steps"] == [
        {"id": "fence", "word": "which version?"},
        {"id": "pause", "word": "is the queue paused?"},
        {"id": "head", "word": "who is first?"},
        {"id": "row", "word": "is there a row?"},
        {"id": "count", "word": "which token?"},
        {"id": "reply", "word": "the answer"},
    ]
    assert recording["subject"] == JOB
    assert recording["before"] == {
        "rows": {JOB: {"state": "pending", "attempts": "1.0", "payload": "tea"}},
        "sets": {"pending": {JOB: "0"}, "active": {}, "schedule": {}, "dead": {}},
        "metrics": {},
        "other": {},
    }


def test_the_examples_script_is_told_command_by_command(lab: Lab) -> None:
    """Phases, commands, replies, slots and patches of the scripted column are those of the description."""
    script = record(lab, EXAMPLE)["executors"][0]
    told = [{name: frame[name] for name in frame if name not in ("line", "note")} for frame in script["frames"]]
    assert told == [
        {
            "step": "pause",
            "phase": "host",
            "command": ["HGET", "emq:{q}:meta", "paused"],
            "reply": {"ok": None},
            "reads": ["meta.paused"],
        },
        {
            "step": "head",
            "phase": "write",
            "command": ["ZPOPMIN", "emq:{q}:pending"],
            "reply": {"ok": [JOB, "0"]},
            "reads": ["pending"],
            "writes": ["pending"],
            "patch": {"sets": {"pending": {JOB: None}}},
        },
        {
            "step": "row",
            "phase": "read",
            "command": ["EXISTS", "emq:{q}:job:" + JOB],
            "reply": {"ok": 1},
            "reads": ["row"],
        },
        {
            "step": "count",
            "phase": "write",
            "command": ["HINCRBY", "emq:{q}:job:" + JOB, "attempts", "1"],
            "reply": BROKEN,
            "reads": ["row.attempts"],
        },
        {"step": "reply", "phase": "reply", "reply": BROKEN},
    ]
    assert (script["name"], script["kind"], script["title"]) == ("scripted", "script", "claim")
    assert script["call"] == ["EVALSHA", "claim.lua", "3", "emq:{q}:pending", "emq:{q}:active", "emq:{q}:", "30000"]


def test_the_examples_verb_is_told_command_by_command(lab: Lab) -> None:
    """The native column peeks, asks and refuses: reads only, and no patch."""
    verb = record(lab, EXAMPLE)["executors"][1]
    assert [(frame["step"], frame["phase"], frame.get("reads")) for frame in verb["frames"]] == [
        ("fence", "read", ["{emq}:version"]),
        ("pause", "read", ["meta.paused"]),
        ("head", "read", ["pending"]),
        ("row", "read", ["row"]),
        ("count", "read", ["row.attempts"]),
        ("reply", "reply", None),
    ]
    assert not any("patch" in frame or "writes" in frame for frame in verb["frames"])
    assert (verb["name"], verb["kind"], verb["title"]) == ("native", "native", "EMQ.CLAIM")
    assert verb["reply"] == BROKEN


def test_a_recording_can_be_read_by_those_who_draw_it(lab: Lab) -> None:
    """The derived verdict of the example: lost by the script, refused by the verb."""
    recording = record(lab, EXAMPLE)
    ends = [verdict(recording, told, len(recording["steps"])) for told in moments(recording)]
    assert [(end.was, end.place, end.stamp) for end in ends] == [
        ("pending", "no set", "lost"),
        ("pending", "pending", "refused"),
    ]


def test_the_same_run_gives_the_same_recording() -> None:
    """Two labs, two recordings, not a byte between them."""
    made = []
    for _ in range(2):
        with open_lab() as lab:
            made.append(json.dumps(record(lab, EXAMPLE)))
    assert made[0] == made[1]


def test_the_fields_come_in_the_order_of_the_description(lab: Lab) -> None:
    """Whoever reads the JSON meets the fields as FRAMES.md lists them."""
    recording = record(lab, EXPIRED, columns=THREE)
    assert list(recording) == (
        ["v", "code", "case", "queue", "now_ms", "run_id", "subject", "axis", "before", "steps", "executors"]
    )
    assert list(recording["executors"][0]) == ["name", "kind", "title", "call", "when", "frames", "reply"]


def test_a_finished_claim_lines_up_prediction_and_event(lab: Lab) -> None:
    """Pop-then-check beside peek, predict, guard, pop and verify."""
    case = corpus.case("claim/good", [corpus.row(attempts="0"), corpus.held("pending")], EXAMPLE["when"])
    rows = "fence pause head row count state lease0 clock lease payload guard pop2 count2 state2 lease2 reply"
    assert ids(record(lab, case)) == rows.split()


def test_three_columns_share_their_rows(lab: Lab) -> None:
    """A reap beside two sweeps: its own call in ``when``, and one list of rows for all."""
    recording = record(lab, EXPIRED, columns=THREE)
    reap, scripted, native = recording["executors"]
    assert [column["title"] for column in (reap, scripted, native)] == ["reap", "sweep_stalled", "EMQ.STALLED.CHECK"]
    assert reap["when"] == [{"verb": "reap"}]
    assert "when" not in scripted
    assert recording["case"]["when"] == EXPIRED["when"]
    assert consumed(recording) == [True, True, True]
    for column, to in ((reap, "back"), (scripted, "dead"), (native, "dead")):
        steps = {frame["step"].partition("#")[0] for frame in column["frames"]}
        assert {"clock", "select", "state", "reply"} <= steps
        assert {"back", "dead"} & steps == {to}


def test_a_column_with_a_call_of_its_own_may_show_other_divergences(lab: Lab) -> None:
    """It names them beside its call, an empty list too; without it they are the case's."""
    columns = [Column("reap", "scripted", [{"verb": "reap"}], [20]), Column("sweep", "scripted", EXPIRED["when"], [])]
    reap, sweep, native = record(lab, EXPIRED, columns=[*columns, Column("native", "native")])["executors"]
    assert list(reap)[4:6] == ["when", "differs"]
    assert [reap["differs"], sweep["differs"], "differs" in native] == [[20], [], False]


def test_a_restart_makes_this_epoch_an_earlier_one(lab: Lab) -> None:
    """A stamp is of this epoch until the server restarts; the next claim's is of the new one."""
    waits = [corpus.row(attempts="0"), corpus.held("pending")]
    claim, sweep = {"verb": "claim", "lease_ms": "1000"}, EXPIRED["when"][0]
    case = corpus.case("restarted", waits, [claim, {"restart": True}, {"advance_ms": 1000}, sweep, claim])
    recording = record(lab, {**case, "differs": [8, 15]}, executors=["native"])
    (told,) = moments(recording)
    stamps = [show(line(recording, "row/lease_epoch", m).now, "row/lease_epoch", recording, m) for m in told]
    assert list(dict.fromkeys(stamps)) == ["absent", "this epoch", "earlier epoch"]
    assert stamps[-1] == "this epoch"
    (epoch,) = (frame["epoch"] for frame in recording["executors"][0]["frames"] if "epoch" in frame)
    assert epoch != recording["run_id"]


def test_rows_of_several_jobs_name_the_job(lab: Lab) -> None:
    """Where a sweep judges more than one job, each row says whose it is."""
    given = [*EXPIRED["given"], corpus.held("active", "@now-3000", corpus.OTHER)]
    recording = record(lab, {**EXPIRED, "given": given})
    words = {step["id"]: step["word"] for step in recording["steps"]}
    assert words["type"] == "…EJfs: is there a row?"
    assert words["type#2"] == "…EJft: is there a row?"
    assert words["select"] == "which have expired?"
    assert consumed(recording) == [True, True]


def test_what_an_executor_lacks_is_one_reply_frame(lab: Lab) -> None:
    """There is no scripted requeue: nothing is sent, and the one frame says so."""
    case = corpus.case("requeue", EXPIRED["given"], [{"verb": "requeue", "id": corpus.JOB, "token": "1"}])
    scripted = record(lab, case)["executors"][0]
    assert scripted["frames"] == [
        {
            "step": "reply",
            "phase": "reply",
            "reply": {"unsupported": "requeue"},
            "note": "No such verb here: nothing is sent.",
        }
    ]
    assert scripted["reply"] == {"unsupported": "requeue"}
    assert scripted["call"] == []


LANE_CLAIM: Json = {"verb": "lane_claim", "lease_ms": "1000"}
FLOW: Json = {
    "verb": "flow_add",
    "id": JOB,
    "payload": "pot",
    "children": [[corpus.JOB, "tea"], [corpus.OTHER, "cup"]],
    "policy": "",
}
DONE: Json = {"verb": "complete", "id": corpus.JOB, "token": "1"}


def test_a_flat_completion_lines_up_though_the_host_asks_first(lab: Lab) -> None:
    """The script's host asks for a parent before the token, the verb after it: the token is one row all the same."""
    recording = record(lab, corpus.case("flat", [corpus.row(), corpus.held("active", "@now+9000")], [DONE]))
    rows = "fence child token group parent where sound2 guard leave gone metric reply"
    assert ids(recording) == rows.split()
    script, verb = ([frame["step"] for frame in one["frames"]] for one in recording["executors"])
    assert script == ["child", "token", "group", "leave", "gone", "metric", "reply"]
    assert verb == [row for row in ids(recording) if row != "child"]
    words = {step["id"]: step["word"] for step in recording["steps"]}
    assert (words["child"], words["parent"]) == ("is it a flow's child?", "a flow row?")


def test_a_childs_completion_stands_beside_the_refusal(lab: Lab) -> None:
    """The script tells the parent between the child's leaving and its end; the verb refuses at its own question."""
    given = [*corpus.ROWS["flow"], *corpus.PLACES["active"], *corpus.PARENTS["the last child"]]
    recording = record(lab, corpus.case("child", given, [{**DONE, "result": "brewed"}], differs=[10]))
    rows = "fence child token group leave parent left result release parent-state gone metric reply"
    assert ids(recording) == rows.split()
    assert consumed(recording) == [True, True]
    told = {frame["step"]: frame for frame in recording["executors"][0]["frames"]}
    parent = corpus.OTHER
    assert told["child"]["phase"] == "host"
    assert told["left"]["patch"] == {"other": {f"job:{parent}:dependencies": "0"}}
    assert told["result"]["patch"] == {"other": {f"job:{parent}:processed {corpus.JOB}": "brewed"}}
    assert told["release"]["patch"] == {"sets": {"pending": {parent: "0"}}}
    assert (told["parent-state"]["patch"], told["parent-state"]["writes"]) == (
        {"rows": {parent: {"state": "pending"}}},
        [f"job:{parent}.state"],
    )
    assert recording["executors"][1]["reply"] == {"error": "EMQFLOW flow row"}


def test_a_claim_of_a_lane_is_one_column_and_one_sentence(lab: Lab) -> None:
    """The script turns the ring; natively there is one row, in which nothing is sent."""
    given = [*corpus.ROWS["lane"], *corpus.PLACES["in its lane"]]
    recording = record(lab, corpus.case("lane", given, [LANE_CLAIM], differs=[20]))
    rows = "pause turn head row count state clock lease slot waiting unring payload reply"
    assert ids(recording) == rows.split()
    assert list(recording["before"]["sets"]) == ["pending", "active", "schedule", "dead", "g:tea:pending"]
    scripted, native = recording["executors"]
    told = {frame["step"]: frame for frame in scripted["frames"]}
    assert told["head"]["patch"] == {"sets": {"g:tea:pending": None}}
    assert told["slot"]["patch"] == {"other": {"gactive tea": "1"}}
    assert (told["unring"]["writes"], told["unring"]["patch"]) == (["ring"], {"other": {"ring": None}})
    assert [frame["reply"] for frame in native["frames"]] == [{"unsupported": "lane_claim"}]
    (call,) = record(lab, recording["case"], executors=("scripted",), detail="calls")["executors"][0]["frames"]
    assert (call["token"], call["note"]) == ("2", "Claims …EJfs of lane tea for 1 s: token 2.")


def test_the_rows_of_a_flow_name_the_job(lab: Lab) -> None:
    """A flow makes three rows: each question and each order says for whom."""
    recording = record(lab, corpus.case("flow", [], [FLOW], differs=[20]))
    assert [step["word"] for step in recording["steps"]] == [
        *(f"{job}: is the id new?" for job in ("…GLuC", "…EJfs", "…EJft")),
        "…GLuC: write the row",
        "…GLuC: count the children",
        "…EJfs: write the row",
        "…EJfs: put it in line",
        "…EJft: write the row",
        "…EJft: put it in line",
        "the answer",
    ]
    assert consumed(recording) == [True, True]
    assert recording["subject"] == JOB


LIFE: list[Json] = [
    {"verb": "enqueue", "id": JOB, "payload": "tea"},
    {"verb": "claim", "lease_ms": "6000"},
    {"advance_ms": 9_000},
    {"verb": "stalled_check", "max_stalled": "2", "limit": "100"},
    {"verb": "claim", "lease_ms": "6000"},
    {"verb": "complete", "id": JOB, "token": "1"},
    {"restart": True},
    {"verb": "complete", "id": JOB, "token": "2"},
]


def test_a_life_is_told_in_calls(lab: Lab) -> None:
    """One frame a transition, tokens presented and received, and the world between them."""
    recording = record(lab, corpus.case("life", [], LIFE), detail="calls")
    assert ids(recording) == (
        ["enqueue", "claim", "advance", "stalled_check", "claim#2", "complete", "restart", "complete#2"]
    )
    for column in recording["executors"]:
        told = {frame["step"]: frame for frame in column["frames"]}
        assert [frame["phase"] for frame in column["frames"]] == [
            "call",
            "call",
            "world",
            *["call"] * 3,
            "world",
            "call",
        ]
        assert (told["claim"]["token"], told["claim#2"]["token"]) == ("1", "2")
        assert (told["complete"]["token"], told["complete"]["reply"]) == (
            "1",
            {"error": "EMQSTALE complete token mismatch"},
        )
        assert told["advance"]["clock"] == recording["now_ms"] + 9_000
        assert told["claim"]["note"] == "Claims …GLuC for 6 s: token 1."
    assert recording["executors"][0]["frames"][0]["command"][:2] == ["EVALSHA", "enqueue.lua"]


def test_a_life_in_commands_has_unique_rows(lab: Lab) -> None:
    """A later verb's rows are numbered, and the walk still takes every frame."""
    recording = record(lab, corpus.case("life", [], LIFE))
    assert len(set(ids(recording))) == len(ids(recording))
    assert consumed(recording) == [True, True]
    assert recording["executors"][0]["call"] == []
    assert recording["executors"][1]["title"] == "EMQ.ENQUEUE, EMQ.CLAIM, EMQ.STALLED.CHECK, EMQ.COMPLETE"


def test_the_axis_holds_every_lease_due_time_and_clock(lab: Lab) -> None:
    """The rails cover what was, is and will be, rounded outwards to whole seconds."""
    recording = record(lab, corpus.case("life", [corpus.held("schedule", "@now+70000")], LIFE))
    low, high = recording["axis"]
    assert low <= 0
    assert high >= 70_000
    assert low % 1_000 == high % 1_000 == 0
    claimed = record(lab, corpus.case("claim", [corpus.row(), corpus.held("pending")], EXAMPLE["when"]))
    assert claimed["axis"][1] > 30_000
    assert record(lab, EXAMPLE, axis=(-12_000, 44_000))["axis"] == [-12_000, 44_000]


def test_a_score_without_end_does_not_stretch_the_axis(lab: Lab) -> None:
    """A deadline that is no time within a year is left to the reader's imagination."""
    recording = record(lab, corpus.case("inf", [corpus.row(), corpus.held("active", "inf")], [{"verb": "pause"}]))
    assert recording["axis"] == record(lab, corpus.case("none", [], [{"verb": "pause"}]))["axis"]


@pytest.mark.parametrize(
    ("given", "when", "subject"),
    [
        ([], [{"verb": "pause"}, {"verb": "reprocess", "id": "JOB0NgWEfAEJft"}], "JOB0NgWEfAEJft"),
        ([corpus.held("pending")], [{"verb": "extends", "lease_ms": "1", "pairs": [[JOB, "1"]]}], JOB),
        ([corpus.held("dead", job=JOB), corpus.held("pending")], EXAMPLE["when"], corpus.JOB),
        ([corpus.held("dead", job=JOB)], [{"verb": "pause"}], JOB),
        ([corpus.held("dead", job=JOB), *corpus.PLACES["in its lane"]], [LANE_CLAIM], corpus.JOB),
        ([], [{"verb": "pause"}, FLOW], JOB),
        ([], [{"verb": "pause"}], ""),
    ],
)
def test_the_subject_is_named_touched_or_given(lab: Lab, given: list[Any], when: list[Json], subject: str) -> None:
    """First who is named in a step, then whom the run touched, then who was there."""
    assert record(lab, corpus.case("subject", given, when))["subject"] == subject


def test_callers_may_choose_subject_code_and_titles(lab: Lab) -> None:
    """What is given is not guessed."""
    recording = record(lab, EXAMPLE, subject=corpus.JOB, code="dive/here", titles={"native": "the verb"})
    assert (recording["subject"], recording["code"]) == (corpus.JOB, "dive/here")
    assert [column["title"] for column in recording["executors"]] == ["claim", "the verb"]


def test_a_checked_case_is_as_good_as_its_json(lab: Lab) -> None:
    """A Case and its source make the same recording."""
    assert record(lab, parse_case(EXAMPLE)) == record(lab, EXAMPLE)


def test_one_column_is_a_recording_too(lab: Lab) -> None:
    """Rows are those of the one executor."""
    recording = record(lab, EXAMPLE, executors=["native"])
    assert ids(recording) == [frame["step"] for frame in recording["executors"][0]["frames"]]


@pytest.mark.parametrize(
    ("case", "options", "problem"),
    [
        ({**EXAMPLE, "when": [{"verb": "dance"}]}, {}, BadCase),
        ({**EXAMPLE, "servers": ["valkey"]}, {}, CannotRecord),
        (EXAMPLE, {"executors": []}, ValueError),
        (EXAMPLE, {"executors": ["native", "native"]}, ValueError),
        (EXAMPLE, {"executors": ["optimistic"]}, ValueError),
    ],
)
def test_what_can_not_be_recorded_is_refused(lab: Lab, case: Json, options: Json, problem: type[Exception]) -> None:
    """An unusable case, a case for another server, no column, two of one name, an unknown executor."""
    with pytest.raises(problem):
        record(lab, case, **options)


def test_recording_leaves_the_labs_own_jobs_alone(lab: Lab) -> None:
    """Cases run beside the lab's queues, not in them."""
    lab.native.enqueue("q", "tea", id=JOB)
    record(lab, EXAMPLE)
    assert lab.client.zrange("emq:{q}:pending", 0, -1) == [JOB.encode()]


# -- the merge


columns = st.lists(st.lists(st.sampled_from(["a", "b", "clock", "c"]), max_size=8), max_size=4)


def is_within(part: list[str], whole: list[str]) -> bool:
    """Whether a greedy walk of ``whole`` meets all of ``part`` in order."""
    rest = list(part)
    for row in whole:
        if rest and rest[0] == row:
            rest.pop(0)
    return not rest


def shortest(left: list[str], right: list[str]) -> int:
    """The length of a shortest common supersequence, the slow way round: by prefixes."""
    table = {(0, 0): 0}
    for i in range(len(left) + 1):
        for j in range(len(right) + 1):
            ways = [table[i - 1, j] + 1] if i else []
            ways += [table[i, j - 1] + 1] if j else []
            ways += [table[i - 1, j - 1] + 1] if i and j and left[i - 1] == right[j - 1] else []
            if ways:
                table[i, j] = min(ways)
    return table[len(left), len(right)]


@given(columns)
@settings(max_examples=300, deadline=None)
def test_a_greedy_walk_of_the_rows_takes_every_column_whole(columns: list[list[str]]) -> None:
    """However columns differ, each is found in the common rows."""
    rows = supersequence(columns)
    assert all(is_within(column, rows) for column in columns)


@given(columns.filter(lambda columns: len(columns) == 2))
@settings(max_examples=300, deadline=None)
def test_two_columns_get_the_fewest_rows(columns: list[list[str]]) -> None:
    """No row more than a shortest common supersequence has."""
    assert len(supersequence(columns)) == shortest(*columns)


@given(st.lists(st.sampled_from("abc"), max_size=8), st.integers(1, 4))
def test_columns_that_agree_are_one(column: list[str], many: int) -> None:
    """The same column several times adds no row."""
    assert supersequence([column] * many) == column


def test_rows_without_a_match_come_by_rank() -> None:
    """Between matches the lower rank is first, and each column keeps its own order."""
    columns = [["a", "l2", "l1", "z"], ["a", "r1", "r3", "z"]]
    assert supersequence(columns, lambda row: int(row[1:] or 0)) == ["a", "r1", "l2", "l1", "r3", "z"]
    assert supersequence(columns) == ["a", "l2", "l1", "r1", "r3", "z"]


def test_a_stall_is_foreseen_above_the_line_that_counts_it(lab: Lab) -> None:
    """The script's leave stands above the verb's questions, and the prediction above the count."""
    rows = "fence clock select leave type group epoch count0 count sound1 sound2 guard leave2 state why dead"
    assert ids(record(lab, EXPIRED))[:16] == rows.split()


def test_the_time_is_the_first_to_give_way() -> None:
    """Where either the step or the clock can line up, it is the step."""
    assert supersequence([["clock", "token"], ["token", "clock"]]) == ["clock", "token", "clock"]
    assert supersequence([["token", "clock"], ["clock", "token"]]) == ["clock", "token", "clock"]


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        (None, {}, "a case is an object"),
        ("x", {}, "a case is an object"),
        ({}, {}, "name"),
        (EXAMPLE, {"executors": "native"}, "executors must be a sequence"),
        (EXAMPLE, {"detail": "x"}, "detail must be"),
        (EXAMPLE, {"axis": (5,)}, "axis must be"),
        (EXAMPLE, {"axis": (5, 5)}, "axis must be"),
        (EXAMPLE, {"executors": ()}, "at least one column"),
        (EXAMPLE, {"executors": ("lua",)}, "executor must be"),
    ],
)
def test_an_unusable_request_is_refused_in_one_sentence(case: Any, options: Json, words: str) -> None:
    """The parameter is named."""
    with open_lab() as lab, pytest.raises((TypeError, ValueError), match=words):
        record(lab, case, **options)


def test_a_pause_of_other_keys_is_told_too() -> None:
    """A case may send what it likes."""
    when = [{"verb": "pause", "keys": ["{p}other"], "args": ["a", "b"]}]
    with open_lab() as lab:
        assert record(lab, {**EXAMPLE, "when": when})["executors"][0]["frames"]
