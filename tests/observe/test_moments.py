"""What is derived from a recording: states, verdicts, ledger lines, differences, captions."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from emqlab.observe.moments import (
    brief,
    differs,
    fields,
    kind_said,
    label,
    line,
    mark,
    members,
    merge,
    moments,
    note_at,
    place,
    rails,
    reply_text,
    show,
    until,
    verdict,
)

STORED = Path(__file__).parents[1] / "widgets" / "recordings.json"
RECORDINGS: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
POISONED = RECORDINGS["claim/bad-attempts"]
LIFE = RECORDINGS["calls/life"]
REAP = RECORDINGS["reap/many"]


def made(frames: list[dict[str, Any]], before: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A recording with one executor, one step a frame, about the job ``J``."""
    state = {"rows": {}, "sets": {"pending": {}}, "metrics": {}, "other": {}, **(before or {})}
    steps = [{"id": frame["step"], "word": frame["step"]} for frame in frames]
    executor = {"name": "x", "kind": "native", "title": "X", "call": [], "frames": frames, "reply": {"ok": 1}}
    base = {"v": 1, "queue": "q", "now_ms": 1000, "run_id": "r", "subject": "J", "axis": [0, 10], "before": state}
    return {**base, "steps": steps, "executors": [executor], **more}


@pytest.mark.parametrize(
    ("state", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": {"b": "c", "d": "e"}}, {"a": {"b": None, "f": "g"}}, {"a": {"d": "e", "f": "g"}}),
        ({"a": "string"}, {"a": {"b": "c"}}, {"a": {"b": "c"}}),
        ({"a": {"b": "c"}}, {"a": "string"}, {"a": "string"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_patch_is_merged_as_rfc_7396_says(state: Any, patch: Any, expected: Any) -> None:
    """Null takes a key away, an object goes deeper, anything else replaces."""
    assert merge(state, patch) == expected


def test_merging_leaves_the_old_state_alone() -> None:
    """A state is shared by the moments before it changes, so a patch must not reach back."""
    state = {"rows": {"J": {"attempts": "0"}}}
    merge(state, {"rows": {"J": {"attempts": "1"}}})
    assert state == {"rows": {"J": {"attempts": "0"}}}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_greedy_walk_of_the_steps_consumes_every_frame(name: str) -> None:
    """The steps are a supersequence of every executor's frames."""
    recording = RECORDINGS[name]
    for executor, ms in zip(recording["executors"], moments(recording), strict=True):
        assert [m.frame for m in ms if m.frame] == executor["frames"]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"sets": {"pending": {}, "active": {"J": "5"}}, "rows": {"J": {}}}, "active"),
        ({"sets": {"pending": {"J": "0"}, "dead": {"J": "0"}}, "rows": {}}, "pending + dead"),
        ({"sets": {"pending": "string"}, "rows": {"J": "string"}}, "no set"),
        ({"sets": {"pending": {"K": "0"}}, "rows": {}}, "gone"),
    ],
)
def test_place_names_the_sets_that_hold_the_job(state: Any, expected: str) -> None:
    """Several sets are all named; a row alone is in no set; neither is gone."""
    assert place(state, "J") == expected


def test_a_popped_id_is_in_hand_until_the_script_stops_and_lost_afterwards() -> None:
    """The same state reads differently while the call runs and when it is over."""
    script = moments(POISONED)[0]
    assert [verdict(POISONED, script, step).text for step in (2, 3, 6)] == [
        "in pending",
        "pending → in hand",
        "pending → no set",
    ]
    assert [verdict(POISONED, script, step).stamp for step in (3, 6)] == ["", "lost"]


def test_a_refusal_writes_nothing_and_the_job_stays() -> None:
    """The native claim answers an error and leaves the bad row at the head."""
    end = verdict(POISONED, moments(POISONED)[1], 6)
    assert (end.text, end.stamp, end.said) == ("stays in pending", "refused", POISONED["executors"][1]["reply"])


def test_a_script_that_wrote_before_its_error_broke_off() -> None:
    """The subject is safe in its lane, but the call did not finish what it began."""
    assert verdict(REAP, moments(REAP)[0], 11).stamp == "broke off"


def test_a_whole_call_is_stamped_at_its_own_step() -> None:
    """In a life of many calls the refusal belongs to the call that was refused, not to the next."""
    native = moments(LIFE)[1]
    assert [verdict(LIFE, native, step).stamp for step in (10, 11, 12)] == ["", "refused", "refused"]
    assert [verdict(LIFE, native, step).said for step in (3, 4)] == [None, {"ok": [["JOB0NgWEfAEJfs"], []]}]


