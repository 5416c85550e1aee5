"""A traced run as frames: one command, or one moment at which something is decided (stage/FRAMES.md).

What a write did is not guessed: each one is made again on a private copy of the keys, and the copy must end as the
run ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

from emqlab.executor import Told
from emqlab.observe import words
from emqlab.observe.frame import Frame
from emqlab.observe.keyspace import Keyspace, scratch
from emqlab.observe.run import Done, Run
from emqlab.observe.sent import called, sent_by
from emqlab.observe.slots import touched
from emqlab.observe.state import State, part_of, reply_of, state_of, state_patch
from emqlab.observe.subject import subject_of
from emqlab.observe.walk import OTHER_CLIENT, merge
from emqlab.replies import ErrorReply

__all__ = ["MEMBERS", "Detail", "Frame", "NotReproduced", "frames"]

#: One frame a command, or one a transition.
Detail = Literal["commands", "calls"]

#: Transitions that judge several jobs: their rows are told apart by the job.
MEMBERS = frozenset({"promote", "reap", "stalled_check", "extends", "flow_add"})


class NotReproduced(RuntimeError):
    """The writes of a run, made again, did not end where the run ended: its pictures would not be true."""


def frames(
    run: Run, *, subject: bytes | None = None, detail: Detail = "commands", changed: bool = False
) -> list[Frame]:
    """Every frame of one traced run, in order; with ``detail="calls"`` one a verb step instead of one a command.

    ``subject`` is the id whose row is called ``row``. ``changed``: other files ran than the lab's own, so a command or
    an answer that the words do not know is told by its bare name. Raises ValueError for a run without a trace,
    LookupError for a command that the words do not know, NotReproduced when the writes do not lead from ``before`` to
    ``after``.
    """
    about = subject_of(run.case, [run]) if subject is None else subject
    copy = scratch()
    with copy.lock:
        telling = _Telling(run, about, copy, changed)
        told = list(telling.frames())
        telling.check()
    return [_whole(telling, group) for group in _by_step(told)] if detail == "calls" else told


class _Telling:
    """Tells one run: the state is kept beside the frames, so that each knows what it found."""

    def __init__(self, run: Run, subject: bytes, copy: Keyspace, changed: bool = False) -> None:
        self._changed = changed
        self.run = run
        self.queue = run.case.queue
        self.subject = subject
        #: Entry of ``when`` -> the merge patch of the whole step.
        self.patches: dict[int, State] = {}
        self._copy = copy
        self._clock = run.now_ms
        self._epochs = list(run.epochs[1:])
        self.state = state_of(run.before, self.queue)
        self._parts: dict[bytes, State] = {name: part_of(name, key, self.queue) for name, key in run.before.items()}
        copy.fill(run.before, self.queue, run.now_ms)

    def frames(self) -> Iterator[Frame]:
        for done in self.run.trace:
            before = self.state
            if done.step.verb is None:
                yield self._world(done)
            else:
                yield from self._verb(done)
            self.patches[done.index] = state_patch(before, self.state)

    # -- a transition

    def _verb(self, done: Done) -> Iterator[Frame]:
        traced = done.traced
        if traced is None:
            raise ValueError(f"{self.run.case.name}: the run was not traced")
        self._copy.move_to(done.clock_ms)
        told = traced.told
        call = called(done, traced, self.run)
        member: bytes | None = None
        for place, one in enumerate(told):
            if one.phase == "world":
                yield self._meanwhile(done, one, told[:place])
                continue
            own = words.member_of(one.command, self.queue, one.reply)
            member = own if own is not None else member
            at = replace(
                call,
                command=one.command,
                reply=one.reply,
                told=told[:place],
                then=told[place + 1 :],
                member=member,
                row=self._row(member),
            )
            yield self._command(done, one, at, sent_by(done, traced, self.run), own is not None)
        at = replace(call, reply=traced.reply, told=told)
        yield Frame(
            step="reply",
            phase="reply",
            note=self._noted(lambda: words.answer(at), "Answers so."),
            word=words.ANSWER,
            at=done.index,
            reply=reply_of(traced.reply),
            clock=self._moved(done.clock_ms),
        )

    def _command(self, done: Done, told: Told, at: words.At, sent: words.Sent, own: bool) -> Frame:
        try:
            entry, role = words.entry_of(at.verb, at.executor, told, self.queue, sent)
        except LookupError:
            if not self._changed:
                raise
            entry, role = words.stranger(told), ""
        at = replace(at, role=role)
        reads, writes = touched(told, self.queue, self.subject)
        member = ""
        # A verb's look at a set or a metric is about its whole plan; a script's, and every write, about one job.
        if at.verb in MEMBERS and at.member is not None and (own or not at.native or told.phase == "write"):
            member = "" if not role else words.shown(at.member)
        return Frame(
            step=entry.step,
            phase=told.phase,
            note=self._noted(lambda: words.note_of(entry, at), f"{entry.word[:1].upper()}{entry.word[1:]}."),
            word=entry.word,
            at=done.index,
            member=member,
            command=tuple(words.shown(part) for part in told.command) or None,
            reply=_told_reply(told),
            reads=tuple(reads),
            writes=tuple(writes),
            patch=self._written(told),
            line=told.line,
        )

    def _noted(self, note: Callable[[], str], plain: str) -> str:
        """The note; of a changed file, which may answer and send what nobody has foreseen, the plain one if it must."""
        try:
            return note()
        except (LookupError, TypeError, ValueError, AttributeError):
            if not self._changed:
                raise
            return plain

    def _meanwhile(self, done: Done, told: Told, before: tuple[Told, ...]) -> Frame:
        """What another client sent while the transition was on its way: it touches nothing for this executor."""
        step, word, note = words.came_between(told.command, told.reply, looked=bool(before))
        return Frame(
            step=step,
            phase="world",
            note=note,
            word=word,
            at=done.index,
            command=tuple(words.shown(part) for part in told.command),
            reply=reply_of(told.reply),
            patch=self._written(replace(told, phase="write")),
            by=OTHER_CLIENT,
        )

    def _row(self, member: bytes | None) -> Any:
        return None if member is None else self.state["rows"].get(words.shown(member))

    # -- what a write did

    def _written(self, told: Told) -> State | None:
        if told.phase != "write" or isinstance(told.reply, ErrorReply) or not self._copy.ours(told.command[1]):
            return None
        answered = self._copy.run(told.command)
        if isinstance(answered, ErrorReply):
            raise NotReproduced(f"{self.run.case.name}: {words.shown(told.command[0])}: {answered.text}")
        name = told.command[1]
        part = part_of(name, self._copy.key(name), self.queue)
        was = self._parts.get(name) or part_of(name, None, self.queue)
        patch = state_patch(was, part)
        self._parts[name] = part
        return self._apply(patch)

    def _apply(self, patch: State) -> State | None:
        self.state = merge(self.state, patch)
        return patch or None

    # -- the world

    def _world(self, done: Done) -> Frame:
        command, epoch = done.sent, None
        if command is not None:
            step, word, note = words.raw_command(command, done.reply)
        elif done.step.advance_ms is not None:
            step, word, note = words.advanced(done.step.advance_ms)
        else:
            step, word, note = words.restarted()
            epoch = self._epochs.pop(0)
        writes, patch = self._seen_anew(done)
        return Frame(
            step=step,
            phase="world",
            note=note,
            word=word,
            at=done.index,
            command=None if command is None else tuple(words.shown(part) for part in command),
            reply=None if command is None else reply_of(done.reply),
            writes=writes,
            patch=patch,
            clock=self._moved(done.clock_ms),
            epoch=epoch,
        )

    def _seen_anew(self, done: Done) -> tuple[tuple[str, ...], State | None]:
        """What somebody else's command, or time, did: the keys as they were found after it."""
        if done.after is None:
            raise ValueError(f"{self.run.case.name}: the run was not traced")
        found = done.after
        self._copy.fill(found, self.queue, done.clock_ms)
        self._parts = {name: part_of(name, key, self.queue) for name, key in found.items()}
        patch = state_patch(self.state, state_of(found, self.queue))
        return tuple(_slots(patch, words.shown(self.subject))), self._apply(patch)

    def _moved(self, clock_ms: int) -> int | None:
        moved, self._clock = clock_ms != self._clock, clock_ms
        return clock_ms if moved else None

    def check(self) -> None:
        """Hold the last state to the run's own end."""
        ended = state_of(self.run.after, self.queue)
        if _rounded(self.state) != _rounded(ended):
            patch = state_patch(self.state, ended)
            raise NotReproduced(
                f"{self.run.case.name} on {self.run.executor}: the writes told do not lead to the end of the run; "
                f"what is missing: {patch}"
            )


