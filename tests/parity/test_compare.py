"""Comparing two executors, and a run with what its case expects (SPEC 6, 8)."""

from dataclasses import replace
from typing import Any

import pytest

import emqlab
from emqlab.observe.case_reader import parse_case
from emqlab.observe.run import Run, run_case
from emqlab.observe.snapshot import Key
from emqlab.parity.compare import difference, plain_error, unmet
from emqlab.replies import ErrorReply

CASE: dict[str, Any] = {"name": "n", "queue": "q", "when": [{"verb": "claim", "lease_ms": "5"}]}
ACTIVE = b"emq:{q}:active"


def _run(lab: emqlab.Lab, **parts: Any) -> Run:
    server, executors = lab.bench()
    done = run_case(server, executors, parse_case({**CASE, **parts}), "native")
    assert isinstance(done, Run)
    return done


def _with(run: Run, **parts: Any) -> Run:
    return replace(run, **parts)


def _zset(score: bytes) -> dict[bytes, Key]:
    return {ACTIVE: Key("zset", -1, [(b"j", score)])}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("WRONGTYPE Operation x script: abc, on @user_script:1.", "WRONGTYPE Operation x"),
        ("WRONGTYPE Operation x script: on @user_script:11.", "WRONGTYPE Operation x"),
        ("ERR user_script:15: attempt to call nil script: abc", "ERR"),
        ("ERR Error running script (call to f_x): y", "ERR"),
        ("EMQSTALE job gone", "EMQSTALE job gone"),
        ("ERR ACL failure in script: no right script: 0f, on @user_script:3.", "ERR ACL failure in script: no right"),
    ],
)
def test_an_error_is_compared_without_what_servers_add(text: str, plain: str) -> None:
    """Code word and detail stay; a runtime error is ERR alone."""
    assert plain == plain_error(text)


def test_a_time_is_compared_from_its_own_now(lab: emqlab.Lab) -> None:
    """Two runs at different hours agree when their offsets do."""
    run = _run(lab)
    one = _with(run, now_ms=1000, done_ms=1000, after=_zset(b"1500"))
    same = _with(run, now_ms=9000, done_ms=9000, after=_zset(b"9500"))
    late = _with(run, now_ms=9000, done_ms=9000, after=_zset(b"9501"))
    slow = _with(run, now_ms=9000, done_ms=9003, after=_zset(b"9502"))
    assert [True, False, True] == [difference(one, other) is None for other in (same, late, slow)]


def test_other_scores_are_compared_as_numbers(lab: emqlab.Lab) -> None:
    """However a server prints them."""
    run = _run(lab)
    one, other = _with(run, after=_zset(b"1e+17")), _with(run, after=_zset(b"100000000000000000"))
    assert difference(one, other) is None


def test_the_runs_own_epoch_is_one_word(lab: emqlab.Lab) -> None:
    """A stamp of this run equals a stamp of that run; a foreign one does not."""
    run = _run(lab)
    stamps = [{b"h": Key("hash", -1, [(b"lease_epoch", epoch * 40)])} for epoch in (b"a", b"b")]
    one, other = (
        _with(run, epochs=("0" * 40, epoch * 40), run_id=epoch * 40, after=after)
        for epoch, after in zip("ab", stamps, strict=True)
    )
    assert difference(one, other) is None
    assert difference(one, _with(other, epochs=("b" * 40, "c" * 40))) is not None


def test_a_ttl_is_compared(lab: emqlab.Lab) -> None:
    """Between the executors, and with what a case expects."""
    run = _run(lab, expect={"native": {"keys": {"k": {"type": "string", "ttl_ms": 5, "value": "x"}}}})
    one, other = ({b"k": Key("string", ttl, b"x")} for ttl in (5, 6))
    found = difference(_with(run, after=one), _with(run, after=other))
    assert found is not None
    assert ("ttl_ms", 5, 6) == (found.field, found.left, found.right)
    assert [True, False] == [unmet(_with(run, after=after)) is None for after in (one, other)]


def test_bytes_are_compared_as_bytes(lab: emqlab.Lab) -> None:
    """However a case spells them, and whatever order it gives a set's members in."""
    keys = {
        "emq:{q}:h": {"type": "hash", "value": [[{"hex": "61"}, {"hex": "FF"}]]},
        "emq:{q}:s": {"type": "set", "value": ["b", {"hex": "61"}]},
    }
    given = [["HSET", "{p}h", "a", {"hex": "ff"}], ["SADD", "{p}s", "a", "b"]]
    assert unmet(_run(lab, given=given, expect={"native": {"keys": keys}})) is None


