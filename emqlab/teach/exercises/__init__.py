"""The exercises, a file a dive: each has a title, hints, and a judge that runs a reader's answer."""

from emqlab.teach.exercises import dive00, dive01, dive02, dive03, dive04, dive05
from emqlab.teach.exercises.exercise import Exercise

__all__ = ["EXERCISES", "Exercise"]

#: By their names: the dive's number and the exercise's.
EXERCISES: dict[str, Exercise] = {
    name: exercise
    for dive in (dive00, dive01, dive02, dive03, dive04, dive05)
    for name, exercise in dive.EXERCISES.items()
}
