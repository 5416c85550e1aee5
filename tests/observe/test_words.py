"""Every command of every transition has words, and they say what happened."""

import itertools
from typing import Any, NamedTuple

import pytest

from emqlab.executor import Told
from emqlab.lab import open_lab
from emqlab.observe.state import state_of
from emqlab.observe.trace import Frame, frames
from emqlab.observe.words import Sent, entry_of, sentences
from emqlab.observe.words.entry import Entry, in_hand, joined, rows, short, span
from emqlab.observe.words.find import TABLE
from emqlab.transitions import PLAIN, TRANSITIONS
from tests.observe import corpus

LANE_CLAIM = {"verb": "lane_claim", "lease_ms": "1000"}
FLOW = {"verb": "flow_add", "id": corpus.JOB, "payload": "x", "children": [[corpus.OTHER, "y"]], "policy": ""}


class Seen(NamedTuple):
    """What one frame of the corpus said; frames that say the same are kept once."""

    verb: str
    executor: str
    phase: str
    command: str
    step: str
    word: str
    note: str
    reply: str


class Ran(NamedTuple):
    """The corpus, run once for the whole file: what was said, and the runs whose frames do not end where they did."""

    seen: list[Seen]
    astray: list[str]


@pytest.fixture(scope="module")
def ran() -> Ran:
    """Every transition, in every state of the corpus, on both executors."""
    found: dict[Seen, None] = {}
    astray: list[str] = []
    with open_lab() as lab:
        made = (make(verb) for verb in corpus.VERBS for make in (corpus.alone, corpus.surrounded, corpus.parented))
        for case in itertools.chain(*made):
            verb = case["when"][0]["verb"]
            for executor in ("scripted", "native"):
                run: Any = lab.run(case, executor="scripted" if executor == "scripted" else "native")
                told = [frames(run)]
                found |= dict.fromkeys(_said(verb, executor, frame) for frame in told[0])
                if case["when"] == [corpus.first(verb)]:
                    told.append(frames(run, detail="calls"))
                end = state_of(run.after, run.case.queue)
                astray += [f"{case['name']} on {executor}" for some in told if corpus.walked(run, some) != end]
    return Ran(list(found), astray)


@pytest.fixture(scope="module")
def seen(ran: Ran) -> list[Seen]:
    """All that is said."""
    return ran.seen


def test_patches_lead_from_before_to_after_from_every_state(ran: Ran) -> None:
    """Ghosts, lanes, wrong types, bad counters and bytes: the frames of each run end where it did."""
    assert ran.astray == []


def _said(verb: str, executor: str, frame: Frame) -> Seen:
    command = (frame.command or ("",))[0]
    return Seen(verb, executor, frame.phase, command, frame.step, frame.word, frame.note, str(frame.reply))


def test_every_command_of_every_transition_has_words(seen: list[Seen]) -> None:
    """No state of the corpus leads to a command, or an answer, without an entry."""
    assert {one.verb for one in seen} >= {*TRANSITIONS, *PLAIN}


def test_every_entry_of_the_table_is_reached(seen: list[Seen]) -> None:
    """The table has no line for a command that no transition sends."""
    spoken = {one[:5] for one in seen}
    unspoken = [key for key, entry in TABLE.items() if (*key[:4], entry.step) not in spoken]
    assert unspoken == []


def test_a_read_asks_and_a_write_orders(seen: list[Seen]) -> None:
    """The word of a read is a question, that of a write is none; only a claim's pop and count are both."""
    both = {(verb, step) for verb in ("claim", "lane_claim") for step in ("head", "count")}
    for one in seen:
        if one.phase in ("read", "host"):
            assert one.word.endswith("?"), one
        elif (one.verb, one.step) not in both:
            assert not one.word.endswith("?"), one


def test_a_note_is_short_and_plain(seen: list[Seen]) -> None:
    """A note has one or two sentences of fewer than 15 words, and ends with a full stop."""
    for one in seen:
        said = list(sentences(one.note))
        assert 1 <= len(said) <= 2, one
        assert all(len(sentence.split()) < 15 for sentence in said), one
        assert one.note.endswith("."), one


def test_a_step_has_one_word_in_a_transition(seen: list[Seen]) -> None:
    """The same step id never has two words in one transition, whichever executor it is on."""
    words: dict[tuple[str, str], set[str]] = {}
    for one in seen:
        words.setdefault((one.verb, one.step), set()).add(one.word)
    assert {step: said for step, said in words.items() if len(said) > 1} == {}


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_an_error_reply_never_reads_like_a_good_one(seen: list[Seen], executor: str) -> None:
    """For one step of one transition, the notes of error replies and of other replies have nothing in common."""
    good: dict[tuple[str, str, str], set[str]] = {}
    bad: dict[tuple[str, str, str], set[str]] = {}
    for one in seen:
        if one.executor == executor and one.reply != "None":
            kind = bad if one.reply.startswith("{'error'") else good
            kind.setdefault((one.verb, one.phase, one.step), set()).add(one.note)
    assert {step: bad[step] & good[step] for step in bad.keys() & good.keys() if bad[step] & good[step]} == {}
    assert bad


