"""A history of one job, composed of moves, as a case: what each move sends, and with which token.

==========  ============================================================================================
move        steps
==========  ============================================================================================
claim       a claim for five seconds
fail        a failure, due again at once, and a promotion, so that the next claim finds the job
requeue     the job given back at once; no script does that (divergence 21), so there nothing is sent
delay       the job given back, due at once, and a promotion
lapse       the clock moved to the lease's end, and a sweep whose ``max_stalled`` is far off
==========  ============================================================================================

A holder presents the token that its own last claim was answered with: per executor, and read from a run of what came
before, for where one executor's job is dead the other's goes on. Before the first claim it presents ``1``. A move that
makes no sense, such as a failure while nobody holds the job, is sent all the same: the answer is the point.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from emqlab.observe.case import EXECUTORS
from emqlab.observe.case_reader import parse_case
from emqlab.teach.cases import steps as cases
from emqlab.teach.tokens import handed_out

if TYPE_CHECKING:
    from emqlab.lab import Lab

MOVES = ("claim", "fail", "requeue", "delay", "lapse")
#: How many moves a history may have.
MOST = 12
#: The caps on attempts, or failures, that can be chosen.
CAPS = (1, 2, 3, 4, 5)
LEASE_MS = 5_000
#: So many stalls kill: more than a history has.
FAR_OFF = 100
#: What is presented while no claim was answered.
NO_TOKEN = 1

#: Name -> the moves of a history worth a look.
HISTORIES = {
    "fails": "claim fail claim fail claim fail",
    "lost": "claim fail claim lapse claim fail",
    "released": "claim delay claim delay claim fail",
    "requeued": "claim requeue claim requeue claim fail",
    "crashes": "claim lapse claim lapse claim lapse claim lapse",
}


class BadHistory(ValueError):
    """A history that can't be composed; ``str`` is one sentence."""


@dataclass(frozen=True, slots=True)
class History:
    """A history as it is run: its moves, the cap, and for each executor the case that it runs.

    The cases are one and the same unless the executors handed out different tokens.
    """

    moves: tuple[str, ...]
    max_attempts: int
    cases: dict[str, cases.CaseJson]


def moves_of(text: str) -> tuple[str, ...]:
    """The moves of a text such as ``claim fail claim``. Raises BadHistory for an unknown move, or too many."""
    moves = tuple(text.split())
    for move in moves:
        if move not in MOVES:
            raise BadHistory(f"{move!r} is no move; the moves are {', '.join(MOVES)}")
    if len(moves) > MOST:
        raise BadHistory(f"a history has at most {MOST} moves, not {len(moves)}")
    return moves


def compose(lab: "Lab", moves: Sequence[str], max_attempts: int) -> History:
    """The history as cases, each token taken from a run of what came before it.

    ``max_attempts`` is what each failure names. Raises BadHistory, and CannotRecord where the server's clock can't be
    moved for a ``lapse``.
    """
    checked = moves_of(" ".join(moves))
    if max_attempts not in CAPS:
        raise BadHistory(f"max_attempts is one of {', '.join(map(str, CAPS))}, not {max_attempts!r}")
    whens = {name: _when(lab, checked, max_attempts, name) for name in EXECUTORS}
    return History(checked, max_attempts, {name: _case(lab, checked, max_attempts, whens[name]) for name in EXECUTORS})


def _when(lab: "Lab", moves: Sequence[str], max_attempts: int, executor: str) -> list[cases.StepJson]:
    """The steps of all moves on one executor."""
    when: list[cases.StepJson] = []
    token, known = NO_TOKEN, True
    for move in moves:
        if move in ("fail", "requeue", "delay") and not known:
            token, known = _answered(lab, when, executor), True
        when += _steps(move, token, max_attempts)
        known = known and move != "claim"
    return when


def _steps(move: str, token: int, max_attempts: int) -> Iterator[cases.StepJson]:
    if move == "claim":
        yield cases.claim(LEASE_MS)
    elif move == "fail":
        yield cases.fail(token, max_attempts=max_attempts, delay_ms=0)
        yield cases.promote()
    elif move == "delay":
        yield cases.delay(token, in_ms=0)
        yield cases.promote()
    elif move == "requeue":
        yield cases.requeue(token)
    else:
        yield cases.advance(LEASE_MS)
        yield cases.sweep(FAR_OFF)


def _answered(lab: "Lab", when: list[cases.StepJson], executor: str) -> int:
    """The token of the last claim that a run of ``when`` answered with a job."""
    found = handed_out(lab, executor, _source("budgets/so-far", when), "this history")
    return next((token for token in reversed(found) if token is not None), NO_TOKEN)


def _source(name: str, when: list[cases.StepJson], about: str = "") -> cases.CaseJson:
    return {"name": name, "queue": cases.QUEUE, "about": about, "given": cases.WAITING, "when": when}


def _case(lab: "Lab", moves: Sequence[str], max_attempts: int, when: list[cases.StepJson]) -> cases.CaseJson:
    """The steps as a case that ``emqlab run`` takes, with the divergences that it shows."""
    name = f"budgets/{max_attempts}/{'-'.join(moves)}"
    case = _source(name, when, f"{' '.join(moves) or 'no move'}; max_attempts is {max_attempts}")
    differs = _differs(lab, case)
    return {**case, "differs": differs} if differs else case


def _differs(lab: "Lab", source: dict[str, Any]) -> list[int]:
    """The declared divergences that a case must name and its end shows, or else may: the third voice says which."""
    from emqlab.parity.explain import explained  # the model is much to load, and only a case needs it

    case = parse_case(source)
    seen = explained(case, lab.now_ms(), lab.run_id.encode())
    if seen is None:
        raise AssertionError(f"{case.name} holds a step that nobody follows")
    return sorted(seen.seen if seen.certain else seen.possible)