def test_a_job_that_was_nowhere_is_new() -> None:
    """A life that begins with enqueue does not begin with a job that is gone."""
    scripts = moments(LIFE)[0]
    assert [verdict(LIFE, scripts, step).text for step in (0, 1, 12)] == ["not there", "new → pending", "stays in dead"]


def test_a_queue_without_a_job_is_told_as_such() -> None:
    """Nobody was there to stay gone: a claim that finds nothing. After a life, gone is what the job stays."""
    (ms,) = moments(nothing := made([{"step": "head", "phase": "reply", "reply": {"ok": []}, "patch": {}}]))
    assert [verdict(nothing, ms, step).text for step in (0, 1)] == ["not there", "there is no job"]
    there = {"rows": {"J": {"state": "pending"}}, "sets": {"pending": {"J": "0"}}}
    away = {"rows": {"J": None}, "sets": {"pending": {"J": None}}}
    calls: list[tuple[str, dict[str, Any]]] = [("add", there), ("end", away), ("again", {})]
    (ms,) = moments(life := made([{"step": name, "phase": "call", "patch": patch} for name, patch in calls]))
    assert verdict(life, ms, 3).text == "stays gone"


@pytest.mark.parametrize(
    ("title", "kind", "said"),
    [
        ("the scripts", "script", ""),
        ("EMQ verbs", "native", ""),
        ("claim script", "script", ""),
        ("scripted", "script", ""),
        ("native", "native", ""),
        ("claim.lua, changed", "script", "script"),
        ("flow_add, claim", "script", "script"),
        ("EMQ.CLAIM", "native", "native"),
    ],
)
def test_a_heading_says_once_what_kind_a_column_is(title: str, kind: str, said: str) -> None:
    """No column is headed the scripts, script."""
    assert kind_said({"title": title, "kind": kind}) == said


def test_a_whole_life_goes_from_new_to_gone() -> None:
    """A job that was enqueued and completed did not stay gone all the while: each call has its own before."""
    there = {"rows": {"J": {"state": "pending"}}, "sets": {"pending": {"J": "0"}}}
    away = {"rows": {"J": None}, "sets": {"pending": {"J": None}}}
    frames = [{"step": name, "phase": "call", "patch": patch} for name, patch in (("add", there), ("end", away))]
    recording = made(frames)
    (ms,) = moments(recording)
    assert [verdict(recording, ms, step).text for step in (0, 1, 2)] == ["not there", "new → pending", "pending → gone"]


def test_a_flow_parent_that_waits_for_its_children_is_not_lost() -> None:
    """It is in no set by design, until the last child completes."""
    patch = {"rows": {"J": {"state": "awaiting_children"}}, "sets": {"pending": {"J": None}}}
    frames = [{"step": "add", "phase": "call", "reply": {"ok": 1}, "writes": ["row.state"], "patch": patch}]
    recording = made(frames, {"sets": {"pending": {"J": "0"}}, "rows": {"J": {"state": "pending"}}})
    assert verdict(recording, moments(recording)[0], 1).stamp == ""


def test_an_executor_without_the_verb_says_so_and_stays_put() -> None:
    """Nothing was sent: the reply is known at once, and it is no refusal."""
    native = moments(REAP)[1]
    end = verdict(REAP, native, 11)
    assert (end.text, end.stamp, end.said) == ("stays in active", "", {"unsupported": "reap"})
    assert {note_at(REAP, native, step) for step in (0, 1, 11)} == {"No such verb here: nothing is sent."}


def test_a_ledger_line_tells_value_touch_and_delta() -> None:
    """Absent is not 0 to the reader, but counts as 0 for the delta."""
    native = moments(LIFE, whole=True)[1][12]
    failures = line(LIFE, "row/failures", native)
    assert (failures.was, failures.now, failures.word, failures.delta) == (None, "2", "read, written", "+2")
    metric = line(LIFE, "metrics/failed", moments(LIFE, whole=True)[0][12])
    assert (show(metric.was, "metrics/failed", LIFE), metric.word, metric.delta) == ("0", "written", "+1")


def test_in_a_life_of_whole_calls_the_ledger_is_about_this_call() -> None:
    """A failure at the tenth step has moved failures by one, and attempts not at all."""
    columns = moments(LIFE)
    for ms in columns:
        assert {line(LIFE, field, ms[0]).word for field in fields(LIFE, columns)} == {"untouched"}
        for was, m in pairwise(ms):
            for field in fields(LIFE, columns):
                ln = line(LIFE, field, m)
                assert ln.was == line(LIFE, field, was).now
                assert (ln.word == "untouched") <= (ln.was == ln.now)
    claims = [k for k, m in enumerate(columns[1]) if line(LIFE, "row/attempts", m).delta]
    assert [line(LIFE, "row/attempts", columns[1][k]).delta for k in claims] == ["+1", "+1", "+1"]