def test_a_small_score_is_no_time(lab: emqlab.Lab) -> None:
    """0 and 5000 in pending are two scores, however long the run was."""
    run = replace(_run(lab), done_ms=_run(lab).now_ms + 10_000)
    assert difference(_with(run, after=_zset(b"0")), _with(run, after=_zset(b"5000"))) is not None


def test_a_deadline_beyond_exact_doubles_is_still_a_time(lab: emqlab.Lab) -> None:
    """now + 2^63 is the same lease an hour later, though both are rounded."""
    run = _run(lab)
    later = _with(run, now_ms=run.now_ms + 3_600_000, done_ms=run.done_ms + 3_600_000)
    one, other = (b"%d" % int(float(2**63 + each.now_ms)) for each in (run, later))
    assert one != other
    assert difference(_with(run, after=_zset(one)), _with(later, after=_zset(other))) is None


def test_every_epoch_of_a_run_is_expected_by_one_word(lab: emqlab.Lab) -> None:
    """@run_id holds for a stamp from before a restart inside the case, and for one from after it."""
    given = [["HSET", "{p}old", "e", "@run_id"]]
    when = [{"restart": True}, {"command": ["HSET", "{p}new", "e", "@run_id"]}]
    keys = {f"emq:{{q}}:{name}": {"type": "hash", "value": [["e", "@run_id"]]} for name in ("old", "new")}
    assert unmet(_run(lab, given=given, when=when, expect={"native": {"keys": keys}})) is None


def test_a_difference_names_key_field_and_both_values(lab: emqlab.Lab) -> None:
    """So that a reader can find it."""
    run = _run(lab)
    found = difference(_with(run, after=_zset(b"5")), _with(run, after={}))
    assert found is not None
    assert "key emq:{q}:active, type: scripted 'zset', native absent" == found.sentence("scripted", "native")


def test_replies_come_first_and_name_their_step(lab: emqlab.Lab) -> None:
    """The first thing a caller sees."""
    run = _run(lab)
    found = difference(run, _with(run, replies=(ErrorReply("ERR x"),)))
    assert found is not None
    assert ("step 1 claim", "reply") == (found.where, found.field)


@pytest.mark.parametrize(
    ("expect", "met"),
    [
        ({"replies": [{"ok": []}]}, True),
        ({"replies": [{"ok": [1]}]}, False),
        ({"replies": []}, False),
        ({"replies": [{"error": "ERR"}]}, False),
        ({"keys": {"emq:{q}:t": {"type": "string", "ttl_ms": -1, "value": "@now"}}}, True),
        ({"keys": {"emq:{q}:t": {"type": "string", "value": "5"}}}, False),
        ({"keys": {}}, False),
        ({}, True),
    ],
)
def test_what_a_case_expects_is_held_to(lab: emqlab.Lab, expect: Any, met: bool) -> None:
    """Replies in number and value, keys complete; what is left out is not compared."""
    run = _run(lab, given=[["SET", "{p}t", "@now"]], expect={"native": expect})
    assert met == (unmet(run) is None)


def test_an_expected_score_may_lie_within_the_run(lab: emqlab.Lab) -> None:
    """@now+n holds from now_ms+n to done_ms+n."""
    keys = {"emq:{q}:active": {"type": "zset", "ttl_ms": -1, "value": [["j", "@now+10"]]}}
    run = replace(_run(lab, expect={"native": {"keys": keys}}), now_ms=100, done_ms=105)
    scores = (b"109", b"110", b"115", b"116", b"nan")
    assert [False, True, True, False, False] == [unmet(_with(run, after=_zset(score))) is None for score in scores]


def test_an_error_text_is_a_beginning(lab: emqlab.Lab) -> None:
    """The real text must start with it."""
    run = replace(_run(lab, expect={"native": {"replies": [{"error": "EMQARGS lease"}]}}), replies=())
    texts = ("EMQARGS lease_ms must", "EMQARGS limit", "ERR EMQARGS lease")
    assert [True, False, False] == [unmet(_with(run, replies=(ErrorReply(text),))) is None for text in texts]
