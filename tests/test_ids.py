"""Ids: their text, their order, their minting (SPEC 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emqlab import ids

SNOWFLAKES = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (274557032793636864, b"0KHTOWnGLuC"),
        (320636799581945856, b"0NgWEfAEJfs"),
        (0, b"0" * 11),
        (2**63 - 1, b"AzL8n0Y58m7"),
    ],
)
def test_the_check_values_go_both_ways(number: int, text: bytes) -> None:
    """The numbers of the specification are written and read as it says."""
    assert (text, number) == (ids.encode(number), ids.decode(text))


@given(SNOWFLAKES, SNOWFLAKES)
def test_byte_order_is_number_order(one: int, other: int) -> None:
    """Two ids sort as the numbers in them do."""
    assert (one < other) == (ids.encode(one) < ids.encode(other))


@given(SNOWFLAKES)
def test_reading_undoes_writing(number: int) -> None:
    """Every 63-bit number survives the way there and back."""
    assert number == ids.decode(ids.encode(number))


@pytest.mark.parametrize("number", [-1, 2**63])
def test_a_number_beyond_63_bits_is_refused(number: int) -> None:
    """Only 0 to 2^63-1 has a text."""
    with pytest.raises(ValueError, match="snowflake"):
        ids.encode(number)


@pytest.mark.parametrize("text", [b"", b"0" * 10, b"0" * 12, b"0000000000-", b"AzL8n0Y58m8", b"zzzzzzzzzzz"])
def test_a_text_of_another_shape_is_refused(text: bytes) -> None:
    """Length, alphabet and size are all looked at."""
    with pytest.raises(ValueError, match=r"."):
        ids.decode(text)


@pytest.mark.parametrize(
    "job_id", ["JOB0NgWEfAEJf", "job0NgWEfAEJfs", "JOB0NgWEfAEJf_", "JOBzzzzzzzzzzz", "", "JOB0NgWEfAEJfs\n"]
)
def test_an_id_of_another_shape_is_refused(job_id: str) -> None:
    """An id is three capitals and eleven base62 characters, at most the largest."""
    with pytest.raises(ValueError, match="id"):
        ids.check(job_id)


def test_an_id_that_is_no_text_is_refused() -> None:
    """A number is no id, whatever its value."""
    with pytest.raises(TypeError, match="id must be"):
        ids.check(320636799581945856)  # type: ignore[arg-type]


def test_a_standing_clock_still_mints_rising_ids() -> None:
    """Past the 4,096 numbers of a millisecond the next one is borrowed."""
    mint = ids.Mint(lambda: ids.EPOCH_MS + 1000, node=3)
    minted = [mint.next() for _ in range(10_000)]
    assert minted == sorted(set(minted))


def test_a_clock_that_steps_back_still_mints_rising_ids() -> None:
    """The mint remembers the last id, not the last time it was told."""
    times = iter([5000, 5001, 4000, 4000, 5001, 9000])
    mint = ids.Mint(lambda: ids.EPOCH_MS + next(times))
    minted = [mint.next() for _ in range(6)]
    assert minted == sorted(set(minted))


def test_a_clock_beyond_an_ids_room_is_said_and_passes() -> None:
    """One sentence that says what to do; once the clock is back, ids go on after the last one."""
    now = ids.LATEST_MS
    mint = ids.Mint(lambda: now)
    last = mint.next()
    now = ids.LATEST_MS + 1
    for _ in range(2):
        with pytest.raises(
            ids.NoIdLeft, match=rf"^the clock shows {now} ms since 1970.*; move it back, or give the job"
        ):
            mint.next()
    now = ids.EPOCH_MS
    assert ids.decode(last[3:]) + 1 == ids.decode(mint.next()[3:])


def test_the_last_millisecond_of_ids_has_no_next_to_borrow() -> None:
    """Its 4,096 numbers are minted, and no more."""
    mint = ids.Mint(lambda: ids.LATEST_MS, node=1023)
    assert (1 << 63) - 1 == max(ids.decode(mint.next()[3:]) for _ in range(ids.SEQUENCES))
    with pytest.raises(ids.NoIdLeft):
        mint.next()


def test_an_id_holds_time_node_and_sequence() -> None:
    """The three parts sit where the snowflake layout puts them."""
    mint = ids.Mint(lambda: ids.EPOCH_MS + 77, node=1023)
    mint.next()
    assert 77 << 22 | 1023 << 12 | 1 == ids.decode(mint.next()[3:])


def test_a_node_beyond_ten_bits_is_refused() -> None:
    """There are 1,024 nodes."""
    with pytest.raises(ValueError, match="node"):
        ids.Mint(lambda: 0, node=1024)
