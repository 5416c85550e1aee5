"""Where an end on show differs, a number that is listed says why: of every case, and of every widget as it is picked.

It is asked of the runs, not of the model that says which numbers a case may name.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest

import emqlab
import emqlab_widgets as widgets
from emqlab.observe.every import every
from emqlab.observe.recording import Column, record
from emqlab.observe.walk import moments
from emqlab.teach import cases
from emqlab_widgets.links import WIDGETS

#: Fields that the native verbs alone write, with the number that says so.
OWN = {"lease_epoch": 8, "failures": 9}


def unexplained(recording: Mapping[str, Any], numbers: Sequence[int]) -> list[str]:
    """What differs between script and verb at the end and no listed number is about, or the stamp's without one."""
    pair = [each for each in recording["executors"] if each["name"] in ("scripted", "native")]
    both = {**recording, "executors": pair}
    lines = every(both, moments(both), len(recording["steps"]))
    parted = [line.name for line in lines if any(line.odd)]
    if 8 in numbers and not any(name.endswith("lease_epoch") for name in parted):
        return ["8 is listed, and every stamp is the same"]
    if pair[0]["reply"] != pair[1]["reply"]:
        parted.append("the last answer")
    return [name for name in parted if not _explains(name, numbers)]


def _explains(name: str, numbers: Sequence[int]) -> bool:
    number = OWN.get(name.split()[-1])
    # The stamp explains nothing but itself.
    return bool({*numbers} - {8}) if number is None else number in numbers


def columns_of(case: Mapping[str, Any]) -> list[Column]:
    """Both executors; a script needs a real server where the case changes what its user may do."""
    rights = any(command[0] == "ACL" for command in case["given"])
    return [Column("scripted", "scripted", left_out="On Valkey." if rights else ""), Column("native", "native")]


def test_what_differs_at_the_end_of_a_case_is_listed(lab: emqlab.Lab) -> None:
    """A stamp that only one side bears is 8, however the case ends otherwise; a counted failure is 9."""
    silent = {}
    for case in cases.every_case():
        recording = record(lab, case, columns=columns_of(case), detail="calls")
        if found := unexplained(recording, case.get("differs", [])):
            silent[case["name"]] = found
    assert silent == {}


def ways(stage: widgets.Stage) -> Iterator[dict[str, str]]:
    """Every choice of a stage: of a free text those on offer, and of the instrument the defect it opens on."""
    if stage.title == "Instrument":
        yield dict(stage.shown)
        return
    found = [(pick["name"], [one["value"] for one in pick.get("presets") or pick["options"]]) for pick in stage.picks]
    for values in product(*(values for _, values in found)):
        yield dict(zip((name for name, _ in found), values, strict=True))


@pytest.mark.parametrize("name", WIDGETS.values())
def test_what_differs_at_the_end_of_a_stage_is_listed(lab: emqlab.Lab, name: str) -> None:
    """Under the picks, with its sentence: whatever is picked."""
    stage = getattr(widgets, name)(lab)
    silent = {}
    for choice in ways(stage):
        stage.choice = choice
        assert (stage.trouble, stage.shown) == ("", choice)
        listed = stage._shown().differs
        assert all(sentence for _, sentence in listed)
        if found := unexplained(stage.recording, [number for number, _ in listed]):
            silent["/".join(choice.values())] = found
    assert silent == {}