def _rounded(state: State) -> State:
    """Scores as numbers: servers print them differently."""
    sets = {
        name: {job: float(score) for job, score in held.items()} if isinstance(held, dict) else held
        for name, held in state["sets"].items()
    }
    return {**state, "sets": sets}


def _told_reply(told: Told) -> dict[str, Any] | None:
    if told.phase == "guard":
        return None
    return reply_of(int(told.reply) if told.command[:1] == (b"(clock)",) else told.reply)


def _slots(patch: State, subject: str) -> Iterator[str]:
    """The slots that a patch of the state changes."""
    for job, fields in patch.get("rows", {}).items():
        row = "row" if job == subject else f"job:{job}"
        yield from ([f"{row}.{field}" for field in fields] if isinstance(fields, dict) else [row])
    yield from patch.get("sets", {})
    for name in patch.get("metrics", {}):
        yield f"metrics:{name}.count"
    for name in patch.get("other", {}):
        yield name.replace(" ", ".", 1)


# -- whole calls


def _by_step(told: list[Frame]) -> Iterator[list[Frame]]:
    group: list[Frame] = []
    for frame in told:
        if group and frame.at != group[0].at:
            yield group
            group = []
        group.append(frame)
    if group:
        yield group


def _whole(telling: _Telling, group: list[Frame]) -> Frame:
    """The frames of one step as one frame."""
    last = group[-1]
    if last.phase == "world":
        return last
    done = telling.run.trace[[one.index for one in telling.run.trace].index(last.at)]
    assert done.traced is not None
    assert done.step.verb is not None
    at = replace(called(done, done.traced, telling.run), reply=done.reply, told=done.traced.told)
    return Frame(
        step=done.step.verb,
        phase="call",
        note=words.told_whole(at),
        word=words.CALL_WORDS.get(done.step.verb, done.step.verb.replace("_", " ")),
        at=last.at,
        command=tuple(words.shown(part) for part in done.traced.sent) or None,
        reply=last.reply,
        reads=tuple(dict.fromkeys(slot for frame in group for slot in frame.reads)),
        writes=tuple(dict.fromkeys(slot for frame in group for slot in frame.writes)),
        patch=telling.patches[last.at] or None,
        clock=last.clock,
        token=_token(at),
    )


def _token(at: words.At) -> str | None:
    if at.verb in ("claim", "lane_claim"):
        return str(at.reply[2]) if isinstance(at.reply, list) and at.reply else None
    return words.shown(at.value("token")) if "token" in at.values else None
