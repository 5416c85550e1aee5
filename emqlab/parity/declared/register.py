"""The register: every divergence with its sentence, the condition under which a call shows it, and a case that does."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from emqlab.divergences import DIVERGENCES
from emqlab.parity.declared.orders import AGREE, ORDERS
from emqlab.parity.declared.scene import Scene
from emqlab.parity.model.world import Values, World

Predicate = Callable[[World, bytes, str, Values], bool]

#: What no single call on one server can show, and why.
UNSEEN = MappingProxyType(
    {
        1: "a second client must pause the queue when the script's client has looked and the script has not run",
        4: "both clocks tell the same time; only the server's command statistics tell who asked",
        6: "it takes a user without a right to the keys that a claim derives",
        25: "what a server adds to an error's text is cut off before two replies are compared",
        26: "it takes a server that is short of memory",
    }
)
_ALONE = {number: frozenset((number,)) for number in DIVERGENCES} | {AGREE: frozenset[int]()}


@dataclass(frozen=True, slots=True)
class Divergence:
    """One place where the executors may differ.

    ``predicate`` tells whether a call shows it in its reply or in the keys it leaves; None for what no single call
    can show, and then ``unseen`` says why. ``shown`` names the case file that shows it alone, None without one.
    """

    number: int
    sentence: str
    predicate: Predicate | None
    shown: str | None
    unseen: str | None = None


def visible(world: World, queue: bytes, verb: str, values: Values) -> frozenset[int]:
    """The numbers that one call, run from ``world`` by each executor, shows in its reply or in the keys it leaves.

    Empty when both must agree. Where one of them refuses it is that refusal's number alone (SPEC 6). ``world`` is not
    changed. Raises KeyError for a verb that there is not.
    """
    scene, order = Scene(world, queue, verb, values), ORDERS[verb]
    for number, holds in order.verdicts:
        if holds(scene):
            return _ALONE[number]
    if not order.effects:
        return _ALONE[AGREE]
    return frozenset(number for number, holds in order.effects if holds(scene))


def shown_case(number: int) -> dict[str, Any] | None:
    """The smallest case that shows this divergence alone (SPEC 8's JSON), or None where no case can."""
    name = DECLARED[number].shown
    return None if name is None else _read(name)


def _read(name: str) -> dict[str, Any]:
    text = files("emqlab.parity").joinpath("shown", name).read_text(encoding="utf-8")
    case: dict[str, Any] = json.loads(text)
    return case


def _shows(number: int, world: World, queue: bytes, verb: str, values: Values) -> bool:
    return number in visible(world, queue, verb, values)


def _register() -> dict[int, Divergence]:
    return {
        number: Divergence(number, sentence, None, None, UNSEEN[number])
        if number in UNSEEN
        else Divergence(number, sentence, partial(_shows, number), f"{number:02}.json")
        for number, sentence in DIVERGENCES.items()
    }


DECLARED: dict[int, Divergence] = _register()
