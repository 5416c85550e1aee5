"""What an exercise is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emqlab.lab import Lab
from emqlab.teach.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Exercise:
    """``judge(lab, answer)`` runs an answer on a lab of its own. ``hints`` are three, and the answer's shape.

    ``code`` says that the answer is, or brings, code of the reader's: a function, a script, a verb. Such an answer is
    judged in a process of its own, which is ended when it takes too long. ``file`` says that the code is a changed
    file of the lab's, and no function: then there is no judging without such a process. ``unfit`` says what is wrong
    with an answer that need not be run for that, and None of another; then no process is started.
    """

    title: str
    judge: Callable[[Lab, Any], Verdict]
    hints: tuple[str, str, str, str]
    code: bool = False
    file: bool = False
    unfit: Callable[[Any], Verdict | None] = lambda answer: None
