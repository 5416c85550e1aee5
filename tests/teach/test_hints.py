"""Hints come one at a time and run out at the answer's shape."""

import html

import pytest

from emqlab.teach import hint, progress
from emqlab.teach.exercises import EXERCISES
from tests.teach.mute import Mute


def test_every_exercise_has_hints() -> None:
    """Three hints and a shape, all different, for each."""
    assert {len(set(exercise.hints)) for exercise in EXERCISES.values()} == {4}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_three_hints_then_the_shape_which_stays(exercise: str) -> None:
    """The fifth time is no surprise: the shape again, and no more hints are counted."""
    taken = [hint(exercise) for _ in range(6)]
    assert [one.number for one in taken] == [1, 2, 3, 4, 4, 4]
    assert [one.text for one in taken[:4]] == list(EXERCISES[exercise].hints)
    assert repr(taken[1]).startswith("Hint 2 of 3: ")
    assert "once more shows the shape of an answer" in " ".join(repr(taken[2]).split())
    assert repr(taken[3]).startswith("No more hints. The shape of an answer: ")
    assert progress.read().hints == {exercise: 4}


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_hint_is_broken_between_words_only(exercise: str) -> None:
    """Its text is in lines of a readable length, its HTML leaves that to the page; names stay whole in both."""
    for one in [hint(exercise) for _ in range(4)]:
        assert " ".join(one.text.split()) in " ".join(repr(one).split())
        assert all(len(line) <= 88 for line in repr(one).splitlines())
        assert html.escape(one.text) in one._repr_html_()


def test_what_can_not_be_shown_gets_a_sentence_too() -> None:
    """In the place of a name: by its type, and nothing is noted."""
    assert hint(Mute()).text.startswith("There is no exercise <Mute that can't be shown>; they are 00-1, ")  # type: ignore[arg-type]
    assert progress.read() == progress.Progress()


def test_an_unknown_exercise_gets_a_sentence() -> None:
    """And nothing is noted."""
    assert repr(hint("01-9")).startswith("There is no exercise '01-9'")
    assert progress.read() == progress.Progress()
