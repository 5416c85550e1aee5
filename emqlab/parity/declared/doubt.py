"""Where SPEC's words allow more than one number for a call, or its effect hangs on the server or on rounding.

A case's author is held to none of these numbers, and may name them.
"""

from collections.abc import Callable
from typing import Final

from emqlab.keys import VERSION, VERSION_KEY
from emqlab.parity.declared import holders
from emqlab.parity.declared.register import visible
from emqlab.parity.declared.scene import EXEMPT, GHOST, LANE, Scene, bad_count, next_count
from emqlab.parity.model.numbers import LARGEST, tonumber, whole_number
from emqlab.parity.model.world import Values, World

#: Beyond this a double skips whole numbers.
EXACT: Final = 2**53
#: From here on Redis prints a Lua number with an exponent, and other servers don't.
EXPONENT: Final = 10**17
_NONE = frozenset[int]()


def doubtful(world: World, queue: bytes, verb: str, values: Values) -> frozenset[int]:
    """The numbers that a case of this one call may name and may leave out, besides those it must name."""
    doubt = _DOUBTS.get(verb)
    if doubt is None:
        return _NONE
    return doubt(Scene(world, queue, verb, values), visible(world, queue, verb, values))


def _claim(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    lease_ms = whole_number(scene.values["lease_ms"], 1)
    # Of every verb 23 says that its deadlines are exact, and 5 says what claim makes of its lease.
    out = {5, 23} if lease_ms is not None and scene.now_ms + lease_ms > EXACT else set()
    if 24 in seen:
        token = next_count(scene.row.get(b"attempts"))
        if token is not None and float(token) >= 2.0**63:
            out.add(24)
    return frozenset(out)


def _fail(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    out = set()
    if 9 in seen:
        if 23 in seen:
            out |= {9, 23}
        attempts = tonumber(scene.row[b"attempts"])
        if attempts is not None and abs(attempts) >= EXACT:
            out.add(24)
    if 11 in seen and (scene.no_zset(b"active") or bad_count(scene.held(b"metrics:failed"), 1)):
        out |= {11, 23}
    return frozenset(out | ({23} if _far(scene, "delay_ms") else set()))


def _timed(value: str) -> Callable[[Scene, frozenset[int]], frozenset[int]]:
    def doubt(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
        return frozenset((23,)) if _far(scene, value) else _NONE

    return doubt


def _extends(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    out = {23} if _far(scene, "lease_ms") else set()
    if 10 in seen and holders.leases_are_bad(scene) and any(fate == LANE for fate, _ in scene.pairs):
        out |= {10, 23}
    return frozenset(out)


def _requeue(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    # Natively it may be refused, and for reasons that have numbers of their own elsewhere.
    if scene.keys.get(VERSION_KEY) not in (None, VERSION):
        return frozenset((7, 21))
    wrong = scene.row is not None and type(scene.row) is not dict
    if wrong or scene.no_zset(b"active") or scene.no_zset(b"pending"):
        return frozenset((10, 12, 23))
    if holders.not_current(scene):
        return _NONE
    if holders.bound(scene):
        return frozenset((10,))
    return frozenset((12,)) if holders.unleased(scene) else _NONE


def _promote(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    batch = whole_number(scene.values["batch"], 1)
    if batch is None or 7 in seen:
        return _NONE
    if batch >= EXPONENT:
        return seen | {22, 23}
    return frozenset((22, 23)) if GHOST in scene.fates and scene.no_zset(b"pending") else _NONE


def _sweep(scene: Scene, seen: frozenset[int]) -> frozenset[int]:
    most, limit = (whole_number(scene.values[name], 1) for name in ("max_stalled", "limit"))
    if most is None or limit is None or 7 in seen:
        return _NONE
    out = {19, 23, 24} if most >= EXACT else set()
    if limit >= EXPONENT:
        out |= seen | {19, 23}
    if not seen & {15, 16}:
        return frozenset(out)
    stops = scene.no_zset(b"pending") or scene.no_zset(b"dead")
    if stops or bad_count(scene.held(b"metrics:failed"), len(scene.due)):
        out |= {23} if len(scene.due) == 1 else seen | {23}
    for (_, row), fate in zip(scene.due, scene.fates, strict=True):
        if fate == EXEMPT and next_count(row.get(b"stalled")) is None:
            # The script stops here, and what stands behind it shows nothing any more, or only that.
            out |= {18} if len(scene.due) == 1 else seen | {18}
    return frozenset(out)


def _far(scene: Scene, value: str) -> bool:
    """Whether that many ms from now is a sum that Lua rounds, or no time of 64 bits."""
    added = whole_number(scene.values[value], 0)
    return added is not None and EXACT < scene.now_ms + added <= LARGEST


_DOUBTS: dict[str, Callable[[Scene, frozenset[int]], frozenset[int]]] = {
    "schedule": _timed("value"),
    "claim": _claim,
    "fail": _fail,
    "delay": _timed("value"),
    "requeue": _requeue,
    "extend": _timed("lease_ms"),
    "extends": _extends,
    "promote": _promote,
    "stalled_check": _sweep,
}
