"""Exercise 02-3: a copy that lets a token past that is not the current one, and is caught at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from emqlab.lab import Lab
from emqlab.observe.run import Run
from emqlab.replies import ErrorReply
from emqlab.teach.altered import Copy, altered, happy_path, hunt, hunt_told, named, opened, told_of
from emqlab.teach.answers import no, run_of, yes
from emqlab.teach.cases.fence import CURRENT, ODD, READERS, TOKENS, fence
from emqlab.teach.hunting import Hunt, cases
from emqlab.teach.verdict import Verdict

if TYPE_CHECKING:
    from emqlab.parity.model import Held
    from emqlab.parity.rig import Ran
    from emqlab.parity.trials.trial import Do


@dataclass(frozen=True, slots=True)
class Passed:
    """A token that got past a copy, and the ``attempts`` of the row that it was held against."""

    token: str
    attempts: str


def broken(lab: Lab, answer: Any) -> Verdict:
    """A copy that takes a token it should refuse, is sound on the happy path, and is seen by the instrument."""
    copy = altered(answer)
    if isinstance(copy, Verdict):
        return copy
    verbs = [verb for verb in READERS if verb in copy.verbs]
    if not verbs:
        readers = "complete, fail (retry.lua), delay, requeue, extend and extends"
        return no(f"{copy.file} reads no token, so there is no fence in it; the verbs with one are {readers}.")
    with opened(copy) as changed:
        strayed = happy_path(lab, changed, copy)
        if strayed is not None:
            return strayed
        passed, refused, tried = _let_through(lab, changed, copy, verbs)
    caught, found = _hunted(copy)
    if passed is not None or caught is not None:
        return _judged(copy, passed, caught, found)
    assert refused is not None
    why = (
        f"The happy path holds, and so does the fence, as far as it was tried: of {len(tried)} tokens that are not "
        f"the current one ({', '.join(tried)}) none gets past your {copy.file} on a row whose attempts is {CURRENT}, "
        f"and the instrument saw none get past it in {cases(found.tried)}."
    )
    return told_of(lab, refused, why, "a token taken")


def _judged(copy: Copy, passed: Passed | None, caught: Passed | None, found: Hunt) -> Verdict:
    """What is said of a copy that lets a token past: solved, if the instrument has seen one taken as well.

    ``passed`` is a token of the exercise's own rows, ``caught`` the instrument's in the hunt ``found``.
    """
    one = passed or caught
    assert one is not None
    through = f"Token {one.token} gets past your {copy.file}, on a row whose attempts is {one.attempts}."
    if caught is not None:
        as_well = "" if caught == one else f" There it was token {caught.token}, and attempts {caught.attempts}."
        return yes(f"{through} {hunt_told(found)}{as_well}")
    if found.other is None:
        return no(f"{through} {hunt_told(found)} Break it so that it shows more often.", field="instrument")
    return no(
        f"{through} In {cases(found.tried)} the instrument saw no token taken, only that your copy breaks off or goes "
        f"wrong in another way. {hunt_told(found.other)} Break it so that a token is seen to be taken.",
        field="instrument",
    )


def _let_through(
    lab: Lab, changed: Lab, copy: Copy, verbs: list[str]
) -> tuple[Passed | None, Run | None, tuple[str, ...]]:
    """The first token that the lab's own text refuses and the copy answers; the first run in which it did not.

    And every token that the copy was shown.
    """
    first: Run | None = None
    tried: dict[str, None] = {}
    for verb, (name, text) in product(verbs, {**TOKENS, **ODD}.items()):
        case = fence(verb, name)
        if name == CURRENT or _taken(run_of(lab, case, copy.executor)):
            continue
        run = run_of(changed, case, copy.executor)
        tried[_shown(text)] = None
        if _taken(run):
            return Passed(_shown(text), CURRENT), run, (*tried,)
        first = first or run
    return None, first, (*tried,)


def _taken(run: Run) -> bool:
    """Whether the token was taken: something was written, no error answered, and no id listed as not extended."""
    (reply,) = run.replies
    refused = isinstance(reply, ErrorReply) or (isinstance(reply, list) and reply)
    return not refused and run.after != run.before


def _shown(text: str) -> str:
    """A token as a sentence has it: in quotes where it could be overlooked, or its end."""
    return text if re.fullmatch(r"\S+", text) else f'"{text}"'


# ---------------------------------------------------------------- by the instrument's cases


def _hunted(copy: Copy) -> tuple[Passed | None, Hunt]:
    """The token that gets past a copy in one of the instrument's cases, and how the hunt for one ended."""
    seen: list[Passed] = []

    def past(ran: Ran) -> bool:
        seen.extend(_past(ran, copy))
        return bool(seen)

    found = hunt(copy, counts=past)
    return (seen[0] if seen else None), found


def _past(ran: Ran, copy: Copy) -> list[Passed]:
    """The tokens that the model holds for stale in the first call where a copy answers otherwise, and the copy not."""
    from emqlab.parity.trials.trial import Do
    from emqlab.parity.verdict import told

    if ran.trial.laid_out or copy.executor not in ran.outcomes:
        return []  # what such a call sends is not what its values say
    voice = told(ran.trial, copy.executor)
    if _queues(ran.outcomes[copy.executor].keys) == _queues(voice.after[-1]):
        return []  # it answers what it should not, and does nothing
    calls = [step for step in ran.trial.steps if isinstance(step, Do)]
    for call, held, want, got in zip(
        calls, voice.before, voice.replies, ran.outcomes[copy.executor].replies, strict=True
    ):
        if want != got:
            return [
                Passed(_told(token), _told(attempts))
                for job, token in _stale(call, want, got)
                if (attempts := _attempts(held, job)) is not None and attempts != token
            ]
    return []


def _stale(call: Do, want: Any, got: Any) -> Iterable[tuple[bytes, bytes]]:
    """The jobs and tokens of a call that the model refuses and the copy does not."""
    from emqlab.parity.model import Error

    if isinstance(want, list) and isinstance(got, list) and call.verb == "extends":
        pairs: Any = call.values["pairs"]
        return [(job, token) for job, token in pairs if job in want and job not in got]
    refused = isinstance(want, Error) and want.text.endswith(b"token mismatch") and not isinstance(got, Error)
    job, token = call.values.get("id"), call.values.get("token")
    return [(job, token)] if refused and isinstance(job, bytes) and isinstance(token, bytes) else []


def _attempts(held: dict[bytes, Held], job: bytes) -> bytes | None:
    """The number in a job's row; None where there is none."""
    from emqlab.parity.trials.trial import BASE

    row = held.get(BASE + b"job:" + job)
    return row.get(b"attempts") if isinstance(row, dict) else None  # type: ignore[return-value]


def _queues(held: Mapping[bytes, Held]) -> dict[bytes, Held]:
    """What is the queue's own."""
    from emqlab.parity.trials.trial import BASE

    return {name: value for name, value in held.items() if name.startswith(BASE)}


def _told(text: bytes) -> str:
    return _shown(text.decode("utf-8", "backslashreplace"))


def unfit(answer: Any) -> Verdict | None:
    """What is wrong with an answer before anything of it is run: its shape, its file's name, a text as it was."""
    found = named(answer)
    return found if isinstance(found, Verdict) else None
