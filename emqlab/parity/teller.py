"""Where `emqlab parity` tells: results on standard output, what goes on and what is wrong on standard error."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from emqlab.observe.case import escaped


class Unusable(ValueError):
    """What the user asked for can't be run. One sentence."""


class Teller:
    """Where a run tells: results on ``out``, what goes on and what is wrong on ``err``."""

    def __init__(self, *, as_json: bool, out: TextIO, err: TextIO) -> None:
        self.as_json = as_json
        self.out = out
        self.err = err
        #: Whether everything was as declared so far.
        self.sound = True
        self.apart: list[str] = []

    def line(self, told: dict[str, Any]) -> None:
        """One line of JSON, if that is what is asked for."""
        if self.as_json:
            self.out.write(json.dumps(told) + "\n")
            self.out.flush()

    def beside(self, sentence: str) -> None:
        """Something is not as declared that no case of a layer shows; the report has it too."""
        self.apart.append(sentence)
        self.wrong(sentence)

    def wrong(self, sentence: str) -> None:
        """Something is not as declared."""
        self.sound = False
        self.err.write(escaped(sentence) + "\n")

    @contextmanager
    def progress(self, what: str, total: int | None, unit: str) -> Iterator[Callable[[int], Any]]:
        """A bar on a terminal, nothing elsewhere; what is given is called with how many more are done."""
        from tqdm import tqdm

        with tqdm(total=total, desc=what, unit=f" {unit}", file=self.err, leave=False, disable=None) as bar:
            yield bar.update
