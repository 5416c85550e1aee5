"""Why a reader's text is no case yet: the case reader's sentence, without what the reader knows."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from emqlab.observe.case import escaped

#: What the checks of a case call a reader's.
YOURS = "your case"
#: Entries of a list, as the case reader writes them -> as a reader counts them, from 1.
_ENTRIES = {"when": "step {}, ", "given": "command {} of given, "}


def plainly(sentence: str, answer: Mapping[Any, Any]) -> str:
    """Where ``answer`` is wrong and how, in one go: ``your case: mine: when[2].token: missing; …`` as it is refused.

    Becomes ``step 3, token is missing; …``: the reader knows whose case it is, and its name.
    """
    name = answer.get("name")
    for known in (YOURS, name if isinstance(name, str) else "", "name"):
        sentence = sentence.removeprefix(escaped(f"{known}: "))
    for entries, told in _ENTRIES.items():
        sentence = re.sub(rf"\b{entries}\[(\d+)\]\.?", partial(_counted, told), sentence)
    sentence = re.sub(r"^([^:]*): (?=must\b)", r"\1 ", sentence.replace(", :", ":"))
    return re.sub(r"^([^:]*): missing\b", r"\1 is missing", sentence)


def _counted(told: str, at: re.Match[str]) -> str:
    return told.format(int(at[1]) + 1)
