"""The rules that the verbs share, against the fake server's own HINCRBY (SPEC 3)."""

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

import emqlab
from emqlab.native import rules, texts
from emqlab.native.host import Refusal
from emqlab.native.verbs.fail import spent
from emqlab.native.verbs.stalled_check import DIE, RECOVER, due, restarted
from emqlab.replies import ErrorReply, error_reply

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    "raw", [b"", b"01", b"+1", b" 1", b"1 ", b"1.0", b"-0", b"-", b"1e3", b"9223372036854775808", b"\xb9"]
)
def test_what_is_no_canonical_integer_counts_as_none(raw: bytes) -> None:
    """HINCRBY refuses all of these."""
    assert rules.integer(raw) is None


@pytest.mark.parametrize("number", [0, 1, -1, LARGEST, -LARGEST - 1, 10])
def test_a_canonical_integer_is_read(number: int) -> None:
    """Signed, 64 bits."""
    assert number == rules.integer(b"%d" % number)


@settings(derandomize=True, max_examples=300)
@given(st.one_of(st.from_regex(rb"[-+ ]?[0-9.]{0,20}", fullmatch=True), st.binary(max_size=4)))
def test_the_prediction_is_what_hincrby_does(stored: bytes) -> None:
    """For any stored text: the same number, or the same words."""
    with emqlab.open_lab() as lab:
        lab.client.hset("h", "f", stored)
        try:
            predicted: object = rules.counted(stored, 1)
        except Refusal as refusal:
            predicted = ErrorReply(refusal.text.decode())
        try:
            done: object = lab.client.hincrby("h", "f", 1)
        except redis.ResponseError as error:
            done = error_reply(error)
        assert done == predicted


def test_an_absent_counter_counts_from_nothing() -> None:
    """The first increment is 1."""
    assert 1 == rules.counted(None, 1)


def test_many_deaths_are_added_up_before_they_are_counted() -> None:
    """A metric with room for two more refuses three."""
    assert LARGEST == rules.counted(b"%d" % (LARGEST - 2), 2)
    with pytest.raises(Refusal, match="overflow"):
        rules.counted(b"%d" % (LARGEST - 2), 3)


@pytest.mark.parametrize("raw", [b"0", b"-1", b"+1", b"01", b"1e3", b" 1", b"1.0", b"", b"9223372036854775808"])
def test_a_positive_argument_is_plain_digits(raw: bytes) -> None:
    """Refused by name."""
    with pytest.raises(Refusal, match=r"^EMQARGS limit "):
        rules.number(raw, b"limit", 1)


def test_zero_is_a_delay_but_no_lease() -> None:
    """The least value differs."""
    assert 0 == rules.number(b"0", b"delay_ms", 0)
    with pytest.raises(Refusal, match="from 1 to"):
        rules.number(b"0", b"lease_ms", 1)


def test_a_deadline_beyond_64_bits_is_refused() -> None:
    """One more than the largest is too late."""
    assert LARGEST == rules.after(LARGEST - 5, 5, b"lease_ms")
    with pytest.raises(Refusal, match=r"^EMQARGS lease_ms "):
        rules.after(LARGEST - 5, 6, b"lease_ms")


@pytest.mark.parametrize("base", [b"", b"emq:{}:", b"emq:{q}", b"emq:q:", b"EMQ:{q}:", b"emq:{q}:x"])
def test_a_base_without_a_queue_is_refused(base: bytes) -> None:
    """``emq:{q}:`` with at least one character."""
    with pytest.raises(Refusal, match=r"^EMQARGS keys "):
        rules.sound_base(base)


def test_the_retry_budget_is_spent_at_the_cap() -> None:
    """At or above."""
    assert [False, True, True] == [spent(1, 2), spent(2, 2), spent(3, 2)]


def test_the_stall_budget_is_spent_at_the_cap() -> None:
    """At or above."""
    assert [RECOVER, DIE, DIE] == [due(1, 2), due(2, 2), due(3, 2)]


def test_a_missing_or_foreign_stamp_means_a_restart() -> None:
    """Only this epoch's own leases are counted."""
    assert [True, True, False] == [restarted(None, b"a"), restarted(b"b", b"a"), restarted(b"a", b"a")]


def test_every_text_begins_with_its_code_word() -> None:
    """One table, all of one shape."""
    table = {
        name: value for name, value in vars(texts).items() if name.isupper() and not name.startswith(("WHY", "ARITY_T"))
    }
    assert all(value.split(b" ")[0].isupper() for value in table.values())