def notes(seen: list[Seen], verb: str, executor: str, step: str) -> dict[str, set[str]]:
    """Reply as text -> the notes it had."""
    out: dict[str, set[str]] = {}
    for one in seen:
        if (one.verb, one.executor, one.step) == (verb, executor, step):
            out.setdefault(one.reply, set()).add(one.note)
    return out


@pytest.mark.parametrize(
    ("verb", "executor", "step"),
    [
        ("claim", "scripted", "pause"),
        ("claim", "scripted", "row"),
        ("claim", "scripted", "count"),
        ("claim", "native", "row"),
        ("claim", "native", "count"),
        ("complete", "scripted", "leave"),
        ("complete", "native", "where"),
        ("stalled_check", "native", "group"),
        ("fail", "native", "dead0"),
        ("promote", "native", "type"),
        ("stalled_check", "native", "epoch"),
        ("stalled_check", "native", "count0"),
        ("stalled_check", "scripted", "count"),
        ("reprocess", "scripted", "leave"),
        ("reprocess", "native", "dead0"),
        ("pause", "native", "flag"),
        ("complete", "scripted", "child"),
        ("complete", "scripted", "left"),
        ("fail", "scripted", "child"),
        ("fail", "scripted", "tell"),
        ("fail", "scripted", "parent-leaves"),
        ("lane_claim", "scripted", "turn"),
        ("lane_claim", "scripted", "slot"),
        ("lane_claim", "scripted", "ring2"),
        ("lane_pause", "scripted", "hold"),
        ("lane_pause", "scripted", "unring"),
        ("lane_resume", "scripted", "hold"),
        ("flow_add", "scripted", "row"),
    ],
)
def test_the_note_changes_with_the_reply(seen: list[Seen], verb: str, executor: str, step: str) -> None:
    """Two replies to one question never have the same note."""
    by_reply = notes(seen, verb, executor, step)
    assert len(by_reply) > 1
    for one, other in itertools.combinations(by_reply.values(), 2):
        assert not one & other


def said(case: dict[str, Any], executor: str, step: str) -> str:
    """The note of a step in one case."""
    with open_lab() as lab:
        run: Any = lab.run(case, executor="scripted" if executor == "scripted" else "native")
        return next(frame.note for frame in frames(run) if frame.step == step)


@pytest.mark.parametrize(
    ("max_stalled", "executor", "note"),
    [
        ("1", "scripted", "1 ≥ 1: the job dies."),
        ("2", "scripted", "1 < 2: state says pending too."),
        ("1", "native", "1 ≥ 1: counter, state and reason in one write."),
        ("2", "native", "1 < 2: counter and state in one write."),
    ],
)
def test_the_sweep_says_how_the_count_stands_to_the_cap(max_stalled: str, executor: str, note: str) -> None:
    """The verdict on a stall is told as the comparison that was made."""
    given = [corpus.row("lease_epoch", "@run_id"), corpus.held("active", "@now-4000")]
    when = [{"verb": "stalled_check", "max_stalled": max_stalled, "limit": "100"}]
    assert said(corpus.case("words/cap", given, when), executor, "state") == note


def test_a_lost_id_is_called_lost_and_a_kept_one_is_not() -> None:
    """A script that breaks off after the pop has lost the id; one that breaks off after the delete has not."""
    claim = corpus.case(
        "words/lost", [*corpus.ROWS["string"], corpus.held("pending")], [{"verb": "claim", "lease_ms": "1"}]
    )
    assert said(claim, "scripted", "reply").endswith("the id is lost.")
    assert said(claim, "native", "reply") == "Refused. Nothing was written; the bad row stays at the head."
    done = {"verb": "complete", "id": corpus.JOB, "token": "1"}
    given = [corpus.row(), corpus.held("active"), ["SET", "{p}metrics:completed", "x"]]
    kept = said(corpus.case("words/kept", given, [done]), "scripted", "reply")
    assert kept == "The error reaches the caller. What ran before it stays."


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ([["HSET", "{p}meta", "paused", "0"]], "Answers empty: the queue reads as paused."),
        ([], "Answers empty: no lane can be served now."),
        (
            [["RPUSH", "{p}ring", "tea"]],
            "Answers empty: that lane had nobody. The next claim asks the next lane.",
        ),
        (corpus.PLACES["in its lane"], "Answers empty. The ghost is gone."),
    ],
)
def test_an_empty_claim_of_a_lane_says_why(given: list[Any], note: str) -> None:
    """Paused, nobody on the ring, nobody in the lane, or a ghost: one reply, four stories."""
    assert said(corpus.case("words/empty", given, [LANE_CLAIM]), "scripted", "reply") == note


