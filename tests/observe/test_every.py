"""Every key: all that a database would hold at one step, named, in order, and marked where the executors part."""

import json
from pathlib import Path
from typing import Any

from emqlab.observe.every import KeyLine, every
from emqlab.observe.moments import moments

STORED = Path(__file__).parents[1] / "widgets" / "recordings.json"
RECORDINGS: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))


def lines(recording: dict[str, Any], step: int = -1) -> dict[str, KeyLine]:
    """The table by name; no name comes twice."""
    found = every(recording, moments(recording), step)
    named = {one.name: one for one in found}
    assert len(named) == len(found)
    return named


def test_a_lost_id_is_a_key_that_one_executor_lacks() -> None:
    """The script popped it, the verb left it: the line of the set says so, with a word for the ears."""
    line = lines(RECORDINGS["claim/bad-attempts"])["pending …GLuC"]
    assert line == KeyLine("pending …GLuC", ("0 → absent, differs", "0, differs"), (True, True))


def test_the_jobs_row_comes_first_then_sets_metrics_and_the_rest() -> None:
    """A reader finds a key at the same place in every case."""
    named = list(lines(RECORDINGS["reap/many"]))
    groups = [
        0 if name.startswith("row ") else 1 if name.startswith("job:") else 3 if name.startswith("metrics:") else 2
        for name in named
    ]
    known = groups[: 1 + max(at for at, group in enumerate(groups) if group in (0, 1, 3))]
    assert known == sorted(known)
    assert set(known) >= {0, 1, 2}


def test_every_row_of_every_job_is_there() -> None:
    """Not the subject's alone: a sweep moves others too."""
    recording = RECORDINGS["reap/many"]
    named = lines(recording, 0)
    stored = [
        (job, field) for job, row in recording["before"]["rows"].items() if isinstance(row, dict) for field in row
    ]
    names = [f"{'row' if job == recording['subject'] else f'job:…{job[-4:]}'} {field}" for job, field in stored]
    assert [name for name in names if name not in named] == []


def test_a_time_is_told_from_now() -> None:
    """A score that is a time reads as it does in a command, and a stamp as it does in the ledger."""
    named = lines(RECORDINGS["claim/ordinary"])
    assert named["active …GLuC"].cells == ("absent → now+30000", "absent → now+30000")
    assert named["row lease_epoch"].cells == ("absent, differs", "absent → this epoch, differs")


def test_a_key_of_another_type_is_its_type() -> None:
    """A row that is a string has no fields; its line says what it is."""
    recording = json.loads(json.dumps(RECORDINGS["claim/ordinary"]))
    recording["before"]["rows"][recording["subject"]] = "string"
    recording["before"]["sets"]["dead"] = "hash"
    named = lines(recording, 0)
    assert (named["row"].cells, named["dead"].cells) == (("(string)",) * 2, ("(hash)",) * 2)
