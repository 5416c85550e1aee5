"""The twelve verbs, one file each, in the subset of Python that every host runs (ARCHITECTURE.md)."""

from collections.abc import Callable, Sequence

from emqlab.native.host import Host, Value
from emqlab.native.verbs.claim import claim
from emqlab.native.verbs.complete import complete
from emqlab.native.verbs.delay import delay
from emqlab.native.verbs.enqueue import enqueue
from emqlab.native.verbs.extend import extend
from emqlab.native.verbs.extends import extends
from emqlab.native.verbs.fail import fail
from emqlab.native.verbs.promote import promote
from emqlab.native.verbs.reprocess import reprocess
from emqlab.native.verbs.requeue import requeue
from emqlab.native.verbs.schedule import schedule
from emqlab.native.verbs.stalled_check import stalled_check

Verb = Callable[[Host, Sequence[bytes]], Value | list[bytes]]

#: Command name -> its one body.
VERBS: dict[str, Verb] = {
    "EMQ.CLAIM": claim,
    "EMQ.COMPLETE": complete,
    "EMQ.DELAY": delay,
    "EMQ.ENQUEUE": enqueue,
    "EMQ.EXTEND": extend,
    "EMQ.EXTENDS": extends,
    "EMQ.FAIL": fail,
    "EMQ.PROMOTE": promote,
    "EMQ.REPROCESS": reprocess,
    "EMQ.REQUEUE": requeue,
    "EMQ.SCHEDULE": schedule,
    "EMQ.STALLED.CHECK": stalled_check,
}

__all__ = ["VERBS", "Verb"]
