"""Which conditions a verb is asked, in the order in which the native verb comes to its verdict (SPEC 5.2)."""

from collections.abc import Callable
from dataclasses import dataclass

from emqlab.parity.declared import arguments, arrivals, holders, rounds
from emqlab.parity.declared.fence import fenced, refused_alike
from emqlab.parity.declared.scene import Scene

Condition = Callable[[Scene], bool]
#: In place of a number: both executors say the same and the call ends there.
AGREE = 0


@dataclass(frozen=True, slots=True)
class Order:
    """``verdicts``: the first that holds ends the call, alone. ``effects``: all that hold where nothing ended it."""

    verdicts: tuple[tuple[int, Condition], ...] = ()
    effects: tuple[tuple[int, Condition], ...] = ()


def always(scene: Scene) -> bool:
    """One of the executors has no such verb."""
    return True


_FENCE = ((7, fenced), (AGREE, refused_alike))
_HOLDER = (*_FENCE, (AGREE, holders.not_current), (10, holders.bound))
_LEASE = (*_HOLDER, (AGREE, holders.leases_are_bad), (12, holders.unleased))

ORDERS: dict[str, Order] = {
    "enqueue": Order(
        ((23, arguments.nameless), *_FENCE, (AGREE, arrivals.nothing_new), (23, arrivals.line_is_bad)),
    ),
    "schedule": Order(
        ((23, arguments.odd_due), *_FENCE, (AGREE, arrivals.nothing_new), (23, arrivals.due_is_bad)),
        ((23, arrivals.due_is_rounded),),
    ),
    "claim": Order(
        (
            (5, arguments.odd_lease),
            *_FENCE,
            (AGREE, arrivals.paused),
            (2, arrivals.meta_is_bad),
            (AGREE, arrivals.nothing_to_lease),
            (3, arrivals.head_is_bad),
            (5, arrivals.lease_is_beyond),
        ),
        ((8, arrivals.unstamped), (24, arrivals.token_is_rounded), (5, arrivals.lease_is_rounded)),
    ),
    "complete": Order(
        (
            (23, arguments.nameless),
            *_HOLDER,
            (AGREE, holders.leases_are_bad),
            (AGREE, holders.line_is_asked_in_vain),
            (13, holders.in_neither),
            (23, holders.completions_are_bad),
        ),
    ),
    "fail": Order(
        (
            (23, arguments.odd_budget),
            *_HOLDER,
            (AGREE, holders.graves_are_bad_alike),
            (23, holders.graves_are_bad),
            (11, holders.in_its_grave),
            (AGREE, holders.leases_are_bad),
            (12, holders.unleased),
            (14, holders.failures_are_bad),
            (23, holders.failure_is_bad),
        ),
        ((9, holders.counted), (23, holders.failure_stops_short)),
    ),
    "delay": Order(
        ((23, arguments.odd_due), *_FENCE, (AGREE, holders.other_kind), *_LEASE[2:], (23, arrivals.due_is_bad)),
        ((23, arrivals.due_is_rounded),),
    ),
    "requeue": Order(((21, always),)),
    "extend": Order(
        ((23, arguments.odd_lease), *_LEASE, (23, arrivals.lease_is_beyond)),
        ((8, arrivals.unstamped), (23, arrivals.lease_is_rounded)),
    ),
    "extends": Order(
        (
            (23, arguments.odd_pairs),
            *_FENCE,
            (AGREE, holders.heartbeat_refused_alike),
            (23, holders.heartbeat_is_bad),
        ),
        (
            (8, holders.some_unstamped),
            (10, holders.some_bound),
            (12, holders.some_unleased),
            (23, holders.some_rounded),
        ),
    ),
    "promote": Order(
        (
            (23, arguments.odd_batch),
            *_FENCE,
            (23, arguments.no_batch),
            (AGREE, rounds.nothing_due),
            (22, rounds.first_a_lane_row),
            (23, rounds.first_a_bad_row),
            (23, rounds.targets_are_bad),
        ),
        ((22, rounds.some_ghost),),
    ),
    "stalled_check": Order(
        (
            (19, arguments.odd_caps),
            *_FENCE,
            (23, arguments.no_limit),
            (AGREE, rounds.nothing_due),
            (17, rounds.first_a_lane_row),
            (18, rounds.first_a_bad_row),
            (23, rounds.targets_are_bad),
        ),
        ((15, rounds.some_exempt), (16, rounds.some_ghost), (24, rounds.stalls_are_rounded)),
    ),
    "reprocess": Order(
        ((23, arguments.nameless), *_FENCE, (AGREE, arrivals.not_dead), (23, arrivals.revival_is_bad)),
    ),
    "pause": Order(),
    "resume": Order(),
    "reap": Order(((20, always),)),
    "lane_enqueue": Order(((20, always),)),
    "lane_claim": Order(((20, always),)),
    "lane_pause": Order(((20, always),)),
    "lane_resume": Order(((20, always),)),
    "lane_limit": Order(((20, always),)),
    "flow_add": Order(((20, always),)),
}
