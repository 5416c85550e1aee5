"""Recordings of what a case file can't say: a second client, a column that is not run, a changed file."""

from typing import Any

import pytest

import emqlab
from emqlab.observe.moments import moments, place, verdict
from emqlab.observe.recording import Column, record
from emqlab.observe.walk import of_calls
from emqlab.parity.defects.plants import plant_text
from emqlab.parity.defects.sources import open_defective, own_sources

JOB = "JOB0NgWEfAEJfs"
WAITING = [["HSET", f"{{p}}job:{JOB}", "state", "pending", "attempts", "0"], ["ZADD", "{p}pending", "0", JOB]]
CLAIM = {"verb": "claim", "lease_ms": "30000"}
PAUSE = [["HSET", "{p}meta", "paused", "1"]]


def case(*when: dict[str, Any], given: list[list[str]] | None = None) -> dict[str, Any]:
    """A case on one waiting job."""
    return {"name": "mine", "queue": "q", "given": WAITING if given is None else given, "when": list(when)}


def steps(recording: dict[str, Any], name: str) -> list[str]:
    """The ids of one column's frames."""
    (column,) = [one for one in recording["executors"] if one["name"] == name]
    return [frame["step"].partition("#")[0] for frame in column["frames"]]


def ends(recording: dict[str, Any]) -> list[str]:
    """Where the job is at the end, a column each."""
    return [place(column[-1].state, JOB) for column in moments(recording)]


# ---------------------------------------------------------------- a second client


def test_a_pause_falls_between_the_hosts_look_and_the_script(lab: emqlab.Lab) -> None:
    """The script claims all the same; for the verb there is no between, and it sees the flag."""
    recording = record(lab, case(CLAIM), meanwhile=PAUSE)
    assert steps(recording, "scripted")[:3] == ["pause", "raw", "head"]
    assert steps(recording, "native")[:3] == ["raw", "fence", "pause"]
    assert ends(recording) == ["active", "pending"]


def test_what_came_between_is_told_as_another_clients(lab: emqlab.Lab) -> None:
    """It has a sentence that says when, and touches nothing for the executor whose column it is in."""
    scripted, native = record(lab, case(CLAIM), meanwhile=PAUSE)["executors"]
    told = [next(f for f in column["frames"] if f["phase"] == "world") for column in (scripted, native)]
    assert [frame["note"] for frame in told] == [
        "Between the client's look and the script, another client sends HSET.",
        "Before the command arrives, another client sends HSET.",
    ]
    for frame in told:
        assert frame["by"] == "another client"
        assert frame["patch"] == {"other": {"meta paused": "1"}}
        assert "writes" not in frame


def test_the_transition_goes_on_after_it(lab: emqlab.Lab) -> None:
    """What it did is told from the beginning of the run, as of any other transition told command by command."""
    recording = record(lab, case(CLAIM), meanwhile=PAUSE)
    assert not of_calls(recording)
    assert verdict(recording, moments(recording)[0], len(recording["steps"])).text == "pending → active"


def test_a_transition_that_is_not_sent_is_not_interrupted(lab: emqlab.Lab) -> None:
    """The host has seen that the queue is paused: there is nothing on its way."""
    paused = case(CLAIM, given=[*WAITING, ["HSET", "{p}meta", "paused", "0"]])
    recording = record(lab, paused, executors=["scripted"], meanwhile=[["DEL", "{p}meta"]])
    assert steps(recording, "scripted") == ["pause", "reply"]


def test_it_comes_while_the_last_transition_is_on_its_way(lab: emqlab.Lab) -> None:
    """The transitions before it are the story that leads there."""
    added = {"verb": "enqueue", "id": JOB, "payload": "tea"}
    recording = record(lab, case(added, CLAIM, given=[]), executors=["scripted"], meanwhile=PAUSE)
    told = steps(recording, "scripted")
    assert told.count("raw") == 1
    assert told.index("raw") > told.index("pause") > told.index("reply")


