"""The key grammar and the cluster slots (SPEC 2)."""

import pytest

from emqlab import keys


@pytest.mark.parametrize(("key", "slot"), [(b"123456789", 12739), (b"orders", 105), (b"emq:{orders}:pending", 105)])
def test_slots_are_those_of_the_cluster(key: bytes, slot: int) -> None:
    """The check values of the specification; the hashtag alone counts where there is one."""
    assert slot == keys.slot(key)


def test_all_keys_of_a_queue_share_a_slot() -> None:
    """Rows, sets and the base go to one node."""
    slots = {keys.slot(keys.base(b"q") + rest) for rest in (b"", b"pending", b"job:JOB0NgWEfAEJfs", b"metrics:failed")}
    assert 1 == len(slots)


def test_an_empty_hashtag_is_none() -> None:
    """``{}`` does not choose the slot; the whole key does."""
    assert keys.slot(b"a{}b") != keys.slot(b"a{}c")


@pytest.mark.parametrize("queue", ["q", "orders.eu-1_x", "Q" * 128])
def test_a_sound_queue_name_is_taken(queue: str) -> None:
    """Letters, digits, dot, underscore and dash, up to 128."""
    assert queue.encode() == keys.check_queue(queue)


@pytest.mark.parametrize("queue", ["", "a b", "a{b}", "Q" * 129, "ä", "q\n", "emq"])
def test_any_other_queue_name_is_refused(queue: str) -> None:
    """The sentence names the parameter."""
    with pytest.raises(ValueError, match="queue must"):
        keys.check_queue(queue)


def test_a_queue_name_that_is_no_text_is_refused() -> None:
    """Bytes would be taken for text somewhere else."""
    with pytest.raises(TypeError, match="queue must be a str"):
        keys.check_queue(b"q")  # type: ignore[arg-type]
