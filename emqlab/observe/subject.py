"""Which job a recording is about."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from emqlab.observe.case import Case, encoded
from emqlab.observe.run import Run
from emqlab.observe.words import member_of

_ID = re.compile(rb"[A-Z]{3}[0-9A-Za-z]{11}")


def subject_of(case: Case, runs: Iterable[Run]) -> bytes:
    """The id that the first verb step with an id names; else the first that a run touched; else the first in ``given``.

    Empty when the case speaks of no job at all.
    """
    for found in (*_named(case), *_touched(runs), *_given(case)):
        return found
    return b""


def _named(case: Case) -> Iterator[bytes]:
    for step in case.when:
        job = step.values.get("id")
        if isinstance(job, bytes):
            yield job
        pairs = step.values.get("pairs", ())
        if not isinstance(pairs, bytes) and pairs:
            yield pairs[0][0]


def _touched(runs: Iterable[Run]) -> Iterator[bytes]:
    for run in runs:
        for done in run.trace:
            for told in done.traced.told if done.traced else ():
                job = member_of(told.command, run.case.queue, told.reply)
                if job is not None:
                    yield job


def _given(case: Case) -> Iterator[bytes]:
    for command in case.given:
        for part in command:
            yield from _ID.findall(_bytes(part))


def _bytes(part: Any) -> bytes:
    return bytes.fromhex(part["hex"]) if isinstance(part, dict) else encoded(part)