def test_inside_one_command_the_ledger_is_about_the_whole_run() -> None:
    """Commands of one call are one change: what was before it stays the measure to the end."""
    for m in moments(RECORDINGS["claim/ordinary"])[1]:
        assert m.since is RECORDINGS["claim/ordinary"]["before"]


@pytest.mark.parametrize(
    ("rail", "away", "expected"),
    [
        ("active", 30_000, "30 s left"),
        ("active", 1250, "1.3 s left"),
        ("active", 1, "1 ms left"),
        ("active", 0, "expired just now"),
        ("active", -999, "expired 999 ms ago"),
        ("active", -4000, "expired 4 s ago"),
        ("schedule", 5000, "due in 5 s"),
        ("schedule", 0, "due now"),
        ("schedule", -1, "due 1 ms ago"),
    ],
)
def test_a_deadline_is_never_0_s_away(rail: str, away: int, expected: str) -> None:
    """Below one second it counts in milliseconds, and at the very moment it says so."""
    assert until(rail, 10_000 + away, 10_000) == expected


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("1.0", "2", ""),
        ("9223372036854775806", "9223372036854775807", "+1"),
        ("2", "1", "−1"),
        ("01", "2", ""),
        ("", "1", ""),
        ("3", "3", ""),
    ],
)
def test_a_delta_is_exact_and_only_between_integers(was: str, now: str, expected: str) -> None:
    """What HINCRBY would refuse has no difference, and counters near 2^63 lose no unit."""
    frame = {"step": "w", "phase": "write", "writes": ["row.attempts"], "patch": {"rows": {"J": {"attempts": now}}}}
    recording = made([frame], {"rows": {"J": {"attempts": was}}})
    assert line(recording, "row/attempts", moments(recording)[0][1]).delta == expected


def test_fields_of_a_deleted_row_are_deleted_but_untouched_absent_ones_are_not() -> None:
    """A field that never was cannot have been deleted."""
    recording = RECORDINGS["workers/reclaimed"]
    end = moments(recording, whole=True)[0][-1]
    assert line(recording, "row/attempts", end).word == "deleted"
    assert line(recording, "row/failures", end).word == "untouched"


def test_the_ledger_lists_counters_always_and_other_fields_when_touched() -> None:
    """A reader always sees what was not touched of the four counters."""
    assert fields(POISONED, moments(POISONED)) == ["row/attempts", "row/failures", "row/stalled", "row/lease_epoch"]
    assert fields(REAP, moments(REAP))[4:] == [
        "row/state",
        "row/group",
        "metrics/failed",
        "other/gactive a/b",
        "other/ring",
    ]


def test_a_parent_that_waits_is_in_no_set_and_not_astray() -> None:
    """A flow's parent stands on the rail of those in no set until its last child is done."""
    life = RECORDINGS["flows/life"]
    (told,) = moments(life)
    assert [verdict(life, told, step).text for step in (1, 2, 4, 5, 6)] == [
        "new → no set",
        "in no set",
        "in no set",
        "no set → pending",
        "pending → active",
    ]
    assert {verdict(life, told, step).stamp for step in range(len(told))} == {""}
    assert members(told[4].state, "no set") == [life["subject"]]


def test_what_a_parent_waits_for_has_a_delta() -> None:
    """The count of a flow's children goes down by one with each; their results are texts."""
    child = RECORDINGS["flows/last-child"]
    scripted, native = (ms[-1] for ms in moments(child))
    (waits,) = [field for field in fields(child, moments(child)) if field.endswith(":dependencies")]
    assert [(line(child, waits, m).delta, line(child, waits, m).word) for m in (scripted, native)] == [
        ("−1", "read, written"),
        ("", "untouched"),
    ]
    results = [field for field in fields(child, moments(child)) if ":processed " in field]
    assert [label(field) for field in (waits, *results)] == [
        "dependencies …GLuC",
        "processed …EJfs",
        "processed …EJft",
    ]
    assert {line(child, field, scripted).delta for field in results} == {""}