def test_what_is_shown_but_no_case_says_is_beside_the_case(lab: emqlab.Lab) -> None:
    """The case stays as it can be run from the command line."""
    plain, own = record(lab, case(CLAIM)), record(lab, case(CLAIM), meanwhile=PAUSE, differs=[1], about="A pause.")
    assert "differs" not in plain
    assert "about" not in plain
    assert (own["differs"], own["about"], own["case"]) == ([1], "A pause.", plain["case"])


# ---------------------------------------------------------------- a column that is not run


def test_a_column_that_is_not_run_says_why(lab: emqlab.Lab) -> None:
    """It sends nothing and changes nothing; the other one is as ever."""
    why = "Only a real server does this."
    columns = [Column("scripted", "scripted", left_out=why), Column("native", "native")]
    recording = record(lab, case(CLAIM), columns=columns, titles={"scripted": "claim"})
    (frame,) = recording["executors"][0]["frames"]
    assert (frame["note"], frame["reply"]) == (why, {"unsupported": "on this server"})
    assert recording["executors"][0]["title"] == "claim"
    assert ends(recording) == ["pending", "active"]


def test_a_recording_without_a_run_is_none(lab: emqlab.Lab) -> None:
    """There would be no state to begin with."""
    with pytest.raises(ValueError, match="at least one column that is run"):
        record(lab, case(CLAIM), columns=[Column("a", "native", left_out="no")])


# ---------------------------------------------------------------- a changed file


def changed(lab: emqlab.Lab, executor: str, old: str, new: str) -> dict[str, Any]:
    """One claim by a changed file, and by the lab's own beside it."""
    sound = own_sources().text(f"claim.{'lua' if executor == 'scripted' else 'py'}")
    assert sound.count(old) == 1
    with open_defective(plant_text(executor, "claim", sound.replace(old, new))) as other:
        columns = [Column("changed", executor, lab=other), Column("own", executor)]
        return record(lab, case(CLAIM), columns=columns)


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_changed_file_is_told_by_its_own_lines(lab: emqlab.Lab, executor: str) -> None:
    """Three lines more at its beginning are three more in every frame."""
    first = "local head" if executor == "scripted" else "    host.fence()"
    more = "local a\n" * 3 if executor == "scripted" else "    a = 1\n" * 3
    other, own = changed(lab, executor, first, more + first)["executors"]
    lines = [[frame["line"] for frame in column["frames"] if "line" in frame] for column in (other, own)]
    assert lines[0] == [line + 3 for line in lines[1]]


def test_a_command_that_no_word_is_known_for_is_told_by_its_name(lab: emqlab.Lab) -> None:
    """Whoever changes a file may send what nobody has thought of."""
    old = "redis.call('HSET', row, 'state', 'active')"
    other, own = changed(lab, "scripted", old, f"{old}\nredis.call('HSET', row, 'colour', 'red')")["executors"]
    notes = {frame["step"]: frame["note"] for frame in other["frames"]}
    assert notes["write HSET"] == "The lab's own file sends no such HSET here."
    assert "write HSET" not in [frame["step"] for frame in own["frames"]]


def test_an_answer_of_another_shape_is_told_plainly(lab: emqlab.Lab) -> None:
    """The words of an answer know the shapes of the lab's own."""
    other, _ = changed(lab, "scripted", "{id, redis.call('HGET', row, 'payload'), attempts}", "{id}")["executors"]
    assert (other["reply"], other["frames"][-1]["note"]) == ({"ok": [JOB]}, "Answers so.")


def test_the_words_are_still_held_to_the_labs_own_files(lab: emqlab.Lab) -> None:
    """Only a column that runs elsewhere is told of so loosely."""
    sound = own_sources().text("claim.lua")
    text = sound.replace("'state', 'active')", "'state', 'active')\nredis.call('HSET', row, 'colour', 'red')")
    with (
        open_defective(plant_text("scripted", "claim", text)) as other,
        pytest.raises(LookupError, match="no words for write HSET"),
    ):
        record(other, case(CLAIM), executors=["scripted"])
