"""Shrinking: a trial that is not as declared, made as small as it can be while it stays so."""

from collections.abc import Iterator
from dataclasses import replace

from emqlab.parity.model import Held, World, Zset
from emqlab.parity.rig import Rig
from emqlab.parity.trials.trial import Do, Trial
from emqlab.parity.verdict import Verdict, judge

#: How many smaller trials are tried at most.
TRIES = 400


def shrunk(rig: Rig, trial: Trial) -> tuple[Trial, Verdict]:
    """The smallest trial that was found not to be as declared, and its verdict.

    Steps, keys, fields, members and items are left out one at a time, until nothing more can go. A divergence that the
    finding did not show is not walked into: the smaller trial would be about something else.
    """
    best, verdict = trial, judge(rig.run([trial])[0])
    tries = 0
    again = True
    while again:
        again = False
        for smaller in _smaller(best):
            tries += 1
            if tries > TRIES:
                return best, verdict
            found = judge(rig.run([smaller])[0])
            if found.complaints and found.numbers <= verdict.numbers:
                best, verdict, again = smaller, found, True
                break
    return best, verdict


def _smaller(trial: Trial) -> Iterator[Trial]:
    """Every trial with one thing less."""
    if len(trial.steps) > 1:
        for place in range(len(trial.steps)):
            left = trial.steps[:place] + trial.steps[place + 1 :]
            if any(isinstance(step, Do) for step in left):
                yield replace(trial, steps=left)
    held = trial.start.keys
    for name in held:
        yield _with(trial, {other: value for other, value in held.items() if other != name})
    for name, value in held.items():
        for part in _parts(value):
            yield _with(trial, {**held, name: part})


def _parts(value: Held) -> Iterator[Held]:
    """The same value with one field, member or item less; never an empty one."""
    if isinstance(value, bytes) or len(value) < 2:
        return
    if isinstance(value, Zset):
        for member in value:
            yield Zset({other: score for other, score in value.items() if other != member})
    elif isinstance(value, set):
        for member in value:
            yield value - {member}
    elif isinstance(value, list):
        for place in range(len(value)):
            yield value[:place] + value[place + 1 :]
    else:
        fields: dict[bytes, bytes] = dict(value.items())
        for field in fields:
            yield {other: text for other, text in fields.items() if other != field}


def _with(trial: Trial, held: dict[bytes, Held]) -> Trial:
    return replace(trial, start=World(held, trial.start.now_ms, trial.start.run_id))
