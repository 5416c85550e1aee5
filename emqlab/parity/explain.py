"""Which divergences a whole case shows, step by step, by the third voice and the declared conditions (SPEC 6, 8)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from emqlab.divergences import DIVERGENCES
from emqlab.keys import VERSION, VERSION_KEY
from emqlab.observe.case import Case, Step, substitute
from emqlab.observe.case import World as Moments
from emqlab.observe.run import Run
from emqlab.parity.declared import visible
from emqlab.parity.declared.doubt import doubtful
from emqlab.parity.model import Error, Held, Reply, Unsupported, World, native, scripted
from emqlab.parity.raw import NotFollowed, apply
from emqlab.transitions import LANES_AND_FLOWS

#: Fields that only native verbs write, with the number that says so: they part the rows and little else.
MARKS = {b"lease_epoch": 8, b"failures": 9}
_NONE = frozenset[int]()
#: Verb -> the numbers that it may show at all (SPEC 6), for a case that is not followed. 25 is cut off, never listed.
_OF_VERB = {
    "claim": frozenset({1, 2, 3, 4, 5, 6, 7, 8, 23, 24}),
    "enqueue": frozenset({7, 23}),
    "schedule": frozenset({7, 23}),
    "complete": frozenset({7, 10, 13, 23}),
    "fail": frozenset({7, 9, 10, 11, 12, 14, 23, 24}),
    "delay": frozenset({7, 10, 12, 23}),
    "requeue": frozenset({7, 21}),
    "extend": frozenset({7, 8, 10, 12, 23, 26}),
    "extends": frozenset({7, 8, 10, 12, 23, 26}),
    "promote": frozenset({7, 22, 23}),
    "stalled_check": frozenset({7, 15, 16, 17, 18, 19, 23, 24}),
    "reprocess": frozenset({7, 23}),
    "reap": frozenset({20}),
    **dict.fromkeys(LANES_AND_FLOWS, frozenset({20})),
}


@dataclass(frozen=True, slots=True)
class Explained:
    """What a case's ``differs`` must name, and all that it may name.

    ``left`` are the numbers of the native fields in which the rows still differ at the end, also where a refusal's
    number may stand alone: whoever shows that end to a reader names them too.
    """

    certain: frozenset[int]
    possible: frozenset[int]
    left: frozenset[int] = _NONE

    @property
    def seen(self) -> frozenset[int]:
        """What must be named, and what the end shows besides."""
        return self.certain | self.left


def explained(case: Case, now_ms: int, run_id: bytes, *, elapsed_ms: int = 0) -> Explained | None:
    """The numbers that ``case`` shows when it begins at ``now_ms`` under the epoch ``run_id``.

    ``elapsed_ms`` is how long a real server took over it: what hangs on when that time passed is not certain. None for
    a case that can't be followed: keys or arguments of its own, certain servers only, or a raw command that is not
    known here.
    """
    if case.servers is not None or any(step.keys is not None or step.args is not None for step in case.when):
        return None
    whens = [(0, 0)] if elapsed_ms <= 0 else [(0, 0), (elapsed_ms, 0), (0, elapsed_ms)]
    try:
        found = [_Followed(case, now_ms, run_id).follow(*when) for when in whens]
    except NotFollowed:
        return None
    return Explained(
        frozenset.intersection(*(one.certain for one in found)),
        frozenset.union(*(one.possible for one in found)),
        frozenset.intersection(*(one.left for one in found)),
    )


def explained_run(run: Run, *, elapsed_ms: int = 0) -> Explained | None:
    """What the case of a run shows, begun when and under the epoch that the run was; otherwise as ``explained``."""
    return explained(run.case, run.now_ms, (run.epochs or (run.run_id,))[0].encode(), elapsed_ms=elapsed_ms)


def misnamed(case: Case, scripted_run: Run, native_run: Run) -> Iterator[str]:
    """What is wrong with the ``differs`` of a case whose runs part, a sentence each.

    A number that the case does not show, or one that it shows and leaves out. Nothing for a case that can't be
    followed, and nothing where SPEC leaves it to the author.
    """
    moved = sum(step.advance_ms or 0 for step in case.when)
    elapsed = max(run.done_ms - run.now_ms - moved for run in (scripted_run, native_run))
    seen = explained_run(native_run, elapsed_ms=elapsed)
    if seen is None:
        allowed = frozenset().union(*(_OF_VERB.get(verb, _NONE) for verb in case.verbs))
        for number in sorted({*case.differs} - allowed):
            yield f"differs names a divergence that none of its verbs shows ({told([number])})"
        return
    shown = told(sorted(seen.certain or seen.possible)) or "none that is declared"
    for number in sorted({*case.differs} - seen.possible):
        yield f"differs names a divergence that is not seen here ({told([number])}); seen is {shown}"
    for number in sorted(seen.certain - {*case.differs}):
        yield f"differs leaves out a divergence that is seen here ({told([number])}); it names {told(case.differs)}"


def told(numbers: Sequence[int]) -> str:
    """Numbers of divergences with their sentences, for a complaint."""
    return "; ".join(f"{number}: {DIVERGENCES[number]}" for number in numbers)


@dataclass(slots=True)
class _Followed:
    """Both executors' worlds on the way through one case."""

    case: Case
    now_ms: int
    run_id: bytes
    scripted: World = field(init=False)
    native: World = field(init=False)
    possible: set[int] = field(default_factory=set)
    named: set[int] = field(default_factory=set)
    #: The number of each mark that was made while the worlds were one, by row.
    marks: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    refused: bool = False

    def follow(self, before_ms: int, between_ms: int) -> Explained:
        """Run the case. Time passes before the first step and between steps. Raises NotFollowed."""
        version: Held = VERSION
        self.scripted, self.native = (World({VERSION_KEY: version}, self.now_ms, self.run_id) for _ in range(2))
        for command in self.case.given:
            self._raw(command)
        self._pass(before_ms)
        for place, step in enumerate(self.case.when):
            if step.verb is None:
                self._happen(step)
            elif self.case.verbs == [step.verb] and place == len(self.case.when) - 1:
                return self._alone(step, step.verb)
            else:
                self._verb(step, step.verb)
            self._pass(between_ms)
        if not self.refused:
            self.named.update(number for mark, number in self.marks.items() if self._marked(mark))
        return Explained(frozenset(self.named), frozenset(self.possible), frozenset(self._left()))

    def _alone(self, step: Step, verb: str) -> Explained:
        """The only verb step, and nothing after it: what one call shows is what the case shows."""
        seen, doubt = self._seen(self.native, step, verb)
        return Explained(seen - doubt, seen | doubt)

    def _verb(self, step: Step, verb: str) -> None:
        (ours, our_doubt), (theirs, their_doubt) = (self._seen(one, step, verb) for one in (self.scripted, self.native))
        doubt = our_doubt | their_doubt
        self.possible |= ours | theirs | doubt
        together = self._together()
        marked = set(self._all_marks())
        one = scripted(self.scripted, self.case.queue, verb, step.values)
        other = native(self.native, self.case.queue, verb, step.values)
        both = (ours & theirs) - doubt
        # A refusal's number may stand alone in a case, whatever its other steps show (SPEC 6).
        self.refused |= (one != other or bool(ours | theirs)) and (_is_refusal(one) or _is_refusal(other))
        if together and one != other:
            # A reply tells of one number alone which it is, and never of a stamp.
            numbers = both - {8, 9} or both & {9}
            self.named |= numbers if len(numbers) == 1 else _NONE
        if together:
            made = set(self._all_marks()) - marked
            self.marks.update({mark: MARKS[mark[1]] for mark in made if MARKS[mark[1]] in both})

    def _seen(self, world: World, step: Step, verb: str) -> tuple[frozenset[int], frozenset[int]]:
        call = (world, self.case.queue, verb, step.values)
        return visible(*call), doubtful(*call)

    def _happen(self, step: Step) -> None:
        if step.command is not None:
            self._raw(step.command)
        elif step.advance_ms is not None:
            self._pass(step.advance_ms)
        else:
            self.run_id = _another(self.run_id)
            self.scripted.run_id = self.native.run_id = self.run_id

    def _raw(self, command: tuple[object, ...]) -> None:
        words = [substitute(word, self.case.queue, Moments(self.now_ms, self.run_id)) for word in command]
        for world in (self.scripted, self.native):
            apply(world, words)

    def _pass(self, ms: int) -> None:
        self.scripted.now_ms += ms
        self.native.now_ms += ms

    def _together(self) -> bool:
        """Whether the worlds are one but for the marks."""
        ours, theirs = self.scripted.keys, self.native.keys
        return ours.keys() == theirs.keys() and all(_bare(held) == _bare(theirs[key]) for key, held in ours.items())

    def _all_marks(self) -> Iterator[tuple[bytes, bytes]]:
        """Row and field of each mark in which the worlds differ."""
        for row in self.native.keys:
            for name in MARKS:
                if self._marked((row, name)):
                    yield row, name

    def _left(self) -> Iterator[int]:
        """The number of each mark that a native row bears at the end and the script's, or what is in its place, not."""
        for key, theirs in self.native.keys.items():
            ours = self.scripted.keys.get(key)
            if type(theirs) is not dict:
                continue
            for name, number in MARKS.items():
                held = theirs.get(name)
                parted = held is not None and held != (ours.get(name) if type(ours) is dict else None)
                if parted and number in self.possible:
                    yield number

    def _marked(self, mark: tuple[bytes, bytes]) -> bool:
        row, name = mark
        ours, theirs = self.scripted.keys.get(row), self.native.keys.get(row)
        return type(ours) is dict and type(theirs) is dict and ours.get(name) != theirs.get(name)


def _another(run_id: bytes) -> bytes:
    """The epoch of the next server process: any that was not there before."""
    return b"%040x" % ((int.from_bytes(run_id, "big") + 1) % 16**40)


def _bare(held: Held) -> Held:
    """A hash without the marks, anything else as it is."""
    if type(held) is not dict or MARKS.keys().isdisjoint(held):
        return held
    row = cast("dict[bytes, bytes]", held)
    return {name: value for name, value in row.items() if name not in MARKS}


def _is_refusal(reply: Reply) -> bool:
    return isinstance(reply, Error | Unsupported)