@pytest.mark.parametrize(
    ("when", "note"),
    [
        (LANE_CLAIM, "No such verb here: lanes are for scripts alone. Nothing is sent."),
        (FLOW, "No such verb here: flows are for scripts alone. Nothing is sent."),
    ],
)
def test_what_scripts_alone_can_do_is_told_natively(when: dict[str, Any], note: str) -> None:
    """A lane or flow step without a verb says why there is none."""
    assert said(corpus.case("words/none", [], [when]), "native", "reply") == note


@pytest.mark.parametrize("executor", ["scripted", "native"])
def test_a_flows_child_is_never_called_flat(executor: str) -> None:
    """A row without a group is flat only when it has no parent either."""
    done = {"verb": "complete", "id": corpus.JOB, "token": "1"}
    child = [*corpus.ROWS["flow"], *corpus.PLACES["active"]]
    assert said(corpus.case("words/child", child, [done]), executor, "group") == "No group, so no lane."
    flat = [*corpus.ROWS["flat"], *corpus.PLACES["active"]]
    assert said(corpus.case("words/flat", flat, [done]), executor, "group") == "No group, so a flat job."


@pytest.mark.parametrize(
    ("around", "verb", "note"),
    [
        ("one child of two", "complete", "Answers 1: …EJfs is done."),
        ("the last child", "complete", "Answers 1: …EJfs is done, and its parent …EJft is in line."),
        ("the last child", "fail", "Answers dead: the budget is spent, and its parent …EJft dies too."),
        ("ignored, one of two", "fail", "Answers dead: the budget is spent."),
        (
            "the last child, to be ignored",
            "fail",
            "Answers dead: the budget is spent, and its parent …EJft is in line.",
        ),
    ],
)
def test_the_answer_of_a_child_says_what_became_of_its_parent(around: str, verb: str, note: str) -> None:
    """Only the last child, or one whose death is not ignored, moves the parent."""
    step = {"id": corpus.JOB, "token": "1", "verb": verb}
    if verb == "fail":
        step |= {"delay_ms": "0", "max_attempts": "1", "error": "boom"}
    given = [*corpus.ROWS["flow"], *corpus.PLACES["active"], *corpus.PARENTS[around]]
    assert said(corpus.case("words/parent", given, [step]), "scripted", "reply") == note


def test_a_parent_laid_aside_was_never_in_hand() -> None:
    """It goes into dead before it is taken out of pending: nothing of it could be lost."""
    told = [Told("write", (name, b"emq:{q}:x", *rest), 1) for name, *rest in ((b"ZADD", b"0", b"j"), (b"ZREM", b"j"))]
    assert in_hand(told) == set()
    assert in_hand(told[1:]) == {b"j"}


def test_a_command_without_an_entry_is_named() -> None:
    """What the table does not know is a LookupError that says which command it was."""
    told = Told("read", (b"HGET", b"emq:{q}:job:x", b"colour"), b"red")
    with pytest.raises(LookupError, match=r"read HGET row\.colour in claim on the scripted executor"):
        entry_of("claim", "scripted", told, b"q", Sent())


def test_two_entries_for_one_command_are_refused() -> None:
    """The table is one: a second line for the same command is an error at import."""
    line = ("read TIME", "clock", "what time is it?", "It is late.")
    assert rows("claim", "native", [line]) == {("claim", "native", "read", "TIME", ""): Entry(*line[1:])}
    with pytest.raises(ValueError, match="two entries"):
        rows("claim", "native", [line, line])
    with pytest.raises(ValueError, match="two entries"):
        joined(rows("claim", "native", [line]), rows("claim", "native", [line]))


@pytest.mark.parametrize(
    ("ms", "text"), [(30_000, "30 s"), (1_500, "1.5 s"), (250, "250 ms"), (0, "0 ms"), (-4_000, "-4 s")]
)
def test_a_span_of_time_is_read_in_seconds(ms: int, text: str) -> None:
    """Whole and broken seconds, and milliseconds below one."""
    assert span(ms) == text


@pytest.mark.parametrize(("job", "text"), [(b"JOB0KHTOWnGLuC", "…GLuC"), (b"abc", "abc"), (b"\xff\x00\xfe", "…00fe")])
def test_an_id_is_quoted_by_its_end(job: bytes, text: str) -> None:
    """Four characters are enough to tell ids apart in a sentence."""
    assert short(job) == text


def test_whatever_kills_a_job_lays_it_aside(ran: Ran) -> None:
    """A failure and a sweep, as a script and as a verb: one step, one word; nothing that dies is put back."""
    dead = [one for one in ran.seen if one.command.startswith("ZADD") and one.note.endswith("is a dead letter now.")]
    assert {(one.verb, one.executor) for one in dead} == {
        (verb, executor) for verb in ("fail", "stalled_check") for executor in ("scripted", "native")
    }
    assert {(one.step, one.word) for one in dead} == {("dead", "lay it aside")}