def test_a_policy_has_a_line_only_where_there_is_one() -> None:
    """Every failing job is asked for it; a line for what no job has would say nothing."""
    asked = {"step": "a", "phase": "host", "reads": ["row.parent", "row.parent_policy"]}
    flat, child = (made([asked], {"rows": {"J": row}}) for row in ({}, {"parent": "K", "parent_policy": "id"}))
    assert fields(flat, moments(flat))[4:] == ["row/parent"]
    assert fields(child, moments(child))[4:] == ["row/parent", "row/parent_policy"]


@pytest.mark.parametrize(
    ("stored", "field", "text"),
    [
        ('["tea", "cake"]', "other/ring", "[tea, cake]"),
        ('["a, b"]', "other/ring", '["a, b"]'),
        ('[""]', "other/ring", '[""]'),
        ("[]", "other/ring", "[]"),
        ('["tea"]', "row/payload", '["tea"]'),
    ],
)
def test_a_list_of_plain_words_reads_without_quotes(stored: str, field: str, text: str) -> None:
    """The ring is a list of names; what could be misread keeps its JSON, and so does a job's own field."""
    assert show(stored, field, POISONED) == text


def test_rails_are_the_four_sets_the_lanes_and_no_set() -> None:
    """A lane that appears during the run has a rail from the start, so nothing jumps."""
    columns = moments(REAP)
    assert rails(columns) == ["pending", "active", "schedule", "dead", "g:a/b:pending", "no set"]
    assert members(columns[0][-1].state, "no set") == ["JOB0NgWEfAEJfu"]


def test_the_odd_ones_out_are_marked_and_an_even_split_marks_all() -> None:
    """With a majority the rest is marked; without one there is no rest."""
    recording = RECORDINGS["expired/earlier-epoch/2"]
    columns, last = moments(recording), len(recording["steps"])
    assert differs(recording, columns, "row/stalled", last) == (False, True, False)
    assert differs(POISONED, moments(POISONED), "set/no set", 6) == (True, True)
    assert differs(POISONED, moments(POISONED), "row/attempts", 6) == (False, False)
    pairs = [columns[0], columns[0], columns[1], columns[1]]
    assert differs(recording, pairs, "row/stalled", last) == (True, True, True, True)
    assert mark is differs


def test_the_order_of_insertion_is_no_difference() -> None:
    """Two executors that put the same ids into a set in another order agree."""
    one = made([{"step": "a", "phase": "call", "patch": {"sets": {"pending": {"J": "0", "K": "0"}}}}])
    two = made([{"step": "a", "phase": "call", "patch": {"sets": {"pending": {"K": "0", "J": "0"}}}}])
    assert differs(one, [moments(one)[0], moments(two)[0]], "set/pending", 1) == (False, False)


def test_captions_follow_the_run() -> None:
    """Before, between, after: each executor says what it is doing, or why it does nothing."""
    native = moments(POISONED)[1]
    assert note_at(POISONED, native, 0) == "Nothing has been sent."
    assert note_at(POISONED, moments(POISONED)[0], 1) == "Sends nothing for this."
    assert note_at(POISONED, native, 6) == "Refused. Nothing was written; the bad row stays at the head."
    ordinary = RECORDINGS["claim/ordinary"]
    assert "Sends nothing for this." in {note_at(ordinary, ms, i) for ms in moments(ordinary) for i in range(len(ms))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("emq:{q}:pending", "pending"),
        ("emq:{q}:", "base"),
        ("{emq}:version", "version"),
        ("emq:{q}:job:JOB0KHTOWnGLuC", "row"),
        ("JOB0NgWEfAEJfs", "…EJfs"),
        ("9f3ce1b04a7d2c586be0f1937ad4c25e8816d07b", "9f3c…"),
        (1795952314485, "now"),
        ("1795952344485", "now+30000"),
        ("1795952310485", "now−4000"),
        ("1795952310485\n", "1795952310485\n"),
        ("hex:00ff", "hex:00ff"),
    ],
)
def test_keys_ids_epochs_and_times_are_shortened(text: Any, expected: str) -> None:
    """A narrow column shows which key, which job and when, and nothing twice."""
    assert brief(text, POISONED) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"ok": None}, "nil"),
        ({"ok": ["JOB0NgWEfAEJfs", "", 1, []]}, '[…EJfs, "", 1, []]'),
        ({"error": "EMQSTATE not dead"}, "EMQSTATE not dead"),
        ({"unsupported": "reap"}, "unsupported reap"),
        (None, ""),
    ],
)
def test_replies_are_quoted(reply: Any, expected: str) -> None:
    """A reply reads as what came back, an error as its own words."""
    assert reply_text(reply, POISONED) == expected
