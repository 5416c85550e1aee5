"""The other end of the sandbox: takes an answer from stdin, judges it, and says so through a pipe.

``python -m emqlab.teach.judge <exercise> <file descriptor>``; it says ``ready``, then the verdict as one line of JSON.
In the place of an exercise ``hunt`` has the instrument look at a reader's own text, and says what it caught.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from contextlib import suppress
from dataclasses import asdict

from emqlab.lab import open_lab
from emqlab.teach import hunting, limits
from emqlab.teach.altered import copy_of, opened, own_text
from emqlab.teach.answers import no
from emqlab.teach.exercises import EXERCISES
from emqlab.teach.instrument import Catch, catch_text
from emqlab.teach.sandbox import MEMORY, WRITTEN
from emqlab.teach.verdict import Verdict, could_not

#: What has the instrument look at a text.
HUNTING = ("02-3", "04-3", "hunt")


def main(exercise: str, told: int) -> None:
    """Judge what stdin brings; the time begins once everything is there that judging it takes, a hunt included."""
    packed = base64.b64decode(sys.stdin.buffer.read())
    _bound()
    if exercise in HUNTING:
        prepare()
    with open_lab("embedded") as lab:
        os.write(told, b"ready\n")
        limits.by_time = True
        try:
            judge = catch_text if exercise == "hunt" else EXERCISES[exercise].judge
            verdict = judge(lab, pickle.loads(packed))
        except Exception as error:  # whatever the reader's code does, the reader gets a sentence
            verdict = could_not(error)
        except BaseException as error:  # sys.exit and the like
            verdict = no(f"Your code ended itself with {type(error).__name__}, before there was a verdict.")
        sys.stdout.flush()
        sys.stderr.flush()
        _say(told, verdict)


def prepare() -> None:
    """Import what judges import where they use it, and whatever a hunt needs."""
    from emqlab.parity import compare, explain  # noqa: F401

    opened(copy_of("claim.py", own_text("claim.py"))).close()
    hunting.prepare()


def _bound() -> None:
    """Ask for no more memory and no longer files than the notebook can spare."""
    import resource

    for what, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, WRITTEN)):
        with suppress(ValueError, OSError):  # a system may have a lower one already, or none
            resource.setrlimit(what, (most, most))


def _say(told: int, verdict: Verdict | Catch) -> None:
    line = json.dumps(asdict(verdict)).encode() + b"\n"
    while line:
        line = line[os.write(told, line) :]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
