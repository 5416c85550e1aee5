"""Every exercise has a solution and a tempting mistake in these tests, each of them judged in its dive's file."""

import pytest

from emqlab.teach.exercises import EXERCISES
from tests.teach import test_check, test_dive02, test_dive03, test_dive04, test_dive05

FILES = (test_check, test_dive02, test_dive03, test_dive04, test_dive05)


@pytest.mark.parametrize("name", ["SOLUTIONS", "WRONG"])
def test_every_exercise_has_a_solution_and_a_mistake(name: str) -> None:
    """Without this, one that nobody can solve could stay, or one that takes whatever it is given."""
    assert {exercise for file in FILES for exercise, *_ in getattr(file, name)} == set(EXERCISES)
